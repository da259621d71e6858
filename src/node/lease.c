/* lease.c - renews a node's Lease, and creates a missing Lease for its Node object */

#include "node/lease.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "kinds/node_lease.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/" NODE_LEASE_NAMESPACE "/leases"

static const int64_t every_ns = NODE_LEASE_RENEW_S * NS_PER_SEC;
static const int64_t retry_first_ns = NS_PER_SEC;

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
    int64_t sent_ns;    /* monotonic: when the request under way was sent */
    int64_t held_to_ns; /* monotonic; 0: never held */
    int64_t retry_ns;   /* 0: the last request succeeded */
};

static void lease_send(struct lease *l, enum lease_step step);

static json_t *make_spec(const struct lease *l)
{
    json_t *spec = json_object();
    char now[STAMP_TEXT_SIZE];

    stamp_format_micro(loop_wall_ns(l->o.loop), now);
    json_put_text(spec, "holderIdentity", l->o.node);
    json_put_int(spec, "leaseDurationSeconds", NODE_LEASE_S);
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

static struct err *read_uid(struct lease *l, const struct client_reply *reply)
{
    AUTO(json_freep) json_t *node = NULL;
    const char *uid;

    TRY(json_parse(reply->body, &node));
    uid = json_text_at(node, "metadata", "uid", NULL);
    if (!uid)
        return err_new(ERR_INVALID, "the Node object has no uid");
    free(l->uid);
    l->uid = mem_strdup(uid);
    return NULL;
}

bool lease_is_held(const struct lease *l)
{
    return loop_now_ns(l->o.loop) < l->held_to_ns;
}

int64_t lease_held_to_ns(const struct lease *l)
{
    return l->held_to_ns;
}

static void lease_renewed(struct lease *l)
{
    bool was_held = lease_is_held(l);

    l->held_to_ns = l->sent_ns + NODE_LEASE_S * NS_PER_SEC;
    l->retry_ns = 0;
    loop_timer_set(l->timer, every_ns);
    if (l->o.renewed)
        l->o.renewed(l->o.arg);
    if (!was_held && lease_is_held(l) && l->o.held)
        l->o.held(l->o.arg);
}

static void lease_failed(struct lease *l, const struct err *e)
{
    if (l->retry_ns == 0) /* once, until a request succeeds */
        LOG(WARN, "lease of this node was not renewed", E(e));
    loop_timer_set(l->timer, retry_pause(&l->retry_ns, retry_first_ns, every_ns));
}

/* The Node object is missing before this node has made it, and after others have deleted it. */
static void lease_without_node(struct lease *l)
{
    loop_timer_set(l->timer, retry_first_ns);
    if (l->o.no_node)
        l->o.no_node(l->o.arg);
}

static void lease_on_answer(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct lease *l = arg;
    AUTO(err_freep) struct err *failed = client_error(e, reply);
    bool is_missing = failed && err_code(failed) == ERR_NOT_FOUND;

    l->call = NULL;
    if (is_missing && l->step == LEASE_RENEW) {
        lease_send(l, LEASE_READ_NODE);
    } else if (is_missing && l->step == LEASE_READ_NODE) {
        lease_without_node(l);
    } else if (failed) {
        lease_failed(l, failed);
    } else if (l->step == LEASE_READ_NODE) {
        failed = read_uid(l, reply);
        if (failed)
            lease_failed(l, failed);
        else
            lease_send(l, LEASE_CREATE);
    } else {
        lease_renewed(l);
    }
}

static void lease_send(struct lease *l, enum lease_step step)
{
    AUTO(json_freep) json_t *body = NULL;
    AUTO_FREE char *text = NULL;
    struct client_request r = {.method = "GET", .path = l->node_path};

    l->step = step;
    l->sent_ns = loop_now_ns(l->o.loop);
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
    r.timeout_ns = every_ns;
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
