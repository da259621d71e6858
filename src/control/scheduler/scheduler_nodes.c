/*
 * scheduler_nodes.c - Node objects as the engine's nodes
 *
 * Reports change a Node without changing what it can hold. The facts that the engine needs are
 * therefore read into a small tree and compared with the last one.
 */
#include "base/arena.h"
#include "base/log.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/pod/pod_state.h"
#include "model/quantity.h"
#include "model/resource.h"

/* Taints for states that the engine knows as members of the node. */
static bool is_state_taint(const char *key)
{
    static const char *const keys[] = {
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    };

    for (size_t i = 0; i < COUNT(keys); i++)
        if (text_equal(keys[i], key))
            return true;
    return false;
}

static int64_t amount_of(const char *resource, const char *text)
{
    AUTO(err_freep) struct err *e = NULL;
    struct quantity q = {0};

    e = quantity_parse(str_of(text), &q);
    if (e || q.milli < 0)
        return 0; /* impossible in a validated object; 0 is the safe answer */
    return text_equal(resource, "cpu") ? q.milli : q.milli / 1000;
}

static json_t *read_amounts(const struct scheduler *s, const json_t *node)
{
    json_t *all = json_at(node, "status", "allocatable", NULL);
    json_t *amounts = json_object();
    struct sched_node_resource *r;
    struct sched_node_resource *next;
    const char *name;
    json_t *value;

    if (!all)
        all = json_at(node, "status", "capacity", NULL);
    json_object_foreach (all, name, value) {
        const char *text = json_string_value(value);

        if (text && !gpu_resource_is_known(name))
            json_put_int(amounts, name, amount_of(name, text));
    }
    map_each (handle, s->node_resources, r, next) {
        json_put_int(amounts, r->name, r->amount);
    }
    return amounts;
}

/* Copies how a gpu is given: see gpu/gpu_json.c. */
static void read_mode(const json_t *gpu, json_t *kept)
{
    const char *mode = json_text(gpu, "mode");
    json_t *slices = json_object_get(gpu, "slices");

    if (json_bool(gpu, "flexible", false))
        json_put_bool(kept, "flexible", true);
    if (json_bool(gpu, "keepsMig", false))
        json_put_bool(kept, "keepsMig", true);
    if (!mode || text_equal(mode, "whole"))
        return;
    json_put_text(kept, "mode", mode);
    if (text_equal(mode, "replicas")) {
        json_put_int(kept, "replicas", json_int(gpu, "replicas", 0));
        json_put_bool(kept, "renamed", json_bool(gpu, "renamed", false));
        json_put_bool(kept, "single", json_bool(gpu, "single", false));
    }
    if (slices)
        json_put(kept, "slices", json_deep_copy(slices));
}

/* Why a gpu is out of service: "drained by ann: ticket 812", "lost: XID 79: ..." */
static void read_health(const json_t *gpu, json_t *kept)
{
    const char *health = json_text(gpu, "health");
    const char *reason = json_text(gpu, "healthReason");
    const char *by = json_text_filled(gpu, "drainedBy");
    bool is_healthy = text_equal(health, "healthy");
    AUTO_FREE char *text = NULL;

    json_put_bool(kept, "isHealthy", is_healthy);
    if (is_healthy || !health)
        return;
    text = mem_format("%s%s%s%s%s", health, by ? " by " : "", by ? by : "", reason ? ": " : "",
                      text_or_empty(reason));
    json_put_text(kept, "outText", text);
}

/* The engine knows gpus that only claims give by models of their own. */
static void read_model(const json_t *gpu, json_t *kept)
{
    const char *model = json_text(gpu, "model");
    AUTO_FREE char *by_claims = mem_format("%s (claims)", text_or_empty(model));
    bool is_by_claims = json_bool(gpu, "byClaims", false);

    json_put_text(kept, "model", is_by_claims ? by_claims : model);
    if (is_by_claims)
        json_put_bool(kept, "byClaims", true);
}

static json_t *read_gpus(const json_t *node, const char *name)
{
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    AUTO(err_freep) struct err *e = NULL;
    AUTO(json_freep) json_t *all = NULL;
    json_t *gpus = json_array();
    json_t *gpu;
    size_t i;

    if (text)
        e = json_parse(str_of(text), &all);
    if (e)
        LOG(WARN, "gpus of a node cannot be read", S("node", name), E(e));
    json_array_foreach (all, i, gpu) {
        json_t *kept = json_object();

        json_put_text(kept, "uuid", json_text(gpu, "uuid"));
        read_model(gpu, kept);
        if (json_text(gpu, "resource"))
            json_put_text(kept, "resource", json_text(gpu, "resource"));
        json_put_int(kept, "memoryBytes", ledger_gpu_of(gpu).memory_bytes);
        json_put_int(kept, "numaNode", json_int(gpu, "numaNode", -1));
        json_put_int(kept, "linkGroup", json_int(gpu, "linkGroup", -1));
        read_health(gpu, kept);
        read_mode(gpu, kept);
        (void)json_array_append_new(gpus, kept); /* a fresh object: cannot fail */
    }
    return gpus;
}

static json_t *read_taints(const json_t *node)
{
    json_t *all = json_at(node, "spec", "taints", NULL);
    json_t *taints = json_array();
    json_t *taint;
    size_t i;

    json_array_foreach (all, i, taint) {
        json_t *kept;

        if (is_state_taint(json_text(taint, "key")))
            continue;
        kept = json_object();
        json_put_text(kept, "key", json_text(taint, "key"));
        json_put_text(kept, "value", json_text(taint, "value"));
        json_put_text(kept, "effect", json_text(taint, "effect"));
        (void)json_array_append_new(taints, kept); /* as above */
    }
    return taints;
}

/* The node as the engine is told. Its gpus are a text: trees of all gpus would take most memory of
 * a large cluster. */
static json_t *read_facts(const struct scheduler *s, const json_t *node, const char *name)
{
    json_t *facts = json_object();
    json_t *labels = json_at(node, "metadata", "labels", NULL);
    const char *across = json_text_at(node, "metadata", "annotations", NODE_SHARES_ACROSS, NULL);
    const char *ready = json_text(object_condition(node, "Ready"), "status");
    AUTO(json_freep) json_t *tree = read_gpus(node, name);
    AUTO_FREE char *gpus = json_format(tree);

    json_put(facts, "amounts", read_amounts(s, node));
    json_put(facts, "labels", labels ? json_deep_copy(labels) : json_object());
    json_put(facts, "taints", read_taints(node));
    json_put_text(facts, "gpus", gpus);
    json_put_bool(facts, "isReady", text_equal(ready, "True"));
    json_put_bool(facts, "isFenced", !text_equal(across, "true"));
    json_put_bool(facts, "isCordoned", json_bool_at(node, "spec", "unschedulable", NULL));
    json_put_text(facts, "reason",
                  json_text_at(node, "metadata", "annotations", "mete.dev/drain-reason", NULL));
    return facts;
}

/* The gpus of facts. A new array. */
static json_t *gpus_of(const json_t *facts)
{
    json_t *gpus = NULL;

    err_free(json_parse(str_of(json_text(facts, "gpus")), &gpus)); /* our own text */
    return gpus;
}

static enum mete_effect effect_of(const char *text)
{
    if (text_equal(text, "NoExecute"))
        return METE_NO_EXECUTE;
    return text_equal(text, "PreferNoSchedule") ? METE_PREFER_NO_SCHEDULE : METE_NO_SCHEDULE;
}

static void list_amounts(struct arena *a, json_t *facts, struct mete_node *n)
{
    json_t *all = json_object_get(facts, "amounts");
    struct mete_amount *list = arena_alloc(a, (json_object_size(all) + 1) * sizeof(*list));
    const char *name;
    json_t *value;

    json_object_foreach (all, name, value)
        list[n->n_capacity++] = (struct mete_amount){name, json_integer_value(value)};
    n->capacity = list;
}

static void list_labels(struct arena *a, json_t *facts, struct mete_node *n)
{
    json_t *all = json_object_get(facts, "labels");
    struct mete_label *list = arena_alloc(a, (json_object_size(all) + 1) * sizeof(*list));
    const char *key;
    json_t *value;

    json_object_foreach (all, key, value)
        list[n->n_labels++] =
            (struct mete_label){key, json_is_string(value) ? json_string_value(value) : ""};
    n->labels = list;
}

static void list_taints(struct arena *a, json_t *facts, struct mete_node *n)
{
    json_t *all = json_object_get(facts, "taints");
    struct mete_taint *list = arena_alloc(a, (json_array_size(all) + 1) * sizeof(*list));
    json_t *taint;
    size_t i;

    json_array_foreach (all, i, taint)
        list[n->n_taints++] =
            (struct mete_taint){json_text(taint, "key"), json_text(taint, "value"),
                                effect_of(json_text(taint, "effect"))};
    n->taints = list;
}

static enum mete_gpu_mode mode_of(const json_t *gpu)
{
    const char *mode = json_text(gpu, "mode");

    if (!mode)
        return METE_GPU_WHOLE;
    return text_equal(mode, "replicas") ? METE_GPU_REPLICAS : METE_GPU_SLICES;
}

static uint32_t count_at(const json_t *object, const char *key)
{
    int64_t n = json_int(object, key, 0);

    return n < 0 || n > UINT32_MAX ? 0 : (uint32_t)n;
}

/* The text of a member, in the arena; NULL: none. */
static const char *text_copy(struct arena *a, const json_t *object, const char *key)
{
    const char *text = json_text(object, key);

    return text ? arena_strdup(a, text) : NULL;
}

static void list_slices(struct arena *a, const json_t *gpu, struct mete_gpu *ret)
{
    json_t *all = json_object_get(gpu, "slices");
    struct mete_slice *list = arena_alloc(a, (json_array_size(all) + 1) * sizeof(*list));
    json_t *slice;
    size_t i;

    if (ret->mode != METE_GPU_SLICES)
        return;
    json_array_foreach (all, i, slice) {
        if (json_text(slice, "health")) /* out of service: its holder keeps it */
            continue;
        list[ret->n_slices++] = (struct mete_slice){.profile = text_copy(a, slice, "profile"),
                                                    .start = count_at(slice, "start"),
                                                    .uuid = text_copy(a, slice, "uuid")};
    }
    ret->slices = list;
}

static void list_gpus(struct arena *a, json_t *facts, struct mete_node *n)
{
    AUTO(json_freep) json_t *all = gpus_of(facts);
    struct mete_gpu *list = arena_alloc(a, (json_array_size(all) + 1) * sizeof(*list));
    json_t *gpu;
    size_t i;

    json_array_foreach (all, i, gpu) {
        list[n->n_gpus] = (struct mete_gpu){
            .uuid = text_copy(a, gpu, "uuid"),
            .model = text_copy(a, gpu, "model"),
            .memory_bytes = json_int(gpu, "memoryBytes", 0),
            .numa_node = (int)json_int(gpu, "numaNode", -1),
            .link_group = (int)json_int(gpu, "linkGroup", -1),
            .is_healthy = json_bool(gpu, "isHealthy", false),
            .mode = mode_of(gpu),
            .replicas = count_at(gpu, "replicas"),
            .is_flexible = json_bool(gpu, "flexible", false),
            .keeps_mig = json_bool(gpu, "keepsMig", false),
            .out_text = text_copy(a, gpu, "outText"),
            .is_renamed = json_bool(gpu, "renamed", false),
            .is_single = json_bool(gpu, "single", false),
            .is_fenced = json_bool(facts, "isFenced", true),
        };
        list_slices(a, gpu, &list[n->n_gpus++]);
    }
    n->gpus = list;
}

/* The node as the engine takes it, in the arena. */
static void node_describe(struct arena *a, const struct sched_node *n, struct mete_node *ret)
{
    *ret = (struct mete_node){
        .name = n->name,
        .is_ready = json_bool(n->facts, "isReady", false),
        .is_cordoned = json_bool(n->facts, "isCordoned", false),
        .cordon_reason = json_text(n->facts, "reason"),
    };
    list_amounts(a, n->facts, ret);
    list_labels(a, n->facts, ret);
    list_taints(a, n->facts, ret);
    list_gpus(a, n->facts, ret);
}

/* A node that the engine refuses is not used, and the log says why. */
static void tell_engine(struct scheduler *s, struct sched_node *n)
{
    struct arena *a = arena_new();
    struct mete_node node;

    node_describe(a, n, &node);
    n->is_refused = mete_node_set(s->engine, &node) != METE_OK;
    if (n->is_refused) {
        LOG(ERROR, "node cannot be used", S("node", n->name),
            S("error", mete_last_error(s->engine)));
        (void)mete_node_remove(s->engine, n->name); /* may be missing: ignored */
    }
    arena_free(a);
}

/* Notes whether replicas serve for whole gpus: waiting workloads then have to say so. */
static void note_replicas(struct scheduler *s, const json_t *gpus)
{
    json_t *gpu;
    size_t i;

    json_array_foreach (gpus, i, gpu) {
        if (s->has_replicas || mode_of(gpu) != METE_GPU_REPLICAS ||
            json_bool(gpu, "renamed", false))
            continue;
        s->has_replicas = true;
        s->are_asks_old = true;
    }
}

/* Notes the models of each vendor. Once there is a gpu of another vendor than NVIDIA, or one for
 * claims only, waiting workloads have to say which models they mean. */
static void note_models(struct scheduler *s, const json_t *gpus)
{
    json_t *gpu;
    size_t i;

    json_array_foreach (gpus, i, gpu) {
        const char *model = text_or_empty(json_text(gpu, "model"));
        enum gpu_vendor vendor = GPU_NVIDIA;
        struct sched_models *models;
        bool is_known = false;

        (void)gpu_vendor_of(json_text(gpu, "resource"), &vendor); /* absent: NVIDIA */
        models = json_bool(gpu, "byClaims", false) ? &s->claim_models : &s->models[vendor];
        VEC_EACH (&models->names, name)
            is_known = is_known || text_equal(*name, model);
        if (is_known || !*model)
            continue;
        vec_add(&models->names, mem_strdup(model));
        s->are_asks_old = s->are_asks_old || sched_has_vendors(s);
    }
}

bool sched_has_vendors(const struct scheduler *s)
{
    for (size_t v = GPU_NVIDIA + 1; v < GPU_VENDORS; v++)
        if (s->models[v].names.n > 0)
            return true;
    return s->claim_models.names.n > 0;
}

enum gpu_vendor sched_vendor_of(const struct scheduler *s, const char *model)
{
    for (size_t v = GPU_NVIDIA + 1; v < GPU_VENDORS; v++)
        VEC_EACH (&s->models[v].names, name)
            if (text_equal(*name, model))
                return (enum gpu_vendor)v;
    return GPU_NVIDIA;
}

static void models_done(struct sched_models *models)
{
    VEC_EACH (&models->names, name)
        free(*name);
    vec_done(&models->names);
}

void sched_models_free(struct scheduler *s)
{
    for (size_t v = 0; v < GPU_VENDORS; v++)
        models_done(&s->models[v]);
    models_done(&s->claim_models);
}

static struct sched_node *find_node(const struct scheduler *s, const char *name)
{
    struct sched_node *n = NULL;

    map_find_text(handle, s->nodes, name, n);
    return n;
}

bool scheduler_describe_node(struct arena *a, const struct scheduler *s, const char *name,
                             struct mete_node *ret)
{
    const struct sched_node *n = find_node(s, name);

    if (!n)
        return false;
    node_describe(a, n, ret);
    ret->is_ready = true; /* the new nodes start healthy */
    ret->is_cordoned = false;
    ret->cordon_reason = NULL;
    return true;
}

void scheduler_put_node(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct scheduler *s = arg;
    AUTO(json_freep) json_t *facts = read_facts(s, object, name);
    AUTO(json_freep) json_t *gpus = NULL;
    struct sched_node *n = find_node(s, name);

    (void)ns;
    if (n && json_equal(n->facts, facts))
        return;
    if (!n) {
        n = mem_alloc(sizeof(*n));
        n->name = mem_strdup(name);
        map_add(handle, s->nodes, n->name, strlen(n->name), n);
    }
    json_decref(n->facts);
    n->facts = TAKE(facts);
    gpus = gpus_of(n->facts);
    note_replicas(s, gpus);
    note_models(s, gpus);
    tell_engine(s, n);
    scheduler_poke(s);
}

void sched_node_free(struct scheduler *s, struct sched_node *n)
{
    map_remove(handle, s->nodes, n);
    json_decref(n->facts);
    free(n->name);
    free(n);
}

void scheduler_remove_node(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct scheduler *s = arg;
    struct sched_node *n = find_node(s, name);
    struct sched_node *next;

    (void)ns;
    (void)last;
    if (!n)
        return;
    sched_node_free(s, n);
    (void)mete_node_remove(s->engine, name); /* missing if the engine had refused the node */
    map_each (handle, s->nodes, n, next) {
        /* another node may have been refused because it has the same gpus */
        if (n->is_refused)
            tell_engine(s, n);
    }
    scheduler_poke(s);
}

void scheduler_add_node_resource(struct scheduler *s, const char *name, int64_t amount)
{
    struct sched_node_resource *r = NULL;
    struct sched_node *n;
    struct sched_node *next;

    map_find_text(handle, s->node_resources, name, r);
    if (r)
        return;
    r = mem_alloc(sizeof(*r));
    r->name = mem_strdup(name);
    r->amount = amount;
    map_add(handle, s->node_resources, r->name, strlen(name), r);
    map_each (handle, s->nodes, n, next) {
        json_put_int(json_object_get(n->facts, "amounts"), name, amount);
        tell_engine(s, n);
    }
}
