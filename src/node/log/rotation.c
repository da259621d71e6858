/* rotation.c - watches the logs of running containers, and removes old parts */

#include "node/log/rotation.h"

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/log/log_dirs.h"
#include "node/log/log_parts.h"
#include "node/runtime/last_words.h"

/* The poll of logs without a watch, and of growing termination messages. */
static const int64_t LOOK_NS = NS_PER_SEC;

/* The log of a running attempt. */
struct kept {
    struct map_handle handle;
    char *log;
    char *words;
    int dir; /* number of the watched directory; -1: none */
    bool is_running;
    bool is_failing; /* the log has the failure */
    bool is_busy;    /* a job is in the worker */
    bool is_wanted;  /* run another job after it */
};

/* A job of the worker: one rotation of a log. */
struct keeping {
    struct rotation *r;
    char *log;
    char *words;
    size_t max_files;
};

struct rotation {
    struct rotation_options o;
    struct log_dirs *dirs; /* NULL: no inotify instance was left */
    struct loop_timer *timer;
    struct kept *all;
};

static struct err *keeping_work(void *message)
{
    const struct keeping *m = message;

    TRY(log_parts_keep(m->log, m->max_files));
    return last_words_trim(m->words);
}

static void kept_rotate(struct rotation *r, struct kept *k);

static void on_kept(void *message, const struct err *e)
{
    struct keeping *m = message;
    struct kept *k = NULL;

    map_find_text(handle, m->r->all, m->log, k);
    if (e && err_code(e) != ERR_NOT_FOUND && !(k && k->is_failing)) /* not found: not yet created */
        LOG(WARN, "log cannot be rotated", S("log", m->log), E(e));
    if (k) {
        k->is_failing = e != NULL;
        k->is_busy = false;
    }
    if (k && k->is_wanted)
        kept_rotate(m->r, k);
    free(m->log);
    free(m->words);
    free(m);
}

static void kept_rotate(struct rotation *r, struct kept *k)
{
    struct keeping *m = NULL;

    k->is_wanted = k->is_busy;
    if (k->is_busy)
        return;
    k->is_busy = true;
    m = mem_alloc(sizeof(*m));
    *m = (struct keeping){.r = r,
                          .log = mem_strdup(k->log),
                          .words = mem_strdup(k->words),
                          .max_files = r->o.max_files};
    worker_give(r->o.worker, keeping_work, on_kept, m);
}

static void kept_watch(struct rotation *r, struct kept *k)
{
    AUTO_FREE char *dir = mem_strndup(k->log, (size_t)(strrchr(k->log, '/') - k->log));
    AUTO(err_freep) struct err *e = NULL;

    if (!r->dirs || k->dir >= 0)
        return;
    e = log_dirs_add(r->dirs, dir, &k->dir);
    if (e && err_code(e) != ERR_NOT_FOUND && !k->is_failing)
        LOG(WARN, "new files of a log are found by polling", E(e));
}

static void kept_free(struct rotation *r, struct kept *k)
{
    bool is_shared = false; /* with the container's next attempt */
    struct kept *other = NULL;
    struct kept *next = NULL;

    map_remove(handle, r->all, k);
    map_each (handle, r->all, other, next)
        is_shared = is_shared || other->dir == k->dir;
    if (r->dirs && k->dir >= 0 && !is_shared)
        log_dirs_remove(r->dirs, k->dir);
    free(k->log);
    free(k->words);
    free(k);
}

static void rotation_see(void *arg, const char *id, const char *log, const char *words)
{
    struct rotation *r = arg;
    struct kept *k = NULL;

    (void)id;
    map_find_text(handle, r->all, log, k);
    if (!k) {
        k = mem_alloc(sizeof(*k));
        *k = (struct kept){.log = mem_strdup(log), .words = mem_strdup(words), .dir = -1};
        map_add(handle, r->all, k->log, strlen(k->log), k);
    }
    k->is_running = true;
}

static void rotation_look(void *arg)
{
    struct rotation *r = arg;
    struct kept *k = NULL;
    struct kept *next = NULL;

    map_each (handle, r->all, k, next)
        k->is_running = false;
    pods_each_log(r->o.pods, rotation_see, r);
    map_each (handle, r->all, k, next) {
        kept_watch(r, k); /* before the first rotation, so that no new file is missed */
        kept_rotate(r, k);
        if (!k->is_running)
            kept_free(r, k);
    }
    loop_timer_set(r->timer, LOOK_NS);
}

static void on_new_file(void *arg, int number)
{
    struct rotation *r = arg;
    struct kept *k = NULL;
    struct kept *next = NULL;

    map_each (handle, r->all, k, next)
        if (number < 0 || k->dir == number)
            kept_rotate(r, k);
}

struct rotation *rotation_new(const struct rotation_options *o)
{
    struct rotation *r = mem_alloc(sizeof(*r));
    AUTO(err_freep) struct err *e = NULL;

    r->o = *o;
    r->timer = loop_timer_new(o->loop, rotation_look, r);
    e = log_dirs_new(o->loop, on_new_file, r, &r->dirs);
    if (e)
        LOG(WARN, "new files of logs are found by polling", E(e));
    pods_listen(o->pods, rotation_look, r);
    rotation_look(r);
    return r;
}

void rotation_free(struct rotation *r)
{
    if (!r)
        return;
    pods_unlisten(r->o.pods, r);
    while (r->all)
        kept_free(r, r->all); /* NOLINT(clang-analyzer-unix.Malloc): removed from the map */
    log_dirs_free(r->dirs);
    loop_timer_free(r->timer);
    free(r);
}
