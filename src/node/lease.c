/* lease.c - renews a node's Lease, and creates a missing Lease for its Node object */

#include "node/lease.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

enum {
    DURATION_S = 40
};

static const int64_t every_ns = 10 * NS_PER_SEC;

/* The request under way. */
enum lease_step {
    LEASE_RENEW,
    LEASE_READ_NODE,
    LEASE_CREATE,
};

struct lease {
    struct lease_options o;
    char *path;
    char *node_path;
    char *uid; /* of the Node object; NULL: not read yet */
    struct loop_timer *timer;
    struct client_call *call;
    enum lease_step step;
    bool is_failing; /* the log has the failure */
};

static void lease_send(struct lease *l, enum lease_step step);

static json_t *make_spec(const struct lease *l)
{
    json_t *spec = json_object();
    char now[STAMP_TEXT_SIZE];

    stamp_format_micro(loop_wall_ns(l->o.loop), now);
    json_put_text(spec, "holderIdentity", l->o.node);
    json_put_int(spec, "leaseDurationSeconds", DURATION_S);
    json_put_text(spec, "renewTime", now);
    return spec;
}

static void put_owner(const struct lease *l, json_t *metadata)
{
    json_t *owner = json_object();

    json_put_text(owner, "apiVersion", "v1");
    json_put_text(owner, "kind", "Node");
    json_put_text(owner, "name", l->o.node);
    json_put_text(owner, "uid", l->uid);
    (void)json_array_append_new(json_array_at(metadata, "ownerReferences"), owner);
}

static json_t *make_lease(const struct lease *l)
{
    json_t *lease = json_object();
    json_t *metadata = json_object_at(lease, "metadata");

    json_put_text(lease, "apiVersion", "coordination.k8s.io/v1");
    json_put_text(lease, "kind", "Lease");
    json_put_text(metadata, "name", l->o.node);
    put_owner(l, metadata);
    json_put(lease, "spec", make_spec(l));
    return lease;
}

static void read_uid(struct lease *l, const struct client_reply *reply)
{
    AUTO(json_freep) json_t *node = NULL;
    AUTO(err_freep) struct err *e = json_parse(reply->body, &node);
    const char *uid = json_text_at(node, "metadata", "uid", NULL);

    free(l->uid);
    l->uid = !e && uid ? mem_strdup(uid) : NULL;
}

static void lease_on_answer(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct lease *l = arg;
    AUTO(err_freep) struct err *failed = client_error(e, reply);

    l->call = NULL;
    if (failed && err_code(failed) == ERR_NOT_FOUND && l->step == LEASE_RENEW) {
        lease_send(l, LEASE_READ_NODE);
        return;
    }
    if (!failed && l->step == LEASE_READ_NODE) {
        read_uid(l, reply);
        if (l->uid) {
            lease_send(l, LEASE_CREATE);
            return;
        }
    }
    /* The Node object is missing before the first heartbeat: try again in the next turn. */
    if (failed && !l->is_failing && l->step != LEASE_READ_NODE)
        LOG(WARN, "lease of this node was not renewed", E(failed));
    l->is_failing = failed != NULL;
    loop_timer_set(l->timer, failed && l->step == LEASE_READ_NODE ? NS_PER_SEC : every_ns);
}

static void lease_send(struct lease *l, enum lease_step step)
{
    AUTO(json_freep) json_t *body = NULL;
    AUTO_FREE char *text = NULL;
    struct client_request r = {.method = "GET", .path = l->node_path};

    l->step = step;
    if (step == LEASE_RENEW) {
        body = json_object();
        json_put(body, "spec", make_spec(l));
        r = (struct client_request){
            .method = "PATCH", .path = l->path, .content_type = "application/merge-patch+json"};
    } else if (step == LEASE_CREATE) {
        body = make_lease(l);
        r = (struct client_request){.method = "POST", .path = LEASES};
    }
    text = body ? json_format(body) : NULL;
    r.body = str_of(text);
    client_send(l->o.client, &r, lease_on_answer, l, &l->call);
}

static void on_lease_timer(void *arg)
{
    lease_send(arg, LEASE_RENEW);
}

static char *path_below(const char *collection, const char *name)
{
    struct buf path = {0};

    buf_printf(&path, "%s/", collection);
    client_add_escaped(&path, str_of(name));
    return buf_steal(&path);
}

struct lease *lease_new(const struct lease_options *o)
{
    struct lease *l = mem_alloc(sizeof(*l));

    l->o = *o;
    l->path = path_below(LEASES, o->node);
    l->node_path = path_below("/api/v1/nodes", o->node);
    l->timer = loop_timer_new(o->loop, on_lease_timer, l);
    loop_timer_set(l->timer, 0);
    return l;
}

void lease_free(struct lease *l)
{
    if (!l)
        return;
    if (l->call)
        client_cancel(l->call);
    loop_timer_free(l->timer);
    free(l->path);
    free(l->node_path);
    free(l->uid);
    free(l);
}
