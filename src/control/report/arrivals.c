/* arrivals.c - a ring of the last arrivals, by kind */

#include "control/report/arrivals.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/vec.h"
#include "engine/record/record.h"

enum {
    NODES_MAX = 4096, /* nodes that are kept */
    MODELS_MAX = 8,   /* of one pod */
    MODEL_SIZE = 32,
    TOLD_MAX = 256, /* kinds in one mete_demand_set */
    TOLD_PCT = 95,
    MIB_SHIFT = 20,
    FILE_CAP = 16 << 20,
    GPUS_MAX = 64 /* limit of the engine for one node */
};

/* More than any node has. */
#define AMOUNT_MAX (INT64_C(1) << 40)

struct kind {
    int64_t cpu_milli;
    int64_t memory_mib;
    uint32_t gpus;
    uint32_t gpu_milli;
    char models[MODELS_MAX][MODEL_SIZE];
    uint32_t n_models;
    uint32_t count; /* its arrivals in the ring */
};

struct seen_node {
    char *name;
    char model[MODEL_SIZE];
    int64_t cpu_milli;
    int64_t memory_mib;
    uint32_t gpus;
};

struct arrivals {
    struct arena *scratch;
    VEC(struct kind) kinds;
    VEC(struct seen_node) nodes;
    uint16_t ring[ARRIVALS_KEPT]; /* indices of kinds */
    size_t n;                     /* arrivals in the ring */
    size_t next;                  /* index of the next arrival */
    uint64_t newest;              /* the largest id so far */
    uint64_t total;
};

struct arrivals *arrivals_new(void)
{
    struct arrivals *a = mem_alloc(sizeof(*a));

    a->scratch = arena_new();
    return a;
}

void arrivals_free(struct arrivals *a)
{
    if (!a)
        return;
    VEC_EACH (&a->nodes, n) {
        free(n->name);
    }
    vec_done(&a->nodes);
    vec_done(&a->kinds);
    arena_free(a->scratch);
    free(a);
}

/* ---- arrivals from record lines ---- */

/* Copies a model name if a file of values can hold it: short, printable, without separators. */
static bool keep_model(const char *model, char ret[MODEL_SIZE])
{
    size_t size = model ? strlen(model) : 0;

    if (size == 0 || size >= MODEL_SIZE)
        return false;
    for (size_t i = 0; i < size; i++)
        if (model[i] <= ' ' || model[i] > '~' || strchr(",|\"", model[i]))
            return false;
    memcpy(ret, model, size + 1);
    return true;
}

static int64_t amount_of(const struct mete_amount *list, size_t n, const char *resource)
{
    for (size_t i = 0; i < n; i++)
        if (text_equal(list[i].resource, resource))
            return list[i].amount;
    return 0;
}

static bool is_same_kind(const struct kind *a, const struct kind *b)
{
    if (a->cpu_milli != b->cpu_milli || a->memory_mib != b->memory_mib || a->gpus != b->gpus ||
        a->gpu_milli != b->gpu_milli || a->n_models != b->n_models)
        return false;
    for (uint32_t i = 0; i < a->n_models; i++)
        if (!text_equal(a->models[i], b->models[i]))
            return false;
    return true;
}

/*
 * The index of the kind; ARRIVALS_KINDS_MAX: too many kinds. A kind without arrivals is replaced.
 */
static size_t find_kind(struct arrivals *a, const struct kind *k)
{
    size_t unused = ARRIVALS_KINDS_MAX;

    for (size_t i = 0; i < a->kinds.n; i++) {
        if (a->kinds.at[i].count > 0 && is_same_kind(&a->kinds.at[i], k))
            return i;
        if (a->kinds.at[i].count == 0)
            unused = i;
    }
    if (unused == ARRIVALS_KINDS_MAX && a->kinds.n < ARRIVALS_KINDS_MAX) {
        unused = a->kinds.n;
        vec_add(&a->kinds, (struct kind){0});
    }
    if (unused < ARRIVALS_KINDS_MAX)
        a->kinds.at[unused] = *k;
    return unused;
}

static void add_arrival(struct arrivals *a, const struct kind *k)
{
    size_t kind;

    if (a->n == ARRIVALS_KEPT)
        a->kinds.at[a->ring[a->next]].count--; /* the oldest arrival leaves the ring */
    else
        a->n++;
    kind = find_kind(a, k);
    if (kind == ARRIVALS_KINDS_MAX)
        kind = a->ring[(a->next + ARRIVALS_KEPT - 1) %
                       ARRIVALS_KEPT]; /* counted as the kind of the previous arrival */
    a->kinds.at[kind].count++;
    a->ring[a->next] = (uint16_t)kind;
    a->next = (a->next + 1) % ARRIVALS_KEPT;
    a->total++;
}

/* The gpus of a set with one kind of whole gpus or shares; other devices are not learned. */
static uint32_t whole_gpus(const struct mete_pod_set *set)
{
    bool is_whole = set->n_asks == 1 && set->asks[0].or_replica;

    return is_whole ? set->asks[0].count : set->gpus;
}

static void add_set(struct arrivals *a, const struct mete_pod_set *set)
{
    uint32_t gpus = whole_gpus(set);
    struct kind k = {
        .cpu_milli = amount_of(set->requests, set->n_requests, "cpu"),
        .memory_mib = amount_of(set->requests, set->n_requests, "memory") >> MIB_SHIFT,
        .gpus = gpus,
        .gpu_milli = gpus == 0            ? 0
                     : set->gpu_milli > 0 ? set->gpu_milli
                                          : 1000,
    };

    if (set->n_asks > 0 && gpus == 0)
        return;
    for (size_t i = 0; i < set->n_gpu_models && k.n_models < MODELS_MAX; i++)
        k.n_models += keep_model(set->gpu_models[i], k.models[k.n_models]);
    for (uint32_t i = 0; i < set->count && i < ARRIVALS_KEPT; i++)
        add_arrival(a, &k);
}

static void on_workload(struct arrivals *a, const struct mete_workload *w)
{
    if (w->id <= a->newest || w->id >= METE_ID_UNNAMED)
        return;
    a->newest = w->id;
    for (size_t i = 0; i < w->n_pod_sets; i++)
        add_set(a, &w->pod_sets[i]);
}

static void drop_node(struct arrivals *a, const char *name)
{
    for (size_t i = 0; i < a->nodes.n; i++)
        if (text_equal(a->nodes.at[i].name, name)) {
            free(a->nodes.at[i].name);
            vec_remove(&a->nodes, i);
            return;
        }
}

static void arrivals_on_node(struct arrivals *a, const struct mete_node *n)
{
    struct seen_node seen = {
        .cpu_milli = amount_of(n->capacity, n->n_capacity, "cpu"),
        .memory_mib = amount_of(n->capacity, n->n_capacity, "memory") >> MIB_SHIFT,
        .gpus = (uint32_t)n->n_gpus,
    };

    drop_node(a, n->name);
    if (n->n_gpus == 0 || a->nodes.n == NODES_MAX || !keep_model(n->gpus[0].model, seen.model))
        return;
    seen.name = mem_strdup(n->name);
    vec_add(&a->nodes, seen);
}

static bool is_of_interest(const char *text, size_t size)
{
    static const char *const calls[] = {"workload_add ", "node_set ", "node_remove "};

    for (size_t i = 0; i < COUNT(calls); i++)
        if (size > strlen(calls[i]) && memcmp(text, calls[i], strlen(calls[i])) == 0)
            return true;
    return false;
}

void arrivals_line(void *arrivals, const char *text, size_t size)
{
    struct arrivals *a = arrivals;
    const struct record_name *name;
    enum record_call call = RECORD_CALLS;
    void *args = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (!is_of_interest(text, size))
        return;
    arena_reset(a->scratch);
    e = record_line_parse(a->scratch, (struct str){text, size - 1}, &call, &args);
    if (e)
        return; /* our own lines: does not happen */
    name = args;
    if (call == RECORD_WORKLOAD_ADD)
        on_workload(a, args);
    else if (call == RECORD_NODE_SET)
        arrivals_on_node(a, args);
    else if (call == RECORD_NODE_REMOVE)
        drop_node(a, name->name);
}

uint64_t arrivals_total(const struct arrivals *a)
{
    return a->total;
}

size_t arrivals_recent(const struct arrivals *a)
{
    return a->n;
}

/* ---- state over a restart ---- */

static json_t *kind_tree(const struct kind *k)
{
    json_t *models = json_array();
    json_t *o = json_object();

    for (uint32_t i = 0; i < k->n_models; i++)
        (void)json_array_append_new(models, json_string(k->models[i])); /* ASCII */
    json_put_int(o, "cpuMilli", k->cpu_milli);
    json_put_int(o, "memoryMiB", k->memory_mib);
    json_put_int(o, "gpus", k->gpus);
    json_put_int(o, "gpuMilli", k->gpu_milli);
    json_put(o, "models", models);
    return o;
}

/* The kind of arrival `i` in the ring, the oldest first. */
static size_t kind_at(const struct arrivals *a, size_t i)
{
    return a->ring[(a->next + ARRIVALS_KEPT - a->n + i) % ARRIVALS_KEPT];
}

json_t *arrivals_save(const struct arrivals *a)
{
    json_t *kinds = json_array();
    json_t *ring = json_array();
    json_t *o = json_object();

    for (size_t i = 0; i < a->kinds.n; i++)
        (void)json_array_append_new(kinds, kind_tree(&a->kinds.at[i]));
    for (size_t i = 0; i < a->n; i++)
        (void)json_array_append_new(ring, json_integer((json_int_t)kind_at(a, i)));
    json_put_int(o, "newest", (int64_t)a->newest);
    json_put_int(o, "total", (int64_t)a->total);
    json_put(o, "kinds", kinds);
    json_put(o, "arrivals", ring);
    return o;
}

static bool read_kind(const json_t *o, struct kind *ret)
{
    const json_t *models = json_object_get(o, "models");

    *ret = (struct kind){
        .cpu_milli = json_int(o, "cpuMilli", -1),
        .memory_mib = json_int(o, "memoryMiB", -1),
        .gpus = (uint32_t)json_int(o, "gpus", 0),
        .gpu_milli = (uint32_t)json_int(o, "gpuMilli", 0),
    };
    for (size_t i = 0; i < json_array_size(models) && i < MODELS_MAX; i++)
        ret->n_models +=
            keep_model(json_string_value(json_array_get(models, i)), ret->models[ret->n_models]);
    return ret->cpu_milli >= 0 && ret->memory_mib >= 0 && ret->gpu_milli <= 1000;
}

struct err *arrivals_load(struct arrivals *a, const json_t *saved)
{
    const json_t *kinds = json_object_get(saved, "kinds");
    const json_t *ring = json_object_get(saved, "arrivals");
    const json_t *value;
    size_t i;

    if (json_array_size(kinds) > ARRIVALS_KINDS_MAX || json_array_size(ring) > ARRIVALS_KEPT)
        return err_new(ERR_INVALID, "too many arrivals or kinds");
    json_array_foreach (ring, i, value) {
        const json_t *kind = json_array_get(kinds, (size_t)json_integer_value(value));
        struct kind k;

        if (!json_is_integer(value) || !kind || !read_kind(kind, &k))
            return err_new(ERR_INVALID, "arrival %zu has no valid kind", i);
        add_arrival(a, &k);
    }
    a->newest = (uint64_t)json_int(saved, "newest", 0);
    a->total = (uint64_t)json_int(saved, "total", 0);
    return NULL;
}

/* ---- output for learning ---- */

/* False: the pod is larger than any node. */
static bool add_pod(struct buf *out, const struct kind *k)
{
    if (k->gpus > GPUS_MAX || k->cpu_milli > AMOUNT_MAX || k->memory_mib > AMOUNT_MAX)
        return false;
    buf_printf(out, "%" PRId64 ",%" PRId64 ",%u,%u,", k->cpu_milli, k->memory_mib, k->gpus,
               k->gpu_milli);
    for (uint32_t i = 0; i < k->n_models; i++)
        buf_printf(out, "%s%s", i > 0 ? "|" : "", k->models[i]);
    buf_add_char(out, '\n');
    return true;
}

bool arrivals_format(const struct arrivals *a, struct arrivals_files *ret)
{
    bool has_pods = false;

    if (a->n == 0 || a->nodes.n == 0)
        return false;
    *ret = (struct arrivals_files){{.cap = FILE_CAP}, {.cap = FILE_CAP}};
    buf_add_text(&ret->nodes, "cpu_milli,memory_mib,gpu,model\n");
    buf_add_text(&ret->pods, "cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n");
    for (size_t i = 0; i < a->nodes.n; i++) {
        const struct seen_node *n = &a->nodes.at[i];

        buf_printf(&ret->nodes, "%" PRId64 ",%" PRId64 ",%u,%s\n", n->cpu_milli, n->memory_mib,
                   n->gpus, n->model);
    }
    for (size_t i = 0; i < a->n; i++)
        has_pods |= add_pod(&ret->pods, &a->kinds.at[kind_at(a, i)]);
    if (!has_pods)
        arrivals_files_done(ret);
    return has_pods;
}

void arrivals_files_done(struct arrivals_files *f)
{
    buf_done(&f->nodes);
    buf_done(&f->pods);
}

static int compare_counts(const void *x, const void *y)
{
    const struct kind *a = *(const struct kind *const *)x;
    const struct kind *b = *(const struct kind *const *)y;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return (a > b) - (a < b); /* both in one array: by index */
}

enum mete_result arrivals_tell(const struct arrivals *a, struct mete_engine *e)
{
    AUTO_FREE const struct kind **order = mem_alloc((a->kinds.n + 1) * sizeof(*order));
    struct mete_demand demand[TOLD_MAX];
    struct mete_pod_set sets[TOLD_MAX];
    struct mete_amount cpus[TOLD_MAX];
    const char *models[TOLD_MAX][MODELS_MAX];
    uint64_t told = 0;
    size_t n = 0;

    for (size_t i = 0; i < a->kinds.n; i++)
        order[i] = &a->kinds.at[i];
    qsort(order, a->kinds.n, sizeof(struct kind *), compare_counts);
    for (; n < a->kinds.n && n < TOLD_MAX && told * 100 < a->n * TOLD_PCT; n++) {
        const struct kind *k = order[n];

        for (uint32_t i = 0; i < k->n_models; i++)
            models[n][i] = k->models[i];
        cpus[n] = (struct mete_amount){"cpu", k->cpu_milli};
        sets[n] = (struct mete_pod_set){.name = "pod",
                                        .count = 1,
                                        .requests = &cpus[n],
                                        .n_requests = 1,
                                        .gpus = k->gpus,
                                        .gpu_milli = k->gpu_milli < 1000 ? k->gpu_milli : 0,
                                        .gpu_models = models[n],
                                        .n_gpu_models = k->n_models};
        demand[n] = (struct mete_demand){.set = &sets[n], .weight = k->count};
        told += k->count;
    }
    return mete_demand_set(e, demand, n, a->n);
}
