/*
 * crun_create_linux.c - the creation of an attempt: writes its intent and bundle, and starts the
 * conmon that creates the container (crun_attempt_linux.h)
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "node/as_user.h"
#include "node/runtime/crun_attempt_linux.h"

enum {
    ROOM_MIN_BYTES = 1 << 20,
    ROOM_MIN_FILES = 64,
    UMASK_DEFAULT = 022
};

struct creation {
    struct crun *r;
    char *id; /* the attempt itself may be gone */
    char *bundle;
    char *last_dir;
    char *intent_path;
    char *intent;
    char *config;
    int64_t hook_uid; /* of the root that hooks run as; -1: none does */
    char *log_dir;
    char *batch; /* JSON; NULL: there is a log */
    int streams[3];
    int lock_fd;
    int sync_fd; /* the fifo `monitor`, to read; and: */
    int monitor_fd;
};

/* Opens and locks a file; the children inherit the lock, and keep it after our death. */
static struct err *take_lock(const char *path, int flags, int *ret)
{
    AUTO(fd_closep) int fd = open(path, flags | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_errno(errno, "open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return err_errno(errno, "lock %s: an earlier creation of this attempt is under way", path);
    *ret = fd;
    fd = -1;
    return NULL;
}

static struct err *take_locks(struct creation *p)
{
    AUTO_FREE char *lock = mem_format("%s/lock", p->bundle);
    AUTO_FREE char *monitor = mem_format("%s/monitor", p->bundle);

    TRY(take_lock(lock, O_RDWR | O_CREAT, &p->lock_fd));
    if (mkfifo(monitor, 0600) < 0 && errno != EEXIST)
        return err_errno(errno, "make the fifo %s", monitor);
    p->sync_fd = open(monitor, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (p->sync_fd < 0)
        return err_errno(errno, "open %s", monitor);
    return take_lock(monitor, O_WRONLY | O_NONBLOCK, &p->monitor_fd);
}

/* Some hooks run in the container's user namespace: in the bundle's directory, and they read
 * config.json. All other files of the bundle stay closed. */
static struct err *open_to_hooks(const struct creation *p, const char *config_path)
{
    const uid_t uid = (uid_t)p->hook_uid;

    if (chmod(p->bundle, 0711) < 0)
        return err_errno(errno, "open %s to hooks", p->bundle);
    if (chown(config_path, uid, uid) < 0)
        return err_errno(errno, "give %s to hooks", config_path);
    return NULL;
}

/* Opens the files that a batch script reads and writes, with the rights of their user. */
static struct err *open_streams(struct creation *p)
{
    AUTO(json_freep) json_t *batch = NULL;
    struct user_streams s = {0};
    struct host_user user = {0};

    if (!p->batch)
        return NULL;
    TRY(json_parse(str_of(p->batch), &batch));
    TRY(host_user_read((uid_t)json_int(batch, "uid", -1), &user));
    s = (struct user_streams){.input = json_text(batch, "stdin"),
                              .output = json_text(batch, "stdout"),
                              .errors = json_text(batch, "stderr"),
                              .is_append = text_equal(json_text(batch, "openMode"), "append"),
                              .umask = (mode_t)json_int(batch, "umask", UMASK_DEFAULT)};
    return as_user_open(&user, &s, p->streams);
}

static struct err *creation_prepare(void *message)
{
    struct creation *p = message;
    AUTO_FREE char *config_path = mem_format("%s/config.json", p->bundle);
    AUTO_FREE char *mark = mem_format("%s/started", p->bundle);

    TRY(file_write_durable(p->intent_path, 0600, str_of(p->intent)));
    TRY(dir_make(p->bundle, 0700));
    TRY(dir_make(p->last_dir, 0700));
    TRY(dir_make(p->log_dir, 0755));
    TRY(take_locks(p));
    if (file_exists(mark))
        return err_new(ERR_INTERNAL, "attempt %s was started before", p->id);
    TRY(file_write(config_path, 0600, str_of(p->config)));
    TRY(open_streams(p));
    return p->hook_uid < 0 ? NULL : open_to_hooks(p, config_path);
}

static void creation_free(struct creation *p)
{
    for (size_t i = 0; i < COUNT(p->streams); i++)
        fd_close(p->streams[i]);
    fd_close(p->lock_fd);
    fd_close(p->sync_fd);
    fd_close(p->monitor_fd);
    free(p->id);
    free(p->bundle);
    free(p->last_dir);
    free(p->intent_path);
    free(p->intent);
    free(p->config);
    free(p->log_dir);
    free(p->batch);
    free(p);
}

/* Does the file system of `path` lack room for the few small files of a creation? */
static bool is_full(const char *path)
{
    struct statvfs fs = {0};

    if (statvfs(path, &fs) < 0 || fs.f_blocks == 0) /* 0 blocks: a tmpfs without limit */
        return false;
    return fs.f_bfree < ROOM_MIN_BYTES / fs.f_frsize ||
           (fs.f_files > 0 && fs.f_ffree < ROOM_MIN_FILES);
}

/*
 * The runtime reports failures as free text, without a code. A full disk is not the pod's fault,
 * nor is a runtime that ended without text: it was killed. A disk that was full for a moment has
 * room again by now: the text is the only trace of it, and only makes the node try once more.
 */
static enum err_code code_of_failure(const struct crun_attempt *b, struct str words)
{
    static const char no_space[] = "No space left on device"; /* strerror(ENOSPC) */

    if (words.size == 0)
        return ERR_UNAVAILABLE;
    return is_full(b->r->dir) || is_full(LAST_DIR) ||
                   memmem(words.at, words.size, no_space, strlen(no_space))
               ? ERR_NO_SPACE
               : ERR_INVALID;
}

/* Takes the outputs of a batch script from the creation. */
static void attempt_take_outputs(struct crun_attempt *b, struct creation *p)
{
    for (size_t i = 0; i < COUNT(b->outputs); i++) {
        struct stat is = {0};

        if (b->has_files && fstat(p->streams[i + 1], &is) == 0 && S_ISREG(is.st_mode)) {
            b->outputs[i] = fd_take(&p->streams[i + 1]);
            b->groups[i] = is.st_gid;
        }
    }
}

/* The runtime has given the files to the program's user and group: they keep their own group. */
static void attempt_close_outputs(struct crun_attempt *b)
{
    for (size_t i = 0; i < COUNT(b->outputs); i++) {
        if (b->outputs[i] >= 0 && fchown(b->outputs[i], (uid_t)-1, b->groups[i]) < 0)
            LOG(WARN, "output keeps its new group", S("id", b->id));
        fd_close(b->outputs[i]);
        b->outputs[i] = -1;
    }
}

static void attempt_close_sync(struct crun_attempt *b)
{
    loop_io_free(b->sync_io);
    b->sync_io = NULL;
    fd_close(b->sync_fd);
    b->sync_fd = -1;
}

/* Reads the fifo, and closes it at its end (no writers left), where it would stay readable for
 * ever. */
static void attempt_fill_sync(struct crun_attempt *b)
{
    char bytes[4096];

    while (b->sync_fd >= 0) {
        ssize_t n = read(b->sync_fd, bytes, sizeof(bytes));

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0)
            attempt_close_sync(b);
        else
            buf_add(&b->sync_text, bytes, (size_t)n);
    }
}

/* Reads conmon's result: {"data":PID} or {"data":-1,"message":"..."}, one line. */
static void attempt_read_sync(struct crun_attempt *b)
{
    AUTO(json_freep) json_t *answer = NULL;
    const char *message = NULL;
    struct str text = {0};

    attempt_fill_sync(b);
    if (b->state != RUNTIME_CREATING || b->create_error || !b->sync_text.at ||
        !strchr(b->sync_text.at, '\n'))
        return;
    b->create_error = json_parse((struct str){b->sync_text.at, b->sync_text.size}, &answer);
    if (b->create_error)
        return;
    if (json_int(answer, "data", -1) > 0) {
        b->state = RUNTIME_CREATED;
        attempt_close_outputs(b);
        attempt_close_sync(b);
        attempt_finish(b, NULL);
        return;
    }
    message = json_text(answer, "message");
    text = str_of(message ? message : "");
    while (text.size > 0 && (text.at[text.size - 1] == '\n' || text.at[text.size - 1] == ' '))
        text.size--;
    b->create_error =
        err_new(code_of_failure(b, text), "%s" STR_FMT,
                text.size == 0 ? "the runtime ended without a message" : "", STR_ARG(text));
}

static void on_sync(void *arg, int fd, bool readable, bool writable)
{
    (void)fd;
    (void)readable;
    (void)writable;
    attempt_read_sync(arg);
}

/* Reports the failure last: the callback may begin the next creation, with its own error and fifo.
 */
static void attempt_not_created(struct crun_attempt *b)
{
    AUTO(err_freep) struct err *e = TAKE(b->create_error);

    attempt_close_outputs(b);
    attempt_close_sync(b);
    b->state = RUNTIME_INTENDED;
    attempt_finish(b, e);
}

/* If the runtime does not know the container, only its state directory may be left. */
static void on_half_removed(struct crun_attempt *b, const struct err *e, void *arg)
{
    AUTO_FREE char *state = attempt_state_path(b);

    (void)e;
    (void)arg;
    err_free(dir_remove(state)); /* if this fails, the next creation reports it */
    attempt_not_created(b);
}

/* Removes a half-made container, left by a creation that ran out of space or was killed: the next
 * creation would fail because it exists. */
static void attempt_remove_half(struct crun_attempt *b)
{
    AUTO_FREE char *state = attempt_state_path(b);
    struct command *c = NULL;

    if (!file_exists(state)) {
        attempt_not_created(b);
        return;
    }
    c = mem_alloc(sizeof(*c));
    *c = (struct command){.r = b->r, .id = mem_strdup(b->id), .then = on_half_removed};
    crun_run(b->r, (const char *const[4]){"delete", "--force", b->id}, c);
}

static void on_conmon_end(void *arg, const struct proc_end *end)
{
    struct crun_attempt *b = arg;
    AUTO_FREE char *how = NULL;

    b->conmon = NULL;
    attempt_read_sync(b);
    if (b->state != RUNTIME_CREATING) {
        attempt_monitor_gone(b);
        return;
    }
    how = proc_format_status(end->status);
    if (!b->create_error)
        b->create_error = err_new(ERR_UNAVAILABLE, "conmon %s before the container existed", how);
    attempt_remove_half(b);
}

/* Appends conmon's arguments for stdin and terminal. */
static void add_streams(const char **argv, const struct crun_attempt *b)
{
    size_t n = 0;

    while (argv[n])
        n++;
    if (b->has_terminal)
        argv[n++] = "-t";
    if (b->has_stdin)
        argv[n++] = "-i";
    if (b->has_stdin && !b->is_stdin_once)
        argv[n++] = "--leave-stdin-open";
}

static void add_pair(const char **argv, const char *flag, const char *value)
{
    size_t n = 0;

    while (argv[n])
        n++;
    argv[n++] = flag;
    argv[n] = value;
}

/* Starts conmon with the locks of `p` and the write end of its fifo; takes the read end. */
static struct err *attempt_start_conmon(struct crun_attempt *b, struct creation *p)
{
    struct crun *r = b->r;
    AUTO_FREE char *root = mem_format("--root=%s", r->root);
    AUTO_FREE char *pidfile = attempt_path(b, "pidfile");
    AUTO_FREE char *exits = mem_format("%s/exits", r->dir);
    AUTO_FREE char *last_dir = attempt_last_dir(b);
    AUTO_FREE char *log =
        b->has_files ? mem_strdup("passthrough") : mem_format("k8s-file:%s", b->log_path);
    const char *argv[64] = {r->conmon_path,
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
                            attempt_program(b),
                            "--runtime-arg",
                            root,
                            "-b",
                            b->bundle,
                            "-p",
                            pidfile,
                            "--exit-dir",
                            exits,
                            "--persist-dir",
                            last_dir,
                            "-l",
                            log,
                            "--log-level",
                            "error",
                            "--no-sync-log",
                            "--full-attach"};
    const char *env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "_OCI_SYNCPIPE=3", NULL};
    AUTO_FREE char *log_max = mem_format("%" PRId64, r->o.log_max_bytes);
    struct proc_options o = {.argv = argv, .env = env, .cwd = b->bundle, .is_session = true};

    add_streams(argv, b);
    if (r->o.log_max_bytes > 0 && !b->has_files)
        add_pair(argv, "--log-size-max", log_max);
    b->sync_fd = p->sync_fd;
    p->sync_fd = -1;
    /* conmon inherits the read end too, so that it can still write after our death. */
    memcpy(o.fds,
           (const int[PROC_FDS_MAX]){p->streams[0], p->streams[1], p->streams[2], p->monitor_fd,
                                     p->lock_fd, b->sync_fd},
           sizeof(o.fds));
    o.n_fds = 6;
    b->sync_io = loop_io_new(r->o.loop, b->sync_fd, on_sync, b);
    loop_io_want(b->sync_io, true, false);
    return proc_start(r->o.loop, &o, on_conmon_end, b, &b->conmon);
}

static void on_creation_prepared(void *message, const struct err *e)
{
    struct creation *p = message;
    struct crun_attempt *b = crun_find(p->r, p->id);
    AUTO(err_freep) struct err *failed = NULL;

    if (!b) {
        creation_free(p);
        return;
    }
    if (!e)
        failed = attempt_start_conmon(b, p);
    if (!e && !failed)
        attempt_take_outputs(b, p);
    creation_free(p);
    if (e || failed) {
        b->state = RUNTIME_INTENDED;
        attempt_close_sync(b);
        attempt_finish(b, e ? e : failed);
    }
}

static struct err *check_create(const struct runtime_create *c)
{
    if (!crun_is_name(c->id, RUNTIME_ID_SIZE - 1) ||
        !crun_is_name(json_text(c->intent, "uid"), 64) ||
        !crun_is_name(json_text(c->intent, "container"), 63))
        return err_new(ERR_INVALID, "container id '%s' is invalid", c->id);
    return NULL;
}

/* The id on this machine of the root that hooks of the container run as; -1: no hook runs there. */
static int64_t hook_uid_of(const json_t *config)
{
    const json_t *map = json_array_get(json_at(config, "linux", "uidMappings", NULL), 0);

    return json_object_get(config, "hooks") ? json_int(map, "hostID", -1) : -1;
}

static struct err *attempt_join(struct crun *r, const char *id, struct join *ret)
{
    const struct crun_attempt *target = crun_find(r, id);
    pid_t pid = target && target->state == RUNTIME_RUNNING ? attempt_first_process(target) : 0;

    if (pid == 0)
        return err_new(ERR_UNAVAILABLE, "the target container does not run");
    return join_open(pid, id, ret);
}

void crun_create(void *self, const struct runtime_create *c, runtime_done_fn done, void *arg)
{
    struct crun *r = self;
    struct crun_attempt *b = crun_find(r, c->id);
    struct err *e = check_create(c);
    struct creation *p = NULL;
    const char *slash = strrchr(c->log_path, '/');
    int64_t hook_uid = hook_uid_of(c->config);
    struct join join = JOIN_NONE;
    AUTO(json_freep) json_t *intent = NULL;

    if (!e && b && b->state != RUNTIME_INTENDED)
        e = err_new(ERR_EXISTS, "attempt %s exists already", c->id);
    if (!e && b && b->is_being_removed)
        e = err_new(ERR_CONFLICT, "attempt %s is being removed", c->id);
    if (!e && c->joined)
        e = attempt_join(r, c->joined, &join);
    if (e) {
        crun_defer(r, done, arg, e);
        return;
    }
    intent = json_deep_copy(c->intent);
    json_put_text(intent, "id", c->id);
    json_put_text(intent, "boot", r->boot_id);
    json_put_text(intent, "runtime", oci_name(r->oci.kind));
    if (!b)
        b = attempt_new(r, c->id, intent);
    b->kind = r->oci.kind;
    b->state = RUNTIME_CREATING;
    b->exit = (struct runtime_exit){0};
    b->done = done;
    b->done_arg = arg;
    err_free(TAKE(b->create_error));
    buf_clear(&b->sync_text);
    free(b->log_path);
    b->log_path = mem_strdup(c->log_path);
    b->has_stdin = c->has_stdin;
    b->is_stdin_once = c->is_stdin_once;
    b->has_terminal = c->has_terminal;
    b->has_files = c->batch != NULL;
    b->join = join;
    if (c->joined)
        join_put(&join, r->oci.kind == OCI_RUNC, c->config);
    p = mem_alloc(sizeof(*p));
    *p = (struct creation){.r = r,
                           .id = mem_strdup(c->id),
                           .bundle = mem_strdup(b->bundle),
                           .last_dir = attempt_last_dir(b),
                           .intent_path = attempt_intent_path(b),
                           .intent = json_format(intent),
                           .config = json_format(c->config),
                           .hook_uid = hook_uid,
                           .log_dir = mem_strndup(c->log_path, (size_t)(slash - c->log_path)),
                           .batch = c->batch ? json_format(c->batch) : NULL,
                           .streams = {-1, -1, -1},
                           .lock_fd = -1,
                           .sync_fd = -1,
                           .monitor_fd = -1};
    worker_give(r->o.worker, creation_prepare, on_creation_prepared, p);
}
