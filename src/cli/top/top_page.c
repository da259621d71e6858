/* top_page.c - the requests for pages of lists, and their answers as rows of text */

#include "cli/top/top_page.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/term/output.h"
#include "cli/term/text_escape.h"
#include "client/client.h"

static const struct top_column job_columns[] = {
    {"JOB", 6, 0},   {"NAME", 12, 0},         {"USER", 8, 0},  {"QUEUE", 8, 80},
    {"STATE", 9, 0}, {"GPUS", 5, 0},          {"GPU%", 4, 70}, {"MEM", 5, 80},
    {"TIME", 9, 0},  {"REASON, NODE", 0, 84}, {NULL, 0, 0}};
static const struct top_column queue_columns[] = {{"PLACE", 6, 0},  {"JOB", 6, 0},  {"NAME", 12, 0},
                                                  {"USER", 8, 70},  {"GPUS", 5, 0}, {"WAITS", 6, 0},
                                                  {"REASON", 0, 0}, {NULL, 0, 0}};
static const struct top_column node_columns[] = {
    {"NODE", 16, 0}, {"MODEL", 10, 0},   {"FREE", 7, 0},  {"HOT", 5, 0}, {"ERR", 4, 0},
    {"SEEN", 5, 0},  {"AGENT", 10, 100}, {"STATE", 0, 0}, {NULL, 0, 0}};
static const struct top_column event_columns[] = {{"TIME", 8, 0},    {"TYPE", 7, 80},
                                                  {"REASON", 16, 0}, {"ABOUT", 18, 0},
                                                  {"MESSAGE", 0, 0}, {NULL, 0, 0}};

const struct top_column *top_columns_of(enum top_screen screen)
{
    static const struct top_column *const all[TOP_SCREENS] = {[TOP_JOBS] = job_columns,
                                                              [TOP_QUEUE] = queue_columns,
                                                              [TOP_NODES] = node_columns,
                                                              [TOP_EVENTS] = event_columns};

    return all[screen];
}

const char *const *top_sorts_of(enum top_screen screen)
{
    static const char *const none[] = {NULL};
    static const char *const jobs[] = {"state", "id",        "name",    "user",  "queue",
                                       "gpus",  "submitted", "started", "ended", NULL};
    static const char *const nodes[] = {"name", "free", "temperature", "errors", NULL};

    return screen == TOP_JOBS ? jobs : screen == TOP_NODES ? nodes : none;
}

char *top_text(const char *text)
{
    return text_escape(str_of(text_or_empty(text)), TEXT_ESCAPE_LINE);
}

void top_row_done(struct top_row *r)
{
    for (size_t i = 0; i < TOP_COLUMNS; i++)
        free(r->cells[i]);
    free(r->id);
    free(r->ns);
    free(r->name);
    free(r->object);
    free(r->state);
    free(r->detail);
    *r = (struct top_row){0};
}

void top_page_done(struct top_page *p)
{
    VEC_EACH (&p->rows, r)
        top_row_done(r);
    vec_done(&p->rows);
    free(p->title);
    free(p->queue);
    free(p->next_queue);
    *p = (struct top_page){0};
}

/* ---- requests ---- */

static void add_parameter(struct buf *b, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    buf_printf(b, "&%s=", key);
    client_add_escaped(b, str_of(value));
}

char *top_page_path(const struct top_wish *w)
{
    const char *const *sorts = top_sorts_of(w->screen);
    AUTO_FREE char *sort =
        sorts[0] ? mem_format("%s%s", w->is_backwards ? "-" : "", sorts[w->sort]) : NULL;
    struct buf b = {0};

    if (w->screen != TOP_JOBS && w->screen != TOP_QUEUE && w->screen != TOP_NODES)
        return NULL;
    buf_printf(&b, "/apis/mete.dev/v1/%s?offset=%" PRId64 "&limit=%" PRId64,
               w->screen == TOP_JOBS    ? "jobs"
               : w->screen == TOP_QUEUE ? "waiting"
                                        : "wall",
               w->offset, w->limit);
    add_parameter(&b, "sort", sort);
    add_parameter(&b, "by", w->screen == TOP_NODES ? "node" : NULL);
    add_parameter(&b, "q", w->screen == TOP_QUEUE ? NULL : w->filter);
    if (w->screen == TOP_JOBS) {
        add_parameter(&b, "state", w->states);
        add_parameter(&b, "user", w->user);
    }
    if (w->screen != TOP_NODES)
        add_parameter(&b, "queue", w->queue);
    return buf_steal(&b);
}

/* ---- answers ---- */

/* "-" for an unknown number. The caller frees it. */
static char *number_cell(int64_t n, const char *unit)
{
    return n < 0 ? mem_strdup("-") : mem_format("%" PRId64 "%s", n, unit);
}

static char *age_cell(int64_t ns)
{
    char text[STAMP_TEXT_SIZE];

    stamp_format_age(ns > 0 ? ns : 0, text);
    return mem_strdup(text);
}

static char *age_since(const char *stamp, int64_t now_ns)
{
    int64_t at_ns = stamp_or(stamp, 0);

    return at_ns > 0 ? age_cell(now_ns - at_ns) : mem_strdup("-");
}

/* "1h/4h": the time since the start, or of waiting, and the limit. */
static char *time_cell(const json_t *item, int64_t now_ns)
{
    const char *from = json_text_filled(item, "startedAt");
    int64_t from_ns = stamp_or(from ? from : json_text(item, "submittedAt"), 0);
    int64_t to_ns = stamp_or(json_text_filled(item, "endedAt"), now_ns);
    int64_t limit_s = json_int(item, "timeLimitSeconds", -1);
    AUTO_FREE char *spent = from_ns > 0 ? age_cell(to_ns - from_ns) : mem_strdup("-");
    AUTO_FREE char *limit = limit_s > 0 ? age_cell(limit_s * NS_PER_SEC) : NULL;

    return mem_format("%s%s%s", spent, limit ? "/" : "", text_or_empty(limit));
}

static char *gpus_cell(const json_t *item)
{
    const json_t *gpus = json_object_get(item, "gpus");

    return json_is_integer(gpus) ? number_cell(json_integer_value(gpus), "")
                                 : top_text(json_string_value(gpus));
}

/* The job's compute as a part of all of its gpus. */
static char *load_cell(const json_t *item)
{
    int64_t milli = json_int(item, "gpuMilli", -1);
    int64_t gpus = json_int(item, "gpus", 1);

    return number_cell(milli < 0 ? -1 : milli / 10 / (gpus > 0 ? gpus : 1), "");
}

static char *memory_cell(const json_t *item)
{
    int64_t bytes = json_int(item, "gpuMemoryBytes", -1);

    return number_cell(bytes < 0 ? -1 : (bytes + (1 << 29)) >> 30, "G");
}

static void row_name(struct top_row *r, const json_t *item, const char *object)
{
    int64_t id = json_int(item, "id", -1);

    if (!json_text_filled(item, "name"))
        return;
    r->id = id > 0 ? mem_format("%" PRId64, id) : NULL;
    r->ns = top_text(json_text(item, "namespace"));
    r->name = top_text(json_text(item, "name"));
    r->object = top_text(object);
}

static struct top_row job_row(const json_t *item, int64_t now_ns)
{
    const char *reason = json_text_filled(item, "reason");
    struct top_row r = {.state = top_text(json_text(item, "state"))};
    AUTO_FREE char *detail = NULL;

    row_name(&r, item, json_text(item, "object"));
    r.cells[0] = mem_strdup(r.id ? r.id : "-");
    r.cells[1] = top_text(json_text(item, "name"));
    r.cells[2] = top_text(json_text(item, "user"));
    r.cells[3] = top_text(json_text(item, "queue"));
    r.cells[4] = top_text(json_text(item, "state"));
    r.cells[5] = gpus_cell(item);
    r.cells[6] = load_cell(item);
    r.cells[7] = memory_cell(item);
    r.cells[8] = time_cell(item, now_ns);
    r.cells[9] = top_text(reason ? reason : json_text(item, "node"));
    detail = mem_format("%s/%s %s, queue %s%s%s", r.ns, r.name, r.cells[4], r.cells[3],
                        *r.cells[9] ? ": " : "", r.cells[9]);
    r.detail = TAKE(detail);
    return r;
}

static struct top_row waiting_row(const json_t *item, int64_t now_ns)
{
    struct top_row r = {.state = mem_strdup("waiting")};

    row_name(&r, item, "pod");
    r.cells[0] = number_cell(json_int(item, "place", -1), "");
    r.cells[1] = mem_strdup(r.id ? r.id : "-");
    r.cells[2] = r.name ? mem_strdup(r.name) : mem_strdup("(another's)");
    r.cells[3] = top_text(json_text(item, "user"));
    r.cells[4] = gpus_cell(item);
    r.cells[5] = age_since(json_text(item, "submittedAt"), now_ns);
    r.cells[6] = top_text(json_text(item, "reason"));
    r.detail = mem_format("%s: %s", text_or_empty(json_text(item, "code")), r.cells[6]);
    return r;
}

static struct top_row node_row(const json_t *item, int64_t now_ns)
{
    const char *drained = json_text_filled(item, "drainReason");
    bool takes = json_bool(item, "takesPods", false);
    int64_t bad = json_int(item, "sick", 0) + json_int(item, "noAnswer", 0);
    AUTO_FREE char *sick = bad > 0 ? mem_format(", %" PRId64 " sick", bad) : NULL;
    AUTO_FREE char *why = top_text(drained);
    struct top_row r = {.ns = NULL};

    r.cells[0] = top_text(json_text(item, "name"));
    r.cells[1] = top_text(json_text(item, "model"));
    r.cells[2] =
        mem_format("%" PRId64 "/%" PRId64, json_int(item, "free", 0), json_int(item, "gpus", 0));
    r.cells[3] = number_cell(json_int(item, "temperatureC", -1), "C");
    r.cells[4] = number_cell(json_int(item, "errors", -1), "");
    r.cells[5] = age_since(json_text(item, "seenAt"), now_ns);
    r.cells[6] = top_text(json_text(item, "agent"));
    r.cells[7] = mem_format("%s%s%s%s",
                            !json_bool(item, "ready", false) ? "not ready"
                            : takes                          ? "ready"
                                                             : "drained",
                            text_or_empty(sick), *why ? ": " : "", why);
    r.detail = mem_format("%s: %s", r.cells[0], r.cells[7]);
    return r;
}

struct top_row top_event_row(const json_t *event)
{
    const json_t *about = json_object_get(event, "involvedObject");
    const char *last = json_text_filled(event, "lastTimestamp");
    int64_t at_ns = stamp_or(last ? last : json_text(event, "eventTime"), 0);
    int64_t count = json_int(event, "count", 1);
    AUTO_FREE char *kind = top_text(json_text(about, "kind"));
    AUTO_FREE char *name = top_text(json_text(about, "name"));
    AUTO_FREE char *message = top_text(json_text(event, "message"));
    char at[STAMP_TEXT_SIZE];
    struct top_row r = {0};

    stamp_format(at_ns, at);
    at[19] = '\0';
    r.cells[0] = mem_strdup(at_ns > 0 ? at + 11 : "-");
    r.cells[1] = top_text(json_text(event, "type"));
    r.cells[2] = top_text(json_text(event, "reason"));
    r.cells[3] = mem_format("%s/%s", kind, name);
    r.cells[4] = count > 1 ? mem_format("%s (%" PRId64 " times)", message, count) : TAKE(message);
    r.detail = mem_format("%s: %s", r.cells[3], r.cells[4]);
    if (text_equal(kind, "Pod")) {
        r.ns = top_text(json_text(about, "namespace"));
        r.name = mem_strdup(name);
        r.object = mem_strdup("pod");
    }
    return r;
}

/* "12 waiting, 3 running" */
static char *counts_title(const json_t *answer)
{
    const json_t *counts = json_object_get(answer, "counts");
    struct buf b = {0};
    const char *key;
    json_t *n;

    json_object_foreach ((json_t *)(uintptr_t)counts, key, n)
        if (json_integer_value(n) > 0)
            buf_printf(&b, "%s%" JSON_INTEGER_FORMAT " %s", b.size > 0 ? ", " : "",
                       json_integer_value(n), key);
    return buf_steal(&b);
}

/* The queue that is shown, and the one after it. */
static void read_queues(struct top_page *p, const json_t *answer)
{
    const json_t *queues = json_object_get(answer, "queues");
    const char *shown = text_or_empty(json_text(answer, "queue"));
    size_t n = json_array_size(queues);
    json_t *queue;
    size_t i;

    p->queue = mem_strdup(shown);
    json_array_foreach (queues, i, queue)
        if (text_equal(json_text(queue, "name"), shown))
            p->next_queue =
                mem_strdup(text_or_empty(json_text(json_array_get(queues, (i + 1) % n), "name")));
    p->title = mem_format("queue %s", shown);
}

void top_page_read(struct top_page *p, const struct top_wish *w, const json_t *answer,
                   int64_t now_ns)
{
    json_t *item;
    size_t i;

    *p = (struct top_page){.screen = w->screen,
                           .offset = json_int(answer, "offset", 0),
                           .total = json_int(answer, "total", 0)};
    if (w->screen == TOP_QUEUE)
        read_queues(p, answer);
    else
        p->title = w->screen == TOP_JOBS ? counts_title(answer) : mem_strdup("nodes");
    json_array_foreach (json_object_get(answer, "items"), i, item)
        vec_add(&p->rows, w->screen == TOP_JOBS    ? job_row(item, now_ns)
                          : w->screen == TOP_QUEUE ? waiting_row(item, now_ns)
                                                   : node_row(item, now_ns));
}
