/* slurm_others.c - pods that belong to no SlurmJob, and nodes: what listings show of them */
#include "control/slurm/slurm_private.h"
#include "kinds/job/job_facts.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/queue.h"

static void other_clear(struct slurm_other *o)
{
    free(o->uid);
    free(o->user);
    free(o->queue);
    free(o->node);
    o->uid = NULL;
    o->user = NULL;
    o->queue = NULL;
    o->node = NULL;
}

static void other_free(struct slurm_jobs *s, struct slurm_other *o)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_remove(handle, s->others, o);
    other_clear(o);
    free(o->key);
    free(o->ns);
    free(o->name);
    free(o);
}

/* The place of the first pod with this number or a later one. */
static size_t number_place(const struct slurm_jobs *s, uint64_t number)
{
    size_t low = 0;
    size_t high = s->others_by_number.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s->others_by_number.at[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct slurm_other *find_other(const struct slurm_jobs *s, const char *ns, const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct slurm_other *o = NULL;

    map_find_text(handle, s->others, key, o);
    return o;
}

void slurm_remove_other(struct slurm_jobs *s, const char *ns, const char *name)
{
    struct slurm_other *o = find_other(s, ns, name);

    if (!o)
        return;
    vec_remove(&s->others_by_number, number_place(s, o->number));
    other_free(s, o);
}

static struct slurm_other *other_new(struct slurm_jobs *s, const char *ns, const char *name)
{
    struct slurm_other *o = mem_alloc(sizeof(*o));

    o->number = ++s->others_made;
    o->key = mem_format("%s/%s", ns, name);
    o->ns = mem_strdup(ns);
    o->name = mem_strdup(name);
    map_add(handle, s->others, o->key, strlen(o->key), o);
    vec_add(&s->others_by_number, o);
    return o;
}

static struct slurm_ask ask_of(const json_t *pod)
{
    const struct pod_asks asks = pod_asks(pod);
    struct slurm_ask ask = {.nodes = 1,
                            .tasks = 1,
                            .cpus = (asks.cpu_milli + 999) / 1000,
                            .memory_bytes = asks.memory_bytes};

    if (asks.gpus.n > 0)
        ask.gpus = asks.gpus.at[0];
    ask.gpus.claim = (struct str){0}; /* borrowed from the pod */
    ask.gpus.gpus = (struct str){0};
    return ask;
}

static enum sjob_state state_of(const json_t *pod)
{
    if (text_equal(pod_phase(pod), "Succeeded"))
        return SJOB_COMPLETED;
    if (text_equal(pod_phase(pod), "Failed"))
        return text_equal(json_text_at(pod, "status", "reason", NULL), "DeadlineExceeded")
                   ? SJOB_TIMEOUT
                   : SJOB_FAILED;
    return *pod_node(pod) ? SJOB_RUNNING : SJOB_PENDING;
}

void slurm_put_other(struct slurm_jobs *s, const char *ns, const char *name, const json_t *pod)
{
    struct slurm_other *o = find_other(s, ns, name);
    const struct job facts = job_of(pod);
    const char *queue = queue_of(pod);

    if (!o)
        o = other_new(s, ns, name);
    other_clear(o);
    o->uid = mem_strdup(text_or_empty(json_text_at(pod, "metadata", "uid", NULL)));
    o->user = mem_strdup(facts.user);
    o->queue = mem_strdup(queue ? queue : QUEUE_DEFAULT);
    o->node = *pod_node(pod) ? mem_strdup(pod_node(pod)) : NULL;
    o->state = state_of(pod);
    o->id = sjob_number_of(pod);
    o->created_ns = facts.created_ns;
    o->started_ns = facts.started_ns;
    o->ended_ns = facts.is_ended ? facts.ended_ns : 0;
    o->code = facts.exit_code;
    o->limit_s = json_int_at(pod, "spec", "activeDeadlineSeconds", NULL);
    o->is_deleting = pod_is_deleting(pod);
    o->ask = ask_of(pod);
}

void slurm_forget_others(struct slurm_jobs *s)
{
    struct slurm_other *o;
    struct slurm_other *o_tmp;
    struct slurm_node *n;
    struct slurm_node *n_tmp;

    map_each (handle, s->others, o, o_tmp)
        other_free(s, o); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    vec_clear(&s->others_by_number);
    map_each (handle, s->nodes, n, n_tmp)
        slurm_remove_node(s, "", n->name, NULL); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
}

void slurm_remove_node(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct slurm_jobs *s = arg;
    struct slurm_node *n = NULL;

    (void)ns;
    (void)last;
    map_find_text(handle, s->nodes, name, n);
    if (!n)
        return;
    map_remove(handle, s->nodes, n);
    json_decref(n->object);
    free(n->name);
    free(n);
}

void slurm_put_node(void *arg, const char *ns, const char *name, const json_t *node)
{
    struct slurm_jobs *s = arg;
    struct slurm_node *n = NULL;

    (void)ns;
    map_find_text(handle, s->nodes, name, n);
    if (!n) {
        n = mem_alloc(sizeof(*n));
        n->name = mem_strdup(name);
        map_add(handle, s->nodes, n->name, strlen(n->name), n);
    }
    slurm_trigger_node(s, name, n->object, node);
    json_decref(n->object);
    n->object = json_incref((json_t *)(uintptr_t)node);
    slurm_label_node(s, n);
}
