/* usage.c - mete usage: reports of gpu, cpu and memory time and of costs */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/admin/usage_cells.h"
#include "cli/commands.h"
#include "cli/session.h"

static const char *const by_words[] = {"user", "namespace", "queue", "model", "job"};

enum {
    BY_WORDS = 5
};

/* ---- the query ---- */

static struct err *add_period(struct cli *c, struct buf *path, int64_t now_ns)
{
    const char *from = flag_text(c->in, "from");
    const char *to = flag_text(c->in, "to");
    const char *last = flag_text(c->in, "last");

    if (last && (from || to))
        return cli_usage(c, "--last excludes --from and --to");
    TRY(query_add_moment(c, path, "from", last ? "last" : "from",
                         last   ? last
                         : from ? from
                                : "month",
                         now_ns));
    return query_add_moment(c, path, "to", "to", to ? to : "now", now_ns);
}

/* ---- numbers ---- */

static json_t *cell_gib_hours(const json_t *item)
{
    const int64_t per = INT64_C(1048576) * 3600;
    int64_t kib_seconds = json_int(item, "memoryKibSeconds", -1);
    int64_t milli;
    AUTO_FREE char *text = NULL;

    if (kib_seconds < 0)
        return json_null();
    milli = kib_seconds / per * 1000 + (kib_seconds % per * 1000 + per / 2) / per;
    text = mem_format("%" PRId64 ".%03" PRId64, milli / 1000, milli % 1000);
    return json_string(text);
}

static json_t *cost_of(const json_t *item)
{
    return cell_money(json_int(item, "costMicro", -1));
}

/* Energy in kWh, rounded to thousandths. */
static json_t *energy_of(const json_t *item)
{
    const int64_t per = INT64_C(3600000000); /* mJ in a thousandth of a kWh */
    int64_t mj = json_int(item, "gpuEnergyMillijoules", -1);
    int64_t milli;
    AUTO_FREE char *text = NULL;

    if (mj < 0)
        return json_null();
    milli = mj / per + (mj % per >= per / 2);
    text = mem_format("%" PRId64 ".%03" PRId64, milli / 1000, milli % 1000);
    return json_string(text);
}

static int64_t amount_ms(const json_t *amount)
{
    return json_int(amount, "seconds", 0) * 1000 + json_int(amount, "nanos", 0) / NS_PER_MS;
}

/* The idle part of the time held, in percent. */
static json_t *idle_part_of(const json_t *item)
{
    int64_t held_ms = amount_ms(json_object_get(item, "gpuTime"));
    int64_t idle_ms = amount_ms(json_object_get(item, "gpuIdleTime"));
    AUTO_FREE char *text = NULL;

    if (held_ms == 0 || !json_is_object(json_object_get(item, "gpuIdleTime")))
        return json_null();
    text = mem_format("%" PRId64 "%%", (int64_t)((__int128)idle_ms * 100 / held_ms));
    return json_string(text);
}

static json_t *member(const json_t *item, const char *key)
{
    json_t *value = json_object_get(item, key);

    return value ? json_incref(value) : json_null();
}

/* ---- sums ---- */

static bool is_by(const json_t *report, const char *word)
{
    return json_has_text(json_object_get(report, "by"), word);
}

static void add_group_columns(struct listing *l, const json_t *report)
{
    static const char *const titles[BY_WORDS] = {"USER", "NAMESPACE", "QUEUE", "MODEL", "JOB"};

    for (size_t i = 0; i < BY_WORDS; i++) {
        if (is_by(report, by_words[i]))
            listing_column(l, titles[i]);
    }
    if (is_by(report, "job"))
        listing_column(l, "NAME");
}

static void add_group_cells(json_t *row, const json_t *report, const json_t *item)
{
    for (size_t i = 0; i < BY_WORDS; i++) {
        if (is_by(report, by_words[i]))
            row_add_cell(row, member(item, by_words[i]));
    }
    if (is_by(report, "job"))
        row_add_cell(row, member(item, "jobName"));
}

static void usage_columns(struct listing *l, const json_t *report)
{
    static const char *const numbers[] = {"#ATTEMPTS",  "#RUNNING",  "#GPU HOURS", "#BUSY",
                                          "#IDLE",      "!#UNKNOWN", "!#KWH",      "%GPU PEAK",
                                          "#CPU HOURS", "#GIB HOURS"};

    add_group_columns(l, report);
    for (size_t i = 0; i < COUNT(numbers); i++)
        listing_column(l, numbers[i]);
    listing_add_cost(l, report, "COST");
}

/* Of held time, its parts, energy and peak of memory. */
static void add_gpu_cells(json_t *row, const json_t *item)
{
    static const char *const times[] = {"gpuTime", "gpuBusyTime", "gpuIdleTime", "gpuUnknownTime"};

    for (size_t i = 0; i < COUNT(times); i++)
        row_add_cell(row, cell_hours(json_object_get(item, times[i])));
    row_add_cell(row, energy_of(item));
    row_add_cell(row, member(item, "gpuMemoryPeakBytes"));
}

static json_t *usage_row(const json_t *report, const json_t *item)
{
    json_t *row = json_array();

    add_group_cells(row, report, item);
    row_add_cell(row, member(item, "attempts"));
    row_add_cell(row, member(item, "running"));
    add_gpu_cells(row, item);
    row_add_cell(row, cell_hours(json_object_get(item, "cpuTime")));
    row_add_cell(row, cell_gib_hours(item));
    row_add_cell(row, cost_of(item));
    return row;
}

static void idle_columns(struct listing *l, const json_t *report)
{
    static const char *const numbers[] = {"#RUNNING", "#GPU HOURS", "#IDLE", "#IDLE PART",
                                          "!#UNKNOWN"};

    add_group_columns(l, report);
    for (size_t i = 0; i < COUNT(numbers); i++)
        listing_column(l, numbers[i]);
    listing_add_cost(l, report, "IDLE COST");
}

static json_t *idle_row(const json_t *report, const json_t *item)
{
    json_t *row = json_array();

    add_group_cells(row, report, item);
    row_add_cell(row, member(item, "running"));
    row_add_cell(row, cell_hours(json_object_get(item, "gpuTime")));
    row_add_cell(row, cell_hours(json_object_get(item, "gpuIdleTime")));
    row_add_cell(row, idle_part_of(item));
    row_add_cell(row, cell_hours(json_object_get(item, "gpuUnknownTime")));
    row_add_cell(row, cell_money(json_int(item, "idleCostMicro", -1)));
    return row;
}

/* Prints held, free and out-of-service gpu time, which add up to the capacity. */
static void say_gpus(struct cli *c, const json_t *report)
{
    const json_t *gpu;
    size_t i;

    json_array_foreach (json_object_get(report, "gpus"), i, gpu) {
        AUTO(json_freep) json_t *capacity = cell_hours(json_object_get(gpu, "capacity"));
        AUTO(json_freep) json_t *held = cell_hours(json_object_get(gpu, "held"));
        AUTO(json_freep) json_t *free_time = cell_hours(json_object_get(gpu, "free"));
        AUTO(json_freep) json_t *out = cell_hours(json_object_get(gpu, "outOfService"));
        const char *model = json_text(gpu, "model");

        cli_say(c, "%" PRId64 " x %s: %s GPU hours = %s held + %s free + %s out of service",
                json_int(gpu, "gpus", 0), model ? model : "unknown", json_string_value(capacity),
                json_string_value(held), json_string_value(free_time), json_string_value(out));
    }
}

static bool is_tree(enum output_format f)
{
    return f == OUTPUT_JSON || f == OUTPUT_YAML;
}

static struct err *print_whole(struct cli *c, json_t *report)
{
    struct listing l;
    struct err *e;

    listing_init(&l, json_text(report, "kind"));
    l.is_single = true;
    listing_add(&l, json_array(), report);
    e = listing_print(c, &l);
    listing_done(&l);
    return e;
}

static struct err *print_sums(struct cli *c, json_t *report)
{
    const char *price_error = json_text(report, "priceError");
    bool is_idle = flag_switch(c->in, "idle");
    struct listing l;
    struct err *e;
    json_t *item;
    size_t i;

    if (price_error)
        cli_say(c, "costs are not known: %s", price_error);
    if (is_tree(output_format_of(c->in)))
        return print_whole(c, report);
    listing_init(&l, "UsageReport");
    if (is_idle)
        idle_columns(&l, report);
    else
        usage_columns(&l, report);
    json_array_foreach (json_object_get(report, "items"), i, item)
        listing_add(&l, is_idle ? idle_row(report, item) : usage_row(report, item), item);
    e = listing_print(c, &l);
    listing_done(&l);
    if (!e && output_format_of(c->in) == OUTPUT_TABLE && !is_idle)
        say_gpus(c, report);
    return e;
}

/* ---- rows ---- */

/* Tables show seconds in local time; the data formats show the server's text. */
static json_t *moment_cell(struct cli *c, const json_t *item, const char *key)
{
    const char *text = json_text(item, key);
    bool is_for_people = output_format_of(c->in) != OUTPUT_CSV;
    char local[STAMP_TEXT_SIZE];
    int64_t ns = 0;
    AUTO(err_freep) struct err *e = NULL;

    if (!text || !is_for_people)
        return member(item, key);
    e = stamp_parse(str_of(text), &ns);
    if (e)
        return member(item, key);
    stamp_format(flag_switch(c->in, "utc") ? ns : ns + query_zone(ns), local);
    local[10] = ' ';
    return json_stringn(local, 19);
}

/* The sum of the gpus and parts of gpus: 2, "0.5", "1.142". */
static json_t *gpus_cell(const json_t *gpus)
{
    int64_t milli = 0;
    AUTO_FREE char *text = NULL;
    const json_t *gpu;
    size_t i;

    json_array_foreach (gpus, i, gpu)
        milli += json_int(gpu, "milli", 1000);
    if (milli % 1000 == 0)
        return json_integer(milli / 1000);
    text = gpus_format(milli);
    return json_string(text);
}

static json_t *row_of_attempt(struct cli *c, const json_t *item)
{
    AUTO_FREE char *name =
        mem_format("%s/%s", json_text(item, "namespace"), json_text(item, "pod"));
    const char *cause = json_text(item, "cause");
    json_t *row = json_array();

    row_add_cell(row, member(item, "jobId"));
    row_add_cell(row, json_string(name));
    row_add_cell(row, member(item, "attempt"));
    row_add_cell(row, member(item, "user"));
    row_add_cell(row, gpus_cell(json_object_get(item, "gpus")));
    row_add_cell(row, moment_cell(c, item, "from"));
    row_add_cell(row, moment_cell(c, item, "to"));
    add_gpu_cells(row, item);
    row_add_cell(row, cell_hours(json_object_get(item, "cpuTime")));
    row_add_cell(row, cell_gib_hours(item));
    row_add_cell(row, cost_of(item));
    row_add_cell(row, json_string(cause ? cause : "Running"));
    row_add_cell(row, member(item, "exitCode"));
    row_add_cell(row, member(item, "node"));
    row_add_cell(row, member(item, "queue"));
    return row;
}

static void make_row_columns(struct listing *l, const json_t *report)
{
    static const char *const before[] = {"#JOB",      "POD",        "#ATTEMPT",  "USER",
                                         "#GPUS",     "FROM",       "TO",        "#GPU HOURS",
                                         "#BUSY",     "#IDLE",      "!#UNKNOWN", "!#KWH",
                                         "%GPU PEAK", "#CPU HOURS", "#GIB HOURS"};
    static const char *const after[] = {"CAUSE", "#EXIT", "!NODE", "!QUEUE"};

    for (size_t i = 0; i < COUNT(before); i++)
        listing_column(l, before[i]);
    listing_add_cost(l, report, "COST");
    for (size_t i = 0; i < COUNT(after); i++)
        listing_column(l, after[i]);
}

/* Reads all pages, up to --limit rows; `*ret_has_all` false: more rows exist. */
static struct err *read_rows(struct session *s, const char *path, int64_t limit, json_t **ret,
                             bool *ret_has_all)
{
    AUTO(json_freep) json_t *all = NULL;
    AUTO_FREE char *after = NULL;

    do {
        AUTO(json_freep) json_t *page = NULL;
        AUTO_FREE char *next =
            mem_format("%s%s%s", path, after ? "&continue=" : "", after ? after : "");
        const char *more;

        TRY(session_get(s, next, &page));
        more = json_text_at(page, "metadata", "continue", NULL);
        free(after);
        after = more ? mem_strdup(more) : NULL;
        if (!all)
            all = json_incref(page);
        else
            (void)json_array_extend(json_object_get(all, "items"),
                                    json_object_get(page, "items")); /* both are arrays */
    } while (after &&
             (limit == 0 || (int64_t)json_array_size(json_object_get(all, "items")) < limit));
    json_put(json_object_at(all, "metadata"), "continue", json_null());
    (void)json_object_del(json_object_get(all, "metadata"), "continue");
    *ret_has_all = after == NULL;
    *ret = TAKE(all);
    return NULL;
}

static struct err *print_rows(struct cli *c, json_t *report, int64_t limit)
{
    struct listing l;
    struct err *e;
    json_t *item;
    size_t i;

    listing_init(&l, "AccountingRowList");
    make_row_columns(&l, report);
    json_array_foreach (json_object_get(report, "items"), i, item) {
        if (limit == 0 || (int64_t)i < limit)
            listing_add(&l, row_of_attempt(c, item), item);
    }
    e = listing_print(c, &l);
    listing_done(&l);
    return e;
}

/* ---- the command ---- */

static struct err *make_path(struct cli *c, int64_t now_ns, char **ret)
{
    AUTO(buf_done) struct buf path = {0};
    bool has_rows = flag_switch(c->in, "rows");

    buf_printf(&path, "/apis/mete.dev/v1/%s?", has_rows ? "accounting" : "usage");
    TRY(add_period(c, &path, now_ns));
    query_add_flag(c, &path, "user", "user");
    query_add_flag(c, &path, "of", "namespace");
    query_add_flag(c, &path, "queue", "queue");
    if (has_rows)
        buf_add_text(&path, "&limit=1000");
    else if (flag_text(c->in, "by"))
        query_add_flag(c, &path, "by", "by");
    else
        buf_add_text(&path, flag_switch(c->in, "idle") ? "&by=user,queue,job" : "&by=user");
    if (flag_switch(c->in, "idle"))
        buf_add_text(&path, "&idle=true");
    *ret = buf_steal(&path);
    return NULL;
}

static struct err *usage_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *report = NULL;
    AUTO_FREE char *path = NULL;
    int64_t limit = flag_count(c->in, "limit", 0);
    bool has_all = true;

    if (flag_switch(c->in, "rows") && flag_switch(c->in, "idle"))
        return cli_usage(c, "--rows excludes --idle");
    TRY(session_open(c, &s));
    TRY(make_path(c, loop_wall_ns(session_loop(s)), &path));
    if (!flag_switch(c->in, "rows")) {
        TRY(session_get(s, path, &report));
        return print_sums(c, report);
    }
    TRY(read_rows(s, path, limit, &report, &has_all));
    TRY(print_rows(c, report, limit));
    if (!has_all && output_format_of(c->in) == OUTPUT_TABLE)
        cli_say(c, "%" PRId64 " attempts; --limit 0 for all", limit);
    return NULL;
}

static const struct flag usage_flags[] = {
    {.name = "from",
     .value = "TIME",
     .type = FLAG_TEXT,
     .doc =
         "start: today, yesterday, month, 2026-11-01, 2026-11, 7d (ago), RFC 3339. Default: month"},
    {.name = "to", .value = "TIME", .type = FLAG_TEXT, .doc = "end, exclusive. Default: now"},
    {.name = "last", .value = "TIME", .type = FLAG_TEXT, .doc = "period until now: 7d, 12h"},
    {.name = "by",
     .value = "WORDS",
     .type = FLAG_TEXT,
     .doc = "groups, separated by commas: user, namespace, queue, model, job. Default: user; with "
            "--idle: user,queue,job"},
    {.name = "user", .value = "USER", .type = FLAG_TEXT, .doc = "only this user"},
    {.name = "of", .value = "NAMESPACE", .type = FLAG_TEXT, .doc = "only this namespace"},
    {.name = "queue", .value = "QUEUE", .type = FLAG_TEXT, .doc = "only this queue"},
    {.name = "idle",
     .type = FLAG_SWITCH,
     .doc = "who held GPUs that did nothing, the most first, and what that cost"},
    {.name = "rows", .type = FLAG_SWITCH, .doc = "list the attempts instead of sums"},
    {.name = "utc", .type = FLAG_SWITCH, .doc = "days and months in UTC instead of local time"},
    {0},
};

const struct command command_usage = {
    .name = "usage",
    .summary = "show GPU, CPU and memory time by user, namespace, queue and model, and the cost",
    .doc = "An attempt counts from binding to release, a running attempt up to now. Days and "
           "months are in local time, unless --utc.",
    .examples = {{"usage --from 2026-11 --to 2026-12 -o csv", "sums up a month, for a spreadsheet"},
                 {"usage --idle --last 7d", "shows who held GPUs that did nothing"},
                 {"usage --rows --last 1d", "lists every attempt of the last day"},
                 {0}},
    .flags = usage_flags,
    .groups = FLAGS_SERVER | FLAGS_OUTPUT | FLAGS_LIMIT,
    .n_max = 0,
    .run = usage_run,
};
