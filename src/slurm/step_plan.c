/* step_plan.c - reads the plan of a step on a node */

#include "slurm/step_plan.h"

#include "base/mem.h"

enum {
    UMASK_MAX = 0777,
    CPUS_MAX = 4096,
    PROGRAMS_MAX = 16 /* around a task, on each side */
};

static struct err *plan_wrong(const char *member)
{
    return err_new(ERR_INVALID, "the plan of the step: member %s is malformed", member);
}

static bool is_texts(const json_t *list)
{
    size_t n = json_array_size(list);

    if (list && !json_is_array(list))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!json_is_string(json_array_get(list, i)))
            return false;
    return n <= STEP_WORDS_MAX;
}

/* The texts of two lists, the second one's after the first one's, and NULL. */
static const char **plan_texts(const json_t *first, const json_t *second)
{
    size_t n = json_array_size(first) + json_array_size(second);
    const char **all = mem_alloc((n + 1) * sizeof(*all));
    size_t at = 0;

    for (size_t i = 0; i < json_array_size(first); i++)
        all[at++] = json_string_value(json_array_get(first, i));
    for (size_t i = 0; i < json_array_size(second); i++)
        all[at++] = json_string_value(json_array_get(second, i));
    all[at] = NULL;
    return all;
}

static bool read_numbers(const json_t *list, struct step_numbers *ret)
{
    size_t n = json_array_size(list);

    if ((list && !json_is_array(list)) || n > CPUS_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(list, i);

        if (!json_is_integer(one) || json_integer_value(one) < 0 ||
            json_integer_value(one) >= CPUS_MAX)
            return false;
        vec_add(ret, json_integer_value(one));
    }
    return true;
}

static bool read_path(const json_t *task, const char *key, const char **ret)
{
    const json_t *value = json_object_get(task, key);

    *ret = json_string_value(value);
    return !value || *ret;
}

static struct err *read_task(const json_t *plan, const json_t *json, struct step_task_plan *task)
{
    const json_t *argv = json_object_get(json, "argv");
    const json_t *rank = json_object_get(json, "rank");

    if (!argv)
        argv = json_object_get(plan, "argv");
    if (!json_is_integer(rank) || json_integer_value(rank) < 0 ||
        json_integer_value(rank) >= UINT32_MAX)
        return plan_wrong("rank");
    if (!is_texts(argv) || json_array_size(argv) == 0)
        return plan_wrong("argv");
    if (!is_texts(json_object_get(json, "env")))
        return plan_wrong("env");
    task->rank = (uint32_t)json_integer_value(rank);
    task->argv = plan_texts(argv, NULL);
    task->env = plan_texts(json_object_get(plan, "env"), json_object_get(json, "env"));
    task->has_gpus = json_object_get(json, "gpus") != NULL;
    task->has_cpus = json_object_get(json, "cpus") != NULL;
    if (!read_numbers(json_object_get(json, "gpus"), &task->gpus) ||
        !read_numbers(json_object_get(json, "cpus"), &task->cpus))
        return plan_wrong("gpus or cpus");
    if (!read_path(json, "stdin", &task->input) || !read_path(json, "stdout", &task->output) ||
        !read_path(json, "stderr", &task->errors))
        return plan_wrong("stdin, stdout or stderr");
    return NULL;
}

static struct err *read_size(const json_t *pty, struct step_plan *p)
{
    int64_t columns = json_int(pty, "columns", 0);
    int64_t rows = json_int(pty, "rows", 0);

    if (!json_is_object(pty) || columns < 0 || columns > UINT16_MAX || rows < 0 ||
        rows > UINT16_MAX)
        return plan_wrong("pty");
    p->has_terminal = true;
    p->columns = (uint16_t)columns;
    p->rows = (uint16_t)rows;
    return NULL;
}

static struct err *read_programs(const json_t *plan, const char *member, const char ***ret)
{
    const json_t *list = json_object_get(plan, member);

    if (!is_texts(list) || json_array_size(list) > PROGRAMS_MAX)
        return plan_wrong(member);
    *ret = plan_texts(list, NULL);
    for (const char **one = *ret; *one; one++)
        if (**one != '/')
            return plan_wrong(member);
    return NULL;
}

static struct err *plan_read_all(struct step_plan *p)
{
    const json_t *plan = p->document;
    const json_t *tasks = json_object_get(plan, "tasks");
    size_t n = json_array_size(tasks);

    if (!json_is_object(plan) || n == 0 || n > STEP_NODE_TASKS_MAX)
        return plan_wrong("tasks");
    if (!is_texts(json_object_get(plan, "env")))
        return plan_wrong("env");
    p->cwd = json_text(plan, "cwd");
    p->umask = json_int(plan, "umask", 0022);
    p->pmi_size = json_int_at(plan, "pmi", "size", NULL);
    p->pmi_job = text_or_empty(json_text_at(plan, "pmi", "job", NULL));
    p->pmi_mapping = json_text_at(plan, "pmi", "mapping", NULL);
    p->pmix = json_object_get(plan, "pmix"); /* its server reads the rest */
    if (!p->cwd || *p->cwd != '/')
        return plan_wrong("cwd");
    if (p->umask < 0 || p->umask > UMASK_MAX)
        return plan_wrong("umask");
    if (p->pmi_size < 0 || p->pmi_size > UINT16_MAX + 1 ||
        (p->pmi_size > 0 && p->pmi_size < (int64_t)n))
        return plan_wrong("pmi");
    if (p->pmix && (!json_is_object(p->pmix) || json_object_get(plan, "pmi")))
        return plan_wrong("pmix");
    TRY(read_programs(plan, "prologs", &p->prologs));
    TRY(read_programs(plan, "epilogs", &p->epilogs));
    if (json_object_get(plan, "pty"))
        TRY(read_size(json_object_get(plan, "pty"), p));
    for (size_t i = 0; i < n; i++) {
        vec_add(&p->tasks, (struct step_task_plan){0});
        TRY(read_task(plan, json_array_get(tasks, i), &p->tasks.at[i]));
    }
    return NULL;
}

struct err *step_plan_read(struct str line, struct step_plan *ret)
{
    struct step_plan p = {0};
    struct err *e = json_parse(line, &p.document);

    if (e) {
        err_free(e);
        return err_new(ERR_INVALID, "the plan of the step is not JSON");
    }
    e = plan_read_all(&p);
    if (e) {
        step_plan_done(&p);
        return e;
    }
    *ret = p;
    return NULL;
}

void step_plan_done(struct step_plan *p)
{
    VEC_EACH (&p->tasks, task) {
        free(task->argv);
        free(task->env);
        vec_done(&task->gpus);
        vec_done(&task->cpus);
    }
    vec_done(&p->tasks);
    free(p->prologs);
    free(p->epilogs);
    json_decref(p->document);
    *p = (struct step_plan){0};
}
