/* step_child_linux.c - a task before its program: descriptors, terminal, cpus, directory, variables
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/slurm/step_private.h"

/* A child has no log: its words go to the task's stderr, as those of slurmstepd. */
static void child_say(const char *what, const char *name)
{
    dprintf(STDERR_FILENO, "slurmstepd: error: %s: %s: %s\n", what, name,
            strerror(errno)); /* NOLINT(concurrency-mt-unsafe): one thread */
}

_Noreturn static void child_fail(const char *what, const char *name)
{
    int code = errno > 0 && errno < 126 ? errno : 1;

    child_say(what, name);
    _exit(code);
}

static int open_path(const char *path, bool is_input)
{
    int fd = open(path, is_input ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, 0666);

    if (fd < 0)
        child_fail(is_input ? "Could not open stdin file" : "Could not open stdout file", path);
    return fd;
}

static void put_descriptor(int from, int to)
{
    if (from != to && dup2(from, to) < 0)
        _exit(1);
}

/* The order matters: errors are reported on the task's stderr as soon as it is there. */
static void child_set_files(const struct step_child *c)
{
    const struct step_task_plan *t = c->task;
    const char *input = text_equal(t->input, "-") ? "/dev/null" : t->input;
    const char *output = text_equal(t->output, "-") ? "/dev/null" : t->output;
    const char *errors = text_equal(t->errors, "-") ? "/dev/null" : t->errors;

    if (c->errors >= 0)
        put_descriptor(c->errors, STDERR_FILENO);
    if (c->has_terminal) {
        put_descriptor(c->input, STDIN_FILENO);
        put_descriptor(c->input, STDOUT_FILENO);
        put_descriptor(c->input, STDERR_FILENO);
        return;
    }
    put_descriptor(output ? open_path(output, false) : c->output, STDOUT_FILENO);
    if (errors && text_equal(errors, output))
        put_descriptor(STDOUT_FILENO, STDERR_FILENO);
    else if (errors)
        put_descriptor(open_path(errors, false), STDERR_FILENO);
    put_descriptor(input ? open_path(input, true) : c->input, STDIN_FILENO);
}

static void child_bind(const struct step_task_plan *task)
{
    cpu_set_t set;

    if (!task->has_cpus)
        return;
    CPU_ZERO(&set);
    for (size_t i = 0; i < task->cpus.n; i++)
        if (task->cpus.at[i] < CPU_SETSIZE)
            CPU_SET((size_t)task->cpus.at[i], &set);
    if (sched_setaffinity(0, sizeof(set), &set) < 0)
        child_say("sched_setaffinity", "the task is not bound");
}

static void child_enter(const char *cwd)
{
    if (chdir(cwd) == 0)
        return;
    dprintf(STDERR_FILENO, "slurmstepd: error: couldn't chdir to `%s': %s: going to /tmp instead\n",
            cwd, strerror(errno)); /* NOLINT(concurrency-mt-unsafe): one thread */
    if (chdir("/tmp") < 0)
        _exit(1);
}

static void child_reset_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL); /* fails for KILL, STOP and those of the C library */
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn void step_child_run(struct step_child *c)
{
    (void)setsid();
    if (c->has_terminal)
        (void)ioctl(c->input, TIOCSCTTY, 0);
    child_set_files(c);
    (void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    if (c->pmi >= 0) {
        put_descriptor(c->pmi, STEP_PMI_FD);
        (void)fcntl(STEP_PMI_FD, F_SETFD, 0); /* open: cannot fail */
    }
    child_reset_signals();
    child_bind(c->task);
    (void)umask((mode_t)c->plan->umask);
    child_enter(c->plan->cwd);
    step_env_set(&c->env, mem_format("SLURM_TASK_PID=%d", (int)getpid()));
    if (!step_prologs_run(c->plan, &c->env)) {
        *c->has_failed_prolog = true;
        _exit(1);
    }
    environ = c->env;
    (void)execvp(c->task->argv[0], (char *const *)(uintptr_t)c->task->argv);
    child_fail("execve()", c->task->argv[0]);
}
