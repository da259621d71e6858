/*
 * usage.c - a period's usage by user, and the idle time of gpus
 *
 * A report takes the attempts that are running at its start, and of the rows those that are present
 * then: an attempt that ends meanwhile does not count twice. The report reads a few rows at a time,
 * so that a report over a million rows does not block the server.
 */
#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "meter/usage_private.h"

enum {
    ROWS_A_TURN = 256,
    GROUPS_MAX = 20000 /* of jobs, which may be many */
};

static void group_free(struct group *g)
{
    for (size_t i = 0; i < BY_COUNT; i++)
        free(g->texts[i]);
    free(g->job_name);
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
    store_list_done(&r->nodes);
    advice_sizes_done(&r->sizes);
    loop_timer_free(r->timer);
    question_done(&r->q);
    prices_free(r->prices);
    free(r->price_error);
    free(r);
}

/* ---- groups ---- */

/* The text of an attempt's job: its number, else its name. The caller frees it. */
static char *job_text(const struct account_row *row)
{
    return row->job_id > 0 ? mem_format("%" PRId64, row->job_id)
                           : mem_format("%s/%s", row->ns, row->workload);
}

static struct group *group_find(const struct usage_report *r, const char *const texts[BY_COUNT],
                                struct buf *ret_key)
{
    struct group *g = NULL;

    for (size_t i = 0; i < BY_COUNT; i++) {
        buf_add_text(ret_key, r->q.by[i] ? texts[i] : "");
        buf_add_char(ret_key, '\1');
    }
    map_find(handle, r->groups, ret_key->at, ret_key->size, g);
    return g;
}

static struct group *group_add(struct usage_report *r, const struct account_row *row,
                               const char *const texts[BY_COUNT], struct buf *key)
{
    struct group *g = mem_alloc(sizeof(*g));

    for (size_t i = 0; i < BY_COUNT; i++)
        g->texts[i] = mem_strdup(r->q.by[i] ? texts[i] : "");
    if (*g->texts[BY_JOB])
        g->job_name = mem_format("%s/%s", row->ns, row->workload);
    g->key = buf_steal(key);
    map_add(handle, r->groups, g->key, strlen(g->key), g);
    r->n_groups++;
    return g;
}

/* Jobs beyond GROUPS_MAX share one group without a job for each combination of the other texts. */
static struct group *usage_find_group(struct usage_report *r, const struct account_row *row,
                                      const char *model)
{
    AUTO_FREE char *job = r->q.by[BY_JOB] ? job_text(row) : NULL;
    const char *texts[BY_COUNT] = {row->user, row->ns, row->queue, model, job ? job : ""};
    AUTO(buf_done) struct buf key = {0};
    struct group *g = group_find(r, texts, &key);

    if (!g && r->n_groups >= GROUPS_MAX && job) {
        texts[BY_JOB] = "";
        buf_clear(&key);
        g = group_find(r, texts, &key);
    }
    return g ? g : group_add(r, row, texts, &key);
}

/* Adds an attempt, without its gpus. */
static void add_share(struct group *g, const struct account_row *row, const struct share *s)
{
    g->n_attempts++;
    g->n_running += row->cause == NULL;
    if (s->used.cpu_ns >= 0) {
        amount_add(&g->cpu, s->used.cpu_ns);
        g->has_cpu = true;
    }
    if (s->used.memory_kib_seconds >= 0) {
        g->memory_kib_seconds = saturated(g->memory_kib_seconds, s->used.memory_kib_seconds);
        g->has_memory = true;
    }
    gpu_sums_add_used(&g->gpu, &s->used);
    g->cost_micro = saturated(g->cost_micro, s->cost_micro);
}

/* With groups by model, everything but gpu time counts for the model of the attempt's first gpu. */
static void usage_count(struct usage_report *r, const struct account_row *row,
                        const struct share *s)
{
    const char *first = json_text(json_array_get(row->gpus, 0), "model");
    struct group *g = usage_find_group(r, row, first ? first : "");
    struct gpu_times times = gpu_times_begin(row, s, r->q.period, r->now_ns);
    struct gpu_time time;
    const json_t *gpu;

    if (r->is_advice)
        facts_take(r, &g->facts, row, s);
    add_share(g, row, s);
    add_share(&r->total, row, s);
    while (gpu_times_next(&times, &gpu, &time)) {
        const char *model = json_text(gpu, "model");

        g = usage_find_group(r, row, model ? model : "");
        gpu_sums_add(&g->gpu, &time, model, r->prices);
        gpu_sums_add(&r->total.gpu, &time, model, r->prices);
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

    r->is_waiting = question_wants(&r->q, row) && meter_complete_open(r->meter, r->now_ns, &mine);
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
    if (r->is_advice && usage_step_nodes(r))
        return NULL;
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
    if (!e)
        tree = r->is_advice ? advice_report_tree(r) : usage_report_tree(r);
    r->done(r->arg, e, tree);
    usage_free(&r->report);
}

/* Takes the running attempts and the present states of gpus, at one revision. */
static struct err *usage_list(struct usage_report *r)
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

struct err *usage_report_begin(struct meter *m, const struct report_question *q,
                               const char *const *known, struct usage_report **ret)
{
    int64_t now_ns = objects_now_ns(m->o.objects);
    struct question question = {0};
    struct usage_report *r;
    struct err *e;

    TRY(question_parse(q, now_ns, known, &question));
    r = mem_alloc(sizeof(*r));
    *r = (struct usage_report){
        .report = {.free = usage_free}, .meter = m, .q = question, .now_ns = now_ns};
    r->timer = loop_timer_new(m->o.loop, usage_on_timer, r);
    load_prices(r);
    e = usage_list(r);
    if (e) {
        usage_free(&r->report);
        return e;
    }
    *ret = r;
    return NULL;
}

void usage_report_go(struct usage_report *r, report_done_fn done, void *arg, struct report **ret)
{
    r->done = done;
    r->arg = arg;
    loop_timer_set(r->timer, 0);
    *ret = &r->report;
}

static struct err *usage_read_idle(const struct report_question *q, bool *ret)
{
    const char *text = question_parameter(q, "idle");

    if (text && !text_equal(text, "true") && !text_equal(text, "false"))
        return err_new(ERR_BAD_REQUEST, "parameter idle: '%.64s': want true or false", text);
    *ret = text_equal(text, "true");
    return NULL;
}

struct err *meter_usage(void *meter, const struct report_question *q, report_done_fn done,
                        void *arg, struct report **ret)
{
    static const char *const known[] = {"from",      "to",    "by",   "user",
                                        "namespace", "queue", "idle", NULL};
    bool is_idle_first = false;
    struct usage_report *r = NULL;

    TRY(usage_read_idle(q, &is_idle_first));
    TRY(usage_report_begin(meter, q, known, &r));
    r->is_idle_first = is_idle_first;
    usage_report_go(r, done, arg, ret);
    return NULL;
}
