/* events.c - records Events, counts repeats, retries on a full disk */

#include "control/events.h"

#include <inttypes.h>

#include "base/fnv.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/writes.h"

enum {
    KNOWN_MAX = 4096,   /* Events whose repeats are counted; an older event starts anew */
    MESSAGE_MAX = 1024, /* bytes, as in Kubernetes */
    LATE_MAX = 1024,    /* Events that wait for space on the disk; more are dropped */
};

static const int64_t retry_ns = NS_PER_SEC;

/* An Event that was written. */
struct known {
    struct map_handle handle;
    char *key; /* all texts that make two events equal */
    char *ns;
    char *name;
    int64_t count;
};

/* An Event that is not durable yet. */
struct fresh {
    struct map_handle handle; /* by number */
    uint64_t number;
    char *ns;
    json_t *tree;
    bool is_late; /* the disk was full: to be retried */
};

struct events {
    struct loop *loop;
    struct loop_timer *timer;
    struct fresh *fresh;
    uint64_t next_number;
    size_t n_late;
    struct cluster *cluster;
    struct known *known; /* in the order of their first use */
    struct writes *writes;
};

static void known_free(struct events *ev, struct known *k)
{
    map_remove(handle, ev->known, k);
    free(k->key);
    free(k->ns);
    free(k->name);
    free(k);
}

static void fresh_free(struct events *ev, struct fresh *f)
{
    map_remove(handle, ev->fresh, f);
    ev->n_late -= f->is_late;
    json_decref(f->tree);
    free(f->ns);
    free(f);
}

/* Retries the event later; drops it if too many are waiting. */
static void fresh_later(struct events *ev, struct fresh *f, const struct err *why)
{
    if (ev->n_late >= LATE_MAX) {
        LOG(WARN, "event is lost", S("object", json_text_at(f->tree, "metadata", "name", NULL)),
            S("reason", json_text(f->tree, "reason")), E(why));
        fresh_free(ev, f);
        return;
    }
    f->is_late = true;
    if (ev->n_late++ == 0)
        loop_timer_set(ev->timer, retry_ns);
}

static void events_on_created(void *owner, const char *key, uint64_t number, const struct err *e)
{
    struct events *ev = owner;
    struct fresh *f = NULL;

    (void)key;
    map_find(handle, ev->fresh, &number, sizeof(number), f);
    if (f && e)
        fresh_later(ev, f, e);
    else if (f)
        fresh_free(ev, f);
}

static bool may_pass(const struct err *e)
{
    return err_code(e) == ERR_NO_SPACE || err_code(e) == ERR_BUSY;
}

/* Fails if the event can never be written. */
static struct err *fresh_write(struct events *ev, struct fresh *f)
{
    AUTO(json_freep) json_t *tree = json_deep_copy(f->tree);
    struct cluster_answer a = writes_begin(ev->writes, events_on_created, NULL, f->number);
    AUTO(err_freep)
    struct err *e = writes_end(a, cluster_create(ev->cluster, "events", f->ns, tree, a));

    if (!e)
        return NULL;
    if (may_pass(e)) {
        fresh_later(ev, f, e);
        return NULL;
    }
    fresh_free(ev, f);
    return TAKE(e);
}

/* The first event that is refused again ends the turn. */
static void events_on_late(void *arg)
{
    struct events *ev = arg;
    struct fresh *f;
    struct fresh *next;
    bool is_refused = false;

    map_each (handle, ev->fresh, f, next) {
        AUTO(err_freep) struct err *e = NULL;
        size_t n_left = ev->n_late - 1;

        if (is_refused || !f->is_late)
            continue;
        f->is_late = false;
        ev->n_late = n_left;
        e = fresh_write(ev, f);
        is_refused = ev->n_late > n_left;
        if (e)
            LOG(WARN, "event is lost", E(e));
    }
    if (ev->n_late > 0)
        loop_timer_set(ev->timer, retry_ns);
}

struct events *events_new(struct loop *l, struct cluster *c)
{
    struct events *ev = mem_alloc(sizeof(*ev));

    ev->loop = l;
    ev->cluster = c;
    ev->writes = writes_new(ev);
    ev->timer = loop_timer_new(l, events_on_late, ev);
    return ev;
}

void events_free(struct events *ev)
{
    if (!ev)
        return;
    while (ev->known)
        known_free(ev, ev->known);
    while (ev->fresh)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
        fresh_free(ev, ev->fresh);
    loop_timer_free(ev->timer);
    writes_free(ev->writes);
    free(ev);
}

static json_t *event_tree(const struct event *what, const char *name, const char *message,
                          int64_t now_ns)
{
    const char *ns = *what->ns ? what->ns : "default";
    char stamp[STAMP_TEXT_SIZE];
    json_t *o = json_object();
    json_t *about;

    stamp_format(now_ns, stamp);
    json_put_text(o, "apiVersion", "v1");
    json_put_text(o, "kind", "Event");
    json_put_text(json_object_at(o, "metadata"), "name", name);
    json_put_text(json_object_at(o, "metadata"), "namespace", ns);
    about = json_object_at(o, "involvedObject");
    json_put_text(about, "apiVersion", what->api_version ? what->api_version : "v1");
    json_put_text(about, "kind", what->kind);
    if (*what->ns)
        json_put_text(about, "namespace", what->ns);
    json_put_text(about, "name", what->name);
    json_put_text(about, "uid", what->uid);
    json_put_text(o, "type", what->is_warning ? "Warning" : "Normal");
    json_put_text(o, "reason", what->reason);
    json_put_text(o, "message", message);
    json_put_text(o, "firstTimestamp", stamp);
    json_put_text(o, "lastTimestamp", stamp);
    json_put_int(o, "count", 1);
    json_put_text(json_object_at(o, "source"), "component", what->component);
    json_put_text(o, "reportingComponent", what->component);
    json_put_text(o, "reportingInstance", "");
    return o;
}

/* The store took the write back: the next repeat starts a new Event. */
static void events_on_written(void *owner, const char *key, uint64_t number, const struct err *e)
{
    struct events *ev = owner;
    struct known *k = NULL;

    (void)number;
    if (!e)
        return;
    LOG(WARN, "event was taken back", E(e));
    map_find_text(handle, ev->known, key, k);
    if (k)
        known_free(ev, k);
}

static struct err *count_again(struct events *ev, struct known *k)
{
    AUTO(json_freep) json_t *changes = json_object();
    const struct cluster_target target = {.resource = "events", .ns = k->ns, .name = k->name};
    struct cluster_answer a = writes_begin(ev->writes, events_on_written, k->key, 0);
    char stamp[STAMP_TEXT_SIZE];

    stamp_format(loop_wall_ns(ev->loop), stamp);
    json_put_int(changes, "count", k->count + 1);
    json_put_text(changes, "lastTimestamp", stamp);
    TRY(writes_end(a, cluster_patch(ev->cluster, &target, changes, a)));
    k->count++;
    return NULL;
}

static struct known *known_new(struct events *ev, char *key, const struct event *what)
{
    struct known *k = mem_alloc(sizeof(*k));
    int64_t now_ns = loop_wall_ns(ev->loop);

    if (map_count(handle, ev->known) >= KNOWN_MAX)
        known_free(ev, ev->known);
    k->key = key;
    k->ns = mem_strdup(*what->ns ? what->ns : "default");
    k->name =
        mem_format("%.200s.%016" PRIx64, what->name, fnv_text(FNV_START, key) ^ (uint64_t)now_ns);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; the one that was freed is out of it */
    map_add(handle, ev->known, k->key, strlen(k->key), k);
    return k;
}

static struct err *write_first(struct events *ev, struct known *k, const struct event *what,
                               const char *message)
{
    struct fresh *f = mem_alloc(sizeof(*f));

    f->number = ++ev->next_number;
    f->ns = mem_strdup(k->ns);
    f->tree = event_tree(what, k->name, message, loop_wall_ns(ev->loop));
    map_add(handle, ev->fresh, &f->number, sizeof(f->number), f);
    TRY(fresh_write(ev, f));
    k->count = 1;
    return NULL;
}

void events_record(struct events *ev, const struct event *what)
{
    AUTO_FREE char *message = mem_format("%.*s", MESSAGE_MAX, what->message);
    AUTO_FREE char *key = mem_format("%s\n%s\n%s\n%s\n%s\n%s", what->kind, what->ns, what->name,
                                     what->uid, what->reason, message);
    AUTO(err_freep) struct err *e = NULL;
    struct known *k = NULL;

    map_find_text(handle, ev->known, key, k);
    if (k) {
        e = count_again(ev, k);
        if (!e)
            return;
        if (err_code(e) == ERR_NOT_FOUND) { /* deleted by gc.h: starts anew */
            known_free(ev, k);
            k = NULL;
            err_free(e);
            e = NULL;
        }
    }
    if (!k) {
        k = known_new(ev, TAKE(key), what);
        e = write_first(ev, k, what, message);
    }
    if (e) {
        LOG(WARN, "event is lost", S("object", what->name), S("reason", what->reason), E(e));
        known_free(ev, k);
    }
}
