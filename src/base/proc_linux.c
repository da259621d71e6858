/*
 * proc_linux.c - child processes by fork, exec and pidfd
 *
 * fork, because posix_spawn cannot change identity, drop capabilities or enter a directory as
 * the new user. Between fork and exec the child calls only async-signal-safe functions, on data
 * prepared before. Raw system calls change the identity: glibc's wrappers signal the other threads
 * of the process, which the child does not have. An error of the child reaches the parent through a
 * pipe that exec closes.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/proc.h"

enum {
    FD_SAFE = 64, /* above all descriptors that the child gets */
    OUTPUT_CAP_BYTES = 64 << 10
};

struct proc {
    pid_t pid;
    int pidfd;
    int output_fd; /* -1: none, or end of file */
    struct buf output;
    bool is_session;
    bool timed_out;
    proc_end_fn fn; /* NULL: abandoned */
    void *arg;
    struct loop_io *on_end;
    struct loop_io *on_output;
    struct loop_timer *deadline;
};

/* The child's data, prepared before the fork. */
struct plan {
    const struct proc_options *options;
    const char *program;   /* path found by PATH, or of the caller's own program */
    int fds[PROC_FDS_MAX]; /* source of descriptor i; -1: absent */
    int n_fds;
    int report_fd;
    sigset_t mask; /* the parent's mask; the child starts with an empty one */
};

enum step {
    STEP_FDS,
    STEP_SESSION,
    STEP_IDENTITY,
    STEP_DIRECTORY,
    STEP_EXEC
};

/* The child's message about where it failed. */
struct report {
    enum step step;
    int number;
};

static void proc_free(struct proc *p)
{
    if (!p)
        return;
    loop_timer_free(p->deadline);
    loop_io_free(p->on_end);
    loop_io_free(p->on_output);
    fd_close(p->pidfd);
    fd_close(p->output_fd);
    buf_done(&p->output);
    free(p);
}

/* ---- in the child ---- */

static _Noreturn void child_fail(const struct plan *plan, enum step step)
{
    struct report report = {.step = step, .number = errno};

    if (write(plan->report_fd, &report, sizeof(report)) < 0)
        _exit(126);
    _exit(127);
}

/* Resets all signals: otherwise our handlers could run in the child until exec, and ignored signals
 * would stay ignored after it. */
static void child_reset_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, &action, NULL); /* fails for SIGKILL, SIGSTOP and libc's own signals */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Moves all descriptors above the targets, then each to its target. */
static void child_place_fds(struct plan *plan)
{
    int n = plan->n_fds;

    for (int i = 0; i < n; i++) {
        if (plan->fds[i] < 0)
            continue;
        plan->fds[i] = fcntl(plan->fds[i], F_DUPFD_CLOEXEC, FD_SAFE);
        if (plan->fds[i] < 0)
            child_fail(plan, STEP_FDS);
    }
    plan->report_fd = fcntl(plan->report_fd, F_DUPFD_CLOEXEC, FD_SAFE);
    if (plan->report_fd < 0)
        _exit(126);
    for (int i = 0; i < n; i++) {
        if (plan->fds[i] < 0)
            (void)close(i);
        else if (dup2(plan->fds[i], i) < 0)
            child_fail(plan, STEP_FDS);
    }
    if (dup3(plan->report_fd, n, O_CLOEXEC) < 0)
        child_fail(plan, STEP_FDS);
    plan->report_fd = n;
    if (close_range((unsigned)n + 1, ~0u, 0) != 0)
        child_fail(plan, STEP_FDS);
}

/* Changes to the user for good: no groups, no capabilities, no gain by setuid programs. */
static bool child_become(uid_t uid, gid_t gid)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    bool is_already = geteuid() == uid && getegid() == gid;

    if (!is_already) {
        for (unsigned long cap = 0; cap < 64; cap++)
            (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* EINVAL past the last one */
        if (syscall(SYS_setresgid, gid, gid, gid) != 0 || syscall(SYS_setgroups, 1, &gid) != 0 ||
            syscall(SYS_setresuid, uid, uid, uid) != 0)
            return false;
    }
    return syscall(SYS_capset, &header, none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static _Noreturn void child_run(struct plan *plan)
{
    const struct proc_options *o = plan->options;
    char *const *env = o->env ? (char *const *)(uintptr_t)o->env : environ;
    char *const *argv = (char *const *)(uintptr_t)o->argv; /* exec does not write to it */
    int program_fd = -1;

    child_reset_signals();
    child_place_fds(plan);
    /* With a descriptor the child can run the program even if its user cannot enter the directories
     * above. */
    if ((o->is_self || o->uid != 0) && (program_fd = open(plan->program, O_PATH | O_CLOEXEC)) < 0)
        child_fail(plan, STEP_EXEC);
    if (o->is_session && setsid() < 0)
        child_fail(plan, STEP_SESSION);
    if (o->uid != 0 && !child_become(o->uid, o->gid))
        child_fail(plan, STEP_IDENTITY);
    if (o->cwd && chdir(o->cwd) != 0)
        child_fail(plan, STEP_DIRECTORY);
    if (program_fd >= 0)
        (void)execveat(program_fd, "", argv, env, AT_EMPTY_PATH);
    else
        (void)execve(plan->program, argv, env);
    child_fail(plan, STEP_EXEC);
}

/* ---- before the fork ---- */

static struct err *find_program(const char *name, char **ret)
{
    const char *path = getenv("PATH");
    struct str rest = str_of(path ? path : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin");

    if (strchr(name, '/')) {
        *ret = mem_strdup(name);
        return NULL;
    }
    while (rest.at) {
        struct str dir = str_cut(&rest, ':');
        AUTO_FREE char *program = mem_format(STR_FMT "/%s", STR_ARG(dir), name);

        if (dir.size > 0 && access(program, X_OK) == 0) {
            *ret = TAKE(program);
            return NULL;
        }
    }
    return err_new(ERR_NOT_FOUND, "run %s: no such program in PATH", name);
}

static struct err *make_pipe(int ret[2])
{
    if (pipe2(ret, O_CLOEXEC) != 0)
        return err_errno(errno, "create a pipe");
    return NULL;
}

/* `null_fd` stands for /dev/null, `output_fd` for the pipe of the output (-1: none). */
static void plan_fds(struct plan *plan, int null_fd, int output_fd)
{
    const struct proc_options *o = plan->options;

    plan->n_fds = o->n_fds > 3 ? (int)o->n_fds : 3;
    for (int i = 0; i < plan->n_fds; i++) {
        if ((size_t)i < o->n_fds)
            plan->fds[i] = o->fds[i];
        else
            plan->fds[i] = o->n_fds == 0 && i > 0 ? i : -1;
        if (output_fd >= 0 && (i == 1 || i == 2))
            plan->fds[i] = output_fd;
        else if (plan->fds[i] < 0 && i < 3)
            plan->fds[i] = null_fd;
    }
}

/* ---- in the parent ---- */

static struct err *child_failure(const struct plan *plan, struct report report)
{
    const struct proc_options *o = plan->options;

    switch (report.step) {
    case STEP_SESSION:
        return err_errno(report.number, "run %s: start a session", plan->program);
    case STEP_IDENTITY:
        return err_errno(report.number, "run %s: become user %u, group %u", plan->program, o->uid,
                         o->gid);
    case STEP_DIRECTORY:
        return err_errno(report.number, "run %s: enter directory %s", plan->program, o->cwd);
    case STEP_FDS:
        return err_errno(report.number, "run %s: place its descriptors", plan->program);
    case STEP_EXEC:
    default:
        return err_errno(report.number, "run %s", plan->program);
    }
}

/* Waits until the child has run the program, or reported why not. */
static struct err *await_exec(const struct plan *plan, int report_fd)
{
    struct report report = {0};
    ssize_t n;

    do
        n = read(report_fd, &report, sizeof(report));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(report) ? child_failure(plan, report) : NULL;
}

static struct err *fork_child(struct plan *plan, int *ret_pidfd, pid_t *ret_pid)
{
    int report[2] = {-1, -1};
    struct err *e;
    sigset_t all;
    pid_t pid;
    int pidfd;

    TRY(make_pipe(report));
    plan->report_fd = report[1];
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &plan->mask); /* our handlers must not run in the child */
    pid = _Fork();
    if (pid == 0)
        child_run(plan);
    e = pid < 0 ? err_errno(errno, "run %s: fork", plan->program) : NULL;
    (void)sigprocmask(SIG_SETMASK, &plan->mask, NULL);
    fd_close(report[1]);
    if (!e)
        e = await_exec(plan, report[0]);
    fd_close(report[0]);
    pidfd = e ? -1 : pidfd_open(pid, 0);
    if (!e && pidfd < 0) {
        e = err_errno(errno, "run %s: open a pidfd", plan->program);
        (void)kill(pid, SIGKILL); /* our child, not reaped yet: it exists */
    }
    if (e) {
        if (pid > 0)
            (void)waitpid(pid, NULL, 0); /* the child has exited or is about to */
        return e;
    }
    *ret_pidfd = pidfd;
    *ret_pid = pid;
    return NULL;
}

/* Reads the available output, at most a pipe's content, so that a child that writes without end
 * does not block the loop. Output past the cap is dropped, so that the child does not block. */
static void read_output(struct proc *p)
{
    char part[4096];

    for (size_t done = 0; done < OUTPUT_CAP_BYTES; done += sizeof(part)) {
        ssize_t n = read(p->output_fd, part, sizeof(part));
        size_t room = OUTPUT_CAP_BYTES - p->output.size;

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            loop_io_free(p->on_output);
            p->on_output = NULL;
            fd_close(p->output_fd);
            p->output_fd = -1;
            return;
        }
        buf_add(&p->output, part, (size_t)n < room ? (size_t)n : room);
    }
}

static void on_output(void *arg, int fd, bool readable, bool writable)
{
    (void)fd;
    (void)readable;
    (void)writable;
    read_output(arg);
}

/* All output of the child is in the pipe by now. A grandchild may keep the other end open, so do
 * not wait for end of file. */
static void proc_on_end(void *arg, int fd, bool readable, bool writable)
{
    struct proc *p = arg;
    struct proc_end end = {.pid = p->pid, .timed_out = p->timed_out};
    pid_t reaped;

    (void)fd;
    (void)readable;
    (void)writable;
    reaped = waitpid(p->pid, &end.status, WNOHANG);
    if (reaped == 0)
        return;
    assert(reaped == p->pid); /* otherwise other code waits for our children: a bug */
    if (p->output_fd >= 0)
        read_output(p);
    end.output = (struct str){p->output.at ? p->output.at : "", p->output.size};
    if (p->fn)
        p->fn(p->arg, &end);
    proc_free(p);
}

static void proc_on_deadline(void *arg)
{
    struct proc *p = arg;

    p->timed_out = true;
    if (p->is_session)
        (void)kill(-p->pid, SIGKILL); /* not reaped yet, so the pid is still the child's */
    proc_kill(p, SIGKILL);
}

static void proc_watch(struct proc *p, struct loop *l, int64_t deadline_ns)
{
    p->on_end = loop_io_new(l, p->pidfd, proc_on_end, p);
    loop_io_want(p->on_end, true, false);
    if (p->output_fd >= 0) {
        p->on_output = loop_io_new(l, p->output_fd, on_output, p);
        loop_io_want(p->on_output, true, false);
    }
    if (deadline_ns > 0) {
        p->deadline = loop_timer_new(l, proc_on_deadline, p);
        loop_timer_set(p->deadline, deadline_ns);
    }
}

struct err *proc_start(struct loop *l, const struct proc_options *options, proc_end_fn fn,
                       void *arg, struct proc **ret)
{
    AUTO_FREE char *program = NULL;
    AUTO(fd_closep) int null_fd = -1;
    AUTO(fd_closep) int output_in = -1;
    AUTO(fd_closep) int output_out = -1;
    struct plan plan = {.options = options};
    struct proc *p;
    int pipe_fds[2] = {-1, -1};
    pid_t pid = 0;
    int pidfd = -1;

    assert(options->n_fds <= PROC_FDS_MAX);
    if (options->is_self)
        program = mem_strdup("/proc/self/exe");
    else
        TRY(find_program(options->argv[0], &program));
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_fd < 0)
        return err_errno(errno, "open /dev/null");
    if (options->has_output) {
        TRY(make_pipe(pipe_fds));
        output_out = pipe_fds[0];
        output_in = pipe_fds[1];
        (void)fcntl(output_out, F_SETFL, O_NONBLOCK); /* a new pipe: cannot fail */
    }
    plan.program = program;
    plan_fds(&plan, null_fd, output_in);
    TRY(fork_child(&plan, &pidfd, &pid));
    p = mem_alloc(sizeof(*p));
    p->pid = pid;
    p->pidfd = pidfd;
    p->output_fd = fd_take(&output_out);
    p->output.cap = OUTPUT_CAP_BYTES;
    p->is_session = options->is_session;
    p->fn = fn;
    p->arg = arg;
    proc_watch(p, l, options->deadline_ns);
    if (ret)
        *ret = p;
    return NULL;
}

pid_t proc_pid(const struct proc *p)
{
    return p->pid;
}

void proc_kill(struct proc *p, int signal)
{
    (void)pidfd_send_signal(p->pidfd, signal, NULL, 0); /* fails if the child has ended: fine */
}

void proc_hand_over(struct proc *p, proc_end_fn fn, void *arg)
{
    p->fn = fn;
    p->arg = arg;
}

void proc_abandon(struct proc *p)
{
    p->fn = NULL;
}

char *proc_format_status(int status)
{
    const char *name;

    if (WIFEXITED(status))
        return mem_format("exited with %d", WEXITSTATUS(status));
    if (!WIFSIGNALED(status))
        return mem_format("ended with status 0x%x", (unsigned)status);
    name = sigabbrev_np(WTERMSIG(status));
    if (!name)
        return mem_format("killed by signal %d", WTERMSIG(status));
    return mem_format("killed by SIG%s", name);
}
