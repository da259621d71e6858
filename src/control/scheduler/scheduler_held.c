/*
 * scheduler_held.c - devices that the ledger says are held, in the engine
 *
 * If no pod in the engine accounts for a held device, a stand-in holds it: a workload with just
 * that device, until the pod appears or the ledger frees the device. The stand-in counts in the
 * queue of its pod: the device of a claim whose first pod has ended stays in the queue's usage.
 */
#include "base/arena.h"
#include "base/log.h"
#include "control/scheduler/scheduler_private.h"

static struct sched_held *find_held(const struct scheduler *s, const char *uuid)
{
    struct sched_held *h = NULL;

    map_find_text(handle, s->held, uuid, h);
    return h;
}

static void holder_drop(struct scheduler *s, struct sched_holder *h)
{
    if (h->stand_in == 0)
        return;
    (void)mete_workload_remove(s->engine, h->stand_in); /* the engine has it: stand_in added it */
    h->stand_in = 0;
    scheduler_poke(s);
}

void scheduler_drop_stand_in(struct scheduler *s, const char *uuid, const struct sched_pod *p)
{
    struct sched_held *held = find_held(s, uuid);

    if (!held)
        return;
    VEC_EACH (&held->holders, h) {
        if (text_equal(h->pod, p->key) && text_equal(h->pod_uid, p->uid))
            holder_drop(s, h);
    }
}

/* Does the pod that the ledger names hold the device in the engine? */
static bool is_accounted(const struct scheduler *s, const struct sched_holder *h)
{
    const struct sched_pod *p = scheduler_find_pod(s, h->pod);

    if (!p || !p->work || !text_equal(p->uid, h->pod_uid) || !sched_pod_is_placed(p))
        return false;
    if (h->device.kind == DEVICE_WHOLE)
        return mete_gpu_holder(s->engine, h->device.gpu) == p->work->id;
    return sched_pod_has_device(p, &h->device);
}

static void holder_stand_in(struct scheduler *s, const char *node, struct sched_holder *h)
{
    struct arena *a = arena_new();
    const char *ns = arena_strndup(a, h->pod, strcspn(h->pod, "/"));
    struct mete_pod_set set = {.name = "main", .count = 1, .ns = ns};
    struct sched_pod with_device = {0};
    struct mete_pod_placement pod = {.node = node};
    const struct sched_pod *p = scheduler_find_pod(s, h->pod);
    struct mete_workload w = {.id = METE_ID_UNNAMED + ++s->next_unnamed,
                              .name = h->pod,
                              .queue = p ? p->queue : NULL,
                              .user = p ? p->user : NULL,
                              .is_extra = true, /* not a workload more */
                              .pod_sets = &set,
                              .n_pod_sets = 1};
    struct mete_placement placement = {.workload = w.id, .pods = &pod, .n_pods = 1};

    vec_add(&with_device.devices, h->device);
    sched_devices_ask_again(a, &with_device, &set);
    sched_devices_place(a, &with_device, &set, &pod);
    if (mete_workload_restore(s->engine, &w, &placement) == METE_OK)
        h->stand_in = w.id;
    else
        /*
         * Another workload holds the device in the engine. Its binding will be refused, which
         * frees the device for this stand-in.
         */
        LOG(WARN, "another workload holds a gpu of the ledger in the engine",
            S("gpu", h->device.gpu), S("pod", h->pod), S("error", mete_last_error(s->engine)));
    vec_done(&with_device.devices);
    arena_free(a);
}

/* Is the gpu held until the last pod of its gang is gone? */
static bool is_kept(const struct scheduler *s, const struct sched_holder *h)
{
    const struct sched_work *w = scheduler_find_work(s, mete_gpu_holder(s->engine, h->device.gpu));

    return w && (w->phase == SCHED_WORK_LEAVING || w->is_shrunk);
}

/* Does another holder of the same claim account for the device in the engine? */
static bool is_shared(const struct scheduler *s, const struct sched_held *held,
                      const struct sched_holder *h)
{
    for (size_t i = 0; h->claim && i < held->holders.n; i++) {
        const struct sched_holder *other = &held->holders.at[i];

        if (other != h && text_equal(other->claim, h->claim) &&
            device_equal(&other->device, &h->device) &&
            (other->stand_in != 0 || (!other->is_over && is_accounted(s, other))))
            return true;
    }
    return false;
}

static void held_check(struct scheduler *s, struct sched_held *held)
{
    VEC_EACH (&held->holders, h) {
        if (h->is_over || is_accounted(s, h) || is_shared(s, held, h))
            holder_drop(s, h);
        else if (h->stand_in == 0 && !is_kept(s, h))
            holder_stand_in(s, held->node, h);
    }
}

void scheduler_check_held(struct scheduler *s, const char *uuid)
{
    struct sched_held *held = find_held(s, uuid);

    if (held)
        held_check(s, held);
}

static void held_release(struct sched_held *held, const struct sched_pod *p)
{
    VEC_EACH (&held->holders, h) {
        h->is_over = h->is_over || text_equal(h->pod_uid, p->uid);
    }
}

void sched_pod_release(struct scheduler *s, const struct sched_pod *p)
{
    VEC_EACH (&p->devices, d) {
        struct sched_held *held = find_held(s, d->gpu);

        if (held)
            held_release(held, p);
    }
}

void scheduler_check_all_held(struct scheduler *s)
{
    struct sched_held *held;
    struct sched_held *next;

    map_each (handle, s->held, held, next) {
        held_check(s, held);
    }
}

void sched_held_free(struct scheduler *s, struct sched_held *held)
{
    map_remove(handle, s->held, held);
    VEC_EACH (&held->holders, h) {
        free(h->pod);
        free(h->ns);
        free(h->pod_uid);
        free(h->claim);
    }
    vec_done(&held->holders);
    free(held->uuid);
    free(held->node);
    free(held);
}

static void held_drop(struct scheduler *s, struct sched_held *held)
{
    VEC_EACH (&held->holders, h) {
        holder_drop(s, h);
    }
    sched_held_free(s, held);
}

static char *text_copy(const json_t *entry, const char *field)
{
    return mem_strdup(text_or_empty(json_text(entry, field)));
}

static void held_add(struct sched_held *held, const json_t *entry)
{
    struct sched_holder h = {.device = device_whole(held->uuid)};
    AUTO(err_freep) struct err *e = ledger_holder_device(entry, held->uuid, &h.device);

    if (e)
        LOG(WARN, "a holder in the ledger cannot be read: the whole gpu counts as held",
            S("gpu", held->uuid), E(e));
    h.pod = text_copy(entry, "pod");
    h.ns = mem_strndup(h.pod, strcspn(h.pod, "/"));
    h.pod_uid = text_copy(entry, "podUid");
    h.claim = json_text(entry, "claim") ? text_copy(entry, "claim") : NULL;
    vec_add(&held->holders, h);
}

void scheduler_put_held(void *arg, const char *ns, const char *name, const json_t *tree)
{
    struct scheduler *s = arg;
    struct sched_held *held = find_held(s, name);
    AUTO(json_freep) json_t *entry = ledger_entry_of(tree);
    json_t *holder;
    size_t i;

    (void)ns;
    if (held)
        held_drop(s, held);
    held = mem_alloc(sizeof(*held));
    held->uuid = mem_strdup(name);
    held->node = text_copy(entry, "node");
    json_array_foreach (json_object_get(entry, "holders"), i, holder)
        held_add(held, holder);
    vec_fit(&held->holders);
    map_add(handle, s->held, held->uuid, strlen(held->uuid), held);
    if (!s->is_loading) /* while loading, the pod may not have been read yet */
        held_check(s, held);
}

void scheduler_remove_held(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct scheduler *s = arg;
    struct sched_held *held = find_held(s, name);

    (void)ns;
    (void)last;
    if (held)
        held_drop(s, held);
}

/* The container that uses the device; after its init containers, which may use the same. */
static const char *holder_container(const struct sched_pod *p, const struct device *d)
{
    const char *container = "";
    size_t index = 0;

    while (index < p->devices.n && !device_equal(&p->devices.at[index], d))
        index++;
    VEC_EACH (&p->parts, part) {
        if (index < p->devices.n && index >= part->first && index < part->first + part->count)
            container = part->container;
    }
    return container;
}

bool scheduler_gpu_holder(const struct scheduler *s, const char *uuid, size_t i,
                          struct scheduler_holder *ret)
{
    const struct sched_held *held = find_held(s, uuid);
    const struct sched_holder *h = held && i < held->holders.n ? &held->holders.at[i] : NULL;
    const struct sched_pod *p = h ? scheduler_find_pod(s, h->pod) : NULL;
    const char *slash = h ? strchr(h->pod, '/') : NULL;

    if (!h || !slash)
        return false;
    if (p && !text_equal(p->uid, h->pod_uid))
        p = NULL;
    *ret = (struct scheduler_holder){
        .ns = h->ns,
        .pod = slash + 1,
        .container = p ? holder_container(p, &h->device) : "",
        .user = p ? text_or_empty(p->user) : "",
        .queue = p ? text_or_empty(p->queue) : "",
        .job_id = p ? p->job_id : 0,
        .device = &h->device,
    };
    return true;
}

static void each_device_of(const struct sched_pod *p,
                           void (*fn)(void *arg, const struct scheduler_holder *h), void *arg)
{
    VEC_EACH (&p->devices, d)
        fn(arg, &(struct scheduler_holder){.ns = p->ns,
                                           .pod = p->name,
                                           .container = holder_container(p, d),
                                           .user = text_or_empty(p->user),
                                           .queue = text_or_empty(p->queue),
                                           .job_id = p->job_id,
                                           .device = d});
}

void scheduler_each_device(const struct scheduler *s,
                           void (*fn)(void *arg, const struct scheduler_holder *h), void *arg)
{
    struct sched_pod *p;
    struct sched_pod *tmp;

    map_each (handle, s->pods, p, tmp) {
        if (sched_pod_is_placed(p))
            each_device_of(p, fn, arg);
    }
}
