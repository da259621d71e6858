/* mps_watch_linux.c - starts MPS control daemons, sets their limits, watches them */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fnv.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/proc.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "gpu/mps_watch.h"

enum {
    TRIES_MAX = 100, /* of a daemon that starts, each after TRY_NS */
    SOCKET_PATH_MAX = 100,
    STAT_MAX = 1024
};

static const int64_t TRY_NS = 50 * NS_PER_MS;
static const int64_t CONTROL_DEADLINE_NS = 5 * NS_PER_SEC;
static const int64_t QUIT_NS = 5 * NS_PER_SEC;

enum mps_state {
    MPS_PAUSED, /* does not run */
    MPS_STARTING,
    MPS_READY,
    MPS_ENDING
};

struct mps_daemon {
    struct mps_daemon *next;
    struct mps_watch *watch;
    char *gpu;
    char *ns;
    char *dir;
    char *program;
    int64_t memory_mib;
    unsigned percent;
    enum mps_state state;
    struct proc *proc; /* our child; NULL: none, or the child of an earlier process */
    int pidfd;         /* of that one; -1: none */
    struct loop_io *io;
    struct proc *control; /* a command that runs; NULL: none */
    struct loop_timer *timer;
    struct retry retry;
    int64_t ready_ns; /* monotonic; of a daemon that is ready */
    unsigned tries;
};

struct mps_watch {
    struct mps_watch_options o;
    char *dir;
    struct mps_daemon *daemons;
    void (*fn)(void *arg, const char *gpu, const char *ns, const char *problem);
    void *arg;
};

int64_t mps_client_mib(const struct mps_wish *wish)
{
    return (wish->memory_bytes >> 20) / wish->clients;
}

unsigned mps_client_percent(const struct mps_wish *wish)
{
    return wish->clients < 100 ? 100 / wish->clients : 1;
}

/* ---- processes of daemons ---- */

static bool daemon_is_alive(const struct mps_daemon *d)
{
    return d->proc || d->pidfd >= 0;
}

/* The start of a process in clock ticks, which tells it from a later one with its pid; -1: there is
 * no such process. */
static int64_t process_started(int64_t pid)
{
    AUTO_FREE char *path = mem_format("/proc/%" PRId64 "/stat", pid);
    AUTO(buf_done) struct buf b = {.cap = STAT_MAX};
    AUTO(err_freep) struct err *e = file_read(path, STAT_MAX, &b);
    const char *at = e ? NULL : strrchr(b.at, ')');
    struct str rest = at ? str_of(at + 2) : (struct str){0};
    int64_t ticks = -1;

    for (int i = 3; i < 22 && rest.at; i++) /* fields count from 1, the state is the third */
        (void)str_cut(&rest, ' ');
    if (rest.at) {
        AUTO(err_freep)
        struct err *bad = num_parse_int64(str_cut(&rest, ' '), 0, INT64_MAX, &ticks);

        (void)bad; /* -1 stays */
    }
    return ticks;
}

static struct err *daemon_note(const struct mps_daemon *d)
{
    AUTO_FREE char *path = mem_format("%s/daemon", d->dir);
    int64_t pid = proc_pid(d->proc);
    AUTO_FREE char *text = mem_format("%" PRId64 " %" PRId64 "\n", pid, process_started(pid));

    return file_write(path, 0600, str_of(text));
}

static void daemon_drop_process(struct mps_daemon *d)
{
    loop_io_free(d->io);
    d->io = NULL;
    fd_close(d->pidfd);
    d->pidfd = -1;
    d->proc = NULL;
}

static void daemon_drop_control(struct mps_daemon *d)
{
    if (d->control)
        proc_abandon(d->control);
    d->control = NULL;
}

static void daemon_free(struct mps_daemon *d)
{
    struct mps_daemon **at = &d->watch->daemons;

    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    daemon_drop_control(d);
    if (d->proc)
        proc_abandon(d->proc);
    daemon_drop_process(d);
    loop_timer_free(d->timer);
    free(d->gpu);
    free(d->ns);
    free(d->dir);
    free(d->program);
    free(d);
}

static void daemon_tell(const struct mps_daemon *d, const char *problem)
{
    if (d->watch->fn)
        d->watch->fn(d->watch->arg, d->gpu, d->ns, problem);
}

static void daemon_ended(struct mps_daemon *d, const char *how)
{
    AUTO(err_freep) struct err *e = NULL;
    int64_t now_ns;

    daemon_drop_process(d);
    daemon_drop_control(d);
    if (d->state == MPS_ENDING) {
        e = dir_remove(d->dir);
        if (e)
            LOG(WARN, "folder of an MPS daemon stays", E(e));
        daemon_free(d);
        return;
    }
    LOG(WARN, "MPS daemon ended", S("gpu", d->gpu), S("namespace", d->ns), S("how", how));
    now_ns = loop_now_ns(d->watch->o.loop);
    if (d->state == MPS_READY)
        retry_went_well(&d->retry, now_ns - d->ready_ns);
    d->state = MPS_PAUSED;
    loop_timer_set(d->timer, retry_failed(&d->retry, now_ns));
    daemon_tell(d, how);
}

static void on_daemon_end(void *arg, const struct proc_end *end)
{
    AUTO_FREE char *how = proc_format_status(end->status);

    daemon_ended(arg, how);
}

static void on_found_end(void *arg, int fd, bool readable, bool writable)
{
    (void)fd;
    (void)readable;
    (void)writable;
    daemon_ended(arg, "it is gone");
}

static void daemon_kill(struct mps_daemon *d)
{
    if (d->proc)
        proc_kill(d->proc, SIGKILL);
    else if (d->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, d->pidfd, SIGKILL, NULL, 0); /* it may have ended */
}

/* ---- commands ---- */

static struct err *control_start(struct mps_daemon *d, const char *commands, proc_end_fn fn)
{
    AUTO_FREE char *pipe_env = mem_format("CUDA_MPS_PIPE_DIRECTORY=%s/pipe", d->dir);
    const char *argv[] = {d->program, NULL};
    const char *env[] = {pipe_env, NULL};
    AUTO(fd_closep) int input = -1;
    AUTO(fd_closep) int output = -1;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_errno(errno, "pipe to nvidia-cuda-mps-control");
    input = ends[0];
    output = ends[1];
    if (write(output, commands, strlen(commands)) != (ssize_t)strlen(commands))
        return err_errno(errno, "write to nvidia-cuda-mps-control");
    daemon_drop_control(d);
    return proc_start(d->watch->o.loop,
                      &(struct proc_options){.argv = argv,
                                             .env = env,
                                             .fds = {input},
                                             .n_fds = 1,
                                             .has_output = true,
                                             .deadline_ns = CONTROL_DEADLINE_NS},
                      fn, d, &d->control);
}

static void on_limits_set(void *arg, const struct proc_end *end)
{
    struct mps_daemon *d = arg;

    d->control = NULL;
    if (d->state != MPS_STARTING)
        return;
    if (end->status == 0) {
        d->state = MPS_READY;
        d->ready_ns = loop_now_ns(d->watch->o.loop);
        LOG(INFO, "MPS daemon is ready", S("gpu", d->gpu), S("namespace", d->ns));
        daemon_tell(d, NULL);
    } else if (++d->tries < TRIES_MAX) {
        loop_timer_set(d->timer, TRY_NS);
    } else {
        AUTO_FREE char *said = mem_strndup(end->output.at, end->output.size);

        LOG(WARN, "MPS daemon takes no commands", S("gpu", d->gpu), S("said", said));
        daemon_kill(d);
    }
}

static void daemon_set_limits(struct mps_daemon *d)
{
    AUTO_FREE char *commands = mem_format("set_default_device_pinned_mem_limit 0 %" PRId64 "M\n"
                                          "set_default_active_thread_percentage %u\n",
                                          d->memory_mib, d->percent);
    AUTO(err_freep) struct err *e = control_start(d, commands, on_limits_set);

    if (!e)
        return;
    LOG(WARN, "MPS daemon gets no limits", S("gpu", d->gpu), E(e));
    daemon_kill(d);
}

static void on_quit_said(void *arg, const struct proc_end *end)
{
    struct mps_daemon *d = arg;

    (void)end; /* the timer of QUIT_NS kills a daemon that stays */
    d->control = NULL;
}

static void daemon_stop(struct mps_daemon *d)
{
    AUTO(err_freep) struct err *e = NULL;

    if (d->state == MPS_ENDING)
        return;
    d->state = MPS_ENDING;
    if (!daemon_is_alive(d)) {
        daemon_ended(d, "");
        return;
    }
    loop_timer_set(d->timer, QUIT_NS);
    e = control_start(d, "quit\n", on_quit_said);
    if (e)
        daemon_kill(d);
}

/* ---- start ---- */

/* Finds the process that an earlier mete node started. */
static void daemon_find(struct mps_daemon *d)
{
    AUTO_FREE char *path = mem_format("%s/daemon", d->dir);
    AUTO(buf_done) struct buf b = {.cap = STAT_MAX};
    AUTO(err_freep) struct err *e = file_read(path, STAT_MAX, &b);
    struct str rest = e ? (struct str){0} : (struct str){b.at, b.size};
    int64_t pid = 0;
    int64_t started = 0;

    if (!e)
        e = num_parse_int64(str_cut(&rest, ' '), 1, INT32_MAX, &pid);
    if (!e)
        e = num_parse_int64(str_cut(&rest, '\n'), 0, INT64_MAX, &started);
    if (e)
        return;
    d->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (d->pidfd >= 0 && process_started(pid) != started) {
        fd_close(d->pidfd);
        d->pidfd = -1;
    }
    if (d->pidfd < 0)
        return;
    d->io = loop_io_new(d->watch->o.loop, d->pidfd, on_found_end, d);
    loop_io_want(d->io, true, false);
}

/* Servers and clients of other users write into the folders; only the tenant's pods see them. */
static struct err *daemon_make_dirs(const struct mps_daemon *d)
{
    static const char *const names[] = {"pipe", "log", "shm"};

    TRY(dir_make(d->dir, 0711));
    for (size_t i = 0; i < COUNT(names); i++) {
        AUTO_FREE char *path = mem_format("%s/%s", d->dir, names[i]);

        TRY(dir_make(path, 0755));
        if (chmod(path, 01777) < 0)
            return err_errno(errno, "change the mode of %s", path);
    }
    return NULL;
}

static struct err *daemon_start(struct mps_daemon *d)
{
    AUTO_FREE char *shm = mem_format("%s/shm", d->dir);
    AUTO_FREE char *pipe_env = mem_format("CUDA_MPS_PIPE_DIRECTORY=%s/pipe", d->dir);
    AUTO_FREE char *log_env = mem_format("CUDA_MPS_LOG_DIRECTORY=%s/log", d->dir);
    AUTO_FREE char *gpu_env = mem_format("CUDA_VISIBLE_DEVICES=%s", d->gpu);
    const char *argv[] = {d->watch->o.self_path, "gpu-helper", "mps", d->program, shm, NULL};
    const char *env[] = {pipe_env, log_env, gpu_env, NULL};

    TRY(daemon_make_dirs(d));
    TRY(proc_start(d->watch->o.loop,
                   &(struct proc_options){.argv = argv,
                                          .is_self = true,
                                          .env = env,
                                          .fds = {-1, 2, 2},
                                          .n_fds = 3,
                                          .is_session = true},
                   on_daemon_end, d, &d->proc));
    return daemon_note(d);
}

static void daemon_begin(struct mps_daemon *d)
{
    AUTO(err_freep) struct err *e = NULL;

    d->tries = 0;
    d->state = MPS_STARTING;
    if (!daemon_is_alive(d))
        daemon_find(d);
    if (!daemon_is_alive(d))
        e = daemon_start(d);
    if (!e) {
        daemon_set_limits(d);
        return;
    }
    LOG(WARN, "MPS daemon does not start", S("gpu", d->gpu), S("namespace", d->ns), E(e));
    if (daemon_is_alive(d)) {
        daemon_kill(d); /* on_daemon_end tries again */
        return;
    }
    d->state = MPS_PAUSED;
    loop_timer_set(d->timer, retry_failed(&d->retry, loop_now_ns(d->watch->o.loop)));
}

static void on_mps_timer(void *arg)
{
    struct mps_daemon *d = arg;

    if (d->state == MPS_ENDING)
        daemon_kill(d);
    else if (d->state == MPS_PAUSED)
        daemon_begin(d);
    else if (d->state == MPS_STARTING)
        daemon_set_limits(d);
}

/* ---- the watch ---- */

struct mps_watch *mps_watch_new(const struct mps_watch_options *o)
{
    struct mps_watch *w = mem_alloc(sizeof(*w));

    w->o = *o;
    w->dir = mem_strdup(o->dir);
    return w;
}

void mps_watch_free(struct mps_watch *w)
{
    if (!w)
        return;
    while (w->daemons)
        daemon_free(w->daemons);
    free(w->dir);
    free(w);
}

void mps_watch_listen(struct mps_watch *w,
                      void (*fn)(void *arg, const char *gpu, const char *ns, const char *problem),
                      void *arg)
{
    w->fn = fn;
    w->arg = arg;
}

static struct mps_daemon *mps_find(const struct mps_watch *w, const struct mps_wish *wish)
{
    for (struct mps_daemon *d = w->daemons; d; d = d->next)
        if (text_equal(d->gpu, wish->gpu) && text_equal(d->ns, wish->ns))
            return d;
    return NULL;
}

/* The folder's name is short: the path of a socket has about a hundred bytes. */
static char *mps_dir(const struct mps_watch *w, const struct mps_wish *wish)
{
    AUTO_FREE char *key = mem_format("%s/%s", wish->gpu, wish->ns);

    return mem_format("%s/%016" PRIx64, w->dir, fnv_text(FNV_START, key));
}

static struct mps_daemon *mps_add(struct mps_watch *w, const char *program,
                                  const struct mps_wish *wish)
{
    struct mps_daemon *d = mem_alloc(sizeof(*d));

    *d = (struct mps_daemon){.next = w->daemons,
                             .watch = w,
                             .gpu = mem_strdup(wish->gpu),
                             .ns = mem_strdup(wish->ns),
                             .dir = mps_dir(w, wish),
                             .program = mem_strdup(program),
                             .memory_mib = mps_client_mib(wish),
                             .percent = mps_client_percent(wish),
                             .pidfd = -1};
    d->timer = loop_timer_new(w->o.loop, on_mps_timer, d);
    w->daemons = d;
    daemon_begin(d);
    return d;
}

struct err *mps_watch_take(struct mps_watch *w, const char *program, const struct mps_wish *wish,
                           struct mps_client *ret)
{
    struct mps_daemon *d = mps_find(w, wish);

    if (!program)
        return err_new(ERR_UNAVAILABLE, "the driver has no nvidia-cuda-mps-control");
    if (strlen(w->dir) + sizeof("/0123456789abcdef/pipe/control") > SOCKET_PATH_MAX)
        return err_new(ERR_UNAVAILABLE, "the data directory's path is too long for MPS: %s",
                       w->dir);
    if (!d)
        d = mps_add(w, program, wish);
    if (d->state != MPS_READY)
        return err_new(ERR_UNAVAILABLE, "the MPS daemon of gpu %s is starting", wish->gpu);
    *ret = (struct mps_client){.dir = d->dir, .memory_mib = d->memory_mib, .percent = d->percent};
    return NULL;
}

static bool mps_is_wished(const struct mps_daemon *d, const struct mps_wish *wishes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text_equal(d->gpu, wishes[i].gpu) && text_equal(d->ns, wishes[i].ns))
            return true;
    return false;
}

void mps_watch_keep(struct mps_watch *w, const char *program, const struct mps_wish *wishes,
                    size_t n)
{
    struct mps_daemon *next = NULL;

    for (struct mps_daemon *d = w->daemons; d; d = next) {
        next = d->next;
        if (!mps_is_wished(d, wishes, n))
            daemon_stop(d);
    }
    for (size_t i = 0; i < n && program; i++) {
        AUTO_FREE char *dir = mps_dir(w, &wishes[i]);

        if (!mps_find(w, &wishes[i]) && file_exists(dir))
            (void)mps_add(w, program, &wishes[i]);
    }
}

/* ---- the daemon's process ---- */

int mps_daemon_exec(const char *program, const char *shm)
{
    const char *const argv[] = {program, "-f", NULL};

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
        mount(shm, "/dev/shm", NULL, MS_BIND, NULL) < 0) {
        (void)fprintf(stderr, "mete: %s as /dev/shm: %s\n", shm, strerror(errno));
        return 1;
    }
    (void)execv(program, (char *const *)(uintptr_t)argv);
    (void)fprintf(stderr, "mete: %s: %s\n", program, strerror(errno));
    return 1;
}
