/* rows.c - the attempts of a period, page by page: ended attempts, then running ones */
#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/slurm/slurm_hide.h"
#include "kinds/slurm/slurm_step.h"
#include "meter/meter_private.h"

enum {
    ROWS_A_TURN = 256,
    ROWS_A_PAGE = 20000 /* rows looked at; a page may have fewer rows than the limit, or none */
};

struct rows_report {
    struct report report;
    struct meter *meter;
    struct question q;
    struct prices *prices;
    struct loop_timer *timer;
    report_done_fn done;
    void *arg;
    char after[ACCOUNT_KEY_SIZE];
    int64_t now_ns;
    json_t *filter; /* the parameters ids, name and states */
    char *reader;   /* submit lines of others are hidden from it; NULL: none is */
    json_t *items;
    size_t n_seen;
    bool is_over; /* no rows are left */
};

static void rows_free(struct report *report)
{
    struct rows_report *r = (struct rows_report *)report;

    loop_timer_free(r->timer);
    question_done(&r->q);
    prices_free(r->prices);
    json_decref(r->filter);
    free(r->reader);
    json_decref(r->items);
    free(r);
}

/* The state in which Slurm shows such an end; of an open attempt RUNNING. */
static const char *slurm_state_of(const char *cause)
{
    static const char *const words[][2] = {
        {"Completed", "COMPLETED"},      {"Failed", "FAILED"},       {"OOMKilled", "OUT_OF_MEMORY"},
        {"DeadlineExceeded", "TIMEOUT"}, {"Cancelled", "CANCELLED"}, {"Preempted", "PREEMPTED"}};

    if (!cause)
        return "RUNNING";
    for (size_t i = 0; i < COUNT(words); i++)
        if (text_equal(words[i][0], cause))
            return words[i][1];
    return "NODE_FAIL";
}

static void put_time(json_t *o, const char *key, int64_t ns)
{
    char text[STAMP_TEXT_SIZE];

    if (ns == INT64_MAX) {
        json_put(o, key, json_null());
        return;
    }
    stamp_format_nano(ns, text);
    json_put_text(o, key, text);
}

static void put_text(json_t *o, const char *key, const char *text)
{
    if (text && *text)
        json_put_text(o, key, text);
    else
        json_put(o, key, json_null());
}

static void put_number(json_t *o, const char *key, int64_t n)
{
    json_put(o, key, n < 0 ? json_null() : json_integer(n));
}

static void put_time_used(json_t *o, const char *key, int64_t ns)
{
    struct amount a = {0};

    if (ns >= 0)
        amount_add(&a, ns);
    json_put(o, key, ns < 0 ? json_null() : amount_tree(a));
}

/* The usage of the whole attempt, also outside the period. */
static void put_used(const struct rows_report *r, json_t *o, const struct account_row *row)
{
    const struct account_span always = {0, INT64_MAX};
    int64_t cost_micro = 0;
    struct share s = {.used = ACCOUNT_USAGE_UNKNOWN};
    json_t *gpus = json_array_at(o, "gpus");
    struct gpu_sums sums = {0};
    struct gpu_times times;
    struct gpu_time time;
    const json_t *gpu;

    (void)share_of(row, always, r->now_ns, r->prices, &s);
    cost_micro = s.cost_micro;
    times = gpu_times_begin(row, &s, always, r->now_ns);
    while (gpu_times_next(&times, &gpu, &time)) {
        (void)json_array_append(gpus, (json_t *)(uintptr_t)gpu); /* an array of ours: cannot fail */
        gpu_sums_add(&sums, &time, json_text(gpu, "model"), r->prices);
    }
    cost_micro += sums.cost_micro;
    gpu_sums_add_used(&sums, &s.used);
    gpu_sums_put(o, &sums);
    put_time_used(o, "cpuTime", s.used.cpu_ns);
    put_number(o, "memoryKibSeconds", s.used.memory_kib_seconds);
    put_number(o, "memoryPeakBytes", s.used.memory_peak_bytes);
    put_number(o, "costMicro", r->prices ? cost_micro : -1);
    put_number(o, "idleCostMicro", r->prices && sums.has_times ? sums.idle_cost_micro : -1);
}

static void put_canceller(json_t *o, const char *text)
{
    AUTO(err_freep) struct err *e = NULL;
    int64_t uid = -1;

    if (!text)
        return;
    e = num_parse_int64(str_of(text), 0, UINT32_MAX, &uid);
    if (!e) /* our own text */
        json_put_int(o, "cancelledBy", uid);
}

/* What is known of a Slurm job; absent: no such job. */
static void put_slurm(const struct rows_report *r, json_t *o, const struct account_row *row)
{
    const char *text = json_text(row->tree, "slurm");
    json_t *slurm = NULL;

    put_canceller(o, json_text(row->tree, "cancelledBy"));
    if (json_object_get(row->tree, "exitSignal"))
        json_put_int(o, "exitSignal", json_int(row->tree, "exitSignal", 0));
    if (!text)
        return;
    err_free(json_parse(str_of(text), &slurm)); /* our own text */
    if (r->reader && !text_equal(r->reader, row->user))
        slurm_hide_facts(slurm);
    if (slurm)
        json_put(o, "slurm", slurm);
}

/* The steps of a Slurm job that ended in the time of the row. */
static void put_steps(const struct rows_report *r, json_t *o, const struct account_row *row)
{
    const struct store_range range = {.group = "mete.dev", .resource = SLURM_STEP_ENDS, .ns = ""};
    char prefix[SLURM_STEP_KEY_SIZE];
    struct store_key key = {.group = "mete.dev", .resource = SLURM_STEP_ENDS, .ns = ""};
    const struct store_object *step;

    slurm_step_key(row->job_id, -1, prefix);
    key.name = prefix;
    for (step = store_next(r->meter->store, &range, &key);
         step && text_starts_with(step->key.name, prefix);
         step = store_next(r->meter->store, &range, &step->key)) {
        json_t *one = NULL;
        AUTO(err_freep) struct err *e = json_parse(step->bytes, &one);

        if (!e) /* our own text */
            (void)json_array_append_new(json_array_at(o, "steps"), one);
    }
}

static json_t *row_tree(const struct rows_report *r, const struct account_row *row)
{
    json_t *o = json_object();

    put_text(o, "user", row->user);
    put_text(o, "namespace", row->ns);
    put_text(o, "queue", row->queue);
    put_text(o, "pod", row->pod);
    put_text(o, "podUid", row->uid);
    json_put(o, "jobId", row->job_id > 0 ? json_integer(row->job_id) : json_null());
    put_text(o, "workload", row->workload);
    put_text(o, "node", row->node);
    json_put_int(o, "attempt", row->attempt);
    put_time(o, "from", row->from_ns);
    put_time(o, "to", row->to_ns);
    put_number(o, "exitCode", row->exit_code);
    put_text(o, "cause", row->cause);
    put_text(o, "state", slurm_state_of(row->cause));
    put_slurm(r, o, row);
    if (json_object_get(o, "slurm"))
        put_steps(r, o, row);
    put_used(r, o, row);
    return o;
}

static bool in_list(const char *list, const char *word)
{
    struct str rest = str_of(list);

    while (rest.at)
        if (str_equal(str_cut(&rest, ','), str_of(text_or_empty(word))))
            return true;
    return !list;
}

static bool is_state_wanted(const struct rows_report *r, const struct account_row *row)
{
    return in_list(json_text(r->filter, "states"), slurm_state_of(row->cause));
}

/* A row without a Slurm job has its own number only: other rows are looked at in whole. */
static bool is_id_possible(const struct rows_report *r, const struct account_row *row)
{
    AUTO_FREE char *id = mem_format("%" PRId64, row->job_id);

    return json_text(row->tree, "slurm") || in_list(json_text(r->filter, "ids"), id);
}

/* Is the element `index` ("3", "3,7-9") of array `id` in the list of ids? */
static bool is_element_wanted(const char *ids, int64_t id, const json_t *index)
{
    AUTO_FREE char *array = mem_format("%" PRId64, id);
    struct str rest = str_of(ids);

    while (rest.at) {
        struct str one = str_cut(&rest, ',');
        struct str tail = one;
        int64_t n = -1;

        if (!str_equal(str_cut(&tail, '_'), str_of(array)))
            continue;
        if (!tail.at || json_is_string(index))
            return true;
        err_free(num_parse_int64(tail, 0, INT64_MAX, &n)); /* else no element */
        if (n == json_integer_value(index))
            return true;
    }
    return false;
}

/* By the number of a heterogeneous job, and by "12+1". */
static bool is_component_wanted(const char *ids, const json_t *slurm)
{
    AUTO_FREE char *job = mem_format("%" PRId64, json_int(slurm, "hetJobId", 0));
    AUTO_FREE char *component = mem_format("%s+%" PRId64, job, json_int(slurm, "hetJobOffset", 0));

    return json_object_get(slurm, "hetJobId") && (in_list(ids, job) || in_list(ids, component));
}

/* By the number of the job or array, by "12_3", and by the job's name. */
static bool is_job_wanted(const struct rows_report *r, const json_t *row)
{
    const char *ids = json_text(r->filter, "ids");
    const json_t *slurm = json_object_get(row, "slurm");
    const char *name = json_text(slurm, "name");
    AUTO_FREE char *id = mem_format("%" PRId64, json_int(row, "jobId", 0));

    if (!in_list(json_text(r->filter, "name"), name ? name : json_text(row, "pod")))
        return false;
    if (in_list(ids, id) || is_component_wanted(ids, slurm))
        return true;
    return slurm && is_element_wanted(ids, json_int(slurm, "arrayJobId", 0),
                                      json_object_get(slurm, "arrayTaskId"));
}

static void rows_take(void *arg, const struct account_row *row)
{
    struct rows_report *r = arg;
    struct share s;

    json_t *tree;

    if (!question_wants(&r->q, row) || !share_of(row, r->q.period, r->now_ns, NULL, &s) ||
        !is_state_wanted(r, row) || !is_id_possible(r, row))
        return;
    tree = row_tree(r, row);
    if (is_job_wanted(r, tree))
        (void)json_array_append_new(r->items, tree); /* fresh: cannot fail */
    else
        json_decref(tree);
}

static void rows_take_open(void *arg, const struct account_row *row)
{
    struct rows_report *r = arg;
    struct account_row mine = *row;

    if (question_wants(&r->q, row))
        (void)meter_complete_open(r->meter, r->now_ns, &mine);
    rows_take(r, &mine);
}

static void rows_take_stored(struct rows_report *r, const struct store_object *o)
{
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = NULL;
    struct account_row row;
    int64_t from_ns = 0;
    int64_t to_ns = 0;

    if (!account_key_read(o->key.name, &from_ns, &to_ns) || from_ns > r->q.period.to_ns)
        return;
    e = json_parse(o->bytes, &tree);
    if (!e && account_row_read(tree, &row))
        rows_take(r, &row);
}

/* The running attempts belong to the last page. */
static struct err *take_all_open(struct rows_report *r)
{
    const struct store_range range = account_placements();
    struct store_list list = {0};

    TRY(store_list(r->meter->store, &range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++)
        account_each_open(list.at[i], rows_take_open, r);
    store_list_done(&list);
    return NULL;
}

static bool is_full(const struct rows_report *r)
{
    return json_array_size(r->items) >= r->q.limit || r->n_seen >= ROWS_A_PAGE;
}

static struct err *rows_step(struct rows_report *r)
{
    const struct store_range range = account_rows();
    struct store_list list = {0};

    TRY(store_list(r->meter->store, &range, "", r->after, ROWS_A_TURN, 0, &list));
    for (size_t i = 0; i < list.n && !is_full(r); i++) {
        const char *name = list.at[i]->key.name;

        rows_take_stored(r, list.at[i]);
        r->n_seen++;
        memcpy(r->after, name, strlen(name) < sizeof(r->after) ? strlen(name) + 1 : 0);
    }
    r->is_over = !is_full(r) && !list.has_more;
    store_list_done(&list);
    return r->is_over ? take_all_open(r) : NULL;
}

static void rows_answer(struct rows_report *r, const struct err *e)
{
    AUTO(json_freep) json_t *list = NULL;
    json_t *metadata;

    if (e) {
        r->done(r->arg, e, NULL);
        rows_free(&r->report);
        return;
    }
    list = json_object();
    json_put_text(list, "kind", "AccountingRowList");
    json_put_text(list, "apiVersion", "mete.dev/v1");
    metadata = json_object_at(list, "metadata");
    if (!r->is_over)
        json_put_text(metadata, "continue", r->after);
    put_time(list, "from", r->q.period.from_ns);
    put_time(list, "to", r->q.period.to_ns);
    put_text(list, "currency", r->prices ? prices_currency(r->prices) : NULL);
    json_put(list, "items", json_incref(r->items));
    r->done(r->arg, NULL, list);
    rows_free(&r->report);
}

static void rows_on_timer(void *arg)
{
    struct rows_report *r = arg;
    AUTO(err_freep) struct err *e = rows_step(r);

    if (e || r->is_over || is_full(r))
        rows_answer(r, e);
    else
        loop_timer_set(r->timer, 0);
}

struct err *meter_rows(void *meter, const struct report_question *q, report_done_fn done, void *arg,
                       struct report **ret)
{
    static const char *const known[] = {"from",     "to",  "user", "namespace", "queue", "limit",
                                        "continue", "ids", "name", "states",    NULL};
    struct meter *m = meter;
    int64_t now_ns = objects_now_ns(m->o.objects);
    struct question question = {0};
    struct prices *prices = NULL;
    struct rows_report *r;

    TRY(question_parse(q, now_ns, known, &question));
    err_free(prices_load(m->o.prices_files,
                         &prices)); /* rows have no cost then; the usage report says why */
    r = mem_alloc(sizeof(*r));
    *r = (struct rows_report){.report = {.free = rows_free},
                              .meter = m,
                              .q = question,
                              .prices = prices,
                              .done = done,
                              .arg = arg,
                              .now_ns = now_ns,
                              .filter = json_deep_copy(q->parameters),
                              .reader = q->is_admin ? NULL : mem_strdup(text_or_empty(q->user)),
                              .items = json_array()};
    if (*question.after)
        memcpy(r->after, question.after, sizeof(r->after));
    else
        account_key_before(question.period.from_ns, r->after);
    r->timer = loop_timer_new(m->o.loop, rows_on_timer, r);
    loop_timer_set(r->timer, 0);
    *ret = &r->report;
    return NULL;
}
