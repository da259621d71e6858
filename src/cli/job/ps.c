/* ps.c - mete ps: the table of jobs */

#include <inttypes.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/job/batch.h"
#include "cli/job/jobs.h"
#include "cli/term/output.h"
#include "kinds/job/job_item.h"

enum {
    LIMIT_TABLE = 50,
    PAGE_MAX = 500,
    SKIP_MAX = 4000 /* bytes of uids in one request */
};

/* Waiting: time since submission. Running: since the start. Ended: from start to end. */
static json_t *time_of(const json_t *status, int64_t now_ns)
{
    static const char *const ended[] = {"finished", "failed"};
    char text[STAMP_TEXT_SIZE];
    int64_t created_ns = stamp_or(json_text(status, "submittedAt"), 0);
    int64_t from_ns = stamp_or(json_text(status, "startedAt"), created_ns);
    int64_t to_ns = now_ns;

    for (size_t i = 0; i < COUNT(ended); i++)
        if (text_equal(json_text(status, "state"), ended[i]))
            to_ns = stamp_or(json_text(status, "endedAt"), 0);
    if (from_ns == 0 || to_ns < from_ns)
        return json_null();
    stamp_format_age(to_ns - from_ns, text);
    return json_string(text);
}

static void add_cell(json_t *row, const json_t *object, const char *key)
{
    json_t *cell = json_object_get(object, key);

    (void)json_array_append_new(row, cell ? json_incref(cell) : json_null());
}

/* The row of an item (kinds/job/job_item.h). */
static json_t *ps_row(const json_t *item, bool has_ns, int64_t now_ns)
{
    const json_t *spec = json_object_get(item, "spec");
    const json_t *status = json_object_get(item, "status");
    const json_t *cells = json_object_get(item, "cells");
    json_t *row = json_array();

    add_cell(row, spec, "jobId");
    if (has_ns)
        add_cell(row, json_object_get(item, "metadata"), "namespace");
    add_cell(row, json_object_get(item, "metadata"), "name");
    add_cell(row, spec, "user");
    add_cell(row, spec, "queue");
    add_cell(row, status, "state");
    add_cell(row, cells, "gpus");
    add_cell(row, status, "node");
    (void)json_array_append_new(row, time_of(status, now_ns));
    add_cell(row, status, "exitCode");
    add_cell(row, cells, "reason");
    return row;
}

static const char *prefix_of(const json_t *object)
{
    return json_object_get(json_object_get(object, "status"), "pods") ? "job" : "pod";
}

static void ps_columns(struct listing *l, bool has_ns)
{
    listing_column(l, "#JOB");
    if (has_ns)
        listing_column(l, "NAMESPACE");
    listing_column(l, "NAME");
    listing_column(l, "!USER");
    listing_column(l, "!QUEUE");
    listing_column(l, "STATE");
    listing_column(l, "#GPUS");
    listing_column(l, "NODE");
    listing_column(l, "#TIME");
    listing_column(l, "#EXIT");
    listing_column(l, "REASON");
}

/* The listed jobs. */
struct ps_list {
    json_t *items; /* kinds/job/job_item.h */
    int64_t more;  /* jobs that are left out; -1: unknown */
};

/* 0: all. */
static int64_t limit_of(const struct cli *c)
{
    enum output_format format = output_format_of(c->in);

    return flag_count(c->in, "limit",
                      format == OUTPUT_TABLE || format == OUTPUT_WIDE ? LIMIT_TABLE : 0);
}

/* ---- lists of Jobs and pods ---- */

static char *base_path(struct cli *c, struct session *s, const char *api, const char *resource)
{
    if (flag_switch(c->in, "all-namespaces"))
        return path_format("%s/%s", api, resource);
    return path_format("%s/namespaces/%s/%s", api, session_namespace(s), resource);
}

/* Lists the Jobs to show. `skip` becomes the part of a label selector that excludes their pods. */
static struct err *list_batch(struct cli *c, struct session *s, json_t *jobs, struct buf *skip)
{
    AUTO_FREE char *path = base_path(c, s, "/apis/batch/v1", "jobs");
    const struct list_query q = {.path = path};
    struct list_result list = {0};
    bool is_all = flag_switch(c->in, "all");
    json_t *job;
    size_t i;

    TRY(session_list(s, &q, &list));
    json_array_foreach (json_object_get(list.first, "items"), i, job) {
        const char *uid = json_text_at(job, "metadata", "uid", NULL);

        if (!is_all && job_of(job).is_ended)
            continue;
        (void)json_array_append(jobs, job); /* a tree of its own: cannot fail */
        if (skip->size < SKIP_MAX)
            buf_printf(skip, "%s%s", skip->size > 0 ? "%2C" : "", uid ? uid : "");
    }
    json_decref(list.first);
    return NULL;
}

/* Lists the pods that belong to none of these Jobs. With too many Jobs to name, pods of all Jobs
 * are excluded. */
static struct err *list_pods(struct cli *c, struct session *s, const struct buf *skip,
                             struct list_result *ret)
{
    static const char active[] =
        "&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed";
    AUTO_FREE char *base = base_path(c, s, "/api/v1", "pods");
    AUTO(buf_done) struct buf path = {0};
    struct list_query q = {0};

    buf_printf(&path, "%s?", base);
    if (skip->size >= SKIP_MAX)
        buf_add_text(&path, "labelSelector=%21batch.kubernetes.io%2Fcontroller-uid");
    else if (skip->size > 0)
        buf_printf(&path,
                   "labelSelector=batch.kubernetes.io%%2Fcontroller-uid%%20notin%%20%%28%s%%29",
                   skip->at);
    if (!flag_switch(c->in, "all"))
        buf_add_text(&path, active);
    q.path = path.at;
    q.limit = limit_of(c);
    return session_list(s, &q, ret);
}

static int64_t id_of(const json_t *item)
{
    const char *id = text_or_empty(json_text_at(item, "spec", "jobId", NULL));
    int64_t n = 0;

    while (*id >= '0' && *id <= '9' && n < INT64_MAX / 10 - 1)
        n = n * 10 + (*id++ - '0');
    return n;
}

/* Orders by job number: the oldest first. */
static int compare_items(const void *a, const void *b)
{
    int64_t x = id_of(*(json_t *const *)a);
    int64_t y = id_of(*(json_t *const *)b);

    return x < y ? -1 : x > y;
}

/* Lists Jobs and pods, and makes the items here: from a server that has no list of jobs. */
static struct err *list_objects(struct cli *c, struct session *s, struct ps_list *ret)
{
    AUTO(json_freep) json_t *jobs = json_array();
    AUTO(buf_done) struct buf skip = {0};
    struct list_result list = {0};
    VEC(json_t *) sorted = {0};
    json_t *job;
    size_t i;

    TRY(list_batch(c, s, jobs, &skip));
    TRY(list_pods(c, s, &skip, &list));
    (void)json_array_extend(jobs, json_object_get(list.first, "items")); /* both are arrays */
    json_decref(list.first);
    json_array_foreach (jobs, i, job)
        vec_add(&sorted, job_item(job));
    if (sorted.n > 1)
        qsort(sorted.at, sorted.n, sizeof(*sorted.at), compare_items);
    VEC_EACH (&sorted, item)
        (void)json_array_append_new(ret->items, *item); /* a tree of its own: cannot fail */
    vec_done(&sorted);
    ret->more = list.more;
    return NULL;
}

/* ---- the server's list ---- */

static char *page_path(struct cli *c, struct session *s, int64_t limit, const char *after)
{
    struct buf path = {0};

    buf_printf(&path, "/apis/mete.dev/v1/ps?limit=%" PRId64, limit);
    if (flag_switch(c->in, "all"))
        buf_add_text(&path, "&all=true");
    if (!flag_switch(c->in, "all-namespaces"))
        buf_printf(&path, "&namespace=%s", session_namespace(s));
    if (after) {
        buf_add_text(&path, "&after=");
        client_add_escaped(&path, str_of(after));
    }
    return buf_steal(&path);
}

/* `*ret_is_made` false: the server has no list of jobs, or none for this user, or not yet. */
static struct err *list_made(struct cli *c, struct session *s, struct ps_list *ret,
                             bool *ret_is_made)
{
    AUTO(json_freep) json_t *page = NULL;
    int64_t limit = limit_of(c);
    const char *after = NULL;

    do {
        int64_t left = limit - (int64_t)json_array_size(ret->items);
        AUTO_FREE char *path =
            page_path(c, s, limit > 0 && left < PAGE_MAX ? left : PAGE_MAX, after);
        struct err *e;

        json_decref(TAKE(page));
        e = session_get(s, path, &page);
        if (e && json_array_size(ret->items) == 0 &&
            (err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_FORBIDDEN)) {
            err_free(e);
            return NULL;
        }
        if (e)
            return e;
        if (!json_bool(page, "isMade", false)) { /* also: restarted between two pages */
            (void)json_array_clear(ret->items);  /* an array: cannot fail */
            return NULL;
        }
        (void)json_array_extend(ret->items, json_object_get(page, "items")); /* both are arrays */
        ret->more = json_int(page, "more", 0);
        after = json_text(page, "after");
    } while (after && (limit == 0 || (int64_t)json_array_size(ret->items) < limit));
    *ret_is_made = true;
    return NULL;
}

/* ---- the table ---- */

static void ps_fill(struct listing *l, const json_t *items, bool has_ns, int64_t now_ns)
{
    json_t *item;
    size_t i;

    json_array_foreach (items, i, item) {
        json_t *row = ps_row(item, has_ns, now_ns);

        (void)json_object_del(item, "cells");
        listing_add(l, row, item);
    }
}

static void say_rest(struct cli *c, const struct listing *l, int64_t more)
{
    size_t n = json_array_size(l->objects);

    if (more > 0)
        cli_say(c, "%zu of %" PRId64 "; --limit 0 for all", n, (int64_t)n + more);
    else if (more < 0)
        cli_say(c, "the first %zu; --limit 0 for all", n);
}

static struct err *ps_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *items = json_array();
    struct ps_list list = {.items = items};
    struct listing l;
    bool has_ns = flag_switch(c->in, "all-namespaces");
    bool is_made = false;
    struct err *e;

    TRY(session_open(c, &s));
    TRY(list_made(c, s, &list, &is_made));
    if (!is_made)
        TRY(list_objects(c, s, &list));
    listing_init(&l, "JobList");
    l.prefix_of = prefix_of;
    ps_columns(&l, has_ns);
    ps_fill(&l, items, has_ns, loop_wall_ns(session_loop(s)));
    e = listing_print(c, &l);
    if (!e)
        say_rest(c, &l, list.more);
    listing_done(&l);
    return e;
}

static const struct flag ps_flags[] = {
    {.name = "all", .letter = 'a', .type = FLAG_SWITCH, .doc = "list ended jobs, too"},
    {0},
};

const struct command command_ps = {
    .name = "ps",
    .summary = "list waiting and running jobs, and the reasons for waiting",
    .examples = {{"ps", "lists the jobs of the namespace that have not ended"},
                 {"ps -a -A -o json", "lists all jobs of all namespaces, for programs"},
                 {0}},
    .flags = ps_flags,
    .groups = FLAGS_SERVER | FLAGS_NAMESPACE | FLAGS_ALL | FLAGS_LIMIT | FLAGS_OUTPUT,
    .n_max = 0,
    .run = ps_run,
};
