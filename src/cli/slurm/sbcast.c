/* sbcast.c - sbcast: copies a file to the nodes of a job */

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/slurm/allocate.h"
#include "cli/slurm/bcast.h"
#include "cli/term/output.h"

static const struct slurm_option sbcast_options[] = {
    {.name = "compress", .letter = 'C', .takes = SLURM_TAKES_OPTIONAL},
    {.name = "exclude", .takes = SLURM_TAKES_VALUE},
    {.name = "fanout", .letter = 'F', .takes = SLURM_TAKES_VALUE},
    {.name = "force", .letter = 'f'},
    {.name = "help"},
    {.name = "jobid", .letter = 'j', .takes = SLURM_TAKES_VALUE},
    {.name = "preserve", .letter = 'p'},
    {.name = "quiet", .letter = 'Q'},
    {.name = "send-libs", .takes = SLURM_TAKES_OPTIONAL},
    {.name = "size", .letter = 's', .takes = SLURM_TAKES_VALUE},
    {.name = "timeout", .letter = 't', .takes = SLURM_TAKES_VALUE},
    {.name = "treewidth", .takes = SLURM_TAKES_VALUE},
    {.name = "usage"},
    {.name = "verbose", .letter = 'v'},
    {.name = "version", .letter = 'V'},
    {0},
};

static const char sbcast_help[] =
    "Usage: sbcast [-CfFjpstvV] SOURCE DEST\n\n"
    "Copies a file to DEST on each node of the job of SLURM_JOB_ID or --jobid.\n"
    "  -f, --force       replace a file that exists\n"
    "  -j, --jobid=JOB   the job\n"
    "  -p, --preserve    keep the times of the file\n"
    "  -t, --timeout=S   give up after so many seconds\n"
    "-C, -F and -s have no effect.\n";

static void sbcast_on_timeout(void *arg)
{
    session_stop(arg);
}

/* The number before the step: "12.0" and "12". The caller frees it. */
static char *sbcast_job(const struct slurm_words *w)
{
    const char *id = slurm_words_value(w, "jobid");

    if (!id)
        id = slurm_variable("SLURM_JOB_ID");
    return id && *id ? mem_strndup(id, strcspn(id, ".")) : NULL;
}

static struct err *sbcast_copy(struct slurm_command *s, struct allocation *a, int64_t timeout_s)
{
    AUTO(caller_done) struct caller caller = {0};
    struct bcast b = {.ns = a->ns,
                      .nodes = json_object_get(a->report, "nodes"),
                      .source = s->words.arguments.at[0],
                      .replaces = slurm_words_has(&s->words, "force"),
                      .keeps_times = slurm_words_has(&s->words, "preserve")};
    AUTO_FREE char *target = NULL;
    struct loop_timer *timer;
    bool has_failed = false;
    struct err *e;

    TRY(caller_look(&caller));
    target = bcast_target(caller.cwd, b.source, s->words.arguments.at[1]);
    b.target = target;
    timer = loop_timer_new(session_loop(s->session), sbcast_on_timeout, s->session);
    if (timeout_s > 0)
        loop_timer_set(timer, timeout_s * NS_PER_SEC);
    e = bcast_run(s, &b, &has_failed);
    loop_timer_free(timer);
    if (has_failed)
        s->cli->exit_code = EXIT_FAILED;
    return e;
}

static struct err *sbcast_work(struct slurm_command *s)
{
    struct allocation a = {.s = s};
    AUTO_FREE char *job = sbcast_job(&s->words);
    const char *timeout = slurm_words_value(&s->words, "timeout");
    int64_t timeout_s = 0;
    struct err *e;

    if (s->words.arguments.n != 2)
        return err_new(ERR_INVALID,
                       "Need two file names, have %zu names\nTry \"sbcast --help\" for more "
                       "information",
                       s->words.arguments.n);
    if (slurm_words_has(&s->words, "send-libs") || slurm_words_has(&s->words, "exclude"))
        return err_new(ERR_INVALID, "--send-libs is not available yet: libraries are not copied");
    if (!job)
        return err_new(ERR_INVALID, "Need a job id to run this command.  Run from within a Slurm "
                                    "job or use the --jobid option.");
    if (timeout)
        TRY(num_parse_int64(str_of(timeout), 0, INT32_MAX, &timeout_s));
    e = slurm_command_open(s);
    if (!e)
        e = allocation_find(&a, job);
    if (!e && json_array_size(json_object_get(a.report, "nodes")) == 0)
        e = err_new(ERR_CONFLICT, "job %s has no nodes now", job);
    if (!e)
        e = sbcast_copy(s, &a, timeout_s);
    allocation_done(&a);
    return e;
}

static struct err *sbcast_run(struct cli *c)
{
    struct slurm_command s = {0};
    struct err *e = NULL;

    if (!slurm_command_begin(&s, c, sbcast_options, false))
        return NULL;
    if (slurm_words_has(&s.words, "version"))
        e = slurm_print_version(c);
    else if (slurm_words_has(&s.words, "help") || slurm_words_has(&s.words, "usage"))
        e = output_write(c, str_of(sbcast_help));
    else
        e = sbcast_work(&s);
    if (e)
        e = slurm_fail(&s, EXIT_FAILED, e);
    slurm_command_done(&s);
    return e;
}

const struct command command_sbcast = {
    .name = "sbcast",
    .arguments = "[OPTION...] SOURCE DEST",
    .summary = "copy a file to the nodes of a job (Slurm)",
    .doc = "The copies belong to the user of the job. Without --force no file is replaced.",
    .examples = {{"sbcast -f data.tar /tmp/data.tar", "copies the file to each node"},
                 {"sbcast --jobid=12 model.bin /tmp/", "does so for another job of the user"},
                 {0}},
    .groups = FLAGS_SERVER,
    .takes = TAKES_FILES,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = sbcast_run,
};
