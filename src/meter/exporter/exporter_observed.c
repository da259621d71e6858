/* exporter_observed.c - histograms of what other rooms observe, and the time that held gpus idle */

#include "base/mem.h"
#include "meter/exporter/exporter_private.h"
#include "meter/meter_private.h"

enum {
    LABELS_MAX = 1000, /* histograms of one family; further labels count as "other" */
    IDLE_PCT = 5
};

#define TICK_NS (INT64_C(5) * NS_PER_SEC)

#define MS(n) ((n)*INT64_C(1000000))
#define S(n)  MS((n)*INT64_C(1000))

static const int64_t bounds_long[] = {MS(100),  S(1),     S(5),     S(15),     S(60),
                                      S(300),   S(900),   S(1800),  S(3600),   S(7200),
                                      S(14400), S(28800), S(86400), S(259200), S(604800)};
static const int64_t bounds_start[] = {MS(25), MS(50), MS(100), MS(250), MS(500), S(1),  S(2),
                                       S(5),   S(10),  S(30),   S(60),   S(300),  S(900)};
static const int64_t bounds_short[] = {MS(1) / 10, MS(1) / 2, MS(1),   MS(2),   MS(5), MS(10),
                                       MS(25),     MS(50),    MS(100), MS(250), S(1),  S(5)};

static const struct {
    struct metric_family family;
    const char *label; /* NULL: none */
    const int64_t *bounds;
    size_t n_bounds;
} observed_families[OBSERVED_COUNT] = {
    [OBSERVED_WAIT] = {{"mete_wait_seconds", METRIC_HISTOGRAM,
                        "Time from the creation of a pod to its binding to a node."},
                       "queue",
                       bounds_long,
                       COUNT(bounds_long)},
    [OBSERVED_START] = {{"mete_start_seconds", METRIC_HISTOGRAM,
                         "Time from the binding of a pod to its start, images included."},
                        "image",
                        bounds_start,
                        COUNT(bounds_start)},
    [OBSERVED_CYCLE] = {{"mete_schedule_seconds", METRIC_HISTOGRAM,
                         "Time of a cycle of the scheduler."},
                        NULL,
                        bounds_short,
                        COUNT(bounds_short)},
    [OBSERVED_SYNC] = {{"mete_store_sync_seconds", METRIC_HISTOGRAM,
                        "Time until a batch of changes is on disk."},
                       NULL,
                       bounds_short,
                       COUNT(bounds_short)},
};

static struct labeled_histogram *histogram_of(struct exporter *e, enum observed what,
                                              const char *label)
{
    struct labeled_histogram *h;

    VEC_EACH (&e->histograms[what], found) {
        if (text_equal((*found)->label, label))
            return *found;
    }
    if (e->histograms[what].n >= LABELS_MAX && !text_equal(label, "other"))
        return histogram_of(e, what, "other");
    h = mem_alloc(sizeof(*h));
    h->label = mem_strdup(label);
    h->histogram = (struct histogram){.bounds = observed_families[what].bounds,
                                      .n_bounds = observed_families[what].n_bounds};
    vec_add(&e->histograms[what], h);
    return h;
}

void exporter_observe(void *exporter, enum observed what, const char *label, int64_t ns,
                      const char *example)
{
    struct exporter *e = exporter;
    const char *kept = observed_families[what].label ? text_or_empty(label) : "";

    histogram_add(&histogram_of(e, what, kept)->histogram, ns, example,
                  loop_wall_ns(e->meter->o.loop));
}

/* ---- held and idle ---- */

static struct held_time *held_of(struct exporter *e, const struct device_holder *h)
{
    VEC_EACH (&e->held, t) {
        if (text_equal(t->queue, h->queue) && text_equal(t->ns, h->ns))
            return t;
    }
    vec_add(&e->held, (struct held_time){.queue = mem_strdup(h->queue), .ns = mem_strdup(h->ns)});
    return &e->held.at[e->held.n - 1];
}

/* The reading that tells how busy a device is, in 1/1000; -1: unknown. */
static int64_t busy_milli(const struct exporter *e, const char *node, const char *uuid)
{
    int64_t at_ns = 0;
    const struct gpu_sample *s = meter_gpu_sample(e->meter, node, uuid, &at_ns);

    if (!s)
        return -1;
    if (s->value[GPU_FIELD_SM_ACTIVE_MILLI] >= 0)
        return s->value[GPU_FIELD_SM_ACTIVE_MILLI];
    return s->value[GPU_FIELD_UTILIZATION_PCT] < 0 ? -1 : s->value[GPU_FIELD_UTILIZATION_PCT] * 10;
}

/* A device of unknown activity counts as busy: nothing is called waste without proof. */
static void held_on_device(void *arg, const struct device_row *row)
{
    struct exporter *e = arg;

    for (size_t i = 0; i < row->n_holders; i++) {
        const struct device_holder *h = &row->holders[i];
        const char *uuid = h->device->kind == DEVICE_SLICE ? h->device->instance : row->gpu->uuid;
        int64_t busy = busy_milli(e, row->node, uuid);
        int64_t milli = device_milli(h->device);
        struct held_time *t = held_of(e, h);

        t->held_ns += e->tick_ns / 1000 * milli;
        if (busy >= 0 && busy < INT64_C(10) * IDLE_PCT)
            t->idle_ns += e->tick_ns / 1000 * milli;
    }
}

static void exporter_on_tick(void *arg)
{
    struct exporter *e = arg;
    int64_t now_ns = loop_now_ns(e->meter->o.loop);

    e->tick_ns = now_ns - e->ticked_ns;
    e->ticked_ns = now_ns;
    if (e->devices.each)
        e->devices.each(e->devices.arg, held_on_device, e);
    loop_timer_set(e->timer, TICK_NS);
}

void exporter_begin_observing(struct exporter *e)
{
    e->ticked_ns = loop_now_ns(e->meter->o.loop);
    e->timer = loop_timer_new(e->meter->o.loop, exporter_on_tick, e);
    loop_timer_set(e->timer, TICK_NS);
}

void exporter_end_observing(struct exporter *e)
{
    loop_timer_free(e->timer);
    for (size_t k = 0; k < OBSERVED_COUNT; k++) {
        VEC_EACH (&e->histograms[k], h) {
            free((*h)->label);
            free(*h);
        }
        vec_done(&e->histograms[k]);
    }
    VEC_EACH (&e->held, t) {
        free(t->queue);
        free(t->ns);
    }
    vec_done(&e->held);
}

/* ---- the page ---- */

static void write_held(const struct exporter *e, struct exposition *x, bool is_idle)
{
    VEC_EACH (&e->held, t) {
        AUTO(buf_done) struct buf labels = {0};

        labels_add(&labels, "queue", t->queue);
        labels_add(&labels, "namespace", t->ns);
        exposition_add(x, labels.at ? labels.at : "",
                       (is_idle ? t->idle_ns : t->held_ns) / NS_PER_MS, 3);
    }
}

void exporter_write_observed(const struct exporter *e, struct exposition *x)
{
    static const struct metric_family held = {"mete_gpu_held_seconds_total", METRIC_COUNTER,
                                              "Time in which gpus were held, by the part held."};
    static const struct metric_family idle = {
        "mete_gpu_idle_held_seconds_total", METRIC_COUNTER,
        "Time in which held gpus or slices were busy for less than 5 percent, by the part held."};

    for (size_t k = 0; k < OBSERVED_COUNT; k++) {
        exposition_family(x, &observed_families[k].family);
        VEC_EACH (&e->histograms[k], h) {
            AUTO(buf_done) struct buf labels = {0};

            if (observed_families[k].label)
                labels_add(&labels, observed_families[k].label, (*h)->label);
            exposition_add_histogram(x, labels.at ? labels.at : "", &(*h)->histogram);
        }
    }
    exposition_family(x, &held);
    write_held(e, x, false);
    exposition_family(x, &idle);
    write_held(e, x, true);
}
