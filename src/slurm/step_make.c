/* step_make.c - the request of a step: its tasks and nodes */

#include "slurm/step_make.h"

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/slurm/slurm_ask.h"
#include "model/hostlist.h"
#include "slurm/step_make_private.h"

const json_t *step_make_row(const struct step_make *m, size_t i)
{
    return json_array_get(json_object_get(m->allocation, "nodes"), m->nodes.at[i]);
}

const char *step_make_node(const struct step_make *m, size_t i)
{
    return text_or_empty(json_text(step_make_row(m, i), "node"));
}

const char *step_make_pod(const struct step_make *m, size_t i)
{
    return text_or_empty(json_text(step_make_row(m, i), "pod"));
}

int64_t step_make_number(const struct step_make *m)
{
    return json_int_at(m->object, "status", "step", NULL);
}

int64_t step_make_job(const struct step_make *m)
{
    return json_int(m->allocation, "jobId", 0);
}

bool step_make_has_pmi(const struct step_make *m)
{
    return text_equal(json_text(m->submit->step, "mpi"), "pmi2");
}

bool step_make_has_pmix(const struct step_make *m)
{
    const char *mpi = json_text(m->submit->step, "mpi");

    return text_equal(mpi, "pmix") || text_starts_with(text_or_empty(mpi), "pmix_");
}

void step_make_done(struct step_make *m)
{
    step_layout_done(&m->layout);
    vec_done(&m->nodes);
    vec_done(&m->parts);
    json_decref(m->object);
    json_decref(m->caller.programs);
    *m = (struct step_make){0};
}

/* ---- nodes ---- */

static bool is_listed(const struct hostlist *names, const char *name)
{
    VEC_EACH (&names->names, one)
        if (text_equal(*one, name))
            return true;
    return false;
}

/* The job's nodes that the step may have, from --relative, --nodelist and --exclude. */
static struct err *make_candidates(struct step_make *m)
{
    const json_t *spec = m->submit->spec;
    const json_t *rows = json_object_get(m->allocation, "nodes");
    AUTO(hostlist_done) struct hostlist wanted = {0};
    AUTO(hostlist_done) struct hostlist unwanted = {0};
    const char *list = json_text_filled(spec, "nodeList");
    int64_t from = json_int(m->submit->step, "relative", 0);

    if (list)
        TRY(hostlist_parse(str_of(list), HOSTLIST_MAX, &wanted));
    if (json_text_filled(spec, "excludeNodes"))
        TRY(hostlist_parse(str_of(json_text(spec, "excludeNodes")), HOSTLIST_MAX, &unwanted));
    for (size_t i = (size_t)from; i < json_array_size(rows); i++) {
        const char *name = text_or_empty(json_text(json_array_get(rows, i), "node"));

        if ((!list || is_listed(&wanted, name)) && !is_listed(&unwanted, name))
            vec_add(&m->nodes, i);
    }
    if (m->nodes.n == 0)
        return err_new(ERR_INVALID, "Requested nodes not in job's allocation, or no node is left");
    return NULL;
}

/* How many nodes: --nodes; else as many as have tasks. */
static struct err *make_node_count(struct step_make *m, char **ret_warning)
{
    const json_t *spec = m->submit->spec;
    int64_t least = json_int(spec, "nodesMin", 0);
    int64_t most = json_int(spec, "nodesMax", least);
    size_t n = m->nodes.n;

    if (least > (int64_t)n && json_bool(m->submit->step, "nodesGiven", false))
        return err_new(ERR_INVALID,
                       "Unable to create step for job %" PRId64
                       ": More processors requested than permitted",
                       step_make_job(m));
    if (most > 0 && most < (int64_t)n)
        n = (size_t)most;
    if (m->tasks < (int64_t)n && m->tasks > 0) {
        if (least > 1)
            *ret_warning = mem_format("can't run %" PRId64 " processes on %zu nodes, setting "
                                      "nnodes to %" PRId64,
                                      m->tasks, n, m->tasks);
        n = (size_t)m->tasks;
    }
    while (m->nodes.n > n)
        m->nodes.n--;
    return NULL;
}

/* ---- tasks ---- */

/* The nodes of the ranks by --distribution=arbitrary: the names of --nodelist in their order. */
static struct err *make_arbitrary(const struct step_make *m, size_t **ret)
{
    const char *list = json_text_filled(m->submit->spec, "nodeList");
    AUTO(hostlist_done) struct hostlist names = {0};
    size_t *nodes;

    if (!list)
        return err_new(ERR_INVALID, "--distribution=arbitrary needs --nodelist");
    TRY(hostlist_parse(str_of(list), HOSTLIST_MAX, &names));
    if ((int64_t)names.names.n < m->tasks)
        return err_new(ERR_INVALID, "Invalid node name specified: fewer names than tasks");
    nodes = mem_alloc((size_t)m->tasks * sizeof(*nodes));
    for (int64_t rank = 0; rank < m->tasks; rank++) {
        nodes[rank] = SIZE_MAX;
        for (size_t i = 0; i < m->nodes.n; i++)
            if (text_equal(step_make_node(m, i), names.names.at[rank]))
                nodes[rank] = i;
    }
    *ret = nodes;
    return NULL;
}

/* Nodes without tasks are none of the step's. */
static void drop_idle(struct step_make *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->nodes.n; i++) {
        struct step_node_tasks *tasks = &m->layout.nodes.at[i];

        if (tasks->ranks.n == 0) {
            vec_done(&tasks->ranks);
            continue;
        }
        m->layout.nodes.at[n] = *tasks;
        m->nodes.at[n++] = m->nodes.at[i];
    }
    m->layout.nodes.n = n;
    m->nodes.n = n;
}

/* As srun: a number for each node that does not give the number of tasks is ignored. */
static int64_t tasks_per_node(const struct step_make *m)
{
    int64_t n = json_int(m->submit->spec, "tasksPerNode", 0);

    return m->tasks == n * (int64_t)m->nodes.n ? n : 0;
}

static struct err *make_layout(struct step_make *m)
{
    const json_t *spec = m->submit->spec;
    const char *distribution = json_text_filled(m->submit->step, "distribution");
    AUTO_FREE int64_t *cpus = mem_alloc((m->nodes.n + 1) * sizeof(*cpus));
    AUTO_FREE size_t *arbitrary = NULL;
    struct step_request r = {
        .cpus = cpus,
        .nodes = m->nodes.n,
        .tasks = m->tasks,
        .cpus_per_task = m->cpus_per_task,
        .tasks_per_node = tasks_per_node(m),
        .is_overcommitted = json_bool(spec, "overcommit", false),
        .distribution = STEP_BLOCK,
    };
    struct err *e;

    for (size_t i = 0; i < m->nodes.n; i++)
        cpus[i] = json_int(step_make_row(m, i), "cpus", 1);
    if (distribution && !step_distribution_read(distribution, &r.distribution, &r.plane_size))
        return err_new(ERR_INVALID, "Invalid --distribution specification");
    if (!distribution && m->tasks <= (int64_t)m->nodes.n)
        r.distribution = STEP_CYCLIC; /* as srun: one task on each node */
    if (r.distribution == STEP_ARBITRARY)
        TRY(make_arbitrary(m, &arbitrary));
    r.arbitrary = arbitrary;
    e = step_layout_make(&r, &m->layout);
    if (!e)
        drop_idle(m);
    if (e && err_code(e) == ERR_INVALID && strstr(err_message(e), "More processors")) {
        err_free(e);
        return err_new(ERR_INVALID,
                       "Unable to create step for job %" PRId64
                       ": More processors requested than permitted",
                       step_make_job(m));
    }
    return e;
}

/* The gpus of the step on a node: as asked for, else all of the job's. */
static struct err *make_gpus(const struct step_make *m, size_t i, int64_t *ret)
{
    static const char *const keys[] = {"gres", "gpus", "gpusPerNode", "gpusPerTask"};
    AUTO(json_freep) json_t *spec = json_object();
    struct slurm_ask ask = {0};
    int64_t per_gpu = json_int(m->submit->spec, "tasksPerGpu", 0);
    bool is_asked = text_equal(json_text(m->submit->step, "gres"), "none");

    for (size_t k = 0; k < COUNT(keys); k++)
        if (json_text_filled(m->submit->spec, keys[k])) {
            json_put_text(spec, keys[k], json_text(m->submit->spec, keys[k]));
            is_asked = true;
        }
    if (!is_asked && per_gpu > 0 && json_object_get(m->submit->spec, "tasks")) {
        json_put_int(spec, "tasksPerGpu", per_gpu);
        is_asked = true;
    }
    json_put_int(spec, "nodesMin", (int64_t)m->nodes.n);
    json_put_int(spec, "tasks", m->tasks);
    TRY(slurm_ask_read(spec, &ask));
    *ret = is_asked ? ask.gpus.count : json_int(step_make_row(m, i), "gpus", 0);
    return NULL;
}

/* --ntasks-per-gpu without --ntasks. */
static struct err *make_tasks_by_gpus(struct step_make *m)
{
    int64_t per_gpu = json_int(m->submit->spec, "tasksPerGpu", 0);
    int64_t all = 0;

    if (per_gpu <= 0 || json_object_get(m->submit->spec, "tasks"))
        return NULL;
    for (size_t i = 0; i < m->nodes.n; i++) {
        int64_t gpus = 0;

        TRY(make_gpus(m, i, &gpus));
        all += gpus;
    }
    if (all == 0 || per_gpu > STEP_TASKS_MAX || all * per_gpu > STEP_TASKS_MAX)
        return err_new(ERR_INVALID, "Invalid generic resource (gres) specification");
    m->tasks = all * per_gpu;
    return NULL;
}

static struct err *make_task_count(struct step_make *m)
{
    const json_t *spec = m->submit->spec;
    int64_t per_node = json_int(spec, "tasksPerNode", 0);
    int64_t nodes = json_int(spec, "nodesMin", (int64_t)m->nodes.n);

    if (nodes < 1 || nodes > (int64_t)m->nodes.n)
        nodes = (int64_t)m->nodes.n;
    m->cpus_per_task = json_int(spec, "cpusPerTask", 1);
    if (m->cpus_per_task < 1)
        m->cpus_per_task = 1;
    if (json_object_get(spec, "tasks"))
        m->tasks = json_int(spec, "tasks", 1);
    else
        m->tasks = nodes * (per_node > 0 ? per_node : 1);
    return make_tasks_by_gpus(m);
}

/* ---- the object ---- */

static struct err *make_nodes(const struct step_make *m, json_t *spec)
{
    bool is_exact = json_bool(m->submit->step, "exact", false) ||
                    json_bool(m->submit->spec, "exclusive", false) ||
                    json_bool(m->submit->step, "cpusGiven", false);
    json_t *nodes = json_array_at(spec, "nodes");

    for (size_t i = 0; i < m->nodes.n; i++) {
        int64_t tasks = (int64_t)m->layout.nodes.at[i].ranks.n;
        int64_t gpus = 0;

        TRY(make_gpus(m, i, &gpus));
        (void)json_array_append_new(
            nodes, json_pack("{s:s,s:s,s:I,s:I,s:I}", "node", step_make_node(m, i), "pod",
                             step_make_pod(m, i), "tasks", (json_int_t)tasks, "cpus",
                             (json_int_t)(is_exact ? tasks * m->cpus_per_task : 0), "gpus",
                             (json_int_t)gpus));
    }
    return NULL;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static struct err *make_object(struct step_make *m)
{
    const char *object = text_or_empty(json_text(m->allocation, "object"));
    const char *slash = strchr(object, '/');
    const char *name = json_text_filled(m->submit->step, "name");
    json_t *spec;

    m->object = json_pack("{s:s,s:s}", "apiVersion", "mete.dev/v1", "kind", "SlurmStep");
    json_put_text(json_object_at(m->object, "metadata"), "generateName", "step-");
    spec = json_object_at(m->object, "spec");
    json_put_text(spec, "job", slash ? slash + 1 : object);
    if (json_object_get(m->allocation, "index"))
        json_put_int(spec, "index", json_int(m->allocation, "index", 0));
    if (!name && m->caller.n_argv > 0)
        name = base_name(m->caller.argv[0]);
    json_put_text(spec, "name", name);
    json_put_text(spec, "host", m->caller.host);
    json_put_int(spec, "pid", m->caller.pid);
    json_put_int(spec, "tasks", m->tasks);
    json_put_text(spec, "distribution", json_text_filled(m->submit->step, "distribution"));
    if (json_bool(m->submit->step, "overlap", false))
        json_put_bool(spec, "overlap", true);
    return make_nodes(m, spec);
}

struct err *step_make_request(struct step_make *m, char **ret_warning)
{
    *ret_warning = NULL;
    TRY(make_candidates(m));
    TRY(make_task_count(m));
    TRY(make_node_count(m, ret_warning));
    TRY(make_layout(m));
    return make_object(m);
}
