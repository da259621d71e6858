/* mps_watch_linux.c - starts MPS control daemons, sets their limits, watches them */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
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
#include "gpu/mps_process.h"
#include "gpu/mps_watch.h"

enum {
    TRIES_MAX = 100, /* of a daemon that starts, each after TRY_NS */
    SILENT_MAX = 3,  /* checks that a daemon may leave without an answer before it is ended */
    SOCKET_PATH_MAX = 100
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
    int64_t pid;       /* of the process, if there is one */
    struct loop_io *io;
    struct proc *control; /* a command that runs; NULL: none */
    struct loop_timer *timer;
    struct retry retry;
    int64_t ready_ns; /* monotonic; of a daemon that is ready */
    unsigned tries;
    unsigned n_silent; /* checks without an answer since the last one */
};

struct mps_watch {
    struct mps_watch_options o;
    char *dir;
    char *root;
    struct mps_daemon *daemons;
    void (*stopped)(void *arg); /* hears that no daemon is left; NULL: nobody waits for it */
    void *stopped_arg;
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

/* Removes a daemon that was to end. */
static void daemon_remove(struct mps_daemon *d)
{
    struct mps_watch *w = d->watch;
    AUTO(err_freep) struct err *e = dir_remove(d->dir);

    if (e)
        LOG(WARN, "folder of an MPS daemon stays", E(e));
    daemon_free(d);
    if (!w->daemons && w->stopped)
        w->stopped(w->stopped_arg);
}

static void daemon_ended(struct mps_daemon *d, const char *how)
{
    int64_t now_ns;

    daemon_drop_process(d);
    daemon_drop_control(d);
    if (d->state == MPS_ENDING) {
        daemon_remove(d);
        return;
    }
    LOG(WARN, "MPS daemon ended", S("gpu", d->gpu), S("namespace", d->ns), S("how", how));
    now_ns = loop_now_ns(d->watch->o.loop);
    if (d->state == MPS_READY)
        retry_went_well(&d->retry, now_ns - d->ready_ns);
    d->state = MPS_PAUSED;
    d->n_silent = 0;
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

/* The process leads a session of its own, in which its servers are. */
static void daemon_kill(struct mps_daemon *d)
{
    if (daemon_is_alive(d))
        (void)kill((pid_t)-d->pid, SIGKILL); /* it may have ended */
    if (d->proc)
        proc_kill(d->proc, SIGKILL);
    else if (d->pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, d->pidfd, SIGKILL, NULL, 0); /* it may have ended */
}

/* ---- commands ---- */

static struct err *control_start(struct mps_daemon *d, const char *commands, proc_end_fn fn)
{
    AUTO_FREE char *pipe_env = mem_format("CUDA_MPS_PIPE_DIRECTORY=%s/pipe", d->dir);
    const char *plain[] = {d->program, NULL};
    const char *below[] = {d->watch->o.self_path, "gpu-helper", "mps", d->program, d->dir,
                           d->watch->root,        NULL};
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
                      &(struct proc_options){.argv = d->watch->root ? below : plain,
                                             .is_self = d->watch->root != NULL,
                                             .env = env,
                                             .fds = {input},
                                             .n_fds = 1,
                                             .has_output = true,
                                             .deadline_ns = CONTROL_DEADLINE_NS},
                      fn, d, &d->control);
}

static void on_checked(void *arg, const struct proc_end *end)
{
    struct mps_daemon *d = arg;
    bool was_silent = d->n_silent > 0;

    d->control = NULL;
    if (d->state != MPS_READY)
        return;
    d->n_silent = end->status == 0 ? 0 : d->n_silent + 1;
    loop_timer_set(d->timer, d->watch->o.check_ns);
    if (d->n_silent == SILENT_MAX) {
        LOG(WARN, "MPS daemon is ended: it does not answer", S("gpu", d->gpu));
        daemon_kill(d);
    } else if (d->n_silent > 0 && !was_silent) {
        daemon_tell(d, "does not answer");
    } else if (d->n_silent == 0 && was_silent) {
        daemon_tell(d, NULL);
    }
}

static void daemon_check(struct mps_daemon *d)
{
    AUTO(err_freep)
    struct err *e = control_start(d, "get_default_active_thread_percentage\n", on_checked);

    if (!e)
        return;
    LOG(WARN, "MPS daemon cannot be checked", S("gpu", d->gpu), E(e));
    loop_timer_set(d->timer, d->watch->o.check_ns);
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
        d->n_silent = 0;
        if (d->watch->o.check_ns > 0)
            loop_timer_set(d->timer, d->watch->o.check_ns);
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
    if (d->program)
        e = control_start(d, "quit\n", on_quit_said);
    if (e || !d->program)
        daemon_kill(d);
}

/* ---- start ---- */

/* Finds the process that an earlier process started. */
static void daemon_find(struct mps_daemon *d)
{
    d->pidfd = mps_process_find(d->dir, &d->pid);
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
    AUTO_FREE char *pipe_env = mem_format("CUDA_MPS_PIPE_DIRECTORY=%s/pipe", d->dir);
    AUTO_FREE char *log_env = mem_format("CUDA_MPS_LOG_DIRECTORY=%s/log", d->dir);
    AUTO_FREE char *gpu_env = mem_format("CUDA_VISIBLE_DEVICES=%s", d->gpu);
    const char *root = d->watch->root ? d->watch->root : "/";
    const char *argv[] = {
        d->watch->o.self_path, "gpu-helper", "mps", d->program, d->dir, root, "-f", NULL};
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
    d->pid = proc_pid(d->proc);
    return NULL;
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
    else if (d->state == MPS_READY)
        daemon_check(d);
}

/* ---- the watch ---- */

struct mps_watch *mps_watch_new(const struct mps_watch_options *o)
{
    struct mps_watch *w = mem_alloc(sizeof(*w));

    w->o = *o;
    w->dir = mem_strdup(o->dir);
    w->root = o->root ? mem_strdup(o->root) : NULL;
    return w;
}

void mps_watch_free(struct mps_watch *w)
{
    if (!w)
        return;
    while (w->daemons)
        daemon_free(w->daemons);
    free(w->dir);
    free(w->root);
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
char *mps_watch_dir(const struct mps_watch *w, const struct mps_wish *wish)
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
                             .dir = mps_watch_dir(w, wish),
                             .program = mem_strdup(program),
                             .memory_mib = mps_client_mib(wish),
                             .percent = mps_client_percent(wish),
                             .pidfd = -1};
    d->timer = loop_timer_new(w->o.loop, on_mps_timer, d);
    w->daemons = d;
    daemon_begin(d);
    return d;
}

/* Sets other limits for the clients to come. */
static void mps_divide(struct mps_daemon *d, const struct mps_wish *wish)
{
    if (d->memory_mib == mps_client_mib(wish) && d->percent == mps_client_percent(wish))
        return;
    d->memory_mib = mps_client_mib(wish);
    d->percent = mps_client_percent(wish);
    if (d->state == MPS_READY || d->state == MPS_STARTING)
        daemon_begin(d);
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
    else
        mps_divide(d, wish);
    if (d->state != MPS_READY)
        return err_new(ERR_UNAVAILABLE, "the MPS daemon of gpu %s is starting", wish->gpu);
    if (d->n_silent > 0)
        return err_new(ERR_UNAVAILABLE, "the MPS daemon of gpu %s does not answer", wish->gpu);
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
        AUTO_FREE char *dir = mps_watch_dir(w, &wishes[i]);

        if (!mps_find(w, &wishes[i]) && file_exists(dir))
            (void)mps_add(w, program, &wishes[i]);
    }
}

/* Is it the name of a daemon's folder? */
static bool mps_is_folder(const char *name)
{
    return strlen(name) == 16 && strspn(name, "0123456789abcdef") == 16;
}

static bool mps_has_dir(const struct mps_watch *w, const char *dir)
{
    for (const struct mps_daemon *d = w->daemons; d; d = d->next)
        if (text_equal(d->dir, dir))
            return true;
    return false;
}

void mps_watch_sweep(struct mps_watch *w, const char *program)
{
    char **names = NULL;
    size_t n = 0;
    AUTO(err_freep) struct err *e = dir_list(w->dir, &names, &n); /* without it nothing is left */

    for (size_t i = 0; i < n && !e; i++) {
        AUTO_FREE char *dir = mem_format("%s/%s", w->dir, names[i]);
        struct mps_daemon *d = NULL;

        if (!mps_is_folder(names[i]) || mps_has_dir(w, dir))
            continue;
        d = mem_alloc(sizeof(*d));
        *d = (struct mps_daemon){.next = w->daemons,
                                 .watch = w,
                                 .gpu = mem_strdup(names[i]),
                                 .ns = mem_strdup(""),
                                 .dir = TAKE(dir),
                                 .program = program ? mem_strdup(program) : NULL,
                                 .state = MPS_PAUSED,
                                 .pidfd = -1};
        d->timer = loop_timer_new(w->o.loop, on_mps_timer, d);
        w->daemons = d;
        daemon_find(d);
        LOG(INFO, "MPS daemon of an earlier process ends", S("dir", d->dir));
        daemon_stop(d);
    }
    names_free(names, n);
}

void mps_watch_stop(struct mps_watch *w, void (*fn)(void *arg), void *arg)
{
    mps_watch_keep(w, NULL, NULL, 0);
    if (!w->daemons) {
        fn(arg);
        return;
    }
    w->stopped = fn;
    w->stopped_arg = arg;
}
