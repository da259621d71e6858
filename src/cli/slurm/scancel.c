/* scancel.c - scancel: ends jobs, or elements of arrays */

#include <inttypes.h>

#include "base/mem.h"
#include "cli/commands.h"
#include "cli/slurm/scancel_private.h"
#include "cli/slurm/slurm_command.h"
#include "cli/term/output.h"
#include "model/slurm_array.h"
#include "slurm/cancel.h"
#include "slurm/query.h"
#include "slurm/signals.h"
#include "slurm/states.h"

enum {
    CANCEL_TRIES = 20
};

/* ---- one object ---- */

/* Deletes a pod of another door. */
static struct err *cancel_pod(struct slurm_command *s, const char *ns, const char *name)
{
    AUTO_FREE char *path = path_format("/api/v1/namespaces/%s/pods/%s", ns, name);
    struct call call = {.method = "DELETE", .path = path};

    return slurm_call(s, &call, NULL);
}

/* Adds the elements to spec.cancelled, at the version that was read. */
static struct err *cancel_try(struct slurm_command *s, const char *path, const char *elements)
{
    AUTO(json_freep) json_t *job = NULL;
    AUTO(json_freep) json_t *patch = NULL;
    struct call get = {.path = path};
    struct call call = {
        .method = "PATCH", .path = path, .content_type = "application/merge-patch+json"};

    TRY(slurm_call(s, &get, &job));
    TRY(slurm_cancel_patch(job, elements, &patch));
    call.body = patch;
    return slurm_call(s, &call, NULL);
}

static struct err *cancel_job(struct slurm_command *s, const char *ns, const char *name,
                              const char *elements)
{
    AUTO_FREE char *path = path_format("/apis/mete.dev/v1/namespaces/%s/slurmjobs/%s", ns, name);

    for (int i = 0;; i++) {
        struct err *e = cancel_try(s, path, elements);

        if (!e || err_code(e) != ERR_CONFLICT || i == CANCEL_TRIES)
            return e;
        err_free(e);
    }
}

/* ---- what to cancel ---- */

struct scancel {
    struct slurm_command s;
    struct scancel_signal signal; /* number 0: jobs end */
    bool is_quiet;
    bool is_failed;
};

/* Cancels or signals the object of a row; `elements`: of an array, "*": all. */
static void scancel_one(struct scancel *x, const json_t *row, const char *label,
                        const char *elements)
{
    const char *object = json_text(row, "object");
    const char *slash = object ? strchr(object, '/') : NULL;
    AUTO_FREE char *ns = slash ? mem_strndup(object, (size_t)(slash - object)) : NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (!slash)
        e = err_new(ERR_INTERNAL, "the server's answer names no object");
    else if (x->signal.number > 0)
        e = scancel_send(&x->s, &x->signal, row, elements);
    else if (json_bool(row, "batch", false))
        e = cancel_job(&x->s, ns, slash + 1, elements);
    else
        e = cancel_pod(&x->s, ns, slash + 1);
    if (!e || err_code(e) == ERR_NOT_FOUND)
        return;
    slurm_say(&x->s, "Kill job error on job id %s: %s", label, err_message(e));
    x->is_failed = true;
}

/* Cancels what one argument names: "12", "12_3", "12_[1-3]". */
static struct err *scancel_name(struct scancel *x, const char *text)
{
    AUTO(slurm_job_name_done) struct slurm_job_name name = {0};
    AUTO(json_freep) json_t *rows = NULL;
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *elements = NULL;
    struct slurm_query query = {0};
    struct buf ids = {0};
    const json_t *row;
    size_t n;

    TRY(slurm_job_name_parse(str_of(text), &name));
    slurm_query_begin(&query, "jobs");
    TRY(slurm_ids_parse(text, &ids));
    slurm_query_add(&query, "ids", ids.at);
    slurm_query_add(&query, "states", "all");
    buf_done(&ids);
    path = slurm_query_end(&query);
    TRY(slurm_rows(&x->s, path, "jobs", &rows));
    n = json_array_size(rows);
    if (n == 0) {
        if (!x->is_quiet)
            slurm_say(&x->s, "Kill job error on job id %s: Invalid job id specified", text);
        x->is_failed = true;
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        if (slurm_state_is_live(json_text(json_array_get(rows, i), "state")))
            break;
        else if (i + 1 == n)
            return NULL; /* all are over: nothing to do */
    row = json_array_get(rows, 0);
    if (json_int(row, "hetJobOffset", 0) > 0) {
        slurm_say(&x->s, "Kill job error on job id %s: a component ends with its job %" PRId64,
                  text, json_int(row, "hetJobId", 0));
        x->is_failed = true;
        return NULL;
    }
    elements = slurm_cancel_elements(row, name.id, &name.indexes);
    x->signal = scancel_signal_of(&x->s.words, name.step);
    scancel_one(x, row, text, elements);
    return NULL;
}

static bool scancel_wants(const struct scancel *x, const json_t *row)
{
    const char *qos = slurm_words_value(&x->s.words, "qos");
    const char *reservation = slurm_words_value(&x->s.words, "reservation");
    const char *nodes = slurm_words_value(&x->s.words, "nodelist");
    const char *has_qos = json_text(row, "qos");

    if (qos && !slurm_list_has(qos, has_qos ? has_qos : "normal"))
        return false;
    if (reservation && !text_equal(json_text(row, "reservation"), reservation))
        return false;
    return !nodes || slurm_hosts_meet(nodes, json_text(row, "nodes"));
}

static struct err *scancel_filter_path(const struct scancel *x, char **ret)
{
    static const char *const filters[][2] = {
        {"user", "user"}, {"account", "account"}, {"name", "name"}, {"partition", "partition"}};
    const char *state = slurm_words_value(&x->s.words, "state");
    struct slurm_query query = {0};
    AUTO_FREE char *me = slurm_user_name();
    AUTO_FREE char *states = NULL;
    AUTO_FREE char *path = NULL;

    slurm_query_begin(&query, "jobs");
    for (size_t i = 0; i < COUNT(filters); i++) {
        const char *value = slurm_words_value(&x->s.words, filters[i][0]);

        if (i == 0 && slurm_words_has(&x->s.words, "me"))
            value = me;
        if (value)
            slurm_query_add(&query, filters[i][1], value);
    }
    path = slurm_query_end(&query);
    if (state) {
        TRY(slurm_states_parse(state, &states));
        *ret = mem_format("%s&states=%s", path, states);
    } else {
        *ret = TAKE(path);
    }
    return NULL;
}

/* Cancels all live jobs that the options name: of the caller, unless -u names others. */
static struct err *scancel_filtered(struct scancel *x)
{
    AUTO(json_freep) json_t *rows = NULL;
    AUTO_FREE char *path = NULL;
    const json_t *row;
    size_t i;

    x->signal = scancel_signal_of(&x->s.words, NULL);
    TRY(scancel_filter_path(x, &path));
    TRY(slurm_rows(&x->s, path, "jobs", &rows));
    json_array_foreach (rows, i, row) {
        AUTO_FREE char *label = mem_format("%" PRId64, json_int(row, "jobId", 0));
        AUTO_FREE char *elements = NULL;
        struct index_set none = {0};

        if (!slurm_state_is_live(json_text(row, "state")) || !scancel_wants(x, row))
            continue;
        elements = slurm_cancel_elements(row, json_int(row, "jobId", 0), &none);
        scancel_one(x, row, label, elements);
    }
    return NULL;
}

/* ---- the command ---- */

#define NO  SLURM_TAKES_NOTHING
#define YES SLURM_TAKES_VALUE

static const struct slurm_option scancel_options[] = {
    {"account", NULL, 'A', YES},
    {"batch", NULL, 'b', NO},
    {"clusters", NULL, 'M', YES},
    {"cron", NULL, 'c', NO},
    {"ctld", NULL, 0, NO},
    {"full", NULL, 'f', NO},
    {"help", NULL, 0, NO},
    {"hurry", NULL, 'H', NO},
    {"interactive", NULL, 'i', NO},
    {"jobname", "name", 0, YES},
    {"me", NULL, 0, NO},
    {"name", NULL, 'n', YES},
    {"nodelist", NULL, 'w', YES},
    {"partition", NULL, 'p', YES},
    {"qos", NULL, 'q', YES},
    {"quiet", NULL, 'Q', NO},
    {"reservation", NULL, 'R', YES},
    {"sibling", NULL, 0, YES},
    {"signal", NULL, 's', YES},
    {"state", NULL, 't', YES},
    {"usage", "help", 0, NO},
    {"user", NULL, 'u', YES},
    {"verbose", NULL, 'v', NO},
    {"version", NULL, 'V', NO},
    {"wckey", NULL, 0, YES},
    {0},
};

static const char scancel_help[] =
    "Usage: scancel [-A account] [-n name] [-p partition] [-q qos] [-R reservation] [-t state]\n"
    "               [-u user | --me] [-w nodes] [-s signal [-b | -f]] [-Q]\n"
    "               [JOB | ARRAY_INDEX | JOB.STEP...]\n";

static bool scancel_has_filter(const struct slurm_words *w)
{
    static const char *const filters[] = {"account", "name", "partition", "qos", "reservation",
                                          "state",   "user", "nodelist",  "me"};

    for (size_t i = 0; i < COUNT(filters); i++)
        if (slurm_words_has(w, filters[i]))
            return true;
    return false;
}

/* Options that cannot be honoured. */
static struct err *scancel_refuse(const struct slurm_words *w)
{
    static const char *const refused[] = {"interactive", "clusters", "sibling", "wckey", "cron"};
    const char *name = slurm_words_value(w, "signal");
    int number = name ? slurm_signal_number(str_of(name)) : 0;

    if (name && number == 0)
        return err_new(ERR_INVALID, "Unknown job signal: %s", name);
    for (size_t i = 0; i < COUNT(refused); i++)
        if (slurm_words_has(w, refused[i]))
            return err_new(ERR_INVALID, "--%s is not available yet", refused[i]);
    return NULL;
}

static struct err *scancel_all(struct scancel *x)
{
    const struct slurm_words *w = &x->s.words;

    TRY(scancel_refuse(w));
    if (w->arguments.n == 0 && !scancel_has_filter(w))
        return err_new(ERR_INVALID, "No job identification provided");
    for (size_t i = 0; i < w->arguments.n; i++) {
        AUTO(slurm_job_name_done) struct slurm_job_name name = {0};
        AUTO(err_freep) struct err *e = slurm_job_name_parse(str_of(w->arguments.at[i]), &name);

        if (e)
            return err_new(ERR_INVALID, "Invalid job id %s", w->arguments.at[i]);
    }
    for (size_t i = 0; i < w->arguments.n; i++)
        TRY(scancel_name(x, w->arguments.at[i]));
    return w->arguments.n == 0 ? scancel_filtered(x) : NULL;
}

static struct err *scancel_steps(struct scancel *x)
{
    struct err *e;

    if (slurm_words_has(&x->s.words, "version"))
        return slurm_print_version(x->s.cli);
    if (slurm_words_has(&x->s.words, "help"))
        return output_write(x->s.cli, str_of(scancel_help));
    x->is_quiet = slurm_words_has(&x->s.words, "quiet");
    e = scancel_all(x);
    if (e)
        return slurm_fail(&x->s, EXIT_FAILED, e);
    x->s.cli->exit_code = x->is_failed ? EXIT_FAILED : EXIT_OK;
    return NULL;
}

static struct err *scancel_run(struct cli *c)
{
    struct scancel x = {0};
    struct err *e = NULL;

    if (slurm_command_begin(&x.s, c, scancel_options, false))
        e = scancel_steps(&x);
    slurm_command_done(&x.s);
    return e;
}

const struct command command_scancel = {
    .name = "scancel",
    .arguments = "[OPTION...] [JOB...]",
    .summary = "cancel jobs, with the options of Slurm's scancel",
    .doc =
        "JOB is a number, an element of an array (12_3) or several (12_[1-3,8]). Options choose "
        "jobs by user, name, partition or state. With a signal other than KILL, the job goes on, "
        "and its steps get the signal; with -b its batch shell, with -f both.",
    .examples = {{"scancel 12_[3-5]", "cancels three elements of array 12"},
                 {"scancel --me -t PENDING", "cancels the waiting jobs of the calling user"},
                 {0}},
    .groups = FLAGS_SERVER,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = scancel_run,
};
