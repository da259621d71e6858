/* gpu_charge.c - what attempts used of their gpus from one sample of a gpu to the next */

#include "node/gpu_charge.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "gpu/gpu_use.h"
#include "model/device.h"
#include "node/pod/pod.h"

static const int64_t GAP_MAX_NS = 30 * NS_PER_SEC; /* a longer time between samples is unknown */
static const int64_t BUSY_MILLI = 50;              /* less is idle, as in the metrics */

/* ---- arithmetic ---- */

int64_t gpu_part_ns(const struct gpu_part_held *p)
{
    return (int64_t)((__int128)p->ns * p->held_milli / 1000);
}

int64_t gpu_part_busy_ns(const struct gpu_part_held *p)
{
    int64_t busy_ns = 0;

    if (p->sm_milli < 0)
        return -1;
    busy_ns = (int64_t)((__int128)p->ns * p->sm_milli * p->full_milli / 1000000);
    return busy_ns < gpu_part_ns(p) ? busy_ns : gpu_part_ns(p);
}

/* The weight of a part by the compute used; -1: unknown. */
static int64_t part_work(const struct gpu_part_held *p)
{
    return p->sm_milli < 0 ? -1 : p->sm_milli * p->size_milli;
}

void gpu_energy_divide(int64_t energy_mj, int64_t foreign_milli, const struct gpu_part_held *parts,
                       size_t n, int64_t *ret_mj)
{
    int64_t work = foreign_milli > 0 ? foreign_milli * 1000 : 0;
    int64_t held = 0;
    int64_t before = 0; /* the sum of the weights so far */
    int64_t total = 0;
    bool is_by_work = true;

    for (size_t i = 0; i < n; i++) {
        is_by_work = is_by_work && parts[i].sm_milli >= 0;
        work += part_work(&parts[i]);
        held += parts[i].held_milli;
    }
    is_by_work = is_by_work && work > 0;
    total = is_by_work ? work : held;
    for (size_t i = 0; i < n; i++) {
        int64_t after = before + (is_by_work ? part_work(&parts[i]) : parts[i].held_milli);

        /* The difference of two rounded sums, so that all parts add up. */
        ret_mj[i] = total <= 0 ? 0
                               : (int64_t)((__int128)energy_mj * after / total -
                                           (__int128)energy_mj * before / total);
        before = after;
    }
}

/* ---- a round of samples ---- */

/* The time between two samples of a gpu. */
struct gpu_interval {
    const struct gpu_sample *sample;
    int64_t ns;
    int64_t energy_mj; /* -1: unknown */
};

struct part_charge {
    struct gpu_part_held held;
    const struct gpu_interval *interval;
    const char *text; /* of the device */
    const struct pod *pod;
    const struct container *container;
    int64_t memory_bytes; /* -1: unknown */
    int64_t energy_mj;
    bool is_double; /* another container of the pod has the same device, and is charged for it */
};

struct gpu_round {
    const struct pods *pods;
    const struct node_stats *stats;
    VEC(struct gpu_interval) intervals;
    VEC(struct part_charge) parts;
};

void gpu_marks_done(struct gpu_marks *m)
{
    vec_done(&m->all);
}

static struct gpu_mark *mark_of(struct gpu_marks *m, const char *uuid)
{
    struct gpu_mark mark = {.energy_mj = -1};

    VEC_EACH (&m->all, known) {
        if (text_equal(known->uuid, uuid))
            return known;
    }
    (void)snprintf(mark.uuid, sizeof(mark.uuid), "%s", uuid);
    vec_add(&m->all, mark);
    return &m->all.at[m->all.n - 1];
}

/* By the driver's counter, or by the power where the counter is missing or began anew. */
static int64_t energy_between(const struct gpu_mark *m, const struct gpu_sample *s)
{
    int64_t energy_mj = s->value[GPU_FIELD_ENERGY_MJ];
    int64_t power_mw = s->value[GPU_FIELD_POWER_MW];

    if (m->energy_mj >= 0 && energy_mj >= m->energy_mj)
        return energy_mj - m->energy_mj;
    if (power_mw < 0)
        return -1;
    return (int64_t)((__int128)power_mw * (s->at_ns - m->at_ns) / NS_PER_SEC);
}

/* Moves the marks to the samples, and notes the times between. */
static void round_begin(struct gpu_round *r, struct gpu_marks *marks)
{
    VEC_EACH (&r->stats->gpus, s) {
        struct gpu_mark *m = NULL;
        int64_t ns = 0;

        if (*s->parent)
            continue;
        m = mark_of(marks, s->uuid);
        ns = s->at_ns - m->at_ns;
        if (m->at_ns > 0 && ns > 0 && ns <= GAP_MAX_NS)
            vec_add(&r->intervals, (struct gpu_interval){s, ns, energy_between(m, s)});
        m->at_ns = s->at_ns;
        m->energy_mj = s->value[GPU_FIELD_ENERGY_MJ];
    }
}

static const struct gpu_interval *round_find(const struct gpu_round *r, const char *uuid)
{
    VEC_EACH (&r->intervals, v) {
        if (text_equal(v->sample->uuid, uuid))
            return v;
    }
    return NULL;
}

static const struct gpu_sample *round_sample(const struct gpu_round *r, const char *uuid)
{
    VEC_EACH (&r->stats->gpus, s) {
        if (text_equal(s->uuid, uuid))
            return s;
    }
    return NULL;
}

/* The record of the container on the device; NULL: none. */
static const struct container_gpu *round_use(const struct gpu_round *r, const char *device,
                                             const struct pod *p, const struct container *c)
{
    VEC_EACH (&r->stats->container_gpus, u) {
        if (u->attempt == c->attempt && text_equal(u->device, device) &&
            text_equal(u->pod_uid, p->uid) && text_equal(u->name, c->name))
            return u;
    }
    return NULL;
}

/* The slice of a device; NULL: not a slice, or not on this machine. */
static const struct gpu_slice *gpu_find_slice(const struct gpu *g, const struct device *d)
{
    for (size_t i = 0; i < g->n_slices; i++)
        if (d->kind == DEVICE_SLICE
                ? g->slices[i].start == d->start && text_equal(g->slices[i].profile, d->profile)
                : text_equal(g->slices[i].uuid, d->gpu))
            return &g->slices[i];
    return NULL;
}

/* Sets what the container uses of the device with this uuid. */
static void part_set_use(const struct gpu_round *r, const char *uuid, bool is_exclusive,
                         struct part_charge *part)
{
    const struct gpu_sample *s = round_sample(r, uuid);
    const struct container_gpu *use = round_use(r, uuid, part->pod, part->container);

    part->held.sm_milli = -1;
    part->memory_bytes = -1;
    if (use) {
        part->held.sm_milli = use->sm_milli;
        part->memory_bytes = use->memory_bytes;
    } else if (s && s->value[GPU_FIELD_PROCESSES] >= 0) {
        part->held.sm_milli = 0; /* the driver lists processes, and none is of the container */
        part->memory_bytes = 0;
    } else if (s && is_exclusive) {
        part->held.sm_milli = gpu_sample_busy_milli(s);
        part->memory_bytes = s->value[GPU_FIELD_MEMORY_USED_BYTES];
    }
}

/* The part of the interval in which the container ran. */
static int64_t part_time(const struct gpu_round *r, const struct part_charge *part)
{
    const struct loop *l = r->pods->o.loop;
    int64_t age_ns = loop_wall_ns(l) - part->container->started_ns;
    int64_t ns = age_ns - (loop_now_ns(l) - part->interval->sample->at_ns);

    if (part->container->started_ns <= 0 || ns > part->interval->ns)
        return part->interval->ns;
    return ns > 0 ? ns : 0;
}

/* Adds to the part that another container of the pod has by the same claim. False: no such part. */
static bool part_join(struct gpu_round *r, struct part_charge *part)
{
    VEC_EACH (&r->parts, other) {
        if (other->pod != part->pod || !text_equal(other->text, part->text))
            continue;
        other->held.sm_milli = other->held.sm_milli < 0 || part->held.sm_milli < 0
                                   ? -1
                                   : other->held.sm_milli + part->held.sm_milli;
        part->is_double = true;
        return true;
    }
    return false;
}

static void round_add_device(struct gpu_round *r, const struct pod *p, const struct container *c,
                             const char *text)
{
    struct part_charge part = {.text = text, .pod = p, .container = c};
    struct device d = {0};
    AUTO(err_freep) struct err *e = text ? device_parse(text, &d) : NULL;
    const struct gpu_slice *slice = NULL;
    const struct gpu *g = NULL;
    bool is_known = false;

    if (text && !e)
        g = p->set->o.find_gpu(p->set->o.arg, d.gpu, &is_known);
    part.interval = g ? round_find(r, g->uuid) : NULL;
    if (!part.interval)
        return;
    slice = gpu_find_slice(g, &d);
    if (d.kind == DEVICE_SLICE && !slice)
        return;
    part.held.ns = part_time(r, &part);
    part.held.held_milli = device_milli(&d);
    part.held.full_milli = d.kind == DEVICE_SLICE ? part.held.held_milli : 1000;
    part.held.size_milli = slice ? mig_name_milli(slice->profile) : 1000;
    part_set_use(r, slice ? slice->uuid : g->uuid, d.kind == DEVICE_WHOLE || d.kind == DEVICE_SLICE,
                 &part);
    (void)part_join(r, &part);
    if (part.held.ns > 0)
        vec_add(&r->parts, part);
}

static void round_add_parts(struct gpu_round *r)
{
    struct pod *p = NULL;
    struct pod *next = NULL;

    map_each (handle, r->pods->pods, p, next) {
        for (size_t i = 0; i < p->n_containers; i++) {
            const struct container *c = &p->containers[i];
            const json_t *text = NULL;
            size_t k;

            if (c->state != CONTAINER_RUNNING)
                continue;
            json_array_foreach (c->gpus, k, text)
                round_add_device(r, p, c, json_string_value(text));
        }
    }
}

/* The compute that foreign programs use of a gpu and its slices, in 1/1000 of the gpu's. */
static int64_t round_foreign_milli(const struct gpu_round *r, const struct gpu_sample *gpu)
{
    int64_t milli = 0;

    VEC_EACH (&r->stats->container_gpus, u) {
        if (!*u->pod_uid && text_equal(u->device, gpu->uuid) && u->sm_milli > 0)
            milli += u->sm_milli;
    }
    return milli;
}

static void round_divide_energy(struct gpu_round *r, const struct gpu_interval *v)
{
    VEC(struct gpu_part_held) held = {0};
    int64_t *mj = mem_alloc((r->parts.n + 1) * sizeof(*mj));
    size_t n = 0;

    VEC_EACH (&r->parts, p) {
        if (p->interval == v && !p->is_double)
            vec_add(&held, p->held);
    }
    if (v->energy_mj >= 0)
        gpu_energy_divide(v->energy_mj, round_foreign_milli(r, v->sample), held.at, held.n, mj);
    VEC_EACH (&r->parts, p) {
        if (p->interval == v)
            p->energy_mj = p->is_double ? 0 : v->energy_mj < 0 ? -1 : mj[n++];
    }
    vec_done(&held);
    free(mj);
}

/* With an unknown part, the sum is unknown. */
static void add_all_known(int64_t *sum, int64_t more)
{
    *sum = *sum < 0 || more < 0 ? -1 : *sum + more;
}

/* Adds up the parts of the container from `first` on, which is its first. */
static struct gpu_used container_sum(const struct gpu_round *r, size_t first)
{
    struct gpu_used sum = {.is_judged = true};

    for (size_t i = first; i < r->parts.n; i++) {
        const struct part_charge *p = &r->parts.at[i];
        int64_t busy_ns = gpu_part_busy_ns(&p->held);

        if (p->container != r->parts.at[first].container)
            break;
        sum.ns = p->held.ns > sum.ns ? p->held.ns : sum.ns;
        if (busy_ns >= 0 && !p->is_double) {
            sum.busy_ns += busy_ns;
            sum.idle_ns += gpu_part_ns(&p->held) - busy_ns;
        }
        add_all_known(&sum.energy_mj, p->energy_mj);
        add_all_known(&sum.memory_bytes, p->memory_bytes);
        sum.is_judged = sum.is_judged && p->held.sm_milli >= 0;
        sum.is_busy = sum.is_busy || p->held.sm_milli >= BUSY_MILLI;
    }
    sum.is_judged = sum.is_judged || sum.is_busy;
    return sum;
}

static void round_charge(const struct gpu_round *r)
{
    struct runtime *rt = r->pods->o.runtime;

    for (size_t i = 0; i < r->parts.n; i++) {
        const struct part_charge *p = &r->parts.at[i];
        struct gpu_used used;
        AUTO_FREE char *id = NULL;

        if (i > 0 && p->container == r->parts.at[i - 1].container)
            continue;
        used = container_sum(r, i);
        id = container_id(p->pod, p->container, p->container->attempt);
        rt->ops->add_gpus(rt->self, id, &used);
    }
}

void gpu_charge(struct gpu_marks *m, const struct pods *pods, const struct node_stats *s)
{
    struct gpu_round r = {.pods = pods, .stats = s};

    round_begin(&r, m);
    if (r.intervals.n > 0 && pods->o.runtime->ops->add_gpus && pods->o.find_gpu)
        round_add_parts(&r);
    VEC_EACH (&r.intervals, v)
        round_divide_energy(&r, v);
    if (r.parts.n > 0)
        round_charge(&r);
    vec_done(&r.intervals);
    vec_done(&r.parts);
}
