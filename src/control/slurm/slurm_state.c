/* slurm_state.c - SlurmJob objects in the controller */
#include <inttypes.h>

#include "base/num.h"
#include "control/slurm/slurm_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_license.h"

const char *const sjob_state_names[SJOB_STATES] = {
    "PENDING", "RUNNING",   "COMPLETED", "CANCELLED", "FAILED",
    "TIMEOUT", "NODE_FAIL", "PREEMPTED", "DEADLINE",  "OUT_OF_MEMORY"};

bool sjob_has_ended(const struct sjob *j, size_t index)
{
    return index_set_has(&j->completed, index) || index_set_has(&j->failed, index) ||
           index_set_has(&j->cancelled, index);
}

int64_t sjob_element_id(const struct sjob *j, size_t index)
{
    return j->id + (int64_t)index_set_count_below(&j->all, index);
}

const char *sjob_element_key(const struct sjob *j, size_t index, char key[24])
{
    if (!j->is_array)
        return "*";
    (void)snprintf(key, 24, "%zu", index);
    return key;
}

int64_t sjob_restarts(const json_t *status, const struct sjob *j, size_t index)
{
    char key[24];

    return json_int_at(status, "records", "restarts", sjob_element_key(j, index, key), NULL);
}

size_t slurm_id_place(const struct slurm_jobs *s, int64_t id)
{
    size_t low = 0;
    size_t high = s->by_id.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s->by_id.at[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* An array has a number for each element, a heterogeneous job one for each component. */
static int64_t number_count(const struct sjob *j)
{
    return (int64_t)(j->het.n > 1 ? j->het.n : j->all.count);
}

struct sjob *slurm_find_id(const struct slurm_jobs *s, int64_t id)
{
    size_t at = slurm_id_place(s, id + 1);
    struct sjob *j = at > 0 ? s->by_id.at[at - 1] : NULL;

    return j && id < j->id + number_count(j) ? j : NULL;
}

const struct slurm_ask *sjob_pod_ask(const struct sjob_pod *p)
{
    int64_t first = 0;

    return &p->job->het.asks[slurm_het_of_rank(&p->job->het, p->rank, &first)];
}

json_t *sjob_spec(const struct sjob *j, size_t component)
{
    return slurm_het_spec(json_object_get(j->object, "spec"), (int64_t)component);
}

char *sjob_component_nodes(const struct sjob *j, size_t component, const char *nodes)
{
    AUTO_FREE char *counts = slurm_het_counts(&j->het);

    if (!nodes || j->het.n == 1)
        return nodes ? mem_strdup(nodes) : NULL;
    return slurm_het_nodes(nodes, counts, (int64_t)component);
}

static void id_add(struct sjob *j)
{
    struct slurm_jobs *s = j->jobs;
    size_t at = slurm_id_place(s, j->id);

    vec_add(&s->by_id, j);
    memmove(&s->by_id.at[at + 1], &s->by_id.at[at], (s->by_id.n - 1 - at) * sizeof(j));
    s->by_id.at[at] = j;
}

static void id_remove(const struct sjob *j)
{
    struct slurm_jobs *s = j->jobs;

    for (size_t at = slurm_id_place(s, j->id); at < s->by_id.n; at++) {
        if (s->by_id.at[at] != j)
            continue;
        vec_remove(&s->by_id, at);
        return;
    }
}

void sjob_tell_dependents(struct sjob *j)
{
    VEC_EACH (&j->dependents, id) {
        struct sjob *other = slurm_find_id(j->jobs, *id);

        if (other)
            sjob_poke(other);
    }
}

static void on_timer(void *arg)
{
    struct sjob *j = arg;

    j->timer_at_ns = 0;
    sjob_poke(j);
}

int64_t sjob_number_of(const json_t *object)
{
    const char *text = json_text_at(object, "metadata", "labels", POD_JOB_ID, NULL);
    int64_t id = 0;

    if (text)
        err_free(num_parse_int64(str_of(text), 0, INT64_MAX, &id)); /* our own number */
    return id;
}

/* Requests were read when they were written. */
static void read_request(struct sjob *j, const json_t *spec)
{
    const char *licenses = json_text(spec, "licenses");
    AUTO(err_freep) struct err *e = NULL;

    slurm_het_done(&j->het);
    slurm_tres_done(&j->licenses);
    j->has_any_license = false;
    e = slurm_het_read(spec, &j->het);
    if (e) {
        j->het = (struct slurm_het){.n = 1, .asks = mem_alloc(sizeof(*j->het.asks)), .nodes = 1};
        j->het.asks[0] = (struct slurm_ask){.nodes = 1, .tasks = 1, .cpus = 1};
    }
    j->ask = j->het.asks[0];
    j->ask.nodes = j->het.nodes;
    if (licenses)
        err_free(slurm_licenses_ask(str_of(licenses), &j->licenses, &j->has_any_license));
    j->revision = json_int(spec, "revision", 0);
    j->is_incomplete = j->ask.nodes > 1;
}

/* Pods that wait were made of the former request, and are marked: another is never bound. */
static void revise(struct sjob *j, const json_t *job)
{
    const json_t *spec = json_object_get(job, "spec");

    if (json_int(spec, "revision", 0) <= j->revision)
        return;
    sjob_outdate_pods(j);
    read_request(j, spec);
}

static struct sjob *sjob_new(struct slurm_jobs *s, const char *key, const json_t *job)
{
    const char *indexes = json_text_at(job, "spec", "array", "indexes", NULL);
    struct sjob *j = mem_alloc(sizeof(*j));

    j->jobs = s;
    j->key = mem_strdup(key);
    j->ns = mem_strdup(json_text_at(job, "metadata", "namespace", NULL));
    j->name = mem_strdup(json_text_at(job, "metadata", "name", NULL));
    j->uid = mem_strdup(json_text_at(job, "metadata", "uid", NULL));
    j->id = sjob_number_of(job);
    j->is_array = indexes != NULL;
    if (indexes) /* was read at the creation, and does not change */
        err_free(index_set_parse(str_of(indexes), SLURM_ARRAY_MAX, &j->all));
    else
        (void)index_set_add(&j->all, 0);
    j->indexes = slurm_indexes_of(&j->all);
    read_request(j, json_object_get(job, "spec"));
    j->timer = loop_timer_new(s->options.loop, on_timer, j);
    j->writes_max = SJOB_WRITES_MAX;
    map_add(handle, s->jobs, j->key, strlen(j->key), j);
    map_add(by_uid, s->jobs_by_uid, j->uid, strlen(j->uid), j);
    id_add(j);
    return j;
}

void sjob_free(struct sjob *j)
{
    struct slurm_jobs *s = j->jobs;

    if (j->is_queued)
        LIST_REMOVE(s->queue, j);
    map_remove(handle, s->jobs, j);
    map_remove(by_uid, s->jobs_by_uid, j);
    id_remove(j);
    while (j->pods)
        sjob_pod_free(j->pods);
    sjob_forget_accounts(j);
    json_decref(j->object);
    json_decref(j->status);
    index_set_done(&j->all);
    index_set_done(&j->completed);
    index_set_done(&j->failed);
    index_set_done(&j->cancelled);
    slurm_dependency_done(&j->dependency);
    slurm_tres_done(&j->licenses);
    slurm_het_done(&j->het);
    loop_timer_free(j->timer);
    vec_done(&j->ended);
    vec_done(&j->dependents);
    VEC_EACH (&j->past, past)
        free(past->node);
    vec_done(&j->past);
    free(j->dependency_text);
    free(j->trigger_told);
    free(j->window);
    free(j->key);
    free(j->ns);
    free(j->name);
    free(j->uid);
    free(j);
}

static int64_t version_of(const json_t *object)
{
    const char *text = json_text_at(object, "metadata", "resourceVersion", NULL);
    int64_t version = 0;

    if (text)
        err_free(num_parse_int64(str_of(text), 0, INT64_MAX, &version)); /* our own number */
    return version;
}

/* The status of a job without an array has no texts of indexes. */
static void read_set(const struct sjob *j, const char *key, struct index_set *set)
{
    const char *text = json_text(j->status, key);

    index_set_done(set);
    if (text) /* a text that an administrator broke reads as the empty set */
        err_free(index_set_parse(str_of(text), SLURM_ARRAY_MAX, set));
}

static void read_status(struct sjob *j, const json_t *job)
{
    const json_t *status = json_object_get(job, "status");

    json_decref(j->status);
    j->status = json_is_object(status) ? json_twin(status) : json_object();
    read_set(j, "completed", &j->completed);
    read_set(j, "failed", &j->failed);
    read_set(j, "cancelled", &j->cancelled);
    j->is_over = json_text(j->status, "endTime") != NULL;
    j->next_index = 0;
    j->eligible_ns = stamp_or(json_text(j->status, "eligibleTime"), j->eligible_ns);
}

/* Registers the job with those that it depends on. */
static void read_dependency(struct sjob *j)
{
    const char *text = text_or_empty(json_text_at(j->object, "spec", "dependency", NULL));

    if (text_equal(text, j->dependency_text))
        return;
    free(j->dependency_text);
    j->dependency_text = mem_strdup(text);
    slurm_dependency_done(&j->dependency);
    err_free(slurm_dependency_parse(str_of(text), &j->dependency)); /* was read at the creation */
    VEC_EACH (&j->dependency.items, item) {
        struct sjob *other = item->id > 0 ? slurm_find_id(j->jobs, item->id) : NULL;

        if (other)
            vec_add(&other->dependents, j->id);
    }
}

static void keep_object(struct sjob *j, const json_t *job)
{
    json_decref(j->object);
    j->object = json_incref((json_t *)(uintptr_t)job);
}

static bool is_spec_changed(const struct sjob *j, const json_t *job)
{
    return !j->object || json_int_at(j->object, "metadata", "generation", NULL) !=
                             json_int_at(job, "metadata", "generation", NULL);
}

void slurm_put_job(void *arg, const char *ns, const char *name, const json_t *job)
{
    struct slurm_jobs *s = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    const char *uid = json_text_at(job, "metadata", "uid", NULL);
    struct sjob *j = NULL;

    s->changes++;
    map_find_text(handle, s->jobs, key, j);
    if (j && !text_equal(j->uid, uid)) {
        slurm_remove_job(s, ns, name, NULL);
        j = NULL;
    }
    if (!uid || (j && version_of(job) < j->version))
        return;
    if (j && version_of(job) == j->version && !is_spec_changed(j, job)) {
        keep_object(j, job); /* our own last write */
        return;
    }
    if (!j) {
        j = sjob_new(s, key, job);
        if (!s->is_loading)
            s->diag.submitted += (int64_t)j->all.count;
    }
    j->version = version_of(job);
    j->is_deleting = json_text_at(job, "metadata", "deletionTimestamp", NULL) != NULL;
    j->is_changed = j->is_changed || is_spec_changed(j, job);
    revise(j, job);
    keep_object(j, job);
    read_status(j, job);
    sjob_drop_old_pods(j);
    read_dependency(j);
    sjob_poke(j);
}

/* Releases the pods, which the garbage collector deletes. */
void slurm_remove_job(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct slurm_jobs *s = arg;
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct sjob_pod *p;
    struct sjob_pod *tmp;
    struct sjob *j = NULL;

    (void)last;
    s->changes++;
    map_find_text(handle, s->jobs, key, j);
    if (!j)
        return;
    map_each (by_slot, j->pods, p, tmp)
        vec_add(&s->orphans, mem_strdup(p->key));
    sjob_tell_dependents(j);
    sjob_free(j);
    loop_timer_set(s->work_timer, 0);
}
