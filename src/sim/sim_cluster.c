/* sim_cluster.c - a cluster for replays, as lines of a recording */

#include "sim/sim_cluster.h"

#include <inttypes.h>

#include "base/vec.h"
#include "engine/record/record_fold.h"
#include "model/quantity.h"

enum {
    NODES_MAX = 1 << 16,
    GPUS_MAX = 64,
    NAME_MAX_SIZE = 200,
    LABELS_MAX = 64
};

/* The amount of a resource that the document leaves out. */
#define PLENTY (INT64_C(1) << 50)

struct cluster_node {
    char *line;
    uint32_t gpus;
};

struct sim_cluster {
    VEC(struct cluster_node) nodes;
    VEC(char *) queues; /* lines */
    VEC(char *) others; /* after the nodes */
    VEC(struct cluster_job) jobs;
    struct mete_fairness fairness;
    int64_t now_ns;
};

struct sim_cluster *sim_cluster_new(void)
{
    return mem_alloc(sizeof(struct sim_cluster));
}

void sim_cluster_free(struct sim_cluster *c)
{
    if (!c)
        return;
    VEC_EACH (&c->nodes, n) {
        free(n->line);
    }
    VEC_EACH (&c->queues, line) {
        free(*line);
    }
    VEC_EACH (&c->others, line) {
        free(*line);
    }
    vec_done(&c->nodes);
    vec_done(&c->queues);
    vec_done(&c->others);
    vec_done(&c->jobs);
    free(c);
}

static char *line_of(enum record_call call, const void *args)
{
    struct buf line = {.cap = RECORD_LINE_MAX};

    record_line_format(&line, call, args);
    line.at[line.size - 1] = '\0'; /* the newline */
    return buf_steal(&line);
}

/* ---- nodes of a document ---- */

struct node_kind {
    const char *name;
    const char *model;
    int64_t gpus;
    int64_t gpu_bytes;
    int64_t cpu_milli;
    int64_t memory_bytes;
    bool is_flexible;
    struct mete_label labels[LABELS_MAX];
    size_t n_labels;
};

static void cluster_add_node(struct sim_cluster *c, const struct node_kind *k, const char *name)
{
    struct mete_amount capacity[] = {{"cpu", k->cpu_milli}, {"memory", k->memory_bytes}};
    AUTO_FREE struct mete_gpu *gpus = mem_alloc((size_t)k->gpus * sizeof(*gpus) + 1);
    AUTO_FREE char *uuids = mem_alloc((size_t)k->gpus * (NAME_MAX_SIZE + 32) + 1);

    for (int64_t i = 0; i < k->gpus; i++) {
        char *uuid = uuids + i * (NAME_MAX_SIZE + 32);

        (void)snprintf(uuid, NAME_MAX_SIZE + 32, "%s/%02" PRId64, name, i);
        gpus[i] = (struct mete_gpu){.uuid = uuid,
                                    .model = k->model,
                                    .memory_bytes = k->gpu_bytes,
                                    .numa_node = -1,
                                    .link_group = -1,
                                    .is_healthy = true,
                                    .is_flexible = k->is_flexible};
    }
    vec_add(&c->nodes, (struct cluster_node){line_of(RECORD_NODE_SET,
                                                     &(struct mete_node){
                                                         .name = name,
                                                         .capacity = capacity,
                                                         .n_capacity = 2,
                                                         .labels = k->labels,
                                                         .n_labels = k->n_labels,
                                                         .gpus = gpus,
                                                         .n_gpus = (size_t)k->gpus,
                                                         .is_ready = true,
                                                     }),
                                             (uint32_t)k->gpus});
}

static struct err *cluster_add_nodes(struct sim_cluster *c, const struct node_kind *k,
                                     int64_t count)
{
    if (count + (int64_t)c->nodes.n > NODES_MAX)
        return err_new(ERR_INVALID, "over %d nodes", NODES_MAX);
    for (int64_t i = 0; i < count; i++) {
        AUTO_FREE char *name =
            count == 1 ? mem_strdup(k->name) : mem_format("%s-%04" PRId64, k->name, i);

        cluster_add_node(c, k, name);
    }
    return NULL;
}

static struct err *read_count(const json_t *node, const char *key, int64_t min, int64_t max,
                              int64_t *ret)
{
    const json_t *value = json_object_get(node, key);

    if (!value)
        return NULL;
    if (!json_is_integer(value) || json_integer_value(value) < min ||
        json_integer_value(value) > max)
        return err_new(ERR_INVALID, "%s: want a number from %" PRId64 " to %" PRId64, key, min,
                       max);
    *ret = json_integer_value(value);
    return NULL;
}

/* Reads a quantity, in 1/1000 with `milli`, else whole. */
static struct err *read_quantity(const json_t *node, const char *key, bool milli, int64_t *ret)
{
    const json_t *value = json_object_get(node, key);
    AUTO_FREE char *text = NULL;
    struct quantity q = {0};
    struct err *e;

    if (!value)
        return NULL;
    if (json_is_integer(value))
        text = mem_format("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        text = mem_format("%.3f", json_real_value(value));
    else if (json_is_string(value))
        text = mem_strdup(json_string_value(value));
    else
        return err_new(ERR_INVALID, "%s: want a quantity, as 64 or 512Gi", key);
    e = quantity_parse(str_of(text), &q);
    if (!e && q.milli < 0)
        e = err_new(ERR_INVALID, "'%s' is below 0", text);
    if (e)
        return err_wrap(e, "%s", key);
    *ret = milli ? q.milli : quantity_units(q);
    return NULL;
}

static struct err *read_labels(const json_t *node, struct node_kind *k)
{
    json_t *labels = json_object_get(node, "labels");
    const char *key;
    json_t *value;

    if (labels && !json_is_object(labels))
        return err_new(ERR_INVALID, "labels: want KEY: VALUE");
    json_object_foreach (labels, key, value) {
        if (!json_is_string(value))
            return err_new(ERR_INVALID, "labels: %.64s: want a text", key);
        if (k->n_labels == LABELS_MAX)
            return err_new(ERR_INVALID, "labels: over %d", LABELS_MAX);
        k->labels[k->n_labels++] = (struct mete_label){key, json_string_value(value)};
    }
    return NULL;
}

static struct err *check_keys(const json_t *o, const char *const *known)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)o, key, value) {
        bool is_known = false;

        for (size_t i = 0; known[i]; i++)
            is_known = is_known || text_equal(known[i], key);
        if (!is_known)
            return err_new(ERR_INVALID, "'%.64s' is not known: see docs/simulator.md", key);
    }
    return NULL;
}

static struct err *read_node(struct sim_cluster *c, const json_t *node)
{
    static const char *const known[] = {"name",      "count", "gpus",   "model",  "mig",
                                        "gpuMemory", "cpu",   "memory", "labels", NULL};
    struct node_kind k = {.gpus = 8,
                          .model = "gpu",
                          .gpu_bytes = INT64_C(80) << 30,
                          .cpu_milli = PLENTY,
                          .memory_bytes = PLENTY};
    int64_t count = 1;

    if (!json_is_object(node))
        return err_new(ERR_INVALID, "want an object");
    TRY(check_keys(node, known));
    k.name = json_text(node, "name");
    if (!k.name || !*k.name || strlen(k.name) > NAME_MAX_SIZE)
        return err_new(ERR_INVALID, "name: want a text of 1 to %d bytes", NAME_MAX_SIZE);
    if (json_object_get(node, "model"))
        k.model = json_text(node, "model");
    if (!k.model || !*k.model)
        return err_new(ERR_INVALID, "model: want a text");
    if (json_object_get(node, "mig") && !text_equal(json_text(node, "mig"), "flexible"))
        return err_new(ERR_INVALID, "mig: want 'flexible': slices are made as jobs ask for them");
    k.is_flexible = json_object_get(node, "mig") != NULL;
    TRY(read_count(node, "count", 1, NODES_MAX, &count));
    TRY(read_count(node, "gpus", 0, GPUS_MAX, &k.gpus));
    TRY(read_quantity(node, "gpuMemory", false, &k.gpu_bytes));
    TRY(read_quantity(node, "cpu", true, &k.cpu_milli));
    TRY(read_quantity(node, "memory", false, &k.memory_bytes));
    TRY(read_labels(node, &k));
    return cluster_add_nodes(c, &k, count);
}

struct err *sim_cluster_add_nodes(struct sim_cluster *c, const json_t *document)
{
    static const char *const known[] = {"apiVersion", "kind", "nodes", NULL};
    const json_t *nodes = json_object_get(document, "nodes");
    const json_t *node;
    size_t i;

    TRY(check_keys(document, known));
    if (!json_is_array(nodes))
        return err_new(ERR_INVALID, "nodes: want a list");
    json_array_foreach (nodes, i, node) {
        struct err *e = read_node(c, node);

        if (e)
            return err_wrap(e, "nodes[%zu]", i);
    }
    return NULL;
}

struct err *sim_cluster_add_like(struct sim_cluster *c, const char *prefix, uint32_t count,
                                 uint32_t gpus, const char *model)
{
    const struct node_kind k = {.name = prefix,
                                .model = model,
                                .gpus = gpus,
                                .gpu_bytes = INT64_C(80) << 30,
                                .cpu_milli = PLENTY,
                                .memory_bytes = PLENTY};

    return cluster_add_nodes(c, &k, count);
}

struct err *sim_cluster_remove_last(struct sim_cluster *c, uint32_t count)
{
    if (count >= c->nodes.n)
        return err_new(ERR_INVALID, "there are %zu nodes", c->nodes.n);
    while (count-- > 0)
        free(c->nodes.at[--c->nodes.n].line);
    return NULL;
}

void sim_cluster_add_queue(struct sim_cluster *c, const struct mete_queue *queue)
{
    char *line = line_of(RECORD_QUEUE_SET, queue);

    vec_add(&c->queues, line);
}

void sim_cluster_set_fairness(struct sim_cluster *c, const struct mete_fairness *fairness)
{
    c->fairness = *fairness;
}

/* ---- a running Mete ---- */

/* False: the job has no time limit. */
static bool add_job(struct sim_cluster *c, const struct mete_workload *w, int64_t started_ns)
{
    const int64_t ran_ns = started_ns > 0 ? c->now_ns - started_ns : 0;

    if (w->time_limit_ns <= 0)
        return false;
    vec_add(&c->jobs, (struct cluster_job){
                          .id = w->id,
                          .left_ns = ran_ns < w->time_limit_ns ? w->time_limit_ns - ran_ns : 1,
                          .runs = started_ns > 0,
                      });
    return true;
}

static void take_line(struct sim_cluster *c, enum record_call call, const void *args,
                      struct str line, size_t *left_out)
{
    const struct record_restore *restore = args;
    const struct mete_node *node = args;
    bool is_kept = true;

    if (call == RECORD_NODE_SET) {
        vec_add(&c->nodes,
                (struct cluster_node){mem_strndup(line.at, line.size), (uint32_t)node->n_gpus});
        return;
    }
    if (call == RECORD_QUEUE_SET) {
        vec_add(&c->queues, mem_strndup(line.at, line.size));
        return;
    }
    if (call == RECORD_FAIRNESS_SET)
        c->fairness = *(const struct mete_fairness *)args;
    if (call == RECORD_WORKLOAD_ADD)
        is_kept = add_job(c, args, 0);
    else if (call == RECORD_WORKLOAD_RESTORE)
        is_kept = add_job(c, restore->workload, restore->placement->started_ns);
    else
        is_kept = call == RECORD_RESERVATION_SET;
    if (is_kept)
        vec_add(&c->others, mem_strndup(line.at, line.size));
    else if (call == RECORD_WORKLOAD_ADD || call == RECORD_WORKLOAD_RESTORE)
        ++*left_out;
}

struct err *sim_cluster_add_recording(struct sim_cluster *c, struct str recording,
                                      size_t *ret_left_out)
{
    AUTO(record_fold_freep) struct record_fold *fold = record_fold_new();
    AUTO(arena_freep) struct arena *a = arena_new();
    AUTO(buf_done) struct buf text = {.cap = (size_t)1 << 30};
    struct str rest;
    size_t left_out = 0;

    while (recording.at) {
        struct str line = str_cut(&recording, '\n');

        if (line.size > 0 && *line.at != '#')
            TRY(record_fold_line(fold, line));
    }
    record_fold_format(fold, &text);
    c->now_ns = record_fold_now_ns(fold);
    rest = (struct str){text.at, text.size};
    while (rest.at) {
        struct str line = str_cut(&rest, '\n');
        enum record_call call = RECORD_CALLS;
        void *args = NULL;

        if (line.size == 0)
            continue;
        arena_reset(a);
        TRY(record_line_parse(a, line, &call, &args));
        take_line(c, call, args, line, &left_out);
    }
    *ret_left_out = left_out;
    return NULL;
}

/* ---- the whole cluster ---- */

size_t sim_cluster_node_count(const struct sim_cluster *c)
{
    return c->nodes.n;
}

double sim_cluster_gpus(const struct sim_cluster *c)
{
    double sum = 0;

    VEC_EACH (&c->nodes, n) {
        sum += n->gpus;
    }
    return sum;
}

uint32_t sim_cluster_gpus_most(const struct sim_cluster *c)
{
    uint32_t most = 0;

    VEC_EACH (&c->nodes, n) {
        most = n->gpus > most ? n->gpus : most;
    }
    return most;
}

int64_t sim_cluster_now_ns(const struct sim_cluster *c)
{
    return c->now_ns;
}

const struct cluster_job *sim_cluster_jobs(const struct sim_cluster *c, size_t *ret_count)
{
    *ret_count = c->jobs.n;
    return c->jobs.at;
}

struct mete_fairness sim_cluster_fairness(const struct sim_cluster *c)
{
    return c->fairness;
}

static struct err *apply_line(struct arena *a, struct mete_engine *e, const char *line)
{
    struct mete_decisions d = {0};
    enum record_call call = RECORD_CALLS;
    void *args = NULL;

    arena_reset(a);
    TRY(record_line_parse(a, str_of(line), &call, &args));
    if (record_apply(e, call, args, &d) != METE_OK)
        return err_new(ERR_INVALID, "%s", mete_last_error(e));
    return NULL;
}

struct err *sim_cluster_apply(const struct sim_cluster *c, struct mete_engine *e)
{
    AUTO(arena_freep) struct arena *a = arena_new();

    VEC_EACH (&c->queues, line) {
        TRY(apply_line(a, e, *line));
    }
    VEC_EACH (&c->nodes, n) {
        TRY(apply_line(a, e, n->line));
    }
    VEC_EACH (&c->others, line) {
        TRY(apply_line(a, e, *line));
    }
    return NULL;
}
