/* crun_attempt_linux.c - finds the state of an attempt, and cleans up after its end */

#include "node/runtime/crun_attempt_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/num.h"
#include "base/proc_stat.h"
#include "base/stamp.h"
#include "node/runtime/cgroup_remove_linux.h"
#include "node/runtime/cgroup_stats.h"

enum {
    POLL_MS = 10,           /* while a conmon that was adopted creates a container */
    MONITOR_LOST_MS = 2000, /* then a container without conmon is ended */
    CLEANUP_RETRY_MS = 1000,
    SMALL_FILE_MAX = 65536,
    FORKED_NO_EXEC = 0x40 /* PF_FORKNOEXEC of linux/sched.h, shown by /proc */
};

static void attempt_cleanup(struct crun_attempt *b, bool is_forced);

/* ---- paths ---- */

char *attempt_path(const struct crun_attempt *b, const char *name)
{
    return mem_format("%s/%s", b->bundle, name);
}

char *attempt_exit_path(const struct crun_attempt *b)
{
    return mem_format("%s/exits/%s", b->r->dir, b->id);
}

char *attempt_last_dir(const struct crun_attempt *b)
{
    return mem_format(LAST_DIR "/%s", b->id);
}

char *attempt_intent_path(const struct crun_attempt *b)
{
    return mem_format("%s/intents/%s.json", b->r->dir, b->id);
}

char *attempt_state_path(const struct crun_attempt *b)
{
    return mem_format("%s/%s", b->r->root, b->id);
}

/* ---- attempts ---- */

struct crun_attempt *crun_find(struct crun *r, const char *id)
{
    struct crun_attempt *b = NULL;

    map_find_text(handle, r->attempts, id, b);
    return b;
}

bool crun_is_name(const char *text, size_t max)
{
    size_t n = 0;

    for (; text && text[n]; n++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", text[n]))
            return false;
    return n > 0 && n <= max && text[0] != '.';
}

struct crun_attempt *attempt_new(struct crun *r, const char *id, const json_t *intent)
{
    struct crun_attempt *b = mem_alloc(sizeof(*b));

    *b = (struct crun_attempt){
        .r = r, .pidfd = -1, .sync_fd = -1, .outputs = {-1, -1}, .join = JOIN_NONE};
    b->sync_text.cap = SYNC_TEXT_MAX;
    b->id = mem_strdup(id);
    b->kind = oci_kind_of(json_text(intent, "runtime"));
    b->intent = json_deep_copy(intent);
    b->bundle = mem_format("%s/pods/%s/%s-%" PRId64, r->dir, json_text(intent, "uid"),
                           json_text(intent, "container"), json_int(intent, "attempt", 0));
    map_add(handle, r->attempts, b->id, strlen(b->id), b);
    return b;
}

void attempt_free(struct crun_attempt *b)
{
    map_remove(handle, b->r->attempts, b);
    if (b->conmon)
        proc_abandon(b->conmon);
    loop_io_free(b->pidfd_io);
    fd_close(b->pidfd);
    loop_timer_free(b->timer);
    loop_io_free(b->sync_io);
    fd_close(b->sync_fd);
    buf_done(&b->sync_text);
    err_free(b->create_error);
    json_decref(b->intent);
    vec_done(&b->removals);
    for (size_t i = 0; i < COUNT(b->outputs); i++)
        fd_close(b->outputs[i]);
    join_done(&b->join);
    free(b->log_path);
    free(b->bundle);
    free(b->id);
    free(b);
}

void attempt_finish(struct crun_attempt *b, const struct err *e)
{
    runtime_done_fn done = b->done;

    b->done = NULL;
    join_done(&b->join);
    if (done)
        done(b->done_arg, e);
}

static void attempt_changed(struct crun_attempt *b)
{
    struct runtime *rt = &b->r->runtime;
    struct runtime_container c = {
        .id = b->id, .intent = b->intent, .state = b->state, .exit = b->exit};

    if (rt->on_change)
        rt->on_change(rt->arg, &c);
}

static void on_attempt_timer(void *arg)
{
    attempt_inspect(arg);
}

static void attempt_again(struct crun_attempt *b, int64_t delay_ms)
{
    if (!b->timer)
        b->timer = loop_timer_new(b->r->o.loop, on_attempt_timer, b);
    loop_timer_set(b->timer, delay_ms * NS_PER_MS);
}

/* ---- the end ---- */

static void attempt_read_mark(struct crun_attempt *b)
{
    AUTO_FREE char *path = attempt_path(b, "started");
    AUTO(buf_done) struct buf text = {0};
    struct err *e = file_read(path, SMALL_FILE_MAX, &text);

    b->exit.was_started = !e;
    if (!e)
        e = num_parse_int64((struct str){text.at, text.size}, 0, INT64_MAX, &b->exit.started_ns);
    err_free(e); /* no mark, or an incomplete mark: unknown time */
}

static char *attempt_last_path(const struct crun_attempt *b, const char *name)
{
    return mem_format(LAST_DIR "/%s/%s", b->id, name);
}

static bool was_oom(const struct crun_attempt *b)
{
    AUTO_FREE char *here = attempt_path(b, "oom");
    AUTO_FREE char *last = attempt_last_path(b, "oom");

    return file_exists(here) || file_exists(last);
}

/* Reads conmon's exit file; false: none yet. conmon writes the copy in LAST_DIR first; that counts
 * only once conmon `is_gone`, as the bundle must not be removed under it. */
static bool attempt_read_exit(struct crun_attempt *b, bool is_gone)
{
    AUTO_FREE char *path = attempt_exit_path(b);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, SMALL_FILE_MAX, &text);
    int64_t code = RUNTIME_CODE_UNKNOWN;
    struct stat st = {0};

    if (e && is_gone) {
        err_free(TAKE(e));
        free(path);
        path = attempt_last_path(b, "exit");
        e = file_read(path, SMALL_FILE_MAX, &text);
    }
    if (e)
        return false;
    e = num_parse_int64((struct str){text.at, text.size}, 0, 255, &code);
    if (e)
        LOG(WARN, "exit code cannot be read", S("id", b->id), E(e));
    attempt_read_mark(b);
    b->exit.code = (int)code;
    b->exit.is_oom = was_oom(b);
    if (stat(path, &st) == 0)
        b->exit.finished_ns = st.st_mtim.tv_sec * NS_PER_SEC + st.st_mtim.tv_nsec;
    return true;
}

static void attempt_ended(struct crun_attempt *b)
{
    attempt_end_usage(b);
    b->state = b->exit.was_started || b->exit.code != RUNTIME_CODE_UNKNOWN ? RUNTIME_ENDED
                                                                           : RUNTIME_INTENDED;
    attempt_changed(b);
}

/* The attempt ended without an exit code: with a mark its program may have run, without one it has
 * not. */
static void attempt_lost(struct crun_attempt *b)
{
    attempt_read_mark(b);
    b->exit.code = RUNTIME_CODE_UNKNOWN;
    b->exit.finished_ns = b->exit.was_started ? loop_wall_ns(b->r->o.loop) : 0;
}

/* The runtime does not know the container: it was killed before writing or after removing its
 * state. */
static void attempt_forget(struct crun_attempt *b)
{
    AUTO_FREE char *cgroup = mem_format("/mete/%s", b->id);

    if (cgroup_remove(CGROUP_ROOT, cgroup))
        attempt_ended(b);
    else
        attempt_again(b, CLEANUP_RETRY_MS);
}

static void on_cleaned(struct crun_attempt *b, const struct err *e, void *arg)
{
    AUTO_FREE char *state = attempt_state_path(b);

    (void)arg;
    if (e && file_exists(state)) { /* unkillable processes keep the cgroup: try again */
        LOG(WARN, "container cannot be removed yet", S("id", b->id), E(e));
        attempt_again(b, CLEANUP_RETRY_MS);
        return;
    }
    if (e)
        attempt_forget(b);
    else
        attempt_ended(b);
}

/* Runs `crun delete`, which empties and removes the cgroup; then reports the end. */
static void attempt_cleanup(struct crun_attempt *b, bool is_forced)
{
    AUTO_FREE char *state = attempt_state_path(b);
    struct command *c = NULL;

    attempt_end_usage(b);
    if (!file_exists(state)) {
        attempt_forget(b);
        return;
    }
    /* Until that report, the attempt is neither removed nor created anew: so its state is not
     * final. */
    b->state = b->exit.was_started ? RUNTIME_RUNNING : RUNTIME_CREATING;
    c = mem_alloc(sizeof(*c));
    *c = (struct command){.r = b->r, .id = mem_strdup(b->id), .then = on_cleaned};
    crun_run(
        b->r,
        (const char *const[4]){"delete", is_forced ? "--force" : b->id, is_forced ? b->id : NULL},
        c);
}

void attempt_monitor_gone(struct crun_attempt *b)
{
    loop_io_free(b->pidfd_io);
    b->pidfd_io = NULL;
    fd_close(b->pidfd);
    b->pidfd = -1;
    if (attempt_read_exit(b, true)) {
        attempt_cleanup(b, false);
        return;
    }
    LOG(WARN, "conmon ended without an exit code", S("id", b->id));
    attempt_lost(b);
    attempt_cleanup(b, true);
}

/* ---- inspection ---- */

/* Is the file's lock held? O_RDWR, as a fifo so opened does not wait for another side. */
static bool lock_is_held(const struct crun_attempt *b, const char *name)
{
    AUTO_FREE char *path = attempt_path(b, name);
    AUTO(fd_closep) int fd = open(path, O_RDWR | O_CLOEXEC);

    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

pid_t attempt_first_process(const struct crun_attempt *b)
{
    AUTO_FREE char *path = attempt_path(b, "pidfile");
    AUTO(buf_done) struct buf text = {0};
    int64_t pid = 0;
    AUTO(err_freep) struct err *e = file_read(path, SMALL_FILE_MAX, &text);

    if (!e)
        e = num_parse_int64((struct str){text.at, text.size}, 1, INT32_MAX, &pid);
    return (pid_t)pid;
}

bool attempt_has_begun(const struct crun_attempt *b)
{
    pid_t pid = attempt_first_process(b);
    struct proc_stat first = {0};

    return pid == 0 || !proc_stat_read(pid, &first) || (first.flags & FORKED_NO_EXEC) == 0;
}

bool attempt_is_alive(const struct crun_attempt *b)
{
    pid_t pid = attempt_first_process(b);
    struct proc_stat first = {0};

    return pid > 0 && proc_stat_read(pid, &first) && !first.is_dead;
}

/* The parent of the container's first process, if it is conmon; 0 otherwise. */
static pid_t find_monitor(const struct crun_attempt *b)
{
    int64_t pid = attempt_first_process(b);
    struct proc_stat first = {0};
    struct proc_stat parent = {0};

    if (pid == 0 || !proc_stat_read(pid, &first) || !proc_stat_read(first.parent, &parent))
        return 0;
    return text_equal(parent.name, "conmon") ? (pid_t)first.parent : 0;
}

static void on_pidfd(void *arg, int fd, bool readable, bool writable)
{
    (void)fd;
    (void)readable;
    (void)writable;
    attempt_monitor_gone(arg);
}

static bool attempt_watch(struct crun_attempt *b)
{
    pid_t monitor = find_monitor(b);

    if (monitor <= 0)
        return false;
    b->pidfd = (int)syscall(SYS_pidfd_open, monitor, 0);
    if (b->pidfd < 0)
        return false;
    if (find_monitor(b) != monitor) { /* conmon ended in between: the pid may be reused */
        fd_close(b->pidfd);
        b->pidfd = -1;
        return false;
    }
    b->pidfd_io = loop_io_new(b->r->o.loop, b->pidfd, on_pidfd, b);
    loop_io_want(b->pidfd_io, true, false);
    return true;
}

/* crun's first process waits for a byte in the fifo; it may have ended already. */
static struct err *release_crun(const struct crun_attempt *b)
{
    AUTO_FREE char *path = mem_format("%s/%s/exec.fifo", b->r->root, b->id);
    AUTO(fd_closep) int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0 && errno == ENOENT)
        return NULL;
    if (fd < 0 && errno != ENXIO) /* ENXIO: no process waits */
        return err_errno(errno, "open %s", path);
    if (fd >= 0 && write(fd, "0", 1) != 1)
        return err_errno(errno, "write %s", path);
    if (unlink(path) < 0 && errno != ENOENT)
        return err_errno(errno, "remove %s", path);
    return NULL;
}

/*
 * Is runc's first process already released? It waits to write into the fifo, as a program of
 * runc's. If it is gone, `runc start` would wait for ever: so removes the fifo of an earlier start.
 */
static bool is_released_runc(const struct crun_attempt *b)
{
    AUTO_FREE char *path = mem_format("%s/%s/exec.fifo", b->r->root, b->id);
    struct proc_stat first = {0};

    if (!file_exists(path))
        return true;
    if (!proc_stat_read(attempt_first_process(b), &first) || text_starts_with(first.name, "runc:["))
        return false;
    (void)unlink(path);
    return true;
}

static void on_released(struct crun_attempt *b, const struct err *e, void *arg)
{
    (void)arg;
    if (e)
        LOG(ERROR, "container cannot be started", S("id", b->id), E(e));
}

void attempt_release(struct crun_attempt *b, runtime_done_fn done, void *arg)
{
    struct command *c = NULL;

    if (b->kind == OCI_CRUN || is_released_runc(b)) {
        struct err *e = b->kind == OCI_CRUN ? release_crun(b) : NULL;

        on_released(b, done ? NULL : e, NULL);
        if (done)
            crun_defer(b->r, done, arg, e);
        else
            err_free(e);
        return;
    }
    c = mem_alloc(sizeof(*c));
    *c = (struct command){.r = b->r, .id = mem_strdup(b->id), .done = done, .arg = arg};
    c->then = done ? NULL : on_released;
    crun_run(b->r, (const char *const[4]){"start", b->id}, c);
}

/* Inspects an attempt whose lock is held: its conmon runs, is about to start, or has left its
 * container. */
static void attempt_inspect_live(struct crun_attempt *b, bool is_monitored)
{
    AUTO_FREE char *mark = attempt_path(b, "started");

    if (attempt_watch(b)) {
        attempt_read_mark(b);
        b->state = b->exit.was_started ? RUNTIME_RUNNING : RUNTIME_CREATED;
        if (b->exit.was_started)
            attempt_release(b, NULL, NULL);
        attempt_changed(b);
        return;
    }
    b->state = file_exists(mark) ? RUNTIME_RUNNING : RUNTIME_CREATING;
    if (is_monitored || b->poll_until_ns == 0)
        b->poll_until_ns = loop_now_ns(b->r->o.loop) + MONITOR_LOST_MS * NS_PER_MS;
    if (loop_now_ns(b->r->o.loop) < b->poll_until_ns) {
        attempt_again(b, POLL_MS);
        return;
    }
    LOG(WARN, "container without conmon is ended", S("id", b->id));
    b->poll_until_ns = 0;
    attempt_lost(b);
    attempt_cleanup(b, true);
}

void attempt_inspect(struct crun_attempt *b)
{
    const char *boot = json_text(b->intent, "boot");
    AUTO_FREE char *state = attempt_state_path(b);
    bool is_monitored = false;
    bool is_held = false;

    if (!text_equal(boot, b->r->boot_id)) {
        err_free(dir_remove(state)); /* tried again at the attempt's removal */
        if (!attempt_read_exit(b, true)) {
            b->exit = (struct runtime_exit){.code = RUNTIME_CODE_UNKNOWN, .was_started = true};
            b->exit.finished_ns = loop_wall_ns(b->r->o.loop);
        }
        attempt_ended(b);
        return;
    }
    /* Locks before the exit file: conmon writes the file, then releases `monitor`. */
    is_monitored = lock_is_held(b, "monitor");
    is_held = is_monitored || lock_is_held(b, "lock");
    if (attempt_read_exit(b, !is_monitored)) {
        attempt_cleanup(b, false);
    } else if (is_held) {
        attempt_inspect_live(b, is_monitored);
    } else {
        attempt_lost(b);
        if (b->exit.was_started)
            LOG(WARN, "container ended without an exit code", S("id", b->id));
        attempt_cleanup(b, true);
    }
}
