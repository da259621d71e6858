/* slurm_report_steps.c - the steps of SlurmJobs, and what a job has on its nodes, for listings */
#include <inttypes.h>

#include "control/slurm/slurm_report.h"
#include "control/slurm/slurm_report_private.h"
#include "kinds/slurm/slurm_env.h"
#include "kinds/slurm/slurm_rows.h"
#include "kinds/slurm/slurm_step.h"

/* ---- steps in memory ---- */

static struct slurm_step *step_find(const struct slurm_jobs *s, const char *ns, const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct slurm_step *step = NULL;

    map_find_text(handle, s->steps, key, step);
    return step;
}

void slurm_remove_step(void *arg, const char *ns, const char *name, const json_t *last)
{
    struct slurm_jobs *s = arg;
    struct slurm_step *step = step_find(s, ns, name);

    (void)last;
    if (!step)
        return;
    map_remove(handle, s->steps, step); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    json_decref(step->object);
    free(step->key);
    free(step);
}

void slurm_put_step(void *arg, const char *ns, const char *name, const json_t *object)
{
    struct slurm_jobs *s = arg;
    struct slurm_step *step = step_find(s, ns, name);

    if (!step) {
        step = mem_alloc(sizeof(*step));
        *step = (struct slurm_step){.key = mem_format("%s/%s", ns, name)};
        map_add(handle, s->steps, step->key, strlen(step->key), step);
    }
    json_decref(step->object);
    step->object = json_deep_copy(object);
}

void slurm_forget_steps(struct slurm_jobs *s)
{
    struct slurm_step *step;
    struct slurm_step *tmp;

    map_each (handle, s->steps, step, tmp) {
        map_remove(handle, s->steps, step); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        json_decref(step->object);
        free(step->key);
        free(step);
    }
}

static int64_t step_alive_ns(const json_t *step)
{
    int64_t begun_ns = stamp_or(json_text_at(step, "status", "startTime", NULL), 0);
    int64_t renewed_ns = stamp_or(json_text_at(step, "spec", "renewTime", NULL), begun_ns);
    int64_t ended_ns = stamp_or(json_text_at(step, "status", "endTime", NULL), renewed_ns);

    return ended_ns > renewed_ns ? ended_ns : renewed_ns;
}

int64_t sjob_steps_alive_ns(const struct sjob *j)
{
    int64_t last_ns = 0;
    struct slurm_step *step;
    struct slurm_step *tmp;

    map_each (handle, j->jobs->steps, step, tmp) {
        const char *job = json_text_at(step->object, "spec", "job", NULL);
        const char *ns = json_text_at(step->object, "metadata", "namespace", NULL);
        int64_t alive_ns = step_alive_ns(step->object);

        if (text_equal(job, j->name) && text_equal(ns, j->ns) && alive_ns > last_ns)
            last_ns = alive_ns;
    }
    return last_ns;
}

/* ---- rows of steps ---- */

static struct sjob *step_job(const struct slurm_jobs *s, const struct slurm_step *step)
{
    return slurm_find_id(s, json_int_at(step->object, "status", "jobId", NULL));
}

/* A step without an end of its own ended with its pod. */
static const char *step_state(const struct slurm_jobs *s, const struct slurm_step *step)
{
    const json_t *first = json_array_get(json_at(step->object, "spec", "nodes", NULL), 0);
    AUTO_FREE char *key = mem_format("%.*s/%s", (int)strcspn(step->key, "/"), step->key,
                                     text_or_empty(json_text(first, "pod")));
    struct sjob_pod *p = NULL;

    if (json_at(step->object, "spec", "end", NULL))
        return text_or_empty(json_text_at(step->object, "spec", "end", "state", NULL));
    map_find_text(handle, s->pods, key, p);
    return p && p->state < SJOB_COMPLETED ? "RUNNING" : "CANCELLED";
}

/* The step has the number of its first node's component. */
static void step_put_job(json_t *row, const struct sjob *j, const json_t *spec)
{
    const json_t *job = json_object_get(j->object, "spec");
    const char *partition = json_text_filled(job, "partition");

    if (j->het.n > 1) {
        json_put_int(row, "hetJobId", j->id);
        json_put_int(row, "hetJobOffset", json_int(row, "jobId", j->id) - j->id);
    } else {
        json_put_int(row, "jobId", j->id);
    }
    if (j->is_array) {
        json_put_int(row, "arrayJobId", j->id);
        json_put_int(row, "arrayTaskId", json_int(spec, "index", 0));
        json_put_int(row, "jobId", sjob_element_id(j, (size_t)json_int(spec, "index", 0)));
    }
    json_put_text(row, "user", json_text_at(job, "user", "name", NULL));
    json_put_int(row, "uid", json_int_at(job, "user", "uid", NULL));
    json_put_text(row, "account", json_text(job, "account"));
    json_put_text(row, "partition", partition ? partition : SLURM_PARTITION);
    json_put_int(row, "timeLimit", json_int(job, "timeLimitMinutes", -1));
    json_put_text(row, "namespace", j->ns);
}

void slurm_put_derived(const struct sjob *j, int64_t index, json_t *row)
{
    int64_t worst = 0;

    for (int64_t n = 0;; n++) {
        AUTO_FREE char *name = j->is_array
                                   ? mem_format("%s-%" PRId64 ".%" PRId64, j->name, index, n)
                                   : mem_format("%s.%" PRId64, j->name, n);
        const struct slurm_step *step = step_find(j->jobs, j->ns, name);
        const json_t *end = step ? json_at(step->object, "spec", "end", NULL) : NULL;
        int64_t status = json_int(end, "exitCode", 0) * 256 + json_int(end, "exitSignal", 0);

        if (!step)
            break;
        worst = status > worst ? status : worst;
    }
    json_put_int(row, "derivedExitCode", worst / 256);
    json_put_int(row, "derivedExitSignal", worst % 256);
}

static json_t *step_row(const struct slurm_jobs *s, const struct sjob *j,
                        const struct slurm_step *step)
{
    static const char *const copied[] = {"host", "pid"};
    const json_t *spec = json_object_get(step->object, "spec");
    json_t *row = slurm_step_row(step->object);

    step_put_job(row, j, spec);
    for (size_t i = 0; i < COUNT(copied); i++)
        if (json_object_get(spec, copied[i]))
            json_put(row, copied[i], json_deep_copy(json_object_get(spec, copied[i])));
    if (json_int(row, "cpus", 0) == 0)
        json_put_int(row, "cpus", j->ask.cpus * json_int(row, "nodeCount", 1));
    json_put_text(row, "object", step->key);
    json_put_text(row, "state", step_state(s, step));
    return row;
}

static int step_order(const void *a, const void *b)
{
    const json_t *const *one = a;
    const json_t *const *other = b;
    int64_t first = json_int(*one, "jobId", 0) - json_int(*other, "jobId", 0);
    int64_t second = json_int(*one, "step", 0) - json_int(*other, "step", 0);

    return first != 0 ? (first > 0) - (first < 0) : (second > 0) - (second < 0);
}

/* The rows in the order of jobs and steps. */
static json_t *rows_in_order(json_t *rows)
{
    size_t n = json_array_size(rows);
    AUTO_FREE json_t **all = mem_alloc((n + 1) * sizeof(json_t *));
    json_t *ordered = json_array();

    for (size_t i = 0; i < n; i++)
        all[i] = json_array_get(rows, i);
    qsort(all, n, sizeof(json_t *), step_order);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append(ordered, all[i]); /* fresh: cannot fail */
    json_decref(rows);
    return ordered;
}

json_t *slurm_step_rows(struct slurm_jobs *s, const struct slurm_filter *f)
{
    json_t *rows = json_array();
    struct slurm_step *step;
    struct slurm_step *tmp;

    map_each (handle, s->steps, step, tmp) {
        const struct sjob *j = step_job(s, step);
        const json_t *spec = j ? json_object_get(j->object, "spec") : NULL;
        const struct slurm_row_texts texts = {
            .ns = j ? j->ns : "",
            .user = json_text_at(spec, "user", "name", NULL),
            .account = json_text(spec, "account"),
            .name = json_text(spec, "name"),
            .partition = json_text_filled(spec, "partition"),
        };
        int64_t index = j && j->is_array ? json_int_at(step->object, "spec", "index", NULL) : -1;

        if (j && slurm_filter_texts(f, &texts) && slurm_filter_state(f, step_state(s, step)) &&
            slurm_filter_id(f, json_int_at(step->object, "status", "jobId", NULL),
                            index >= 0 || j->het.n > 1 ? j->id : 0, index))
            (void)json_array_append_new(rows, step_row(s, j, step)); /* cannot fail */
    }
    return rows_in_order(rows);
}

/* ---- what a job has ---- */

static json_t *allocation_node(const struct sjob *j, const struct sjob_pod *p)
{
    struct slurm_node *node = NULL;
    const struct slurm_ask *ask = sjob_pod_ask(p);
    json_t *row = json_object();
    const json_t *addresses;

    AUTO_FREE char *switches = NULL;

    map_find_text(handle, j->jobs->nodes, p->node, node);
    switches = slurm_switches_text(node ? json_at(node->object, "metadata", "labels", NULL) : NULL);
    if (*switches)
        json_put_text(row, "switches", switches);
    addresses = node ? json_at(node->object, "status", "addresses", NULL) : NULL;
    json_put_text(row, "node", p->node);
    json_put_text(row, "pod", p->name);
    json_put_text(row, "address", json_text(json_array_get(addresses, 0), "address"));
    json_put_bool(row, "ready", p->is_ready);
    json_put_int(row, "cpus", p->cpus > ask->cpus ? p->cpus : ask->cpus);
    json_put_int(row, "memory", ask->memory_bytes >> 20);
    json_put_int(row, "gpus", ask->gpus.count);
    if (j->het.n > 1)
        json_put_int(row, "component", ask - j->het.asks);
    return row;
}

/* A node that the job lost and goes on without (noKill) is left out. */
static void allocation_put_nodes(const struct sjob *j, size_t index, json_t *nodes)
{
    for (int64_t rank = 0; rank < j->ask.nodes; rank++) {
        const struct sjob_pod *p = sjob_find_rank(j, index, rank);

        if (p && p->state == SJOB_RUNNING && p->node)
            (void)json_array_append_new(nodes, allocation_node(j, p)); /* cannot fail */
    }
}

static void allocation_copy(const json_t *spec, json_t *to)
{
    static const char *const copied[] = {"tasks",   "tasksPerNode", "cpusPerTask",
                                         "name",    "overcommit",   "gpusPerTask",
                                         "workDir", "tasksPerGpu"};

    for (size_t i = 0; i < COUNT(copied); i++)
        if (json_object_get(spec, copied[i]))
            json_put(to, copied[i], json_deep_copy(json_object_get(spec, copied[i])));
}

/* The requests of the components. */
static void allocation_put_components(const struct sjob *j, json_t *to)
{
    for (size_t i = 0; j->het.n > 1 && i < j->het.n; i++) {
        AUTO(json_freep) json_t *spec = sjob_spec(j, i);
        json_t *component = json_object();

        allocation_copy(spec, component);
        json_put_int(component, "nodeCount", j->het.asks[i].nodes);
        (void)json_array_append_new(json_array_at(to, "components"), component); /* cannot fail */
    }
}

static void allocation_put(const struct sjob *j, size_t index, json_t *to)
{
    const struct sjob_pod *p = sjob_find_pod(j, index);
    AUTO_FREE char *object = mem_format("%s/%s", j->ns, j->name);
    AUTO_FREE char *message = NULL;
    const char *state = json_text(j->status, "state");

    allocation_copy(json_object_get(j->object, "spec"), to);
    allocation_put_components(j, to);
    json_put_int(to, "jobId", sjob_element_id(j, index));
    json_put_text(to, "object", object);
    json_put_int(to, "nodeCount", j->ask.nodes);
    if (j->is_array) {
        json_put_int(to, "index", (int64_t)index);
        json_put_int(to, "arrayJobId", j->id);
    }
    json_put_text(to, "mpiDefault", json_text(slurm_settings(j->jobs), "MpiDefault"));
    json_put_text(to, "taskProlog", json_text(slurm_settings(j->jobs), "TaskProlog"));
    json_put_text(to, "taskEpilog", json_text(slurm_settings(j->jobs), "TaskEpilog"));
    json_put(to, "nodes", json_array());
    if (p && p->state == SJOB_RUNNING && p->node)
        allocation_put_nodes(j, index, json_array_at(to, "nodes"));
    else if (p)
        json_put_text(to, "reason", slurm_pod_reason(j->jobs, p->key, p->uid, &message));
    else
        json_put_text(to, "reason", j->reason);
    json_put_text(to, "message", message);
    json_put_text(to, "state",
                  sjob_has_ended(j, index) ? (j->is_array || !state ? "COMPLETED" : state)
                  : p                      ? sjob_state_names[p->state]
                                           : "PENDING");
}

json_t *slurm_allocation(struct slurm_jobs *s, const struct slurm_filter *f)
{
    json_t *answer = json_object();
    const struct slurm_wanted_id *id = f->ids.n > 0 ? &f->ids.at[0] : NULL;
    const struct sjob *j = id ? slurm_find_id(s, id->id) : NULL;
    size_t index = 0;

    if (!j || !report_may_show(f->namespaces, j->ns))
        return answer;
    if (j->is_array && id->index >= 0)
        index = (size_t)id->index;
    for (size_t i = 0; j->is_array && id->index < 0 && i < j->all.n_words * 64; i++)
        if (index_set_has(&j->all, i) && sjob_element_id(j, i) == id->id)
            index = i;
    if (index_set_has(&j->all, index))
        allocation_put(j, index, answer);
    if (j->het.n > 1 && (id->is_alone || id->id > j->id))
        json_put_int(answer, "component", id->id - j->id);
    return answer;
}
