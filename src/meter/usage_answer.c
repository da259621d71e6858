/* usage_answer.c - a usage report as JSON */

#include "meter/usage_private.h"

static json_t *cost_tree(const struct usage_report *r, int64_t micro)
{
    return r->prices ? json_integer(micro) : json_null();
}

static json_t *group_tree(const struct usage_report *r, const struct group *g, bool has_texts)
{
    json_t *o = json_object();

    for (size_t i = 0; has_texts && i < BY_COUNT; i++) {
        if (r->q.by[i])
            json_put(o, by_names[i], json_text_new(g->texts[i]));
    }
    json_put_int(o, "attempts", g->n_attempts);
    json_put_int(o, "running", g->n_running);
    if (has_texts && r->q.by[BY_JOB])
        json_put(o, "jobName", g->job_name ? json_text_new(g->job_name) : json_null());
    gpu_sums_put(o, &g->gpu);
    json_put(o, "cpuTime", g->has_cpu ? amount_tree(g->cpu) : json_null());
    json_put(o, "memoryKibSeconds",
             g->has_memory ? json_integer(g->memory_kib_seconds) : json_null());
    json_put(o, "costMicro", cost_tree(r, saturated(g->cost_micro, g->gpu.cost_micro)));
    json_put(o, "idleCostMicro",
             g->gpu.has_times ? cost_tree(r, g->gpu.idle_cost_micro) : json_null());
    return o;
}

static int compare_amounts(struct amount a, struct amount b)
{
    if (a.seconds != b.seconds)
        return a.seconds < b.seconds ? -1 : 1;
    return (a.nanos > b.nanos) - (a.nanos < b.nanos);
}

/* By gpu time, the most first; then by key. */
static int compare_groups(const void *a, const void *b)
{
    const struct group *one = *(const struct group *const *)a;
    const struct group *other = *(const struct group *const *)b;
    int order = compare_amounts(other->gpu.held, one->gpu.held);

    return order != 0 ? order : strcmp(one->key, other->key);
}

/* By idle time, the most first; then by key. */
static int compare_idle_groups(const void *a, const void *b)
{
    const struct group *one = *(const struct group *const *)a;
    const struct group *other = *(const struct group *const *)b;
    int order = compare_amounts(other->gpu.idle, one->gpu.idle);

    return order != 0 ? order : strcmp(one->key, other->key);
}

static bool has_idle(const struct group *g)
{
    return g->gpu.idle.seconds > 0 || g->gpu.idle.nanos > 0;
}

static json_t *groups_tree(const struct usage_report *r)
{
    VEC(struct group *) sorted = {0};
    json_t *list = json_array();
    struct group *g;
    struct group *next;

    map_each (handle, r->groups, g, next) {
        if (!r->is_idle_first || has_idle(g))
            vec_add(&sorted, g);
    }
    if (sorted.n > 1)
        qsort(sorted.at, sorted.n, sizeof(struct group *),
              r->is_idle_first ? compare_idle_groups : compare_groups);
    for (size_t i = 0; i < sorted.n; i++)
        (void)json_array_append_new(list, group_tree(r, sorted.at[i], true)); /* cannot fail */
    vec_done(&sorted);
    return list;
}

/* The times of all gpus of one model. */
struct model_sum {
    const char *model;
    int64_t n;
    struct amount capacity;
    struct amount held;
    struct amount free;
    struct amount out;
};

static void add_gpu(struct model_sum *m, struct used_gpu *u, struct account_span period)
{
    struct account_spans spans = {.held = u->held.at,
                                  .n_held = u->held.n,
                                  .up = u->up.at,
                                  .n_up = u->up.n,
                                  .out = u->out.at,
                                  .n_out = u->out.n};
    struct account_time t = account_sum(&spans, period, NULL);

    m->n++;
    amount_add(&m->capacity, t.capacity_ns);
    amount_add(&m->held, t.held_ns);
    amount_add(&m->free, t.free_ns);
    amount_add(&m->out, t.out_ns);
}

static int compare_gpus(const void *a, const void *b)
{
    const struct used_gpu *one = *(const struct used_gpu *const *)a;
    const struct used_gpu *other = *(const struct used_gpu *const *)b;
    int order = strcmp(one->model, other->model);

    return order != 0 ? order : strcmp(one->uuid, other->uuid);
}

static void add_model(json_t *list, const struct model_sum *m)
{
    json_t *o = json_object();

    json_put(o, "model", json_text_new(m->model));
    json_put_int(o, "gpus", m->n);
    json_put(o, "capacity", amount_tree(m->capacity));
    json_put(o, "held", amount_tree(m->held));
    json_put(o, "free", amount_tree(m->free));
    json_put(o, "outOfService", amount_tree(m->out));
    (void)json_array_append_new(list, o); /* a fresh object: cannot fail */
}

static json_t *gpus_tree(const struct usage_report *r)
{
    VEC(struct used_gpu *) sorted = {0};
    json_t *list = json_array();
    struct model_sum sum = {0};
    struct used_gpu *u;
    struct used_gpu *next;

    map_each (handle, r->gpus, u, next)
        vec_add(&sorted, u);
    if (sorted.n > 1)
        qsort(sorted.at, sorted.n, sizeof(struct used_gpu *), compare_gpus);
    for (size_t i = 0; i < sorted.n; i++) {
        if (sum.n > 0 && !text_equal(sum.model, sorted.at[i]->model)) {
            add_model(list, &sum);
            sum = (struct model_sum){0};
        }
        sum.model = sorted.at[i]->model;
        add_gpu(&sum, sorted.at[i], r->q.period);
    }
    if (sum.n > 0)
        add_model(list, &sum);
    vec_done(&sorted);
    return list;
}

void usage_put_time(json_t *o, const char *key, int64_t ns)
{
    char text[STAMP_TEXT_SIZE];

    stamp_format_nano(ns, text);
    json_put_text(o, key, text);
}

json_t *usage_report_tree(const struct usage_report *r)
{
    json_t *o = json_object();
    json_t *by;

    json_put_text(o, "kind", "UsageReport");
    json_put_text(o, "apiVersion", "mete.dev/v1");
    usage_put_time(o, "from", r->q.period.from_ns);
    usage_put_time(o, "to", r->q.period.to_ns);
    by = json_array_at(o, "by");
    for (size_t i = 0; i < BY_COUNT; i++) {
        if (r->q.by[i])
            (void)json_array_append_new(by, json_string(by_names[i])); /* as above */
    }
    json_put(o, "currency", r->prices ? json_string(prices_currency(r->prices)) : json_null());
    if (r->price_error)
        json_put_text(o, "priceError", r->price_error);
    json_put(o, "items", groups_tree(r));
    json_put(o, "total", group_tree(r, &r->total, false));
    json_put(o, "gpus", gpus_tree(r));
    return o;
}
