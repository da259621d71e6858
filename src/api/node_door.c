/*
 * node_door.c - the server's door on nodes of other machines: POST /mete.dev/v1/node-door
 *
 * A job's script on such a node calls srun and squeue over the node's own mete.sock. For each
 * connection the node, which knows the uid of the peer from the kernel, opens a connection here,
 * and names a pod of that uid. From the answer on, the connection is that of the uid, as on the
 * machine with mete up. A node speaks for users whose jobs it runs, never for administrators: a
 * node that was broken into gains no more than its jobs' users have.
 */

#include <inttypes.h>

#include "access/auth.h"
#include "api/handlers.h"
#include "base/mem.h"
#include "base/num.h"
#include "kinds/object/objects.h"
#include "kinds/slurm/slurm_job.h"

static struct err *door_refused(const struct call *c, int64_t uid)
{
    return err_new(ERR_FORBIDDEN,
                   "node \"%s\" runs no job of uid %" PRId64 " that needs the server", c->who.node,
                   uid);
}

/* Is the pod one of a Slurm job of this uid, on the node of the caller, and not over? */
static struct err *door_check_pod(const struct call *c, int64_t uid, const char *ns,
                                  const char *name)
{
    const struct store_object *o =
        store_get(core_store(c->core),
                  (struct store_key){.group = "", .resource = "pods", .ns = ns, .name = name});
    AUTO(json_freep) json_t *pod = NULL;
    const char *phase;

    if (!o)
        return door_refused(c, uid);
    TRY(objects_decode(o, &pod));
    phase = text_or_empty(json_text_at(pod, "status", "phase", NULL));
    if (!text_equal(json_text_at(pod, "spec", "nodeName", NULL), c->who.node) ||
        !json_text_at(pod, "metadata", "annotations", SLURM_ENVIRONMENT_ANNOTATION, NULL) ||
        json_int_at(pod, "spec", "securityContext", "runAsUser", NULL) != uid ||
        text_equal(phase, "Succeeded") || text_equal(phase, "Failed"))
        return door_refused(c, uid);
    return NULL;
}

struct err *handle_node_door(struct call *c)
{
    const char *upgrade = request_header(&c->x->request, "upgrade");
    const char *text = query_get(&c->query, "uid");
    const char *ns = query_get(&c->query, "namespace");
    const char *name = query_get(&c->query, "pod");
    struct upgrade u = {.protocol = "mete-door", .is_local = true};
    int64_t uid = 0;

    if (!c->who.node)
        return err_new(ERR_FORBIDDEN, "User \"%s\" is no node", c->who.user);
    if (!text || !ns || !name || !upgrade || !text_equal(upgrade, u.protocol))
        return err_new(ERR_BAD_REQUEST,
                       "want 'Upgrade: mete-door' and uid, namespace and pod in the query");
    TRY(num_parse_int64(str_of(text), 0, UINT32_MAX - 1, &uid));
    if (auth_uid_is_admin(core_auth(c->core), c->arena, (uint32_t)uid))
        return err_new(ERR_FORBIDDEN,
                       "uid %" PRId64
                       " is an administrator's, for whom nodes do not speak: jobs of "
                       "administrators set METE_KUBECONFIG",
                       uid);
    TRY(door_check_pod(c, uid, ns, name));
    u.uid = (uint32_t)uid;
    (void)c->x->ops->upgrade(c->x, &u); /* the exchange is over; the connection is the user's */
    return NULL;
}
