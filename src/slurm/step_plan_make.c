/* step_plan_make.c - the plan of a step for one of its nodes */

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "model/hostlist.h"
#include "slurm/pmi_server.h"
#include "slurm/step_bind.h"
#include "slurm/step_make_private.h"

/* ---- files ---- */

bool step_pattern_is_local(const char *pattern)
{
    if (!pattern || strchr(pattern, '\\'))
        return false;
    for (const char *at = strchr(pattern, '%'); at; at = strchr(at, '%')) {
        at++;
        while (*at >= '0' && *at <= '9')
            at++;
        if (*at && strchr("tNn", *at))
            return true;
        at += *at != '\0';
    }
    return false;
}

struct slurm_pattern_values step_make_values(const struct step_make *m, size_t node, int64_t rank,
                                             char ret_step[24])
{
    const json_t *index = json_object_get(m->allocation, "index");

    (void)snprintf(ret_step, 24, "%" PRId64, step_make_number(m));
    return (struct slurm_pattern_values){
        .job_id = step_make_job(m),
        .array_id = json_int(m->allocation, "arrayJobId", 0),
        .array_index = index ? json_integer_value(index) : -1,
        .step = ret_step,
        .host = step_make_node(m, node),
        .node = (int64_t)node,
        .task = rank,
        .user = json_text_at(m->object, "status", "user", NULL),
        .name = json_text(m->allocation, "name"),
    };
}

/* What a task has for the mode of --input, --output or --error: "all", "none", a task, a file.
 * NULL: frames. The caller frees it. */
static char *task_file(const struct step_make *m, size_t i, int64_t rank, const char *mode)
{
    AUTO(err_freep) struct err *e = NULL;
    int64_t only = 0;
    char step[24];
    struct slurm_pattern_values values = step_make_values(m, i, rank, step);
    AUTO_FREE char *path = NULL;

    if (!mode || text_equal(mode, "all"))
        return NULL;
    if (text_equal(mode, "none"))
        return mem_strdup("-");
    e = num_parse_int64(str_of(mode), 0, STEP_TASKS_MAX, &only);
    if (!e)
        return only == rank ? NULL : mem_strdup("-");
    if (!step_pattern_is_local(mode))
        return NULL;
    path = slurm_pattern_expand(mode, &values);
    return *path == '/' ? TAKE(path) : mem_format("%s/%s", m->caller.cwd, path);
}

/* The mode of a stream; with a terminal tasks behind the first have no files. */
static const char *stream_mode(const struct step_make *m, size_t i, const char *key, int64_t rank)
{
    if (json_bool(m->submit->step, "pty", false))
        return rank == 0 ? NULL : "none";
    return json_text_filled(step_make_submit(m, i)->spec, key);
}

static void put_files(const struct step_make *m, size_t i, int64_t rank, json_t *task)
{
    static const char *const keys[] = {"stdin", "stdout", "stderr"};

    for (size_t k = 0; k < COUNT(keys); k++) {
        const char *mode = stream_mode(m, i, keys[k], rank);
        AUTO_FREE char *path = NULL;

        if (!mode && k == 2)
            mode = stream_mode(m, i, "stdout", rank); /* errors go with the output */
        path = task_file(m, i, rank, mode);
        json_put_text(task, keys[k], path);
    }
}

/* ---- gpus and cpus ---- */

static json_t *numbers_json(const struct step_numbers *numbers)
{
    json_t *list = json_array();

    for (size_t i = 0; i < numbers->n; i++)
        (void)json_array_append_new(list, json_integer(numbers->at[i])); /* cannot fail */
    return list;
}

/* --gpu-bind; --gpus-per-task and --tasks-per-gpu imply it. */
static struct err *read_gpu_bind(const struct slurm_submit *submit, struct step_bind *ret)
{
    const char *text = json_text_filled(submit->step, "gpuBind");
    const char *per_task = json_text_filled(submit->spec, "gpusPerTask");
    const char *colon = per_task ? strrchr(per_task, ':') : NULL;
    int64_t tasks = json_int(submit->spec, "tasksPerGpu", 0);
    AUTO_FREE char *implied = per_task    ? mem_format("per_task:%s", colon ? colon + 1 : per_task)
                              : tasks > 0 ? mem_format("single:%" PRId64, tasks)
                                          : NULL;

    if (!text && !implied)
        return NULL;
    return step_gpu_bind_read(text ? text : implied, ret);
}

static struct err *put_gpus(const struct step_make *m, size_t i, size_t local, json_t *task)
{
    const json_t *given = json_array_get(json_at(m->object, "status", "nodes", NULL), i);
    const json_t *list = json_object_get(given, "gpus");
    struct step_numbers gpus = {0};
    struct step_numbers mine = {0};
    struct step_bind bind = {0};
    struct err *e = read_gpu_bind(step_make_submit(m, i), &bind);

    if (!e && json_int(step_make_row(m, i), "gpus", 0) > 0) {
        for (size_t k = 0; k < json_array_size(list); k++)
            vec_add(&gpus, json_integer_value(json_array_get(list, k)));
        step_bind_gpus(&bind, local, &gpus, &mine);
        json_put(task, "gpus", numbers_json(&mine));
    }
    step_bind_done(&bind);
    vec_done(&gpus);
    vec_done(&mine);
    return e;
}

static struct err *put_cpus(const struct step_make *m, size_t i, size_t local, json_t *task)
{
    const char *text = json_text_filled(step_make_submit(m, i)->step, "cpuBind");
    struct step_numbers cpus = {0};
    struct step_bind bind = {0};
    bool has_effect = false;

    if (!text)
        return NULL;
    TRY(step_cpu_bind_read(text, &bind, &has_effect));
    step_bind_cpus(&bind, local, &cpus);
    if (cpus.n > 0)
        json_put(task, "cpus", numbers_json(&cpus));
    step_bind_done(&bind);
    vec_done(&cpus);
    return NULL;
}

/* ---- the plan ---- */

static json_t *make_pmi(const struct step_make *m)
{
    AUTO_FREE char *mapping = step_layout_mapping(&m->layout);
    AUTO_FREE char *job = mem_format("%" PRId64 ".%" PRId64, step_make_job(m), step_make_number(m));
    json_t *pmi = json_object();

    json_put_int(pmi, "size", m->tasks);
    json_put_text(pmi, "job", job);
    if (strlen(mapping) < PMI_VALUE_MAX)
        json_put_text(pmi, "mapping", mapping);
    return pmi;
}

/* libpmix knows nodes by their names alone. */
static struct err *check_pmix_nodes(const struct step_make *m)
{
    struct hostlist names = {0};
    size_t n;

    for (size_t i = 0; i < m->nodes.n; i++)
        hostlist_add(&names, step_make_node(m, i));
    hostlist_sort(&names);
    n = names.names.n;
    hostlist_done(&names);
    return n == m->nodes.n
               ? NULL
               : err_new(ERR_INVALID, "--mpi=pmix: two components of the step are on one node");
}

static struct err *put_pmix(const struct step_make *m, size_t i_node, json_t *plan)
{
    json_t *pmix = json_object();
    AUTO_FREE char *job = mem_format("%" PRId64 ".%" PRId64, step_make_job(m), step_make_number(m));
    AUTO_FREE char *space = mem_format("slurm.pmix.%s.%s", job, text_or_empty(m->caller.secret));

    json_put(plan, "pmix", pmix);
    json_put_text(pmix, "space", space);
    json_put_text(pmix, "job", job);
    json_put_int(pmix, "size", m->tasks);
    json_put_int(pmix, "node", (int64_t)i_node);
    for (size_t i = 0; i < m->nodes.n; i++) {
        AUTO(buf_done) struct buf ranks = {0};

        VEC_EACH (&m->layout.nodes.at[i].ranks, rank)
            buf_printf(&ranks, "%s%u", ranks.size > 0 ? "," : "", *rank);
        (void)json_array_append_new(json_array_at(pmix, "nodes"),
                                    json_text_new(step_make_node(m, i))); /* cannot fail */
        (void)json_array_append_new(json_array_at(pmix, "ranks"), json_text_new(ranks.at));
    }
    return check_pmix_nodes(m);
}

static void put_program(json_t *plan, const char *member, const char *cwd, const char *path)
{
    AUTO_FREE char *whole = NULL;

    if (!path || !*path)
        return;
    whole = *path == '/' ? mem_strdup(path) : mem_format("%s/%s", cwd, path);
    (void)json_array_append_new(json_array_at(plan, member),
                                json_text_new(whole)); /* fresh: cannot fail */
}

/* The site's programs are around those of the step. */
static void put_programs(const struct step_make *m, size_t i, json_t *plan)
{
    const json_t *step = step_make_submit(m, i)->step;

    put_program(plan, "prologs", m->caller.cwd, json_text(m->allocation, "taskProlog"));
    put_program(plan, "prologs", m->caller.cwd, json_text(step, "taskProlog"));
    put_program(plan, "epilogs", m->caller.cwd, json_text(step, "taskEpilog"));
    put_program(plan, "epilogs", m->caller.cwd, json_text(m->allocation, "taskEpilog"));
}

static struct err *make_task(const struct step_make *m, size_t i, size_t local, json_t *tasks)
{
    uint32_t rank = m->layout.nodes.at[i].ranks.at[local];
    json_t *task = json_object();

    (void)json_array_append_new(tasks, task); /* fresh: cannot fail */
    json_put_int(task, "rank", rank);
    json_put(task, "env", step_task_variables(m, i, local));
    if (m->caller.programs)
        json_put(task, "argv", json_incref(json_array_get(m->caller.programs, rank)));
    put_files(m, i, rank, task);
    TRY(put_gpus(m, i, local, task));
    return put_cpus(m, i, local, task);
}

struct err *step_make_plan(const struct step_make *m, size_t i, json_t **ret)
{
    AUTO(json_freep) json_t *plan = json_object();
    json_t *argv = json_array_at(plan, "argv");
    const char *cwd = json_text_filled(step_make_submit(m, i)->spec, "workDir");

    for (size_t k = 0; k < m->caller.n_argv; k++)
        (void)json_array_append_new(argv, *m->caller.argv[k] ? json_text_new(m->caller.argv[k])
                                                             : json_string(""));
    json_put(plan, "env", step_node_variables(m, i));
    json_put_text(plan, "cwd", cwd ? cwd : m->caller.cwd);
    json_put_int(plan, "umask", m->caller.umask);
    if (json_bool(m->submit->step, "pty", false))
        json_put(plan, "pty", json_object());
    put_programs(m, i, plan);
    if (step_make_has_pmi(m))
        json_put(plan, "pmi", make_pmi(m));
    if (step_make_has_pmix(m))
        TRY(put_pmix(m, i, plan));
    for (size_t local = 0; local < m->layout.nodes.at[i].ranks.n; local++)
        TRY(make_task(m, i, local, json_array_at(plan, "tasks")));
    *ret = TAKE(plan);
    return NULL;
}
