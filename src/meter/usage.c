/*
 * usage.c - a period's usage by user, and the idle time of gpus
 *
 * A report takes the attempts that are running at its start, and of the rows those that are present
 * then: an attempt that ends meanwhile does not count twice. The report reads a few rows at a time,
 * so that a report over a million rows does not block the server.
 */
#include "base/log.h"
#include "base/mem.h"
#include "meter/meter_private.h"

enum {
    ROWS_A_TURN = 256
};

/* A sum for one combination of the question's `by`; other texts are "". */
struct group {
    struct map_handle handle;
    char *key; /* its texts, joined by bytes 1 */
    char *texts[BY_COUNT];
    int64_t n_attempts;
    int64_t n_running;
    struct amount gpu;
    struct amount cpu;
    int64_t memory_kib_seconds;
    int64_t cost_micro;
    bool has_cpu; /* known for at least one attempt */
    bool has_memory;
};

struct used_gpu {
    struct map_handle handle;
    char *uuid;
    char *model;
    VEC(struct account_span) held;
    VEC(struct account_span) up;
    VEC(struct account_span) out;
};

struct usage_report {
    struct report report;
    struct meter *meter;
    struct question q;
    struct prices *prices;
    char *price_error;
    struct loop_timer *timer;
    report_done_fn done;
    void *arg;
    int64_t now_ns;
    int64_t revision;             /* at the start: later rows do not count */
    bool are_rows_read;           /* then come the stretches */
    char after[ACCOUNT_KEY_SIZE]; /* key of the last row, then of the last stretch */
    struct store_list placements; /* at the start */
    size_t next_placement;
    struct group *groups;
    struct group total;
    struct used_gpu *gpus;
};

static void group_free(struct group *g)
{
    for (size_t i = 0; i < BY_COUNT; i++)
        free(g->texts[i]);
    free(g->key);
    free(g);
}

static void gpu_free(struct used_gpu *u)
{
    vec_done(&u->held);
    vec_done(&u->up);
    vec_done(&u->out);
    free(u->uuid);
    free(u->model);
    free(u);
}

static void usage_free(struct report *report)
{
    struct usage_report *r = (struct usage_report *)report;
    struct group *g;
    struct group *next;
    struct used_gpu *u;
    struct used_gpu *next_gpu;

    map_each (handle, r->groups, g, next) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
        map_remove(handle, r->groups, g);
        group_free(g);
    }
    map_each (handle, r->gpus, u, next_gpu) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
        map_remove(handle, r->gpus, u);
        gpu_free(u);
    }
    store_list_done(&r->placements);
    loop_timer_free(r->timer);
    question_done(&r->q);
    prices_free(r->prices);
    free(r->price_error);
    free(r);
}

/* ---- groups ---- */

static struct group *usage_find_group(struct usage_report *r, const struct account_row *row,
                                      const char *model)
{
    const char *const texts[BY_COUNT] = {row->user, row->ns, row->queue, model};
    struct buf key = {0};
    struct group *g = NULL;

    for (size_t i = 0; i < BY_COUNT; i++) {
        buf_add_text(&key, r->q.by[i] ? texts[i] : "");
        buf_add_char(&key, '\1');
    }
    map_find(handle, r->groups, key.at, key.size, g);
    if (g) {
        buf_done(&key);
        return g;
    }
    g = mem_alloc(sizeof(*g));
    for (size_t i = 0; i < BY_COUNT; i++)
        g->texts[i] = mem_strdup(r->q.by[i] ? texts[i] : "");
    g->key = buf_steal(&key);
    map_add(handle, r->groups, g->key, strlen(g->key), g);
    return g;
}

static int64_t saturated(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Adds an attempt, without its gpus. */
static void add_share(struct group *g, const struct account_row *row, const struct share *s)
{
    g->n_attempts++;
    g->n_running += row->cause == NULL;
    if (s->cpu_ns >= 0) {
        amount_add(&g->cpu, s->cpu_ns);
        g->has_cpu = true;
    }
    if (s->memory_kib_seconds >= 0) {
        g->memory_kib_seconds = saturated(g->memory_kib_seconds, s->memory_kib_seconds);
        g->has_memory = true;
    }
    g->cost_micro = saturated(g->cost_micro, s->cost_micro);
}

static void add_gpu_time(struct usage_report *r, struct group *g, const char *model, int64_t ns)
{
    amount_add(&g->gpu, ns);
    if (r->prices)
        g->cost_micro = saturated(g->cost_micro, prices_gpu(r->prices, model, ns));
}

/* With groups by model, everything but gpu time counts for the model of the attempt's first gpu. */
static void usage_count(struct usage_report *r, const struct account_row *row,
                        const struct share *s)
{
    const char *first = json_text(json_array_get(row->gpus, 0), "model");
    struct group *g = usage_find_group(r, row, first ? first : "");
    const json_t *gpu;
    size_t i;

    add_share(g, row, s);
    add_share(&r->total, row, s);
    json_array_foreach (row->gpus, i, gpu) {
        const char *model = json_text(gpu, "model");
        int64_t ns = gpu_time_of(row, gpu, r->q.period, r->now_ns);

        add_gpu_time(r, usage_find_group(r, row, model ? model : ""), model, ns);
        add_gpu_time(r, &r->total, model, ns);
    }
}

/* ---- gpus ---- */

static struct used_gpu *usage_find_gpu(struct usage_report *r, const char *uuid, const char *model)
{
    struct used_gpu *u = NULL;

    map_find_text(handle, r->gpus, uuid, u);
    if (u)
        return u;
    u = mem_alloc(sizeof(*u));
    u->uuid = mem_strdup(uuid);
    u->model = mem_strdup(model ? model : "");
    map_add(handle, r->gpus, u->uuid, strlen(u->uuid), u);
    return u;
}

static bool is_in_period(const struct usage_report *r, int64_t from_ns, int64_t to_ns)
{
    return from_ns < r->q.period.to_ns && to_ns > r->q.period.from_ns;
}

static void take_stretch(struct usage_report *r, const struct store_object *o)
{
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = json_parse(o->bytes, &tree);
    struct account_stretch s;
    struct account_span span;
    struct used_gpu *u;

    if (e || !account_stretch_read(tree, &s) || !is_in_period(r, s.from_ns, s.to_ns))
        return;
    span = (struct account_span){s.from_ns, s.to_ns};
    u = usage_find_gpu(r, s.uuid, s.model);
    if (s.state == ACCOUNT_UP)
        vec_add(&u->up, span);
    else
        vec_add(&u->out, span);
}

/* ---- rows ---- */

static void usage_take_row(void *arg, const struct account_row *row)
{
    struct usage_report *r = arg;
    const json_t *gpu;
    struct share s;
    size_t i;

    if (!share_of(row, r->q.period, r->now_ns, r->prices, &s))
        return;
    json_array_foreach (row->gpus, i, gpu) {
        const char *uuid = json_text(gpu, "uuid");

        if (uuid)
            vec_add(&usage_find_gpu(r, uuid, json_text(gpu, "model"))->held,
                    (struct account_span){account_gpu_from_ns(row, gpu), row->to_ns});
    }
    if (question_wants(&r->q, row))
        usage_count(r, row, &s);
}

static void usage_take_open(void *arg, const struct account_row *row)
{
    struct usage_report *r = arg;
    struct account_row mine = *row;

    mine.usage = meter_used_so_far(r->meter, row);
    usage_take_row(r, &mine);
}

static void usage_take_stored(struct usage_report *r, const struct store_object *o)
{
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = NULL;
    struct account_row row;
    int64_t from_ns = 0;
    int64_t to_ns = 0;

    if (o->version > r->revision || !account_key_read(o->key.name, &from_ns, &to_ns) ||
        from_ns >= r->q.period.to_ns)
        return;
    if (r->are_rows_read) {
        take_stretch(r, o);
        return;
    }
    e = json_parse(o->bytes, &tree);
    if (!e && account_row_read(tree, &row))
        usage_take_row(r, &row);
}

/* ---- the answer ---- */

static json_t *cost_tree(const struct usage_report *r, const struct group *g)
{
    return r->prices ? json_integer(g->cost_micro) : json_null();
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
    json_put(o, "gpuTime", amount_tree(g->gpu));
    json_put(o, "cpuTime", g->has_cpu ? amount_tree(g->cpu) : json_null());
    json_put(o, "memoryKibSeconds",
             g->has_memory ? json_integer(g->memory_kib_seconds) : json_null());
    json_put(o, "costMicro", cost_tree(r, g));
    return o;
}

/* By gpu time, the most first; then by key. */
static int compare_groups(const void *a, const void *b)
{
    const struct group *one = *(const struct group *const *)a;
    const struct group *other = *(const struct group *const *)b;

    if (one->gpu.seconds != other->gpu.seconds)
        return one->gpu.seconds > other->gpu.seconds ? -1 : 1;
    if (one->gpu.nanos != other->gpu.nanos)
        return one->gpu.nanos > other->gpu.nanos ? -1 : 1;
    return strcmp(one->key, other->key);
}

static json_t *groups_tree(struct usage_report *r)
{
    VEC(struct group *) sorted = {0};
    json_t *list = json_array();
    struct group *g;
    struct group *next;

    map_each (handle, r->groups, g, next)
        vec_add(&sorted, g);
    if (sorted.n > 1)
        qsort(sorted.at, sorted.n, sizeof(struct group *), compare_groups);
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

static json_t *gpus_tree(struct usage_report *r)
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

static void put_time(json_t *o, const char *key, int64_t ns)
{
    char text[STAMP_TEXT_SIZE];

    stamp_format_nano(ns, text);
    json_put_text(o, key, text);
}

static json_t *report_tree(struct usage_report *r)
{
    json_t *o = json_object();
    json_t *by;

    json_put_text(o, "kind", "UsageReport");
    json_put_text(o, "apiVersion", "mete.dev/v1");
    put_time(o, "from", r->q.period.from_ns);
    put_time(o, "to", r->q.period.to_ns);
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

/* ---- turns ---- */

/* Reads the next rows or stretches. `*ret_has_more` false: these were the last. */
static struct err *step_rows(struct usage_report *r, bool *ret_has_more)
{
    const struct store_range range = r->are_rows_read ? account_stretches() : account_rows();
    struct store_list list = {0};

    TRY(store_list(r->meter->store, &range, "", r->after, ROWS_A_TURN, 0, &list));
    for (size_t i = 0; i < list.n; i++)
        usage_take_stored(r, list.at[i]);
    if (list.n > 0 && strlen(list.at[list.n - 1]->key.name) < sizeof(r->after))
        memcpy(r->after, list.at[list.n - 1]->key.name, strlen(list.at[list.n - 1]->key.name) + 1);
    *ret_has_more = list.has_more && list.n > 0;
    store_list_done(&list);
    return NULL;
}

static bool step_placements(struct usage_report *r)
{
    for (size_t i = 0; i < ROWS_A_TURN && r->next_placement < r->placements.n; i++)
        account_each_open(r->placements.at[r->next_placement++], usage_take_open, r);
    return r->next_placement < r->placements.n;
}

static struct err *usage_step(struct usage_report *r, bool *ret_has_more)
{
    *ret_has_more = true;
    if (r->next_placement < r->placements.n) {
        (void)step_placements(r);
        return NULL;
    }
    TRY(step_rows(r, ret_has_more));
    if (*ret_has_more || r->are_rows_read)
        return NULL;
    r->are_rows_read = true;
    account_key_before(r->q.period.from_ns, r->after);
    *ret_has_more = true;
    return NULL;
}

static void usage_on_timer(void *arg)
{
    struct usage_report *r = arg;
    bool has_more = false;
    AUTO(err_freep) struct err *e = usage_step(r, &has_more);
    AUTO(json_freep) json_t *tree = NULL;

    if (!e && has_more) {
        loop_timer_set(r->timer, 0);
        return;
    }
    tree = e ? NULL : report_tree(r);
    r->done(r->arg, e, tree);
    usage_free(&r->report);
}

/* Takes the running attempts and the present states of gpus, at one revision. */
static struct err *usage_begin(struct usage_report *r)
{
    const struct store_range placements = account_placements();
    const struct store_range states = account_states();
    struct store_list list = {0};

    TRY(store_list(r->meter->store, &placements, NULL, NULL, 0, 0, &r->placements));
    TRY(store_list(r->meter->store, &states, NULL, NULL, 0, 0, &list));
    r->revision = list.revision;
    for (size_t i = 0; i < list.n; i++)
        take_stretch(r, list.at[i]);
    store_list_done(&list);
    account_key_before(r->q.period.from_ns, r->after);
    return NULL;
}

static void load_prices(struct usage_report *r)
{
    AUTO(err_freep) struct err *e = prices_load(r->meter->o.prices_files, &r->prices);

    if (!e)
        return;
    LOG(WARN, "prices cannot be read, usage has no cost", E(e));
    r->price_error = mem_strdup(err_message(e));
}

struct err *meter_usage(void *meter, const struct report_question *q, report_done_fn done,
                        void *arg, struct report **ret)
{
    static const char *const known[] = {"from", "to", "by", "user", "namespace", NULL};
    struct meter *m = meter;
    int64_t now_ns = objects_now_ns(m->o.objects);
    struct question question = {0};
    struct usage_report *r;
    struct err *e;

    TRY(question_parse(q, now_ns, known, &question));
    r = mem_alloc(sizeof(*r));
    *r = (struct usage_report){.report = {.free = usage_free},
                               .meter = m,
                               .q = question,
                               .done = done,
                               .arg = arg,
                               .now_ns = now_ns};
    r->timer = loop_timer_new(m->o.loop, usage_on_timer, r);
    load_prices(r);
    e = usage_begin(r);
    if (e) {
        usage_free(&r->report);
        return e;
    }
    loop_timer_set(r->timer, 0);
    *ret = &r->report;
    return NULL;
}
