/* salloc_linux.c - salloc: makes a job without a script, and runs a command beside it */

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/slurm/allocate.h"
#include "cli/term/output.h"
#include "kinds/slurm/slurm_het.h"
#include "kinds/slurm/slurm_job.h"
#include "slurm/step_layout.h"
#include "slurm/submit_het.h"

enum {
    EXIT_VALUE = 255,
    WATCH_MS = 2000 /* how often the job is looked at while the command runs */
};

struct salloc {
    struct slurm_command s;
    struct slurm_submit submit;
    struct caller caller;
    struct slurm_option *options;
    VEC(struct slurm_words) groups; /* of the components behind the first one */
    struct allocation allocation;
    pid_t pid;  /* of the command; 0: it does not run */
    int status; /* as from waitpid */
    bool is_revoked;
};

static void salloc_done(struct salloc *a)
{
    VEC_EACH (&a->groups, words)
        slurm_words_done(words);
    vec_done(&a->groups);
    allocation_done(&a->allocation);
    slurm_submit_done(&a->submit);
    caller_done(&a->caller);
    slurm_command_done(&a->s);
    free(a->options);
}

static void salloc_say(const struct salloc *a, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    if (!a->submit.is_quiet)
        (void)fprintf(a->s.cli->err, "salloc: %s\n", text);
}

/* The words of the last component, which have the command. */
static const struct slurm_words *salloc_last(const struct salloc *a)
{
    return a->groups.n > 0 ? &a->groups.at[a->groups.n - 1] : &a->s.words;
}

/* ---- the command ---- */

/* Is it a variable of the job, and not of a script's one task? */
static bool is_job_variable(const char *name)
{
    static const char *const of_task[] = {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID",
                                          "SLURM_GTIDS", "SLURM_PRIO_PROCESS"};

    for (size_t i = 0; i < COUNT(of_task); i++)
        if (text_equal(name, of_task[i]))
            return false;
    return text_starts_with(name, "SLURM_");
}

/* Sets the nodes of each component of a heterogeneous job; those of the first one are the job's. */
static void salloc_put_components(const json_t *pod, const char *hosts)
{
    static const char *const names[] = {"SLURM_JOB_NODELIST", "SLURM_NODELIST"};
    const char *counts = json_text_at(pod, "metadata", "annotations", SLURM_HET_ANNOTATION, NULL);

    for (int64_t i = 0; counts && i < SLURM_HET_MAX; i++) {
        AUTO_FREE char *nodes = slurm_het_nodes(hosts, counts, i);

        if (!nodes)
            return;
        for (size_t k = 0; k < COUNT(names); k++) {
            AUTO_FREE char *name = mem_format("%s_HET_GROUP_%" PRId64, names[k], i);

            (void)setenv(name, nodes, 1); /* NOLINT(concurrency-mt-unsafe): one thread */
            if (i == 0)
                (void)setenv(names[k], nodes, 1); /* NOLINT(concurrency-mt-unsafe) */
        }
    }
}

/* Sets the variables of the job for the command: those that a script would have. */
static struct err *salloc_variables(struct salloc *a)
{
    const json_t *nodes = json_object_get(a->allocation.report, "nodes");
    const char *first = text_or_empty(json_text(json_array_get(nodes, 0), "pod"));
    AUTO_FREE char *path = path_format("/api/v1/namespaces/%s/pods/%s", a->allocation.ns, first);
    AUTO(json_freep) json_t *pod = NULL;
    AUTO(json_freep) json_t *list = NULL;
    AUTO_FREE char *hosts = allocation_nodes(&a->allocation);
    static const char *const names[] = {"SLURM_JOB_NODELIST", "SLURM_NODELIST"};
    const char *text;

    TRY(session_get(a->s.session, path, &pod));
    text = json_text_at(pod, "metadata", "annotations", SLURM_ENVIRONMENT_ANNOTATION, NULL);
    if (text)
        TRY(json_parse(str_of(text), &list));
    if (!list)
        list = json_array();
    step_distribution_put(json_text_filled(a->submit.step, "distribution"), list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *one = text_or_empty(json_string_value(json_array_get(list, i)));
        const char *equals = strchr(one, '=');
        AUTO_FREE char *name = equals ? mem_strndup(one, (size_t)(equals - one)) : NULL;

        if (name && is_job_variable(name))
            (void)setenv(name, equals + 1, 1); /* NOLINT(concurrency-mt-unsafe): one thread */
    }
    for (size_t i = 0; i < COUNT(names); i++)
        (void)setenv(names[i], hosts, 1); /* NOLINT(concurrency-mt-unsafe): one thread */
    salloc_put_components(pod, hosts);
    return NULL;
}

_Noreturn static void salloc_child(const struct salloc *a)
{
    struct passwd *user = getpwuid(geteuid()); /* NOLINT(concurrency-mt-unsafe) */
    const char *shell = getenv("SHELL");       /* NOLINT(concurrency-mt-unsafe) */
    const char *fallback = user && user->pw_shell ? user->pw_shell : "/bin/sh";
    const char *alone[] = {shell && *shell ? shell : fallback, NULL};
    const char **words = alone;
    const struct slurm_words *last = salloc_last(a);
    AUTO_FREE const char **given = mem_alloc((last->arguments.n + 1) * sizeof(*given));

    for (size_t i = 0; i < last->arguments.n; i++)
        given[i] = last->arguments.at[i];
    given[last->arguments.n] = NULL;
    if (last->arguments.n > 0)
        words = given;
    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL); /* fails for KILL, STOP and those of the C library */
    (void)execvp(words[0], (char *const *)(uintptr_t)words);
    (void)fprintf(stderr, "salloc: error: Unable to exec command \"%s\": %s\n", words[0],
                  strerror(errno)); /* NOLINT(concurrency-mt-unsafe): one thread */
    _exit(1);
}

static void salloc_reap(void *arg)
{
    struct salloc *a = arg;

    if (a->pid > 0 && waitpid(a->pid, &a->status, WNOHANG) == a->pid) {
        a->pid = 0;
        session_stop(a->s.session);
    }
}

static void salloc_ignore(void *arg)
{
    (void)arg; /* the terminal gives the signal to the command, too */
}

static void salloc_pass(void *arg)
{
    struct salloc *a = arg;

    if (a->pid > 0)
        (void)kill(a->pid, SIGTERM); /* a child that was not reaped: cannot fail */
}

/* Looks after the job while the command runs: a job that ended ends the command. */
static void salloc_watch(struct salloc *a)
{
    AUTO_FREE char *id = mem_format("%" PRId64, a->allocation.job_id);

    while (a->pid > 0) {
        AUTO(err_freep) struct err *e = allocation_pause(&a->s, WATCH_MS);

        salloc_reap(a);
        if (e || a->pid == 0 || a->is_revoked)
            continue;
        e = allocation_find(&a->allocation, id);
        if (e ? err_code(e) == ERR_NOT_FOUND : allocation_has_ended(&a->allocation)) {
            a->is_revoked = true;
            salloc_say(a, "Job allocation %" PRId64 " has been revoked.", a->allocation.job_id);
            (void)kill(a->pid, SIGHUP); /* a child that was not reaped: cannot fail */
        }
    }
}

static struct err *salloc_run_command(struct salloc *a)
{
    struct session *s = a->s.session;

    TRY(salloc_variables(a));
    (void)fflush(NULL);
    session_on_signal(s, SIGCHLD, salloc_reap, a);
    a->pid = fork();
    if (a->pid == 0)
        salloc_child(a);
    if (a->pid < 0)
        return err_errno(errno, "start the command");
    session_on_signal(s, SIGQUIT, salloc_ignore, a);
    session_on_signal(s, SIGTERM, salloc_pass, a);
    session_on_signal(s, SIGHUP, salloc_pass, a);
    salloc_watch(a);
    a->s.cli->exit_code = WIFEXITED(a->status) ? WEXITSTATUS(a->status) : 128 + WTERMSIG(a->status);
    return NULL;
}

/* ---- the job ---- */

static void salloc_on_signal(void *arg)
{
    struct salloc *a = arg;

    if (a->pid > 0)
        return; /* the terminal gives the signal to the command, too */
    a->allocation.signal = SIGINT;
    session_stop(a->s.session);
}

static struct err *salloc_work(struct salloc *a)
{
    const struct slurm_words *last = salloc_last(a);
    const char *program = last->arguments.n > 0 ? last->arguments.at[0] : "interactive";
    const char *slash = strrchr(program, '/');
    int64_t immediate_s = json_int(a->submit.step, "immediate", -1);

    TRY(slurm_command_open(&a->s));
    TRY(allocation_create(&a->allocation, &a->submit, &a->caller, slash ? slash + 1 : program));
    session_on_signal(a->s.session, SIGINT, salloc_on_signal, a);
    TRY(allocation_wait(&a->allocation, immediate_s, a->submit.is_quiet));
    salloc_say(a, "Granted job allocation %" PRId64, a->allocation.job_id);
    if (json_bool(a->submit.step, "noShell", false)) {
        a->allocation.is_ours = false; /* it stays until scancel or its time limit */
        return NULL;
    }
    return salloc_run_command(a);
}

static struct err *salloc_end(struct salloc *a)
{
    if (!a->allocation.is_ours || a->is_revoked)
        return NULL;
    salloc_say(a, "Relinquishing job allocation %" PRId64, a->allocation.job_id);
    return allocation_end(&a->allocation, a->s.cli->exit_code & 0xff, 0);
}

static const char salloc_help[] =
    "Usage: salloc [OPTIONS...] [COMMAND [ARGUMENT...]]\n\n"
    "Makes a job without a script, runs the command (a shell) here, and ends the job.\n"
    "docs/slurm.md lists the options; https://slurm.schedmd.com/salloc.html describes them.\n";

/* A word ":" in the place of the command begins the next component. */
static struct err *salloc_split(struct salloc *a)
{
    for (;;) {
        const struct slurm_words *last = salloc_last(a);
        struct slurm_words next = {0};

        if (last->arguments.n == 0 || !text_equal(last->arguments.at[0], ":"))
            return NULL;
        TRY(slurm_words_parse(a->options, true, last->arguments.n - 1, last->arguments.at + 1,
                              &next));
        vec_add(&a->groups, next);
    }
}

/* Adds the components behind the first one. */
static struct err *salloc_apply_components(struct salloc *a)
{
    struct slurm_submit before = {0};
    struct err *e = NULL;

    for (size_t i = 0; !e && i < a->groups.n; i++) {
        struct slurm_submit next;

        slurm_submit_component_begin(i == 0 ? &a->submit : &before, &next);
        e = slurm_submit_apply_variables(&next, slurm_variable);
        if (!e)
            e = slurm_submit_apply(&next, &a->groups.at[i]);
        if (!e)
            e = slurm_submit_component_end(&a->submit, &next);
        slurm_submit_done(&before);
        before = next;
    }
    slurm_submit_done(&before);
    return e;
}

static struct err *salloc_apply(struct salloc *a)
{
    a->submit.now_s = a->s.view.now_s;
    a->submit.zone = a->s.view.zone;
    a->submit.read_file = file_read;
    a->submit.cwd = a->caller.cwd;
    TRY(slurm_submit_apply_variables(&a->submit, slurm_variable));
    TRY(slurm_submit_apply(&a->submit, &a->s.words));
    TRY(salloc_apply_components(a));
    if (a->submit.cluster)
        return err_new(ERR_INVALID,
                       "'%s' can't be reached now, or it is an invalid entry for --cluster.",
                       a->submit.cluster);
    return NULL;
}

static struct err *salloc_steps(struct salloc *a)
{
    struct err *e;
    struct err *other;

    if (slurm_words_has(&a->s.words, "version"))
        return slurm_print_version(a->s.cli);
    if (slurm_words_has(&a->s.words, "help") || slurm_words_has(&a->s.words, "usage"))
        return output_write(a->s.cli, str_of(salloc_help));
    e = salloc_split(a);
    if (!e)
        e = caller_look(&a->caller);
    if (!e)
        e = salloc_apply(a);
    for (size_t i = 0; !e && i < a->submit.warnings.n && !a->submit.is_quiet; i++)
        (void)fprintf(a->s.cli->err, "salloc: warning: %s\n", a->submit.warnings.at[i]);
    if (!e)
        e = salloc_work(a);
    other = salloc_end(a);
    if (!e)
        e = other;
    else
        err_free(other); /* the first error is told */
    if (!e)
        return NULL;
    return slurm_fail(&a->s, err_code(e) == ERR_BAD_REQUEST ? EXIT_VALUE : EXIT_FAILED, e);
}

static struct err *salloc_run(struct cli *c)
{
    struct salloc a = {.s = {.usage_code = EXIT_VALUE},
                       .submit = {.command = SLURM_SALLOC},
                       .options = slurm_submit_options(SLURM_SALLOC)};
    struct err *e = NULL;

    a.allocation.s = &a.s;
    if (slurm_command_begin(&a.s, c, a.options, true))
        e = salloc_steps(&a);
    salloc_done(&a);
    return e;
}

const struct command command_salloc = {
    .name = "salloc",
    .arguments = "[OPTION...] [COMMAND [ARGUMENT...]]",
    .summary = "allocate nodes for a command, with the options of Slurm's salloc",
    .doc = "The command runs here, and starts steps with srun. Without a command a shell runs. "
           "The job ends with it.",
    .examples = {{"salloc -N 1 --gres=gpu:2 srun nvidia-smi -L", "runs a step and ends the job"},
                 {"salloc --time=01:00:00", "opens a shell with an allocation of an hour"},
                 {0}},
    .groups = FLAGS_SERVER,
    .takes = TAKES_FILES,
    .n_max = SIZE_MAX,
    .reads_words = true,
    .run = salloc_run,
};
