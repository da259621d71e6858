/* events.c - the queue of Events about pods */

#include "node/pod/events.h"

#include <stdio.h>

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/retry.h"
#include "base/stamp.h"

enum {
    QUEUE_MAX = 1024,
    KNOWN_MAX = 1024,   /* Events whose count can be raised; older ones are posted anew */
    BUCKETS_MAX = 1024, /* one a reason of a container; older ones begin full */
    BURST = 25
};

static const int64_t DELAY_NS = 200 * NS_PER_MS; /* starts of pods go first */
static const int64_t RETRY_NS = NS_PER_SEC;
static const int64_t RETRY_MAX_NS = 30 * NS_PER_SEC;
static const int64_t REFILL_NS = 300 * NS_PER_SEC;

struct event {
    struct event *prev;
    struct event *next;
    char *path;
    char *body;
    bool is_patch;
};

/* A posted Event. */
struct known {
    struct map_handle handle;
    char *key; /* the identity: equal for repeated Events */
    char *path;
    int64_t count;
};

/* A token bucket for Events of one reason. */
struct bucket {
    struct map_handle handle;
    char *key;
    int64_t tokens;
    int64_t filled_ns; /* monotonic */
};

struct events {
    struct loop *loop;
    struct client *client;
    char *node;
    struct event *queue;
    size_t n;
    struct known *known; /* in order of first use, as: */
    struct bucket *buckets;
    struct client_call *call;
    struct loop_timer *timer;
    bool is_waiting;
    int64_t retry_ns;
};

static void event_send_first(void *arg);

static void wait_ns(struct events *e, int64_t delay_ns)
{
    if (e->is_waiting || e->call || !e->queue)
        return;
    e->is_waiting = true;
    loop_timer_set(e->timer, delay_ns);
}

static void drop_first(struct events *e)
{
    struct event *first = e->queue;

    LIST_REMOVE(e->queue, first);
    e->n--;
    free(first->path);
    free(first->body);
    free(first);
}

static void known_free(struct events *e, struct known *k)
{
    map_remove(handle, e->known, k);
    free(k->key);
    free(k->path);
    free(k);
}

static void bucket_free(struct events *e, struct bucket *b)
{
    map_remove(handle, e->buckets, b);
    free(b->key);
    free(b);
}

/* The server no longer has the Event: its next repetition is posted as new. */
static void known_forget(struct events *e, const char *path)
{
    struct known *k = NULL;
    struct known *next = NULL;

    map_each (handle, e->known, k, next)
        if (text_equal(k->path, path))
            known_free(e, k);
}

static void on_posted(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct events *events = arg;
    bool is_busy = e || reply->status >= 500 || reply->status == 429;

    events->call = NULL;
    if (is_busy) {
        wait_ns(events, retry_pause(&events->retry_ns, RETRY_NS, RETRY_MAX_NS));
        return;
    }
    if (reply->status >= 300 && events->queue->is_patch)
        known_forget(events, events->queue->path);
    /* 404: the Event or its namespace is gone. */
    if (reply->status >= 300 && reply->status != 404) {
        AUTO(err_freep) struct err *why = client_reply_error(reply);

        LOG(WARN, "event refused", E(why));
    }
    events->retry_ns = 0;
    drop_first(events);
    wait_ns(events, 0);
}

static void event_send_first(void *arg)
{
    struct events *e = arg;
    struct client_request r = {.method = "POST"};

    e->is_waiting = false;
    if (!e->queue || e->call)
        return;
    if (e->queue->is_patch) {
        r.method = "PATCH";
        r.content_type = "application/merge-patch+json";
    }
    r.path = e->queue->path;
    r.body = str_of(e->queue->body);
    client_send(e->client, &r, on_posted, e, &e->call);
}

struct events *pod_events_new(struct loop *l, struct client *c, const char *node)
{
    struct events *e = mem_alloc(sizeof(*e));

    *e = (struct events){.loop = l, .client = c, .node = mem_strdup(node)};
    e->timer = loop_timer_new(l, event_send_first, e);
    return e;
}

void pod_events_free(struct events *e)
{
    if (!e)
        return;
    if (e->call)
        client_cancel(e->call);
    while (e->queue)
        drop_first(e);
    while (e->known)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
        known_free(e, e->known);
    while (e->buckets)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
        bucket_free(e, e->buckets);
    loop_timer_free(e->timer);
    free(e->node);
    free(e);
}

static json_t *event_make(const struct events *e, const json_t *pod, const char *container,
                          const char *type, const char *reason, const char *message)
{
    const json_t *meta = json_object_get(pod, "metadata");
    json_t *event = json_object();
    json_t *about = json_object_at(event, "involvedObject");
    const char *kind = json_text(pod, "kind");
    const char *ns = json_text(meta, "namespace");
    char stamp[STAMP_TEXT_SIZE];
    char id[37];
    AUTO_FREE char *name = NULL;
    AUTO_FREE char *field = container ? mem_format("spec.containers{%s}", container) : NULL;

    uuid_make(id);
    id[8] = '\0';
    name = mem_format("%.200s.%s", json_text(meta, "name"), id);
    stamp_format(loop_wall_ns(e->loop), stamp);
    json_put_text(event, "apiVersion", "v1");
    json_put_text(event, "kind", "Event");
    json_put_text(json_object_at(event, "metadata"), "name", name);
    json_put_text(json_object_at(event, "metadata"), "namespace", ns ? ns : "default");
    json_put_text(about, "apiVersion", "v1");
    json_put_text(about, "kind", kind ? kind : "Pod");
    json_put_text(about, "namespace", ns);
    json_put_text(about, "name", json_text(meta, "name"));
    json_put_text(about, "uid", json_text(meta, "uid"));
    json_put_text(about, "fieldPath", field);
    json_put_text(event, "type", type);
    json_put_text(event, "reason", reason);
    json_put_text(event, "message", message);
    json_put_text(event, "firstTimestamp", stamp);
    json_put_text(event, "lastTimestamp", stamp);
    json_put_int(event, "count", 1);
    json_put_text(json_object_at(event, "source"), "component", "mete-node");
    json_put_text(json_object_at(event, "source"), "host", e->node);
    json_put_text(event, "reportingComponent", "mete-node");
    json_put_text(event, "reportingInstance", e->node);
    return event;
}

/* ---- repeated Events ---- */

static bool may_tell(struct events *e, const char *key)
{
    int64_t now_ns = loop_now_ns(e->loop);
    struct bucket *b = NULL;
    int64_t n = 0;

    map_find_text(handle, e->buckets, key, b);
    if (!b) {
        if (map_count(handle, e->buckets) >= BUCKETS_MAX)
            bucket_free(e, e->buckets);
        b = mem_alloc(sizeof(*b));
        *b = (struct bucket){.key = mem_strdup(key), .tokens = BURST, .filled_ns = now_ns};
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; the freed one left the map */
        map_add(handle, e->buckets, b->key, strlen(b->key), b);
    }
    n = (now_ns - b->filled_ns) / REFILL_NS;
    b->filled_ns += n * REFILL_NS;
    b->tokens = n > BURST - b->tokens ? BURST : b->tokens + n;
    if (b->tokens == 0)
        return false;
    b->tokens--;
    return true;
}

static void event_enqueue(struct events *e, const char *path, char *body, bool is_patch)
{
    struct event *event = mem_alloc(sizeof(*event));

    *event = (struct event){.path = mem_strdup(path), .is_patch = is_patch};
    event->body = body;
    LIST_ADD(e->queue, event);
    e->n++;
    wait_ns(e, DELAY_NS);
}

static void tell_again(struct events *e, const struct known *k)
{
    AUTO(json_freep) json_t *patch = json_object();
    char stamp[STAMP_TEXT_SIZE];

    stamp_format(loop_wall_ns(e->loop), stamp);
    json_put_int(patch, "count", k->count);
    json_put_text(patch, "lastTimestamp", stamp);
    event_enqueue(e, k->path, json_format(patch), true);
}

static void tell_first(struct events *e, const char *ns, const char *key, const json_t *object)
{
    struct known *k = mem_alloc(sizeof(*k));
    AUTO_FREE char *path = mem_format("/api/v1/namespaces/%s/events", ns);

    if (map_count(handle, e->known) >= KNOWN_MAX)
        known_free(e, e->known);
    *k = (struct known){
        .key = mem_strdup(key),
        .path = mem_format("%s/%s", path, json_text_at(object, "metadata", "name", NULL)),
        .count = 1};
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; the freed one left the map */
    map_add(handle, e->known, k->key, strlen(k->key), k);
    event_enqueue(e, path, json_format(object), false);
}

void pod_events_add(struct events *e, const json_t *pod, const char *container, const char *type,
                    const char *reason, const char *message)
{
    const char *ns = json_text_at(pod, "metadata", "namespace", NULL);
    const char *uid = json_text_at(pod, "metadata", "uid", NULL);
    AUTO(json_freep) json_t *object = NULL;
    AUTO_FREE char *what = NULL;
    AUTO_FREE char *key = NULL;
    struct known *k = NULL;
    bool may = false;

    if (!ns && json_text(pod, "kind"))
        ns = "default";
    if (!pod || !ns || e->n >= QUEUE_MAX)
        return;
    what = mem_format("%s/%s/%s", uid ? uid : "", container ? container : "", reason);
    key = mem_format("%s/%s/%s", what, type, message);
    may = may_tell(e, what);
    map_find_text(handle, e->known, key, k);
    if (k)
        k->count++;
    if (k && may)
        tell_again(e, k);
    if (k || !may)
        return;
    object = event_make(e, pod, container, type, reason, message);
    tell_first(e, ns, key, object);
}
