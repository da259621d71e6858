/* metrics.c - the nodes' latest samples: metrics.k8s.io, and the usage of running attempts */
#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "meter/meter_private.h"

/* Three intervals of the loads; older samples are not shown. */
static const int64_t FRESH_NS = 30 * NS_PER_SEC;

static bool is_fresh(const struct meter *m, int64_t taken_ns)
{
    return taken_ns > 0 && loop_now_ns(m->o.loop) - taken_ns <= FRESH_NS;
}

static struct node_sample *find_sample(const struct meter *m, const char *node)
{
    struct node_sample *s = NULL;

    map_find_text(handle, m->samples, node, s);
    return s;
}

static void sample_free(struct node_sample *s)
{
    node_stats_done(&s->loads);
    node_stats_done(&s->gpus);
    free(s->node);
    free(s);
}

/* Samples of nodes that are gone are dropped. */
static void forget_old(struct meter *m)
{
    struct node_sample *s;
    struct node_sample *next;

    map_each (handle, m->samples, s, next) {
        if (is_fresh(m, s->loads_ns) || is_fresh(m, s->gpus_ns))
            continue;
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
        map_remove(handle, m->samples, s);
        sample_free(s);
    }
}

void meter_forget_samples(struct meter *m)
{
    struct node_sample *s;
    struct node_sample *next;

    map_each (handle, m->samples, s, next) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
        map_remove(handle, m->samples, s);
        sample_free(s);
    }
}

/* The node's samples, made for the first of them. */
static struct node_sample *sample_of(struct meter *m, const char *node)
{
    struct node_sample *s = find_sample(m, node);

    if (s)
        return s;
    s = mem_alloc(sizeof(*s));
    s->node = mem_strdup(node);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_add(handle, m->samples, s->node, strlen(s->node), s);
    return s;
}

/* Makes `into` the part of `from`, which keeps the other part. */
static void stats_take_part(struct node_stats *into, struct node_stats *from, unsigned part)
{
    node_stats_done(into);
    *into = (struct node_stats){.at_ns = from->at_ns, .parts = part};
    if (part == STATS_GPUS) {
        into->gpus = from->gpus;
        into->container_gpus = from->container_gpus;
        from->gpus.at = NULL;
        from->container_gpus.at = NULL;
    } else {
        into->load = from->load;
        into->containers = from->containers;
        from->containers.at = NULL;
    }
}

void meter_take_stats(void *meter, const char *node, struct node_stats *taken)
{
    struct meter *m = meter;
    int64_t now_ns = loop_now_ns(m->o.loop);
    struct node_sample *s;

    forget_old(m);
    use_history_take(&m->history, taken, loop_wall_ns(m->o.loop) / NS_PER_SEC);
    s = sample_of(m, node);
    if (taken->parts & STATS_GPUS) {
        stats_take_part(&s->gpus, taken, STATS_GPUS);
        s->gpus_ns = now_ns;
    }
    if (taken->parts & STATS_LOADS) {
        stats_take_part(&s->loads, taken, STATS_LOADS);
        s->loads_ns = now_ns;
    }
    node_stats_done(taken);
}

/* The node's last loads, or NULL if they are too old. */
static const struct node_stats *fresh_loads(const struct meter *m, const char *node)
{
    const struct node_sample *s = find_sample(m, node);

    return s && is_fresh(m, s->loads_ns) ? &s->loads : NULL;
}

static const struct node_stats *fresh_gpus(const struct meter *m, const char *node)
{
    const struct node_sample *s = find_sample(m, node);

    return s && is_fresh(m, s->gpus_ns) ? &s->gpus : NULL;
}

int64_t meter_node_seen(const struct meter *m, const char *node)
{
    const struct node_sample *s = find_sample(m, node);
    int64_t last_ns = s && s->loads_ns > s->gpus_ns ? s->loads_ns : s ? s->gpus_ns : 0;

    return last_ns > 0 ? loop_wall_ns(m->o.loop) - (loop_now_ns(m->o.loop) - last_ns) : 0;
}

const struct gpu_sample *meter_gpu_sample(const void *meter, const char *node, const char *uuid,
                                          int64_t *ret_at_ns)
{
    const struct node_stats *stats = fresh_gpus(meter, node);

    for (size_t i = 0; stats && i < stats->gpus.n; i++) {
        if (!text_equal(stats->gpus.at[i].uuid, uuid))
            continue;
        *ret_at_ns = stats->at_ns;
        return &stats->gpus.at[i];
    }
    return NULL;
}

const struct container_gpu *meter_container_gpu(const void *meter, const char *node,
                                                const char *device, size_t i)
{
    const struct node_stats *stats = fresh_gpus(meter, node);

    for (size_t k = 0; stats && k < stats->container_gpus.n; k++) {
        if (!text_equal(stats->container_gpus.at[k].device, device))
            continue;
        if (i == 0)
            return &stats->container_gpus.at[k];
        i--;
    }
    return NULL;
}

void meter_pod_use(const void *meter, const char *node, const char *uid, int64_t *ret_gpu_milli,
                   int64_t *ret_gpu_memory_bytes)
{
    const struct node_stats *stats = fresh_gpus(meter, node);
    int64_t milli = -1;
    int64_t bytes = -1;

    for (size_t i = 0; stats && i < stats->container_gpus.n; i++) {
        const struct container_gpu *c = &stats->container_gpus.at[i];

        if (!text_equal(c->pod_uid, uid))
            continue;
        milli = c->sm_milli < 0 ? milli : c->sm_milli + (milli < 0 ? 0 : milli);
        bytes = c->memory_bytes < 0 ? bytes : c->memory_bytes + (bytes < 0 ? 0 : bytes);
    }
    *ret_gpu_milli = milli;
    *ret_gpu_memory_bytes = bytes;
}

/* The next sample of a container of the pod after `last` (NULL: the first); NULL: no more. */
static const struct container_sample *next_container(const struct node_stats *stats,
                                                     const char *uid,
                                                     const struct container_sample *last)
{
    const struct container_sample *c;

    if (!stats || stats->containers.n == 0)
        return NULL;
    for (c = last ? last + 1 : stats->containers.at; c < stats->containers.at + stats->containers.n;
         c++) {
        if (text_equal(c->pod_uid, uid))
            return c;
    }
    return NULL;
}

const struct container_sample *meter_container_load(const void *meter, const char *node,
                                                    const char *pod_uid, size_t i,
                                                    int64_t *ret_at_ns)
{
    const struct node_stats *stats = fresh_loads(meter, node);
    const struct container_sample *c = NULL;

    while ((c = next_container(stats, pod_uid, c))) {
        if (i-- > 0)
            continue;
        *ret_at_ns = stats->at_ns;
        return c;
    }
    return NULL;
}

static struct account_usage used_so_far(const struct meter *m, const struct account_row *row)
{
    const struct node_stats *stats = fresh_loads(m, row->node);
    const struct container_sample *c = NULL;
    struct account_usage u = ACCOUNT_USAGE_UNKNOWN;

    while ((c = next_container(stats, row->uid, c)))
        account_usage_add(&u, &c->usage);
    return u;
}

json_t *meter_pod_of(const struct meter *m, const struct account_row *row)
{
    const struct store_key key = {.group = "", .resource = "pods", .ns = row->ns, .name = row->pod};
    const struct store_object *o = store_get(m->store, key);
    json_t *pod = NULL;
    AUTO(err_freep) struct err *e = o ? json_parse(o->bytes, &pod) : NULL;

    return e ? NULL : pod;
}

bool meter_complete_open(const struct meter *m, int64_t now_ns, struct account_row *row)
{
    const struct account_span span = {row->from_ns, now_ns > row->from_ns ? now_ns : row->from_ns};
    AUTO(json_freep) json_t *pod = NULL;
    struct account_wait wait;

    row->usage = used_so_far(m, row);
    pod = json_array_size(row->gpus) > 0 ? meter_pod_of(m, row) : NULL;
    if (!pod)
        return false;
    wait = account_wait_of(row->tree, pod, span);
    row->wait_ns = wait.ns;
    return wait.ns >= 0 && !wait.is_running;
}

int64_t meter_idle_for_ns(const struct meter *m, const struct account_row *row)
{
    const struct node_stats *stats = fresh_loads(m, row->node);
    const struct container_sample *c = NULL;
    int64_t least_ns = -1;

    while ((c = next_container(stats, row->uid, c))) {
        if (c->gpu_idle_for_ns >= 0 && (least_ns < 0 || c->gpu_idle_for_ns < least_ns))
            least_ns = c->gpu_idle_for_ns;
    }
    return least_ns;
}

/* ---- metrics.k8s.io ---- */

/* {"cpu": "1234n", "memory": "56Ki"}; NULL: one of them is unknown. */
static json_t *usage_tree(const struct load_sample *load)
{
    AUTO_FREE char *cpu_text = mem_format("%" PRId64 "n", load->cpu_nano);
    AUTO_FREE char *memory_text = mem_format("%" PRId64 "Ki", load->memory_bytes / 1024);
    json_t *usage;

    if (load->cpu_nano < 0 || load->memory_bytes < 0)
        return NULL;
    usage = json_object();
    json_put_text(usage, "cpu", cpu_text);
    json_put_text(usage, "memory", memory_text);
    return usage;
}

static void put_window(json_t *o, const struct node_stats *stats, int64_t window_ns)
{
    AUTO_FREE char *window = mem_format("%" PRId64 ".%03" PRId64 "s", window_ns / NS_PER_SEC,
                                        window_ns % NS_PER_SEC / NS_PER_MS);
    char at[STAMP_TEXT_SIZE];

    stamp_format(stats->at_ns, at);
    json_put_text(o, "timestamp", at);
    json_put_text(o, "window", window);
}

static json_t *metrics_tree(const char *kind, const json_t *of)
{
    static const char *const copied[] = {"name", "namespace", "creationTimestamp"};
    json_t *labels = json_at(of, "metadata", "labels", NULL);
    json_t *o = json_object();
    json_t *metadata;

    json_put_text(o, "kind", kind);
    json_put_text(o, "apiVersion", "metrics.k8s.io/v1beta1");
    metadata = json_object_at(o, "metadata");
    for (size_t i = 0; i < COUNT(copied); i++)
        json_put_text(metadata, copied[i], json_text_at(of, "metadata", copied[i], NULL));
    if (labels)
        json_put(metadata, "labels", json_deep_copy(labels));
    return o;
}

/* NULL: the node has no fresh sample, or the pod does not run. */
static json_t *pod_metrics(const struct meter *m, const json_t *pod)
{
    const struct node_stats *stats = fresh_loads(m, pod_node(pod));
    const char *uid = json_text_at(pod, "metadata", "uid", NULL);
    const struct container_sample *c = NULL;
    AUTO(json_freep) json_t *containers = json_array();
    int64_t window_ns = 0;
    json_t *o;

    while ((c = next_container(stats, uid, c))) {
        json_t *usage = usage_tree(&c->load);
        json_t *one;

        if (!usage)
            continue;
        one = json_object();
        json_put_text(one, "name", c->name);
        json_put(one, "usage", usage);
        (void)json_array_append_new(containers, one); /* a fresh object: cannot fail */
        window_ns = c->load.window_ns < 0 ? 0 : c->load.window_ns;
    }
    if (json_array_size(containers) == 0 || pod_is_terminal(pod))
        return NULL;
    o = metrics_tree("PodMetrics", pod);
    put_window(o, stats, window_ns);
    json_put(o, "containers", json_incref(containers));
    return o;
}

static json_t *node_metrics(const struct meter *m, const json_t *node)
{
    const struct node_stats *stats = fresh_loads(m, json_text_at(node, "metadata", "name", NULL));
    json_t *usage = stats ? usage_tree(&stats->load) : NULL;
    json_t *o;

    if (!usage)
        return NULL;
    o = metrics_tree("NodeMetrics", node);
    put_window(o, stats, stats->load.window_ns < 0 ? 0 : stats->load.window_ns);
    json_put(o, "usage", usage);
    return o;
}

static json_t *metrics_one(const struct meter *m, const char *resource, const char *ns,
                           const char *name)
{
    const struct store_key key = {
        .group = "", .resource = resource, .ns = ns ? ns : "", .name = name};
    const struct store_object *o = store_get(m->store, key);
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = o ? json_parse(o->bytes, &tree) : NULL;

    if (e || !tree)
        return NULL;
    return text_equal(resource, "pods") ? pod_metrics(m, tree) : node_metrics(m, tree);
}

/* Few of all stored pods run: their bytes tell, without decoding. */
static bool may_run(const struct store_object *o)
{
    static const char running[] = "\"phase\":\"Running\"";

    return memmem(o->bytes.at, o->bytes.size, running, sizeof(running) - 1) != NULL;
}

static json_t *metrics_all(const struct meter *m, const char *resource, const char *ns)
{
    const struct store_range range = {.group = "", .resource = resource, .ns = ns};
    bool are_pods = text_equal(resource, "pods");
    json_t *list = json_array();
    struct store_list found = {0};
    AUTO(err_freep) struct err *e = store_list(m->store, &range, NULL, NULL, 0, 0, &found);

    if (e)
        LOG(ERROR, "view cannot be listed", S("resource", resource), E(e));
    for (size_t i = 0; i < found.n; i++) {
        const struct store_key *key = &found.at[i]->key;
        json_t *o = NULL;

        if (!are_pods || may_run(found.at[i]))
            o = metrics_one(m, resource, key->ns, key->name);
        if (o)
            (void)json_array_append_new(list, o); /* as above */
    }
    store_list_done(&found);
    return list;
}

json_t *meter_pods(void *meter, const char *ns)
{
    return metrics_all(meter, "pods", ns);
}

json_t *meter_pod(void *meter, const char *ns, const char *name)
{
    return metrics_one(meter, "pods", ns, name);
}

json_t *meter_nodes(void *meter, const char *ns)
{
    (void)ns; /* nodes are cluster-wide */
    return metrics_all(meter, "nodes", NULL);
}

json_t *meter_node(void *meter, const char *ns, const char *name)
{
    (void)ns;
    return metrics_one(meter, "nodes", NULL, name);
}
