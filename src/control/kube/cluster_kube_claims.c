/*
 * cluster_kube_claims.c - the claims of a pod that is bound: devices and users, written and undone
 *
 * The claims are brought to the planned state one after the other: the finalizer, then the status.
 * Each write carries the version that was read. After a conflict or a lost answer the claim is read
 * again, and its state decides the next step. Undoing goes the same way back.
 */

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/kube/cluster_kube_private.h"

#define AGAIN_NS (1 * NS_PER_SEC)
/* The finalizer of claims that have devices, as Kubernetes has it. */
#define PROTECTION "resource.kubernetes.io/delete-protection"

enum {
    USERS_MAX = 256,   /* of a claim */
    CONFLICTS_MAX = 16 /* of one claim, until the placement is given up */
};

struct kube_claiming {
    struct kube_claiming *prev;
    struct kube_claiming *next;
    struct over_kube *cluster;
    struct kube_claiming_options o;
    char *ns;
    char *pod;
    char *uid;
    bool *is_asked; /* of each plan: its status was written, or may have been */
    size_t at;      /* the plan in work */
    size_t n_conflicts;
    bool is_undoing;
    json_t *claim; /* of the plan in work, as last read; NULL: to be read */
    struct kube_call *call;
    struct loop_timer *timer;
    struct err *failure;
};

static void claiming_step(struct kube_claiming *k);

static const struct claims_plan *plan_of(const struct kube_claiming *k)
{
    return &k->o.plans[k->at];
}

static void claiming_end(struct kube_claiming *k, struct err *e)
{
    err_free(k->failure);
    k->failure = e;
    k->at = k->o.n_plans;
    loop_timer_set(k->timer, 0);
}

static void claiming_next(struct kube_claiming *k)
{
    json_decref(TAKE(k->claim));
    k->n_conflicts = 0;
    k->at++;
}

/* ---- requests ---- */

static void on_claim(void *arg, const struct err *e, const json_t *claim)
{
    struct kube_claiming *k = arg;
    bool is_gone = e && err_code(e) == ERR_NOT_FOUND;

    k->call = NULL;
    json_decref(TAKE(k->claim));
    if (e && (kube_is_lost(e) || err_code(e) == ERR_CONFLICT)) {
        k->n_conflicts += err_code(e) == ERR_CONFLICT;
        loop_timer_set(k->timer, err_code(e) == ERR_CONFLICT && !k->is_undoing ? 0 : AGAIN_NS);
        return;
    }
    if (e && !k->is_undoing) {
        claiming_end(k, err_new(is_gone ? ERR_CONFLICT : err_code(e), "ResourceClaim %s: %s",
                                plan_of(k)->name, is_gone ? "it is gone" : err_message(e)));
        return;
    }
    if (e && !is_gone)
        LOG(WARN, "the devices of a claim could not be taken back", S("namespace", k->ns),
            S("claim", plan_of(k)->name), E(e));
    if (e) {
        claiming_next(k);
    } else {
        k->claim = json_incref((json_t *)(uintptr_t)claim);
        claims_kube_assume(k->cluster->claims, claim);
    }
    claiming_step(k);
}

static void claiming_send(struct kube_claiming *k, const char *sub, const json_t *patch)
{
    AUTO_FREE char *path =
        kube_path(kube_kind("resourceclaims.resource.k8s.io"), k->ns, plan_of(k)->name, sub);

    k->call = kube_send(
        k->cluster,
        &(struct kube_request){.method = patch ? "PATCH" : "GET",
                               .path = path,
                               .content_type = patch ? "application/merge-patch+json" : NULL,
                               .body = patch,
                               .fn = on_claim,
                               .arg = k});
}

/* A patch of the claim as it was read. A new tree. */
static json_t *patch_new(const struct kube_claiming *k)
{
    json_t *patch = json_object();
    json_t *metadata = json_object_at(patch, "metadata");

    json_put_text(metadata, "resourceVersion",
                  json_text_at(k->claim, "metadata", "resourceVersion", NULL));
    json_put_text(metadata, "uid", plan_of(k)->uid);
    return patch;
}

static const json_t *users_of(const json_t *claim)
{
    return json_at(claim, "status", "reservedFor", NULL);
}

/* The users without the pod. A new array. */
static json_t *other_users(const struct kube_claiming *k)
{
    const json_t *users = users_of(k->claim);
    json_t *others = json_array();

    for (size_t i = 0; i < json_array_size(users); i++)
        if (!text_equal(json_text(json_array_get(users, i), "uid"), k->uid))
            (void)json_array_append(others, json_array_get(users, i)); /* an object */
    return others;
}

static bool is_user(const struct kube_claiming *k)
{
    AUTO(json_freep) json_t *others = other_users(k);

    return json_array_size(others) < json_array_size(users_of(k->claim));
}

/* ---- taking ---- */

static struct err *claim_check(const struct kube_claiming *k)
{
    const struct claims_plan *p = plan_of(k);
    const json_t *there = json_at(k->claim, "status", "allocation", NULL);
    const json_t *results = json_at(there, "devices", "results", NULL);

    if (!text_equal(json_text_at(k->claim, "metadata", "uid", NULL), p->uid))
        return err_new(ERR_CONFLICT, "another claim has its name");
    if (json_at(k->claim, "metadata", "deletionTimestamp", NULL))
        return err_new(ERR_CONFLICT, "it is being deleted");
    if (p->has_devices && !there)
        return err_new(ERR_CONFLICT, "it has lost its devices");
    if (there && !json_equal(results, json_at(p->allocation, "devices", "results", NULL)))
        return err_new(ERR_CONFLICT, "it has other devices now");
    if (!is_user(k) && json_array_size(users_of(k->claim)) >= USERS_MAX)
        return err_new(ERR_CONFLICT, "%d pods use it already", USERS_MAX);
    if (claims_kube_is_taken(k->cluster->claims, p))
        return err_new(ERR_CONFLICT, "another claim has one of its devices");
    if (k->n_conflicts > CONFLICTS_MAX)
        return err_new(ERR_CONFLICT, "it changes all the time");
    return NULL;
}

static void protect(struct kube_claiming *k)
{
    json_t *there = json_at(k->claim, "metadata", "finalizers", NULL);
    json_t *all = there ? json_copy(there) : json_array();
    AUTO(json_freep) json_t *patch = patch_new(k);

    (void)json_array_append_new(all, json_string(PROTECTION)); /* ASCII */
    json_put(json_object_at(patch, "metadata"), "finalizers", all);
    claiming_send(k, NULL, patch);
}

static void reserve(struct kube_claiming *k)
{
    AUTO(json_freep) json_t *patch = patch_new(k);
    json_t *status = json_object_at(patch, "status");
    json_t *users = other_users(k);

    if (!json_at(k->claim, "status", "allocation", NULL))
        json_put(status, "allocation", json_incref(plan_of(k)->allocation));
    (void)json_array_append_new(
        users, json_pack("{s:s, s:s, s:s}", "resource", "pods", "name", k->pod, "uid", k->uid));
    json_put(status, "reservedFor", users);
    k->is_asked[k->at] = true;
    claiming_send(k, "status", patch);
}

static void claim_take(struct kube_claiming *k)
{
    AUTO(err_freep) struct err *e = claim_check(k);

    if (e) {
        claiming_end(
            k, err_new(err_code(e), "ResourceClaim %s: %s", plan_of(k)->name, err_message(e)));
    } else if (is_user(k) && json_at(k->claim, "status", "allocation", NULL)) {
        claiming_next(k);
        claiming_step(k);
    } else if (!json_has_text(json_at(k->claim, "metadata", "finalizers", NULL), PROTECTION)) {
        protect(k);
    } else {
        reserve(k);
    }
}

/* ---- undoing ---- */

/* Devices that other pods have come to use meanwhile stay. */
static void claim_give_back(struct kube_claiming *k)
{
    AUTO(json_freep) json_t *patch = patch_new(k);
    json_t *status = json_object_at(patch, "status");
    json_t *others = other_users(k);
    bool is_last = json_array_size(others) == 0;

    json_put(status, "reservedFor", is_last ? json_null() : json_incref(others));
    json_decref(others);
    if (is_last && !plan_of(k)->has_devices)
        json_put(status, "allocation", json_null());
    claiming_send(k, "status", patch);
}

static void claim_undo(struct kube_claiming *k)
{
    bool is_other = !text_equal(json_text_at(k->claim, "metadata", "uid", NULL), plan_of(k)->uid);

    if (!is_other && is_user(k)) {
        claim_give_back(k);
        return;
    }
    claiming_next(k);
    claiming_step(k);
}

/* ---- steps ---- */

static void claiming_step(struct kube_claiming *k)
{
    while (k->is_undoing && k->at < k->o.n_plans && !k->is_asked[k->at])
        claiming_next(k);
    if (k->at == k->o.n_plans)
        loop_timer_set(k->timer, 0);
    else if (!k->claim && !k->is_undoing && k->n_conflicts == 0 && !k->is_asked[k->at]) {
        k->claim = json_incref(plan_of(k)->claim);
        claim_take(k);
    } else if (!k->claim)
        claiming_send(k, NULL, NULL);
    else if (k->is_undoing)
        claim_undo(k);
    else
        claim_take(k);
}

/* The scheduler sends no new request while it drains: the next leader finds the claims as written.
 */
static void on_claiming_timer(void *arg)
{
    struct kube_claiming *k = arg;

    if (k->at < k->o.n_plans && !k->cluster->drain_timer)
        claiming_step(k);
    else if (k->at == k->o.n_plans)
        k->o.done(k->o.arg, k->failure); /* may free */
}

struct kube_claiming *kube_claiming_new(struct over_kube *c, const struct kube_claiming_options *o)
{
    struct kube_claiming *k = mem_alloc(sizeof(*k));

    *k = (struct kube_claiming){.cluster = c,
                                .o = *o,
                                .ns = mem_strdup(o->ns),
                                .pod = mem_strdup(o->pod),
                                .uid = mem_strdup(o->uid),
                                .is_asked = mem_alloc(o->n_plans * sizeof(bool) + 1)};
    k->o.ns = k->o.pod = k->o.uid = NULL; /* borrowed until now */
    LIST_ADD(c->claimings, k);
    k->timer = loop_timer_new(c->o.loop, on_claiming_timer, k);
    loop_timer_set(k->timer, 0);
    return k;
}

bool kube_claiming_collides(const struct over_kube *c, const struct claims_plan *plans, size_t n)
{
    const struct kube_claiming *k;

    for (k = c->claimings; k; k = k->next)
        for (size_t i = 0; i < k->o.n_plans * n; i++)
            if (claims_plans_collide(&k->o.plans[i / n], &plans[i % n]))
                return true;
    return false;
}

void kube_claiming_undo(struct kube_claiming *k, void (*done)(void *arg, const struct err *e))
{
    if (k->call)
        kube_call_free(TAKE(k->call));
    json_decref(TAKE(k->claim));
    err_free(TAKE(k->failure));
    k->o.done = done;
    k->is_undoing = true;
    k->at = 0;
    k->n_conflicts = 0;
    loop_timer_set(k->timer, 0);
}

void kube_claiming_free(struct kube_claiming *k)
{
    if (!k)
        return;
    if (k->call)
        kube_call_free(k->call);
    LIST_REMOVE(k->cluster->claimings, k);
    loop_timer_free(k->timer);
    claims_plans_free(k->o.plans, k->o.n_plans);
    json_decref(k->claim);
    err_free(k->failure);
    free(k->is_asked);
    free(k->ns);
    free(k->pod);
    free(k->uid);
    free(k);
}
