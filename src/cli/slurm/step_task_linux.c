/* step_task_linux.c - a task of a step: its process, pipes or terminal, input, signals, end */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/slurm/step_private.h"

enum {
    PIECE = 32768,
    END_OF_TERMINAL = 4 /* Ctrl-D */
};

static void close_io(struct loop_io **io, int *fd)
{
    loop_io_free(*io);
    *io = NULL;
    fd_close(fd_take(fd));
}

/* Has the task the terminal? The first rank of a step with one. */
static bool has_terminal(const struct step_task *t)
{
    return t->step->plan.has_terminal && t->plan->rank == 0;
}

/* ---- input ---- */

static void task_input_flush(struct step_task *t)
{
    while (t->input >= 0 && t->bytes.size > 0) {
        ssize_t n = write(t->input, t->bytes.at, t->bytes.size);

        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0 && errno != EINTR) { /* the task no longer reads */
            buf_clear(&t->bytes);
            if (!has_terminal(t))
                close_io(&t->input_io, &t->input);
            return;
        }
        buf_consume(&t->bytes, n > 0 ? (size_t)n : 0);
    }
    if (t->input >= 0 && t->input_has_ended && t->bytes.size == 0 && !has_terminal(t))
        close_io(&t->input_io, &t->input);
    else if (t->input_io)
        loop_io_want(t->input_io, has_terminal(t) && !t->step->is_paused, t->bytes.size > 0);
}

void step_task_feed(struct step_task *t, struct str bytes)
{
    static const char end = END_OF_TERMINAL;

    if (t->input < 0 || t->input_has_ended)
        return;
    if (bytes.size == 0 && has_terminal(t))
        buf_add(&t->bytes, &end, 1);
    else if (bytes.size == 0)
        t->input_has_ended = true;
    else
        buf_add(&t->bytes, bytes.at, bytes.size);
    task_input_flush(t);
}

/* ---- output ---- */

/* Reads once. False: nothing is there now, or the end. */
static bool task_read(struct step_task *t, int *fd, struct loop_io **io, char kind)
{
    char piece[PIECE];
    ssize_t n = read(*fd, piece, sizeof(piece));

    if (n > 0) {
        step_say(t->step, kind, t->plan->rank, (struct str){piece, (size_t)n});
        return true;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    close_io(io, fd); /* EIO: the terminal has no process any more */
    return false;
}

static void task_on_output(void *arg, int fd, bool readable, bool writable)
{
    struct step_task *t = arg;

    (void)fd;
    (void)readable;
    (void)writable;
    (void)task_read(t, &t->output, &t->output_io, STEP_OUTPUT);
}

static void task_on_errors(void *arg, int fd, bool readable, bool writable)
{
    struct step_task *t = arg;

    (void)fd;
    (void)readable;
    (void)writable;
    (void)task_read(t, &t->errors, &t->errors_io, STEP_ERRORS);
}

static void task_on_input(void *arg, int fd, bool readable, bool writable)
{
    struct step_task *t = arg;

    (void)fd;
    if (readable && has_terminal(t))
        (void)task_read(t, &t->input, &t->input_io, STEP_OUTPUT);
    if (!writable)
        return;
    task_input_flush(t);
    step_resume_input(t->step);
}

void step_task_pause(struct step_task *t, bool is_paused)
{
    if (t->output_io)
        loop_io_want(t->output_io, !is_paused, false);
    if (t->errors_io)
        loop_io_want(t->errors_io, !is_paused, false);
    if (t->input_io)
        loop_io_want(t->input_io, has_terminal(t) && !is_paused, t->bytes.size > 0);
}

void step_task_drain(struct step_task *t)
{
    while (t->output >= 0 && task_read(t, &t->output, &t->output_io, STEP_OUTPUT))
        continue;
    while (t->errors >= 0 && task_read(t, &t->errors, &t->errors_io, STEP_ERRORS))
        continue;
    while (has_terminal(t) && t->input >= 0 && task_read(t, &t->input, &t->input_io, STEP_OUTPUT))
        continue;
    close_io(&t->output_io, &t->output);
    close_io(&t->errors_io, &t->errors);
    close_io(&t->input_io, &t->input);
}

/* ---- the process ---- */

void step_task_signal(const struct step_task *t, int signal)
{
    if (t->pid > 0 && !t->has_ended)
        (void)kill(-t->pid, signal); /* the group of a task that just ended is gone */
}

void step_task_resize(const struct step_task *t, uint16_t columns, uint16_t rows)
{
    const struct winsize size = {.ws_col = columns, .ws_row = rows};

    if (has_terminal(t) && t->input >= 0)
        (void)ioctl(t->input, TIOCSWINSZ, &size); /* a terminal without processes has no size */
}

static void task_on_end(void *arg, int fd, bool readable, bool writable)
{
    struct step_task *t = arg;

    (void)fd;
    (void)readable;
    (void)writable;
    step_task_ended(t);
}

/* The ends of a task's pipes that are the child's; -1: none. */
struct task_ends {
    int input;
    int output;
    int errors;
    int pmi;
};

static void close_ends(struct task_ends *c)
{
    fd_close(c->input);
    fd_close(c->output);
    fd_close(c->errors);
    fd_close(c->pmi);
}

static struct err *make_pipe(int *ret_read, int *ret_write)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_errno(errno, "make a pipe");
    *ret_read = fds[0];
    *ret_write = fds[1];
    return NULL;
}

static struct err *make_terminal(struct step_task *t, struct task_ends *c)
{
    char name[64];

    t->input = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (t->input < 0 || grantpt(t->input) < 0 || unlockpt(t->input) < 0 ||
        ptsname_r(t->input, name, sizeof(name)) != 0)
        return err_errno(errno, "open a terminal");
    step_task_resize(t, t->step->plan.columns, t->step->plan.rows);
    c->input = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    return c->input < 0 ? err_errno(errno, "open a terminal") : NULL;
}

static struct err *make_ends(struct step_task *t, struct task_ends *c)
{
    if (has_terminal(t))
        return make_terminal(t, c);
    if (!t->plan->input)
        TRY(make_pipe(&c->input, &t->input));
    if (!t->plan->output)
        TRY(make_pipe(&t->output, &c->output));
    return make_pipe(&t->errors, &c->errors); /* also for the words of the child */
}

static struct err *make_all_ends(struct step_task *t, struct task_ends *c)
{
    TRY(make_ends(t, c));
    return step_pmi_make(t, &c->pmi);
}

static struct loop_io *task_io(struct step_task *t, int fd, loop_io_fn fn, bool reads)
{
    struct loop_io *io = NULL;

    if (fd < 0)
        return NULL;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK); /* valid: cannot fail */
    io = loop_io_new(t->step->loop, fd, fn, t);
    loop_io_want(io, reads, false);
    return io;
}

/* Signals wait until the child has the handlers of its program: those of this process would swallow
 * them. */
static struct err *task_fork(struct step_task *t, struct step_child *child)
{
    sigset_t all;
    sigset_t former;
    struct err *e = NULL;

    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &former);
    t->pid = fork();
    if (t->pid == 0)
        step_child_run(child);
    if (t->pid < 0)
        e = err_errno(errno, "start a task");
    (void)sigprocmask(SIG_SETMASK, &former, NULL);
    return e;
}

struct err *step_task_start(struct step_task *t)
{
    struct task_ends c = {-1, -1, -1, -1};
    char **env = step_env_make(t->plan);
    struct err *e = make_all_ends(t, &c);
    struct step_child child;

    step_pmix_put_variables(t->step, t->plan->rank, &env);
    child = (struct step_child){.plan = &t->step->plan,
                                .task = t->plan,
                                .env = env,
                                .has_failed_prolog = &t->step->failed_prologs[t->place],
                                .input = c.input,
                                .output = c.output,
                                .errors = c.errors,
                                .pmi = c.pmi,
                                .has_terminal = has_terminal(t)};

    if (!e)
        e = task_fork(t, &child);
    step_env_free(env);
    close_ends(&c);
    if (e)
        return e;
    t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
    if (t->pidfd < 0) {
        e = err_errno(errno, "watch a task");
        (void)kill(t->pid, SIGKILL); /* a child that was not reaped: cannot fail */
        return e;
    }
    t->pid_io = task_io(t, t->pidfd, task_on_end, true);
    t->input_io = task_io(t, t->input, task_on_input, has_terminal(t));
    t->output_io = task_io(t, t->output, task_on_output, true);
    t->errors_io = task_io(t, t->errors, task_on_errors, true);
    return NULL;
}

void step_task_free(struct step_task *t)
{
    close_io(&t->pid_io, &t->pidfd);
    close_io(&t->input_io, &t->input);
    close_io(&t->output_io, &t->output);
    close_io(&t->errors_io, &t->errors);
    step_pmi_close(t);
    buf_done(&t->bytes);
    free(t->end);
    free(t);
}
