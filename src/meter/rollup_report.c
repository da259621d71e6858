/* rollup_report.c - the report over the days of hourly sums, what ended since, and what runs */

#include "base/num.h"
#include "meter/rollup.h"
#include "meter/rollup_private.h"

enum {
    REPORT_ROWS_A_TURN = 256,
    REPORT_DAYS_A_TURN = 4
};

struct rollup_sums {
    struct map_handle handle;
    char *key;
    char *account;
    char *user;
    char *ns;
    int64_t sums[ROLLUP_SUMS];
};

struct rollup_report {
    struct report report;
    struct meter *meter;
    struct loop_timer *timer;
    report_done_fn done;
    void *arg;
    json_t *namespaces; /* NULL: all */
    int64_t from_ns;
    int64_t to_ns;
    int64_t now_ns;
    int64_t revision; /* at the start: later rows do not count */
    struct store_list days;
    struct store_list placements;
    size_t next_day;
    size_t next_placement;
    char after[ACCOUNT_KEY_SIZE];
    struct rollup_sums *groups;
    int64_t capacity[CAPACITY_SUMS];
};

static void rollup_report_free(struct report *report)
{
    struct rollup_report *r = (struct rollup_report *)report;
    struct rollup_sums *g;
    struct rollup_sums *next;

    map_each (handle, r->groups, g, next) {
        map_remove(handle, r->groups, g); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        free(g->key);
        free(g->account);
        free(g->user);
        free(g->ns);
        free(g);
    }
    store_list_done(&r->days);
    store_list_done(&r->placements);
    loop_timer_free(r->timer);
    json_decref(r->namespaces);
    free(r);
}

/* ---- sums ---- */

static struct rollup_sums *rollup_sums_of(struct rollup_report *r, const struct rollup_group *from)
{
    struct rollup_sums *g = NULL;

    map_find_text(handle, r->groups, from->key, g);
    if (g)
        return g;
    g = mem_alloc(sizeof(*g));
    g->key = mem_strdup(from->key);
    g->account = mem_strdup(from->account);
    g->user = mem_strdup(from->user);
    g->ns = mem_strdup(from->ns);
    map_add(handle, r->groups, g->key, strlen(g->key), g);
    return g;
}

/* Each attempt has a node: an hour without one is empty. */
static void report_take_hour(struct rollup_report *r, const struct rollup_group *from,
                             const int64_t sums[ROLLUP_SUMS])
{
    struct rollup_sums *g;

    if (sums[ROLLUP_NODE] == 0 || !report_may_show(r->namespaces, from->ns))
        return;
    g = rollup_sums_of(r, from);
    for (size_t k = 0; k < ROLLUP_SUMS; k++)
        g->sums[k] = saturated(g->sums[k], sums[k]);
}

/* Adds the hours of the day that are in the period. */
static void report_take_day(struct rollup_report *r, const struct rollup_day *d)
{
    struct rollup_group *from;
    struct rollup_group *next;

    for (int64_t hour = 0; hour < DAY_HOURS; hour++) {
        int64_t begin_ns = (d->day * DAY_HOURS + hour) * HOUR_NS;

        if (begin_ns < r->from_ns || begin_ns >= r->to_ns)
            continue;
        for (size_t k = 0; k < CAPACITY_SUMS; k++)
            r->capacity[k] = saturated(r->capacity[k], d->capacity[hour][k]);
        map_each (handle, d->groups, from, next)
            report_take_hour(r, from, from->hours[hour]);
    }
}

/* An attempt counts as the days would count it. */
static void report_take_row(struct rollup_report *r, const struct account_row *row)
{
    int64_t end_ns = row->to_ns < r->now_ns ? row->to_ns : r->now_ns;
    AUTO(json_freep) json_t *facts = NULL;
    struct rollup_row one;

    if (end_ns <= row->from_ns || end_ns <= r->from_ns || row->from_ns >= r->to_ns)
        return;
    one = rollup_row_of(r->meter, row, end_ns, &facts);
    one.from_ns = one.from_ns > r->from_ns ? one.from_ns : r->from_ns;
    one.to_ns = one.to_ns < r->to_ns ? one.to_ns : r->to_ns;
    for (int64_t day = one.from_ns / HOUR_NS / DAY_HOURS; day <= one.to_ns / HOUR_NS / DAY_HOURS;
         day++) {
        struct rollup_day *d = rollup_day_parse(day, (struct str){0});

        rollup_day_add(d, &one);
        report_take_day(r, d);
        rollup_day_free(d);
    }
}

static void report_take_open(void *arg, const struct account_row *row)
{
    report_take_row(arg, row);
}

static struct err *report_take_rows(struct rollup_report *r, bool *ret_has_more)
{
    const struct store_range range = account_rows();
    struct store_list list = {0};

    TRY(store_list(r->meter->store, &range, "", r->after, REPORT_ROWS_A_TURN, 0, &list));
    for (size_t i = 0; i < list.n; i++) {
        AUTO(json_freep) json_t *tree = NULL;
        AUTO(err_freep) struct err *e = json_parse(list.at[i]->bytes, &tree);
        struct account_row row;

        if (!e && list.at[i]->version <= r->revision && account_row_read(tree, &row))
            report_take_row(r, &row);
    }
    if (list.n > 0 && strlen(list.at[list.n - 1]->key.name) < sizeof(r->after))
        memcpy(r->after, list.at[list.n - 1]->key.name, strlen(list.at[list.n - 1]->key.name) + 1);
    *ret_has_more = list.has_more && list.n > 0;
    store_list_done(&list);
    return NULL;
}

/* ---- the answer ---- */

static int sums_compare(const void *left, const void *right)
{
    return strcmp((*(const struct rollup_sums *const *)left)->key,
                  (*(const struct rollup_sums *const *)right)->key);
}

static void put_sums(json_t *to, const int64_t *sums, const char *const names[ROLLUP_SUMS])
{
    for (size_t k = 0; k < ROLLUP_SUMS; k++)
        if (names[k])
            json_put_int(to, names[k], sums[k]);
}

static json_t *report_tree(const struct rollup_report *r)
{
    static const char *const names[ROLLUP_SUMS] = {"cpuMs", "memoryMibMs", "nodeMs", "gpuMs",
                                                   "energyMicrojoules"};
    static const char *const there[ROLLUP_SUMS] = {"cpuMs", "memoryMibMs", "nodeMs", "gpuMs", NULL};
    static const char *const downs[ROLLUP_SUMS] = {"cpuDownMs", "memoryDownMibMs", "nodeDownMs",
                                                   "gpuDownMs", NULL};
    size_t n = map_count(handle, r->groups);
    AUTO_FREE struct rollup_sums **all = mem_alloc((n + 1) * sizeof(struct rollup_sums *));
    struct rollup_sums *g;
    struct rollup_sums *next;
    json_t *tree = json_object();
    json_t *rows;
    json_t *capacity;

    n = 0;
    map_each (handle, r->groups, g, next)
        all[n++] = g;
    qsort(all, n, sizeof(struct rollup_sums *), sums_compare);
    json_put_text(tree, "kind", "RollupReport");
    json_put_text(tree, "apiVersion", "mete.dev/v1");
    json_put_int(tree, "fromS", r->from_ns / NS_PER_SEC);
    json_put_int(tree, "toS", r->to_ns / NS_PER_SEC);
    rows = json_array_at(tree, "rows");
    for (size_t i = 0; i < n; i++) {
        json_t *row = json_object();

        json_put_text(row, "account", all[i]->account);
        json_put_text(row, "user", all[i]->user);
        json_put_text(row, "namespace", all[i]->ns);
        put_sums(row, all[i]->sums, names);
        (void)json_array_append_new(rows, row); /* fresh: cannot fail */
    }
    capacity = json_object_at(tree, "capacity");
    put_sums(capacity, r->capacity, there);
    put_sums(capacity, r->capacity + CAPACITY_DOWN, downs);
    json_put_int(capacity, "knownMs", r->capacity[CAPACITY_KNOWN]);
    return tree;
}

/* ---- turns ---- */

static bool report_take_days(struct rollup_report *r)
{
    for (size_t i = 0; i < REPORT_DAYS_A_TURN && r->next_day < r->days.n; i++) {
        const struct store_object *o = r->days.at[r->next_day++];
        int64_t day = 0;
        AUTO(err_freep) struct err *e = num_parse_int64(str_of(o->key.name), 0, INT32_MAX, &day);
        struct rollup_day *d = NULL;

        if (e || (day + 1) * DAY_HOURS * HOUR_NS <= r->from_ns || /* else the cursor */
            day * DAY_HOURS * HOUR_NS >= r->to_ns)
            continue;
        d = rollup_day_parse(day, o->bytes);
        report_take_day(r, d);
        rollup_day_free(d);
    }
    return r->next_day < r->days.n;
}

static bool report_take_placements(struct rollup_report *r)
{
    for (size_t i = 0; i < REPORT_ROWS_A_TURN && r->next_placement < r->placements.n; i++)
        account_each_open(r->placements.at[r->next_placement++], report_take_open, r);
    return r->next_placement < r->placements.n;
}

static void rollup_report_on_timer(void *arg)
{
    struct rollup_report *r = arg;
    bool has_more = report_take_days(r) || report_take_placements(r);
    AUTO(err_freep) struct err *e = has_more ? NULL : report_take_rows(r, &has_more);
    AUTO(json_freep) json_t *tree = NULL;

    if (!e && has_more) {
        loop_timer_set(r->timer, 0);
        return;
    }
    if (!e)
        tree = report_tree(r);
    r->done(r->arg, e, tree);
    rollup_report_free(&r->report);
}

/* Days, cursor and running attempts are of one revision. */
static struct err *report_list(struct rollup_report *r)
{
    const struct store_range days = rollup_days();
    const struct store_range placements = account_placements();
    const struct store_object *o = store_get(r->meter->store, rollup_key(ROLLUP_CURSOR));
    AUTO(json_freep) json_t *cursor = NULL;
    AUTO(err_freep) struct err *e = o ? json_parse(o->bytes, &cursor) : NULL; /* our own text */
    const char *after = json_text(cursor, "after");

    TRY(store_list(r->meter->store, &days, NULL, NULL, 0, 0, &r->days));
    TRY(store_list(r->meter->store, &placements, NULL, NULL, 0, 0, &r->placements));
    r->revision = r->placements.revision;
    if (!e && after && strlen(after) < sizeof(r->after))
        memcpy(r->after, after, strlen(after) + 1);
    return NULL;
}

static struct err *report_read(struct rollup_report *r, const struct report_question *q)
{
    static const char *const known[] = {"from", "to", NULL};

    TRY(question_check_known(q, known));
    TRY(question_moment(q, "from", "month", r->now_ns, &r->from_ns));
    TRY(question_moment(q, "to", "now", r->now_ns, &r->to_ns));
    r->from_ns = r->from_ns / HOUR_NS * HOUR_NS;
    r->to_ns = r->to_ns / HOUR_NS * HOUR_NS;
    if (r->to_ns <= r->from_ns)
        r->to_ns = r->from_ns + HOUR_NS;
    return report_list(r);
}

struct err *meter_rollup(void *meter, const struct report_question *q, report_done_fn done,
                         void *done_arg, struct report **ret)
{
    struct meter *m = meter;
    struct rollup_report *r = mem_alloc(sizeof(*r));
    struct err *e;

    *r = (struct rollup_report){.report = {.free = rollup_report_free},
                                .meter = m,
                                .done = done,
                                .arg = done_arg,
                                .now_ns = objects_now_ns(m->o.objects)};
    e = report_read(r, q);
    if (e) {
        rollup_report_free(&r->report);
        return e;
    }
    r->namespaces = q->namespaces ? json_deep_copy(q->namespaces) : NULL;
    r->timer = loop_timer_new(m->o.loop, rollup_report_on_timer, r);
    loop_timer_set(r->timer, 0);
    *ret = &r->report;
    return NULL;
}
