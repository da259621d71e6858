/*
 * partition.c - plans for MIG instances
 *
 * A gpu has at most eight instances, so the planner tries every set of present instances to keep,
 * the largest sets first, and places the missing ones by depth-first search.
 */

#include "gpu/partition.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/mig.h"

/* A planning problem. */
struct partitioning {
    const struct gpu *gpu;
    const struct mig_geometry *geometry;
    const char *holders[GPU_SLICES_MAX]; /* of the gpu's slices; NULL: free */
    unsigned wanted[MIG_PROFILES_MAX];   /* number of instances by profile */
    struct partition_plan plan;
};

static bool is_held_by(const struct gpu_holding *h, const struct gpu *g, const struct gpu_slice *s)
{
    /* The strategy `single` gives a slice as a gpu with the MIG device's uuid. */
    if (s->uuid[0] && text_equal(h->device.gpu, s->uuid))
        return true;
    return text_equal(h->device.gpu, g->uuid) && h->device.kind == DEVICE_SLICE &&
           h->device.start == s->start && text_equal(h->device.profile, s->profile);
}

static void add_step(struct partition_plan *p, struct partition_step s)
{
    if (p->n < PARTITION_STEPS_MAX)
        p->steps[p->n++] = s;
}

static void add_destroy(struct partition_plan *p, const struct gpu_slice *s)
{
    struct partition_step step = {
        .op = PARTITION_DESTROY, .start = s->start, .gpu_instance = (unsigned)s->gpu_instance};

    memcpy(step.profile, s->profile, sizeof(step.profile));
    add_step(p, step);
}

static void add_create(struct partition_plan *p, const struct mig_profile *profile, unsigned start)
{
    struct partition_step step = {.op = PARTITION_CREATE, .start = start, .size = profile->size};

    (void)snprintf(step.profile, sizeof(step.profile), "%s", profile->name);
    add_step(p, step);
}

static struct err *unknown_profile(const struct mig_geometry *geometry, const char *name)
{
    AUTO(buf_done) struct buf names = {.cap = 1024};

    for (unsigned i = 0; i < geometry->n_profiles; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", geometry->profiles[i].name);
    return err_new(ERR_INVALID, "the gpu has no profile %s: it has %s", name, names.at);
}

static struct err *partition_begin(const struct gpu *g, const struct gpu_holding *holdings,
                                   size_t n, struct partitioning *ret)
{
    struct partitioning p = {.gpu = g, .geometry = mig_geometry_of(g->model, g->memory_bytes)};

    if (g->mig_mode < 0)
        return err_new(ERR_INVALID, "the gpu has no MIG");
    if (!p.geometry)
        return err_new(ERR_INVALID, "the MIG profiles of %s are not known", g->product);
    for (size_t i = 0; i < g->n_slices; i++)
        for (size_t k = 0; k < n; k++)
            if (is_held_by(&holdings[k], g, &g->slices[i]))
                p.holders[i] = holdings[k].pod;
    *ret = p;
    return NULL;
}

/* A pod that holds all of the gpu, a share or a replica; NULL: none. */
static const char *whole_holder(const struct gpu *g, const struct gpu_holding *holdings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text_equal(holdings[i].device.gpu, g->uuid) && holdings[i].device.kind != DEVICE_SLICE)
            return holdings[i].pod;
    return NULL;
}

/* ---- MIG off ---- */

static struct err *plan_off(struct partitioning *p)
{
    for (size_t i = 0; i < p->gpu->n_slices; i++)
        if (p->holders[i])
            return err_new(ERR_CONFLICT, "MIG off waits for the end of %s", p->holders[i]);
    if (p->gpu->mig_mode != 1)
        return NULL;
    for (size_t i = 0; i < p->gpu->n_slices; i++)
        add_destroy(&p->plan, &p->gpu->slices[i]);
    add_step(&p->plan, (struct partition_step){.op = PARTITION_DISABLE});
    return NULL;
}

/* ---- fixed slices ---- */

/* Places the wanted instances from profile `k` (the last first: the largest) on, beside `s`. */
static bool place_rest(const struct partitioning *p, struct mig_state s, unsigned *left,
                       struct partition_plan *plan)
{
    const struct mig_geometry *geometry = p->geometry;
    unsigned k = geometry->n_profiles;
    size_t n = plan->n;

    while (k > 0 && left[k - 1] == 0)
        k--;
    if (k == 0)
        return true;
    k--;
    for (unsigned starts = mig_starts(geometry, s, k); starts; starts &= starts - 1) {
        unsigned start = (unsigned)__builtin_ctz(starts);

        left[k]--;
        add_create(plan, &geometry->profiles[k], start);
        if (place_rest(p, mig_state_add(geometry, s, k, start), left, plan))
            return true;
        plan->n = n;
        left[k]++;
    }
    return false;
}

/* Tries to keep the set `kept` of present instances (bit i: slice i). */
static bool try_keep(const struct partitioning *p, unsigned kept, struct partition_plan *ret)
{
    struct mig_state s = {0};
    unsigned left[MIG_PROFILES_MAX];
    struct partition_plan plan = {0};

    memcpy(left, p->wanted, sizeof(left));
    for (size_t i = 0; i < p->gpu->n_slices; i++) {
        const struct gpu_slice *slice = &p->gpu->slices[i];
        int k = mig_profile_find(p->geometry, slice->profile);

        if (!(kept >> i & 1)) {
            add_destroy(&plan, slice);
            continue;
        }
        if (k < 0 || left[k] == 0 || !(mig_starts(p->geometry, s, (unsigned)k) >> slice->start & 1))
            return false;
        left[k]--;
        s = mig_state_add(p->geometry, s, (unsigned)k, slice->start);
    }
    if (!place_rest(p, s, left, &plan))
        return false;
    *ret = plan;
    return true;
}

/* Finds the plan that keeps the most instances, among them all of `must`. */
static bool find_plan(struct partitioning *p, unsigned must, unsigned may)
{
    for (int n = __builtin_popcount(may); n >= 0; n--)
        for (unsigned kept = 0; kept < 1u << p->gpu->n_slices; kept++)
            if ((kept & must) == must && (kept & ~may) == 0 && __builtin_popcount(kept) == n &&
                try_keep(p, kept, &p->plan))
                return true;
    return false;
}

static struct err *plan_slices(struct partitioning *p, const struct gpu_wish *w)
{
    const char *holder = NULL;
    char text[GPU_WISH_TEXT_SIZE];
    unsigned must = 0;
    unsigned may = 0;

    for (size_t i = 0; i < w->n_slices; i++) {
        int k = mig_profile_find(p->geometry, w->slices[i].profile);

        if (k < 0)
            return unknown_profile(p->geometry, w->slices[i].profile);
        p->wanted[k] += w->slices[i].count;
    }
    for (size_t i = 0; i < p->gpu->n_slices; i++) {
        if (p->holders[i])
            must |= 1u << i;
        if (p->holders[i] || p->gpu->slices[i].uuid[0])
            may |= 1u << i;
        holder = p->holders[i] ? p->holders[i] : holder;
    }
    gpu_wish_format(w, text);
    if (p->gpu->mig_mode != 1)
        add_step(&p->plan, (struct partition_step){.op = PARTITION_ENABLE});
    if (p->gpu->mig_mode == 1 ? find_plan(p, must, may)
                              : place_rest(p, (struct mig_state){0}, p->wanted, &p->plan))
        return NULL;
    if (must && find_plan(p, 0, may))
        return err_new(ERR_CONFLICT, "%s waits for the end of %s", text, holder);
    return err_new(ERR_INVALID, "%s do not fit on the gpu", text);
}

/* ---- flexible ---- */

static bool has_slice(const struct gpu *g, const struct device *d)
{
    for (size_t i = 0; i < g->n_slices; i++)
        if (g->slices[i].start == d->start && g->slices[i].uuid[0] &&
            text_equal(g->slices[i].profile, d->profile))
            return true;
    return false;
}

/* Destroys the free instances that overlap `size` units from `start` on. */
static struct err *clear_span(struct partitioning *p, unsigned start, unsigned size,
                              unsigned *destroyed)
{
    for (size_t i = 0; i < p->gpu->n_slices; i++) {
        const struct gpu_slice *s = &p->gpu->slices[i];
        int k = mig_profile_find(p->geometry, s->profile);
        unsigned end = s->start + (k < 0 ? 1u : p->geometry->profiles[k].size);

        if (s->start >= start + size || end <= start || *destroyed >> i & 1)
            continue;
        if (p->holders[i] && s->uuid[0])
            return err_new(ERR_CONFLICT, "slice %s@%u of %s is in the way", s->profile, s->start,
                           p->holders[i]);
        add_destroy(&p->plan, s);
        *destroyed |= 1u << i;
    }
    return NULL;
}

/* MIG that goes on with a reset goes on before any pod has a slice. */
static struct err *plan_flexible_on(struct partitioning *p, const struct gpu_holding *holdings,
                                    size_t n)
{
    const char *holder = whole_holder(p->gpu, holdings, n);

    if (holder)
        return err_new(ERR_CONFLICT, "flexible waits for the end of %s: MIG is off", holder);
    add_step(&p->plan, (struct partition_step){.op = PARTITION_ENABLE});
    return NULL;
}

static struct err *plan_flexible(struct partitioning *p, const struct gpu_holding *holdings,
                                 size_t n)
{
    struct partition_plan creates = {0};
    unsigned destroyed = 0;

    if (p->gpu->mig_mode != 1 && gpu_mig_needs_reset(p->gpu))
        return plan_flexible_on(p, holdings, n);
    if (whole_holder(p->gpu, holdings, n))
        return plan_off(p);
    for (size_t i = 0; i < n; i++) {
        const struct device *d = &holdings[i].device;
        int k;

        if (!text_equal(d->gpu, p->gpu->uuid) || has_slice(p->gpu, d))
            continue;
        k = mig_profile_find(p->geometry, d->profile);
        if (k < 0)
            return unknown_profile(p->geometry, d->profile);
        TRY(clear_span(p, d->start, p->geometry->profiles[k].size, &destroyed));
        add_create(&creates, &p->geometry->profiles[k], d->start);
    }
    if (creates.n > 0 && p->gpu->mig_mode != 1)
        add_step(&p->plan, (struct partition_step){.op = PARTITION_ENABLE});
    for (size_t i = 0; i < creates.n; i++)
        add_step(&p->plan, creates.steps[i]);
    return NULL;
}

/* ---- plans ---- */

struct err *partition_plan_make(const struct gpu *g, const struct gpu_wish *w,
                                const struct gpu_holding *holdings, size_t n,
                                struct partition_plan *ret)
{
    const char *holder = whole_holder(g, holdings, n);
    struct partitioning p = {0};

    if (!w->is_asked ||
        (w->kind != GPU_WISH_SLICES && w->kind != GPU_WISH_FLEXIBLE && g->mig_mode != 1)) {
        *ret = (struct partition_plan){0};
        return NULL;
    }
    TRY(partition_begin(g, holdings, n, &p));
    assert(p.gpu && p.geometry);
    if (w->kind == GPU_WISH_FLEXIBLE) {
        TRY(plan_flexible(&p, holdings, n));
    } else if (w->kind == GPU_WISH_SLICES) {
        if (holder)
            return err_new(ERR_CONFLICT, "MIG on waits for the end of %s", holder);
        TRY(plan_slices(&p, w));
    } else {
        TRY(plan_off(&p));
    }
    *ret = p.plan;
    return NULL;
}

static const char *const ops[] = {"enable", "disable", "destroy", "create"};

json_t *partition_plan_format(const struct partition_plan *p)
{
    json_t *list = json_array();

    for (size_t i = 0; i < p->n; i++) {
        const struct partition_step *s = &p->steps[i];
        json_t *step = json_object();

        json_put_text(step, "op", ops[s->op]);
        if (s->op == PARTITION_CREATE || s->op == PARTITION_DESTROY) {
            json_put_text(step, "profile", s->profile);
            json_put_int(step, "start", s->start);
        }
        if (s->op == PARTITION_CREATE)
            json_put_int(step, "size", s->size);
        if (s->op == PARTITION_DESTROY)
            json_put_int(step, "gi", s->gpu_instance);
        (void)json_array_append_new(list, step); /* a fresh object: cannot fail */
    }
    return list;
}

struct err *partition_step_parse(const json_t *j, struct partition_step *ret)
{
    const char *profile = json_text(j, "profile");
    int64_t start = json_int(j, "start", 0);
    int64_t size = json_int(j, "size", 0);
    int64_t instance = json_int(j, "gi", 0);
    struct partition_step s = {0};
    size_t op = 0;

    while (op < COUNT(ops) && !text_equal(ops[op], json_text(j, "op")))
        op++;
    if (op == COUNT(ops) || start < 0 || start >= MIG_UNITS_MAX || size < 0 ||
        size > MIG_UNITS_MAX || instance < 0 || instance > UINT16_MAX ||
        (profile && strlen(profile) >= sizeof(s.profile)))
        return err_new(ERR_INVALID, "partition: malformed step");
    s = (struct partition_step){.op = (enum partition_op)op,
                                .start = (unsigned)start,
                                .size = (unsigned)size,
                                .gpu_instance = (unsigned)instance};
    (void)snprintf(s.profile, sizeof(s.profile), "%s", profile ? profile : "");
    *ret = s;
    return NULL;
}
