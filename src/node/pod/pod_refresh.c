/*
 * pod_refresh.c - updates the volumes of a running pod: ConfigMaps, Secrets, the pod's labels and
 * annotations, expiring tokens
 *
 * A refresh plans the volumes from the newest objects and gives the plan to the worker, which
 * writes the differences; further changes wait for the next plan. If an object of the plan is
 * missing (a ConfigMap was deleted), the files stay, and an Event tells, as in the kubelet.
 */

#include "base/log.h"
#include "base/mem.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "node/pod/pod.h"
#include "node/pod/ref_watch.h"
#include "node/pod/refs.h"

static const int64_t RETRY_NS = 5 * NS_PER_SEC;
static const int64_t RETRY_MAX_NS = 60 * NS_PER_SEC;
enum {
    TOKEN_RENEW_PCT = 80 /* of the token's life */
};

struct token {
    struct refresh *refresh;
    char *ref;
    int64_t renew_at_ns; /* monotonic */
    int64_t retry_ns;
    struct client_call *call;
};

struct followed {
    char *ref;
    struct ref_watch *watch; /* NULL: too many watches */
};

struct refresh {
    struct pod *pod;
    VEC(struct followed) followed;
    VEC(struct token) tokens; /* of fixed length after refresh_new */
    struct loop_timer *timer;
    int64_t retry_at_ns; /* after a failed write; 0: none */
    bool is_dirty;
    bool is_writing;
    bool is_failure_told;
};

static void refresh_run(struct refresh *r);

/* ---- timer ---- */

static void refresh_set_timer(struct refresh *r)
{
    int64_t now_ns = loop_now_ns(r->pod->set->o.loop);
    int64_t at_ns = r->retry_at_ns;

    VEC_EACH (&r->tokens, t)
        if (!t->call && (at_ns == 0 || t->renew_at_ns < at_ns))
            at_ns = t->renew_at_ns;
    if (at_ns == 0)
        loop_timer_stop(r->timer);
    else
        loop_timer_set(r->timer, at_ns > now_ns ? at_ns - now_ns : 0);
}

/* ---- tokens ---- */

/* The time of renewal, after 80 % of the rest of the token's life. */
static int64_t renewal_ns(const struct pod *p, const json_t *token)
{
    const char *text = json_text_at(token, "status", "expirationTimestamp", NULL);
    int64_t until_ns = 0;
    int64_t left_ns = 0;
    struct err *e = stamp_parse(str_of(text ? text : ""), &until_ns);

    if (!e)
        left_ns = until_ns - loop_wall_ns(p->set->o.loop);
    err_free(e);
    return pod_now_ns(p) + (left_ns > 0 ? left_ns / 100 * TOKEN_RENEW_PCT : RETRY_NS);
}

static void on_token(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct token *t = arg;
    struct pod *p = t->refresh->pod;
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *failed = client_error(e, reply);

    t->call = NULL;
    if (!failed)
        failed = json_parse(reply->body, &object);
    if (!failed && !json_text_at(object, "status", "token", NULL))
        failed = err_new(ERR_INTERNAL, "the answer has no token");
    if (failed) {
        LOG(WARN, "service account token could not be renewed", S("pod", p->name), E(failed));
        t->renew_at_ns = pod_now_ns(p) + retry_pause(&t->retry_ns, RETRY_NS, RETRY_MAX_NS);
    } else {
        t->retry_ns = 0;
        t->renew_at_ns = renewal_ns(p, object);
        (void)json_object_set(p->refs, t->ref, object);
        t->refresh->is_dirty = true;
    }
    refresh_run(t->refresh);
}

static void token_renew(struct token *t)
{
    struct pod *p = t->refresh->pod;
    AUTO(ref_request_done) struct ref_request ask = {0};
    struct client_request r = {0};

    refs_request(p->object, t->ref, &ask);
    r = (struct client_request){.method = ask.method, .path = ask.path, .body = str_of(ask.body)};
    client_send(p->set->o.client, &r, on_token, t, &t->call);
}

static void on_refresh_timer(void *arg)
{
    struct refresh *r = arg;
    int64_t now_ns = loop_now_ns(r->pod->set->o.loop);

    VEC_EACH (&r->tokens, t)
        if (!t->call && now_ns >= t->renew_at_ns)
            token_renew(t);
    if (r->retry_at_ns > 0 && now_ns >= r->retry_at_ns) {
        r->retry_at_ns = 0;
        r->is_dirty = true;
    }
    refresh_run(r);
}

/* ---- writes ---- */

struct writing {
    struct pods *set;
    char *uid;
    struct volumes volumes;
};

static struct err *write_volumes(void *message)
{
    const struct writing *w = message;

    return w->set->o.update_volumes(&w->volumes);
}

static void pod_refresh_on_written(void *message, const struct err *e)
{
    struct writing *w = message;
    struct pod *p = pods_find(w->set, w->uid);
    struct refresh *r = p ? p->refresh : NULL;

    if (r && r->is_writing) {
        r->is_writing = false;
        if (e) {
            LOG(WARN, "volumes could not be brought up to date", S("pod", p->name), E(e));
            r->retry_at_ns = loop_now_ns(w->set->o.loop) + RETRY_NS;
        }
        refresh_run(r);
    }
    volumes_done(&w->volumes);
    free(w->uid);
    free(w);
}

/* Takes `*v`. */
static void give_to_worker(struct refresh *r, struct volumes *v)
{
    struct writing *w = mem_alloc(sizeof(*w));

    *w = (struct writing){.set = r->pod->set, .uid = mem_strdup(r->pod->uid), .volumes = *v};
    *v = (struct volumes){0};
    r->is_writing = true;
    worker_give(w->set->o.worker, write_volumes, pod_refresh_on_written, w);
}

/* ---- plans ---- */

static bool refresh_is_known(const struct refresh *r)
{
    for (size_t i = 0; i < r->followed.n; i++)
        if (r->followed.at[i].watch && !ref_watch_is_synced(r->followed.at[i].watch))
            return false;
    for (size_t i = 0; i < r->tokens.n; i++)
        if (!json_object_get(r->pod->refs, r->tokens.at[i].ref))
            return false;
    return true;
}

/* Copies the watched objects into the pod's refs, which later containers use for variables, too. */
static void take_refs(const struct refresh *r)
{
    for (size_t i = 0; i < r->followed.n; i++) {
        const struct followed *f = &r->followed.at[i];
        json_t *object = f->watch ? ref_watch_object(f->watch) : NULL;

        if (object)
            (void)json_object_set(r->pod->refs, f->ref, object);
        else if (f->watch)
            (void)json_object_del(r->pod->refs, f->ref); /* fails if absent */
    }
}

static void tell_failure(struct refresh *r, const struct err *e)
{
    AUTO_FREE char *text = mem_format("MountVolume.SetUp failed: %s", err_message(e));

    if (!r->is_failure_told)
        pod_events_add(r->pod->set->events, r->pod->object, NULL, "Warning", "FailedMount", text);
    r->is_failure_told = true;
}

static void refresh_plan(struct refresh *r)
{
    struct pod *p = r->pod;
    AUTO(volumes_done) struct volumes v = {0};
    AUTO(err_freep) struct err *e = NULL;
    bool has_userns = false;
    uint32_t uid_base = 0;

    take_refs(r);
    e = pod_find_userns(p, &has_userns, &uid_base);
    if (!e)
        e = pod_plan_volumes(p, uid_base, &v);
    if (e) {
        tell_failure(r, e);
        return;
    }
    r->is_failure_told = false;
    give_to_worker(r, &v);
}

static void refresh_run(struct refresh *r)
{
    const struct pod *p = r->pod;

    refresh_set_timer(r);
    if (!r->is_dirty || r->is_writing || p->preparation == PREP_FETCHING ||
        p->preparation == PREP_MAKING || !refresh_is_known(r))
        return;
    r->is_dirty = false;
    refresh_plan(r);
    refresh_set_timer(r);
}

/* ---- begin and end ---- */

static bool has_live_field(const json_t *items)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (items, i, item) {
        const char *path = json_text_at(item, "fieldRef", "fieldPath", NULL);

        if (path && (text_starts_with(path, "metadata.labels") ||
                     text_starts_with(path, "metadata.annotations")))
            return true;
    }
    return false;
}

static bool has_live_fields(const json_t *pod)
{
    const json_t *volume = NULL;
    const json_t *source = NULL;
    size_t i = 0;
    size_t k = 0;

    json_array_foreach (json_at(pod, "spec", "volumes", NULL), i, volume) {
        if (has_live_field(json_at(volume, "downwardAPI", "items", NULL)))
            return true;
        json_array_foreach (json_at(volume, "projected", "sources", NULL), k, source)
            if (has_live_field(json_at(source, "downwardAPI", "items", NULL)))
                return true;
    }
    return false;
}

static bool is_running(const struct pod *p)
{
    if (!p->object || p->record == RECORD_GONE || p->life != POD_ACTIVE)
        return false;
    for (size_t i = 0; i < p->n_containers; i++)
        if (container_is_live(&p->containers[i]) && p->containers[i].state != CONTAINER_CREATING)
            return true;
    return false;
}

static void refresh_begin(struct pod *p, const json_t *refs)
{
    struct refresh *r = mem_alloc(sizeof(*r));
    const json_t *item = NULL;
    size_t i = 0;

    r->pod = p;
    r->is_dirty = true;
    r->timer = loop_timer_new(p->set->o.loop, on_refresh_timer, r);
    p->refresh = r;
    if (!p->refs)
        p->refs = json_object();
    json_array_foreach (refs, i, item) {
        const char *ref = json_string_value(item);
        const json_t *token = json_object_get(p->refs, ref);

        if (refs_is_token(ref))
            vec_add(&r->tokens, (struct token){.refresh = r,
                                               .ref = mem_strdup(ref),
                                               .renew_at_ns = token ? renewal_ns(p, token) : 1});
        else
            vec_add(&r->followed,
                    (struct followed){.ref = mem_strdup(ref),
                                      .watch = ref_watch_take(p->set->watches, p->ns, ref)});
    }
    refresh_run(r);
}

void pod_refresh_end(struct pod *p)
{
    struct refresh *r = p->refresh;

    if (!r)
        return;
    p->refresh = NULL;
    VEC_EACH (&r->tokens, t) {
        if (t->call)
            client_cancel(t->call);
        free(t->ref);
    }
    VEC_EACH (&r->followed, f) {
        ref_watch_give(f->watch);
        free(f->ref);
    }
    vec_done(&r->tokens);
    vec_done(&r->followed);
    loop_timer_free(r->timer);
    free(r);
}

void pod_step_refresh(struct pod *p)
{
    AUTO(json_freep) json_t *refs = NULL;
    AUTO(err_freep) struct err *e = NULL;
    bool wants = is_running(p);

    if (!wants)
        pod_refresh_end(p);
    if (!wants || p->refresh || !json_at(p->object, "spec", "volumes", NULL))
        return;
    refs = json_array();
    e = refs_collect_volumes(p->object, refs);
    if (!e && (json_array_size(refs) > 0 || has_live_fields(p->object)))
        refresh_begin(p, refs);
}

void pod_refresh_again(struct pod *p)
{
    if (!p->refresh)
        return;
    p->refresh->is_dirty = true;
    refresh_run(p->refresh);
}

void pods_refresh(void *arg, const struct ref_watch *w)
{
    struct pods *set = arg;
    struct pod *p = NULL;
    struct pod *next = NULL;

    map_each (handle, set->pods, p, next)
        for (size_t i = 0; p->refresh && i < p->refresh->followed.n; i++)
            if (p->refresh->followed.at[i].watch == w) {
                pod_refresh_again(p);
                break;
            }
}
