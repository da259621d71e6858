/*
 * spec_rights.c - the rights of a container: capabilities, seccomp, sysctls
 *
 * The image `host`: root has Docker's default capabilities, since only administrators run as root;
 * other users have none, and cannot gain any. Other images: in a user namespace, capabilities reach
 * only the pod's own files and processes, so root also has the default set, which package managers
 * and servers need. Setuid programs work only if the manifest allows them. The system calls are
 * those of seccomp.h.
 */

#include "base/mem.h"
#include "model/capability.h"
#include "node/spec/seccomp.h"
#include "node/spec/spec_private.h"

const json_t *spec_security(const json_t *pod, const json_t *container, const char *key)
{
    const json_t *own = json_at(container, "securityContext", key, NULL);

    return own && !json_is_null(own) ? own : json_at(pod, "spec", "securityContext", key, NULL);
}

bool spec_is_privileged(const json_t *container)
{
    return json_bool_at(container, "securityContext", "privileged", NULL);
}

bool spec_is_root_read_only(const struct spec_input *in)
{
    return json_bool_at(in->container, "securityContext", "readOnlyRootFilesystem", NULL);
}

static struct err *check_host(const struct spec_input *in)
{
    const json_t *own = json_object_get(in->container, "securityContext");

    if (spec_is_privileged(in->container))
        return err_new(ERR_INVALID,
                       "securityContext.privileged is not supported with image 'host'");
    if (spec_is_root_read_only(in))
        return err_new(ERR_INVALID, "securityContext.readOnlyRootFilesystem is not supported with "
                                    "image 'host'");
    if (json_array_size(json_at(own, "capabilities", "add", NULL)) > 0 && in->user->uid != 0)
        return err_new(ERR_INVALID,
                       "securityContext.capabilities.add with image 'host' is for "
                       "root, and this container runs as uid %u",
                       in->user->uid);
    return NULL;
}

struct err *spec_check_security(const struct spec_input *in)
{
    const char *image = json_text(in->container, "image");

    if (!in->image && !text_equal(image, "host"))
        return err_new(ERR_INVALID, "container %s: image '%s' is not on this machine",
                       json_text(in->container, "name"), image ? image : "");
    return in->image ? NULL : check_host(in);
}

/* ---- capabilities ---- */

static void put_each(const json_t *list, bool is_member, bool set[CAPABILITY_COUNT])
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item) {
        size_t number = capability_number(json_string_value(item));

        if (number < CAPABILITY_COUNT)
            set[number] = is_member;
    }
}

/* As in Kubernetes' runtimes: first ALL, then names added, then names dropped. */
static void capabilities_choose(const json_t *container, bool set[CAPABILITY_COUNT])
{
    const json_t *words = json_at(container, "securityContext", "capabilities", NULL);
    const json_t *add = json_object_get(words, "add");
    const json_t *drop = json_object_get(words, "drop");
    bool is_all = spec_is_privileged(container) || json_has_text(add, "ALL");

    for (size_t i = 0; i < CAPABILITY_COUNT; i++)
        set[i] = (is_all || capability_is_default(i)) && !json_has_text(drop, "ALL");
    put_each(add, true, set);
    put_each(drop, false, set);
}

static void put_set(json_t *to, const char *name, const bool set[CAPABILITY_COUNT])
{
    json_t *list = json_array_at(to, name);

    for (size_t i = 0; set && i < CAPABILITY_COUNT; i++)
        if (set[i])
            (void)json_array_append_new(list, json_string(capability_name(i)));
}

static bool may_escalate(const struct spec_input *in, const bool set[CAPABILITY_COUNT])
{
    const json_t *asked =
        json_at(in->container, "securityContext", "allowPrivilegeEscalation", NULL);

    if (in->image) /* with CAP_SYS_ADMIN or privileged, escalation gains nothing more */
        return json_is_true(asked) || spec_is_privileged(in->container) ||
               set[capability_number("SYS_ADMIN")];
    return in->user->uid == 0 && !json_is_false(asked);
}

void spec_capabilities(const struct spec_input *in, json_t *process)
{
    json_t *capabilities = json_object_at(process, "capabilities");
    bool is_root = in->user->uid == 0;
    bool set[CAPABILITY_COUNT] = {false};

    capabilities_choose(in->container, set);
    /* Users other than root regain capabilities by setuid programs, if these work at all. */
    put_set(capabilities, "bounding", is_root || in->image ? set : NULL);
    put_set(capabilities, "effective", is_root ? set : NULL);
    put_set(capabilities, "permitted", is_root ? set : NULL);
    json_put_bool(process, "noNewPrivileges", !may_escalate(in, set));
}

/* ---- system calls, kernel settings ---- */

void spec_seccomp(const struct spec_input *in, const json_t *capabilities, json_t *part)
{
    const char *type = json_text(spec_security(in->pod, in->container, "seccompProfile"), "type");

    if (spec_is_privileged(in->container) || text_equal(type, "Unconfined") ||
        (!in->image && !type))
        return;
    json_put(part, "seccomp", seccomp_default(capabilities));
}

void spec_sysctls(const struct spec_input *in, json_t *part)
{
    const json_t *list = json_at(in->pod, "spec", "securityContext", "sysctls", NULL);
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item)
        if (json_text(item, "name"))
            json_put_text(json_object_at(part, "sysctl"), json_text(item, "name"),
                          json_text(item, "value"));
}
