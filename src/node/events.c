#include "node/events.h"

#include <stdio.h>

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"

enum {
    QUEUE_MAX = 1024
};

static const int64_t DELAY_NS = 200 * NS_PER_MS; /* a job's start goes first */
static const int64_t RETRY_NS = NS_PER_SEC;
static const int64_t RETRY_MAX_NS = 30 * NS_PER_SEC;

struct event {
    struct event *prev;
    struct event *next;
    char *path;
    char *body;
};

struct events {
    struct loop *loop;
    struct client *client;
    char *node;
    struct event *queue;
    size_t n;
    struct client_call *call;
    struct loop_timer *timer;
    bool is_waiting;
    int64_t retry_ns;
};

static void send_first(void *arg);

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

static void on_posted(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct events *events = arg;
    bool is_busy = e || reply->status >= 500 || reply->status == 429;

    events->call = NULL;
    if (is_busy) {
        events->retry_ns = events->retry_ns ? events->retry_ns * 2 : RETRY_NS;
        if (events->retry_ns > RETRY_MAX_NS)
            events->retry_ns = RETRY_MAX_NS;
        wait_ns(events, events->retry_ns);
        return;
    }
    if (reply->status >= 300 && reply->status != 404) { /* 404: its namespace is gone */
        AUTO(err_freep) struct err *why = client_reply_error(reply);

        LOG(WARN, "event refused", E(why));
    }
    events->retry_ns = 0;
    drop_first(events);
    wait_ns(events, 0);
}

static void send_first(void *arg)
{
    struct events *e = arg;
    struct client_request r = {.method = "POST"};

    e->is_waiting = false;
    if (!e->queue || e->call)
        return;
    r.path = e->queue->path;
    r.body = str_of(e->queue->body);
    client_send(e->client, &r, on_posted, e, &e->call);
}

struct events *pod_events_new(struct loop *l, struct client *c, const char *node)
{
    struct events *e = mem_alloc(sizeof(*e));

    *e = (struct events){.loop = l, .client = c, .node = mem_strdup(node)};
    e->timer = loop_timer_new(l, send_first, e);
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
    loop_timer_free(e->timer);
    free(e->node);
    free(e);
}

static json_t *make(const struct events *e, const json_t *pod, const char *container,
                    const char *type, const char *reason, const char *message)
{
    const json_t *meta = json_object_get(pod, "metadata");
    json_t *event = json_object();
    json_t *about = json_object_at(event, "involvedObject");
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
    json_put_text(json_object_at(event, "metadata"), "namespace", json_text(meta, "namespace"));
    json_put_text(about, "apiVersion", "v1");
    json_put_text(about, "kind", "Pod");
    json_put_text(about, "namespace", json_text(meta, "namespace"));
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

void pod_events_add(struct events *e, const json_t *pod, const char *container, const char *type,
                    const char *reason, const char *message)
{
    AUTO(json_freep) json_t *object = NULL;
    struct event *event = NULL;
    const char *ns = json_text_at(pod, "metadata", "namespace", NULL);

    if (!pod || !ns || e->n >= QUEUE_MAX)
        return;
    object = make(e, pod, container, type, reason, message);
    event = mem_alloc(sizeof(*event));
    event->path = mem_format("/api/v1/namespaces/%s/events", ns);
    event->body = json_format(object);
    LIST_ADD(e->queue, event);
    e->n++;
    wait_ns(e, DELAY_NS);
}
