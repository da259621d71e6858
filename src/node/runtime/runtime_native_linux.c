/* runtime_native_linux.c - the runtime of host processes: create, start, kill, remove and list */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/stamp.h"
#include "node/runtime/cgroup_freeze.h"
#include "node/runtime/cgroup_stuck.h"
#include "node/runtime/launch_cgroup_linux.h"
#include "node/runtime/launch_helper.h"
#include "node/runtime/native_linux.h"
#include "node/runtime/native_plan.h"

enum {
    ID_MAX = RUNTIME_ID_SIZE - 1
};

static const int64_t KILL_LATER_NS = 20 * NS_PER_MS;

/* ---- answers ---- */

static void on_answers(void *arg)
{
    struct native *n = arg;
    typeof(n->answers) answers = n->answers;

    n->answers = (typeof(n->answers)){0}; /* the callbacks may add more */
    VEC_EACH (&answers, a) {
        a->done(a->arg, a->e);
        err_free(a->e);
    }
    vec_done(&answers);
}

void native_answer(struct native *n, runtime_done_fn done, void *arg, struct err *e)
{
    vec_add(&n->answers, (struct native_answer){done, arg, e});
    loop_timer_set(n->answer_timer, 0);
}

/* ---- create ---- */

struct native_commit {
    struct native *n;
    char *dir;
    VEC(struct native_body) bodies;
};

static void commit_free(struct native_commit *c)
{
    VEC_EACH (&c->bodies, b) {
        free(b->id);
        free(b->text);
        err_free(b->failed);
    }
    vec_done(&c->bodies);
    free(c->dir);
    free(c);
}

static void native_commit_next(struct native *n);

static struct err *commit_work(void *message)
{
    struct native_commit *c = message;

    native_file_commit(c->dir, c->bodies.at, c->bodies.n);
    return NULL;
}

static void on_committed(void *message, const struct err *e)
{
    struct native_commit *c = message;
    struct native *n = c->n;

    (void)e; /* each body has its own result */
    n->commit = NULL;
    VEC_EACH (&c->bodies, b) {
        struct native_attempt *a = native_find(n, b->id);
        runtime_done_fn done = a ? a->done : NULL;

        if (!done)
            continue;
        a->state = b->failed ? RUNTIME_INTENDED : RUNTIME_CREATED;
        a->done = NULL;
        done(a->done_arg, b->failed);
    }
    commit_free(c);
    native_commit_next(n);
}

/* Commits all attempts that came while the commit before was under way. */
static void native_commit_next(struct native *n)
{
    struct native_commit *c = NULL;

    if (n->commit || n->due.n == 0)
        return;
    c = mem_alloc(sizeof(*c));
    *c = (struct native_commit){.n = n, .dir = mem_strdup(n->dir)};
    VEC_EACH (&n->due, id) {
        struct native_attempt *a = native_find(n, *id);

        if (a && a->document)
            vec_add(&c->bodies,
                    (struct native_body){.id = mem_strdup(*id), .text = TAKE(a->document)});
        free(*id);
    }
    vec_clear(&n->due);
    n->commit = c;
    worker_give(n->worker, commit_work, on_committed, c);
}

static bool is_name(const char *text, size_t max)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t n = text ? strspn(text, letters) : 0;

    return n > 0 && n <= max && text[n] == '\0' && text[0] != '.' && !text_equal(text, "usage");
}

/* Checks the plan as the waiter will read it. */
static struct err *check_document(const struct runtime_create *c, const json_t *document)
{
    struct native_plan plan = {0};

    if (c->has_stdin || c->has_terminal)
        return err_new(ERR_INVALID, "a host process has no streams to attach to: stdin, tty");
    TRY(native_plan_read(document, &plan));
    native_plan_done(&plan);
    return NULL;
}

static json_t *document_new(const struct native *n, const struct runtime_create *c)
{
    json_t *document = json_object();
    json_t *intent = json_twin(c->intent);

    json_put_text(intent, "id", c->id);
    json_put_text(intent, "boot", n->boot_id);
    json_put(document, "intent", intent);
    json_put(document, "config", json_incref(c->config));
    json_put(document, "host", json_incref((json_t *)(uintptr_t)c->host));
    return document;
}

static void native_create(void *self, const struct runtime_create *c, runtime_done_fn done,
                          void *arg)
{
    struct native *n = self;
    struct native_attempt *a = native_find(n, c->id);
    AUTO(json_freep) json_t *document = document_new(n, c);
    struct err *e =
        is_name(c->id, ID_MAX) ? NULL : err_new(ERR_INVALID, "container id '%s' is invalid", c->id);

    if (!e && a && (a->state != RUNTIME_INTENDED || a->done))
        e = err_new(ERR_EXISTS, "attempt %s exists already", c->id);
    if (!e && a && a->is_being_removed)
        e = err_new(ERR_CONFLICT, "attempt %s is being removed", c->id);
    if (!e)
        e = check_document(c, document);
    if (e) {
        native_answer(n, done, arg, e);
        return;
    }
    if (!a)
        a = native_attempt_new(n, c->id, json_object_get(document, "intent"));
    a->state = RUNTIME_CREATING;
    a->exit = (struct runtime_exit){0};
    a->done = done;
    a->done_arg = arg;
    free(a->document);
    a->document = json_format(document);
    vec_add(&n->due, mem_strdup(c->id));
    native_commit_next(n);
}

/* ---- start ---- */

static void native_start(void *self, const char *id, runtime_done_fn done, void *arg)
{
    struct native *n = self;
    struct native_attempt *a = native_find(n, id);
    AUTO_FREE char *path = a ? native_attempt_path(a) : NULL;
    struct err *e = NULL;

    if (!a || a->state != RUNTIME_CREATED)
        e = err_new(ERR_CONFLICT, "attempt %s is not waiting for its start", id);
    else
        e = native_file_mark(path, loop_wall_ns(n->loop), &a->fd);
    if (a && !e) {
        a->state = RUNTIME_RUNNING;
        a->exit.was_started = true;
        a->exit.started_ns = loop_wall_ns(n->loop);
        a->is_usage_read = true; /* a new attempt has none */
        a->usage = USAGE_UNKNOWN;
        vec_add(&n->queue, mem_strdup(id));
        loop_timer_set(n->launcher_timer, 0); /* all starts of this turn in one packet */
    }
    native_answer(n, done, arg, e);
}

/* ---- kill ---- */

struct native_kill {
    struct native_kill *prev;
    struct native_kill *next;
    struct native *n;
    struct loop_timer *timer;
    char *id;
    int signal; /* a value of LAUNCH_SIGNAL */
    runtime_done_fn done;
    void *arg;
};

static void kill_free(struct native_kill *k)
{
    LIST_REMOVE(k->n->kills, k);
    loop_timer_free(k->timer);
    free(k->id);
    free(k);
}

/* An attempt that was not started ends without a run. */
static void attempt_drop(struct native_attempt *a)
{
    struct runtime_container c = {.id = a->id, .intent = a->intent, .state = RUNTIME_ENDED};
    struct runtime *rt = &a->n->runtime;

    a->state = RUNTIME_ENDED;
    a->exit = (struct runtime_exit){.code = 128 + SIGKILL, .signal = SIGKILL};
    c.exit = a->exit;
    if (rt->on_change)
        rt->on_change(rt->arg, &c);
}

/* A start on its way has no waiter yet that could take the signal: again soon. */
static void on_kill(void *arg)
{
    struct native_kill *k = arg;
    struct native_attempt *a = native_find(k->n, k->id);
    runtime_done_fn done = k->done;
    void *done_arg = k->arg;

    if (a && a->state == RUNTIME_RUNNING && (a->fd >= 0 || !native_signal(a, k->signal))) {
        loop_timer_set(k->timer, KILL_LATER_NS);
        return;
    }
    if (a && a->state == RUNTIME_CREATED && k->signal == SIGKILL)
        attempt_drop(a);
    kill_free(k);
    done(done_arg, NULL);
}

static void native_kill(void *self, const char *id, int signal, runtime_done_fn done, void *arg)
{
    struct native *n = self;
    struct native_kill *k = mem_alloc(sizeof(*k));

    *k = (struct native_kill){
        .n = n, .id = mem_strdup(id), .signal = signal, .done = done, .arg = arg};
    LIST_ADD(n->kills, k);
    k->timer = loop_timer_new(n->loop, on_kill, k);
    loop_timer_set(k->timer, 0);
}

static void on_first_signalled(void *arg, const struct err *e)
{
    (void)arg;
    (void)e; /* never fails */
}

static void native_send(void *self, const char *id, const struct runtime_signal *s)
{
    const struct native *n = self;
    AUTO_FREE char *path = mem_format("/mete/%s", id);
    const struct launch_cgroup c = launch_cgroup_of(n->cgroup_root, path);

    if (s->is_for_steps)
        (void)launch_cgroup_signal_steps(&c, s->step, s->number);
    if (s->is_for_first)
        native_kill(self, id, s->number | LAUNCH_FIRST_ONLY, on_first_signalled, NULL);
}

/* ---- suspend ---- */

struct native_freeze {
    char *root;
    char *id;
    bool is_frozen;
};

static struct err *freeze_work(void *message)
{
    const struct native_freeze *f = message;
    AUTO_FREE char *path = mem_format("/mete/%s", f->id);

    return cgroup_freeze(f->root, path, f->is_frozen);
}

static void on_frozen(void *message, const struct err *e)
{
    struct native_freeze *f = message;

    if (e)
        LOG(ERROR, "job could not be suspended or resumed", S("id", f->id), E(e));
    free(f->root);
    free(f->id);
    free(f);
}

/* The worker does its jobs in turn: the last call decides. */
static void native_suspend(void *self, const char *id, bool is_suspended)
{
    struct native *n = self;
    struct native_attempt *a = native_find(n, id);
    struct native_freeze *f = mem_alloc(sizeof(*f));

    if (a)
        a->is_suspended = is_suspended;
    *f = (struct native_freeze){
        .root = mem_strdup(n->cgroup_root), .id = mem_strdup(id), .is_frozen = is_suspended};
    worker_give(n->execs.walker, freeze_work, on_frozen, f);
}

/* ---- remove ---- */

struct native_removal {
    struct native *n;
    char *id;
    char *paths[2]; /* removed in this order */
};

static struct err *removal_work(void *message)
{
    const struct native_removal *m = message;

    for (size_t i = 0; i < COUNT(m->paths); i++)
        if (m->paths[i] && unlink(m->paths[i]) < 0 && errno != ENOENT)
            return err_errno(errno, "remove %s", m->paths[i]);
    return NULL;
}

static void on_native_removed(void *message, const struct err *e)
{
    struct native_removal *m = message;
    struct native_attempt *a = native_find(m->n, m->id);
    typeof(a->removals) calls = {0};

    if (a) {
        calls = a->removals; /* the callbacks may remove the attempt again, or find it gone */
        a->removals = (typeof(a->removals)){0};
        a->is_being_removed = false;
    }
    if (a && !e)
        native_attempt_free(a);
    VEC_EACH (&calls, call)
        call->done(call->arg, e);
    vec_done(&calls);
    free(m->paths[0]);
    free(m->paths[1]);
    free(m->id);
    free(m);
}

static void native_remove(void *self, const char *id, runtime_done_fn done, void *arg)
{
    struct native *n = self;
    struct native_attempt *a = native_find(n, id);
    struct native_removal *m = NULL;

    if (!a || (a->state != RUNTIME_ENDED && a->state != RUNTIME_INTENDED) || a->done) {
        native_answer(n, done, arg,
                      a ? err_new(ERR_CONFLICT, "attempt %s has not ended", id) : NULL);
        return;
    }
    vec_add(&a->removals, (struct native_answer){done, arg, NULL});
    if (a->is_being_removed)
        return;
    a->is_being_removed = true;
    m = mem_alloc(sizeof(*m));
    *m = (struct native_removal){.n = n, .id = mem_strdup(id)};
    m->paths[0] = native_usage_path(a);
    m->paths[1] = native_attempt_path(a);
    worker_give(n->worker, removal_work, on_native_removed, m);
}

/* ---- list ---- */

/* Adds the attempt of a file. The caller logs and skips a file that cannot be read. */
static struct err *native_take_file(struct native *n, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/%s", n->dir, name);
    struct native_record r = {0};

    if (name[0] == '.') {
        (void)unlink(path); /* an unfinished write: its attempt was never begun */
        return NULL;
    }
    if (native_find(n, name)) /* from an earlier list, which failed later */
        return NULL;
    TRY(native_file_read(path, true, &r));
    (void)native_attempt_new(n, name, json_object_get(r.document, "intent"));
    native_record_done(&r);
    return NULL;
}

static struct err *native_read_files(struct native *n)
{
    char **names = NULL;
    size_t count = 0;

    TRY(dir_list(n->dir, &names, &count));
    for (size_t i = 0; i < count; i++) {
        AUTO(err_freep)
        struct err *e = text_equal(names[i], "usage") ? NULL : native_take_file(n, names[i]);

        if (e)
            LOG(ERROR, "file of an attempt cannot be read", S("file", names[i]), E(e));
    }
    names_free(names, count);
    return NULL;
}

struct native_listing {
    struct native *n; /* NULL: freed; no caller waits */
    runtime_list_fn fn;
    void *arg;
    struct loop_timer *timer;
};

static void listing_end(struct native *n)
{
    if (n->listing)
        loop_timer_free(n->listing->timer);
    free(n->listing);
    n->listing = NULL;
}

static void on_listing(void *arg)
{
    struct native *n = arg;
    const struct native_listing l = *n->listing;
    AUTO(err_freep) struct err *e = native_read_files(n);
    AUTO_FREE struct runtime_container *all = NULL;
    struct native_attempt *a = NULL;
    struct native_attempt *next = NULL;
    size_t count = 0;

    listing_end(n);
    map_each (handle, n->attempts, a, next) {
        native_inspect(a, false);
        if (a->state == RUNTIME_RUNNING && !n->execs.all)
            native_sweep_execs(a);
    }
    all = mem_alloc((map_count(handle, n->attempts) + 1) * sizeof(*all));
    map_each (handle, n->attempts, a, next)
        all[count++] = (struct runtime_container){
            .id = a->id, .intent = a->intent, .state = a->state, .exit = a->exit};
    l.fn(l.arg, e, all, e ? 0 : count);
}

static void native_list(void *self, runtime_list_fn fn, void *arg)
{
    struct native *n = self;

    listing_end(n);
    n->listing = mem_alloc(sizeof(*n->listing));
    *n->listing = (struct native_listing){.n = n, .fn = fn, .arg = arg};
    n->listing->timer = loop_timer_new(n->loop, on_listing, n);
    loop_timer_set(n->listing->timer, 0);
}

/* ---- the runtime ---- */

static bool native_has(void *self, const char *id)
{
    return native_find(self, id) != NULL;
}

static char *native_stuck(void *self, const char *id)
{
    struct native *n = self;
    AUTO_FREE char *cgroup = mem_format("/mete/%s", id);

    return cgroup_stuck(n->cgroup_root, "/proc", cgroup);
}

static void native_free(void *self)
{
    struct native *n = self;
    struct native_attempt *a = NULL;
    struct native_attempt *next = NULL;
    struct native_kill *k = NULL;

    worker_free(n->worker); /* finishes its jobs */
    exec_end_all(&n->execs);
    worker_free(n->execs.walker);
    native_launcher_end(n);
    listing_end(n);
    native_end_refusals(n);
    LIST_EACH (n->kills, k)
        kill_free(k);
    map_each (handle, n->attempts, a, next)
        native_attempt_free(a);
    VEC_EACH (&n->answers, answer)
        err_free(answer->e);
    VEC_EACH (&n->due, id)
        free(*id);
    VEC_EACH (&n->queue, id)
        free(*id);
    vec_done(&n->answers);
    vec_done(&n->due);
    vec_done(&n->queue);
    loop_timer_free(n->answer_timer);
    free(n->dir);
    free(n->mask_dir);
    free(n->boot_id);
    free(n->launcher_program);
    free(n->cgroup_root);
    free(n);
}

static const struct runtime_ops native_ops = {.create = native_create,
                                              .start = native_start,
                                              .kill = native_kill,
                                              .signal = native_send,
                                              .suspend = native_suspend,
                                              .remove = native_remove,
                                              .list = native_list,
                                              .usage = native_usage,
                                              .add_gpus = native_add_gpus,
                                              .exec = native_exec,
                                              .attach = native_refuse_attach,
                                              .forward = native_refuse_forward,
                                              .has = native_has,
                                              .stuck = native_stuck,
                                              .free = native_free};

static void on_flush(void *arg)
{
    native_flush(arg);
}

struct err *runtime_native_new(const struct runtime_native_options *o, struct runtime **ret)
{
    struct native *n = mem_alloc(sizeof(*n));
    AUTO_FREE char *usage = mem_format("%s/native/usage", o->dir);
    struct err *e = NULL;

    n->runtime = (struct runtime){.ops = &native_ops, .self = n, .name = "mete", .version = "1"};
    n->loop = o->loop;
    n->execs.loop = o->loop;
    n->dir = mem_format("%s/native", o->dir);
    n->mask_dir = mem_strdup(o->mask_dir);
    n->boot_id = mem_strdup(o->boot_id);
    n->launcher_program = o->launcher ? mem_strdup(o->launcher) : NULL;
    n->cgroup_root = mem_strdup(o->cgroup_root ? o->cgroup_root : CGROUP_ROOT);
    n->socket = -1;
    n->report = -1;
    n->answer_timer = loop_timer_new(n->loop, on_answers, n);
    n->launcher_timer = loop_timer_new(n->loop, on_flush, n);
    e = dir_make(n->dir, 0700);
    if (!e)
        e = dir_make(usage, 0700);
    if (!e)
        e = worker_new(n->loop, &n->worker);
    if (!e)
        e = worker_new(n->loop, &n->execs.walker);
    if (e) {
        native_free(n);
        return e;
    }
    *ret = &n->runtime;
    return NULL;
}
