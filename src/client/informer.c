/*
 * informer.c - list in pages, then watch, with back-off
 *
 * The watch starts at the list's revision. A list marks each object with the list's number; at the
 * end of the list, objects with an older number have been removed.
 */

#include "client/informer.h"

#include <assert.h>
#include <inttypes.h>

#include "base/json_pool.h"
#include "base/map.h"
#include "base/retry.h"
#include "base/stamp.h"

#define BACKOFF_FIRST_NS (50 * NS_PER_MS)
#define BACKOFF_MAX_NS   (5 * NS_PER_SEC)
#define LINE_MAX         ((size_t)16 << 20)

enum {
    PAGE_SIZE = 500,
    WATCH_SECONDS = 270,
    WATCH_SECONDS_SPREAD = 60,
    LATE_SECONDS = 30
};

struct known {
    json_t *object; /* NULL: packed */
    char *text;     /* of a packed object */
    char *uid;      /* the same; may be NULL */
    char *key;
    uint64_t list;
    struct map_handle handle;
};

struct informer {
    struct informer_options options;
    char *path;
    struct client_call *call;
    struct loop_timer *timer;
    struct known *objects;
    struct json_pool *pool; /* of objects from the watch; NULL: none */
    uint64_t list;          /* number of the present list */
    char *revision;         /* NULL: list first */
    char *next;             /* continue token of the next page; NULL: the first */
    struct buf line;
    int64_t backoff_ns;
    int64_t watch_seconds;
    int64_t watch_began_ns;
    bool is_broken; /* the watch failed; list again */
};

static void list_page(struct informer *i);
static void informer_watch(struct informer *i);

static void informer_on_timer(void *arg)
{
    struct informer *i = arg;

    if (i->revision)
        informer_watch(i);
    else
        list_page(i);
}

static void begin_again(struct informer *i)
{
    loop_timer_set(i->timer, retry_pause(&i->backoff_ns, BACKOFF_FIRST_NS, BACKOFF_MAX_NS));
}

static void forget_revision(struct informer *i)
{
    free(TAKE(i->revision));
    free(TAKE(i->next));
}

static char *key_of(const json_t *object)
{
    const char *ns = json_text_at(object, "metadata", "namespace", NULL);
    const char *name = json_text_at(object, "metadata", "name", NULL);

    return name ? mem_format("%s/%s", ns ? ns : "", name) : NULL;
}

/* The object that is kept. A new reference. */
static json_t *known_object(const struct known *k)
{
    json_t *object = NULL;
    struct err *e;

    if (k->object)
        return json_incref(k->object);
    e = json_parse(str_of(k->text), &object);
    assert(!e); /* a text of json_format */
    return object;
}

/* Keeps the object instead of the one before. */
static void known_keep(const struct informer *i, struct known *k, json_t *object)
{
    const char *uid = json_text_at(object, "metadata", "uid", NULL);

    json_decref(k->object);
    free(k->text);
    free(k->uid);
    k->object = i->options.is_packed ? NULL : json_incref(object);
    k->text = i->options.is_packed ? json_format(object) : NULL;
    k->uid = i->options.is_packed && uid ? mem_strdup(uid) : NULL;
}

static void known_free(struct informer *i, struct known *k)
{
    map_remove(handle, i->objects, k); /* NOLINT(clang-analyzer-unix.Malloc): uthash's links */
    json_decref(k->object);
    free(k->text);
    free(k->uid);
    free(k->key);
    free(k);
}

static void remove_known(struct informer *i, struct known *k)
{
    AUTO(json_freep) json_t *last = known_object(k);

    known_free(i, k);
    i->options.removed(i->options.arg, last);
}

static bool is_same_life(const struct known *k, const json_t *object)
{
    const char *uid = k->object ? json_text_at(k->object, "metadata", "uid", NULL) : k->uid;

    return text_equal(uid, json_text_at(object, "metadata", "uid", NULL));
}

/* Drops what the options say. */
static void object_trim(const struct informer *i, json_t *object)
{
    if (i->options.is_unmanaged)
        (void)json_object_del(json_object_get(object, "metadata"), "managedFields"); /* if any */
    if (i->options.trim)
        i->options.trim(object);
}

static void put_object(struct informer *i, json_t *object)
{
    AUTO_FREE char *key = key_of(object);
    struct known *k = NULL;

    if (!key)
        return;
    object_trim(i, object);
    map_find_text(handle, i->objects, key, k);
    if (k && !is_same_life(k, object)) {
        remove_known(i, k); /* deleted and created again while the watch was down */
        k = NULL;
    }
    if (!k) {
        k = mem_alloc(sizeof(*k));
        k->key = TAKE(key);
        map_add(handle, i->objects, k->key, strlen(k->key), k);
    }
    known_keep(i, k, object);
    k->list = i->list;
    i->options.put(i->options.arg, object);
}

static void remove_object(struct informer *i, json_t *object)
{
    AUTO_FREE char *key = key_of(object);
    struct known *k = NULL;

    if (!key)
        return;
    map_find_text(handle, i->objects, key, k);
    if (!k)
        return;
    object_trim(i, object);
    known_keep(i, k, object);
    remove_known(i, k);
}

static void remove_unlisted(struct informer *i)
{
    struct known *k;
    struct known *tmp;

    map_each (handle, i->objects, k, tmp) {
        if (k->list != i->list)
            remove_known(i, k);
    }
}

static void set_revision(struct informer *i, const char *revision)
{
    char *mine = mem_strdup(revision);

    free(i->revision);
    i->revision = mine;
}

/* Takes one line of the watch. After a line that cannot be read the informer lists again. */
static void take_event(struct informer *i, struct str line)
{
    AUTO(json_freep) json_t *event = NULL;
    AUTO(err_freep)
    struct err *e = i->pool ? json_pool_parse(i->pool, line, &event) : json_parse(line, &event);
    const char *type = json_text(event, "type");
    json_t *object = json_at(event, "object", NULL);
    const char *revision = json_text_at(object, "metadata", "resourceVersion", NULL);

    if (e || !type || !object || text_equal(type, "ERROR") || !revision) {
        i->is_broken = true;
        return;
    }
    if (text_equal(type, "ADDED") || text_equal(type, "MODIFIED"))
        put_object(i, object);
    else if (text_equal(type, "DELETED"))
        remove_object(i, object);
    set_revision(i, revision);
    i->backoff_ns = 0;
}

static void on_watch_data(void *arg, struct str piece)
{
    struct informer *i = arg;
    size_t done = 0;
    const char *end;

    buf_add(&i->line, piece.at, piece.size);
    i->is_broken = i->is_broken || i->line.overflow;
    while (!i->is_broken && i->line.size > done &&
           (end = memchr(i->line.at + done, '\n', i->line.size - done))) {
        struct str line = {.at = i->line.at + done, .size = (size_t)(end - i->line.at) - done};

        done += line.size + 1;
        if (line.size > 0)
            take_event(i, line);
    }
    if (done > 0)
        buf_consume(&i->line, done);
    if (!i->is_broken)
        return;
    client_cancel(TAKE(i->call));
    forget_revision(i);
    begin_again(i);
}

static void on_watch_end(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct informer *i = arg;

    i->call = NULL;
    if (!e && reply->status != 200)
        forget_revision(i); /* 410, or an error that the list will report */
    else if (loop_now_ns(i->options.loop) - i->watch_began_ns > BACKOFF_MAX_NS)
        i->backoff_ns = 0;
    begin_again(i);
}

static void add_query(struct buf *b, const char *path)
{
    buf_add_text(b, path);
    buf_add_char(b, strchr(path, '?') ? '&' : '?');
}

static void informer_watch(struct informer *i)
{
    struct buf path = {0};
    struct client_request r = {.method = "GET"};

    buf_done(&i->line);
    i->line = (struct buf){.cap = LINE_MAX};
    i->is_broken = false;
    i->watch_began_ns = loop_now_ns(i->options.loop);
    add_query(&path, i->path);
    buf_printf(&path,
               "watch=true&allowWatchBookmarks=true&timeoutSeconds=%" PRId64 "&resourceVersion=",
               i->watch_seconds);
    client_add_escaped(&path, str_of(i->revision));
    r.path = path.at;
    /* A server that is silent past its own limit has vanished. */
    r.timeout_ns = (i->watch_seconds + LATE_SECONDS) * NS_PER_SEC;
    client_stream(i->options.client, &r, on_watch_data, on_watch_end, i, &i->call);
    buf_done(&path);
}

static void end_list(struct informer *i, const char *revision)
{
    remove_unlisted(i);
    set_revision(i, revision);
    i->backoff_ns = 0;
    if (i->options.synced)
        i->options.synced(i->options.arg);
    informer_watch(i);
}

static bool take_page(struct informer *i, struct str body)
{
    AUTO(json_freep) json_t *page = NULL;
    AUTO(err_freep) struct err *e = json_parse(body, &page);
    json_t *items = json_at(page, "items", NULL);
    const char *revision = json_text_at(page, "metadata", "resourceVersion", NULL);
    const char *next = json_text_at(page, "metadata", "continue", NULL);
    json_t *item;
    size_t n;

    if (e || !revision || (items && !json_is_array(items) && !json_is_null(items)))
        return false;
    json_array_foreach (items, n, item)
        put_object(i, item);
    free(TAKE(i->next));
    if (next && next[0]) {
        i->next = mem_strdup(next);
        list_page(i);
    } else {
        end_list(i, revision);
    }
    return true;
}

static void on_page(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct informer *i = arg;

    i->call = NULL;
    if (!e && reply->status == 200 && take_page(i, reply->body))
        return;
    forget_revision(i);
    begin_again(i);
}

static void list_page(struct informer *i)
{
    struct buf path = {0};
    struct client_request r = {.method = "GET"};

    if (!i->next)
        i->list++;
    add_query(&path, i->path);
    buf_printf(&path, "limit=%d", (int)PAGE_SIZE);
    if (i->next) {
        buf_add_text(&path, "&continue=");
        client_add_escaped(&path, str_of(i->next));
    }
    r.path = path.at;
    client_send(i->options.client, &r, on_page, i, &i->call);
    buf_done(&path);
}

struct informer *informer_new(const struct informer_options *o)
{
    struct informer *i = mem_alloc(sizeof(*i));

    i->options = *o;
    i->pool = o->is_pooled ? json_pool_new() : NULL;
    i->path = mem_strdup(o->path);
    i->options.path = i->path;
    /* Different lengths, so that informers that started together do not renew their watches
     * together. */
    i->watch_seconds = WATCH_SECONDS + map_hash(o->path, strlen(o->path)) % WATCH_SECONDS_SPREAD;
    i->timer = loop_timer_new(o->loop, informer_on_timer, i);
    loop_timer_set(i->timer, 0);
    return i;
}

void informer_each(const struct informer *i, void (*fn)(void *arg, const json_t *object), void *arg)
{
    struct known *k;
    struct known *tmp;

    map_each (handle, i->objects, k, tmp) {
        AUTO(json_freep) json_t *object = known_object(k);

        fn(arg, object);
    }
}

json_t *informer_get(const struct informer *i, const char *key)
{
    struct known *k = NULL;

    map_find_text(handle, i->objects, key, k);
    return k ? known_object(k) : NULL;
}

void informer_free(struct informer *i)
{
    struct known *k;
    struct known *tmp;

    if (!i)
        return;
    client_cancel(i->call);
    loop_timer_free(i->timer);
    map_each (handle, i->objects, k, tmp) {
        known_free(i, k);
    }
    forget_revision(i);
    json_pool_free(i->pool);
    buf_done(&i->line);
    free(i->path);
    free(i);
}
