/* events.c - mete events: events of a namespace or of a job */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "cli/commands.h"
#include "cli/job/jobs.h"
#include "cli/term/output.h"

enum {
    LIMIT_TABLE = 50
};

struct entry {
    int64_t at_ns;
    json_t *event;
};

static int64_t stamp_at(const json_t *event, const char *key)
{
    return stamp_or(json_text(event, key), 0);
}

static int64_t time_of(const json_t *event)
{
    int64_t last_ns = stamp_at(event, "lastTimestamp");

    return last_ns ? last_ns : stamp_at(event, "eventTime");
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    const char *x_uid = json_text_at(x->event, "metadata", "uid", NULL);
    const char *y_uid = json_text_at(y->event, "metadata", "uid", NULL);

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return strcmp(x_uid ? x_uid : "", y_uid ? y_uid : "");
}

static json_t *events_row(const struct entry *entry, int64_t now_ns)
{
    const json_t *about = json_object_get(entry->event, "involvedObject");
    const char *kind = json_text(about, "kind");
    const char *name = json_text(about, "name");
    AUTO_FREE char *object = mem_format("%s/%s", kind ? kind : "", name ? name : "");
    int64_t count = json_int(entry->event, "count", 1);
    char age[STAMP_TEXT_SIZE];
    json_t *row = json_array();

    stamp_format_age(now_ns > entry->at_ns ? now_ns - entry->at_ns : 0, age);
    (void)json_array_append_new(row, entry->at_ns ? json_string(age) : json_null());
    (void)json_array_append_new(row, json_text_new(json_text(entry->event, "type")));
    (void)json_array_append_new(row, json_text_new(json_text(entry->event, "reason")));
    (void)json_array_append_new(row, json_string(object));
    (void)json_array_append_new(row, json_integer(count));
    (void)json_array_append_new(row, json_text_new(json_text(about, "namespace")));
    (void)json_array_append_new(row, json_text_new(json_text(entry->event, "message")));
    return row;
}

static struct err *list_events(struct cli *c, struct session *s, json_t **ret)
{
    AUTO_FREE char *base = flag_switch(c->in, "all-namespaces")
                               ? mem_strdup("/api/v1/events")
                               : path_format("/api/v1/namespaces/%s/events", session_namespace(s));
    AUTO(json_freep) json_t *pod = NULL;
    AUTO_FREE char *path = NULL;
    struct list_query q = {.path = base};
    struct list_result list = {0};

    if (c->in->arguments.n > 0) {
        struct job job;

        TRY(job_find_whole(s, c->in->arguments.at[0], &pod));
        job = job_of(pod);
        path = path_format(
            "/api/v1/namespaces/%s/"
            "events?fieldSelector=involvedObject.name%%3D%s%%2CinvolvedObject.kind%%3D%s",
            job.ns, job.name, json_text(pod, "kind"));
        q.path = path;
    }
    TRY(session_list(s, &q, &list));
    *ret = list.first;
    return NULL;
}

static void events_columns(struct listing *l)
{
    static const char *const names[] = {"#AGE",    "TYPE",       "REASON", "ABOUT",
                                        "!#TIMES", "!NAMESPACE", "MESSAGE"};

    for (size_t i = 0; i < COUNT(names); i++)
        listing_column(l, names[i]);
}

/* Adds the events in order of time; a limit keeps the newest. Returns the number of events left
 * out. */
static size_t events_fill(struct listing *l, const json_t *events, int64_t limit, int64_t now_ns)
{
    VEC(struct entry) entries = {0};
    size_t first;
    json_t *event;
    size_t i;

    json_array_foreach (events, i, event)
        vec_add(&entries, (struct entry){.at_ns = time_of(event), .event = event});
    if (entries.n > 1)
        qsort(entries.at, entries.n, sizeof(*entries.at), compare_entries);
    first = limit > 0 && (uint64_t)limit < entries.n ? entries.n - (size_t)limit : 0;
    for (i = first; i < entries.n; i++)
        listing_add(l, events_row(&entries.at[i], now_ns), entries.at[i].event);
    vec_done(&entries);
    return first;
}

static struct err *events_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *list = NULL;
    enum output_format format = output_format_of(c->in);
    bool is_table = format == OUTPUT_TABLE || format == OUTPUT_WIDE;
    struct listing l;
    struct err *e = NULL;
    size_t left_out;

    TRY(session_open(c, &s));
    TRY(list_events(c, s, &list));
    listing_init(&l, "EventList");
    l.api_version = "v1";
    l.prefix = "event";
    events_columns(&l);
    left_out = events_fill(&l, json_object_get(list, "items"),
                           flag_count(c->in, "limit", is_table ? LIMIT_TABLE : 0),
                           loop_wall_ns(session_loop(s)));
    if (json_array_size(l.objects) == 0 && is_table)
        cli_say(c, "there are no events");
    else
        e = listing_print(c, &l);
    if (!e && left_out > 0)
        cli_say(c, "the last %zu of %zu; --limit 0 for all", json_array_size(l.objects),
                json_array_size(l.objects) + left_out);
    listing_done(&l);
    return e;
}

const struct command command_events = {
    .name = "events",
    .arguments = "[JOB]",
    .summary = "list events, the newest last",
    .examples = {{"events", "lists the last events of the namespace"},
                 {"events 12", "lists the events of one job"},
                 {0}},
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE | FLAGS_ALL | FLAGS_LIMIT | FLAGS_OUTPUT,
    .n_max = 1,
    .run = events_run,
};
