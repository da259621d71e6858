/*
 * requeue.c - recreates evicted pods from their records
 *
 * A record is tried when it appears and when a pod of its name goes. If the creation is refused for
 * a passing cause (a full quota), the record is retried at growing intervals.
 */
#include "control/requeue.h"

#include "base/log.h"
#include "base/map.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "control/writes.h"
#include "kinds/object/requeue.h"

#define RETRY_MIN_NS NS_PER_SEC
#define RETRY_MAX_NS (INT64_C(30) * NS_PER_SEC)

/* An evicted pod to recreate. */
struct comeback {
    struct map_handle handle; /* by key */
    char *key;                /* "ns/name" */
    char *ns;
    char *name;
    char *uid;        /* of the old pod */
    int64_t retry_ns; /* delay before the next try; 0: waits for the end of the old pod */
    int64_t next_ns;  /* monotonic */
};

struct requeue {
    struct requeue_options options;
    struct cluster_watch *records_watch;
    struct cluster_watch *pods_watch;
    struct loop_timer *timer;
    struct comeback *all;
    struct writes *writes;
};

static struct comeback *comeback_find(const struct requeue *r, const char *ns, const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct comeback *c = NULL;

    map_find_text(handle, r->all, key, c);
    return c;
}

static void comeback_free(struct requeue *r, struct comeback *c)
{
    map_remove(handle, r->all, c);
    free(c->key);
    free(c->ns);
    free(c->name);
    free(c->uid);
    free(c);
}

static void tell_refused(const struct requeue *r, const struct comeback *c, const struct err *e)
{
    LOG(WARN, "pod cannot be recreated yet", S("pod", c->key), E(e));
    events_record(r->options.events, &(struct event){
                                         .kind = "Pod",
                                         .ns = c->ns,
                                         .name = c->name,
                                         .uid = c->uid,
                                         .is_warning = true,
                                         .reason = "FailedRequeue",
                                         .message = err_message(e),
                                         .component = "mete-scheduler",
                                     });
}

static void comeback_later(struct requeue *r, struct comeback *c)
{
    c->next_ns =
        loop_now_ns(r->options.loop) + retry_pause(&c->retry_ns, RETRY_MIN_NS, RETRY_MAX_NS);
    loop_timer_set(r->timer, RETRY_MIN_NS);
}

static void requeue_on_written(void *owner, const char *key, uint64_t number, const struct err *e)
{
    struct requeue *r = owner;
    struct comeback *c = NULL;

    (void)number;
    if (!e)
        return;
    map_find_text(handle, r->all, key, c);
    if (!c)
        return;
    LOG(WARN, "recreation of a pod was taken back, will be tried again", S("pod", key), E(e));
    comeback_later(r, c);
}

/* On success the record is deleted, which its watch reports. */
static void comeback_try(struct requeue *r, struct comeback *c)
{
    bool is_over = false;
    struct cluster_answer a = writes_begin(r->writes, requeue_on_written, c->key, 0);
    AUTO(err_freep)
    struct err *e =
        writes_end(a, requeue_make(r->options.objects, c->ns, c->name, a.done, a.arg, &is_over));

    if (!e && is_over) {
        LOG(INFO, "pod queued again", S("pod", c->key));
        return;
    }
    if (e && err_code(e) == ERR_CONFLICT)
        return; /* the old pod still exists: its watch reports its end */
    if (e)
        tell_refused(r, c, e);
    comeback_later(r, c);
}

static void requeue_on_time(void *arg)
{
    struct requeue *r = arg;
    int64_t now_ns = loop_now_ns(r->options.loop);
    bool has_more = false;
    struct comeback *c;
    struct comeback *next;

    map_each (handle, r->all, c, next) {
        if (c->next_ns != 0 && c->next_ns <= now_ns) {
            c->next_ns = 0;
            comeback_try(r, c);
        }
        has_more = has_more || c->next_ns != 0;
    }
    if (has_more)
        loop_timer_set(r->timer, RETRY_MIN_NS);
}

static void put_record(void *arg, const char *ns, const char *name, const json_t *record)
{
    struct requeue *r = arg;
    struct comeback *c = comeback_find(r, ns, name);
    const char *uid = json_text(record, "uid");

    if (c)
        comeback_free(r, c);
    c = mem_alloc(sizeof(*c));
    c->key = mem_format("%s/%s", ns, name);
    c->ns = mem_strdup(ns);
    c->name = mem_strdup(name);
    c->uid = mem_strdup(uid ? uid : "");
    map_add(handle, r->all, c->key, strlen(c->key), c);
    comeback_try(r, c);
}

static void remove_record(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct requeue *r = arg;
    struct comeback *c = comeback_find(r, ns, name);

    (void)last;
    if (c)
        comeback_free(r, c);
}

/* A pod that went before it was put was not reported: tries all records that wait for an end. */
static void requeue_pods_synced(void *arg)
{
    struct requeue *r = arg;
    struct comeback *c;
    struct comeback *next;

    map_each (handle, r->all, c, next) {
        if (c->next_ns == 0)
            comeback_try(r, c);
    }
}

static void records_synced(void *arg)
{
    (void)arg; /* each record was tried when it was put */
}

static void put_pod(void *arg, const char *ns, const char *name, const json_t *pod)
{
    (void)arg;
    (void)ns;
    (void)name;
    (void)pod;
}

static void remove_pod(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct requeue *r = arg;
    struct comeback *c = comeback_find(r, ns, name);

    (void)last;
    if (c)
        comeback_try(r, c);
}

struct err *requeue_new(const struct requeue_options *o, struct requeue **ret)
{
    struct requeue *r = mem_alloc(sizeof(*r));
    const struct cluster_listener records = {put_record, remove_record, r, records_synced};
    const struct cluster_listener pods = {put_pod, remove_pod, r, requeue_pods_synced};
    struct err *e;

    r->options = *o;
    r->timer = loop_timer_new(o->loop, requeue_on_time, r);
    r->writes = writes_new(r);
    e = cluster_watch(o->cluster, "mete.dev", "requeues", &records, &r->records_watch);
    if (!e)
        e = cluster_watch(o->cluster, "", "pods", &pods, &r->pods_watch);
    if (e) {
        requeue_free(r);
        return err_wrap(e, "requeue");
    }
    *ret = r;
    return NULL;
}

void requeue_free(struct requeue *r)
{
    if (!r)
        return;
    cluster_unwatch(r->options.cluster, r->records_watch);
    cluster_unwatch(r->options.cluster, r->pods_watch);
    while (r->all)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
        comeback_free(r, r->all);
    loop_timer_free(r->timer);
    writes_free(r->writes);
    free(r);
}
