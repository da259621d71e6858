/* gpu_config.c - keeps the annotation mete.dev/gpu-config of nodes, and the policy's status */

#include "control/gpu_config.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/writes.h"
#include "kinds/pod/pod_state.h"

enum {
    WATCHES = 3
};

static const int64_t again_ns = NS_PER_SEC;

struct gpu_config {
    struct gpu_config_options options;
    struct cluster_watch *policies_watch;
    struct cluster_watch *maps_watch;
    struct cluster_watch *nodes_watch;
    json_t *policies; /* by name */
    json_t *maps;     /* by "NAMESPACE/NAME" */
    json_t *nodes;    /* by name: {"labels","text"}; "text": the present annotation */
    size_t n_synced;  /* watches whose present objects are all known */
    struct loop_timer *timer;
    struct writes *writes;
};

static void gpu_config_touch(struct gpu_config *g)
{
    loop_timer_set(g->timer, 0);
}

static json_t *share(const json_t *tree)
{
    return json_incref((json_t *)(uintptr_t)tree);
}

/* ---- the objects ---- */

static void on_policy(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct gpu_config *g = arg;

    (void)ns;
    json_put(g->policies, name, share(object));
    gpu_config_touch(g);
}

static void on_policy_removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct gpu_config *g = arg;

    (void)ns;
    (void)last;
    (void)json_object_del(g->policies, name);
    gpu_config_touch(g);
}

static void on_map(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct gpu_config *g = arg;
    AUTO_FREE char *key = NULL;

    if (!gpu_config_has_namespace(ns))
        return;
    key = mem_format("%s/%s", ns, name);
    json_put(g->maps, key, share(object));
    gpu_config_touch(g);
}

static void on_map_removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct gpu_config *g = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);

    (void)last;
    if (json_object_del(g->maps, key) == 0)
        gpu_config_touch(g);
}

/* Heartbeats change nodes often: only labels and the annotation count. */
static void on_node(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct gpu_config *g = arg;
    const json_t *labels = json_at(object, "metadata", "labels", NULL);
    const char *text = json_text_at(object, "metadata", "annotations", NODE_GPU_CONFIG, NULL);
    const json_t *known = json_object_get(g->nodes, name);
    json_t *kept;

    (void)ns;
    if (known && text_equal(json_text(known, "text"), text) && labels &&
        json_equal(json_object_get(known, "labels"), labels))
        return;
    kept = json_object();
    json_put(kept, "labels", labels ? share(labels) : json_object());
    json_put_text(kept, "text", text);
    json_put(g->nodes, name, kept);
    gpu_config_touch(g);
}

static void on_node_removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct gpu_config *g = arg;

    (void)ns;
    (void)last;
    (void)json_object_del(g->nodes, name);
}

static void on_synced(void *arg)
{
    struct gpu_config *g = arg;

    g->n_synced++;
    gpu_config_touch(g);
}

/* ---- the results ---- */

static void gpu_config_on_written(void *owner, const char *key, uint64_t number,
                                  const struct err *e)
{
    struct gpu_config *g = owner;

    (void)number;
    if (!e)
        return;
    LOG(WARN, "configuration of gpus was taken back, will be written again", S("object", key),
        E(e));
    loop_timer_set(g->timer, again_ns);
}

static void write_patch(struct gpu_config *g, const struct cluster_target *t, const json_t *patch)
{
    struct cluster_answer a = writes_begin(g->writes, gpu_config_on_written, t->name, 0);
    AUTO(err_freep)
    struct err *e = writes_end(a, cluster_patch(g->options.cluster, t, patch, a));

    if (!e || err_code(e) == ERR_NOT_FOUND)
        return;
    LOG(WARN, "configuration of gpus was not written, will be tried again", S("object", t->name),
        E(e));
    loop_timer_set(g->timer, again_ns);
}

static void write_node(struct gpu_config *g, const char *name, const char *text)
{
    const struct cluster_target t = {.resource = "nodes", .ns = "", .name = name};
    AUTO(json_freep) json_t *patch = json_object();

    json_put(json_object_at(json_object_at(patch, "metadata"), "annotations"), NODE_GPU_CONFIG,
             text ? json_string(text) : json_null());
    write_patch(g, &t, patch);
}

/* Returns the node's problem, which the caller frees; NULL: none. */
static char *update_node(struct gpu_config *g, const struct gpu_config_sources *s, const char *name,
                         const json_t *node)
{
    const char *present = json_text(node, "text");
    AUTO(json_freep) json_t *before = NULL;
    AUTO(json_freep) json_t *config = NULL;
    AUTO_FREE char *text = NULL;
    const char *problem;

    if (present)
        err_free(json_parse(str_of(present), &before)); /* a damaged value is replaced */
    config = gpu_config_resolve(s, json_object_get(node, "labels"), before);
    text = config ? json_format(config) : NULL;
    problem = json_text(config, "problem");
    if (!text_equal(text, present)) {
        if (problem)
            LOG(WARN, "configuration of gpus cannot be used", S("node", name),
                S("problem", problem));
        write_node(g, name, text);
    }
    return problem ? mem_format("node %s: %s", name, problem) : NULL;
}

static void write_status(struct gpu_config *g, const json_t *policy, const char *problem)
{
    AUTO(json_freep) json_t *copy = json_deep_copy(policy);
    AUTO(json_freep) json_t *patch = json_object();
    json_t *status = json_object_at(copy, "status");
    const struct cluster_target t = {.resource = "clusterpolicies.nvidia.com",
                                     .ns = "",
                                     .name = json_text_at(policy, "metadata", "name", NULL),
                                     .subresource = "status"};

    json_put_text(status, "state", problem ? "notReady" : "ready");
    (void)object_set_condition(copy, "Ready", problem ? "False" : "True",
                               problem ? "ConfigurationRefused" : "Reconciled", problem,
                               loop_wall_ns(g->options.loop));
    if (json_object_get(policy, "status") && json_equal(status, json_object_get(policy, "status")))
        return;
    json_put(patch, "status", json_incref(json_object_get(copy, "status")));
    write_patch(g, &t, patch);
}

/* The policy that counts: the first by name. */
static const json_t *first_policy(const struct gpu_config *g)
{
    const char *first = NULL;
    const char *name;
    json_t *value;

    json_object_foreach (g->policies, name, value)
        if (!first || strcmp(name, first) < 0)
            first = name;
    return first ? json_object_get(g->policies, first) : NULL;
}

static void gpu_config_on_time(void *arg)
{
    struct gpu_config *g = arg;
    const struct gpu_config_sources s = {.policy = first_policy(g), .maps = g->maps};
    AUTO_FREE char *problem = NULL;
    const char *name;
    json_t *value;

    if (g->n_synced < WATCHES)
        return;
    json_object_foreach (g->nodes, name, value) {
        AUTO_FREE char *here = update_node(g, &s, name, value);

        if (!problem && here)
            problem = TAKE(here);
    }
    json_object_foreach (g->policies, name, value)
        write_status(g, value, value == s.policy ? problem : "another ClusterPolicy counts");
}

struct err *gpu_config_new(const struct gpu_config_options *o, struct gpu_config **ret)
{
    struct gpu_config *g = mem_alloc(sizeof(*g));
    const struct cluster_listener policies = {on_policy, on_policy_removed, g, on_synced};
    const struct cluster_listener maps = {on_map, on_map_removed, g, on_synced};
    const struct cluster_listener nodes = {on_node, on_node_removed, g, on_synced};
    struct err *e;

    g->options = *o;
    g->policies = json_object();
    g->maps = json_object();
    g->nodes = json_object();
    g->timer = loop_timer_new(o->loop, gpu_config_on_time, g);
    g->writes = writes_new(g);
    e = cluster_watch(o->cluster, "nvidia.com", "clusterpolicies", &policies, &g->policies_watch);
    if (!e)
        e = cluster_watch(o->cluster, "", "configmaps", &maps, &g->maps_watch);
    if (!e)
        e = cluster_watch(o->cluster, "", "nodes", &nodes, &g->nodes_watch);
    if (e) {
        gpu_config_free(g);
        return err_wrap(e, "gpu configuration");
    }
    *ret = g;
    return NULL;
}

void gpu_config_free(struct gpu_config *g)
{
    if (!g)
        return;
    cluster_unwatch(g->options.cluster, g->policies_watch);
    cluster_unwatch(g->options.cluster, g->maps_watch);
    cluster_unwatch(g->options.cluster, g->nodes_watch);
    json_decref(g->policies);
    json_decref(g->maps);
    json_decref(g->nodes);
    loop_timer_free(g->timer);
    writes_free(g->writes);
    free(g);
}
