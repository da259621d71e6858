/* openb.c - the files of the openb traces, checked and read */

#include "sim/openb.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/arena.h"
#include "base/num.h"
#include "base/vec.h"
#include "sim/csv.h"

enum {
    LISTS_MAX = 1024,
    TYPICAL_PCT = 95
};

#define AMOUNT_MAX (INT64_C(1) << 40)

struct openb {
    struct arena *arena;
    VEC(struct openb_node) nodes;
    VEC(struct openb_pod) pods;
    VEC(struct openb_list) arrivals;
    VEC(struct openb_list) ranks;
    VEC(struct openb_kind) kinds;
    VEC(struct openb_published) published;
    int64_t capacity_milli;
};

struct openb *openb_new(void)
{
    struct openb *o = mem_alloc(sizeof(*o));

    o->arena = arena_new();
    return o;
}

void openb_free(struct openb *o)
{
    if (!o)
        return;
    vec_done(&o->nodes);
    vec_done(&o->pods);
    vec_done(&o->arrivals);
    vec_done(&o->ranks);
    vec_done(&o->kinds);
    vec_done(&o->published);
    arena_free(o->arena);
    free(o);
}

static struct err *read_uint32(const struct csv *c, size_t column, int64_t max, uint32_t *ret)
{
    int64_t n = 0;

    TRY(csv_int64(c, column, 0, max, &n));
    *ret = (uint32_t)n;
    return NULL;
}

struct err *openb_read_nodes(struct openb *o, const char *file, struct str text)
{
    size_t cpu = 0;
    size_t memory = 0;
    size_t gpu = 0;
    size_t model = 0;
    bool has = false;
    struct csv c;

    TRY(csv_open(&c, file, text));
    TRY(csv_need(&c, "cpu_milli", &cpu));
    TRY(csv_need(&c, "memory_mib", &memory));
    TRY(csv_need(&c, "gpu", &gpu));
    TRY(csv_need(&c, "model", &model));
    for (;;) {
        struct openb_node n = {0};

        TRY(csv_next(&c, &has));
        if (!has)
            break;
        if (o->nodes.n == OPENB_NODES_MAX)
            return csv_error(&c, "over %d nodes", OPENB_NODES_MAX);
        TRY(csv_int64(&c, cpu, 0, AMOUNT_MAX, &n.cpu_milli));
        TRY(csv_int64(&c, memory, 0, AMOUNT_MAX, &n.memory_mib));
        TRY(read_uint32(&c, gpu, OPENB_GPUS_MAX, &n.gpus));
        n.model = arena_strndup(o->arena, c.fields[model].at, c.fields[model].size);
        o->capacity_milli += (int64_t)n.gpus * 1000;
        vec_add(&o->nodes, n);
    }
    if (o->capacity_milli == 0)
        return err_new(ERR_INVALID, "%s: no gpus: want nodes that have some", file);
    return NULL;
}

/* The columns of a list of pods. */
struct pod_columns {
    size_t cpu, memory, gpus, milli, spec, scheduled, deleted;
};

static struct err *read_models(struct openb *o, const struct csv *c, size_t column,
                               struct openb_pod *p)
{
    const char *models[OPENB_MODELS_MAX];
    struct str rest = csv_text(c, column);

    p->spec = arena_strndup(o->arena, rest.at, rest.size);
    while (rest.size > 0) {
        struct str model = str_cut(&rest, '|');

        if (p->n_models == OPENB_MODELS_MAX || model.size == 0)
            return csv_error(c, "gpu_spec '%s': want up to %d models joined by |", p->spec,
                             OPENB_MODELS_MAX);
        models[p->n_models++] = arena_strndup(o->arena, model.at, model.size);
    }
    if (p->n_models > 0) {
        const char **kept = arena_alloc(o->arena, p->n_models * sizeof(*kept));

        memcpy((void *)kept, (const void *)models, p->n_models * sizeof(*kept));
        p->models = kept;
    }
    return NULL;
}

static struct err *read_pod(struct openb *o, const struct csv *c, const struct pod_columns *at,
                            struct openb_pod *ret)
{
    struct openb_pod p = {.spec = "", .run_s = -1};
    int64_t scheduled = -1;
    int64_t deleted = -1;

    TRY(csv_int64(c, at->cpu, 0, AMOUNT_MAX, &p.cpu_milli));
    TRY(csv_int64(c, at->memory, 0, AMOUNT_MAX, &p.memory_mib));
    TRY(read_uint32(c, at->gpus, OPENB_GPUS_MAX, &p.gpus));
    TRY(read_uint32(c, at->milli, 1000, &p.gpu_milli));
    if (p.gpus == 0)
        p.gpu_milli = 0;
    else if (p.gpu_milli == 0 || (p.gpus > 1 && p.gpu_milli < 1000))
        return csv_error(c, "gpu_milli %u with %u gpus: want 1000, or 1 .. 999 with one",
                         p.gpu_milli, p.gpus);
    if (p.gpus > 0)
        TRY(read_models(o, c, at->spec, &p));
    TRY(csv_optional(c, at->scheduled, 0, AMOUNT_MAX, &scheduled));
    TRY(csv_optional(c, at->deleted, 0, AMOUNT_MAX, &deleted));
    if (scheduled >= 0 && deleted > scheduled)
        p.run_s = deleted - scheduled;
    *ret = p;
    return NULL;
}

/* Orders pods by size, larger first. */
static int compare_pods(const struct openb_pod *a, const struct openb_pod *b)
{
    if (a->cpu_milli != b->cpu_milli)
        return a->cpu_milli > b->cpu_milli ? -1 : 1;
    if (a->gpu_milli != b->gpu_milli)
        return a->gpu_milli > b->gpu_milli ? -1 : 1;
    if (a->gpus != b->gpus)
        return a->gpus > b->gpus ? -1 : 1;
    return strcmp(b->spec, a->spec);
}

/* Orders by kind, then by row. */
static int compare_indices(const void *a, const void *b, void *arg)
{
    const struct openb_pod *pods = arg;
    const uint32_t i = *(const uint32_t *)a;
    const uint32_t j = *(const uint32_t *)b;
    const int by_kind = compare_pods(&pods[i], &pods[j]);

    return by_kind ? by_kind : (i > j) - (i < j);
}

static int compare_kinds(const void *a, const void *b, void *arg)
{
    const struct openb_pod *pods = arg;
    const struct openb_kind *x = a;
    const struct openb_kind *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return compare_pods(&pods[x->pod], &pods[y->pod]);
}

static void find_kinds(struct openb *o)
{
    AUTO_FREE uint32_t *indices = mem_alloc(o->pods.n * sizeof(*indices));
    uint64_t covered = 0;
    size_t n = 0;

    for (size_t i = 0; i < o->pods.n; i++)
        indices[i] = (uint32_t)i;
    qsort_r(indices, o->pods.n, sizeof(*indices), compare_indices, o->pods.at);
    for (size_t i = 0; i < o->pods.n; i++) {
        if (i == 0 || compare_pods(&o->pods.at[indices[i - 1]], &o->pods.at[indices[i]]) != 0)
            vec_add(&o->kinds, (struct openb_kind){.pod = indices[i]});
        o->kinds.at[o->kinds.n - 1].count++;
    }
    qsort_r(o->kinds.at, o->kinds.n, sizeof(*o->kinds.at), compare_kinds, o->pods.at);
    while (n < o->kinds.n && covered * 100 < o->pods.n * TYPICAL_PCT)
        covered += o->kinds.at[n++].count;
    o->kinds.n = n;
}

struct err *openb_read_pods(struct openb *o, const char *file, struct str text)
{
    struct pod_columns at = {0};
    bool has = false;
    struct csv c;

    TRY(csv_open(&c, file, text));
    TRY(csv_need(&c, "cpu_milli", &at.cpu));
    TRY(csv_need(&c, "memory_mib", &at.memory));
    TRY(csv_need(&c, "num_gpu", &at.gpus));
    TRY(csv_need(&c, "gpu_milli", &at.milli));
    at.spec = csv_find(&c, "gpu_spec");
    at.scheduled = csv_find(&c, "scheduled_time");
    at.deleted = csv_find(&c, "deletion_time");
    for (;;) {
        struct openb_pod p;

        TRY(csv_next(&c, &has));
        if (!has)
            break;
        if (o->pods.n == OPENB_PODS_MAX)
            return csv_error(&c, "over %d pods", OPENB_PODS_MAX);
        TRY(read_pod(o, &c, &at, &p));
        vec_add(&o->pods, p);
    }
    if (o->pods.n == 0)
        return err_new(ERR_INVALID, "%s: no pods: want a record a line after the header", file);
    find_kinds(o);
    return NULL;
}

/* Reads a line: a seed, then whole numbers below `end`. */
static struct err *read_list(struct openb *o, struct str line, size_t end, struct openb_list *ret)
{
    AUTO_FREE uint32_t *items = NULL;
    size_t n_most = 1;
    size_t n = 0;
    struct openb_list list = {0};
    uint64_t item = 0;
    uint32_t *kept;

    for (size_t i = 0; i < line.size; i++)
        n_most += line.at[i] == ' ';
    if (n_most > OPENB_ARRIVALS_MAX)
        return err_new(ERR_INVALID, "over %d numbers", OPENB_ARRIVALS_MAX);
    items = mem_alloc(n_most * sizeof(*items));
    TRY(num_parse_uint64(str_cut(&line, ' '), UINT64_MAX, &list.seed));
    while (line.at && line.size > 0) {
        TRY(num_parse_uint64(str_cut(&line, ' '), end - 1, &item));
        items[n++] = (uint32_t)item;
    }
    kept = arena_alloc(o->arena, n * sizeof(*kept));
    memcpy(kept, items, n * sizeof(*kept));
    list.items = kept;
    list.n = n;
    *ret = list;
    return NULL;
}

/* The list must have each of 0 .. n-1 once. */
static struct err *check_ranks(const struct openb_list *list, size_t n)
{
    AUTO_FREE bool *seen = mem_alloc(n);

    if (list->n != n)
        return err_new(ERR_INVALID, "%zu ranks: want one for each of the %zu nodes", list->n, n);
    for (size_t i = 0; i < n; i++) {
        if (seen[list->items[i]])
            return err_new(ERR_INVALID, "rank %u is there twice", list->items[i]);
        seen[list->items[i]] = true;
    }
    return NULL;
}

static struct err *read_lists(struct openb *o, const char *file, struct str text, bool are_ranks)
{
    const size_t end = are_ranks ? o->nodes.n : o->pods.n;

    for (size_t line = 1; text.at && text.size > 0; line++) {
        struct openb_list list = {0};
        struct err *e = read_list(o, str_cut(&text, '\n'), end, &list);

        if (!e && are_ranks)
            e = check_ranks(&list, o->nodes.n);
        if (!e && line > LISTS_MAX)
            e = err_new(ERR_INVALID, "over %d seeds", LISTS_MAX);
        if (e)
            return err_wrap(e, "%s:%zu", file, line);
        if (are_ranks)
            vec_add(&o->ranks, list);
        else
            vec_add(&o->arrivals, list);
    }
    return NULL;
}

struct err *openb_read_arrivals(struct openb *o, const char *file, struct str text)
{
    return read_lists(o, file, text, false);
}

struct err *openb_read_ranks(struct openb *o, const char *file, struct str text)
{
    return read_lists(o, file, text, true);
}

/* Reads a number like "12.05": digits, then optionally a point and digits. */
static struct err *parse_real(struct str text, double *ret)
{
    struct str fraction = text;
    struct str whole = str_cut(&fraction, '.');
    double scale = 1;
    int64_t units = 0;
    int64_t parts = 0;

    TRY(num_parse_int64(whole, 0, AMOUNT_MAX, &units));
    if (fraction.at) {
        TRY(num_parse_int64(fraction, 0, AMOUNT_MAX, &parts));
        for (size_t i = 0; i < fraction.size; i++)
            scale *= 10;
    }
    *ret = (double)units + (double)parts / scale;
    return NULL;
}

static struct err *read_curve(struct openb *o, const struct csv *c, struct openb_published *p)
{
    struct str policy = c->fields[1];
    int64_t seed = 0;
    char *name;

    TRY(csv_int64(c, 2, 0, INT64_MAX, &seed));
    p->seed = (uint64_t)seed;
    p->metric = arena_strndup(o->arena, c->fields[0].at, c->fields[0].size);
    name = arena_strndup(o->arena, policy.at, policy.size);
    for (char *at = name; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    p->policy = name;
    for (size_t i = 0; i < OPENB_COLUMNS; i++) {
        struct err *e = parse_real(c->fields[3 + i], &p->at[i]);

        if (e)
            return csv_wrap(c, 3 + i, e);
    }
    return NULL;
}

struct err *openb_read_published(struct openb *o, const char *file, struct str text)
{
    size_t first = 0;
    bool has = false;
    struct csv c;

    TRY(csv_open(&c, file, text));
    TRY(csv_need(&c, "metric", &first));
    if (c.n_columns != 3 + OPENB_COLUMNS || first != 0)
        return csv_error(&c, "%zu columns: want metric,policy,seed and 0 .. %d", c.n_columns,
                         OPENB_COLUMNS - 1);
    for (;;) {
        struct openb_published p = {0};

        TRY(csv_next(&c, &has));
        if (!has)
            return NULL;
        if (o->published.n == OPENB_ARRIVALS_MAX)
            return csv_error(&c, "over %d curves", OPENB_ARRIVALS_MAX);
        TRY(read_curve(o, &c, &p));
        vec_add(&o->published, p);
    }
}

size_t openb_node_count(const struct openb *o)
{
    return o->nodes.n;
}

const struct openb_node *openb_nodes(const struct openb *o)
{
    return o->nodes.at;
}

size_t openb_pod_count(const struct openb *o)
{
    return o->pods.n;
}

const struct openb_pod *openb_pods(const struct openb *o)
{
    return o->pods.at;
}

int64_t openb_capacity_milli(const struct openb *o)
{
    return o->capacity_milli;
}

const struct openb_list *openb_arrivals(const struct openb *o, uint64_t seed)
{
    VEC_EACH (&o->arrivals, list)
        if (list->seed == seed)
            return list;
    return NULL;
}

const struct openb_list *openb_ranks(const struct openb *o, uint64_t seed)
{
    VEC_EACH (&o->ranks, list)
        if (list->seed == seed)
            return list;
    return NULL;
}

size_t openb_kinds(const struct openb *o, const struct openb_kind **ret)
{
    *ret = o->kinds.at;
    return o->kinds.n;
}

size_t openb_published_count(const struct openb *o)
{
    return o->published.n;
}

const struct openb_published *openb_published(const struct openb *o)
{
    return o->published.at;
}
