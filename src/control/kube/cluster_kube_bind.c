/*
 * cluster_kube_bind.c - placements, bound pod by pod
 *
 * A pod goes through CLAIMING (its claims get devices), CLAIMED, ASKED (its binding was sent), LOST
 * (the answer was lost: the pod is read), BOUND or REFUSED; a refused pod with claims first through
 * RELEASING (they give back what they got). No binding is sent before all claims have their
 * devices. Once no pod is under way, a placement with a refused pod undoes the bound ones: UNDOING
 * (deleted, not gone yet), GONE; what their claims have is kube-controller-manager's to take back.
 */

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/kube/cluster_kube_private.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

#define ASK_AGAIN_NS (1 * NS_PER_SEC)

enum kube_step {
    KUBE_CLAIMED,
    KUBE_CLAIMING,
    KUBE_RELEASING,
    KUBE_ASKED,
    KUBE_LOST,
    KUBE_BOUND,
    KUBE_REFUSED,
    KUBE_UNDOING,
    KUBE_GONE
};

struct kube_bound {
    struct kube_bind *of;
    char *name;
    char *uid;
    char *node;
    char *devices; /* texts of the annotations; NULL: none */
    char *claims;
    struct kube_claiming *claiming; /* NULL: no claims */
    enum kube_step step;
    struct kube_call *call;
    struct loop_timer *timer; /* asks again */
};

/* A placement that is being written. */
struct kube_bind {
    struct kube_bind *prev;
    struct kube_bind *next;
    struct over_kube *cluster;
    char *ns;
    char *workload;
    struct cluster_answer answer;
    struct err *failure; /* of the first refused pod */
    struct loop_timer *done_timer;
    struct kube_bound *pods;
    size_t n_pods;
};

static void kube_bound_ask(struct kube_bound *p);
static void kube_bound_undo(struct kube_bound *p);

static void kube_bind_free(struct kube_bind *b)
{
    LIST_REMOVE(b->cluster->binds, b);
    for (size_t i = 0; i < b->n_pods; i++) {
        struct kube_bound *p = &b->pods[i];

        if (p->call)
            kube_call_free(p->call);
        kube_claiming_free(p->claiming);
        loop_timer_free(p->timer);
        free(p->name);
        free(p->uid);
        free(p->node);
        free(p->devices);
        free(p->claims);
    }
    loop_timer_free(b->done_timer);
    err_free(b->failure);
    free(b->pods);
    free(b->ns);
    free(b->workload);
    free(b);
}

void kube_binds_free(struct over_kube *c)
{
    AUTO(err_freep) struct err *e = err_new(ERR_UNAVAILABLE, "the program ends");

    while (c->binds) {
        const struct cluster_answer answer = c->binds->answer;

        kube_bind_free(c->binds);
        answer.done(answer.arg, e, 0);
    }
}

/* The last answers in a turn of its own: the bind is freed there. */
static void on_bind_done(void *arg)
{
    struct kube_bind *b = arg;
    const struct cluster_answer answer = b->answer;
    AUTO(err_freep) struct err *e = TAKE(b->failure);

    kube_bind_free(b);
    answer.done(answer.arg, e, 0);
}

static bool bind_has(const struct kube_bind *b, enum kube_step step)
{
    for (size_t i = 0; i < b->n_pods; i++)
        if (b->pods[i].step == step)
            return true;
    return false;
}

static void bound_refuse(struct kube_bound *p, const struct err *e);

/* Goes on once all claims have their devices, or one of the claims cannot get any. */
static void bind_claimed(struct kube_bind *b)
{
    for (size_t i = 0; i < b->n_pods; i++) {
        if (b->pods[i].step != KUBE_CLAIMED)
            continue;
        if (b->failure)
            bound_refuse(&b->pods[i], b->failure);
        else
            kube_bound_ask(&b->pods[i]);
    }
}

/* Looks where the placement stands. */
static void kube_bind_step(struct kube_bind *b)
{
    if (bind_has(b, KUBE_CLAIMING))
        return;
    bind_claimed(b);
    if (bind_has(b, KUBE_ASKED) || bind_has(b, KUBE_LOST) || bind_has(b, KUBE_RELEASING))
        return;
    for (size_t i = 0; b->failure && i < b->n_pods; i++)
        if (b->pods[i].step == KUBE_BOUND)
            kube_bound_undo(&b->pods[i]);
    if (!bind_has(b, KUBE_UNDOING))
        loop_timer_set(b->done_timer, 0);
}

static void on_released(void *arg, const struct err *e)
{
    struct kube_bound *p = arg;

    (void)e; /* logged */
    p->step = KUBE_REFUSED;
    kube_bind_step(p->of);
}

static void bound_unpromise(const struct kube_bound *p)
{
    AUTO_FREE char *key = mem_format("%s/%s", p->of->ns, p->name);

    kube_devices_unpromise(p->of->cluster->devices, key);
}

static void bound_refuse(struct kube_bound *p, const struct err *e)
{
    bound_unpromise(p);
    p->step = p->claiming ? KUBE_RELEASING : KUBE_REFUSED;
    if (!p->of->failure)
        p->of->failure = err_new(err_code(e), "pod %s/%s: %s", p->of->ns, p->name, err_message(e));
    if (p->claiming)
        kube_claiming_undo(p->claiming, on_released);
}

static void on_claimed(void *arg, const struct err *e)
{
    struct kube_bound *p = arg;

    if (e)
        bound_refuse(p, e);
    else
        p->step = KUBE_CLAIMED;
    kube_bind_step(p->of);
}

/* ---- lost answers ---- */

static void on_bound_read(void *arg, const struct err *e, const json_t *pod)
{
    struct kube_bound *p = arg;
    AUTO(err_freep) struct err *refused = NULL;

    p->call = NULL;
    if (e && err_code(e) != ERR_NOT_FOUND) {
        loop_timer_set(p->timer, ASK_AGAIN_NS);
        return;
    }
    if (e || !text_equal(json_text_at(pod, "metadata", "uid", NULL), p->uid))
        refused = err_new(ERR_CONFLICT, "the pod is gone");
    else if (text_equal(pod_node(pod), p->node))
        p->step = KUBE_BOUND;
    else if (*pod_node(pod))
        refused = err_new(ERR_CONFLICT, "the pod is on node %s", pod_node(pod));
    else if (pod_is_deleting(pod) || pod_is_terminal(pod))
        refused = err_new(ERR_CONFLICT, "the pod ends");
    else
        kube_bound_ask(p);
    if (refused)
        bound_refuse(p, refused);
    kube_bind_step(p->of);
}

static void bound_ask_again(struct kube_bound *p)
{
    AUTO_FREE char *path = kube_path(kube_kind("pods"), p->of->ns, p->name, NULL);

    if (p->step == KUBE_UNDOING) {
        kube_bound_undo(p);
        return;
    }
    p->call = kube_send(
        p->of->cluster,
        &(struct kube_request){.method = "GET", .path = path, .fn = on_bound_read, .arg = p});
}

/* The next leader asks what this one no longer will. */
static void on_bound_timer(void *arg)
{
    struct kube_bound *p = arg;

    if (!p->of->cluster->drain_timer)
        bound_ask_again(p);
}

/* ---- bindings ---- */

static void on_bound(void *arg, const struct err *e, const json_t *answer)
{
    struct kube_bound *p = arg;

    (void)answer;
    p->call = NULL;
    if (e && kube_is_lost(e)) {
        LOG(WARN, "the answer of a binding was lost", S("pod", p->name), E(e));
        p->step = KUBE_LOST;
        loop_timer_set(p->timer, ASK_AGAIN_NS);
        return;
    }
    if (e && p->claiming && err_code(e) == ERR_CONFLICT) {
        p->step = KUBE_LOST; /* an earlier request may have bound the pod */
        bound_ask_again(p);
        return;
    }
    if (e)
        bound_refuse(p, e);
    else
        p->step = KUBE_BOUND;
    kube_bind_step(p->of);
}

static json_t *binding_make(const struct kube_bound *p)
{
    json_t *body = json_object();
    json_t *metadata = json_object_at(body, "metadata");
    json_t *annotations = json_object_at(metadata, "annotations");
    json_t *target = json_object_at(body, "target");

    json_put_text(body, "apiVersion", "v1");
    json_put_text(body, "kind", "Binding");
    json_put_text(metadata, "name", p->name);
    json_put_text(metadata, "namespace", p->of->ns);
    json_put_text(metadata, "uid", p->uid);
    if (p->devices)
        json_put_text(annotations, POD_DEVICES, p->devices);
    if (p->claims)
        json_put_text(annotations, POD_CLAIMS, p->claims);
    if (p->of->n_pods > 1)
        json_put_text(annotations, POD_PLACEMENT, p->of->workload);
    json_put_text(target, "apiVersion", "v1");
    json_put_text(target, "kind", "Node");
    json_put_text(target, "name", p->node);
    return body;
}

static void kube_bound_ask(struct kube_bound *p)
{
    AUTO_FREE char *path = kube_path(kube_kind("pods"), p->of->ns, p->name, "binding");
    AUTO(json_freep) json_t *body = binding_make(p);

    p->step = KUBE_ASKED;
    p->call =
        kube_send(p->of->cluster,
                  &(struct kube_request){
                      .method = "POST", .path = path, .body = body, .fn = on_bound, .arg = p});
}

/* ---- undoing ---- */

static void on_undone(void *arg, const struct err *e, const json_t *answer)
{
    struct kube_bound *p = arg;

    (void)answer;
    p->call = NULL;
    if (e && (err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_CONFLICT)) {
        p->step = KUBE_GONE; /* or another pod has its name */
        kube_bind_step(p->of);
    } else if (e) {
        loop_timer_set(p->timer, ASK_AGAIN_NS);
    }
}

static void kube_bound_undo(struct kube_bound *p)
{
    AUTO_FREE char *path = kube_path(kube_kind("pods"), p->of->ns, p->name, NULL);
    AUTO(json_freep) json_t *body = json_object();

    LOG(WARN, "a bound pod is deleted: its gang cannot be bound", S("pod", p->name),
        E(p->of->failure));
    json_put_text(json_object_at(body, "preconditions"), "uid", p->uid);
    p->step = KUBE_UNDOING;
    p->call =
        kube_send(p->of->cluster,
                  &(struct kube_request){
                      .method = "DELETE", .path = path, .body = body, .fn = on_undone, .arg = p});
}

void kube_bind_gone(struct over_kube *c, const char *uid)
{
    struct kube_bind *b = NULL;

    LIST_EACH (c->binds, b) {
        for (size_t i = 0; i < b->n_pods; i++) {
            struct kube_bound *p = &b->pods[i];

            if (p->step != KUBE_UNDOING || !text_equal(p->uid, uid))
                continue;
            p->step = KUBE_GONE;
            kube_bind_step(b);
        }
    }
}

/* ---- placements ---- */

/* Refuses what would give a device twice, by what the watch has told. */
static struct err *bind_check(const struct over_kube *c, const struct ledger_pod *pod)
{
    for (size_t i = 0; i < pod->n_containers; i++)
        for (size_t k = 0; k < pod->containers[i].n_devices; k++)
            if (kube_devices_hold(c->devices, pod->node, &pod->containers[i].devices[k]))
                return err_new(ERR_CONFLICT, "pod %s: gpu %s of node %s is held", pod->name,
                               pod->containers[i].devices[k].gpu, pod->node);
    return NULL;
}

/* Fills in a pod of the placement. */
static struct err *bound_init(struct kube_bind *b, const struct ledger_pod *pod,
                              struct kube_bound *p)
{
    struct over_kube *c = b->cluster;
    AUTO_FREE char *key = mem_format("%s/%s", b->ns, pod->name);
    struct kube_claiming_options o = {
        .ns = b->ns, .pod = pod->name, .uid = pod->uid, .done = on_claimed, .arg = p};
    struct claims_placed placed = {0};

    TRY(bind_check(c, pod));
    if (c->claims)
        TRY(claims_kube_plan(c->claims, b->ns, pod, &placed));
    if (kube_claiming_collides(c, placed.plans, placed.n_plans)) {
        claims_placed_done(&placed);
        return err_new(ERR_CONFLICT, "pod %s: a device is being given to another claim", pod->name);
    }
    *p = (struct kube_bound){.of = b,
                             .name = mem_strdup(pod->name),
                             .uid = mem_strdup(pod->uid),
                             .node = mem_strdup(pod->node),
                             .devices = placed.plans ? placed.devices : ledger_devices_format(pod),
                             .claims = placed.claims,
                             .step = KUBE_CLAIMED};
    p->timer = loop_timer_new(c->o.loop, on_bound_timer, p);
    kube_devices_promise(c->devices, key, pod);
    if (!placed.plans)
        return NULL;
    o.plans = placed.plans;
    o.n_plans = placed.n_plans;
    p->step = KUBE_CLAIMING;
    p->claiming = kube_claiming_new(c, &o);
    return NULL;
}

struct err *over_kube_bind(void *self, const struct ledger_placement *placement,
                           struct cluster_answer a)
{
    struct over_kube *c = self;
    struct kube_bind *b = mem_alloc(sizeof(*b));

    *b = (struct kube_bind){.cluster = c,
                            .ns = mem_strdup(placement->ns),
                            .workload = mem_strdup(placement->workload),
                            .answer = a,
                            .pods = mem_alloc(placement->n_pods * sizeof(*b->pods) + 1)};
    b->done_timer = loop_timer_new(c->o.loop, on_bind_done, b);
    LIST_ADD(c->binds, b);
    for (size_t i = 0; i < placement->n_pods; i++) {
        struct err *e = bound_init(b, &placement->pods[i], &b->pods[i]);

        if (e) {
            for (size_t k = 0; k < b->n_pods; k++)
                bound_unpromise(&b->pods[k]);
            kube_bind_free(b);
            return e;
        }
        b->n_pods++;
    }
    kube_bind_step(b);
    return NULL;
}
