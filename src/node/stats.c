/* stats.c - usage samples, posted to the server */

#include "node/stats.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/pod/pod.h"

static const int64_t EVERY_NS = 10 * NS_PER_SEC;

struct stats {
    struct stats_options o;
    char *path;
    struct loop_timer *timer;
    struct client_call *call;
    struct machine_load load; /* at the last sample */
    int64_t load_ns;          /* monotonic; 0: there was none */
    bool is_refused;          /* the log has that the server refuses samples */
};

static void put_known(json_t *object, const char *key, int64_t value)
{
    if (value >= 0)
        json_put_int(object, key, value);
}

/* NULL: the container does not run. */
static json_t *container_stats(struct stats *s, const struct pod *p, const struct container *c)
{
    struct runtime *r = p->set->o.runtime;
    AUTO_FREE char *id = container_id(p, c, c->attempt);
    struct usage u = {0};
    json_t *j;

    (void)s;
    if (c->state != CONTAINER_RUNNING || !r->ops->usage || !r->ops->usage(r->self, id, &u))
        return NULL;
    j = json_object();
    json_put_text(j, "name", c->name);
    json_put_int(j, "attempt", c->attempt);
    put_known(j, "cpuNano", u.rate_nano);
    put_known(j, "memoryBytes", u.memory_bytes);
    put_known(j, "windowNs", u.window_ns);
    put_known(j, "cpuNs", u.total.cpu_ns);
    put_known(j, "memoryKibSeconds", u.total.memory_kib_seconds);
    return j;
}

static void add_pod(struct stats *s, json_t *list, const struct pod *p)
{
    AUTO(json_freep) json_t *pod = json_object();
    json_t *containers = json_array_at(pod, "containers");

    for (size_t i = 0; i < p->n_containers; i++) {
        json_t *c = container_stats(s, p, &p->containers[i]);

        if (c)
            (void)json_array_append_new(containers, c); /* a fresh object: cannot fail */
    }
    json_put_text(pod, "uid", p->uid);
    if (json_array_size(containers) > 0)
        (void)json_array_append(list, pod); /* as above */
}

/* The machine's usage, from the second sample on. */
static json_t *node_stats(struct stats *s)
{
    int64_t now_ns = loop_now_ns(s->o.loop);
    struct machine_load load = {0};
    AUTO(err_freep) struct err *e = s->o.load(&load);
    int64_t window_us = (now_ns - s->load_ns) / 1000;
    int64_t used_ns = load.cpu_ns - s->load.cpu_ns;
    json_t *j = NULL;

    if (e) {
        LOG(WARN, "load of this machine cannot be read", E(e));
        return NULL;
    }
    if (s->load_ns > 0 && window_us > 0 && used_ns >= 0 && used_ns < INT64_MAX / 1000000) {
        j = json_object();
        json_put_int(j, "cpuNano", used_ns * 1000000 / window_us);
        json_put_int(j, "memoryBytes", load.memory_bytes);
        json_put_int(j, "windowNs", now_ns - s->load_ns);
    }
    s->load = load;
    s->load_ns = now_ns;
    return j;
}

static void on_sent(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct stats *s = arg;
    AUTO(err_freep) struct err *failed = client_error(e, reply);

    s->call = NULL;
    if (failed && !s->is_refused) /* log it once */
        LOG(WARN, "usage could not be sent", E(failed));
    s->is_refused = failed != NULL;
}

static void stats_send(struct stats *s, const json_t *stats)
{
    AUTO_FREE char *body = json_format(stats);
    const struct client_request r = {.method = "POST", .path = s->path, .body = str_of(body)};

    if (s->call) /* the post before is unanswered: give it up for the newer sample */
        client_cancel(s->call);
    s->call = NULL;
    client_send(s->o.client, &r, on_sent, s, &s->call);
}

static void on_stats_timer(void *arg)
{
    struct stats *s = arg;
    AUTO(json_freep) json_t *stats = json_object();
    json_t *node = node_stats(s);
    json_t *pods = json_array_at(stats, "pods");
    struct pod *p = NULL;
    struct pod *next = NULL;

    json_put_int(stats, "at", loop_wall_ns(s->o.loop));
    if (node)
        json_put(stats, "node", node);
    map_each (handle, s->o.pods->pods, p, next)
        add_pod(s, pods, p);
    stats_send(s, stats);
    loop_timer_set(s->timer, s->o.every_ns);
}

struct stats *stats_new(const struct stats_options *o)
{
    struct stats *s = mem_alloc(sizeof(*s));
    struct buf path = {0};

    s->o = *o;
    if (s->o.every_ns == 0)
        s->o.every_ns = EVERY_NS;
    buf_add_text(&path, "/mete.dev/v1/nodes/");
    client_add_escaped(&path, str_of(o->node));
    buf_add_text(&path, "/stats");
    s->path = buf_steal(&path);
    s->timer = loop_timer_new(o->loop, on_stats_timer, s);
    loop_timer_set(s->timer, 0); /* the first sample, from which the first window begins */
    return s;
}

void stats_free(struct stats *s)
{
    if (!s)
        return;
    if (s->call)
        client_cancel(s->call);
    loop_timer_free(s->timer);
    free(s->path);
    free(s);
}
