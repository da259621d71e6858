/* jobs_pods.c - the pods of Jobs, and the sums over them */
#include "base/num.h"
#include "control/jobs/jobs_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

/* The uid of the Job that controls the pod; borrowed; NULL: none. */
static const char *owner_of(const json_t *pod)
{
    const json_t *owners = json_at(pod, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);

        if (json_bool(owner, "controller", false) && text_equal(json_text(owner, "kind"), "Job") &&
            text_equal(json_text(owner, "apiVersion"), "batch/v1"))
            return json_text(owner, "uid");
    }
    return NULL;
}

static bool is_tracked(const json_t *pod)
{
    return json_has_text(json_at(pod, "metadata", "finalizers", NULL), JOB_TRACKING);
}

static int64_t number_of(const json_t *pod, const char *annotation, int64_t fallback)
{
    const char *text = json_text_at(pod, "metadata", "annotations", annotation, NULL);
    AUTO(err_freep) struct err *e = NULL;
    int64_t value = fallback;

    if (text)
        e = num_parse_int64(str_of(text), 0, INT32_MAX, &value);
    return e ? fallback : value;
}

/* When the pod's last container ended; unknown: now. */
static int64_t read_end(const struct job_pod *p, const json_t *pod)
{
    const json_t *list = json_at(pod, "status", "containerStatuses", NULL);
    int64_t last_ns = 0;

    for (size_t i = 0; i < json_array_size(list); i++) {
        int64_t at_ns = stamp_or(
            json_text_at(json_array_get(list, i), "state", "terminated", "finishedAt", NULL), 0);

        if (at_ns > last_ns)
            last_ns = at_ns;
    }
    return last_ns > 0 ? last_ns : loop_wall_ns(p->job->jobs->options.loop);
}

static bool is_countable(const struct job_pod *p)
{
    if (!p->is_tracked || p->state == JOB_POD_ACTIVE)
        return false;
    return p->state != JOB_POD_LEAVING || !job_replaces_failed_only(p->job);
}

static bool takes_index(const struct job_pod *p)
{
    if (p->state == JOB_POD_LEAVING)
        return job_replaces_failed_only(p->job);
    return p->is_tracked && p->state != JOB_POD_FAILED;
}

static void sum_index(struct job_pod *p)
{
    struct job *j = p->job;
    const json_t *spec = json_object_get(j->object, "spec");
    bool is_right = p->index >= 0 && p->index < json_int(spec, "completions", 0);

    if (!job_is_indexed(spec) || !takes_index(p))
        return;
    p->has_index = is_right && index_set_add(&j->busy, (size_t)p->index);
    j->n_extra += p->state == JOB_POD_ACTIVE && !p->has_index;
}

static void unsum_index(struct job_pod *p)
{
    struct job *j = p->job;

    if (!job_is_indexed(json_object_get(j->object, "spec")) || !takes_index(p))
        return;
    j->n_extra -= p->state == JOB_POD_ACTIVE && !p->has_index;
    if (!p->has_index)
        return;
    p->has_index = false;
    index_set_remove(&j->busy, (size_t)p->index);
    if ((size_t)p->index < j->next_index)
        j->next_index = (size_t)p->index;
}

void job_pod_sum(struct job_pod *p)
{
    struct job *j = p->job;

    if (p->is_summed || j->is_finished)
        return;
    p->is_summed = true;
    if (p->state == JOB_POD_ACTIVE && p->is_tracked) {
        j->n_active++;
        j->n_ready += p->is_ready;
        j->restarts += p->restarts;
    }
    j->n_strays += p->state == JOB_POD_ACTIVE && !p->is_tracked;
    j->n_leaving += p->state == JOB_POD_LEAVING;
    sum_index(p);
    if (is_countable(p) && !p->is_ended && !p->is_delayed) {
        p->is_ended = true;
        vec_add(&j->ended, p);
    }
}

void job_pod_unsum(struct job_pod *p)
{
    struct job *j = p->job;

    if (!p->is_summed || j->is_finished)
        return;
    p->is_summed = false;
    if (p->state == JOB_POD_ACTIVE && p->is_tracked) {
        j->n_active--;
        j->n_ready -= p->is_ready;
        j->restarts -= p->restarts;
    }
    j->n_strays -= p->state == JOB_POD_ACTIVE && !p->is_tracked;
    j->n_leaving -= p->state == JOB_POD_LEAVING;
    unsum_index(p);
}

static void leave_ended(struct job_pod *p)
{
    struct job *j = p->job;

    for (size_t i = 0; i < j->ended.n; i++) {
        if (j->ended.at[i] == p) {
            vec_remove(&j->ended, i);
            break;
        }
    }
    p->is_ended = false;
}

void job_pod_delay(struct job_pod *p, bool is_delayed)
{
    struct job *j = p->job;

    if (p->is_delayed == is_delayed)
        return;
    p->is_delayed = is_delayed;
    if (is_delayed) {
        leave_ended(p);
        map_add(by_index, j->delayed, &p->index, sizeof(p->index), p);
        return;
    }
    map_remove(by_index, j->delayed, p);
    p->is_ended = true;
    vec_add(&j->ended, p);
}

static struct job_pod *job_pod_new(struct job *j, const json_t *pod)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    struct job_pod *p = mem_alloc(sizeof(*p));

    p->job = j;
    p->name = mem_strdup(json_text(metadata, "name"));
    p->uid = mem_strdup(json_text(metadata, "uid"));
    p->key = mem_format("%s/%s", j->ns, p->name);
    p->index = number_of(pod, JOB_INDEX, -1);
    p->failures = number_of(pod, JOB_INDEX_FAILURES, 0);
    p->ignored = number_of(pod, JOB_INDEX_IGNORED, 0);
    p->created_ns = stamp_or(json_text(metadata, "creationTimestamp"), 0);
    p->is_tracked = is_tracked(pod);
    map_add(handle, j->jobs->pods, p->key, strlen(p->key), p);
    LIST_ADD(j->pods, p);
    return p;
}

void job_pod_free(struct job_pod *p)
{
    struct job *j = p->job;

    job_pod_unsum(p);
    if (p->is_delayed)
        map_remove(by_index, j->delayed, p);
    if (p->is_ended)
        leave_ended(p);
    LIST_REMOVE(j->pods, p);
    map_remove(handle, j->jobs->pods, p);
    free(p->key);
    free(p->name);
    free(p->uid);
    free(p);
}

static enum job_pod_state state_of(const struct job_pod *p, const json_t *pod)
{
    const char *phase = pod_phase(pod);

    if (text_equal(phase, "Succeeded"))
        return JOB_POD_SUCCEEDED;
    if (text_equal(phase, "Failed"))
        return JOB_POD_FAILED;
    if (pod_is_deleting(pod)) /* a pod without a node has no containers to wait for */
        return *pod_node(pod) ? JOB_POD_LEAVING : JOB_POD_FAILED;
    return p->is_killed ? JOB_POD_LEAVING : JOB_POD_ACTIVE;
}

static void note_end(struct job_pod *p)
{
    bool is_over = p->state == JOB_POD_SUCCEEDED || p->state == JOB_POD_FAILED;

    if (!is_over || p->is_killed || p->is_noted)
        return;
    p->is_noted = true;
    backoff_note(&p->job->backoff, p->state == JOB_POD_FAILED, p->ended_ns);
}

static void read_pod(struct job_pod *p, const json_t *pod)
{
    p->state = state_of(p, pod);
    p->is_ready = pod_is_ready(pod);
    p->is_bound = *pod_node(pod) != '\0';
    p->is_deleting = pod_is_deleting(pod);
    p->is_tracked = p->is_tracked && is_tracked(pod);
    p->restarts = pod_progress(pod).restarts;
    if (p->state == JOB_POD_ACTIVE)
        return;
    p->ended_ns = read_end(p, pod);
    if (p->state == JOB_POD_FAILED && !p->job->is_finished)
        job_judge(p, pod);
    note_end(p);
}

static struct job_pod *find_pod(const struct jobs *s, const char *ns, const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct job_pod *p = NULL;

    map_find_text(handle, s->pods, key, p);
    return p;
}

/* The pod has no Job: only we remove its finalizer. */
static void let_go(struct jobs *s, const json_t *pod, const char *ns, const char *name)
{
    if (!is_tracked(pod))
        return;
    vec_add(&s->orphans, mem_format("%s/%s", ns, name));
    loop_timer_set(s->work_timer, 0);
}

void jobs_put_pod(void *arg, const char *ns, const char *name, const json_t *pod)
{
    struct jobs *s = arg;
    struct job_pod *p = find_pod(s, ns, name);
    struct job *j = jobs_find_owner(s, owner_of(pod));

    if (p && (p->job != j || !text_equal(p->uid, json_text_at(pod, "metadata", "uid", NULL)))) {
        job_poke(p->job);
        job_pod_free(p);
        p = NULL;
    }
    if (j && !text_equal(j->ns, ns))
        j = NULL; /* an owner in another namespace is none */
    if (!j) {
        let_go(s, pod, ns, name);
        return;
    }
    if (!p)
        p = job_pod_new(j, pod);
    job_pod_unsum(p);
    read_pod(p, pod);
    job_pod_sum(p);
    job_poke(j);
}

void jobs_remove_pod(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct job_pod *p = find_pod(arg, ns, name);

    if (!p || !text_equal(p->uid, json_text_at(last, "metadata", "uid", NULL)))
        return;
    job_poke(p->job);
    job_pod_free(p);
}

void job_add_made(struct job *j, const json_t *pod)
{
    struct job_pod *p = job_pod_new(j, pod);

    read_pod(p, pod);
    job_pod_sum(p);
}
