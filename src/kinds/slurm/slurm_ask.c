/* slurm_ask.c - requests of SlurmJobs: cpus, memory, gpus in the words of --gres, features */

#include "kinds/slurm/slurm_ask.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/pod/pod_asks.h"
#include "model/hostlist.h"
#include "model/quantity.h"
#include "model/resource.h"
#include "model/slurm_billing.h"

#define MODEL_LABEL    "mete.dev/gpu.model"
#define KIB            INT64_C(1024)
#define MIB            (KIB * KIB)
#define AMOUNT_LARGEST (INT64_C(1) << 50)

enum {
    FEATURES_MAX = 64,
    GPUS_LARGEST = 1 << 20
};

static struct err *gres_is_wrong(void)
{
    return err_new(ERR_INVALID, "Invalid generic resource (gres) specification");
}

/* ---- gpus ---- */

/* A request of --gres or --gpus: NAME[:TYPE][:COUNT]. */
struct gres_item {
    struct str name;
    struct str type; /* empty: any */
    int64_t count;
};

static int64_t unit_of(char c)
{
    switch (toupper((unsigned char)c)) {
    case 'K':
        return KIB;
    case 'M':
        return MIB;
    case 'G':
        return MIB * KIB;
    default:
        return 1;
    }
}

/* "2", "4K". False: no number. */
static bool read_count(struct str text, int64_t *ret)
{
    int64_t unit = text.size > 0 ? unit_of(text.at[text.size - 1]) : 1;
    AUTO(err_freep) struct err *e = NULL;
    int64_t n = 0;

    if (unit > 1)
        text.size--;
    e = num_parse_int64(text, 0, GPUS_LARGEST, &n);
    if (e || __builtin_mul_overflow(n, unit, &n) || n > GPUS_LARGEST)
        return false;
    *ret = n;
    return true;
}

/* Reads [TYPE:]COUNT or TYPE; the name is given. */
static bool read_type(struct str text, struct gres_item *ret)
{
    struct str rest = text;
    struct str first = str_cut(&rest, ':');

    ret->count = 1;
    if (!rest.at)
        return read_count(first, &ret->count) || (ret->type = first).size > 0;
    ret->type = first;
    return first.size > 0 && read_count(rest, &ret->count);
}

static bool read_gres_item(struct str text, struct gres_item *ret)
{
    struct str rest = text;

    if (str_starts_with(rest, STR("gres:")) || str_starts_with(rest, STR("gres/")))
        rest = (struct str){rest.at + 5, rest.size - 5};
    *ret = (struct gres_item){.count = 1};
    ret->name = str_cut(&rest, ':');
    if (ret->name.size == 0)
        return false;
    return !rest.at || read_type(rest, ret);
}

/* "1g.10gb", "2g.20gb+me" */
static bool is_profile(struct str type)
{
    return type.size >= 5 && type.size < MIG_NAME_SIZE && isdigit((unsigned char)type.at[0]) &&
           type.at[1] == 'g' && type.at[2] == '.';
}

static bool copy_lower(struct str text, char *to, size_t size)
{
    if (text.size >= size)
        return false;
    for (size_t i = 0; i < text.size; i++)
        to[i] = (char)tolower((unsigned char)text.at[i]);
    to[text.size] = '\0';
    return true;
}

bool slurm_gpu_type_read(struct str text, struct slurm_gpu_type *ret)
{
    struct str model = text;
    struct str profile = {0};
    size_t at = text.size;

    *ret = (struct slurm_gpu_type){0};
    while (at > 0 && text.at[at - 1] != '_')
        at--;
    if (is_profile(text)) {
        profile = text;
        model = (struct str){0};
    } else if (at > 1 && is_profile((struct str){text.at + at, text.size - at})) {
        profile = (struct str){text.at + at, text.size - at};
        model.size = at - 1;
    }
    return text.size > 0 && copy_lower(model, ret->model, sizeof(ret->model)) &&
           copy_lower(profile, ret->profile, sizeof(ret->profile));
}

static bool take_type(struct str type, struct slurm_ask *ask)
{
    struct slurm_gpu_type t;

    if (!slurm_gpu_type_read(type, &t))
        return false;
    memcpy(ask->model, t.model, sizeof(t.model));
    memcpy(ask->gpus.profile, t.profile, sizeof(t.profile));
    ask->gpus.kind = *t.profile ? DEVICE_SLICE : DEVICE_WHOLE;
    return true;
}

/* Adds the gpus of an item; `times` of them on a node. */
static bool add_gpus(struct slurm_ask *ask, const struct gres_item *item, int64_t times)
{
    struct slurm_ask mine = *ask;
    int64_t count = 0;

    mine.gpus = (struct gpu_ask){.kind = DEVICE_WHOLE};
    if (__builtin_mul_overflow(item->count, times, &count) || count > GPUS_LARGEST)
        return false;
    if (count == 0)
        return true;
    if (str_equal(item->name, STR("shard")))
        mine.gpus.kind = DEVICE_REPLICA;
    else if (str_equal(item->name, STR("mps")))
        mine.gpus.kind = DEVICE_SHARE;
    else if (!str_equal(item->name, STR("gpu")))
        return false;
    if (item->type.size > 0 && (mine.gpus.kind != DEVICE_WHOLE || !take_type(item->type, &mine)))
        return false;
    mine.gpus.count = count;
    if (mine.gpus.kind == DEVICE_SHARE) { /* percent of one gpu, or whole gpus */
        mine.gpus.kind = count >= 100 ? DEVICE_WHOLE : DEVICE_SHARE;
        mine.gpus.milli = count >= 100 ? 0 : (uint32_t)count * 10;
        mine.gpus.count = count >= 100 ? count / 100 : 1;
        if (count > 100 && count % 100 != 0)
            return false;
    }
    if (ask->gpus.count > 0 &&
        (!gpu_ask_is_like(&ask->gpus, &mine.gpus) || ask->gpus.count != mine.gpus.count ||
         strcmp(ask->model, mine.model) != 0))
        return false; /* two requests that differ */
    *ask = mine;
    return true;
}

static struct err *read_gres(const char *text, struct slurm_ask *ask)
{
    struct str rest = str_of(text);
    bool has_gpus = false;

    if (!text || !*text || text_equal(text, "none"))
        return NULL;
    while (rest.at) {
        struct str one = str_cut(&rest, ',');
        struct gres_item item;

        if (!read_gres_item(one, &item) || has_gpus || !add_gpus(ask, &item, 1))
            return gres_is_wrong();
        has_gpus = ask->gpus.count > 0;
    }
    return NULL;
}

/* --gpus, --gpus-per-node and --gpus-per-task: [TYPE:]COUNT. */
static struct err *read_gpus(const char *text, int64_t times, int64_t parts, struct slurm_ask *ask)
{
    struct gres_item item = {.name = STR("gpu"), .count = 1};

    if (!text || !*text)
        return NULL;
    if (strchr(text, ',') || !read_type(str_of(text), &item) || item.count % parts != 0)
        return gres_is_wrong();
    item.count /= parts;
    return add_gpus(ask, &item, times) ? NULL : gres_is_wrong();
}

static struct err *read_all_gpus(const json_t *spec, struct slurm_ask *ask)
{
    int64_t tasks_on_node = (ask->tasks + ask->nodes - 1) / ask->nodes;

    TRY(read_gres(json_text(spec, "gres"), ask));
    TRY(read_gpus(json_text(spec, "gpus"), 1, ask->nodes, ask));
    TRY(read_gpus(json_text(spec, "gpusPerNode"), 1, 1, ask));
    return read_gpus(json_text(spec, "gpusPerTask"), tasks_on_node, 1, ask);
}

/* --ntasks-per-gpu: tasks by the gpus, or gpus by the tasks. */
static struct err *read_tasks_per_gpu(const json_t *spec, struct slurm_ask *ask)
{
    int64_t per_gpu = json_int(spec, "tasksPerGpu", 0);
    int64_t on_node = (ask->tasks + ask->nodes - 1) / ask->nodes;
    bool has_gpus = ask->gpus.count > 0;
    struct gres_item item = {.name = STR("gpu")};

    if (per_gpu <= 0)
        return NULL;
    if (json_text_filled(spec, "gpusPerTask") || json_object_get(spec, "tasksPerNode"))
        return err_new(ERR_INVALID, "--%s is mutually exclusive with --ntasks-per-gpu",
                       json_text_filled(spec, "gpusPerTask") ? "gpus-per-task" : "ntasks-per-node");
    if (json_object_get(spec, "tasks")) {
        item.count = (on_node + per_gpu - 1) / per_gpu;
        return has_gpus || add_gpus(ask, &item, 1) ? NULL : gres_is_wrong();
    }
    if (!has_gpus || ask->gpus.kind == DEVICE_REPLICA || ask->gpus.kind == DEVICE_SHARE ||
        __builtin_mul_overflow(ask->gpus.count * ask->nodes, per_gpu, &ask->tasks) ||
        ask->tasks > AMOUNT_LARGEST)
        return gres_is_wrong();
    return NULL;
}

/* ---- cpus and memory ---- */

static int64_t at_least_one(const json_t *spec, const char *key)
{
    int64_t n = json_int(spec, key, 1);

    return n < 1 ? 1 : n;
}

/* The number of nodes that the job names; `*ret` is 0 without a list. */
static struct err *count_listed(const json_t *spec, int64_t *ret)
{
    const char *text = json_text_filled(spec, "nodeList");
    struct hostlist names = {0};
    AUTO(err_freep)
    struct err *e = text ? hostlist_parse(str_of(text), HOSTLIST_MAX, &names) : NULL;

    hostlist_sort(&names);
    *ret = (int64_t)names.names.n;
    hostlist_done(&names);
    return e || (text && *ret == 0) ? err_new(ERR_INVALID, "Invalid node name specified") : NULL;
}

/* A job gets the least number of nodes that it accepts. */
static struct err *read_nodes(const json_t *spec, struct slurm_ask *ask)
{
    int64_t most = json_int(spec, "nodesMax", 0);
    int64_t per_node = json_int(spec, "tasksPerNode", 0);
    int64_t tasks = json_int(spec, "tasks", 0);
    int64_t listed = 0;

    TRY(count_listed(spec, &listed));
    ask->nodes = at_least_one(spec, "nodesMin");
    if (listed > ask->nodes)
        ask->nodes = listed;
    if (!json_object_get(spec, "nodesMin") && per_node > 0 && tasks > per_node * ask->nodes)
        ask->nodes = (tasks + per_node - 1) / per_node;
    if (ask->nodes > SLURM_NODES_MAX || (most > 0 && most < ask->nodes))
        return err_new(ERR_INVALID, "Node count specification invalid");
    return NULL;
}

static struct err *read_tasks(const json_t *spec, struct slurm_ask *ask)
{
    int64_t per_node = json_int(spec, "tasksPerNode", 0);

    TRY(read_nodes(spec, ask));
    if (json_object_get(spec, "tasks"))
        ask->tasks = at_least_one(spec, "tasks");
    else
        ask->tasks = ask->nodes * (per_node > 0 ? per_node : 1);
    if (ask->tasks < ask->nodes)
        ask->tasks = ask->nodes;
    if (per_node > 0 && ask->tasks > per_node * ask->nodes)
        return err_new(ERR_INVALID, "Requested node configuration is not available");
    return NULL;
}

static struct err *read_cpus(const json_t *spec, struct slurm_ask *ask)
{
    int64_t per_node = json_int(spec, "tasksPerNode", 0);
    int64_t tasks = per_node > 0 ? per_node : (ask->tasks + ask->nodes - 1) / ask->nodes;
    int64_t per_gpu = json_int(spec, "cpusPerGpu", 0);
    int64_t least = json_int(spec, "cpusMin", 0);

    if (json_bool(spec, "overcommit", false))
        tasks = 1;
    if (__builtin_mul_overflow(tasks, at_least_one(spec, "cpusPerTask"), &ask->cpus) ||
        ask->cpus > AMOUNT_LARGEST)
        return err_new(ERR_INVALID, "CPU count specification invalid");
    if (per_gpu > 0 && per_gpu * ask->gpus.count > ask->cpus)
        ask->cpus = per_gpu * ask->gpus.count;
    if (least > ask->cpus)
        ask->cpus = least;
    return NULL;
}

static int64_t bytes_of(const json_t *spec, const char *key)
{
    const char *text = json_text(spec, key);
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = text ? quantity_parse(str_of(text), &q) : NULL;

    return e ? 0 : quantity_units(q);
}

static struct err *read_memory(const json_t *spec, struct slurm_ask *ask)
{
    int64_t times = 1;
    int64_t bytes = bytes_of(spec, "memoryPerNode");

    if (json_text(spec, "memoryPerCpu")) {
        bytes = bytes_of(spec, "memoryPerCpu");
        times = ask->cpus;
    } else if (json_text(spec, "memoryPerGpu")) {
        bytes = bytes_of(spec, "memoryPerGpu");
        times = ask->gpus.count;
    }
    if (bytes < 0 || __builtin_mul_overflow(bytes, times, &ask->memory_bytes) ||
        ask->memory_bytes > AMOUNT_LARGEST)
        return err_new(ERR_INVALID, "Memory required by task is not available");
    ask->tmp_bytes = bytes_of(spec, "tmpPerNode");
    if (ask->tmp_bytes < 0 || ask->tmp_bytes > AMOUNT_LARGEST)
        return err_new(ERR_INVALID, "Requested node configuration is not available");
    /* All memory of a node means that the node has no other job. */
    ask->is_exclusive = json_bool(spec, "exclusive", false) ||
                        (json_text(spec, "memoryPerNode") && ask->memory_bytes == 0);
    return NULL;
}

struct err *slurm_ask_read(const json_t *spec, struct slurm_ask *ret)
{
    struct slurm_ask ask = {0};

    TRY(read_tasks(spec, &ask));
    TRY(read_all_gpus(spec, &ask));
    TRY(read_tasks_per_gpu(spec, &ask));
    TRY(read_cpus(spec, &ask));
    TRY(read_memory(spec, &ask));
    *ret = ask;
    return NULL;
}

/* ---- texts ---- */

static const char *gres_name(const struct slurm_ask *ask)
{
    switch (ask->gpus.kind) {
    case DEVICE_REPLICA:
        return "shard";
    case DEVICE_SHARE:
        return "mps";
    case DEVICE_WHOLE:
    case DEVICE_SLICE:
        break;
    }
    return "gpu";
}

/* ":h100", ":1g.10gb", ":a100_1g.5gb"; "": none. The caller frees it. */
static char *gres_type(const struct slurm_ask *ask)
{
    bool is_slice = ask->gpus.kind == DEVICE_SLICE;

    return mem_format("%s%s%s%s", *ask->model || is_slice ? ":" : "", ask->model,
                      *ask->model && is_slice ? "_" : "", is_slice ? ask->gpus.profile : "");
}

static int64_t gres_count(const struct slurm_ask *ask)
{
    return ask->gpus.kind == DEVICE_SHARE ? (int64_t)ask->gpus.milli / 10 : ask->gpus.count;
}

static void add_memory(struct buf *out, int64_t bytes)
{
    int64_t mib = (bytes + MIB - 1) / MIB;

    if (mib % KIB == 0)
        buf_printf(out, "%" PRId64 "G", mib / KIB);
    else
        buf_printf(out, "%" PRId64 "M", mib);
}

void slurm_ask_bill(struct slurm_ask *ask, const char *weights, bool is_max)
{
    const struct slurm_billed of = {.cpus = ask->cpus * ask->nodes,
                                    .memory_mib = (ask->memory_bytes >> 20) * ask->nodes,
                                    .nodes = ask->nodes,
                                    .gpus = ask->gpus.count * ask->nodes,
                                    .model = ask->model};

    ask->has_billing = weights && *weights;
    ask->billing = slurm_billing_micro(weights, &of, is_max) / 1000000;
}

bool slurm_is_max_tres(const json_t *settings)
{
    struct str rest = str_of(json_text(settings, "PriorityFlags"));

    while (rest.at)
        if (str_equal(str_cut(&rest, ','), STR("MAX_TRES")))
            return true;
    return false;
}

char *slurm_ask_tres(const struct slurm_ask *ask)
{
    struct buf out = {.cap = 512};
    AUTO_FREE char *type = gres_type(ask);
    int64_t gpus = gres_count(ask) * ask->nodes;

    buf_printf(&out, "cpu=%" PRId64, ask->cpus * ask->nodes);
    if (ask->memory_bytes > 0) {
        buf_add_text(&out, ",mem=");
        add_memory(&out, ask->memory_bytes * ask->nodes);
    }
    buf_printf(&out, ",node=%" PRId64 ",billing=%" PRId64, ask->nodes,
               ask->has_billing ? ask->billing : ask->cpus * ask->nodes);
    if (gpus > 0)
        buf_printf(&out, ",gres/%s=%" PRId64, gres_name(ask), gpus);
    if (gpus > 0 && *type)
        buf_printf(&out, ",gres/%s%s=%" PRId64, gres_name(ask), type, gpus);
    return buf_steal(&out);
}

char *slurm_ask_gres(const struct slurm_ask *ask)
{
    AUTO_FREE char *type = gres_type(ask);

    if (ask->gpus.count == 0)
        return NULL;
    return mem_format("gres/%s%s:%" PRId64, gres_name(ask), type, gres_count(ask));
}

/* "4", "4(x2)" */
static void add_times(struct buf *out, int64_t value, int64_t times)
{
    if (times == 0)
        return;
    buf_printf(out, "%s%" PRId64, out->size > 0 ? "," : "", value);
    if (times > 1)
        buf_printf(out, "(x%" PRId64 ")", times);
}

char *slurm_ask_tasks_text(const struct slurm_ask *ask)
{
    int64_t more = ask->tasks % ask->nodes; /* nodes with one task more */
    struct buf out = {0};

    add_times(&out, ask->tasks / ask->nodes + 1, more);
    add_times(&out, ask->tasks / ask->nodes, ask->nodes - more);
    return buf_steal(&out);
}

char *slurm_ask_cpus_text(const struct slurm_ask *ask)
{
    struct buf out = {0};

    add_times(&out, ask->cpus, ask->nodes);
    return buf_steal(&out);
}

/* ---- nodes ---- */

static bool is_feature(struct str name)
{
    if (name.size == 0 || name.size > FEATURES_MAX - 1)
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (!isalnum((unsigned char)name.at[i]) && !strchr("-_.", name.at[i]))
            return false;
    return isalnum((unsigned char)name.at[0]) && isalnum((unsigned char)name.at[name.size - 1]);
}

/* Adds each term twice: with the feature's label, and with the feature as the gpus' model. */
static json_t *terms_with(json_t *terms, const char *name)
{
    AUTO_FREE char *label = mem_format(SLURM_FEATURE_LABEL "%s", name);
    json_t *more = json_array();

    for (size_t i = 0; i < json_array_size(terms); i++) {
        json_t *one = json_deep_copy(json_array_get(terms, i));
        json_t *other = json_deep_copy(one);

        (void)json_array_append_new(json_array_at(one, "matchExpressions"),
                                    json_pack("{s:s,s:s}", "key", label, "operator", "Exists"));
        (void)json_array_append_new(
            json_array_at(other, "matchExpressions"),
            json_pack("{s:s,s:s,s:[s]}", "key", MODEL_LABEL, "operator", "In", "values", name));
        (void)json_array_append_new(more, one);
        (void)json_array_append_new(more, other);
    }
    json_decref(terms);
    return more;
}

enum {
    FEATURES_ALL_MAX = 4 /* joined by '&': each doubles the terms */
};

static bool add_all_of(struct str text, json_t *to)
{
    json_t *terms = json_pack("[{}]");
    struct str rest = text;
    bool is_right = true;

    for (int n = 0; rest.at && is_right; n++) {
        struct str one = str_cut(&rest, '&');
        AUTO_FREE char *name = mem_strndup(one.at, one.size);

        is_right = is_feature(one) && n < FEATURES_ALL_MAX;
        if (is_right)
            terms = terms_with(terms, name);
    }
    if (is_right)
        (void)json_array_extend(to, terms);
    json_decref(terms);
    return is_right;
}

struct err *slurm_constraint_terms(const char *constraint, json_t **ret)
{
    AUTO(json_freep) json_t *terms = NULL;
    struct str rest = str_of(constraint);

    *ret = NULL;
    if (!constraint || !*constraint)
        return NULL;
    terms = json_array();
    while (rest.at)
        if (!add_all_of(str_cut(&rest, '|'), terms) || json_array_size(terms) > FEATURES_MAX)
            return err_new(ERR_INVALID, "Invalid feature specification");
    *ret = TAKE(terms);
    return NULL;
}

/* Adds the names of a hostlist to each term. */
static struct err *add_names(json_t *terms, const char *text, const char *operator)
{
    struct hostlist names = {0};
    AUTO(err_freep) struct err *e = hostlist_parse(str_of(text), HOSTLIST_MAX, &names);
    AUTO(json_freep) json_t *values = json_array();

    VEC_EACH (&names.names, name)
        (void)json_array_append_new(values, json_string(*name)); /* fresh: cannot fail */
    hostlist_done(&names);
    if (e || json_array_size(values) == 0)
        return err_new(ERR_INVALID, "Invalid node name specified");
    for (size_t i = 0; i < json_array_size(terms); i++)
        (void)json_array_append_new(json_array_at(json_array_get(terms, i), "matchExpressions"),
                                    json_pack("{s:s,s:s,s:O}", "key", "kubernetes.io/hostname",
                                              "operator", operator, "values", values));
    return NULL;
}

struct err *slurm_node_terms(const json_t *spec, int64_t rank, json_t **ret)
{
    const char *names = json_text_filled(spec, "nodeList");
    int64_t listed = 0;
    const char *excluded = json_text_filled(spec, "excludeNodes");
    AUTO(json_freep) json_t *terms = NULL;

    TRY(slurm_constraint_terms(json_text(spec, "constraint"), &terms));
    if (!terms && (names || excluded))
        terms = json_pack("[{}]");
    if (names) {
        TRY(count_listed(spec, &listed));
        TRY(add_names(terms, names, rank < listed ? "In" : "NotIn"));
    }
    if (excluded)
        TRY(add_names(terms, excluded, "NotIn"));
    *ret = TAKE(terms);
    return NULL;
}

struct err *slurm_window_terms(const char *window, json_t **terms)
{
    if (!*terms)
        *terms = json_pack("[{}]");
    return add_names(*terms, window, "In");
}

void slurm_node_features(const json_t *node, json_t *to)
{
    const json_t *labels = json_at(node, "metadata", "labels", NULL);
    const char *model = json_text(labels, MODEL_LABEL);
    const char *label;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)labels, label, value)
        if (text_starts_with(label, SLURM_FEATURE_LABEL))
            json_put_bool(to, label + strlen(SLURM_FEATURE_LABEL), true);
    if (model)
        json_put_bool(to, model, true);
}

static int64_t node_amount(const json_t *node, const char *list, const char *resource)
{
    const json_t *value = json_at(node, "status", list, resource, NULL);
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (json_is_integer(value))
        return json_integer_value(value);
    if (!json_is_string(value))
        return 0;
    e = quantity_parse(str_of(json_string_value(value)), &q);
    return e ? 0 : q.milli / 1000;
}

int64_t slurm_node_cpus(const json_t *node)
{
    return node_amount(
        node, json_at(node, "status", "allocatable", NULL) ? "allocatable" : "capacity", "cpu");
}

bool slurm_constraint_holds(const char *constraint, const json_t *node)
{
    AUTO(json_freep) json_t *features = constraint ? json_object() : NULL;
    struct str rest = str_of(constraint);

    if (!constraint)
        return true;
    slurm_node_features(node, features);
    while (rest.at) {
        struct str all = str_cut(&rest, '|');
        bool holds = true;

        while (all.at) {
            struct str one = str_cut(&all, '&');
            AUTO_FREE char *name = mem_strndup(one.at, one.size);

            holds = holds && json_object_get(features, name);
        }
        if (holds)
            return true;
    }
    return false;
}

/* Are the node's gpus of the model, or do the files of Slurm call them so? */
static bool has_model(const json_t *node, const char *model)
{
    const json_t *labels = json_at(node, "metadata", "labels", NULL);
    AUTO_FREE char *type = mem_format(SLURM_GPU_TYPE_LABEL "%s", model);

    return text_equal(json_text(labels, MODEL_LABEL), model) || json_object_get(labels, type);
}

bool slurm_ask_fits_node(const struct slurm_ask *ask, const json_t *node)
{
    /* The part that Slurm's files keep from jobs is in the capacity, and not allocatable. */
    const char *list = json_at(node, "status", "allocatable", NULL) ? "allocatable" : "capacity";

    if (!json_at(node, "status", "capacity", NULL))
        return true; /* the node has not reported yet */
    if (ask->cpus > node_amount(node, list, "cpu") ||
        ask->memory_bytes > node_amount(node, list, "memory") ||
        ask->tmp_bytes > node_amount(node, list, "ephemeral-storage"))
        return false;
    if (*ask->model && !has_model(node, ask->model))
        return false;
    if (ask->gpus.count == 0)
        return true;
    if (ask->gpus.kind == DEVICE_WHOLE)
        return ask->gpus.count <= node_amount(node, "capacity", GPU_RESOURCE);
    return json_text_at(node, "metadata", "labels", MODEL_LABEL, NULL) != NULL;
}
