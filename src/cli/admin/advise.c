/* advise.c - mete advise: what jobs could do without, with the evidence and the money */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/admin/usage_cells.h"
#include "cli/commands.h"
#include "cli/session.h"

/* ---- texts ---- */

static int64_t seconds_of(const json_t *item, const char *key)
{
    return json_int_at(item, key, "seconds", NULL);
}

/* "45s", "12m", "3h 5m", "2d 4h" */
static char *span_format(int64_t s)
{
    if (s < 60)
        return mem_format("%" PRId64 "s", s);
    if (s < 3600)
        return mem_format("%" PRId64 "m", s / 60);
    if (s < 86400)
        return mem_format("%" PRId64 "h %" PRId64 "m", s / 3600, s % 3600 / 60);
    return mem_format("%" PRId64 "d %" PRId64 "h", s / 86400, s % 86400 / 3600);
}

static bool is_kind(const json_t *item, const char *kind)
{
    return text_equal(json_text(item, "kind"), kind);
}

/* What the job held: "1 h100", "16 cores". */
static char *held_format(const json_t *item)
{
    AUTO_FREE char *gpus = gpus_format(json_int(item, "heldMilli", 0));
    AUTO_FREE char *cores = gpus_format(json_int(item, "cpuAskedMilli", 0));
    const char *model = json_text(item, "model");
    char size[SIZE_TEXT_SIZE];

    if (is_kind(item, "cpu"))
        return mem_format("%s cores", cores);
    if (!is_kind(item, "memory"))
        return mem_format("%s %s", gpus, model ? model : "gpu");
    size_format(json_int(item, "memoryAskedBytes", 0), size);
    return mem_format("%s memory", size);
}

/* The evidence. */
static char *used_format(const json_t *item)
{
    AUTO_FREE char *idle = span_format(seconds_of(item, "idleFor"));
    AUTO_FREE char *known = span_format(seconds_of(item, "gpuKnownTime"));
    AUTO_FREE char *cores = gpus_format(json_int(item, "cpuUsedMilli", 0));
    int64_t held_milli = json_int(item, "heldMilli", 0);
    int64_t used_milli = json_int(item, "usedMilli", 0);
    char size[SIZE_TEXT_SIZE];

    if (is_kind(item, "idle"))
        return mem_format("idle for %s", idle);
    if (is_kind(item, "cpu"))
        return mem_format("%s cores on average", cores);
    size_format(
        json_int(item, is_kind(item, "memory") ? "memoryPeakBytes" : "gpuMemoryPeakBytes", 0),
        size);
    if (is_kind(item, "memory"))
        return mem_format("at most %s", size);
    return mem_format("at most %s, busy %" PRId64 "%% of %s", size,
                      held_milli > 0 ? used_milli * 100 / held_milli : 0, known);
}

static json_t *owned_text(char *text)
{
    json_t *cell = json_string(text);

    free(text);
    return cell;
}

static json_t *advise_row(const json_t *item)
{
    static const char *const texts[] = {"user", "queue", "job", "jobName"};
    json_t *row = json_array();

    for (size_t i = 0; i < COUNT(texts); i++)
        row_add_cell(row, json_incref(json_object_get(item, texts[i])));
    row_add_cell(row, owned_text(held_format(item)));
    row_add_cell(row, owned_text(used_format(item)));
    row_add_cell(row, json_incref(json_object_get(item, "suggestion")));
    row_add_cell(row, cell_hours(json_object_get(item, "savedGpuTime")));
    row_add_cell(row, cell_money(json_int(item, "savedCostMicro", -1)));
    return row;
}

static struct err *advise_print(struct cli *c, json_t *report)
{
    static const char *const columns[] = {"USER", "!QUEUE", "JOB",        "NAME",
                                          "HELD", "USED",   "SUGGESTION", "#GPU HOURS"};
    const char *price_error = json_text(report, "priceError");
    enum output_format format = output_format_of(c->in);
    json_t *items = json_object_get(report, "items");
    struct listing l;
    struct err *e;
    json_t *item;
    size_t i;

    if (price_error)
        cli_say(c, "costs are not known: %s", price_error);
    listing_init(&l, "AdviceReport");
    for (i = 0; i < COUNT(columns); i++)
        listing_column(&l, columns[i]);
    listing_add_cost(&l, report, "SAVED");
    l.is_single = format == OUTPUT_JSON || format == OUTPUT_YAML;
    if (l.is_single)
        listing_add(&l, json_array(), report);
    else
        json_array_foreach (items, i, item)
            listing_add(&l, advise_row(item), item);
    e = listing_print(c, &l);
    listing_done(&l);
    if (!e && format == OUTPUT_TABLE && json_array_size(items) == 0)
        cli_say(c, "no advice: nothing is known to be held in vain");
    return e;
}

/* ---- the command ---- */

static struct err *advise_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *report = NULL;
    AUTO(buf_done) struct buf path = {0};
    const char *since = flag_text(c->in, "since");

    TRY(session_open(c, &s));
    buf_printf(&path, "/apis/mete.dev/v1/advice?least=%" PRId64 "s",
               flag_duration_ns(c->in, "least", 0) / NS_PER_SEC);
    TRY(query_add_moment(c, &path, "from", "since", since, loop_wall_ns(session_loop(s))));
    query_add_flag(c, &path, "user", "user");
    query_add_flag(c, &path, "of", "namespace");
    query_add_flag(c, &path, "queue", "queue");
    TRY(session_get(s, path.at, &report));
    return advise_print(c, report);
}

static const struct flag advise_flags[] = {
    {.name = "since",
     .value = "TIME",
     .type = FLAG_TEXT,
     .fallback = "7d",
     .doc = "what was used since then: 7d (ago), yesterday, 2026-11-01. Default: 7d"},
    {.name = "least",
     .value = "TIME",
     .type = FLAG_DURATION,
     .fallback = "10m",
     .doc = "advice rests on at least this long. Default: 10m"},
    {.name = "user", .value = "USER", .type = FLAG_TEXT, .doc = "only this user"},
    {.name = "of", .value = "NAMESPACE", .type = FLAG_TEXT, .doc = "only this namespace"},
    {.name = "queue", .value = "QUEUE", .type = FLAG_TEXT, .doc = "only this queue"},
    {.name = "utc", .type = FLAG_SWITCH, .doc = "days in UTC instead of local time"},
    {0},
};

const struct command command_advise = {
    .name = "advise",
    .summary = "suggest what jobs could do without, with the evidence and the money",
    .doc = "Finds GPUs that are held and idle now, and jobs that asked for more GPU, CPU or memory "
           "than they used. Nothing is changed.",
    .examples = {{"advise", "says what the last week shows"},
                 {"advise --user ann --since 1d", "says it of one user and one day"},
                 {0}},
    .flags = advise_flags,
    .groups = FLAGS_SERVER | FLAGS_OUTPUT,
    .n_max = 0,
    .run = advise_run,
};
