/* native_attempt_linux.c - finds the state of a native attempt, its end and its usage */

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/stamp.h"
#include "node/runtime/cgroup_freeze.h"
#include "node/runtime/cgroup_remove_linux.h"
#include "node/runtime/launch_helper.h"
#include "node/runtime/native_linux.h"

enum {
    LOOK_AGAIN_MS = 10,    /* while a start is on its way */
    CLEANUP_RETRY_MS = 50, /* while processes of a lost waiter end */
    USAGE_FILE_MAX = 4096
};

static const int64_t SAVE_EVERY_NS = 10 * NS_PER_SEC; /* while only gpus are sampled */

struct native_attempt *native_find(struct native *n, const char *id)
{
    struct native_attempt *a = NULL;

    map_find_text(handle, n->attempts, id, a);
    return a;
}

struct native_attempt *native_attempt_new(struct native *n, const char *id, const json_t *intent)
{
    struct native_attempt *a = mem_alloc(sizeof(*a));

    *a = (struct native_attempt){.n = n, .fd = -1, .pidfd = -1};
    a->id = mem_strdup(id);
    a->intent = json_twin(intent);
    map_add(handle, n->attempts, a->id, strlen(a->id), a);
    return a;
}

static void attempt_unwatch(struct native_attempt *a)
{
    loop_io_free(a->pidfd_io);
    a->pidfd_io = NULL;
    fd_close(a->pidfd);
    a->pidfd = -1;
}

void native_attempt_free(struct native_attempt *a)
{
    map_remove(handle, a->n->attempts, a);
    attempt_unwatch(a);
    fd_close(a->fd);
    loop_timer_free(a->timer);
    json_decref(a->intent);
    vec_done(&a->removals);
    free(a->document);
    free(a->message);
    free(a->id);
    free(a);
}

char *native_attempt_path(const struct native_attempt *a)
{
    return mem_format("%s/%s", a->n->dir, a->id);
}

char *native_usage_path(const struct native_attempt *a)
{
    return mem_format("%s/usage/%s", a->n->dir, a->id);
}

static char *attempt_cgroup(const struct native_attempt *a)
{
    return mem_format("/mete/%s", a->id);
}

/* ---- usage ---- */

static void attempt_load_usage(struct native_attempt *a)
{
    AUTO_FREE char *path = native_usage_path(a);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (a->is_usage_read)
        return;
    a->is_usage_read = true;
    a->usage = USAGE_UNKNOWN;
    e = file_read(path, USAGE_FILE_MAX, &text);
    if (!e)
        usage_parse((struct str){text.at, text.size}, &a->usage);
}

/* A realtime stamp by the monotonic clock. */
static int64_t monotonic_ns(const struct native_attempt *a, int64_t stamp_ns)
{
    int64_t now_ns = loop_now_ns(a->n->loop);
    int64_t ago_ns = loop_wall_ns(a->n->loop) - stamp_ns;

    return stamp_ns <= 0 || ago_ns < 0 ? now_ns : now_ns - ago_ns;
}

static void attempt_save_usage(struct native_attempt *a)
{
    AUTO_FREE char *path = native_usage_path(a);
    AUTO_FREE char *text = usage_format(&a->usage);
    AUTO(err_freep) struct err *e = file_write(path, 0600, str_of(text));

    a->usage_saved_ns = loop_now_ns(a->n->loop);
    if (e)
        LOG(WARN, "usage of an attempt cannot be written", S("id", a->id), E(e));
}

bool native_usage(void *self, const char *id, struct usage *ret)
{
    struct native *n = self;
    struct native_attempt *a = native_find(n, id);
    AUTO_FREE char *cgroup = a ? attempt_cgroup(a) : NULL;
    struct cgroup_stats stats = {-1, -1, -1};
    AUTO(err_freep) struct err *e = NULL;

    if (!a || a->state != RUNTIME_RUNNING)
        return false;
    attempt_load_usage(a);
    e = cgroup_stats_read(n->cgroup_root, cgroup, &stats);
    if (e)
        return false;
    usage_add(&a->usage, &stats, monotonic_ns(a, a->exit.started_ns), loop_now_ns(n->loop));
    attempt_save_usage(a);
    *ret = a->usage;
    return true;
}

void native_add_gpus(void *self, const char *id, const struct gpu_used *g)
{
    struct native *n = self;
    struct native_attempt *a = native_find(n, id);

    if (!a || a->state != RUNTIME_RUNNING)
        return;
    attempt_load_usage(a);
    usage_add_gpus(&a->usage, g);
    if (loop_now_ns(n->loop) - a->usage_saved_ns >= SAVE_EVERY_NS)
        attempt_save_usage(a);
}

static void attempt_end_usage(struct native_attempt *a, const json_t *end)
{
    const struct cgroup_stats stats = {.cpu_ns = json_int(end, "cpuNs", -1),
                                       .memory_bytes = -1,
                                       .memory_peak_bytes = json_int(end, "peakBytes", -1)};

    attempt_load_usage(a);
    if (stats.cpu_ns >= 0 || stats.memory_peak_bytes >= 0)
        usage_end(&a->usage, &stats, monotonic_ns(a, a->exit.started_ns),
                  monotonic_ns(a, a->exit.finished_ns));
    a->exit.has_usage = a->usage.is_known || a->usage.total.gpu_busy_ns >= 0;
    a->exit.usage = a->usage.total;
}

/* ---- the end ---- */

static void attempt_move(struct native_attempt *a, enum runtime_state state, bool is_told)
{
    struct runtime *rt = &a->n->runtime;
    struct runtime_container c = {.id = a->id, .intent = a->intent};
    bool is_news = a->state != state;

    a->state = state;
    c.state = state;
    c.exit = a->exit;
    if (is_told && is_news && rt->on_change)
        rt->on_change(rt->arg, &c);
}

static const char *failed_program(const json_t *end)
{
    const char *failed = json_text(end, "failed");

    return text_equal(failed, "prolog") ? "prolog" : text_equal(failed, "epilog") ? "epilog" : NULL;
}

void native_ended(struct native_attempt *a, const json_t *end, bool is_told)
{
    const char *error = json_text(end, "error");

    if (a->state == RUNTIME_ENDED)
        return;
    attempt_unwatch(a);
    free(a->message);
    a->message = error ? mem_strdup(error) : NULL;
    a->exit = (struct runtime_exit){.code = (int)json_int(end, "code", RUNTIME_CODE_UNKNOWN),
                                    .signal = (int)json_int(end, "signal", 0),
                                    .was_started = true,
                                    .failed = failed_program(end),
                                    .is_oom = json_bool(end, "oom", false),
                                    .started_ns = json_int(end, "startedNs", 0),
                                    .finished_ns = json_int(end, "finishedNs", 0),
                                    .message = a->message};
    attempt_end_usage(a, end);
    attempt_move(a, RUNTIME_ENDED, is_told);
}

static void attempt_end_unknown(struct native_attempt *a, bool is_told)
{
    attempt_unwatch(a);
    a->exit.code = RUNTIME_CODE_UNKNOWN;
    a->exit.was_started = true;
    a->exit.finished_ns = loop_wall_ns(a->n->loop);
    attempt_load_usage(a);
    a->exit.has_usage = a->usage.is_known || a->usage.total.gpu_busy_ns >= 0;
    a->exit.usage = a->usage.total;
    attempt_move(a, RUNTIME_ENDED, is_told);
}

/* ---- watching ---- */

static void on_look_again(void *arg)
{
    native_inspect(arg, true);
}

static void attempt_look_again(struct native_attempt *a, int64_t delay_ms)
{
    if (!a->timer)
        a->timer = loop_timer_new(a->n->loop, on_look_again, a);
    loop_timer_set(a->timer, delay_ms * NS_PER_MS);
}

static void on_waiter_end(void *arg, int fd, bool readable, bool writable)
{
    struct native_attempt *a = arg;

    (void)fd;
    (void)readable;
    (void)writable;
    attempt_unwatch(a);
    native_inspect(a, true);
}

/* Opens the waiter by its pid; as the lock was held afterwards, the pid was not reused. */
static int waiter_open(const struct native_attempt *a, pid_t pid)
{
    AUTO_FREE char *path = native_attempt_path(a);
    AUTO(fd_closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    return fd >= 0 && native_file_is_held(path) ? fd_take(&fd) : -1;
}

/* The node's own launcher reports the ends of its waiters; others are watched. */
static void attempt_watch(struct native_attempt *a, pid_t waiter)
{
    if (a->pidfd >= 0)
        return;
    a->pidfd = waiter > 0 ? waiter_open(a, waiter) : -1;
    if (a->pidfd < 0) {
        attempt_look_again(a, LOOK_AGAIN_MS);
        return;
    }
    a->pidfd_io = loop_io_new(a->n->loop, a->pidfd, on_waiter_end, a);
    loop_io_want(a->pidfd_io, true, false);
}

/* The waiter was killed: nothing but the cgroup tells whether the job is over. */
static void attempt_clean_up(struct native_attempt *a, bool is_told)
{
    AUTO_FREE char *cgroup = attempt_cgroup(a);

    err_free(cgroup_freeze(a->n->cgroup_root, cgroup, false)); /* frozen, no process would end */
    if (cgroup_remove(a->n->cgroup_root, cgroup)) {
        LOG(WARN, "attempt ended without an exit code", S("id", a->id));
        attempt_end_unknown(a, is_told);
        return;
    }
    attempt_move(a, RUNTIME_RUNNING, is_told);
    attempt_look_again(a, CLEANUP_RETRY_MS);
}

static void attempt_settle(struct native_attempt *a, const struct native_record *r, bool is_held,
                           bool is_told)
{
    bool is_of_boot = text_equal(json_text(a->intent, "boot"), a->n->boot_id);

    a->exit.started_ns = r->started_ns;
    if (r->end) {
        native_ended(a, r->end, is_told);
    } else if (!is_of_boot) { /* marked or not: the mark is not synced */
        attempt_end_unknown(a, is_told);
    } else if (!r->is_marked) {
        attempt_move(a, RUNTIME_INTENDED, is_told);
    } else if (is_held) {
        a->exit.was_started = true;
        attempt_move(a, RUNTIME_RUNNING, is_told);
        attempt_watch(a, r->waiter);
    } else if (r->waiter == 0) {
        a->exit = (struct runtime_exit){0};
        attempt_move(a, RUNTIME_INTENDED, is_told);
    } else {
        a->exit.was_started = true;
        attempt_clean_up(a, is_told);
    }
}

/* The lock before the places: a waiter writes the end, then its own end releases the lock. */
void native_inspect(struct native_attempt *a, bool is_told)
{
    AUTO_FREE char *path = native_attempt_path(a);
    struct native_record r = {0};
    bool is_held = native_file_is_held(path);
    AUTO(err_freep) struct err *e = NULL;

    if (a->state == RUNTIME_ENDED || a->fd >= 0) /* not sent yet: the lock is ours */
        return;
    e = native_file_read(path, false, &r);
    if (e) {
        LOG(ERROR, "file of an attempt cannot be read", S("id", a->id), E(e));
        attempt_look_again(a, CLEANUP_RETRY_MS);
        return;
    }
    attempt_settle(a, &r, is_held, is_told);
    native_record_done(&r);
}

/* ---- signals ---- */

bool native_signal(struct native_attempt *a, int value)
{
    AUTO_FREE char *path = native_attempt_path(a);
    struct native_record r = {0};
    AUTO(err_freep) struct err *e = native_file_read(path, false, &r);
    siginfo_t info = {.si_signo = LAUNCH_SIGNAL, .si_code = SI_QUEUE};
    AUTO(fd_closep) int fd = -1;
    bool is_begun = !e && (r.waiter > 0 || r.end);

    info.si_value.sival_int = value;
    if (!e && r.waiter > 0 && !r.end)
        fd = waiter_open(a, r.waiter);
    if (fd >= 0) /* fails if the waiter has ended: nothing is left to signal */
        (void)syscall(SYS_pidfd_send_signal, fd, LAUNCH_SIGNAL, &info, 0);
    native_record_done(&r);
    return is_begun;
}
