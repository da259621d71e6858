/* stats.c - samples of the machine, its gpus and its containers, streamed to the server */

#include "node/stats.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/frames.h"
#include "node/pod/pod.h"

static const int64_t EVERY_NS = 10 * NS_PER_SEC;

struct stats {
    struct stats_options o;
    struct loop_timer *timer;
    struct machine_load load; /* at the last sample */
    int64_t load_ns;          /* monotonic; 0: there was none */
    bool is_open;             /* the server listens on stream `id` */
    uint32_t id;
    struct lane lane;     /* of the last messages */
    bool is_load_waiting; /* one of them is of the loads */
};

/* ---- samples ---- */

static int64_t known_or_unknown(int64_t value)
{
    return value >= 0 ? value : -1;
}

static void stats_add_container(struct stats *s, struct node_stats *sample, const struct pod *p,
                                const struct container *c)
{
    struct runtime *r = s->o.pods->o.runtime;
    AUTO_FREE char *id = container_id(p, c, c->attempt);
    struct container_sample one = {.attempt = c->attempt};
    struct usage u = {0};

    if (c->state != CONTAINER_RUNNING || !r->ops->usage || !r->ops->usage(r->self, id, &u))
        return;
    (void)snprintf(one.pod_uid, sizeof(one.pod_uid), "%s", p->uid); /* both fit: check_names */
    (void)snprintf(one.name, sizeof(one.name), "%s", c->name);
    one.load = (struct load_sample){.cpu_nano = known_or_unknown(u.rate_nano),
                                    .memory_bytes = known_or_unknown(u.memory_bytes),
                                    .window_ns = known_or_unknown(u.window_ns)};
    one.usage = u.total;
    one.gpu_idle_for_ns = u.gpu_idle_for_ns;
    vec_add(&sample->containers, one);
}

/* The machine's use, from the second sample on. */
static struct load_sample stats_measure(struct stats *s)
{
    int64_t now_ns = loop_now_ns(s->o.loop);
    struct machine_load load = {0};
    struct load_sample result = {-1, -1, -1};
    AUTO(err_freep) struct err *e = s->o.load(&load);
    int64_t window_us = (now_ns - s->load_ns) / 1000;
    int64_t used_ns = load.cpu_ns - s->load.cpu_ns;

    if (e) {
        LOG(WARN, "load of this machine cannot be read", E(e));
        return result;
    }
    if (s->load_ns > 0 && window_us > 0 && used_ns >= 0 && used_ns < INT64_MAX / 1000000)
        result = (struct load_sample){.cpu_nano = used_ns * 1000000 / window_us,
                                      .memory_bytes = load.memory_bytes,
                                      .window_ns = now_ns - s->load_ns};
    s->load = load;
    s->load_ns = now_ns;
    return result;
}

static void stats_take_sample(struct stats *s, struct node_stats *sample)
{
    struct pod *p = NULL;
    struct pod *next = NULL;

    sample->at_ns = loop_wall_ns(s->o.loop);
    sample->parts = STATS_LOADS;
    sample->load = stats_measure(s);
    map_each (handle, s->o.pods->pods, p, next) {
        for (size_t i = 0; i < p->n_containers; i++)
            stats_add_container(s, sample, p, &p->containers[i]);
    }
}

/* ---- the stream ---- */

static void stats_flush(struct stats *s)
{
    (void)stream_out_flush(s->o.out, s->id, &s->lane);
}

/* While a message waits, samples of gpus are dropped, and all but one of the loads. */
static void stats_send(struct stats *s, const struct node_stats *sample)
{
    bool is_load = sample->parts == STATS_LOADS;

    if (s->lane.out.size > 0 && (!is_load || s->is_load_waiting))
        return;
    s->is_load_waiting = is_load;
    node_stats_format(&s->lane.out, sample);
    stats_flush(s);
}

static void on_stats_timer(void *arg)
{
    struct stats *s = arg;
    struct node_stats sample = {0};

    stats_take_sample(s, &sample);
    stats_send(s, &sample);
    node_stats_done(&sample);
    loop_timer_set(s->timer, s->o.every_ns);
}

void stats_send_gpus(struct stats *s, struct node_stats *sample)
{
    if (!s->is_open)
        return;
    sample->at_ns = loop_wall_ns(s->o.loop);
    sample->parts = STATS_GPUS;
    stats_send(s, sample);
}

static void stats_open(void *self, uint32_t id, const json_t *question)
{
    struct stats *s = self;

    (void)question;
    if (s->is_open) {
        s->o.out->end(s->o.out->arg, id, 409, "the samples have a stream already");
        return;
    }
    s->is_open = true;
    s->id = id;
    s->lane.credit = FRAME_CREDIT_FIRST;
    buf_clear(&s->lane.out);
    loop_timer_set(s->timer, 0);
}

static void stats_credit(void *self, uint32_t id, uint32_t bytes)
{
    struct stats *s = self;

    (void)id;
    lane_take_credit(&s->lane, bytes);
    stats_flush(s);
}

static void stats_close(struct stats *s)
{
    s->is_open = false;
    buf_clear(&s->lane.out);
    loop_timer_stop(s->timer);
}

static void stats_cancel(void *self, uint32_t id)
{
    (void)id; /* only one stream is open */
    stats_close(self);
}

static void stats_drained(void *self)
{
    stats_flush(self);
}

static void stats_cancel_all(void *self)
{
    stats_close(self);
}

struct stream_service stats_service(struct stats *s)
{
    static const char *const ops[] = {"stats", NULL};

    return (struct stream_service){.ops = ops,
                                   .open = stats_open,
                                   .credit = stats_credit,
                                   .cancel = stats_cancel,
                                   .drained = stats_drained,
                                   .cancel_all = stats_cancel_all,
                                   .self = s};
}

/* ---- start and end ---- */

struct stats *stats_new(const struct stats_options *o)
{
    struct stats *s = mem_alloc(sizeof(*s));

    s->o = *o;
    if (s->o.every_ns == 0)
        s->o.every_ns = EVERY_NS;
    s->timer = loop_timer_new(o->loop, on_stats_timer, s);
    return s;
}

void stats_free(struct stats *s)
{
    if (!s)
        return;
    loop_timer_free(s->timer);
    buf_done(&s->lane.out);
    free(s);
}
