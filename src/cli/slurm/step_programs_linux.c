/*
 * step_programs_linux.c - TaskProlog and TaskEpilog of slurm.conf, --task-prolog, --task-epilog
 *
 * Prologs run in the task's process before its program, where they see what the task will see. The
 * lines of their output are those of https://slurm.schedmd.com/prolog_epilog.html:
 *   export NAME=VALUE, unset NAME, print TEXT
 * The manager has one thread, so that its child may allocate memory.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "cli/slurm/step_private.h"

enum {
    PROLOG_OUTPUT_MAX = 1 << 20, /* bytes: more are a failure */
    PIECE = 4096,
    EPILOG_S = 5 /* the longest run of an epilog */
};

/* ---- prologs ---- */

/* The rest of a line that begins with the word; {0}: another line. */
static struct str line_rest(struct str line, struct str word)
{
    if (!str_starts_with(line, word))
        return (struct str){0};
    line = (struct str){line.at + word.size, line.size - word.size};
    while (line.size > 0 && *line.at == ' ') {
        line.at++;
        line.size--;
    }
    return line;
}

static void write_line(struct str text)
{
    AUTO(buf_done) struct buf line = {0};

    buf_add(&line, text.at, text.size);
    buf_add_char(&line, '\n');
    while (line.size > 0) {
        ssize_t n = write(STDOUT_FILENO, line.at, line.size);

        if (n < 0 && errno != EINTR)
            return; /* nobody reads the task's output */
        buf_consume(&line, n > 0 ? (size_t)n : 0);
    }
}

static void prolog_take_line(struct str line, char ***env)
{
    struct str variable = line_rest(line, STR("export "));
    struct str name = line_rest(line, STR("unset "));
    const char *equal = variable.size > 0 ? memchr(variable.at, '=', variable.size) : NULL;

    if (str_starts_with(line, STR("print ")))
        write_line((struct str){line.at + strlen("print "), line.size - strlen("print ")});
    else if (equal && equal > variable.at)
        step_env_set(env, mem_strndup(variable.at, variable.size));
    else if (name.size > 0)
        step_env_unset(*env, str_cut(&name, ' '));
}

/* Runs in a child of the task's process. */
static _Noreturn void prolog_exec(const char *path, int output, char **env)
{
    char *argv[] = {mem_strdup(path), NULL};
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);

    step_env_set(&env, mem_strdup("SLURM_SCRIPT_CONTEXT=prolog_task"));
    if (input < 0 || dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0)
        _exit(1);
    (void)execve(path, argv, env);
    _exit(errno < 126 ? errno : 1);
}

/* Reads until all who have the other end are gone. False: the output is too long. */
static bool prolog_read(int fd, struct buf *output)
{
    char piece[PIECE];
    ssize_t n;

    while ((n = read(fd, piece, sizeof(piece))) > 0 || (n < 0 && errno == EINTR))
        buf_add(output, piece, n > 0 ? (size_t)n : 0);
    return !output->overflow;
}

static bool prolog_run(const char *path, char ***env)
{
    AUTO(buf_done) struct buf output = {.cap = PROLOG_OUTPUT_MAX};
    int pair[2];
    int status = -1;
    bool is_read;
    pid_t pid;

    if (access(path, X_OK) < 0 || pipe2(pair, O_CLOEXEC) < 0) {
        dprintf(STDERR_FILENO, "slurmstepd: error: Could not run task prolog [%s]: %s\n", path,
                strerror(errno)); /* NOLINT(concurrency-mt-unsafe): one thread */
        return false;
    }
    pid = fork();
    if (pid == 0)
        prolog_exec(path, pair[1], *env);
    fd_close(pair[1]);
    is_read = prolog_read(pair[0], &output);
    fd_close(pair[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!is_read || status != 0) {
        AUTO_FREE char *how = !is_read  ? mem_strdup("its output is too long")
                              : pid < 0 ? mem_strdup("no process")
                                        : proc_format_status(status);

        dprintf(STDERR_FILENO, "slurmstepd: error: task prolog [%s] failed: %s\n", path, how);
        return false;
    }
    for (struct str rest = {output.at, output.size}; rest.at && rest.size > 0;)
        prolog_take_line(str_cut(&rest, '\n'), env);
    return true;
}

bool step_prologs_run(const struct step_plan *plan, char ***env)
{
    for (const char **path = plan->prologs; *path; path++)
        if (!prolog_run(*path, env))
            return false;
    return true;
}

/* ---- epilogs ---- */

/* As with Slurm a failure is told, and changes nothing. */
static void epilog_failed(const struct step_task *t, const char *how)
{
    AUTO_FREE char *text = mem_format("task %u: epilog %s failed: %s", t->plan->rank,
                                      t->step->plan.epilogs[t->n_epilogs], how);

    step_say(t->step, STEP_WARNING, t->plan->rank, str_of(text));
}

static void epilog_on_end(void *arg, const struct proc_end *end)
{
    struct step_task *t = arg;
    AUTO_FREE char *how = end->timed_out ? mem_format("killed after %d s", EPILOG_S)
                                         : proc_format_status(end->status);

    if (end->status != 0)
        epilog_failed(t, how);
    t->n_epilogs++;
    step_epilogs_run(t);
}

static struct err *epilog_start(struct step_task *t)
{
    const char *argv[] = {t->step->plan.epilogs[t->n_epilogs], NULL};
    char **env = step_env_make(t->plan);
    struct proc_options o = {.argv = argv,
                             .cwd = t->step->plan.cwd,
                             .fds = {-1, -1, -1},
                             .n_fds = 3,
                             .is_session = true,
                             .deadline_ns = EPILOG_S * NS_PER_SEC};
    struct err *e;

    step_env_set(&env, mem_format("SLURM_TASK_PID=%d", (int)t->pid));
    step_env_set(&env, mem_strdup("SLURM_SCRIPT_CONTEXT=epilog_task"));
    o.env = (const char *const *)env;
    e = proc_start(t->step->loop, &o, epilog_on_end, t, NULL);
    step_env_free(env);
    return e;
}

void step_epilogs_run(struct step_task *t)
{
    while (t->step->plan.epilogs[t->n_epilogs]) {
        AUTO(err_freep) struct err *e = epilog_start(t);

        if (!e)
            return; /* its end goes on */
        epilog_failed(t, err_message(e));
        t->n_epilogs++;
    }
    step_task_over(t);
}
