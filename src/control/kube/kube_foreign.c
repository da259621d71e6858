/* kube_foreign.c - the queue objects of other schedulers on a cluster */

#include "control/kube/kube_foreign.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/events.h"
#include "control/kube/cluster_kube_private.h"
#include "control/queue/foreign.h"
#include "kinds/gang.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"

#define SETTLE_NS (20 * NS_PER_MS) /* several objects of one `kubectl apply` are read at once */

enum {
    FOREIGN_CLUSTER_QUEUES,
    FOREIGN_VOLCANO,
    FOREIGN_KAI,
    FOREIGN_ALWAYS, /* kinds before it are watched from the start, the others with ClusterQueues */
    FOREIGN_COHORTS = FOREIGN_ALWAYS,
    FOREIGN_FLAVORS,
    FOREIGN_LOCAL_QUEUES,
    FOREIGN_KINDS
};

#define FOREIGN_KIND(g, v, k, p) \
    .group = (g), .version = (v), .api_version = g "/" v, .kind = (k), .plural = (p)
#define KUEUE_KIND(k, p) FOREIGN_KIND(KUEUE_GROUP, "v1beta2", k, p)
#define KUEUE_OLD(k, p, now)                                                    \
    FOREIGN_KIND(KUEUE_GROUP, "v1beta1", k, p), .kept_as = &foreign_kinds[now], \
                                                .to_kept = kueue_from_v1beta1

static const struct kind foreign_kinds[FOREIGN_KINDS] = {
    [FOREIGN_CLUSTER_QUEUES] = {KUEUE_KIND("ClusterQueue", "clusterqueues")},
    [FOREIGN_VOLCANO] = {FOREIGN_KIND(VOLCANO_GROUP, "v1beta1", "Queue", "queues")},
    [FOREIGN_KAI] = {FOREIGN_KIND(KAI_GROUP, "v2", "Queue", "queues")},
    [FOREIGN_COHORTS] = {KUEUE_KIND("Cohort", "cohorts")},
    [FOREIGN_FLAVORS] = {KUEUE_KIND("ResourceFlavor", "resourceflavors")},
    [FOREIGN_LOCAL_QUEUES] = {KUEUE_KIND("LocalQueue", "localqueues")},
};
static const struct kind foreign_kinds_old[FOREIGN_KINDS] = {
    [FOREIGN_CLUSTER_QUEUES] = {KUEUE_OLD("ClusterQueue", "clusterqueues", FOREIGN_CLUSTER_QUEUES)},
    [FOREIGN_COHORTS] = {KUEUE_OLD("Cohort", "cohorts", FOREIGN_COHORTS)},
    [FOREIGN_FLAVORS] = {KUEUE_OLD("ResourceFlavor", "resourceflavors", FOREIGN_FLAVORS)},
    [FOREIGN_LOCAL_QUEUES] = {KUEUE_OLD("LocalQueue", "localqueues", FOREIGN_LOCAL_QUEUES)},
};

/* The watch of one kind. */
struct foreign_watch {
    struct kube_foreign *foreign;
    json_t **objects; /* of struct foreign */
    struct cluster_watch *watch;
};

struct kube_foreign {
    struct over_kube *cluster;
    struct events *events;
    struct foreign all;
    struct foreign_watch watches[FOREIGN_KINDS];
    json_t *native;                 /* names of Queues of mete.dev */
    json_t *shown;                  /* Queues that the listener has, by name */
    json_t *told;                   /* what was logged, by source */
    json_t *orphans;                /* pods whose owner is not known yet: {owner: {pod: true}} */
    struct cluster_listener queues; /* {0}: none */
    struct loop_timer *timer;
    unsigned n_unsynced;
    bool has_begun;
    bool is_loaded;
};

const struct kind *kube_foreign_kind(const char *group, const char *plural)
{
    for (size_t i = 0; i < FOREIGN_KINDS; i++)
        if (text_equal(foreign_kinds[i].group, group) &&
            text_equal(foreign_kinds[i].plural, plural))
            return &foreign_kinds[i];
    return NULL;
}

const struct kind *kube_foreign_older(const struct kind *k)
{
    for (size_t i = 0; i < FOREIGN_KINDS; i++)
        if (k == &foreign_kinds[i] && foreign_kinds_old[i].kind)
            return &foreign_kinds_old[i];
    return NULL;
}

/* ---- Queues ---- */

/* Logs what is refused or not done, once, and writes an Event. `object` NULL: without an Event. */
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

/* As QUEUE_SOURCE has it: "ClusterQueue.kueue.x-k8s.io team-a". */
static char *source_format(const struct kind *k, const char *name)
{
    return mem_format("%s.%s %s", k->kind, k->group, name);
}

static const char *annotation_of(const json_t *queue, const char *key)
{
    return json_text_at(queue, "metadata", "annotations", key, NULL);
}

/* The object that a Queue stands for; NULL: none has been told. */
static const json_t *source_object(const struct kube_foreign *f, const char *source)
{
    for (size_t i = 0; i < FOREIGN_KINDS; i++) {
        AUTO_FREE char *prefix = source_format(&foreign_kinds[i], "");

        if (text_starts_with(source, prefix))
            return json_object_get(*f->watches[i].objects, source + strlen(prefix));
    }
    return NULL;
}

static void foreign_tell_queue(struct kube_foreign *f, const json_t *queue)
{
    const char *source = annotation_of(queue, QUEUE_SOURCE);
    const char *refused = annotation_of(queue, QUEUE_REFUSED);
    const char *note = annotation_of(queue, QUEUE_NOTE);

    foreign_tell(f, source, source_object(f, source), refused ? "QueueRefused" : "QueueInPart",
                 refused ? refused : note);
}

/* Objects of the kind that a Queue of mete.dev replaces. */
static void foreign_tell_replaced(struct kube_foreign *f, size_t which)
{
    bool is_local = which == FOREIGN_LOCAL_QUEUES;
    const char *key;
    json_t *object;

    json_object_foreach (*f->watches[which].objects, key, object) {
        AUTO_FREE char *source = source_format(&foreign_kinds[which], key);
        const char *name = json_text_at(object, "metadata", "name", NULL);

        if (json_object_get(f->native, name))
            foreign_tell(f, source, is_local ? NULL : object, "QueueReplaced",
                         "the Queue of mete.dev of this name is used in its place");
        else if (is_local)
            foreign_tell(f, source, NULL, NULL, NULL);
    }
}

static void foreign_show(struct kube_foreign *f)
{
    AUTO(json_freep) json_t *before = f->shown;
    const char *name;
    json_t *queue;

    f->shown = foreign_queues(&f->all, f->native);
    json_object_foreach (before, name, queue)
        if (!json_object_get(f->shown, name) && !json_object_get(f->native, name))
            f->queues.removed(f->queues.arg, "", name, queue);
    json_object_foreach (f->shown, name, queue) {
        foreign_tell_queue(f, queue);
        if (!json_equal(json_object_get(before, name), queue))
            f->queues.put(f->queues.arg, "", name, queue);
    }
    for (size_t i = 0; i < FOREIGN_KINDS; i++)
        foreign_tell_replaced(f, i);
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

static void foreign_begin_until(struct kube_foreign *f, size_t end);

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
    if (w == &w->foreign->watches[FOREIGN_CLUSTER_QUEUES])
        foreign_begin_until(w->foreign, FOREIGN_KINDS);
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
    const struct kind *k = &foreign_kinds[which];
    struct foreign_watch *w = &f->watches[which];
    const struct cluster_listener l = {on_foreign_put, on_foreign_removed, w, on_foreign_synced};

    f->n_unsynced++;
    return over_kube_watch(f->cluster, k->group, k->plural, &l, &w->watch);
}

static void foreign_begin_until(struct kube_foreign *f, size_t end)
{
    for (size_t i = 0; i < end; i++) {
        AUTO(err_freep) struct err *e = f->watches[i].watch ? NULL : foreign_begin(f, i);

        if (e) /* the watch of a kube-apiserver begins without one */
            LOG(ERROR, "queues cannot be watched", S("resource", foreign_kinds[i].plural), E(e));
    }
}

void kube_foreign_watch(struct kube_foreign *f)
{
    f->has_begun = true;
    f->n_unsynced++; /* Queues of mete.dev */
    foreign_begin_until(f, reads_foreign(f) ? FOREIGN_ALWAYS : 0);
}

void kube_foreign_unwatch(struct kube_foreign *f)
{
    f->has_begun = false;
    loop_timer_stop(f->timer);
    for (size_t i = 0; i < FOREIGN_KINDS; i++) {
        if (f->watches[i].watch)
            over_kube_unwatch(f->cluster, f->watches[i].watch);
        f->watches[i].watch = NULL;
    }
}

/* ---- pods ---- */

static bool has_kueue(const struct kube_foreign *f)
{
    return json_object_size(f->all.kueue.cluster_queues) > 0;
}

static bool has_volcano(const struct kube_foreign *f)
{
    return json_object_size(f->all.volcano) > 0;
}

bool kube_foreign_is_loaded(const struct kube_foreign *f)
{
    if (!f->has_begun)
        return true;
    return f->is_loaded && (!has_kueue(f) || kube_knows(f->cluster, &kube_jobs)) &&
           (!has_volcano(f) || kube_knows(f->cluster, &kube_volcano_groups));
}

static char *key_in(const char *ns, const char *name)
{
    return mem_format("%s/%s", ns, name);
}

static char *pod_key(const json_t *pod)
{
    return key_in(json_text_at(pod, "metadata", "namespace", NULL),
                  json_text_at(pod, "metadata", "name", NULL));
}

static char *owner_key(const struct kube_resource *r, const char *key)
{
    return mem_format("%s %s", r->plural, key);
}

/* The pod's Job or PodGroup, if it has been read; a pod that came earlier is told again with it.
 * A new reference. */
static json_t *owner_get(struct kube_foreign *f, const struct kube_resource *r, const json_t *pod,
                         const char *name)
{
    const char *ns = json_text_at(pod, "metadata", "namespace", NULL);
    AUTO_FREE char *key = name ? key_in(ns, name) : NULL;
    AUTO_FREE char *owner = name ? owner_key(r, key) : NULL;
    AUTO_FREE char *pod_name = name ? pod_key(pod) : NULL;
    json_t *object = name ? kube_object(f->cluster, r, key) : NULL;

    if (name && !object && !*pod_node(pod))
        json_put(json_object_at(f->orphans, owner), pod_name, json_true());
    return object;
}

static const char *group_of(const json_t *pod)
{
    return json_text_filled(json_at(pod, "metadata", "annotations", NULL), GANG_VOLCANO_ANNOTATION);
}

json_t *kube_foreign_pod(struct kube_foreign *f, const json_t *pod)
{
    struct foreign_owners owners = {.label = kueue_label(pod)};
    AUTO(json_freep) json_t *job = NULL;
    AUTO(json_freep) json_t *group = NULL;

    if (!reads_foreign(f))
        return kueue_pod_ignored(f->native, pod);
    if (!owners.label && has_kueue(f))
        job = owner_get(f, &kube_jobs, pod, pod_job(pod));
    if (job)
        owners.label = kueue_label(job);
    if (has_volcano(f))
        group = owner_get(f, &kube_volcano_groups, pod, group_of(pod));
    owners.group = group;
    return foreign_pod(&f->all, f->native, pod, &owners);
}

static void orphan_drop(struct kube_foreign *f, const struct kube_resource *r, const json_t *pod,
                        const char *name)
{
    const char *ns = json_text_at(pod, "metadata", "namespace", NULL);
    AUTO_FREE char *key = name ? key_in(ns, name) : NULL;
    AUTO_FREE char *owner = name ? owner_key(r, key) : NULL;
    AUTO_FREE char *pod_name = pod_key(pod);
    json_t *pods = name ? json_object_get(f->orphans, owner) : NULL;

    if (!pods)
        return;
    (void)json_object_del(pods, pod_name);
    if (json_object_size(pods) == 0)
        (void)json_object_del(f->orphans, owner);
}

void kube_foreign_pod_gone(struct kube_foreign *f, const json_t *pod)
{
    orphan_drop(f, &kube_jobs, pod, pod_job(pod));
    orphan_drop(f, &kube_volcano_groups, pod, group_of(pod));
}

void kube_foreign_owner_put(struct kube_foreign *f, const struct kube_resource *r,
                            const json_t *object)
{
    AUTO_FREE char *key = pod_key(object);
    AUTO_FREE char *owner = owner_key(r, key);
    AUTO(json_freep) json_t *pods = json_incref(json_object_get(f->orphans, owner));
    const char *pod;
    json_t *value;

    if (!pods)
        return;
    (void)json_object_del(f->orphans, owner);
    json_object_foreach (pods, pod, value)
        kube_pod_put_again(f->cluster, pod);
}

/* ---- ends ---- */

struct kube_foreign *kube_foreign_new(struct over_kube *c)
{
    struct kube_foreign *f = mem_alloc(sizeof(*f));
    json_t **const objects[FOREIGN_KINDS] = {
        [FOREIGN_CLUSTER_QUEUES] = &f->all.kueue.cluster_queues,
        [FOREIGN_VOLCANO] = &f->all.volcano,
        [FOREIGN_KAI] = &f->all.kai,
        [FOREIGN_COHORTS] = &f->all.kueue.cohorts,
        [FOREIGN_FLAVORS] = &f->all.kueue.flavors,
        [FOREIGN_LOCAL_QUEUES] = &f->all.kueue.local_queues,
    };

    *f = (struct kube_foreign){.cluster = c,
                               .events = events_new(c->o.loop, &c->cluster),
                               .native = json_object(),
                               .shown = json_object(),
                               .told = json_object(),
                               .orphans = json_object()};
    f->timer = loop_timer_new(c->o.loop, on_foreign_timer, f);
    for (size_t i = 0; i < FOREIGN_KINDS; i++) {
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
    for (size_t i = 0; i < FOREIGN_KINDS; i++)
        json_decref(*f->watches[i].objects);
    json_decref(f->native);
    json_decref(f->shown);
    json_decref(f->told);
    json_decref(f->orphans);
    free(f);
}
