/*
 * Each attempt has a bundle, DATA/node/pods/<uid>/<container>-<attempt>/. What is found there after
 * a restart says all, because of the order in which it is written:
 *
 *   intents/<id>.json  durable before anything else exists
 *   lock               flocked by us, then inherited by conmon, crun and the waiting first process:
 *                      held means that one of them lives; no process id can lie about that
 *   pidfile            written by crun when the container is created
 *   started            our mark, before the start; without it the program has never run
 *   exits/<id>         written by conmon when the container's first process was reaped, which the
 *                      kernel allows only after all others of its pid namespace are gone
 *
 * None but the intent is synced: a power cut ends the containers too, and another boot id then says
 * that an attempt is over and may have run.
 *
 * The start writes one byte to crun's exec.fifo and removes it, as `crun start` does, without its
 * process (4.5 ms); in this order the start may be repeated: a fifo without a reader was used.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/num.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "node/runtime.h"
#include "node/worker.h"

enum {
    POLL_MS = 10,           /* while somebody else creates a container */
    MONITOR_LOST_MS = 2000, /* a container without a monitor for so long is ended */
    CLEANUP_RETRY_MS = 1000,
    SYNC_TEXT_MAX = 65536,
    SMALL_FILE_MAX = 65536,
};

static const int64_t COMMAND_DEADLINE_NS = 60 * NS_PER_SEC;

struct crun {
    struct runtime runtime;
    struct runtime_crun_options o;
    char *dir;
    char *boot_id;
    char *crun_path;
    char *conmon_path;
    char *root; /* of crun: its state */
    struct box *boxes;
    struct deferred *deferred;
    struct command *commands;
};

struct box {
    struct map_handle handle;
    struct crun *r;
    char *id;
    char *bundle;
    char *log_path;
    json_t *intent;
    enum runtime_state state;
    struct runtime_exit exit;

    struct proc *conmon; /* our child; or adopted: */
    int pidfd;
    struct loop_io *pidfd_io;
    struct loop_timer *timer; /* polls, retries */
    int64_t poll_until_ns;

    int lock_fd; /* ours between the preparation and conmon's birth */
    int sync_fd; /* conmon tells what became of the creation */
    struct loop_io *sync_io;
    struct buf sync_text;
    struct err *create_error;

    runtime_done_fn done; /* of create or remove */
    void *done_arg;
};

static void box_inspect(struct box *b);
static void box_cleanup(struct box *b, bool is_forced);

/* ---- small things ---- */

struct deferred {
    struct deferred *prev;
    struct deferred *next;
    struct crun *r;
    struct loop_timer *timer;
    runtime_done_fn done;
    void *arg;
    struct err *e;
};

static void deferred_free(struct deferred *d)
{
    LIST_REMOVE(d->r->deferred, d);
    err_free(d->e);
    loop_timer_free(d->timer);
    free(d);
}

static void run_deferred(void *arg)
{
    struct deferred *d = arg;

    d->done(d->arg, d->e);
    deferred_free(d);
}

/* Calls `done` from the loop; takes `e`. */
static void defer(struct crun *r, runtime_done_fn done, void *arg, struct err *e)
{
    struct deferred *d = mem_alloc(sizeof(*d));

    *d = (struct deferred){.r = r, .done = done, .arg = arg, .e = e};
    LIST_ADD(r->deferred, d);
    d->timer = loop_timer_new(r->o.loop, run_deferred, d);
    loop_timer_set(d->timer, 0);
}

static char *box_path(const struct box *b, const char *name)
{
    return mem_format("%s/%s", b->bundle, name);
}

static char *exit_path(const struct box *b)
{
    return mem_format("%s/exits/%s", b->r->dir, b->id);
}

static char *intent_path(const struct box *b)
{
    return mem_format("%s/intents/%s.json", b->r->dir, b->id);
}

static char *state_path(const struct box *b)
{
    return mem_format("%s/%s", b->r->root, b->id);
}

static struct box *find(struct crun *r, const char *id)
{
    struct box *b = NULL;

    map_find_text(handle, r->boxes, id, b);
    return b;
}

static bool is_safe_name(const char *text, size_t max)
{
    size_t n = 0;

    for (; text && text[n]; n++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", text[n]))
            return false;
    return n > 0 && n <= max && text[0] != '.';
}

static struct box *box_new(struct crun *r, const char *id, const json_t *intent)
{
    struct box *b = mem_alloc(sizeof(*b));

    *b = (struct box){.r = r, .pidfd = -1, .lock_fd = -1, .sync_fd = -1};
    b->sync_text.cap = SYNC_TEXT_MAX;
    b->id = mem_strdup(id);
    b->intent = json_deep_copy(intent);
    b->bundle = mem_format("%s/pods/%s/%s-%" PRId64, r->dir, json_text(intent, "uid"),
                           json_text(intent, "container"), json_int(intent, "attempt", 0));
    map_add(handle, r->boxes, b->id, strlen(b->id), b);
    return b;
}

static void box_free(struct box *b)
{
    map_remove(handle, b->r->boxes, b);
    if (b->conmon)
        proc_abandon(b->conmon);
    loop_io_free(b->pidfd_io);
    fd_close(b->pidfd);
    loop_timer_free(b->timer);
    loop_io_free(b->sync_io);
    fd_close(b->sync_fd);
    fd_close(b->lock_fd);
    buf_done(&b->sync_text);
    err_free(b->create_error);
    json_decref(b->intent);
    free(b->log_path);
    free(b->bundle);
    free(b->id);
    free(b);
}

static void box_finish(struct box *b, const struct err *e)
{
    runtime_done_fn done = b->done;

    b->done = NULL;
    if (done)
        done(b->done_arg, e);
}

static void box_changed(struct box *b)
{
    struct runtime *rt = &b->r->runtime;
    struct runtime_container c = {
        .id = b->id, .intent = b->intent, .state = b->state, .exit = b->exit};

    if (rt->on_change)
        rt->on_change(rt->arg, &c);
}

static void on_timer(void *arg)
{
    box_inspect(arg);
}

static void box_again(struct box *b, int64_t delay_ms)
{
    if (!b->timer)
        b->timer = loop_timer_new(b->r->o.loop, on_timer, b);
    loop_timer_set(b->timer, delay_ms * NS_PER_MS);
}

/* ---- crun as a command ---- */

struct command {
    struct command *prev;
    struct command *next;
    struct crun *r;
    struct proc *proc;
    char *id; /* the box may be gone when the command ends */
    void (*then)(struct box *b, const struct err *e, void *arg);
    void *arg;
    runtime_done_fn done;
};

static void command_free(struct command *c)
{
    LIST_REMOVE(c->r->commands, c);
    free(c->id);
    free(c);
}

static struct err *command_error(const struct proc_end *end)
{
    AUTO_FREE char *how = NULL;
    struct str text = end->output;

    if (end->status == 0)
        return NULL;
    while (text.size > 0 && (text.at[text.size - 1] == '\n' || text.at[text.size - 1] == ' '))
        text.size--;
    how = end->timed_out ? mem_strdup("did not answer") : proc_format_status(end->status);
    return err_new(ERR_UNAVAILABLE, "crun %s: " STR_FMT, how, STR_ARG(text));
}

static void on_command_end(void *arg, const struct proc_end *end)
{
    struct command *c = arg;
    AUTO(err_freep) struct err *e = command_error(end);
    struct box *b = find(c->r, c->id);

    if (c->then && b)
        c->then(b, e, c->arg);
    if (c->done)
        c->done(c->arg, e);
    command_free(c);
}

/* Runs `crun --root R WORDS...`; words end with NULL and live as long as this call. */
static void crun_run(struct crun *r, const char *const words[4], struct command *c)
{
    const char *argv[8] = {r->crun_path, "--root", r->root};
    struct proc_options o = {
        .argv = argv, .has_output = true, .is_session = true, .deadline_ns = COMMAND_DEADLINE_NS};
    struct err *e = NULL;

    LIST_ADD(r->commands, c);
    for (size_t i = 0; i < 4 && words[i]; i++)
        argv[3 + i] = words[i];
    e = proc_start(r->o.loop, &o, on_command_end, c, &c->proc);
    if (!e)
        return;
    if (c->then) { /* retried by a timer: that comes from the loop again */
        struct box *b = find(r, c->id);

        if (b)
            c->then(b, e, c->arg);
        err_free(e);
    } else {
        defer(r, c->done, c->arg, e);
    }
    command_free(c);
}

/* ---- the end ---- */

static void box_read_mark(struct box *b)
{
    AUTO_FREE char *path = box_path(b, "started");
    AUTO(buf_done) struct buf text = {0};
    struct err *e = file_read(path, SMALL_FILE_MAX, &text);

    b->exit.was_started = !e;
    if (!e)
        e = num_parse_int64((struct str){text.at, text.size}, 0, INT64_MAX, &b->exit.started_ns);
    err_free(e); /* no mark, or one cut short: the time is not known */
}

/* What conmon wrote; false: nothing yet. */
static bool box_read_exit(struct box *b)
{
    AUTO_FREE char *path = exit_path(b);
    AUTO_FREE char *oom = box_path(b, "oom");
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, SMALL_FILE_MAX, &text);
    int64_t code = RUNTIME_CODE_UNKNOWN;
    struct stat st = {0};

    if (e)
        return false;
    err_free(num_parse_int64((struct str){text.at, text.size}, 0, 255, &code));
    box_read_mark(b);
    b->exit.code = (int)code;
    b->exit.is_oom = file_exists(oom);
    if (stat(path, &st) == 0)
        b->exit.finished_ns = st.st_mtim.tv_sec * NS_PER_SEC + st.st_mtim.tv_nsec;
    return true;
}

static void box_ended(struct box *b)
{
    b->state = b->exit.was_started || b->exit.code != RUNTIME_CODE_UNKNOWN ? RUNTIME_ENDED
                                                                           : RUNTIME_INTENDED;
    box_changed(b);
}

/* The end nobody saw: with a mark the program may have run, without one it has not. */
static void box_lost(struct box *b)
{
    box_read_mark(b);
    b->exit.code = RUNTIME_CODE_UNKNOWN;
    b->exit.finished_ns = b->exit.was_started ? loop_wall_ns(b->r->o.loop) : 0;
}

static void on_cleaned(struct box *b, const struct err *e, void *arg)
{
    AUTO_FREE char *state = state_path(b);

    (void)arg;
    if (e && file_exists(state)) { /* processes that cannot die: the cgroup stays, so do we */
        LOG(WARN, "container cannot be removed yet", S("id", b->id), E(e));
        box_again(b, CLEANUP_RETRY_MS);
        return;
    }
    box_ended(b);
}

/* `crun delete`: the cgroup is empty and gone after it. Then the end is told. */
static void box_cleanup(struct box *b, bool is_forced)
{
    AUTO_FREE char *state = state_path(b);
    struct command *c = NULL;

    if (!file_exists(state)) {
        box_ended(b);
        return;
    }
    c = mem_alloc(sizeof(*c));
    *c = (struct command){.r = b->r, .id = mem_strdup(b->id), .then = on_cleaned};
    crun_run(
        b->r,
        (const char *const[4]){"delete", is_forced ? "--force" : b->id, is_forced ? b->id : NULL},
        c);
}

static void box_monitor_gone(struct box *b)
{
    loop_io_free(b->pidfd_io);
    b->pidfd_io = NULL;
    fd_close(b->pidfd);
    b->pidfd = -1;
    if (box_read_exit(b)) {
        box_cleanup(b, false);
        return;
    }
    LOG(WARN, "conmon ended without an exit code", S("id", b->id));
    box_lost(b);
    box_cleanup(b, true);
}

/* ---- what is found ---- */

static bool lock_is_held(const struct box *b)
{
    AUTO_FREE char *path = box_path(b, "lock");
    AUTO(fd_closep) int fd = open(path, O_RDWR | O_CLOEXEC);

    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

/* The parent of the container's first process, if it is conmon; 0 otherwise. */
static pid_t find_monitor(const struct box *b)
{
    AUTO_FREE char *path = box_path(b, "pidfile");
    AUTO(buf_done) struct buf text = {0};
    char proc_path[64];
    char comm[32] = "";
    int64_t pid = 0;
    int parent = 0;
    AUTO(err_freep) struct err *e = file_read(path, SMALL_FILE_MAX, &text);

    if (!e)
        e = num_parse_int64((struct str){text.at, text.size}, 1, INT32_MAX, &pid);
    if (e)
        return 0;
    for (int i = 0; i < 2; i++) { /* the first process, then its parent */
        AUTO(buf_done) struct buf stat_text = {0};
        const char *after = NULL;

        (void)snprintf(proc_path, sizeof(proc_path), "/proc/%" PRId64 "/stat",
                       i == 0 ? pid : (int64_t)parent);
        err_free(file_read(proc_path, SMALL_FILE_MAX, &stat_text));
        after = stat_text.at ? strrchr(stat_text.at, ')') : NULL;
        if (!after)
            return 0;
        if (i == 1)
            (void)sscanf(stat_text.at, "%*d (%31[^)]", comm);
        else if (sscanf(after, ") %*c %d", &parent) != 1 || parent < 1)
            return 0;
    }
    return strcmp(comm, "conmon") == 0 ? parent : 0;
}

static void on_pidfd(void *arg, int fd, bool readable, bool writable)
{
    (void)fd;
    (void)readable;
    (void)writable;
    box_monitor_gone(arg);
}

static bool box_watch(struct box *b)
{
    pid_t monitor = find_monitor(b);

    if (monitor <= 0)
        return false;
    b->pidfd = (int)syscall(SYS_pidfd_open, monitor, 0);
    if (b->pidfd < 0)
        return false;
    if (find_monitor(b) != monitor) { /* it ended between: the number may be another's by now */
        fd_close(b->pidfd);
        b->pidfd = -1;
        return false;
    }
    b->pidfd_io = loop_io_new(b->r->o.loop, b->pidfd, on_pidfd, b);
    loop_io_want(b->pidfd_io, true, false);
    return true;
}

static struct err *box_release(struct box *b);

/* A box whose lock is held: its conmon lives, or is about to be born, or left its container. */
static void box_inspect_live(struct box *b)
{
    AUTO_FREE char *mark = box_path(b, "started");

    if (box_watch(b)) {
        box_read_mark(b);
        b->state = b->exit.was_started ? RUNTIME_RUNNING : RUNTIME_CREATED;
        if (b->exit.was_started) {
            AUTO(err_freep) struct err *e = box_release(b);

            if (e)
                LOG(ERROR, "container cannot be started", S("id", b->id), E(e));
        }
        box_changed(b);
        return;
    }
    b->state = file_exists(mark) ? RUNTIME_RUNNING : RUNTIME_CREATING;
    if (b->poll_until_ns == 0)
        b->poll_until_ns = loop_now_ns(b->r->o.loop) + MONITOR_LOST_MS * NS_PER_MS;
    if (loop_now_ns(b->r->o.loop) < b->poll_until_ns) {
        box_again(b, POLL_MS);
        return;
    }
    LOG(WARN, "container without a monitor is ended", S("id", b->id));
    b->poll_until_ns = 0;
    box_lost(b);
    box_cleanup(b, true);
}

/* Finds out how far an attempt came. Tells by on_change where that is not known at once. */
static void box_inspect(struct box *b)
{
    const char *boot = json_text(b->intent, "boot");
    AUTO_FREE char *state = state_path(b);
    bool is_held = false;

    if (!text_equal(boot, b->r->boot_id)) {
        err_free(dir_remove(state)); /* tried again when the attempt is removed */
        if (!box_read_exit(b)) {
            b->exit = (struct runtime_exit){.code = RUNTIME_CODE_UNKNOWN, .was_started = true};
            b->exit.finished_ns = loop_wall_ns(b->r->o.loop);
        }
        box_ended(b);
        return;
    }
    is_held =
        lock_is_held(b); /* before the exit file is looked for: conmon writes it, then lets go */
    if (box_read_exit(b)) {
        box_cleanup(b, false);
    } else if (is_held) {
        box_inspect_live(b);
    } else {
        box_lost(b);
        box_cleanup(b, true);
    }
}

/* ---- create ---- */

struct preparation {
    struct crun *r;
    char *id; /* as the box may be gone */
    char *bundle;
    char *intent_path;
    char *intent;
    char *config;
    char *log_dir;
    int lock_fd;
};

static struct err *take_lock(const char *bundle, int *ret)
{
    AUTO_FREE char *path = mem_format("%s/lock", bundle);
    AUTO(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_errno(errno, "open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return err_errno(errno, "lock %s: an earlier creation of this attempt goes on", path);
    *ret = fd;
    fd = -1;
    return NULL;
}

static struct err *prepare(void *message)
{
    struct preparation *p = message;
    AUTO_FREE char *config_path = mem_format("%s/config.json", p->bundle);
    AUTO_FREE char *mark = mem_format("%s/started", p->bundle);

    TRY(file_write_durable(p->intent_path, 0600, str_of(p->intent)));
    TRY(dir_make(p->bundle, 0700));
    TRY(dir_make(p->log_dir, 0755));
    TRY(take_lock(p->bundle, &p->lock_fd));
    if (file_exists(mark))
        return err_new(ERR_INTERNAL, "attempt %s was started before", p->id);
    return file_write(config_path, 0600, str_of(p->config));
}

static void preparation_free(struct preparation *p)
{
    fd_close(p->lock_fd);
    free(p->id);
    free(p->bundle);
    free(p->intent_path);
    free(p->intent);
    free(p->config);
    free(p->log_dir);
    free(p);
}

/* {"data":PID} or {"data":-1,"message":"..."}, one line. */
static void box_read_sync(struct box *b)
{
    AUTO(json_freep) json_t *answer = NULL;
    char bytes[4096];
    ssize_t n = 0;
    const char *message = NULL;
    struct str text = {0};

    while (b->sync_fd >= 0 && (n = read(b->sync_fd, bytes, sizeof(bytes))) > 0)
        buf_add(&b->sync_text, bytes, (size_t)n);
    if (b->state != RUNTIME_CREATING || b->create_error || !b->sync_text.at ||
        !strchr(b->sync_text.at, '\n'))
        return;
    b->create_error = json_parse((struct str){b->sync_text.at, b->sync_text.size}, &answer);
    if (b->create_error)
        return;
    if (json_int(answer, "data", -1) > 0) {
        b->state = RUNTIME_CREATED;
        loop_io_free(b->sync_io);
        b->sync_io = NULL;
        fd_close(b->sync_fd);
        b->sync_fd = -1;
        box_finish(b, NULL);
        return;
    }
    message = json_text(answer, "message");
    text = str_of(message ? message : "");
    while (text.size > 0 && (text.at[text.size - 1] == '\n' || text.at[text.size - 1] == ' '))
        text.size--;
    b->create_error = err_new(ERR_INVALID, STR_FMT, STR_ARG(text));
}

static void on_sync(void *arg, int fd, bool readable, bool writable)
{
    (void)fd;
    (void)readable;
    (void)writable;
    box_read_sync(arg);
}

static void on_conmon_end(void *arg, const struct proc_end *end)
{
    struct box *b = arg;
    AUTO_FREE char *how = NULL;

    b->conmon = NULL;
    box_read_sync(b);
    if (b->state != RUNTIME_CREATING) {
        box_monitor_gone(b);
        return;
    }
    b->state = RUNTIME_INTENDED;
    how = proc_format_status(end->status);
    if (!b->create_error)
        b->create_error = err_new(ERR_UNAVAILABLE, "conmon %s before the container was there", how);
    box_finish(b, b->create_error);
}

static struct err *box_start_conmon(struct box *b)
{
    struct crun *r = b->r;
    AUTO_FREE char *root = mem_format("--root=%s", r->root);
    AUTO_FREE char *pidfile = box_path(b, "pidfile");
    AUTO_FREE char *exits = mem_format("%s/exits", r->dir);
    AUTO_FREE char *log = mem_format("k8s-file:%s", b->log_path);
    AUTO(fd_closep) int theirs = -1;
    const char *argv[] = {r->conmon_path,
                          "--sync",
                          "--api-version",
                          "1",
                          "-c",
                          b->id,
                          "-u",
                          b->id,
                          "-n",
                          b->id,
                          "-r",
                          r->crun_path,
                          "--runtime-arg",
                          root,
                          "-b",
                          b->bundle,
                          "-p",
                          pidfile,
                          "--exit-dir",
                          exits,
                          "--persist-dir",
                          b->bundle,
                          "-l",
                          log,
                          "--log-level",
                          "error",
                          "--no-sync-log",
                          "--full-attach",
                          NULL};
    const char *env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "_OCI_SYNCPIPE=3", NULL};
    struct proc_options o = {.argv = argv, .env = env, .cwd = b->bundle, .is_session = true};
    int ends[2] = {-1, -1};

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_errno(errno, "make a pipe");
    b->sync_fd = ends[0];
    theirs = ends[1];
    /* They get the reading end too, so that their message is no error after our death. */
    memcpy(o.fds, (const int[8]){-1, -1, -1, theirs, b->lock_fd, b->sync_fd}, sizeof(o.fds));
    o.n_fds = 6;
    b->sync_io = loop_io_new(r->o.loop, b->sync_fd, on_sync, b);
    loop_io_want(b->sync_io, true, false);
    return proc_start(r->o.loop, &o, on_conmon_end, b, &b->conmon);
}

static void on_prepared(void *message, const struct err *e)
{
    struct preparation *p = message;
    struct box *b = find(p->r, p->id);
    AUTO(err_freep) struct err *failed = NULL;

    if (!b) {
        preparation_free(p);
        return;
    }
    if (!e) {
        b->lock_fd = p->lock_fd;
        p->lock_fd = -1;
        failed = box_start_conmon(b);
        fd_close(b->lock_fd);
        b->lock_fd = -1;
    }
    preparation_free(p);
    if (e || failed) {
        b->state = RUNTIME_INTENDED;
        loop_io_free(b->sync_io);
        b->sync_io = NULL;
        fd_close(b->sync_fd);
        b->sync_fd = -1;
        box_finish(b, e ? e : failed);
    }
}

static struct err *check_create(const struct runtime_create *c)
{
    if (!is_safe_name(c->id, RUNTIME_ID_SIZE - 1) ||
        !is_safe_name(json_text(c->intent, "uid"), 64) ||
        !is_safe_name(json_text(c->intent, "container"), 63))
        return err_new(ERR_INVALID, "container id '%s' is not one", c->id);
    return NULL;
}

static void crun_create(void *self, const struct runtime_create *c, runtime_done_fn done, void *arg)
{
    struct crun *r = self;
    struct box *b = find(r, c->id);
    struct err *e = check_create(c);
    struct preparation *p = NULL;
    const char *slash = strrchr(c->log_path, '/');
    AUTO(json_freep) json_t *intent = NULL;

    if (!e && b && b->state != RUNTIME_INTENDED)
        e = err_new(ERR_EXISTS, "attempt %s exists already", c->id);
    if (e) {
        defer(r, done, arg, e);
        return;
    }
    intent = json_deep_copy(c->intent);
    json_put_text(intent, "id", c->id);
    json_put_text(intent, "boot", r->boot_id);
    if (!b)
        b = box_new(r, c->id, intent);
    b->state = RUNTIME_CREATING;
    b->exit = (struct runtime_exit){0};
    b->done = done;
    b->done_arg = arg;
    err_free(TAKE(b->create_error));
    buf_clear(&b->sync_text);
    free(b->log_path);
    b->log_path = mem_strdup(c->log_path);
    p = mem_alloc(sizeof(*p));
    *p = (struct preparation){.r = r,
                              .id = mem_strdup(c->id),
                              .bundle = mem_strdup(b->bundle),
                              .intent_path = intent_path(b),
                              .intent = json_format(intent),
                              .config = json_format(c->config),
                              .log_dir = mem_strndup(c->log_path, (size_t)(slash - c->log_path)),
                              .lock_fd = -1};
    worker_give(r->o.worker, prepare, on_prepared, p);
}

/* ---- start, kill, remove ---- */

/* Lets the first process of a created container go on; once is enough, more does no harm. */
static struct err *box_release(struct box *b)
{
    AUTO_FREE char *path = mem_format("%s/%s/exec.fifo", b->r->root, b->id);
    AUTO(fd_closep) int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0 && errno == ENOENT)
        return NULL;
    if (fd < 0 && errno != ENXIO) /* ENXIO: nobody waits any more */
        return err_errno(errno, "open %s", path);
    if (fd >= 0 && write(fd, "0", 1) != 1)
        return err_errno(errno, "write %s", path);
    if (unlink(path) < 0 && errno != ENOENT)
        return err_errno(errno, "remove %s", path);
    return NULL;
}

static struct err *box_mark(struct box *b)
{
    AUTO_FREE char *path = box_path(b, "started");
    int64_t now_ns = loop_wall_ns(b->r->o.loop);
    char text[32];
    AUTO(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int n = snprintf(text, sizeof(text), "%" PRId64, now_ns);

    if (fd < 0)
        return err_errno(errno, "mark %s as started", b->id);
    b->exit.was_started = true;
    b->exit.started_ns = now_ns;
    /* An empty mark is a mark, only the time would be lost. */
    (void)!write(fd, text, (size_t)n);
    return NULL;
}

static void crun_start(void *self, const char *id, runtime_done_fn done, void *arg)
{
    struct crun *r = self;
    struct box *b = find(r, id);
    struct err *e = NULL;

    if (!b || b->state != RUNTIME_CREATED)
        e = err_new(ERR_CONFLICT, "attempt %s is not waiting for its start", id);
    if (!e)
        e = box_mark(b);
    if (!e) {
        b->state = RUNTIME_RUNNING;
        e = box_release(b);
    }
    defer(r, done, arg, e);
}

static void crun_kill(void *self, const char *id, int signal, runtime_done_fn done, void *arg)
{
    struct crun *r = self;
    struct box *b = find(r, id);
    struct command *c = NULL;
    char number[16];

    if (!b || b->state == RUNTIME_ENDED || b->state == RUNTIME_INTENDED) {
        defer(r, done, arg, NULL);
        return;
    }
    (void)snprintf(number, sizeof(number), "%d", signal);
    c = mem_alloc(sizeof(*c));
    *c = (struct command){.r = r, .id = mem_strdup(id), .done = done, .arg = arg};
    crun_run(r, (const char *const[4]){"kill", id, number}, c);
}

struct removal {
    struct crun *r;
    char *id;
    char *paths[3]; /* trees and files, in this order */
    char *intent_path;
};

static struct err *remove_files(void *message)
{
    struct removal *m = message;

    for (size_t i = 0; i < 3; i++)
        TRY(dir_remove(m->paths[i]));
    if (unlink(m->intent_path) < 0 && errno != ENOENT)
        return err_errno(errno, "remove %s", m->intent_path);
    return NULL;
}

static void on_removed(void *message, const struct err *e)
{
    struct removal *m = message;
    struct box *b = find(m->r, m->id);

    if (b) {
        runtime_done_fn done = b->done;
        void *arg = b->done_arg;

        b->done = NULL;
        if (!e)
            box_free(b);
        if (done)
            done(arg, e);
    }
    for (size_t i = 0; i < 3; i++)
        free(m->paths[i]);
    free(m->intent_path);
    free(m->id);
    free(m);
}

static void crun_remove(void *self, const char *id, runtime_done_fn done, void *arg)
{
    struct crun *r = self;
    struct box *b = find(r, id);
    struct removal *m = NULL;

    if (!b || (b->state != RUNTIME_ENDED && b->state != RUNTIME_INTENDED)) {
        defer(r, done, arg, b ? err_new(ERR_CONFLICT, "attempt %s has not ended", id) : NULL);
        return;
    }
    b->done = done;
    b->done_arg = arg;
    m = mem_alloc(sizeof(*m));
    *m = (struct removal){.r = r, .id = mem_strdup(id), .intent_path = intent_path(b)};
    m->paths[0] = state_path(b);
    m->paths[1] = mem_strdup(b->bundle);
    m->paths[2] = exit_path(b);
    worker_give(r->o.worker, remove_files, on_removed, m);
}

/* ---- list ---- */

static struct err *read_intent(struct crun *r, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/intents/%s", r->dir, name);
    AUTO(buf_done) struct buf text = {0};
    AUTO(json_freep) json_t *intent = NULL;
    const char *id = NULL;

    TRY(file_read(path, SMALL_FILE_MAX, &text));
    TRY(json_parse((struct str){text.at, text.size}, &intent));
    id = json_text(intent, "id");
    if (!is_safe_name(id, RUNTIME_ID_SIZE - 1) || !is_safe_name(json_text(intent, "uid"), 64) ||
        !is_safe_name(json_text(intent, "container"), 63))
        return err_new(ERR_INTERNAL, "%s is not an intent", path);
    (void)box_new(r, id, intent);
    return NULL;
}

static struct err *read_intents(struct crun *r)
{
    AUTO_FREE char *dir = mem_format("%s/intents", r->dir);
    char **names = NULL;
    size_t n = 0;

    TRY(dir_list(dir, &names, &n));
    for (size_t i = 0; i < n; i++) {
        struct err *e = NULL;

        if (!text_ends_with(names[i], ".json"))
            continue; /* a write that did not come to its rename: nothing was done for it */
        e = read_intent(r, names[i]);
        if (e)
            LOG(ERROR, "intent cannot be read", S("file", names[i]), E(e));
        err_free(e);
    }
    names_free(names, n);
    return NULL;
}

struct listing {
    struct crun *r;
    runtime_list_fn fn;
    void *arg;
    struct err *e;
    struct loop_timer *timer;
};

static void run_list(void *arg)
{
    struct listing *l = arg;
    struct crun *r = l->r;
    void (*on_change)(void *, const struct runtime_container *) = r->runtime.on_change;
    struct box *b = NULL;
    struct box *next = NULL;
    struct runtime_container *all = NULL;
    size_t n = 0;
    struct err *e = read_intents(r);

    r->runtime.on_change = NULL; /* the list itself tells */
    map_each (handle, r->boxes, b, next)
        box_inspect(b);
    r->runtime.on_change = on_change;
    all = mem_alloc((map_count(handle, r->boxes) + 1) * sizeof(*all));
    map_each (handle, r->boxes, b, next)
        all[n++] = (struct runtime_container){
            .id = b->id, .intent = b->intent, .state = b->state, .exit = b->exit};
    l->fn(l->arg, e, all, n);
    err_free(e);
    free(all);
    loop_timer_free(l->timer);
    free(l);
}

static void crun_list(void *self, runtime_list_fn fn, void *arg)
{
    struct crun *r = self;
    struct listing *l = mem_alloc(sizeof(*l));

    *l = (struct listing){.r = r, .fn = fn, .arg = arg};
    l->timer = loop_timer_new(r->o.loop, run_list, l);
    loop_timer_set(l->timer, 0);
}

/* ---- the whole ---- */

static void crun_free(void *self)
{
    struct crun *r = self;
    struct box *b = NULL;
    struct box *next = NULL;
    struct command *c = NULL;
    struct deferred *d = NULL;

    LIST_EACH (r->commands, c) {
        proc_abandon(c->proc);
        command_free(c);
    }
    LIST_EACH (r->deferred, d)
        deferred_free(d);
    map_each (handle, r->boxes, b, next)
        box_free(b);
    free(r->dir);
    free(r->boot_id);
    free(r->crun_path);
    free(r->conmon_path);
    free(r->root);
    free(r);
}

static const struct runtime_ops crun_ops = {.create = crun_create,
                                            .start = crun_start,
                                            .kill = crun_kill,
                                            .remove = crun_remove,
                                            .list = crun_list,
                                            .free = crun_free};

static struct err *find_program(const char *name, char **ret)
{
    static const char *const dirs[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                       "/usr/bin",        "/sbin",          "/bin"};

    for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dirs[i], name);

        if (access(path, X_OK) == 0) {
            *ret = TAKE(path);
            return NULL;
        }
    }
    return err_new(ERR_NOT_FOUND, "%s is not installed: apt-get install %s", name, name);
}

static struct err *make_dirs(const struct crun *r)
{
    static const char *const names[] = {"intents", "exits", "pods", "log", "run"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        AUTO_FREE char *path = mem_format("%s/%s", r->dir, names[i]);

        TRY(dir_make(path, 0700));
    }
    return NULL;
}

struct err *runtime_crun_new(const struct runtime_crun_options *o, struct runtime **ret)
{
    struct crun *r = mem_alloc(sizeof(*r));
    struct err *e = NULL;

    r->runtime = (struct runtime){.ops = &crun_ops, .self = r};
    r->o = *o;
    r->dir = mem_strdup(o->dir);
    r->boot_id = mem_strdup(o->boot_id);
    r->root = mem_format("%s/run", o->dir);
    e = find_program("crun", &r->crun_path);
    if (!e)
        e = find_program("conmon", &r->conmon_path);
    if (!e)
        e = make_dirs(r);
    if (e) {
        crun_free(r);
        return e;
    }
    *ret = &r->runtime;
    return NULL;
}

void runtime_free(struct runtime *r)
{
    if (r)
        r->ops->free(r->self);
}
