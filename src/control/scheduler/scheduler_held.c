/*
 * scheduler_held.c - gpus that the ledger says are held, in the engine
 *
 * If no pod in the engine accounts for a held gpu, a stand-in holds it: a workload with just that
 * gpu, until the pod appears or the ledger frees the gpu.
 */
#include "base/log.h"
#include "control/scheduler/scheduler_private.h"

static struct sched_held *find_held(const struct scheduler *s, const char *uuid)
{
    struct sched_held *h = NULL;

    map_find_text(handle, s->held, uuid, h);
    return h;
}

static void held_drop(struct scheduler *s, struct sched_held *h)
{
    if (h->stand_in == 0)
        return;
    (void)mete_workload_remove(s->engine, h->stand_in); /* the engine has it: stand_in added it */
    h->stand_in = 0;
    scheduler_poke(s);
}

void scheduler_drop_stand_in(struct scheduler *s, const char *uuid)
{
    struct sched_held *h = find_held(s, uuid);

    if (h)
        held_drop(s, h);
}

/* Does the pod that the ledger names hold the gpu in the engine? */
static bool is_accounted(const struct scheduler *s, const struct sched_held *h)
{
    const struct sched_pod *p = scheduler_find_pod(s, h->pod);

    return p && p->work && text_equal(p->uid, h->pod_uid) && p->is_placed &&
           mete_gpu_holder(s->engine, h->uuid) == p->work->id;
}

static void held_stand_in(struct scheduler *s, struct sched_held *h)
{
    const struct mete_pod_set set = {.name = "main", .count = 1, .gpus = 1};
    const char *const gpus[] = {h->uuid};
    struct mete_pod_placement pod = {.node = h->node, .gpus = gpus, .n_gpus = 1};
    struct mete_workload w = {.id = METE_ID_UNNAMED + ++s->next_unnamed,
                              .name = h->pod,
                              .pod_sets = &set,
                              .n_pod_sets = 1};
    struct mete_placement placement = {.workload = w.id, .pods = &pod, .n_pods = 1};

    if (mete_workload_restore(s->engine, &w, &placement) == METE_OK) {
        h->stand_in = w.id;
        return;
    }
    /*
     * Another workload holds the gpu in the engine. Its binding will be refused, which frees the
     * gpu for this stand-in.
     */
    LOG(WARN, "another workload holds a gpu of the ledger in the engine", S("gpu", h->uuid),
        S("pod", h->pod), S("error", mete_last_error(s->engine)));
}

/* Is the gpu held until the last pod of its gang is gone? */
static bool is_kept(const struct scheduler *s, const struct sched_held *h)
{
    const struct sched_work *w = scheduler_find_work(s, mete_gpu_holder(s->engine, h->uuid));

    return w && (w->is_leaving || w->is_shrunk);
}

static void held_check(struct scheduler *s, struct sched_held *h)
{
    if (h->is_over || is_accounted(s, h))
        held_drop(s, h);
    else if (h->stand_in == 0 && !is_kept(s, h))
        held_stand_in(s, h);
}

void scheduler_check_held(struct scheduler *s, const char *uuid)
{
    struct sched_held *h = find_held(s, uuid);

    if (h)
        held_check(s, h);
}

void sched_pod_release(struct scheduler *s, const struct sched_pod *p)
{
    VEC_EACH (&p->gpus, uuid) {
        struct sched_held *h = find_held(s, *uuid);

        if (h && text_equal(h->pod_uid, p->uid))
            h->is_over = true;
    }
}

void scheduler_check_all_held(struct scheduler *s)
{
    struct sched_held *h;
    struct sched_held *next;

    map_each (handle, s->held, h, next) {
        held_check(s, h);
    }
}

void sched_held_free(struct scheduler *s, struct sched_held *h)
{
    map_remove(handle, s->held, h);
    free(h->uuid);
    free(h->pod);
    free(h->pod_uid);
    free(h->node);
    free(h);
}

/* A gpu that is held in parts is held whole here, by the first of its holders. */
void scheduler_put_held(void *arg, const char *ns, const char *name, const json_t *tree)
{
    struct scheduler *s = arg;
    struct sched_held *h = find_held(s, name);
    AUTO(json_freep) json_t *entry = ledger_entry_of(tree);
    const json_t *holder = json_array_get(json_object_get(entry, "holders"), 0);

    (void)ns;
    if (h) {
        held_drop(s, h);
        sched_held_free(s, h);
    }
    h = mem_alloc(sizeof(*h));
    h->uuid = mem_strdup(name);
    h->pod = mem_strdup(text_or_empty(json_text(holder, "pod")));
    h->pod_uid = mem_strdup(text_or_empty(json_text(holder, "podUid")));
    h->node = mem_strdup(text_or_empty(json_text(entry, "node")));
    map_add(handle, s->held, h->uuid, strlen(h->uuid), h);
    if (!s->is_loading) /* while loading, the pod may not have been read yet */
        held_check(s, h);
}

void scheduler_remove_held(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct scheduler *s = arg;
    struct sched_held *h = find_held(s, name);

    (void)ns;
    (void)last;
    if (!h)
        return;
    held_drop(s, h);
    sched_held_free(s, h);
}

bool scheduler_gpu_holder(const struct scheduler *s, const char *uuid, struct scheduler_holder *ret)
{
    const struct sched_held *h = find_held(s, uuid);
    const struct sched_pod *p = h ? scheduler_find_pod(s, h->pod) : NULL;
    const char *slash = h ? strchr(h->pod, '/') : NULL;

    if (!h || !slash)
        return false;
    if (p && !text_equal(p->uid, h->pod_uid))
        p = NULL;
    *ret = (struct scheduler_holder){
        .key = h->pod,
        .pod = slash + 1,
        .job_id = p ? p->job_id : 0,
        .user = p ? p->user : "",
    };
    return true;
}
