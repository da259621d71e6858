/* scheduler_pods.c - Pod objects as the engine's workloads */
#include <inttypes.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/num.h"
#include "base/stamp.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"
#include "kinds/slurm/slurm_job.h"

struct sched_pod *scheduler_find_pod(const struct scheduler *s, const char *key)
{
    struct sched_pod *p = NULL;

    map_find_text(handle, s->pods, key, p);
    return p;
}

static int64_t job_id_of(const json_t *pod)
{
    const char *text = json_text_at(pod, "metadata", "labels", POD_JOB_ID, NULL);
    AUTO(err_freep) struct err *e = NULL;
    int64_t id = 0;

    if (!text)
        return 0;
    e = num_parse_int64(str_of(text), 1, INT64_MAX >> 2, &id);
    return e ? 0 : id;
}

static struct sched_pod *pod_new(struct scheduler *s, const char *key, const json_t *pod)
{
    struct sched_pod *p = mem_alloc(sizeof(*p));
    const char *user = json_text_at(pod, "metadata", "annotations", POD_USER, NULL);
    const char *uid = json_text_at(pod, "metadata", "uid", NULL);

    p->key = mem_strdup(key);
    p->ns = mem_strdup(json_text_at(pod, "metadata", "namespace", NULL));
    p->name = mem_strdup(json_text_at(pod, "metadata", "name", NULL));
    p->uid = mem_strdup(uid ? uid : "");
    p->user = mem_strdup(user ? user : "");
    p->job_id = job_id_of(pod);
    p->is_slurm = json_text_at(pod, "metadata", "labels", SLURM_JOB_LABEL, NULL) != NULL;
    p->submit_ns = queue_since_ns(pod);
    map_add(handle, s->pods, p->key, strlen(p->key), p);
    return p;
}

void sched_pod_place(struct sched_pod *p, const char *node, const struct device *devices,
                     size_t n_devices)
{
    p->phase = SCHED_ASSUMED;
    p->node = mem_strdup(node);
    for (size_t i = 0; i < n_devices; i++)
        vec_add(&p->devices, devices[i]);
    vec_fit(&p->devices);
}

void sched_pod_unplace(struct scheduler *s, struct sched_pod *p)
{
    p->phase = p->phase == SCHED_BOUND ? SCHED_LOST : SCHED_WAITING;
    p->is_read = false;
    free(p->node);
    p->node = NULL;
    VEC_EACH (&p->devices, d) {
        scheduler_check_held(s, d->gpu);
    }
    vec_done(&p->devices);
}

static void keep_tree(struct sched_pod *p, const json_t *pod)
{
    json_decref(p->tree);
    p->tree = pod ? json_incref((json_t *)(uintptr_t)pod) : NULL;
}

void sched_pod_wait(struct scheduler *s, struct sched_pod *p, const char *code,
                    const char *class_text, const char *message)
{
    bool is_same = text_equal(code, p->wait.code);
    char *copy = message ? mem_strdup(message) : NULL;

    free(p->wait.message);
    p->wait = (struct sched_wait){
        .code = copy ? code : NULL,
        .class_text = class_text,
        .message = copy,
        .since_ns = is_same ? p->wait.since_ns : loop_wall_ns(s->options.loop),
    };
    if (copy)
        scheduler_list_waiting(s, p);
}

/* Removes the pod from the engine; its resources are free there. */
static void leave_engine(struct scheduler *s, struct sched_pod *p)
{
    scheduler_unlist(s, p);
    if (p->group)
        sched_group_changed(s, p->group);
    sched_pod_wait(s, p, NULL, NULL, NULL);
    if (p->work) {
        sched_work_leave(s, p);
        sched_pod_unplace(s, p);
        scheduler_poke(s);
    }
    p->phase = SCHED_OUTSIDE;
}

void sched_pod_free(struct scheduler *s, struct sched_pod *p)
{
    sched_pod_unread(s, p);
    scheduler_leave_group(s, p);
    scheduler_unlist(s, p);
    map_remove(handle, s->pods, p);
    VEC_EACH (&p->parts, part) {
        free(part->container);
    }
    vec_done(&p->parts);
    vec_done(&p->devices);
    json_decref(p->tree);
    free(p->queue);
    free(p->gates);
    free(p->claims);
    free(p->wait.message);
    free(p->label_text);
    free(p->told);
    free(p->node);
    free(p->user);
    free(p->uid);
    free(p->name);
    free(p->ns);
    free(p->key);
    free(p);
}

static void pod_forget(struct scheduler *s, struct sched_pod *p)
{
    sched_pod_release(s, p);
    leave_engine(s, p);
    sched_pod_free(s, p);
}

/* The reason from before a restart is not written again. */
static void read_told(struct sched_pod *p, const json_t *pod)
{
    const json_t *condition = object_condition(pod, "PodScheduled");
    const char *message = json_text(condition, "message");

    if (p->is_told || !message || !text_equal(json_text(condition, "status"), "False"))
        return;
    p->is_told = true;
    free(p->told); /* of a reason whose write failed */
    p->told = mem_strdup(message);
}

void sched_pod_queue(struct scheduler *s, struct sched_pod *p, bool is_extra)
{
    const struct sched_work_name name = {.ns = p->ns, .name = p->name, .is_extra = is_extra};

    (void)sched_work_wait(s, sched_work_new(s, &name, &p, 1));
}

static void wait_for_turn(struct scheduler *s, struct sched_pod *p, const json_t *pod)
{
    struct gpu_asks asked = pod_gpu_asks(pod);
    const char *claims = json_text_at(pod, "metadata", "annotations", POD_CLAIMS, NULL);

    p->asks = scheduler_ask_hash(pod);
    free(p->claims);
    p->claims = claims ? mem_strdup(claims) : NULL;
    p->gpus = gpu_asks_count(&asked);
    scheduler_read_parts(p, pod);
    read_told(p, pod);
    p->phase = SCHED_WAITING;
    if (p->group)
        sched_group_changed(s, p->group); /* the pod is queued with its group */
    else
        sched_pod_queue(s, p, false);
}

enum {
    DEVICES_MAX = 64 /* limit of the engine for one node */
};

/* An init container has the same devices as the other containers: each counts once. A device that
 * the pod shares counts for the pod that had it first, or for a stand-in. */
static bool add_device(void *arg, const char *container, const struct device *d)
{
    struct sched_pod *p = arg;

    (void)container;
    if (p->tree && pod_shares_device(p->tree, d))
        return true;
    if (!sched_pod_has_device(p, d) && p->devices.n < DEVICES_MAX)
        vec_add(&p->devices, *d);
    return true;
}

static void read_place(struct scheduler *s, struct sched_pod *p, const json_t *pod)
{
    sched_pod_place(p, pod_node(pod), NULL, 0);
    pod_each_device(pod, add_device, p);
    vec_fit(&p->devices);
    VEC_EACH (&p->devices, d) {
        scheduler_drop_stand_in(s, d->gpu, p);
    }
    scheduler_read_parts(p, pod);
    p->phase = SCHED_BOUND;
}

/* The pod is on a node, whoever bound it. Pods that were bound together are a gang. */
static void pod_account(struct scheduler *s, struct sched_pod *p, const json_t *pod)
{
    const char *part = json_text_at(pod, "metadata", "annotations", POD_PLACEMENT, NULL);
    AUTO_FREE char *placement = part ? mem_strndup(part, strcspn(part, "/")) : NULL;
    bool is_gang = sched_name_is_gang(placement);
    struct sched_work_name name = {
        .ns = p->ns, .name = is_gang ? placement : p->name, .is_gang = is_gang};
    struct sched_work *w = is_gang ? scheduler_find_gang(s, p->ns, placement) : NULL;
    int64_t started_ns = stamp_or(json_text_at(pod, "status", "startTime", NULL), 0);

    scheduler_tell_shrunk(s);
    read_place(s, p, pod);
    if (w) {
        sched_work_grow(s, w, p);
        return;
    }
    if (is_gang && p->group)
        sched_group_read_priority(s, p->group, &name);
    w = sched_work_new(s, &name, &p, 1);
    w->started_ns = started_ns;
    if (is_gang && s->is_loading)
        sched_work_placed(s, w);
    else
        (void)sched_work_restore(s, w);
}

struct device_check {
    const json_t *tree;
    const struct scheduler *s;
    const struct sched_pod *p;
    bool is_same;
    size_t n; /* of the annotation, twice those that two containers have */
};

static bool check_device(void *arg, const char *container, const struct device *d)
{
    struct device_check *c = arg;

    (void)container;
    if (pod_shares_device(c->tree, d))
        return true;
    c->n++;
    c->is_same =
        c->is_same && sched_pod_has_device(c->p, d) &&
        (d->kind != DEVICE_WHOLE || mete_gpu_holder(c->s->engine, d->gpu) == c->p->work->id);
    return c->is_same;
}

/* Does the engine have the pod on this node with these devices? */
static bool is_as_decided(struct scheduler *s, const struct sched_pod *p, const json_t *pod)
{
    struct device_check c = {.tree = pod, .s = s, .p = p, .is_same = true};

    if (!p->work || !sched_pod_is_placed(p) || !text_equal(p->node, pod_node(pod)))
        return false;
    pod_each_device(pod, check_device, &c);
    return c.is_same && c.n >= p->devices.n;
}

static void put_bound(struct scheduler *s, struct sched_pod *p, const json_t *pod)
{
    if (p->group && p->phase != SCHED_BOUND)
        sched_group_changed(s, p->group);
    if (is_as_decided(s, p, pod)) {
        p->phase = SCHED_BOUND;
        sched_work_seen(s, p->work);
        return;
    }
    leave_engine(s, p);
    pod_account(s, p, pod);
}

/* Another scheduler's pod. A reason that the other scheduler has written is not overwritten. */
static void put_foreign(struct scheduler *s, struct sched_pod *p, const json_t *pod)
{
    static const char code[] = "OtherScheduler";
    const char *said = json_text(object_condition(pod, "PodScheduled"), "message");
    AUTO_FREE char *message = NULL;

    if (!p->wait.code) {
        leave_engine(s, p);
        read_told(p, pod);
        message = mem_format("waits for the scheduler '%s', which its schedulerName names; Mete "
                             "places pods of %s",
                             json_text_at(pod, "spec", "schedulerName", NULL), s->names_text);
        sched_pod_wait(s, p, code, "yours", message);
        scheduler_poke(s);
    }
    if (said && !text_equal(said, p->wait.message))
        scheduler_unlist(s, p);
}

static void put_unbound(struct scheduler *s, struct sched_pod *p, const json_t *pod)
{
    if (sched_pod_is_placed(p))
        return; /* our binding is on its way */
    if (pod_is_deleting(pod)) {
        leave_engine(s, p);
        return;
    }
    if (!scheduler_is_ours(s, pod)) {
        put_foreign(s, p, pod);
        return;
    }
    if (p->phase == SCHED_WAITING && p->asks == scheduler_ask_hash(pod)) {
        if (p->work)
            sched_work_hold(s, p->work);
        return;
    }
    leave_engine(s, p);
    wait_for_turn(s, p, pod);
}

/* An ended pod still counts in its group until it is deleted. */
static void put_ended(struct scheduler *s, struct sched_pod *p, const json_t *pod)
{
    if (!p->group) {
        pod_forget(s, p);
        return;
    }
    if (sched_pod_has_ended(p))
        return;
    sched_pod_release(s, p);
    leave_engine(s, p);
    p->is_running = false;
    p->phase = text_equal(pod_phase(pod), "Succeeded") ? SCHED_SUCCEEDED : SCHED_FAILED;
}

static void note_state(struct scheduler *s, struct sched_pod *p, const json_t *pod)
{
    bool is_running = text_equal(pod_phase(pod), "Running");
    bool is_deleting = pod_is_deleting(pod);

    p->is_ready = pod_is_ready(pod);
    if (p->is_running == is_running && p->is_deleting == is_deleting)
        return;
    if (is_running && p->bound_ns > 0) {
        observe(&s->options.observer, OBSERVED_START,
                object_condition(pod, POD_IMAGE_PULLED) ? "pulled" : "cached",
                loop_now_ns(s->options.loop) - p->bound_ns, p->key);
        p->bound_ns = 0;
        if (p->is_slurm)
            sched_pod_tell_bound(s, p);
    }
    p->is_running = is_running;
    p->is_deleting = is_deleting;
    if (p->group)
        sched_group_changed(s, p->group);
}

void scheduler_put_pod(void *arg, const char *ns, const char *name, const json_t *pod)
{
    struct scheduler *s = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct sched_pod *p = scheduler_find_pod(s, key);
    uint64_t labels = scheduler_label_hash(pod);
    bool has_new_labels;

    if (p && !text_equal(p->uid, json_text_at(pod, "metadata", "uid", NULL))) {
        pod_forget(s, p);
        p = NULL;
    }
    if (!p)
        p = pod_new(s, key, pod);
    has_new_labels = p->work && p->labels != labels;
    if (!p->label_text || p->labels != labels)
        sched_pod_read_labels(p, pod);
    p->labels = labels;
    keep_tree(p, pod);
    sched_pod_read_hold(p, pod);
    scheduler_join_group(s, p);
    if (pod_is_terminal(pod)) {
        put_ended(s, p, pod);
        return;
    }
    if (*pod_node(pod)) {
        put_bound(s, p, pod);
        sched_pod_note_suspension(s, p, pod);
        sched_pod_note_eviction(s, p, pod);
    } else {
        put_unbound(s, p, pod);
    }
    note_state(s, p, pod);
    if (has_new_labels && p->work)
        scheduler_relabel(s, p->work);
    if (!p->group && (!p->work || !p->work->is_gang))
        keep_tree(p, NULL);
}

void scheduler_expect_pod(struct scheduler *s, const json_t *pod)
{
    const json_t *metadata = json_object_get(pod, "metadata");

    if (!scheduler_is_loading(s))
        scheduler_put_pod(s, json_text(metadata, "namespace"), json_text(metadata, "name"), pod);
}

void scheduler_drop_pod(struct scheduler *s, const char *ns, const char *name, const char *uid)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct sched_pod *p = scheduler_find_pod(s, key);

    if (p && text_equal(p->uid, uid))
        pod_forget(s, p);
}

void scheduler_remove_pod(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct scheduler *s = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct sched_pod *p = scheduler_find_pod(s, key);

    (void)last;
    if (p)
        pod_forget(s, p);
}
