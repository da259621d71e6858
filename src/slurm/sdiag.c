/* sdiag.c - the text and the document of sdiag */

#include "slurm/sdiag.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "model/slurm_time.h"
#include "slurm/job_json.h"

#define NO  SLURM_TAKES_NOTHING
#define MAY SLURM_TAKES_OPTIONAL

const struct slurm_option sdiag_options[] = {
    {"all", NULL, 'a', NO},
    {"help", NULL, 'h', NO},
    {"json", NULL, 0, MAY},
    {"reset", NULL, 'r', NO},
    {"sort-by-id", NULL, 'i', NO},
    {"sort-by-time", NULL, 't', NO},
    {"sort-by-time2", NULL, 'T', NO},
    {"usage", NULL, 0, NO},
    {"version", NULL, 'V', NO},
    {"yaml", NULL, 0, MAY},
    {0},
};

const char sdiag_help[] =
    "Usage: sdiag [-a] [-i | -t | -T] [--json | --yaml]\n"
    "  -i  requests sorted by their names; -t by their whole time; -T by their mean time\n";

static const char *const job_figures[][3] = {
    /* member, text, member of "statistics" */
    {"submitted", "Jobs submitted", "jobs_submitted"},
    {"started", "Jobs started", "jobs_started"},
    {"completed", "Jobs completed", "jobs_completed"},
    {"cancelled", "Jobs canceled", "jobs_canceled"},
    {"failed", "Jobs failed", "jobs_failed"},
};

/* ---- figures ---- */

static int64_t mean_of(int64_t sum, int64_t n)
{
    return n > 0 ? sum / n : 0;
}

static int64_t cycles_per_minute(const json_t *diag, int64_t now_s)
{
    int64_t seconds = now_s - json_int(diag, "since", now_s);

    return seconds > 0 ? json_int(diag, "cycles", 0) * 60 / seconds : json_int(diag, "cycles", 0);
}

static int64_t mean_micros(const json_t *item)
{
    return mean_of(json_int(item, "totalMicros", 0), json_int(item, "count", 0));
}

static int by_name(const void *left, const void *right)
{
    return strcmp(text_or_empty(json_text(*(json_t *const *)left, "name")),
                  text_or_empty(json_text(*(json_t *const *)right, "name")));
}

static int by_numbers(int64_t a, int64_t b, const void *left, const void *right)
{
    return a != b ? (a > b ? -1 : 1) : by_name(left, right);
}

static int by_time(const void *left, const void *right)
{
    return by_numbers(json_int(*(json_t *const *)left, "totalMicros", 0),
                      json_int(*(json_t *const *)right, "totalMicros", 0), left, right);
}

static int by_mean(const void *left, const void *right)
{
    return by_numbers(mean_micros(*(json_t *const *)left), mean_micros(*(json_t *const *)right),
                      left, right);
}

/* The items in the order that the words ask for; without one the most frequent is first. New
 * reference. */
static json_t *sdiag_sort(const struct slurm_words *words, const json_t *items)
{
    size_t n = json_array_size(items);
    AUTO_FREE json_t **all = mem_alloc((n + 1) * sizeof(json_t *));
    json_t *sorted = json_array();

    for (size_t i = 0; i < n; i++)
        all[i] = json_array_get(items, i);
    if (slurm_words_has(words, "sort-by-id"))
        qsort(all, n, sizeof(json_t *), by_name);
    else if (slurm_words_has(words, "sort-by-time"))
        qsort(all, n, sizeof(json_t *), by_time);
    else if (slurm_words_has(words, "sort-by-time2"))
        qsort(all, n, sizeof(json_t *), by_mean);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append(sorted, all[i]); /* fresh: cannot fail */
    return sorted;
}

/* ---- text ---- */

/* "Fri May 06 12:00:00 2022 (1651838400)" */
static void sdiag_add_time(int64_t at_s, const struct slurm_view *v, struct buf *out)
{
    static const char days[] = "ThuFriSatSunMonTueWed"; /* 1970 began on a Thursday */
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t offset_s = v->zone ? v->zone(at_s * NS_PER_SEC) / NS_PER_SEC : 0;
    char stamp[SLURM_TIME_TEXT_SIZE]; /* 2022-05-06T12:00:00 */
    int month;

    slurm_stamp_format(at_s, v->zone, "1970-01-01T00:00:00", stamp);
    month = (stamp[5] - '0') * 10 + stamp[6] - '0' - 1;
    buf_printf(out, "%.3s %.3s %.2s %.8s %.4s (%" PRId64 ")",
               days + (ptrdiff_t)3 * ((at_s + offset_s) / 86400 % 7), months + (ptrdiff_t)3 * month,
               stamp + 8, stamp + 11, stamp, at_s);
}

static void sdiag_add_line(const char *title, int64_t at_s, const struct slurm_view *v,
                           struct buf *out)
{
    buf_add_text(out, title);
    sdiag_add_time(at_s, v, out);
    buf_add_char(out, '\n');
}

static void sdiag_add_head(const json_t *diag, const struct slurm_view *v, struct buf *out)
{
    static const char line[] = "*******************************************************\n";

    buf_add_text(out, line);
    sdiag_add_line("sdiag output at ", v->now_s, v, out);
    sdiag_add_line("Data since      ", json_int(diag, "since", v->now_s), v, out);
    buf_add_text(out, line);
    buf_add_text(out, "Not measured by Mete: server threads, agents, the queue to a database, "
                      "backfilling as a cycle of its own, latency of gettimeofday()\n\n");
}

static void sdiag_add_jobs(const json_t *diag, const struct slurm_view *v, struct buf *out)
{
    for (size_t i = 0; i < COUNT(job_figures); i++)
        buf_printf(out, "%s:%*s%" PRId64 "\n", job_figures[i][1],
                   (int)(15 - strlen(job_figures[i][1])), "", json_int(diag, job_figures[i][0], 0));
    sdiag_add_line("\nJob states ts:  ", v->now_s, v, out);
    buf_printf(out, "Jobs pending:   %" PRId64 "\nJobs running:   %" PRId64 "\n",
               json_int(diag, "pending", 0), json_int(diag, "running", 0));
}

static void sdiag_add_cycles(const json_t *diag, const struct slurm_view *v, struct buf *out)
{
    int64_t n = json_int(diag, "cycles", 0);

    buf_printf(out,
               "\nMain schedule statistics (microseconds):\n\tLast cycle:   %" PRId64
               "\n\tMax cycle:    %" PRId64 "\n\tTotal cycles: %" PRId64
               "\n\tMean cycle:   %" PRId64 "\n\tCycles per minute: %" PRId64
               "\n\tLast queue length: %" PRId64 "\n",
               json_int(diag, "cycleLastMicros", 0), json_int(diag, "cycleMostMicros", 0), n,
               mean_of(json_int(diag, "cycleSumMicros", 0), n), cycles_per_minute(diag, v->now_s),
               json_int(diag, "waiting", 0));
}

static void sdiag_add_requests(const struct slurm_words *words, const char *title,
                               const json_t *items, int width, struct buf *out)
{
    AUTO(json_freep) json_t *sorted = sdiag_sort(words, items);
    const json_t *item = NULL;
    size_t i = 0;

    buf_printf(out, "\nRemote Procedure Call statistics by %s\n", title);
    json_array_foreach (sorted, i, item)
        buf_printf(out,
                   "\t%-*s count:%-6" PRId64 " ave_time:%-6" PRId64 " total_time:%" PRId64 "\n",
                   width, text_or_empty(json_text(item, "name")), json_int(item, "count", 0),
                   mean_micros(item), json_int(item, "totalMicros", 0));
}

/* ---- document ---- */

static json_t *sdiag_calls(const json_t *items, const char *name)
{
    json_t *calls = json_array();
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (items, i, item) {
        json_t *call = json_object();

        json_put_text(call, name, text_or_empty(json_text(item, "name")));
        json_put_int(call, "count", json_int(item, "count", 0));
        json_put_int(call, "total_time", json_int(item, "totalMicros", 0));
        json_put(call, "average_time", slurm_number(true, mean_micros(item)));
        (void)json_array_append_new(calls, call); /* fresh: cannot fail */
    }
    return calls;
}

json_t *sdiag_statistics(const json_t *diag, const json_t *requests, int64_t now_s)
{
    int64_t n = json_int(diag, "cycles", 0);
    json_t *s = json_object();

    json_put(s, "req_time", slurm_number(true, now_s));
    json_put(s, "req_time_start", slurm_number(true, json_int(diag, "since", now_s)));
    for (size_t i = 0; i < COUNT(job_figures); i++)
        json_put_int(s, job_figures[i][2], json_int(diag, job_figures[i][0], 0));
    json_put(s, "job_states_ts", slurm_number(true, now_s));
    json_put_int(s, "jobs_pending", json_int(diag, "pending", 0));
    json_put_int(s, "jobs_running", json_int(diag, "running", 0));
    json_put_int(s, "schedule_cycle_last", json_int(diag, "cycleLastMicros", 0));
    json_put_int(s, "schedule_cycle_max", json_int(diag, "cycleMostMicros", 0));
    json_put_int(s, "schedule_cycle_total", n);
    json_put_int(s, "schedule_cycle_mean", mean_of(json_int(diag, "cycleSumMicros", 0), n));
    json_put_int(s, "schedule_cycle_per_minute", cycles_per_minute(diag, now_s));
    json_put_int(s, "schedule_queue_length", json_int(diag, "waiting", 0));
    if (!requests)
        return s;
    json_put(s, "rpcs_by_message_type",
             sdiag_calls(json_object_get(requests, "kinds"), "message_type"));
    json_put(s, "rpcs_by_user", sdiag_calls(json_object_get(requests, "users"), "user"));
    return s;
}

struct err *sdiag_print(const struct slurm_words *words, const json_t *diag, const json_t *requests,
                        const struct slurm_view *v, struct buf *out)
{
    bool is_yaml = slurm_words_has(words, "yaml");
    AUTO(json_freep) json_t *document = NULL;

    if (slurm_words_has(words, "reset"))
        return err_new(ERR_INVALID, "--reset is not available: the figures begin with the server");
    if (is_yaml || slurm_words_has(words, "json")) {
        document = slurm_document_new("statistics", sdiag_statistics(diag, requests, v->now_s));
        slurm_document_add(document, is_yaml, out);
        return NULL;
    }
    sdiag_add_head(diag, v, out);
    sdiag_add_jobs(diag, v, out);
    sdiag_add_cycles(diag, v, out);
    sdiag_add_requests(words, "message type", json_object_get(requests, "kinds"), 39, out);
    sdiag_add_requests(words, "user", json_object_get(requests, "users"), 39, out);
    return NULL;
}
