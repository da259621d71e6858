/* slurm_pods.c - the pods of SlurmJobs in the controller */
#include <inttypes.h>

#include "base/num.h"
#include "control/slurm/slurm_private.h"
#include "kinds/node_lease.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/queue.h"
#include "kinds/topology.h"

/* The uid of the SlurmJob that controls the pod; borrowed; NULL: none. */
static const char *owner_of(const json_t *pod)
{
    const json_t *owners = json_at(pod, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);

        if (json_bool(owner, "controller", false) &&
            text_equal(json_text(owner, "kind"), "SlurmJob") &&
            text_equal(json_text(owner, "apiVersion"), "mete.dev/v1"))
            return json_text(owner, "uid");
    }
    return NULL;
}

static bool is_tracked(const json_t *pod)
{
    return json_has_text(json_at(pod, "metadata", "finalizers", NULL), SLURM_TRACKING);
}

static int64_t number_at(const json_t *pod, const char *map, const char *key)
{
    const char *text = json_text_at(pod, "metadata", map, key, NULL);
    int64_t n = 0;

    if (text)
        err_free(num_parse_int64(str_of(text), 0, INT64_MAX, &n)); /* our own number */
    return n;
}

static const json_t *main_state(const json_t *pod)
{
    const json_t *list = json_at(pod, "status", "containerStatuses", NULL);

    return json_object_get(json_array_get(list, 0), "state");
}

static bool is_outdated(const json_t *pod)
{
    return json_text_at(pod, "metadata", "annotations", SLURM_OUTDATED_ANNOTATION, NULL) != NULL;
}

/* ---- ends ---- */

static enum sjob_state state_of_reason(const json_t *pod, const json_t *terminated)
{
    const char *reason = text_or_empty(json_text_at(pod, "status", "reason", NULL));
    const json_t *disruption = object_condition(pod, "DisruptionTarget");
    const char *why = text_or_empty(json_text(disruption, "reason"));

    if (text_equal(reason, "DeadlineExceeded"))
        return SJOB_TIMEOUT;
    if (text_equal(reason, "NodeLost") || object_condition(pod, POD_PROLOG_FAILED) ||
        text_equal(reason, POD_GPU_LOST) ||
        text_equal(json_text_at(pod, "status", "message", NULL), NODE_LEASE_LOST))
        return SJOB_NODE_FAIL;
    if (text_equal(json_text(disruption, "status"), "True")) {
        if (text_equal(why, "PreemptionByScheduler"))
            return SJOB_PREEMPTED;
        return SJOB_NODE_FAIL;
    }
    if (pod_is_deleting(pod))
        return SJOB_CANCELLED;
    if (text_equal(json_text(terminated, "reason"), "OOMKilled"))
        return SJOB_OUT_OF_MEMORY;
    return SJOB_FAILED;
}

/* The end of an allocation, told by the client that had made it. */
static void read_told_end(struct sjob_pod *p)
{
    const json_t *end = json_at(p->job->object, "spec", "end", NULL);

    if (!end || p->rank > 0 || p->end.state != SJOB_CANCELLED ||
        json_at(p->job->object, "spec", "script", NULL))
        return;
    p->end.code = json_int(end, "exitCode", 0);
    p->end.signal = json_int(end, "exitSignal", 0);
    p->end.state = p->end.code == 0 && p->end.signal == 0 ? SJOB_COMPLETED : SJOB_FAILED;
}

/* When the pod ended; unknown: now. */
static void read_end(struct sjob_pod *p, const json_t *pod)
{
    const json_t *terminated = json_object_get(main_state(pod), "terminated");
    int64_t now_ns = loop_wall_ns(p->job->jobs->options.loop);
    int64_t signal = json_int(terminated, "signal", 0);

    p->end = (struct sjob_end){.state = SJOB_COMPLETED,
                               .started_ns = stamp_or(json_text(terminated, "startedAt"), 0),
                               .ended_ns = stamp_or(json_text(terminated, "finishedAt"), now_ns)};
    p->has_prolog_failed = object_condition(pod, POD_PROLOG_FAILED) != NULL;
    p->has_epilog_failed = object_condition(pod, POD_EPILOG_FAILED) != NULL;
    if (text_equal(pod_phase(pod), "Succeeded"))
        return;
    p->end.state = state_of_reason(pod, terminated);
    p->end.code = signal > 0 ? 0 : json_int(terminated, "exitCode", 0);
    p->end.signal = signal;
    if (p->end.state == SJOB_OUT_OF_MEMORY) {
        p->end.code = 0;
        p->end.signal = 125;
    } else if (p->end.state == SJOB_TIMEOUT || p->end.state == SJOB_CANCELLED) {
        p->end.code = 0;
        p->end.signal = 0;
    } else if (p->end.state == SJOB_FAILED && !terminated) {
        p->end.code = 1; /* the container did not start */
    }
    read_told_end(p);
}

/* ---- sums ---- */

static void pod_unsum(const struct sjob_pod *p)
{
    p->job->n_outdated -= p->is_outdated;
    if (p->rank > 0 || p->is_outdated)
        return;
    p->job->n_waiting -= p->state == SJOB_PENDING;
    p->job->n_running -= p->state == SJOB_RUNNING;
    p->job->n_over -= p->state >= SJOB_COMPLETED;
}

static void pod_sum(struct sjob_pod *p)
{
    struct sjob *j = p->job;

    j->n_outdated += p->is_outdated;
    if (p->is_outdated)
        return;
    if (p->rank == 0) {
        sjob_pod_count(p, p->state < SJOB_COMPLETED);
        j->n_waiting += p->state == SJOB_PENDING;
        j->n_running += p->state == SJOB_RUNNING;
        j->n_over += p->state >= SJOB_COMPLETED;
    }
    if (p->state >= SJOB_COMPLETED && !p->is_ended) {
        p->is_ended = true;
        vec_add(&j->ended, p);
    }
}

/* SLURM_SUSPENDED_ANNOTATION */
static void read_suspension(struct sjob_pod *p, const json_t *pod)
{
    struct str rest =
        str_of(json_text_at(pod, "metadata", "annotations", SLURM_SUSPENDED_ANNOTATION, NULL));

    p->suspended_s = 0;
    if (rest.at) /* our own text */
        err_free(num_parse_int64(str_cut(&rest, ' '), 0, INT32_MAX, &p->suspended_s));
    p->suspended_at_ns = rest.at ? stamp_or(rest.at, 0) : 0;
    p->is_lent = json_text_at(pod, "metadata", "annotations", SLURM_LENT_ANNOTATION, NULL) != NULL;
}

static bool is_to_be_suspended(const struct sjob_pod *p)
{
    return p->state == SJOB_RUNNING && (p->is_lent || sjob_is_suspended(p->job, (size_t)p->index));
}

static bool is_suspension_due(const struct sjob_pod *p)
{
    return p->state < SJOB_COMPLETED && is_to_be_suspended(p) != (p->suspended_at_ns > 0);
}

static void read_state(struct sjob_pod *p, const json_t *pod)
{
    const json_t *running = json_object_get(main_state(pod), "running");
    const json_t *disruption = object_condition(pod, "DisruptionTarget");
    const char *nodes = json_text_at(pod, "metadata", "annotations", SLURM_NODES_ANNOTATION, NULL);
    const char *window =
        json_text_at(pod, "metadata", "annotations", SLURM_WINDOW_ANNOTATION, NULL);
    bool is_new = p->state == SJOB_PENDING;

    p->is_deleting = pod_is_deleting(pod);
    p->is_ready = running != NULL;
    p->is_together = json_text_at(pod, "metadata", "annotations", TOPOLOGY_REQUIRED, NULL) != NULL;
    p->is_held = json_text_at(pod, "metadata", "annotations", QUEUE_HOLD, NULL) != NULL;
    p->limit_s = json_int_at(pod, "spec", "activeDeadlineSeconds", NULL);
    read_suspension(p, pod);
    if (*pod_node(pod) && !p->node)
        p->node = mem_strdup(pod_node(pod));
    if (nodes && !p->nodes)
        p->nodes = mem_strdup(nodes);
    if (window && !p->window)
        p->window = mem_strdup(window);
    if (p->is_deleting && text_equal(json_text(disruption, "status"), "True"))
        p->fate = state_of_reason(pod, NULL);
    if (pod_is_terminal(pod) || (p->is_deleting && !p->node)) {
        read_end(p, pod);
        p->state = p->end.state;
    } else if (p->node) { /* a placed pod holds its resources: Slurm's RUNNING */
        p->state = SJOB_RUNNING;
        p->end.started_ns = stamp_or(json_text(running, "startedAt"), p->end.started_ns);
    }
    if (!is_new || p->state == SJOB_PENDING || p->rank > 0)
        return;
    if (p->node && !p->job->jobs->is_loading)
        p->job->jobs->diag.started++;
    if (p->end.started_ns == 0)
        p->end.started_ns = loop_wall_ns(p->job->jobs->options.loop);
    if (p->node && !p->job->jobs->is_loading)
        sjob_mail_begin(p->job, (size_t)p->index, &p->end);
    if (p->end.started_ns > p->job->last_start_ns)
        p->job->last_start_ns = p->end.started_ns;
    sjob_tell_dependents(p->job);
}

struct sjob_pod *sjob_find_rank(const struct sjob *j, size_t index, int64_t rank)
{
    int64_t slot = (int64_t)index * j->ask.nodes + rank;
    struct sjob_pod *p = NULL;

    map_find(by_slot, j->pods, &slot, sizeof(slot), p);
    return p;
}

struct sjob_pod *sjob_find_pod(const struct sjob *j, size_t index)
{
    return sjob_find_rank(j, index, 0);
}

bool sjob_has_pods(const struct sjob *j, size_t index)
{
    for (int64_t rank = 0; rank < j->ask.nodes; rank++)
        if (sjob_find_rank(j, index, rank))
            return true;
    return false;
}

const char *sjob_pod_nodes(const struct sjob_pod *p)
{
    return p->nodes ? p->nodes : p->node;
}

static char *license_of(const json_t *pod)
{
    const char *text = json_text_at(pod, "metadata", "annotations", SLURM_LICENSE_ANNOTATION, NULL);

    return text ? mem_strdup(text) : NULL;
}

static struct sjob_pod *sjob_pod_new(struct sjob *j, const json_t *pod)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    struct sjob_pod *p = mem_alloc(sizeof(*p));

    p->job = j;
    p->name = mem_strdup(json_text(metadata, "name"));
    p->uid = mem_strdup(json_text(metadata, "uid"));
    p->key = mem_format("%s/%s", j->ns, p->name);
    p->index = number_at(pod, "labels", SLURM_INDEX_LABEL);
    p->restarts = number_at(pod, "annotations", SLURM_RESTARTS_ANNOTATION);
    map_add(handle, j->jobs->pods, p->key, strlen(p->key), p);
    p->rank = number_at(pod, "labels", SLURM_RANK_LABEL);
    p->slot = p->index * j->ask.nodes + p->rank;
    p->license = license_of(pod);
    p->cpus = pod_asks(pod).cpu_milli / 1000;
    p->created_ns =
        stamp_or(json_text(metadata, "creationTimestamp"), loop_wall_ns(j->jobs->options.loop));
    p->is_outdated = is_outdated(pod);
    if (p->is_outdated) /* no attempt: it is not found by its slot */
        p->slot = -1 - p->slot;
    map_add(by_slot, j->pods, &p->slot, sizeof(p->slot), p);
    pod_sum(p);
    return p;
}

void sjob_outdate_pods(struct sjob *j)
{
    struct sjob_pod *p;
    struct sjob_pod *tmp;

    map_each (by_slot, j->pods, p, tmp) {
        if (p->state != SJOB_PENDING || p->is_outdated)
            continue;
        pod_unsum(p);
        sjob_pod_count(p, false);
        p->is_outdated = true;
        pod_sum(p);
        map_remove(by_slot, j->pods, p);
        p->slot = -1 - p->slot;
        map_add(by_slot, j->pods, &p->slot, sizeof(p->slot), p);
    }
    sjob_forget_accounts(j);
}

void sjob_turn_release_outdated(struct sjob_turn *t)
{
    struct sjob_pod *p;
    struct sjob_pod *tmp;

    if (t->job->n_outdated == 0)
        return;
    map_each (by_slot, t->job->pods, p, tmp)
        if (p->is_outdated)
            (void)sjob_turn_release(t, p);
}

static void leave_ended(const struct sjob_pod *p)
{
    struct sjob *j = p->job;

    for (size_t i = 0; i < j->ended.n; i++) {
        if (j->ended.at[i] != p)
            continue;
        vec_remove(&j->ended, i);
        return;
    }
}

void sjob_pod_free(struct sjob_pod *p)
{
    struct sjob *j = p->job;

    pod_unsum(p);
    sjob_pod_count(p, false);
    if (p->is_ended)
        leave_ended(p);
    if ((size_t)p->index < j->next_index)
        j->next_index = (size_t)p->index;
    map_remove(handle, j->jobs->pods, p);
    map_remove(by_slot, j->pods, p);
    free(p->key);
    free(p->name);
    free(p->uid);
    free(p->node);
    free(p->nodes);
    free(p->window);
    free(p->license);
    free(p);
}

/* ---- events ---- */

static struct sjob_pod *find_pod(const struct slurm_jobs *s, const char *ns, const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct sjob_pod *p = NULL;

    map_find_text(handle, s->pods, key, p);
    return p;
}

/* The pod has no job: only we remove its finalizer. */
static void let_go(struct slurm_jobs *s, const char *ns, const char *name)
{
    vec_add(&s->orphans, mem_format("%s/%s", ns, name));
    loop_timer_set(s->work_timer, 0);
}

/*
 * Is it the pod of an attempt that was not counted? Events of pods and of jobs come in any order:
 * an attempt may be older than the known status, or newer. A newer one ends the pod before it.
 */
static bool is_present(const struct sjob *j, const json_t *pod)
{
    size_t index = (size_t)number_at(pod, "labels", SLURM_INDEX_LABEL);
    int64_t attempt = number_at(pod, "annotations", SLURM_RESTARTS_ANNOTATION);
    int64_t present = sjob_restarts(j->status, j, index);
    int64_t rank = number_at(pod, "labels", SLURM_RANK_LABEL);
    struct sjob_pod *other = sjob_find_rank(j, index, rank);

    if (!index_set_has(&j->all, index) || rank >= j->ask.nodes || attempt < present ||
        (attempt == present && sjob_has_ended(j, index)))
        return false;
    if (other && other->restarts < attempt) {
        sjob_pod_free(other);
        return true;
    }
    return !other;
}

void sjob_drop_old_pods(struct sjob *j)
{
    struct sjob_pod *p;
    struct sjob_pod *tmp;

    map_each (by_slot, j->pods, p, tmp) {
        int64_t present = sjob_restarts(j->status, j, (size_t)p->index);

        if (!p->is_outdated && (p->restarts < present ||
                                (p->restarts == present && sjob_has_ended(j, (size_t)p->index))))
            sjob_pod_free(p); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    }
}

void slurm_put_pod(void *arg, const char *ns, const char *name, const json_t *pod)
{
    struct slurm_jobs *s = arg;
    const char *uid = owner_of(pod);
    bool has_finalizer = is_tracked(pod);
    struct sjob_pod *p = uid ? find_pod(s, ns, name) : NULL;
    struct sjob *j = NULL;

    s->changes++;
    if (uid)
        map_find_text(by_uid, s->jobs_by_uid, uid, j);
    if (!j || !text_equal(j->ns, ns)) {
        if (has_finalizer)
            let_go(s, ns, name);
        if (!uid)
            slurm_put_other(s, ns, name, pod);
        return;
    }
    if (p && !text_equal(p->uid, json_text_at(pod, "metadata", "uid", NULL)))
        return; /* an event of an older pod of the name */
    if (!p && (!has_finalizer || !(is_outdated(pod) || is_present(j, pod))))
        return;
    if (p && !has_finalizer) { /* was counted before the controller's start */
        sjob_pod_free(p);
        sjob_poke(j);
        return;
    }
    if (!p)
        p = sjob_pod_new(j, pod);
    p->is_told = true;
    if (p->is_outdated) {
        p->is_deleting = pod_is_deleting(pod);
        sjob_poke(j);
        return;
    }
    pod_unsum(p);
    read_state(p, pod);
    pod_sum(p);
    j->is_changed = j->is_changed || is_suspension_due(p);
    sjob_poke(j);
}

/*
 * The finalizer was removed by somebody else: the element gets another pod, and so does an attempt
 * on several nodes that has not been placed.
 */
void slurm_remove_pod(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct slurm_jobs *s = arg;
    struct sjob_pod *p = find_pod(s, ns, name);

    s->changes++;
    slurm_remove_other(s, ns, name);
    if (!p || !text_equal(p->uid, json_text_at(last, "metadata", "uid", NULL)))
        return;
    p->job->is_incomplete = p->job->ask.nodes > 1;
    sjob_poke(p->job);
    sjob_pod_free(p);
}

/* Adds the annotation of a suspension that begins or ends now. */
static void put_suspension(const struct sjob_pod *p, bool is_suspended, json_t *patch)
{
    int64_t now_ns = loop_wall_ns(p->job->jobs->options.loop);
    int64_t more_s = p->suspended_at_ns > 0 && now_ns > p->suspended_at_ns
                         ? (now_ns - p->suspended_at_ns) / NS_PER_SEC
                         : 0;
    char now[STAMP_TEXT_SIZE];
    AUTO_FREE char *text = NULL;

    stamp_format_micro(now_ns, now);
    text = mem_format("%" PRId64 "%s%s", p->suspended_s + more_s, is_suspended ? " " : "",
                      is_suspended ? now : "");
    json_put_text(json_object_at(json_object_at(patch, "metadata"), "annotations"),
                  SLURM_SUSPENDED_ANNOTATION, text);
}

/* Brings one pod to what the spec says. */
static void change_pod(struct sjob_pod *p, bool is_held, int64_t limit_s)
{
    struct sjob *j = p->job;
    const struct cluster_target target = {.resource = "pods", .ns = j->ns, .name = p->name};
    AUTO(json_freep) json_t *patch = json_object();
    bool is_admins = text_equal(json_text_at(j->object, "spec", "hold", NULL), "admin");
    struct cluster_answer a = slurm_answer(j->jobs);
    AUTO(err_freep) struct err *e = NULL;

    if (is_held != p->is_held)
        json_put(json_object_at(json_object_at(patch, "metadata"), "annotations"), QUEUE_HOLD,
                 is_held ? json_string(is_admins ? "admin" : "user") : json_null());
    if (limit_s > 0)
        json_put_int(json_object_at(patch, "spec"), "activeDeadlineSeconds", limit_s);
    if (is_suspension_due(p))
        put_suspension(p, is_to_be_suspended(p), patch);
    e = writes_end(a, cluster_patch(j->jobs->options.cluster, &target, patch, a));
    if (!e) {
        p->is_held = is_held;
        p->limit_s = limit_s;
    } else if (err_code(e) != ERR_NOT_FOUND) {
        LOG(WARN, "pod of a Slurm job was not changed", S("pod", p->key), E(e));
    }
}

void sjob_change_pods(struct sjob *j)
{
    int64_t limit_s = json_int_at(j->object, "spec", "timeLimitMinutes", NULL) * 60;
    struct sjob_pod *p;
    struct sjob_pod *tmp;

    j->is_changed = false;
    map_each (by_slot, j->pods, p, tmp) {
        /* A hold keeps from starting what has not started. */
        bool is_held = p->state == SJOB_PENDING
                           ? sjob_is_held(j, (size_t)p->index) || sjob_partition_wait(j)
                           : p->is_held;

        if (p->state < SJOB_COMPLETED && !p->is_deleting && !p->is_outdated &&
            (is_held != p->is_held || (limit_s > 0 && limit_s != p->limit_s) ||
             is_suspension_due(p)))
            change_pod(p, is_held, limit_s);
    }
}

void sjob_add_made(struct sjob *j, const json_t *pod)
{
    struct sjob_pod *p = sjob_pod_new(j, pod);

    p->limit_s = json_int_at(pod, "spec", "activeDeadlineSeconds", NULL);
}
