/*
 * runtime_crun_linux.c - the runtime over crun and conmon: start, kill, remove and list
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/num.h"
#include "base/stamp.h"
#include "node/runtime/cgroup_stats.h"
#include "node/runtime/cgroup_stuck.h"
#include "node/runtime/crun_attempt_linux.h"
#include "node/runtime/program.h"
#include "node/session/exec_linux.h"
#include "node/session/forward_linux.h"

enum {
    SMALL_FILE_MAX = 65536
};

static const int64_t BEGINS_NS = NS_PER_SEC;

/* ---- start, kill, remove ---- */

static struct err *attempt_mark(struct crun_attempt *b)
{
    AUTO_FREE char *path = attempt_path(b, "started");
    int64_t now_ns = loop_wall_ns(b->r->o.loop);
    char text[32];
    AUTO(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int n = snprintf(text, sizeof(text), "%" PRId64, now_ns);

    if (fd < 0)
        return err_errno(errno, "mark %s as started", b->id);
    b->exit.was_started = true;
    b->exit.started_ns = now_ns;
    /* An empty mark also counts; only the time would be lost. */
    (void)!write(fd, text, (size_t)n);
    return NULL;
}

static void crun_start(void *self, const char *id, runtime_done_fn done, void *arg)
{
    struct crun *r = self;
    struct crun_attempt *b = crun_find(r, id);
    struct err *e = NULL;

    if (!b || b->state != RUNTIME_CREATED) {
        crun_defer(r, done, arg,
                   err_new(ERR_CONFLICT, "attempt %s is not waiting for its start", id));
        return;
    }
    e = attempt_mark(b);
    if (!e) {
        b->state = RUNTIME_RUNNING;
        attempt_release(b, done, arg);
        return;
    }
    crun_defer(r, done, arg, e);
}

/* Does `pid` have child processes? True if unknown. */
static bool has_children(pid_t pid)
{
    AUTO_FREE char *path = mem_format("/proc/%d/task/%d/children", (int)pid, (int)pid);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, SMALL_FILE_MAX, &text);

    return e || text.size > 0;
}

/* Reads the signal set after `label` ("\nSigCgt:\t") in `status` (proc(5)); false: none. */
static bool read_signals(const char *status, const char *label, uint64_t *ret)
{
    const char *line = strstr(status, label);
    struct str rest = str_of(line ? line + strlen(label) : NULL);
    AUTO(err_freep) struct err *e = num_parse_hex(str_cut(&rest, '\n'), ret);

    return !e;
}

/*
 * Does the process neither catch nor block the signal? The kernel spares the first process of a pid
 * namespace the default action, so a signal would have no effect. crun_kill then signals all
 * processes of the container, or sends SIGKILL if the first is the only one. A process that has
 * just started gets time to install its handlers.
 */
static bool is_deaf(pid_t pid, int signal)
{
    const uint64_t bit = UINT64_C(1) << (signal - 1);
    AUTO_FREE char *path = mem_format("/proc/%d/status", (int)pid);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, SMALL_FILE_MAX, &text);
    uint64_t caught = 0;
    uint64_t blocked = 0;

    if (e || text.size == 0 || !read_signals(text.at, "\nSigCgt:\t", &caught) ||
        !read_signals(text.at, "\nSigBlk:\t", &blocked))
        return false;
    return ((caught | blocked) & bit) == 0;
}

/* Does the signal end a process by default? */
static bool asks_to_end(int signal)
{
    return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || signal == SIGHUP;
}

static void crun_kill(void *self, const char *id, int signal, runtime_done_fn done, void *arg)
{
    struct crun *r = self;
    struct crun_attempt *b = crun_find(r, id);
    struct command *c = NULL;
    pid_t first = b ? attempt_first_process(b) : 0;
    bool is_for_all = asks_to_end(signal) && first > 0 && is_deaf(first, signal);
    char number[16];

    if (!b || b->state == RUNTIME_ENDED || b->state == RUNTIME_INTENDED) {
        crun_defer(r, done, arg, NULL);
        return;
    }
    if (is_for_all && loop_wall_ns(r->o.loop) - b->exit.started_ns < BEGINS_NS) {
        crun_kill_later(r, id, signal, done, arg);
        return;
    }
    if (is_for_all && !has_children(first))
        signal = SIGKILL;
    (void)snprintf(number, sizeof(number), "%d", signal);
    c = mem_alloc(sizeof(*c));
    *c = (struct command){.r = r, .id = mem_strdup(id), .done = done, .arg = arg};
    if (is_for_all)
        crun_run(r, (const char *const[4]){"kill", "--all", id, number}, c);
    else
        crun_run(r, (const char *const[4]){"kill", id, number}, c);
}

struct container_removal {
    struct crun *r;
    char *id;
    char *paths[4]; /* removed in this order */
    char *intent_path;
};

static struct err *remove_files(void *message)
{
    struct container_removal *m = message;

    for (size_t i = 0; i < COUNT(m->paths); i++)
        TRY(dir_remove(m->paths[i]));
    if (unlink(m->intent_path) < 0 && errno != ENOENT)
        return err_errno(errno, "remove %s", m->intent_path);
    return NULL;
}

static void removal_free(struct container_removal *m)
{
    for (size_t i = 0; i < COUNT(m->paths); i++)
        free(m->paths[i]);
    free(m->intent_path);
    free(m->id);
    free(m);
}

static void runtime_crun_on_attempt_removed(void *message, const struct err *e)
{
    struct container_removal *m = message;
    struct crun_attempt *b = crun_find(m->r, m->id);
    typeof(b->removals) calls = {0};

    if (b) {
        calls = b->removals; /* the callbacks may remove the attempt again, or find it gone */
        b->removals = (typeof(b->removals)){0};
        b->is_being_removed = false;
    }
    if (b && !e)
        attempt_free(b);
    VEC_EACH (&calls, call)
        call->done(call->arg, e);
    vec_done(&calls);
    removal_free(m);
}

static void crun_remove(void *self, const char *id, runtime_done_fn done, void *arg)
{
    struct crun *r = self;
    struct crun_attempt *b = crun_find(r, id);
    struct container_removal *m = NULL;

    if (!b || (b->state != RUNTIME_ENDED && b->state != RUNTIME_INTENDED)) {
        crun_defer(r, done, arg, b ? err_new(ERR_CONFLICT, "attempt %s has not ended", id) : NULL);
        return;
    }
    vec_add(&b->removals, (struct removal_call){done, arg});
    if (b->is_being_removed)
        return;
    b->is_being_removed = true;
    m = mem_alloc(sizeof(*m));
    *m = (struct container_removal){
        .r = r, .id = mem_strdup(id), .intent_path = attempt_intent_path(b)};
    m->paths[0] = attempt_state_path(b);
    m->paths[1] = mem_strdup(b->bundle);
    m->paths[2] = attempt_exit_path(b);
    m->paths[3] = attempt_last_dir(b);
    worker_give(r->o.worker, remove_files, runtime_crun_on_attempt_removed, m);
}

/* ---- list ---- */

/* Adds the attempt of an intent. A malformed file names no container: the caller logs and skips it.
 */
static struct err *take_intent(struct crun *r, const char *name, struct str text)
{
    AUTO(json_freep) json_t *intent = NULL;
    const char *id = NULL;

    TRY(json_parse(text, &intent));
    id = json_text(intent, "id");
    if (!crun_is_name(id, RUNTIME_ID_SIZE - 1) || !crun_is_name(json_text(intent, "uid"), 64) ||
        !crun_is_name(json_text(intent, "container"), 63))
        return err_new(ERR_INTERNAL, "%s is not an intent", name);
    if (!crun_find(r, id)) /* may exist from an earlier list, which failed later */
        (void)attempt_new(r, id, intent);
    return NULL;
}

/* Fails if the file cannot be read now: it may name a running container. */
static struct err *read_intent(struct crun *r, const char *dir, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (!text_ends_with(name, ".json")) {
        (void)unlink(path); /* an unfinished write: its container was never begun */
        return NULL;
    }
    TRY(file_read(path, SMALL_FILE_MAX, &text));
    e = take_intent(r, name, (struct str){text.at, text.size});
    if (e)
        LOG(ERROR, "intent cannot be read", S("file", name), E(e));
    return NULL;
}

static struct err *read_intents(struct crun *r)
{
    AUTO_FREE char *dir = mem_format("%s/intents", r->dir);
    struct err *e = NULL;
    char **names = NULL;
    size_t n = 0;

    TRY(dir_list(dir, &names, &n));
    for (size_t i = 0; i < n && !e; i++)
        e = read_intent(r, dir, names[i]);
    names_free(names, n);
    return e;
}

struct listing {
    struct crun *r; /* NULL: freed; no caller waits */
    char *dir;
    runtime_list_fn fn;
    void *arg;
};

/* In the walker: ends the commands of an earlier node process. */
static struct err *listing_sweep(void *message)
{
    const struct listing *l = message;

    return exec_sweep(l->dir);
}

static void listing_tell(const struct listing *l)
{
    struct crun *r = l->r;
    void (*on_change)(void *, const struct runtime_container *) = r->runtime.on_change;
    struct runtime_container *all = NULL;
    struct crun_attempt *b = NULL;
    struct crun_attempt *next = NULL;
    size_t n = 0;

    r->runtime.on_change = NULL; /* the list reports the states */
    map_each (handle, r->attempts, b, next)
        attempt_inspect(b);
    r->runtime.on_change = on_change;
    all = mem_alloc((map_count(handle, r->attempts) + 1) * sizeof(*all));
    map_each (handle, r->attempts, b, next)
        all[n++] = (struct runtime_container){
            .id = b->id, .intent = b->intent, .state = b->state, .exit = b->exit};
    l->fn(l->arg, NULL, all, n);
    free(all);
}

static void on_swept(void *message, const struct err *swept)
{
    struct listing *l = message;
    AUTO(err_freep) struct err *e = l->r ? read_intents(l->r) : NULL;

    if (l->r)
        l->r->listing = NULL;
    if (swept)
        LOG(WARN, "files of former commands cannot be removed", E(swept));
    if (l->r && e)
        l->fn(l->arg, e, NULL, 0);
    else if (l->r)
        listing_tell(l);
    free(l->dir);
    free(l);
}

static void crun_list(void *self, runtime_list_fn fn, void *arg)
{
    struct crun *r = self;
    struct listing *l = mem_alloc(sizeof(*l));

    assert(!r->listing);
    *l = (struct listing){.r = r, .dir = mem_format("%s/exec", r->dir), .fn = fn, .arg = arg};
    r->listing = l;
    worker_give(r->execs.walker, listing_sweep, on_swept, l);
}

/* ---- the runtime ---- */

static void crun_free(void *self)
{
    struct crun *r = self;
    struct crun_attempt *b = NULL;
    struct crun_attempt *next = NULL;
    struct command *c = NULL;
    struct deferred *d = NULL;

    if (r->listing)
        r->listing->r = NULL;
    exec_end_all(&r->execs);
    crun_end_attached(r);
    crun_end_forwards(r);
    worker_free(r->execs.walker);
    LIST_EACH (r->commands, c) {
        proc_abandon(c->proc);
        command_free(c);
    }
    LIST_EACH (r->deferred, d)
        deferred_free(d);
    map_each (handle, r->attempts, b, next)
        attempt_free(b);
    free(r->dir);
    free(r->boot_id);
    oci_done(&r->oci);
    free(r->conmon_path);
    free(r->root);
    free(r);
}

static char *crun_stuck(void *self, const char *id)
{
    AUTO_FREE char *cgroup = mem_format("/mete/%s", id);

    (void)self;
    return cgroup_stuck(CGROUP_ROOT, "/proc", cgroup);
}

static const struct runtime_ops crun_ops = {.create = crun_create,
                                            .start = crun_start,
                                            .kill = crun_kill,
                                            .remove = crun_remove,
                                            .list = crun_list,
                                            .usage = crun_usage,
                                            .add_gpus = crun_add_gpus,
                                            .exec = crun_exec,
                                            .attach = crun_attach,
                                            .forward = crun_forward,
                                            .stuck = crun_stuck,
                                            .free = crun_free};

static struct err *make_dirs(const struct crun *r)
{
    static const char *const names[] = {"intents", "exits", "pods", "log", "run"};

    for (size_t i = 0; i < COUNT(names); i++) {
        AUTO_FREE char *path = mem_format("%s/%s", r->dir, names[i]);

        /* Users of a pod's user namespace must reach their root below `pods`. */
        TRY(dir_make(path, text_equal(names[i], "pods") ? 0711 : 0700));
    }
    TRY(dir_make(LAST_PARENT, 0755));
    TRY(dir_make(LAST_DIR, 0700));
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
    r->execs.loop = o->loop;
    e = oci_find(o->program, &r->oci);
    if (!e)
        e = program_find("conmon", &r->conmon_path);
    if (!e)
        e = make_dirs(r);
    if (!e)
        e = worker_new(o->loop, &r->execs.walker);
    if (e) {
        crun_free(r);
        return e;
    }
    r->runtime.name = oci_name(r->oci.kind);
    r->runtime.version = r->oci.version;
    *ret = &r->runtime;
    return NULL;
}

void runtime_free(struct runtime *r)
{
    if (r)
        r->ops->free(r->self);
}
