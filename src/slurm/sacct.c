/* sacct.c - options, rows and output of sacct */

#include "slurm/sacct.h"

#include <inttypes.h>
#include <signal.h>
#include <strings.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/client.h"
#include "model/slurm_time.h"
#include "slurm/cancel.h"
#include "slurm/job_columns.h"
#include "slurm/job_json.h"
#include "slurm/query.h"
#include "slurm/sacct_columns.h"
#include "slurm/sacct_use.h"
#include "slurm/states.h"
#include "slurm/steps.h"

#define NO  SLURM_TAKES_NOTHING
#define YES SLURM_TAKES_VALUE
#define MAY SLURM_TAKES_OPTIONAL

const struct slurm_option sacct_options[] = {
    {"accounts", NULL, 'A', YES},
    {"allclusters", NULL, 'L', NO},
    {"allocations", NULL, 'X', NO},
    {"allusers", NULL, 'a', NO},
    {"array", NULL, 0, NO},
    {"associations", NULL, 'x', YES},
    {"batch-script", NULL, 'B', NO},
    {"brief", NULL, 'b', NO},
    {"cluster", "clusters", 0, YES},
    {"clusters", NULL, 'M', YES},
    {"completion", NULL, 'c', NO},
    {"constraints", NULL, 'C', YES},
    {"delimiter", NULL, 0, YES},
    {"duplicates", NULL, 'D', NO},
    {"endtime", NULL, 'E', YES},
    {"env-vars", NULL, 0, NO},
    {"federation", NULL, 0, NO},
    {"file", NULL, 'f', YES},
    {"flags", NULL, 'F', YES},
    {"format", NULL, 'o', YES},
    {"gid", "group", 0, YES},
    {"group", NULL, 'g', YES},
    {"help", NULL, 'h', NO},
    {"helpformat", NULL, 'e', NO},
    {"jobs", NULL, 'j', YES},
    {"json", NULL, 0, MAY},
    {"local", NULL, 0, NO},
    {"long", NULL, 'l', NO},
    {"name", NULL, 0, YES},
    {"ncpus", NULL, 'I', YES},
    {"nnodes", NULL, 'i', YES},
    {"noconvert", NULL, 0, NO},
    {"nodelist", NULL, 'N', YES},
    {"noheader", NULL, 'n', NO},
    {"parsable", NULL, 'p', NO},
    {"parsable2", NULL, 'P', NO},
    {"partition", NULL, 'r', YES},
    {"qos", NULL, 'q', YES},
    {"reason", NULL, 'R', YES},
    {"starttime", NULL, 'S', YES},
    {"state", NULL, 's', YES},
    {"timelimit-max", NULL, 'K', YES},
    {"timelimit-min", NULL, 'k', YES},
    {"truncate", NULL, 'T', NO},
    {"uid", "user", 0, YES},
    {"units", NULL, 0, YES},
    {"usage", NULL, 'U', NO},
    {"use-local-uid", NULL, 0, NO},
    {"user", NULL, 'u', YES},
    {"verbose", NULL, 'v', NO},
    {"version", NULL, 'V', NO},
    {"wckeys", NULL, 'W', YES},
    {"yaml", NULL, 0, MAY},
    {0},
};

const char sacct_help[] =
    "Usage: sacct [-a] [-A accounts] [-b | -l | -o fields] [-D] [-E end] [-j jobs] [--name names]\n"
    "             [-n] [-N nodes] [-p | -P] [-q qos] [-r partitions] [-s states] [-S start]\n"
    "             [-u users] [-X] [--delimiter=TEXT] [--json] [--yaml] [--noconvert]\n";

static const char brief_fields[] = "jobid,state,exitcode";
static const char default_fields[] = "jobid,jobname,partition,account,alloccpus,state,exitcode";
static const char long_fields[] =
    "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,"
    "maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,"
    "mincputask,avecpu,ntasks,alloccpus,elapsed,state,exitcode,avecpufreq,reqcpufreqmin,"
    "reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread,maxdiskreadnode,"
    "maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,"
    "reqtres,alloctres,tresusageinave,tresusageinmax,tresusageinmin,tresusageintot,"
    "tresusageoutmax,tresusageoutave,tresusageouttot";

void sacct_help_format(struct buf *out)
{
    size_t n = 0;

    for (const struct slurm_column *c = slurm_account_columns; c->header; c++, n++)
        buf_printf(out, "%-19s%s", c->name, n % 4 == 3 ? "\n" : " ");
    buf_add_char(out, '\n');
}

/* ---- options ---- */

static struct err *sacct_read_format(struct sacct *s, const char *(*find)(const char *))
{
    const char *fields = slurm_words_value(s->words, "format");

    if (!fields && slurm_words_has(s->words, "brief"))
        fields = brief_fields;
    if (!fields && slurm_words_has(s->words, "long"))
        fields = long_fields;
    if (!fields)
        fields = find("SACCT_FORMAT");
    return slurm_format_parse_fields(fields ? fields : default_fields, slurm_account_columns,
                                     s->is_parsable ? s->delimiter : NULL, s->ends_with_delimiter,
                                     &s->format);
}

static struct err *sacct_read_period(struct sacct *s, const struct slurm_view *v)
{
    const char *from = slurm_words_value(s->words, "starttime");
    const char *to = slurm_words_value(s->words, "endtime");

    s->to_s = v->now_s;
    if (from)
        TRY(slurm_moment_parse(str_of(from), v->now_s, v->zone, false, &s->from_s));
    else if (slurm_words_has(s->words, "jobs"))
        s->from_s = 0;
    else if (slurm_words_has(s->words, "state"))
        s->from_s = v->now_s;
    else
        TRY(slurm_moment_parse(STR("today"), v->now_s, v->zone, false, &s->from_s));
    if (to)
        TRY(slurm_moment_parse(str_of(to), v->now_s, v->zone, false, &s->to_s));
    if (s->to_s < s->from_s)
        return err_new(ERR_INVALID,
                       "Start time (%" PRId64 ") requested is after end time (%" PRId64 ").",
                       s->from_s, s->to_s);
    return NULL;
}

/* Reads -j, which may be repeated: steps are dropped from the names. */
static struct err *sacct_read_ids(const struct slurm_words *w, struct buf *ids)
{
    for (size_t i = 0; i < w->given.n; i++)
        if (text_equal(w->given.at[i].name, "jobs"))
            TRY(slurm_ids_parse(w->given.at[i].value, ids));
    return NULL;
}

static void sacct_add_moment(struct buf *path, const char *name, int64_t at_s)
{
    char stamp[STAMP_TEXT_SIZE];

    stamp_format(at_s * NS_PER_SEC, stamp);
    buf_printf(path, "&%s=%s", name, stamp);
}

static struct err *sacct_make_paths(struct sacct *s, const char *user)
{
    const char *users = slurm_words_value(s->words, "user");
    const char *names = slurm_words_value(s->words, "name");
    struct slurm_query jobs = {0};
    struct buf accounts = {0};
    struct buf ids = {0};
    struct err *e = sacct_read_ids(s->words, &ids);

    if (!users && ids.size == 0 && !slurm_words_has(s->words, "allusers"))
        users = user;
    slurm_query_begin(&jobs, "jobs");
    slurm_query_add(&jobs, "states", "all");
    slurm_query_add(&jobs, "detail", "1");
    buf_add_text(&accounts, "/apis/mete.dev/v1/accounting?limit=1000");
    sacct_add_moment(&accounts, "from", s->from_s);
    sacct_add_moment(&accounts, "to", s->to_s > s->from_s ? s->to_s : s->from_s + 1);
    if (ids.size > 0) {
        slurm_query_add(&jobs, "ids", ids.at);
        buf_add_text(&accounts, "&ids=");
        client_add_escaped(&accounts, str_of(ids.at));
    }
    if (users)
        slurm_query_add(&jobs, "user", users);
    if (users && !strchr(users, ',')) {
        buf_add_text(&accounts, "&user=");
        client_add_escaped(&accounts, str_of(users));
    }
    if (names)
        slurm_query_add(&jobs, "name", names);
    s->jobs_path = slurm_query_end(&jobs);
    s->accounts_path = buf_steal(&accounts);
    buf_done(&ids);
    return e;
}

/* Options that would restrict the rows and are not read. */
static struct err *sacct_refuse(const struct slurm_words *w)
{
    static const char *const refused[] = {
        "associations", "batch-script", "completion", "constraints",   "env-vars",
        "file",         "flags",        "group",      "ncpus",         "nnodes",
        "reason",       "wckeys",       "truncate",   "timelimit-max", "timelimit-min",
    };

    for (size_t i = 0; i < COUNT(refused); i++)
        if (slurm_words_has(w, refused[i]))
            return err_new(ERR_INVALID, "--%s is not available yet", refused[i]);
    return NULL;
}

/* --units */
static struct err *sacct_read_unit(struct sacct *s)
{
    const char *unit = slurm_words_value(s->words, "units");

    if (!unit)
        return NULL;
    if (!*unit || unit[1] || !strchr("KMGTPkmgtp", *unit))
        return err_new(ERR_INVALID, "Invalid type specified: want K, M, G, T or P of --units");
    s->unit = (char)(*unit & ~0x20);
    return NULL;
}

static struct err *sacct_read_options(struct sacct *s, const char *(*find)(const char *),
                                      const char *user, const struct slurm_view *v)
{
    const char *delimiter = slurm_words_value(s->words, "delimiter");
    const char *state = slurm_words_value(s->words, "state");
    AUTO(err_freep) struct err *e = NULL;

    if (s->words->arguments.n > 0)
        return err_new(ERR_INVALID, "Unknown arguments:\n %s", s->words->arguments.at[0]);
    TRY(sacct_refuse(s->words));
    TRY(sacct_read_unit(s));
    s->delimiter = delimiter ? delimiter : "|";
    s->ends_with_delimiter = slurm_words_has(s->words, "parsable");
    s->is_parsable = s->ends_with_delimiter || slurm_words_has(s->words, "parsable2");
    s->has_header = !slurm_words_has(s->words, "noheader");
    s->has_steps = !slurm_words_has(s->words, "allocations");
    s->has_duplicates = slurm_words_has(s->words, "duplicates");
    s->is_yaml = slurm_words_has(s->words, "yaml");
    s->is_document = s->is_yaml || slurm_words_has(s->words, "json");
    s->is_expanded = slurm_words_has(s->words, "array");
    e = state ? slurm_states_parse(state, &s->states) : NULL;
    if (e)
        return err_new(ERR_INVALID, "unrecognized job state value '%s'", state);
    TRY(sacct_read_format(s, find));
    TRY(sacct_read_period(s, v));
    return sacct_make_paths(s, user);
}

struct err *sacct_read(const struct slurm_words *words, const char *(*find)(const char *name),
                       const char *user, const struct slurm_view *v, struct sacct *ret)
{
    struct sacct s = {.words = words};
    struct err *e = sacct_read_options(&s, find, user, v);

    if (e) {
        sacct_done(&s);
        return e;
    }
    *ret = s;
    return NULL;
}

void sacct_done(struct sacct *s)
{
    slurm_format_done(&s->format);
    free(s->jobs_path);
    free(s->accounts_path);
    free(s->states);
    *s = (struct sacct){0};
}

/* ---- rows ---- */

static int64_t stamp_seconds(const json_t *o, const char *key)
{
    return stamp_or(json_text(o, key), 0) / NS_PER_SEC;
}

static void sacct_put_user(json_t *row, const json_t *account, const json_t *slurm)
{
    const json_t *user = json_object_get(slurm, "user");

    json_put_text(row, "user",
                  json_text(user, "name") ? json_text(user, "name") : json_text(account, "user"));
    if (!user)
        return;
    json_put_int(row, "uid", json_int(user, "uid", 0));
    json_put_int(row, "gid", json_int(user, "gid", 0));
    json_put_text(row, "group", json_text(user, "group"));
}

/* Accounting has 128 plus the signal as the code of a script that a signal ended. Slurm shows
 * neither code nor signal for jobs that were cancelled or reached their time limit. */
static void sacct_put_exit(json_t *row, const json_t *account)
{
    const char *state = json_text(account, "state");
    bool is_ended = text_equal(state, "CANCELLED") || text_equal(state, "TIMEOUT");
    int64_t signal = is_ended ? 0 : json_int(account, "exitSignal", 0);

    json_put_int(row, "exitCode", signal > 0 || is_ended ? 0 : json_int(account, "exitCode", 0));
    json_put_int(row, "exitSignal", signal);
}

/* A row of accounting as the row of a job. New reference. */
static json_t *sacct_row_of(const json_t *account)
{
    static const char *const texts[] = {"name",         "account",  "partition",   "qos",
                                        "comment",      "workDir",  "constraint",  "wckey",
                                        "submitLine",   "licenses", "reservation", "tresRequested",
                                        "tresAllocated"};
    static const char *const numbers[] = {"arrayJobId", "arrayTaskId", "cpus",        "nodeCount",
                                          "restarts",   "hetJobId",    "hetJobOffset"};
    const json_t *slurm = json_object_get(account, "slurm");
    json_t *row = json_object();
    int64_t limit = json_int(slurm, "timeLimit", 0);

    for (size_t i = 0; i < COUNT(texts); i++)
        json_put_text(row, texts[i], json_text(slurm, texts[i]));
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (json_object_get(slurm, numbers[i]))
            json_put_int(row, numbers[i], json_int(slurm, numbers[i], 0));
    if (!slurm)
        json_put_text(row, "name", json_text(account, "pod"));
    if (!json_text(row, "account"))
        json_put_text(row, "account", json_text(account, "queue"));
    sacct_put_user(row, account, slurm);
    json_put_int(row, "jobId", json_int(account, "jobId", 0));
    json_put_text(row, "state", json_text(account, "state"));
    sacct_put_exit(row, account);
    if (json_object_get(account, "cancelledBy"))
        json_put_int(row, "cancelledBy", json_int(account, "cancelledBy", 0));
    json_put_text(row, "nodes", json_text(account, "node"));
    json_put_int(row, "memoryPerNode", json_int(slurm, "memoryBytes", 0) >> 20);
    json_put_int(row, "timeLimit", limit > 0 ? limit : -1);
    json_put_int(row, "submitTime", stamp_seconds(slurm, "submitTime"));
    json_put_int(row, "eligibleTime", json_int(slurm, "eligibleNs", 0) / NS_PER_SEC);
    json_put_int(row, "startTime", stamp_seconds(account, "from"));
    json_put_int(row, "endTime", stamp_seconds(account, "to"));
    json_put_bool(row, "batch", slurm != NULL);
    json_put_bool(row, "isAttempt", true);
    sacct_put_use(row, account);
    return row;
}

struct sacct_entry {
    struct map_handle handle;
    int64_t id;
    int64_t restarts; /* of the newest row */
    json_t *row;      /* borrowed from the array of rows */
};

/* Rows by the number of their job: the newest row of each. */
struct sacct_index {
    struct sacct_entry *entries;
    json_t *rows;
};

static struct sacct_entry *sacct_find(const struct sacct_index *x, int64_t id)
{
    struct sacct_entry *entry = NULL;

    map_find(handle, x->entries, &id, sizeof(id), entry);
    return entry;
}

static void sacct_put(struct sacct_index *x, json_t *row)
{
    struct sacct_entry *entry = mem_alloc(sizeof(*entry));

    *entry = (struct sacct_entry){0};
    entry->id = json_int(row, "jobId", 0);
    entry->row = row;
    map_add(handle, x->entries, &entry->id, sizeof(entry->id), entry);
    json_array_append_new(x->rows, row);
}

static void sacct_index_done(struct sacct_index *x)
{
    struct sacct_entry *entry;
    struct sacct_entry *next;

    map_each (handle, x->entries, entry, next) {
        map_remove(handle, x->entries, entry);
        free(entry);
    }
}

static void sacct_add_account(const struct sacct *s, struct sacct_index *x, const json_t *account)
{
    struct sacct_entry *entry = sacct_find(x, json_int(account, "jobId", 0));
    json_t *row = sacct_row_of(account);

    if (!entry) {
        sacct_put(x, row);
    } else if (s->has_duplicates &&
               (json_object_get(entry->row, "isAttempt") ||
                json_int(entry->row, "restarts", 0) > json_int(row, "restarts", 0))) {
        json_array_append_new(x->rows, row);
    } else if (json_int(entry->row, "startTime", 0) <= json_int(row, "endTime", 0) &&
               !text_equal(json_text(entry->row, "state"), "PENDING")) {
        /* Rows come ordered by their end: a later attempt replaces what is known of one before. */
        if (json_object_get(entry->row, "isAttempt"))
            (void)json_object_update(entry->row, row); /* two objects: cannot fail */
        else
            sacct_put_use(entry->row, account);
        if (json_text(row, "tresAllocated")) { /* the live row knows it for a while only */
            json_put_text(entry->row, "tresAllocated", json_text(row, "tresAllocated"));
            json_put_int(entry->row, "cpus", json_int(row, "cpus", 0));
        }
        json_decref(row);
    } else {
        json_decref(row);
    }
}

static bool is_in_period(const struct sacct *s, const json_t *row)
{
    int64_t end = json_int(row, "endTime", 0);
    bool is_live = slurm_state_is_live(json_text(row, "state"));

    if (json_int(row, "submitTime", 0) > s->to_s)
        return false;
    return is_live || end == 0 || end >= s->from_s;
}

static bool is_listed(const struct sacct *s, const char *option, const char *value)
{
    const char *list = slurm_words_value(s->words, option);

    return !list || slurm_list_has(list, text_or_empty(value));
}

static bool sacct_wants(const struct sacct *s, const json_t *row)
{
    const char *nodes = slurm_words_value(s->words, "nodelist");
    const char *state = json_text(row, "state");

    if (s->states && !text_equal(s->states, "all") &&
        !slurm_list_has(s->states, state ? state : "PENDING"))
        return false;
    if (nodes && !slurm_hosts_meet(nodes, json_text(row, "nodes")))
        return false;
    return is_in_period(s, row) && is_listed(s, "name", json_text(row, "name")) &&
           is_listed(s, "user", json_text(row, "user")) &&
           is_listed(s, "accounts", json_text(row, "account")) &&
           is_listed(s, "qos", json_text(row, "qos")) &&
           is_listed(s, "partition", json_text(row, "partition"));
}

static int sacct_compare(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left;
    const json_t *b = *(json_t *const *)right;
    int64_t x = json_int(a, "jobId", 0);
    int64_t y = json_int(b, "jobId", 0);

    if (x == y) {
        x = json_int(a, "restarts", 0);
        y = json_int(b, "restarts", 0);
    }
    if (x == y) {
        x = json_int(a, "startTime", INT64_MAX);
        y = json_int(b, "startTime", INT64_MAX);
    }
    return x < y ? -1 : x > y;
}

/* An attempt that was ended for another one has no end of its own. */
static void sacct_mark_requeued(const struct sacct *s, const struct sacct_index *x)
{
    struct sacct_entry *entry;
    json_t *row;
    size_t i;

    if (!s->has_duplicates)
        return;
    json_array_foreach (x->rows, i, row) {
        entry = sacct_find(x, json_int(row, "jobId", 0));
        if (entry && json_int(row, "restarts", 0) > entry->restarts)
            entry->restarts = json_int(row, "restarts", 0);
    }
    json_array_foreach (x->rows, i, row) {
        entry = sacct_find(x, json_int(row, "jobId", 0));
        if (entry && json_int(row, "restarts", 0) < entry->restarts &&
            text_equal(json_text(row, "state"), "CANCELLED"))
            json_put_text(row, "state", "REQUEUED");
    }
}

/* The jobs that are wanted, by number; new reference. */
static json_t *sacct_jobs(const struct sacct *s, const json_t *jobs, const json_t *accounts)
{
    struct sacct_index x = {.rows = json_array()};
    AUTO(json_freep) json_t *folded = sacct_fold(accounts);
    json_t *sorted = json_array();
    json_t **all;
    size_t n = 0;
    const json_t *one;
    size_t i;

    json_array_foreach (jobs, i, one)
        sacct_put(&x, json_copy((json_t *)(uintptr_t)one));
    json_array_foreach (folded, i, one)
        sacct_add_account(s, &x, one);
    sacct_mark_requeued(s, &x);
    all = mem_alloc((json_array_size(x.rows) + 1) * sizeof(json_t *));
    json_array_foreach (x.rows, i, one)
        if (sacct_wants(s, one))
            all[n++] = json_array_get(x.rows, i);
    if (n > 0)
        qsort(all, n, sizeof(json_t *), sacct_compare);
    for (i = 0; i < n; i++)
        json_array_append(sorted, all[i]);
    free(all);
    json_decref(x.rows);
    sacct_index_done(&x);
    return sorted;
}

/* ---- output ---- */

/* Adds the steps of the job from `*next` on; both lists are in the order of jobs. */
static void sacct_add_steps(const json_t *job, const json_t *steps, size_t *next, json_t *rows)
{
    int64_t id = json_int(job, "jobId", 0);

    if (json_is_string(json_object_get(job, "arrayTaskId")))
        return; /* elements that wait */
    while (*next < json_array_size(steps) &&
           json_int(json_array_get(steps, *next), "jobId", 0) < id)
        (*next)++;
    for (;
         *next < json_array_size(steps) && json_int(json_array_get(steps, *next), "jobId", 0) == id;
         (*next)++)
        json_array_append_new(rows, slurm_step_account(job, json_array_get(steps, *next)));
}

/* Has the job a script that has started? One that was cancelled while it waited has no nodes. */
static bool sacct_has_batch(const json_t *job)
{
    const char *state = json_text(job, "state");

    return json_bool(job, "batch", false) && json_int(job, "hetJobOffset", 0) == 0 &&
           json_int(job, "startTime", 0) > 0 && !text_equal(state, "PENDING") &&
           (!text_equal(state, "CANCELLED") || json_text_filled(job, "nodes"));
}

/* The batch step of a job. Slurm calls a script that it has ended CANCELLED, by the signal that did
 * it. New reference. */
static json_t *sacct_batch(const json_t *job)
{
    const char *state = json_text(job, "state");
    json_t *step = json_copy((json_t *)(uintptr_t)job);
    bool is_timeout = text_equal(state, "TIMEOUT");
    bool has_end = json_int(job, "exitCode", 0) != 0 || json_int(job, "exitSignal", 0) != 0;

    json_put_text(step, "step", "batch");
    if (!is_timeout && !text_equal(state, "CANCELLED") && !text_equal(state, "PREEMPTED") &&
        !text_equal(state, "REQUEUED"))
        return step;
    json_put_text(step, "state", "CANCELLED");
    if (is_timeout || !has_end)
        json_put_int(step, "exitSignal", SIGTERM);
    return step;
}

/* Adds the batch step of each job that has started, and its steps. New reference. */
static json_t *sacct_with_steps(const json_t *jobs, const json_t *steps)
{
    json_t *rows = json_array();
    json_t *job;
    size_t next = 0;
    size_t i;

    json_array_foreach ((json_t *)(uintptr_t)jobs, i, job) {
        json_array_append(rows, job);
        if (sacct_has_batch(job))
            json_array_append_new(rows, sacct_batch(job));
        sacct_add_steps(job, steps, &next, rows);
    }
    return rows;
}

/* Gives each job the highest end of its steps; both lists are in the order of jobs. */
static void sacct_put_derived(const json_t *jobs, const json_t *steps)
{
    size_t first = 0;
    json_t *job;
    size_t i;

    json_array_foreach ((json_t *)(uintptr_t)jobs, i, job) {
        int64_t id = json_int(job, "jobId", 0);
        int64_t worst = 0;

        while (first < json_array_size(steps) &&
               json_int(json_array_get(steps, first), "jobId", 0) < id)
            first++;
        for (size_t k = first; k < json_array_size(steps); k++) {
            const json_t *step = json_array_get(steps, k);
            int64_t end = json_int(step, "exitCode", 0) * 256 + json_int(step, "exitSignal", 0);

            if (json_int(step, "jobId", 0) != id)
                break;
            worst = end > worst ? end : worst;
        }
        json_put_int(job, "derivedExitCode", worst / 256);
        json_put_int(job, "derivedExitSignal", worst % 256);
    }
}

/* The rows that are printed: jobs, each with its steps behind it. New reference. */
static json_t *sacct_rows_of(const struct sacct *s, const struct sacct_rows *from)
{
    AUTO(json_freep) json_t *chosen = sacct_jobs(s, from->jobs, from->accounts);
    AUTO(json_freep) json_t *steps = slurm_steps_join(from->steps, from->accounts);
    AUTO(json_freep)
    json_t *expanded = s->is_expanded ? slurm_job_rows_expand(chosen) : json_incref(chosen);

    sacct_put_derived(chosen, steps);
    return s->has_steps ? sacct_with_steps(expanded, steps) : json_incref(expanded);
}

json_t *sacct_document(const struct sacct *s, const struct sacct_rows *from,
                       const struct slurm_view *v)
{
    AUTO(json_freep) json_t *rows = sacct_rows_of(s, from);

    return slurm_accounts_document(rows, v);
}

void sacct_print(const struct sacct *s, const struct sacct_rows *from, const struct slurm_view *v,
                 struct buf *out)
{
    AUTO(json_freep) json_t *rows = NULL;
    AUTO(json_freep) json_t *none = json_array();
    AUTO(json_freep) json_t *document = NULL;
    struct slurm_view view = *v;

    view.unit = s->unit;
    view.keeps_unit = slurm_words_has(s->words, "noconvert") && !view.unit;
    if (s->is_document) {
        document = sacct_document(s, from, &view);
        slurm_document_add(document, s->is_yaml, out);
        return;
    }
    rows = sacct_rows_of(s, from);
    if (s->has_header)
        slurm_format_print(&s->format, none, &view, true, out);
    if (s->has_header && !s->is_parsable)
        slurm_format_add_dashes(&s->format, out);
    slurm_format_print(&s->format, rows, &view, false, out);
}
