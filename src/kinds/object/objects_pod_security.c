/* objects_pod_security.c - privileges of containers that only administrators may grant */

#include "base/mem.h"
#include "kinds/object/objects_private.h"
#include "model/capability.h"

static struct err *check_seccomp(const struct change *c, const json_t *context, const char *where)
{
    if (text_equal(json_text_at(context, "seccompProfile", "type", NULL), "Unconfined"))
        return forbidden(
            c, "%ssecurityContext.seccompProfile.type Unconfined is for administrators", where);
    return NULL;
}

static struct err *check_container(const struct change *c, const json_t *container)
{
    const json_t *own = json_object_get(container, "securityContext");
    const json_t *add = json_at(own, "capabilities", "add", NULL);
    AUTO_FREE char *where = mem_format("container %s: ", json_text(container, "name"));

    if (json_bool(own, "privileged", false))
        return forbidden(c, "%ssecurityContext.privileged is for administrators", where);
    for (size_t i = 0; i < json_array_size(add); i++) {
        const char *name = json_string_value(json_array_get(add, i));

        if (capability_class(name) != CAPABILITY_DEFAULT)
            return forbidden(c,
                             "%ssecurityContext.capabilities.add %s is for administrators: users "
                             "may add capabilities of the default set",
                             where, name ? name : "");
    }
    return check_seccomp(c, own, where);
}

struct err *pod_check_security(const struct change *c, const json_t *spec)
{
    static const char *const lists[] = {"initContainers", "containers"};

    if (c->who.is_admin || c->who.is_system)
        return NULL;
    if (json_bool(spec, "hostUsers", false))
        return forbidden(c, "spec.hostUsers true is for administrators; leave it out, and the "
                            "pod's users are its own");
    TRY(check_seccomp(c, json_object_get(spec, "securityContext"), "spec."));
    for (size_t l = 0; l < 2; l++) {
        const json_t *list = json_object_get(spec, lists[l]);

        for (size_t i = 0; i < json_array_size(list); i++)
            TRY(check_container(c, json_array_get(list, i)));
    }
    return NULL;
}
