/* kube_foreign.c - the queue objects of other schedulers on a cluster */

#include "control/kube/kube_foreign.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/events.h"
#include "control/kube/cluster_kube_private.h"
#include "control/queue/foreign_queue.h"
#include "control/queue/kueue.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"

#define SETTLE_NS (20 * NS_PER_MS) /* several objects of one `kubectl apply` are read at once */

enum {
    KUEUE_CLUSTER_QUEUES,
    KUEUE_COHORTS,
    KUEUE_FLAVORS,
    KUEUE_LOCAL_QUEUES,
    KUEUE_KINDS
};

#define KUEUE_KIND(v, k, p)                                                              \
    .group = KUEUE_GROUP, .version = (v), .api_version = KUEUE_GROUP "/" v, .kind = (k), \
    .plural = (p)
#define KUEUE_OLD(k, p, now) \
    KUEUE_KIND("v1beta1", k, p), .kept_as = (now), .to_kept = kueue_from_v1beta1

static const struct kind kueue_kinds[KUEUE_KINDS] = {
    [KUEUE_CLUSTER_QUEUES] = {KUEUE_KIND("v1beta2", "ClusterQueue", "clusterqueues")},
    [KUEUE_COHORTS] = {KUEUE_KIND("v1beta2", "Cohort", "cohorts")},
    [KUEUE_FLAVORS] = {KUEUE_KIND("v1beta2", "ResourceFlavor", "resourceflavors")},
    [KUEUE_LOCAL_QUEUES] = {KUEUE_KIND("v1beta2", "LocalQueue", "localqueues")},
};
static const struct kind kueue_kinds_old[KUEUE_KINDS] = {
    [KUEUE_CLUSTER_QUEUES] = {KUEUE_OLD("ClusterQueue", "clusterqueues",
                                        &kueue_kinds[KUEUE_CLUSTER_QUEUES])},
    [KUEUE_COHORTS] = {KUEUE_OLD("Cohort", "cohorts", &kueue_kinds[KUEUE_COHORTS])},
    [KUEUE_FLAVORS] = {KUEUE_OLD("ResourceFlavor", "resourceflavors", &kueue_kinds[KUEUE_FLAVORS])},
    [KUEUE_LOCAL_QUEUES] = {KUEUE_OLD("LocalQueue", "localqueues",
                                      &kueue_kinds[KUEUE_LOCAL_QUEUES])},
};

/* One watch. */
struct foreign_watch {
    struct kube_foreign *foreign;
    json_t **objects; /* of struct kueue */
    struct cluster_watch *watch;
};

struct kube_foreign {
    struct over_kube *cluster;
    struct events *events;
    struct kueue kueue;
    struct foreign_watch watches[KUEUE_KINDS];
    json_t *native;                 /* names of Queues of mete.dev */
    json_t *shown;                  /* Queues that the listener has, by name */
    json_t *told;                   /* what was logged, by source */
    json_t *orphans;                /* pods whose Job is not known yet: {job: {pod: true}} */
    struct cluster_listener queues; /* {0}: none */
    struct loop_timer *timer;
    unsigned n_unsynced;
    bool has_begun;
    bool is_loaded;
};

const struct kind *kube_foreign_kind(const char *group, const char *plural)
{
    for (size_t i = 0; i < KUEUE_KINDS; i++)
        if (text_equal(kueue_kinds[i].group, group) && text_equal(kueue_kinds[i].plural, plural))
            return &kueue_kinds[i];
    return NULL;
}

const struct kind *kube_foreign_older(const struct kind *k)
{
    for (size_t i = 0; i < KUEUE_KINDS; i++)
        if (k == &kueue_kinds[i])
            return &kueue_kinds_old[i];
    return NULL;
}

/* ---- Queues ---- */

/* Logs what is refused or not done, once, and writes an Event. `object`: of Kueue. */
static void foreign_tell(struct kube_foreign *f, const char *source, const json_t *object,
                         const char *reason, const char *text)
{
    if (text_equal(json_text(f->told, source), text))
        return;
    json_put_text(f->told, source, text);
    if (!text)
        return;
    LOG(WARN, "queue of another scheduler is not taken as it is", S("object", source),
        S("cause", text));
    if (!object)
        return;
    events_record(f->events, &(struct event){.kind = json_text(object, "kind"),
                                             .api_version = json_text(object, "apiVersion"),
                                             .ns = "",
                                             .name = json_text_at(object, "metadata", "name", NULL),
                                             .uid = json_text_at(object, "metadata", "uid", NULL),
                                             .is_warning = true,
                                             .reason = reason,
                                             .message = text,
                                             .component = "mete-scheduler"});
}

static const char *annotation_of(const json_t *queue, const char *key)
{
    return json_text_at(queue, "metadata", "annotations", key, NULL);
}

static void foreign_tell_queue(struct kube_foreign *f, const json_t *queue)
{
    const char *source = annotation_of(queue, QUEUE_SOURCE);
    const char *space = strchr(source, ' ');
    const json_t *all =
        text_starts_with(source, "Cohort.") ? f->kueue.cohorts : f->kueue.cluster_queues;
    const json_t *object = json_object_get(all, space + 1);
    const char *refused = annotation_of(queue, QUEUE_REFUSED);
    const char *note = annotation_of(queue, QUEUE_NOTE);

    foreign_tell(f, source, object, refused ? "QueueRefused" : "QueueInPart",
                 refused ? refused : note);
}

/* Queues of mete.dev that replace others. */
static void foreign_tell_replaced(struct kube_foreign *f)
{
    const char *name;
    json_t *object;

    json_object_foreach (f->kueue.cluster_queues, name, object) {
        AUTO_FREE char *source = mem_format("ClusterQueue." KUEUE_GROUP " %s", name);

        if (json_object_get(f->native, name))
            foreign_tell(f, source, object, "QueueReplaced",
                         "the Queue of mete.dev of this name is used in its place");
    }
    json_object_foreach (f->kueue.local_queues, name, object) {
        AUTO_FREE char *source = mem_format("LocalQueue." KUEUE_GROUP " %s", name);
        bool is_replaced =
            json_object_get(f->native, json_text_at(object, "metadata", "name", NULL)) != NULL;

        foreign_tell(f, source, NULL, "QueueReplaced",
                     is_replaced ? "the Queue of mete.dev of this name is used in its place"
                                 : NULL);
    }
}

static void foreign_show(struct kube_foreign *f)
{
    AUTO(json_freep) json_t *before = f->shown;
    const char *name;
    json_t *queue;

    f->shown = kueue_queues(&f->kueue, f->native);
    json_object_foreach (before, name, queue)
        if (!json_object_get(f->shown, name) && !json_object_get(f->native, name))
            f->queues.removed(f->queues.arg, "", name, queue);
    json_object_foreach (f->shown, name, queue) {
        foreign_tell_queue(f, queue);
        if (!json_equal(json_object_get(before, name), queue))
            f->queues.put(f->queues.arg, "", name, queue);
    }
    foreign_tell_replaced(f);
}

/* After a change, pods may be in other queues. */
static void on_foreign_timer(void *arg)
{
    struct kube_foreign *f = arg;

    if (f->n_unsynced > 0 || !f->has_begun)
        return;
    foreign_show(f);
    kube_pods_put_again(f->cluster);
}

static void foreign_changed(struct kube_foreign *f)
{
    if (f->is_loaded)
        loop_timer_set(f->timer, SETTLE_NS);
}

static void foreign_synced(struct kube_foreign *f)
{
    if (--f->n_unsynced > 0)
        return;
    if (f->is_loaded) {
        foreign_changed(f);
        return;
    }
    foreign_show(f);
    f->is_loaded = true;
    f->queues.synced(f->queues.arg);
}

static void native_put(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct kube_foreign *f = arg;

    if (!json_object_get(f->native, name)) {
        json_put(f->native, name, json_object());
        (void)json_object_del(f->shown, name);
        foreign_changed(f);
    }
    f->queues.put(f->queues.arg, ns, name, object);
}

static void native_removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct kube_foreign *f = arg;

    (void)json_object_del(f->native, name);
    f->queues.removed(f->queues.arg, ns, name, last);
    foreign_changed(f);
}

static void native_synced(void *arg)
{
    foreign_synced(arg);
}

struct cluster_listener kube_foreign_listen(struct kube_foreign *f,
                                            const struct cluster_listener *l)
{
    f->queues = *l;
    return (struct cluster_listener){native_put, native_removed, f, native_synced};
}

/* ---- watches ---- */

static bool reads_foreign(const struct kube_foreign *f)
{
    return f->cluster->o.foreign == KUBE_FOREIGN_READ;
}

static void foreign_begin_rest(struct kube_foreign *f);

static char *foreign_key(const char *ns, const char *name)
{
    return *ns ? mem_format("%s/%s", ns, name) : mem_strdup(name);
}

static void on_foreign_put(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct foreign_watch *w = arg;
    AUTO_FREE char *key = foreign_key(ns, name);
    const json_t *was = json_object_get(*w->objects, key);
    bool is_same = was && json_equal(json_object_get(was, "spec"), json_object_get(object, "spec"));

    json_put(*w->objects, key, json_incref((json_t *)(uintptr_t)object));
    if (w == &w->foreign->watches[KUEUE_CLUSTER_QUEUES])
        foreign_begin_rest(w->foreign);
    if (!is_same)
        foreign_changed(w->foreign);
}

static void on_foreign_removed(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct foreign_watch *w = arg;
    AUTO_FREE char *key = foreign_key(ns, name);

    (void)last;
    (void)json_object_del(*w->objects, key);
    foreign_changed(w->foreign);
}

static void on_foreign_synced(void *arg)
{
    struct foreign_watch *w = arg;

    foreign_synced(w->foreign);
}

static struct err *foreign_begin(struct kube_foreign *f, size_t which)
{
    struct foreign_watch *w = &f->watches[which];
    const struct cluster_listener l = {on_foreign_put, on_foreign_removed, w, on_foreign_synced};

    f->n_unsynced++;
    return over_kube_watch(f->cluster, kueue_kinds[which].group, kueue_kinds[which].plural, &l,
                           &w->watch);
}

static void foreign_begin_rest(struct kube_foreign *f)
{
    for (size_t i = 0; i < KUEUE_KINDS; i++) {
        AUTO(err_freep) struct err *e = f->watches[i].watch ? NULL : foreign_begin(f, i);

        if (e) /* the watch of a kube-apiserver begins without one */
            LOG(ERROR, "queues cannot be watched", S("resource", kueue_kinds[i].plural), E(e));
    }
}

struct err *kube_foreign_watch(struct kube_foreign *f)
{
    f->has_begun = true;
    f->n_unsynced++; /* Queues of mete.dev */
    return reads_foreign(f) ? foreign_begin(f, KUEUE_CLUSTER_QUEUES) : NULL;
}

void kube_foreign_unwatch(struct kube_foreign *f)
{
    f->has_begun = false;
    loop_timer_stop(f->timer);
    for (size_t i = 0; i < KUEUE_KINDS; i++) {
        if (f->watches[i].watch)
            over_kube_unwatch(f->cluster, f->watches[i].watch);
        f->watches[i].watch = NULL;
    }
}

/* ---- pods ---- */

static bool has_foreign(const struct kube_foreign *f)
{
    return json_object_size(f->kueue.cluster_queues) > 0;
}

bool kube_foreign_is_loaded(const struct kube_foreign *f)
{
    return !f->has_begun || (f->is_loaded && (!has_foreign(f) || kube_knows_jobs(f->cluster)));
}

static char *owner_key(const json_t *pod)
{
    const char *job = pod_job(pod);

    return job ? mem_format("%s/%s", json_text_at(pod, "metadata", "namespace", NULL), job) : NULL;
}

static char *pod_key(const json_t *pod)
{
    return mem_format("%s/%s", json_text_at(pod, "metadata", "namespace", NULL),
                      json_text_at(pod, "metadata", "name", NULL));
}

/* The label of the pod's Job. A pod may come before its Job. */
static const char *owner_label(struct kube_foreign *f, const json_t *pod)
{
    AUTO_FREE char *job = owner_key(pod);
    AUTO_FREE char *pod_name = job ? pod_key(pod) : NULL;
    const json_t *object = job ? kube_job(f->cluster, job) : NULL;

    if (job && !object && !*pod_node(pod))
        json_put(json_object_at(f->orphans, job), pod_name, json_true());
    return kueue_label(object);
}

json_t *kube_foreign_pod(struct kube_foreign *f, const json_t *pod)
{
    const char *label = kueue_label(pod);

    if (!reads_foreign(f))
        return kueue_pod_ignored(f->native, pod);
    if (!has_foreign(f))
        return json_incref((json_t *)(uintptr_t)pod);
    return kueue_pod(&f->kueue, f->native, pod, label ? label : owner_label(f, pod));
}

void kube_foreign_pod_gone(struct kube_foreign *f, const json_t *pod)
{
    AUTO_FREE char *job = owner_key(pod);
    AUTO_FREE char *name = job ? pod_key(pod) : NULL;
    json_t *pods = job ? json_object_get(f->orphans, job) : NULL;

    if (!pods)
        return;
    (void)json_object_del(pods, name);
    if (json_object_size(pods) == 0)
        (void)json_object_del(f->orphans, job);
}

void kube_foreign_job_put(struct kube_foreign *f, const json_t *job)
{
    AUTO_FREE char *key = pod_key(job);
    AUTO(json_freep) json_t *pods = json_incref(json_object_get(f->orphans, key));
    const char *pod;
    json_t *value;

    if (!pods)
        return;
    (void)json_object_del(f->orphans, key);
    json_object_foreach (pods, pod, value)
        kube_pod_put_again(f->cluster, pod);
}

/* ---- ends ---- */

struct kube_foreign *kube_foreign_new(struct over_kube *c)
{
    struct kube_foreign *f = mem_alloc(sizeof(*f));
    json_t **const objects[KUEUE_KINDS] = {
        [KUEUE_CLUSTER_QUEUES] = &f->kueue.cluster_queues,
        [KUEUE_COHORTS] = &f->kueue.cohorts,
        [KUEUE_FLAVORS] = &f->kueue.flavors,
        [KUEUE_LOCAL_QUEUES] = &f->kueue.local_queues,
    };

    *f = (struct kube_foreign){.cluster = c,
                               .events = events_new(c->o.loop, &c->cluster),
                               .native = json_object(),
                               .shown = json_object(),
                               .told = json_object(),
                               .orphans = json_object()};
    f->timer = loop_timer_new(c->o.loop, on_foreign_timer, f);
    for (size_t i = 0; i < KUEUE_KINDS; i++) {
        *objects[i] = json_object();
        f->watches[i] = (struct foreign_watch){.foreign = f, .objects = objects[i]};
    }
    return f;
}

void kube_foreign_free(struct kube_foreign *f)
{
    if (!f)
        return;
    loop_timer_free(f->timer);
    events_free(f->events);
    for (size_t i = 0; i < KUEUE_KINDS; i++)
        json_decref(*f->watches[i].objects);
    json_decref(f->native);
    json_decref(f->shown);
    json_decref(f->told);
    json_decref(f->orphans);
    free(f);
}
