/* kube_election.c - leader election by a Lease of the cluster */

#include "control/kube/kube_election.h"

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"

#define RETRY_NS    (2 * NS_PER_SEC)
#define DEADLINE_NS (10 * NS_PER_SEC)
#define ANSWER_NS   (5 * NS_PER_SEC)
#define LEASE_S     15

/* The request under way. */
enum election_step {
    ELECTION_READ,
    ELECTION_CREATE,
    ELECTION_WRITE,
    ELECTION_RELEASE
};

struct kube_election {
    struct kube_election_options o;
    char *ns;
    char *name;
    char *identity;
    char *path; /* of the Lease */
    char *list_path;
    struct client_call *call;
    enum election_step step;
    struct loop_timer *timer;    /* the next request */
    struct loop_timer *deadline; /* of a leader without a renewal */
    json_t *lease;               /* as last seen; NULL: never, or it is gone */
    int64_t seen_ns;             /* monotonic: when it had changed; 0: never */
    int64_t sent_ns;             /* monotonic: when the request under way was sent */
    bool is_leader;
    loop_fn released;
    void *released_arg;
};

static void election_send(struct kube_election *e, enum election_step step);

static const char *holder_of(const json_t *lease)
{
    const char *holder = json_text_at(lease, "spec", "holderIdentity", NULL);

    return holder ? holder : "";
}

static const char *version_of(const json_t *lease)
{
    const char *version = json_text_at(lease, "metadata", "resourceVersion", NULL);

    return version ? version : "";
}

static void election_lose(struct kube_election *e, const struct err *why)
{
    e->is_leader = false;
    loop_timer_stop(e->timer);
    loop_timer_stop(e->deadline);
    e->o.lost(e->o.arg, why);
}

static void on_deadline(void *arg)
{
    struct kube_election *e = arg;
    AUTO(err_freep)
    struct err *why = err_new(ERR_TIMEOUT, "the lease %s/%s could not be renewed for %d s", e->ns,
                              e->name, (int)(DEADLINE_NS / NS_PER_SEC));

    if (e->call)
        client_cancel(TAKE(e->call));
    election_lose(e, why);
}

/* Takes what the server has, NULL: nothing. */
static void election_see(struct kube_election *e, json_t *lease)
{
    if (lease && (!e->lease || !text_equal(version_of(lease), version_of(e->lease)))) {
        if (!e->lease || !text_equal(holder_of(lease), holder_of(e->lease)))
            LOG(INFO, "the lease has a holder", S("lease", e->name), S("holder", holder_of(lease)));
        e->seen_ns = loop_now_ns(e->o.loop);
    }
    json_decref(e->lease);
    e->lease = lease;
}

static bool is_ours(const struct kube_election *e)
{
    return e->lease && text_equal(holder_of(e->lease), e->identity);
}

/* May this instance take the lease of another? */
static bool is_free(const struct kube_election *e)
{
    if (e->lease && (!*holder_of(e->lease) || is_ours(e)))
        return true;
    return e->seen_ns == 0 || loop_now_ns(e->o.loop) - e->seen_ns > LEASE_S * NS_PER_SEC;
}

/* The lease as this instance writes it, a new tree; `holder` "": given back. */
static json_t *lease_make(const struct kube_election *e, const char *holder)
{
    json_t *lease = e->lease ? json_deep_copy(e->lease) : json_object();
    json_t *metadata = json_object_at(lease, "metadata");
    json_t *spec = json_object_at(lease, "spec");
    char now[STAMP_TEXT_SIZE];

    stamp_format_micro(loop_wall_ns(e->o.loop), now);
    if (!e->lease) {
        json_put_text(lease, "apiVersion", "coordination.k8s.io/v1");
        json_put_text(lease, "kind", "Lease");
        json_put_text(metadata, "namespace", e->ns);
        json_put_text(metadata, "name", e->name);
    }
    if (*holder && !text_equal(holder_of(lease), holder)) {
        json_put_text(spec, "acquireTime", now);
        json_put_int(spec, "leaseTransitions",
                     e->lease ? json_int(spec, "leaseTransitions", 0) + 1 : 0);
    }
    json_put_text(spec, "holderIdentity", holder);
    json_put_int(spec, "leaseDurationSeconds", *holder ? LEASE_S : 1);
    json_put_text(spec, "renewTime", now);
    return lease;
}

static void election_renewed(struct kube_election *e)
{
    loop_timer_set(e->deadline, e->sent_ns + DEADLINE_NS - loop_now_ns(e->o.loop));
    if (e->is_leader)
        return;
    e->is_leader = true;
    LOG(INFO, "this instance leads", S("lease", e->name), S("identity", e->identity));
    e->o.elected(e->o.arg);
}

static void on_lease_read(struct kube_election *e)
{
    if (e->is_leader && !is_ours(e)) {
        AUTO(err_freep)
        struct err *why =
            err_new(ERR_CONFLICT, "%s holds the lease %s/%s", holder_of(e->lease), e->ns, e->name);

        election_lose(e, why);
    } else if (is_free(e)) {
        election_send(e, e->lease ? ELECTION_WRITE : ELECTION_CREATE);
    }
}

static void on_lease_missing(struct kube_election *e)
{
    election_see(e, NULL);
    if (e->is_leader) {
        AUTO(err_freep)
        struct err *why =
            err_new(ERR_NOT_FOUND, "somebody has deleted the lease %s/%s", e->ns, e->name);

        election_lose(e, why);
    } else if (is_free(e)) {
        election_send(e, ELECTION_CREATE);
    }
}

static void on_lease_failed(struct kube_election *e, const struct err *failed)
{
    if (e->step == ELECTION_WRITE && err_code(failed) == ERR_CONFLICT)
        election_send(e, ELECTION_READ);
    else if (err_code(failed) == ERR_NOT_FOUND && e->step != ELECTION_CREATE)
        on_lease_missing(e);
    else if (err_code(failed) != ERR_CONFLICT && err_code(failed) != ERR_EXISTS)
        LOG(WARN, "the lease cannot be had", S("lease", e->name), E(failed));
}

static void on_lease_answer(void *arg, const struct err *failed, const struct client_reply *reply)
{
    struct kube_election *e = arg;
    AUTO(err_freep) struct err *error = client_error(failed, reply);
    json_t *lease = NULL;

    e->call = NULL;
    if (e->step == ELECTION_RELEASE) {
        e->released(e->released_arg);
        return;
    }
    loop_timer_set(e->timer, RETRY_NS);
    if (!error)
        error = json_parse(reply->body, &lease);
    if (error) {
        on_lease_failed(e, error);
        return;
    }
    election_see(e, lease);
    if (e->step == ELECTION_READ)
        on_lease_read(e);
    else
        election_renewed(e);
}

static void election_send(struct kube_election *e, enum election_step step)
{
    AUTO(json_freep)
    json_t *lease =
        step == ELECTION_READ ? NULL : lease_make(e, step == ELECTION_RELEASE ? "" : e->identity);
    AUTO_FREE char *body = lease ? json_format(lease) : NULL;
    const struct client_request r = {.method = step == ELECTION_READ     ? "GET"
                                               : step == ELECTION_CREATE ? "POST"
                                                                         : "PUT",
                                     .path = step == ELECTION_CREATE ? e->list_path : e->path,
                                     .body = str_of(body),
                                     .timeout_ns = ANSWER_NS};

    e->step = step;
    e->sent_ns = loop_now_ns(e->o.loop);
    client_send(e->o.client, &r, on_lease_answer, e, &e->call);
}

/* The leader's own copy is the present one, unless somebody else wrote. */
static void on_election_timer(void *arg)
{
    struct kube_election *e = arg;

    if (!e->call)
        election_send(e, is_ours(e) ? ELECTION_WRITE : ELECTION_READ);
}

struct kube_election *kube_election_new(const struct kube_election_options *o)
{
    struct kube_election *e = mem_alloc(sizeof(*e));

    *e = (struct kube_election){
        .o = *o,
        .ns = mem_strdup(o->ns),
        .name = mem_strdup(o->name),
        .identity = mem_strdup(o->identity),
        .list_path = mem_format("/apis/coordination.k8s.io/v1/namespaces/%s/leases", o->ns)};
    e->path = mem_format("%s/%s", e->list_path, o->name);
    e->timer = loop_timer_new(o->loop, on_election_timer, e);
    e->deadline = loop_timer_new(o->loop, on_deadline, e);
    loop_timer_set(e->timer, 0);
    return e;
}

void kube_election_release(struct kube_election *e, loop_fn done, void *arg)
{
    bool was_leader = e->is_leader;

    e->is_leader = false;
    loop_timer_stop(e->timer);
    loop_timer_stop(e->deadline);
    if (e->call)
        client_cancel(TAKE(e->call));
    e->released = done;
    e->released_arg = arg;
    if (was_leader)
        election_send(e, ELECTION_RELEASE);
    else
        done(arg);
}

void kube_election_free(struct kube_election *e)
{
    if (!e)
        return;
    if (e->call)
        client_cancel(e->call);
    loop_timer_free(e->timer);
    loop_timer_free(e->deadline);
    json_decref(e->lease);
    free(e->ns);
    free(e->name);
    free(e->identity);
    free(e->path);
    free(e->list_path);
    free(e);
}
