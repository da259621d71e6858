/*
 * pod_security.c - rules of securityContexts for all users; objects_pod_security.c has those for
 * administrators
 */

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/pod/pod_rules.h"
#include "model/capability.h"

enum {
    ID_MAX = 65535, /* largest id in a user namespace */
    SYSCTL_NAME_MAX = 253
};

static bool is_host(const json_t *container)
{
    return text_equal(json_text(container, "image"), "host");
}

static void validate_capabilities(const json_t *own, const char *which, const struct path *at,
                                  struct causes *causes)
{
    const json_t *list = json_at(own, "capabilities", which, NULL);
    const struct path *here = PATH(PATH(at, "capabilities"), which);

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));

        if (capability_class(name) == CAPABILITY_UNKNOWN)
            cause_invalid(causes, PATH_INDEX(here, i), name ? name : "",
                          "must be the name of a Linux capability, as NET_BIND_SERVICE, or ALL");
    }
}

static void validate_seccomp(const json_t *context, const struct path *at, struct causes *causes)
{
    static const char *const known[] = {"RuntimeDefault", "Unconfined", NULL};
    const char *type = json_text_at(context, "seccompProfile", "type", NULL);

    if (text_equal(type, "Localhost"))
        cause_unsupported_why(causes, PATH(PATH(at, "seccompProfile"), "type"), type, known,
                              "profiles in files of the node are not implemented by mete yet");
}

/* Ids must lie in the pod's user namespace of 65536 ids, unless the pod shares the node's users. */
static void validate_ids(const json_t *context, const json_t *spec, const struct path *at,
                         struct causes *causes)
{
    static const char *const fields[] = {"runAsUser", "runAsGroup", "fsGroup"};
    const json_t *groups = json_object_get(context, "supplementalGroups");
    static const char why[] = "must be between 0 and 65535, inclusive: the pod has a user "
                              "namespace (hostUsers is not true)";

    if (json_bool(spec, "hostUsers", false))
        return;
    for (size_t i = 0; i < COUNT(fields); i++)
        if (json_int(context, fields[i], 0) > ID_MAX)
            cause_invalid_int(causes, PATH(at, fields[i]), json_int(context, fields[i], 0), why);
    for (size_t i = 0; i < json_array_size(groups); i++)
        if (json_integer_value(json_array_get(groups, i)) > ID_MAX)
            cause_invalid_int(causes, PATH_INDEX(PATH(at, "supplementalGroups"), i),
                              json_integer_value(json_array_get(groups, i)), why);
}

/* Refuses settings that the image `host`, which is the machine itself, cannot have. */
static void validate_host(const json_t *own, const json_t *spec, const struct path *at,
                          struct causes *causes)
{
    static const char *const refused[] = {"privileged", "readOnlyRootFilesystem"};
    const json_t *users = json_object_get(spec, "hostUsers");

    for (size_t i = 0; i < 2; i++)
        if (json_bool(own, refused[i], false))
            cause_forbidden(causes, PATH(at, refused[i]), "not with the image `host`");
    if (users && !json_is_true(users))
        cause_forbidden(causes, PATH(PATH(NULL, "spec"), "hostUsers"),
                        "the image `host` runs as users of the node: leave hostUsers out");
}

/* Kubernetes' rules of allowPrivilegeEscalation, in its words. */
static void validate_escalation(const json_t *own, const struct path *at, struct causes *causes)
{
    const json_t *add = json_at(own, "capabilities", "add", NULL);
    const json_t *escalation = json_object_get(own, "allowPrivilegeEscalation");

    if (!json_is_false(escalation))
        return;
    if (json_bool(own, "privileged", false))
        cause_invalid(causes, at, "",
                      "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    for (size_t i = 0; i < json_array_size(add); i++) {
        const char *name = json_string_value(json_array_get(add, i));

        if (text_equal(name, "CAP_SYS_ADMIN") || text_equal(name, "SYS_ADMIN"))
            cause_invalid(causes, at, "",
                          "cannot set `allowPrivilegeEscalation` to false and "
                          "`capabilities.Add` CAP_SYS_ADMIN");
    }
}

void container_validate_security(const json_t *container, const json_t *spec, const struct path *at,
                                 struct causes *causes)
{
    const json_t *own = json_object_get(container, "securityContext");
    const struct path *here = PATH(at, "securityContext");

    if (is_host(container))
        validate_host(own, spec, here, causes);
    else
        validate_ids(own, spec, here, causes);
    validate_capabilities(own, "add", here, causes);
    validate_capabilities(own, "drop", here, causes);
    validate_seccomp(own, here, causes);
    validate_escalation(own, here, causes);
}

static bool has_host(const json_t *spec)
{
    static const char *const lists[] = {"initContainers", "containers"};

    for (size_t l = 0; l < 2; l++) {
        const json_t *list = json_object_get(spec, lists[l]);

        for (size_t i = 0; i < json_array_size(list); i++)
            if (is_host(json_array_get(list, i)))
                return true;
    }
    return false;
}

/* Is this the form of a name, parts of [a-z0-9_-] between dots or slashes? */
static bool is_sysctl_name(const char *name)
{
    static const char inner[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";

    if (strlen(name) > SYSCTL_NAME_MAX)
        return false;
    for (;;) {
        size_t size = strspn(name, inner);

        if (size == 0 || strchr("-_", name[0]) || strchr("-_", name[size - 1]))
            return false;
        if (!name[size])
            return true;
        if (name[size] != '.' && name[size] != '/')
            return false;
        name += size + 1;
    }
}

/* Adds the causes of names that are none; returns whether there are any. */
static bool add_malformed(const json_t *list, const struct path *at, struct causes *causes)
{
    bool is_malformed = false;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_text(json_array_get(list, i), "name");

        if (!name || is_sysctl_name(name))
            continue;
        cause_invalid(causes, PATH(PATH_INDEX(at, i), "name"), name,
                      "must be parts of lower case letters, digits, '-' and '_' between '.' or "
                      "'/', each of which starts and ends with a letter or a digit, and at most "
                      "253 characters");
        is_malformed = true;
    }
    return is_malformed;
}

static void validate_sysctls(const json_t *context, const struct path *at, struct causes *causes)
{
    const json_t *list = json_object_get(context, "sysctls");

    if (add_malformed(list, PATH(at, "sysctls"), causes))
        return; /* which of the others the node has not is said when all are names */
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_text(json_array_get(list, i), "name");
        const struct path *here = PATH(PATH_INDEX(PATH(at, "sysctls"), i), "name");

        if (name && text_starts_with(name, "net."))
            cause_invalid(causes, here, name,
                          "pods share the node's network: its settings cannot change");
        else if (name && !text_equal(name, "kernel.shm_rmid_forced"))
            cause_invalid(causes, here, name,
                          "only kernel.shm_rmid_forced is allowed, because it is namespaced");
    }
}

void pod_validate_security(const json_t *spec, const struct path *at, struct causes *causes)
{
    const json_t *context = json_object_get(spec, "securityContext");
    const struct path *here = PATH(at, "securityContext");

    if (!has_host(spec))
        validate_ids(context, spec, here, causes);
    validate_seccomp(context, here, causes);
    validate_sysctls(context, here, causes);
}
