/* queue_metrics.c - queues and what waits in them, for a page of metrics */

#include "control/report/queue_metrics.h"

#include "base/stamp.h"
#include "base/vec.h"

/* Pods that wait in one queue for one reason. */
struct waiting_sum {
    const char *queue;
    const char *class_text;
    const char *code_text;
    int64_t n;
    int64_t gpus;
    int64_t oldest_ns;
};

typedef VEC(struct waiting_sum) waiting_sums;

static void waiting_add(void *arg, const struct scheduler_waiting *w)
{
    waiting_sums *sums = arg;
    struct waiting_sum *of = NULL;

    VEC_EACH (sums, s) {
        if (text_equal(s->code_text, w->code_text) && text_equal(s->queue, w->queue))
            of = s;
    }
    if (!of) {
        vec_add(sums, (struct waiting_sum){.queue = w->queue,
                                           .class_text = w->class_text,
                                           .code_text = w->code_text,
                                           .oldest_ns = w->submit_ns});
        of = &sums->at[sums->n - 1];
    }
    of->n++;
    of->gpus += w->gpus;
    of->oldest_ns = w->submit_ns < of->oldest_ns ? w->submit_ns : of->oldest_ns;
}

static void add_queue(struct exposition *x, const char *queue, int64_t value, unsigned decimals)
{
    AUTO(buf_done) struct buf labels = {0};

    labels_add(&labels, "queue", queue);
    exposition_add(x, labels.at ? labels.at : "", value, decimals);
}

static void write_causes(struct exposition *x, const waiting_sums *sums)
{
    static const struct metric_family jobs = {
        "mete_jobs_waiting", METRIC_GAUGE,
        "Waiting pods by queue, and class and code of the cause."};

    exposition_family(x, &jobs);
    VEC_EACH (sums, s) {
        AUTO(buf_done) struct buf labels = {0};

        labels_add(&labels, "queue", s->queue);
        labels_add(&labels, "class", s->class_text);
        labels_add(&labels, "reason", s->code_text);
        exposition_add(x, labels.at, s->n, 0);
    }
}

/* Adds up the causes of each queue, in place. */
static void sums_fold(waiting_sums *sums)
{
    size_t n = 0;

    for (size_t i = 0; i < sums->n; i++) {
        struct waiting_sum s = sums->at[i];
        size_t k = 0;

        while (k < n && !text_equal(sums->at[k].queue, s.queue))
            k++;
        if (k == n) {
            sums->at[n++] = s;
            continue;
        }
        sums->at[k].n += s.n;
        sums->at[k].gpus += s.gpus;
        if (s.oldest_ns < sums->at[k].oldest_ns)
            sums->at[k].oldest_ns = s.oldest_ns;
    }
    sums->n = n;
}

static void write_waiting(struct exposition *x, waiting_sums *sums, int64_t now_ns)
{
    static const struct metric_family wanted = {
        "mete_gpus_wanted", METRIC_GAUGE, "Gpus and parts of gpus that waiting pods ask for."};
    static const struct metric_family oldest = {"mete_oldest_wait_seconds", METRIC_GAUGE,
                                                "Age of the oldest waiting pod of a queue."};

    write_causes(x, sums);
    sums_fold(sums);
    exposition_family(x, &wanted);
    VEC_EACH (sums, s)
        add_queue(x, s->queue, s->gpus, 0);
    exposition_family(x, &oldest);
    VEC_EACH (sums, s)
        add_queue(x, s->queue, now_ns > s->oldest_ns ? (now_ns - s->oldest_ns) / NS_PER_MS : 0, 3);
}

/* What of a queue is shown. */
enum queue_value {
    QUEUE_RUNNING,
    QUEUE_GPUS,
    QUEUE_SHARE,
    QUEUE_DESERVED
};

static bool queue_value(const struct mete_queue_view *v, enum queue_value which, int64_t *ret)
{
    switch (which) {
    case QUEUE_RUNNING:
        *ret = v->running;
        return true;
    case QUEUE_GPUS:
        *ret = v->gpu_milli;
        return true;
    case QUEUE_SHARE:
        *ret = (int64_t)v->share_ppm;
        return true;
    case QUEUE_DESERVED:
        break;
    }
    for (size_t i = 0; i < v->n_quotas; i++) {
        if (!text_equal(v->quotas[i].resource, "gpu"))
            continue;
        *ret = v->quotas[i].nominal;
        return true;
    }
    return false;
}

static void write_queues(struct scheduler *s, struct exposition *x)
{
    static const struct {
        struct metric_family family;
        enum queue_value value;
        unsigned decimals;
    } families[] = {
        {{"mete_queue_running", METRIC_GAUGE, "Running workloads of a queue and those below it."},
         QUEUE_RUNNING,
         0},
        {{"mete_quota_used_gpus", METRIC_GAUGE, "Gpus that a queue and those below it hold."},
         QUEUE_GPUS,
         3},
        {{"mete_quota_deserved_gpus", METRIC_GAUGE, "Nominal quota of gpus of a queue."},
         QUEUE_DESERVED,
         3},
        {{"mete_queue_share_ratio", METRIC_GAUGE,
          "Dominant share of the cluster that a queue holds and used lately."},
         QUEUE_SHARE,
         6},
    };
    struct mete_engine *e = scheduler_engine(s);
    struct mete_queue_view v;
    int64_t value = 0;

    for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
        exposition_family(x, &families[f].family);
        for (size_t i = 0; i < mete_queue_count(e); i++) {
            if (mete_queue_view(e, i, &v) == METE_OK && queue_value(&v, families[f].value, &value))
                add_queue(x, v.name, value, families[f].decimals);
        }
    }
}

void queue_metrics_write(struct scheduler *s, int64_t now_ns, struct exposition *x)
{
    waiting_sums sums = {0};

    scheduler_each_waiting(s, waiting_add, &sums);
    write_waiting(x, &sums, now_ns);
    write_queues(s, x);
    vec_done(&sums);
}
