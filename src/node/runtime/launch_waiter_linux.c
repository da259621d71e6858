/*
 * launch_waiter_linux.c - the waiter of a native attempt: makes the cgroup, forks the first
 * process, waits until all processes are gone, and writes the end
 *
 * An attempt that holds an allocation has no first process: commands run in it until a signal ends
 * it.
 *
 * The waiter is the subreaper of all that the job leaves behind. The end of the first process ends
 * the others with SIGKILL. The end is written after the cgroup was removed, and a cgroup with a
 * process in it cannot be removed: so an end in the file proves that nothing of the attempt runs.
 */

#include "node/runtime/launch_waiter_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/runtime/launch_helper.h"
#include "node/runtime/launch_program_linux.h"
#include "node/runtime/native_file_linux.h"

enum {
    ERROR_MAX = 400,           /* bytes of a message in the end */
    CODE_NOT_STARTED = 128,    /* as Kubernetes' runtimes */
    EMPTY_MIN_NS = 200 * 1000, /* the first pause between looks at a cgroup that empties */
    EMPTY_MAX_NS = 50 * 1000000
};

struct waiting {
    const struct launch_task *task;
    struct native_plan plan;
    struct launch_cgroup cgroup;
    char *script; /* path; NULL: none */
    pid_t first;
    int failure_fd; /* read end: a launch_failure of the first process */
    int status;
    struct rusage rusage;
    int64_t started_ns;
    int64_t finished_ns;
    bool is_oom;
    bool has_prolog;    /* it was begun: the epilog follows */
    const char *failed; /* "prolog", "epilog"; NULL: neither */
    struct cgroup_stats stats;
};

static int64_t launch_wall_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
    return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

/* ---- the script ---- */

static char *script_dir(const struct launch_task *t)
{
    return mem_format(LAUNCH_JOBS_DIR "/%s", t->id);
}

static struct err *script_fill(int fd, const struct native_plan *p)
{
    size_t size = strlen(p->script);
    ssize_t n = write(fd, p->script, size);

    if (n != (ssize_t)size)
        return err_errno(n < 0 ? errno : ENOSPC, "write the script");
    if (fchown(fd, p->uid, p->gid) < 0 || fchmod(fd, 0500) < 0)
        return err_errno(errno, "give the script to uid %u", p->uid);
    return NULL;
}

/* Writes the script to a file of the user, in a directory of root's: only the file can grow. */
static struct err *script_write(struct waiting *w)
{
    AUTO_FREE char *dir = script_dir(w->task);
    AUTO_FREE char *path = mem_format("%s/script", dir);
    AUTO(fd_closep) int fd = -1;
    size_t n = 0;

    if (mkdir(dir, 0711) < 0 && errno != EEXIST)
        return err_errno(errno, "make %s", dir);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(errno, "make %s", path);
    TRY(script_fill(fd, &w->plan));
    while (w->plan.args[n])
        n++;
    w->plan.args = mem_realloc(w->plan.args, (n + 2) * sizeof(*w->plan.args));
    memmove(w->plan.args + 1, w->plan.args, (n + 1) * sizeof(*w->plan.args));
    w->script = TAKE(path);
    w->plan.args[0] = w->script;
    return NULL;
}

static void script_remove(const struct waiting *w)
{
    AUTO_FREE char *dir = script_dir(w->task);

    if (w->script) {
        (void)unlink(w->script); /* a leftover goes with the launcher's namespace */
        (void)rmdir(dir);
    }
}

/* ---- the first process ---- */

/* Forks, in v2 into the cgroup: no process of the job was ever elsewhere. */
static pid_t first_fork(const struct waiting *w)
{
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned)w->cgroup.dir_fd};

    return w->cgroup.is_v2 ? (pid_t)syscall(SYS_clone3, &args, sizeof(args)) : _Fork();
}

static struct err *first_start(struct waiting *w)
{
    int fds[2] = {-1, -1};

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_errno(errno, "make a pipe");
    w->failure_fd = fds[0];
    w->first = first_fork(w);
    if (w->first == 0)
        launch_child(w->task, &w->plan, &w->cgroup, fds[1]);
    fd_close(fds[1]);
    return w->first < 0 ? err_errno(errno, "fork") : NULL;
}

static struct err *failure_error(const struct waiting *w, struct launch_failure f)
{
    const struct native_plan *p = &w->plan;
    const char *errors = p->errors ? p->errors : p->output;

    switch (f.step) {
    case LAUNCH_CGROUP:
        return err_errno(f.number, "join the cgroup %s", p->cgroup);
    case LAUNCH_IDENTITY:
        return err_errno(f.number, "become uid %u", p->uid);
    case LAUNCH_DIRECTORY:
        return err_errno(f.number, "enter %s as uid %u", p->cwd, p->uid);
    case LAUNCH_INPUT:
        return err_errno(f.number, "open %s as uid %u", p->input ? p->input : "/dev/null", p->uid);
    case LAUNCH_OUTPUT:
        return err_errno(f.number, "open %s as uid %u", p->output ? p->output : "/dev/null",
                         p->uid);
    case LAUNCH_ERRORS:
        return err_errno(f.number, "open %s as uid %u", errors ? errors : "/dev/null", p->uid);
    case LAUNCH_FDS:
        return err_errno(f.number, "close descriptors");
    case LAUNCH_EXEC:
    default:
        return err_errno(f.number, "run %s", p->script ? "the script" : p->args[0]);
    }
}

/* The error of a first process that did not reach its program; NULL: the program ran. */
static struct err *first_failure(const struct waiting *w)
{
    struct launch_failure f = {0};

    if (w->failure_fd < 0 || read(w->failure_fd, &f, sizeof(f)) != (ssize_t)sizeof(f))
        return NULL;
    return failure_error(w, f);
}

/* ---- waiting ---- */

/* Reaps what has ended. True: the first process is among it. */
static bool reap(struct waiting *w)
{
    bool is_over = false;
    struct rusage rusage;
    int status = 0;
    pid_t pid;

    while ((pid = wait4(-1, &status, WNOHANG, &rusage)) > 0) {
        if (pid != w->first)
            continue;
        w->status = status;
        w->rusage = rusage;
        is_over = true;
    }
    return is_over;
}

/* The end of a job also asks its steps to end. */
static void forward_signal(const struct waiting *w, int value)
{
    int signal = value & ~LAUNCH_FIRST_ONLY;

    if (value == SIGKILL)
        (void)launch_cgroup_kill(&w->cgroup);
    if (value == SIGTERM)
        (void)launch_cgroup_signal_steps(&w->cgroup, NULL, signal);
    if (w->first > 0 && signal > 0 && signal < NSIG)
        (void)kill(w->first, signal); /* not reaped yet: the pid is the child's */
}

static void first_wait(struct waiting *w, const sigset_t *awaited)
{
    while (!reap(w)) {
        siginfo_t info = {0};
        int signal = sigwaitinfo(awaited, &info);

        if (signal == LAUNCH_SIGNAL && info.si_uid == 0)
            forward_signal(w, info.si_value.sival_int);
    }
    w->finished_ns = launch_wall_ns();
}

static bool ends_hold(int signal)
{
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGKILL;
}

/* Waits for a signal that ends the allocation, and then until its steps have ended, or SIGKILL. */
static void hold_wait(struct waiting *w, const sigset_t *awaited)
{
    const struct timespec pause = {.tv_nsec = EMPTY_MAX_NS};
    int end = 0;

    while (end != SIGKILL && (end == 0 || launch_cgroup_signal_steps(&w->cgroup, NULL, 0) > 0)) {
        siginfo_t info = {0};
        int signal = sigtimedwait(awaited, &info, end == 0 ? NULL : &pause);

        if (signal != LAUNCH_SIGNAL || info.si_uid != 0 || !ends_hold(info.si_value.sival_int))
            continue;
        end = info.si_value.sival_int;
        forward_signal(w, SIGTERM);
    }
    w->status = end; /* as of a process that the signal ended */
    w->finished_ns = launch_wall_ns();
}

/* Ends what the first process left behind, and removes the cgroup. Processes in a driver may keep
 * it for long. */
static void cgroup_end(struct waiting *w, const sigset_t *awaited)
{
    struct timespec pause = {.tv_nsec = EMPTY_MIN_NS};

    for (;;) {
        (void)launch_cgroup_kill(&w->cgroup);
        (void)reap(w);
        launch_cgroup_sample(&w->cgroup, &w->stats);
        w->is_oom = w->is_oom || launch_cgroup_had_oom(&w->cgroup);
        if (launch_cgroup_remove(&w->cgroup))
            return;
        (void)sigtimedwait(awaited, NULL, &pause); /* a child's end, a signal or the time */
        pause.tv_nsec = pause.tv_nsec * 2 < EMPTY_MAX_NS ? pause.tv_nsec * 2 : EMPTY_MAX_NS;
    }
}

/* ---- the end ---- */

static int64_t launch_us(struct timeval t)
{
    return t.tv_sec * 1000000 + t.tv_usec;
}

static char *end_format(const struct waiting *w, const struct err *e)
{
    AUTO(json_freep) json_t *end = json_object();
    int status = w->status;
    char text[ERROR_MAX];

    json_put_int(end, "code",
                 e                   ? CODE_NOT_STARTED
                 : WIFEXITED(status) ? WEXITSTATUS(status)
                                     : 128 + WTERMSIG(status));
    if (!e && WIFSIGNALED(status))
        json_put_int(end, "signal", WTERMSIG(status));
    json_put_int(end, "startedNs", w->started_ns);
    json_put_int(end, "finishedNs", w->finished_ns);
    json_put_int(end, "cpuNs", w->stats.cpu_ns);
    json_put_int(end, "peakBytes", w->stats.memory_peak_bytes);
    json_put_int(end, "userUs", launch_us(w->rusage.ru_utime));
    json_put_int(end, "systemUs", launch_us(w->rusage.ru_stime));
    json_put_int(end, "maxRssKib", w->rusage.ru_maxrss);
    if (w->is_oom)
        json_put_bool(end, "oom", true);
    json_put_text(end, "failed", w->failed);
    if (e) {
        (void)snprintf(text, sizeof(text), "%s", err_message(e));
        json_put_text(end, "error", text);
    }
    return json_format(end);
}

/* The file first: the report only saves the node a look at it. */
static int end_tell(const struct waiting *w, const struct err *e)
{
    AUTO_FREE char *end = end_format(w, e);
    AUTO_FREE char *line = mem_format("%s %s\n", w->task->id, end);

    if (!native_file_put_end(w->task->fd, end))
        return 1;
    (void)!write(LAUNCH_REPORT_FD, line, strlen(line)); /* the node may be gone */
    return 0;
}

/* ---- the attempt ---- */

static struct err *prolog_run(struct waiting *w)
{
    struct err *e = NULL;

    w->has_prolog = true;
    if (w->plan.prolog)
        e = launch_programs_run(&w->plan, w->plan.prolog, "prolog");
    if (e)
        w->failed = "prolog";
    return e;
}

/* A failure of the epilog does not change the end of the job. */
static void epilog_run(struct waiting *w)
{
    AUTO(err_freep) struct err *e = NULL;

    if (w->has_prolog && w->plan.epilog)
        e = launch_programs_run(&w->plan, w->plan.epilog, "epilog");
    if (e && !w->failed)
        w->failed = "epilog";
}

static struct err *attempt_begin(struct waiting *w, const json_t *document)
{
    TRY(native_plan_read(document, &w->plan));
    TRY(prolog_run(w));
    TRY(launch_cgroup_make(w->task->cgroup_root, &w->plan, &w->cgroup));
    if (w->plan.script)
        TRY(script_write(w));
    w->started_ns = launch_wall_ns();
    if (!w->plan.is_hold)
        TRY(first_start(w));
    (void)native_file_put_begun(w->task->fd, w->first); /* unwritten: no command can be run */
    return NULL;
}

static void mask_signals(sigset_t *ret_awaited)
{
    sigset_t all;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)sigemptyset(ret_awaited);
    (void)sigaddset(ret_awaited, SIGCHLD);
    (void)sigaddset(ret_awaited, LAUNCH_SIGNAL);
}

int launch_wait(const struct launch_task *t)
{
    struct waiting w = {.task = t, .failure_fd = -1, .cgroup.dir_fd = -1, .stats = {-1, -1, -1}};
    AUTO(json_freep) json_t *document = NULL;
    struct err *e = NULL;
    sigset_t awaited;
    int code;

    (void)prctl(PR_SET_NAME, "mete-wait", 0, 0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    mask_signals(&awaited);
    if (!native_file_put_waiter(t->fd, getpid()))
        return 1;
    e = native_file_read_document(t->fd, &document);
    if (!e)
        e = attempt_begin(&w, document);
    if (!e && w.plan.is_hold)
        hold_wait(&w, &awaited);
    else if (!e)
        first_wait(&w, &awaited);
    else
        w.started_ns = w.finished_ns = launch_wall_ns();
    if (w.cgroup.path)
        cgroup_end(&w, &awaited);
    if (!e)
        e = first_failure(&w);
    epilog_run(&w);
    script_remove(&w);
    code = end_tell(&w, e);
    err_free(e);
    return code;
}
