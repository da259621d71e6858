/*
 * pod_user.c - sessions with processes that run as another user of the machine
 *
 * A container of the image `host` has the uid of its user, and a command in it, too: the right to
 * create pods in a namespace is no right to act as another user of the machine. The pods of a Slurm
 * job are for its user in every way.
 */

#include <inttypes.h>

#include "api/handlers.h"
#include "base/mem.h"
#include "kinds/slurm/slurm_hide.h"

/* The uid of the first container of the image `host`; -1: the pod has none. */
static int64_t host_uid_of(const json_t *pod)
{
    const json_t *spec = json_object_get(pod, "spec");
    const json_t *containers = json_object_get(spec, "containers");
    int64_t uid = json_int_at(spec, "securityContext", "runAsUser", NULL);

    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *container = json_array_get(containers, i);
        const json_t *own = json_at(container, "securityContext", "runAsUser", NULL);

        if (text_equal(json_text(container, "image"), "host"))
            return own ? json_integer_value(own) : uid;
    }
    return -1;
}

static struct err *check_uid(const struct call *c, int64_t uid)
{
    if (uid < 0 || uid == c->who.host_uid)
        return NULL;
    return err_new(ERR_FORBIDDEN,
                   "pods \"%s\" is forbidden: User \"%s\" cannot act as uid %" PRId64
                   ", which its processes have",
                   c->name, c->who.user, uid);
}

struct err *call_check_pod_user(const struct call *c, const json_t *pod)
{
    bool acts = text_equal(c->subresource, "exec") || text_equal(c->subresource, "attach") ||
                text_equal(c->subresource, "signal") ||
                text_equal(c->subresource, "ephemeralcontainers");
    int64_t uid = host_uid_of(pod);

    if (c->who.is_admin)
        return NULL;
    if (slurm_is_of_another(pod, c->who.user))
        return err_new(ERR_FORBIDDEN,
                       "Access/permission denied: pod %s is of another user's Slurm job", c->name);
    return acts ? check_uid(c, uid) : NULL;
}

struct err *call_check_debug_user(const struct call *c, const json_t *container)
{
    const json_t *uid = json_at(container, "securityContext", "runAsUser", NULL);

    if (c->who.is_admin || !text_equal(json_text(container, "image"), "host"))
        return NULL;
    return check_uid(c, json_integer_value(uid));
}

struct err *handle_ephemeral_containers(struct call *c)
{
    const struct store_object *o =
        store_get_applied(core_store(c->core), objects_key(c->kind, c->ns, c->name));
    AUTO(json_freep) json_t *pod = o ? core_tree(c->core, o) : NULL;

    if (!o)
        return objects_not_found(c->kind, c->name);
    TRY(call_check_pod_user(c, pod));
    return text_equal(c->x->request.method, "PUT") ? handle_update(c) : handle_patch(c);
}
