/* steps.c - steps in tables and texts */

#include "slurm/steps.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "model/slurm_time.h"
#include "slurm/job_columns.h"
#include "slurm/query.h"

/* ---- squeue -s ---- */

const char slurm_step_format[] = "%.15i %.8j %.9P %.8u %.9M %N";

static void step_name(const json_t *row, struct buf *out)
{
    slurm_job_name_format(row, NULL, out);
    buf_printf(out, ".%" PRId64, json_int(row, "step", 0));
}

static void cell_step(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    step_name(row, out);
}

static void cell_elapsed(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    slurm_elapsed_format_short(slurm_job_elapsed(row, v), text);
    buf_add_text(out, text);
}

static void cell_start(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    slurm_stamp_format(json_int(row, "startTime", 0), v->zone, "N/A", text);
    buf_add_text(out, text);
}

static void cell_limit(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];
    int64_t minutes = json_int(row, "timeLimit", -1);

    (void)v;
    slurm_minutes_format(minutes > 0 ? minutes : SLURM_UNLIMITED, text);
    buf_add_text(out, text);
}

static void cell_gres(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    int64_t gpus = json_int(row, "gpus", 0);

    (void)v;
    if (gpus > 0)
        buf_printf(out, "gres/gpu:%" PRId64, gpus);
    else
        buf_add_text(out, "N/A");
}

const struct slurm_column slurm_step_columns[] = {
    {'i', "StepID", "STEPID", cell_step, NULL, NULL, 0},
    {'j', "StepName", "NAME", NULL, "name", NULL, 0},
    {'P', "Partition", "PARTITION", NULL, "partition", NULL, 0},
    {'u', "UserName", "USER", NULL, "user", NULL, 0},
    {'U', "UserID", "USER", NULL, "uid", NULL, 0},
    {'M', "TimeUsed", "TIME", cell_elapsed, NULL, NULL, 0},
    {'N', "Nodes", "NODELIST", NULL, "nodes", NULL, 0},
    {'S', "StartTime", "START_TIME", cell_start, NULL, NULL, 0},
    {'l', "TimeLimit", "TIME_LIMIT", cell_limit, NULL, NULL, 0},
    {'A', "NumTasks", "TASKS", NULL, "tasks", NULL, 0},
    {'t', "StepState", "STATE", NULL, "state", NULL, 0},
    {'b', "Gres", "TRES_PER_NODE", cell_gres, NULL, NULL, 0},
    {0, "NumCPUs", "CPUS", NULL, "cpus", NULL, 0},
    {0, "JobID", "JOBID", NULL, "jobId", NULL, 0},
    {0},
};

/* ---- scontrol show step ---- */

static void step_line(const struct slurm_show *s, struct buf *out)
{
    buf_add_text(out, s->is_one_line ? " " : "\n   ");
}

void slurm_show_step(const struct slurm_show *s, const json_t *row, struct buf *out)
{
    char start[SLURM_TIME_TEXT_SIZE];
    int64_t minutes = json_int(row, "timeLimit", -1);
    char limit[SLURM_TIME_TEXT_SIZE];
    const char *distribution = json_text(row, "distribution");

    slurm_stamp_format(json_int(row, "startTime", 0), s->view->zone, "Unknown", start);
    slurm_minutes_format(minutes > 0 ? minutes : SLURM_UNLIMITED, limit);
    buf_add_text(out, "StepId=");
    step_name(row, out);
    buf_printf(out, " UserId=%" PRId64 " StartTime=%s TimeLimit=%s", json_int(row, "uid", 0), start,
               limit);
    step_line(s, out);
    buf_printf(out, "State=%s Partition=%s NodeList=%s", text_or_empty(json_text(row, "state")),
               text_or_empty(json_text(row, "partition")), text_or_empty(json_text(row, "nodes")));
    step_line(s, out);
    buf_printf(out, "Nodes=%" PRId64 " CPUs=%" PRId64 " Tasks=%" PRId64 " Name=%s Network=(null)",
               json_int(row, "nodeCount", 1), json_int(row, "cpus", 0), json_int(row, "tasks", 1),
               text_or_empty(json_text(row, "name")));
    step_line(s, out);
    buf_printf(out, "TRES=cpu=%" PRId64 ",node=%" PRId64, json_int(row, "cpus", 0),
               json_int(row, "nodeCount", 1));
    if (json_int(row, "gpus", 0) > 0)
        buf_printf(out, ",gres/gpu=%" PRId64, json_int(row, "gpus", 0));
    step_line(s, out);
    buf_add_text(out, "ResvPorts=(null)");
    step_line(s, out);
    buf_printf(out, "CPUFreqReq=Default Dist=%s", distribution ? distribution : "Block");
    step_line(s, out);
    buf_printf(out, "SrunHost:Pid=%s:%" PRId64, text_or_empty(json_text(row, "host")),
               json_int(row, "pid", 0));
    buf_add_text(out, s->is_one_line ? "\n" : "\n\n");
}

/* ---- lists of steps ---- */

/* Cuts "13.0" into the job's name and the step's number, -1: all steps. */
static struct err *read_step(struct str text, struct str *ret_job, int64_t *ret_step)
{
    struct str number = text;

    *ret_job = str_cut(&number, '.');
    *ret_step = -1;
    if (number.at && num_parse_int64(number, 0, INT32_MAX, ret_step))
        return err_new(ERR_INVALID, "Invalid job_step id: " STR_FMT, STR_ARG(text));
    return NULL;
}

struct err *slurm_steps_jobs(const char *list, struct buf *out)
{
    struct str rest = str_of(list);
    struct buf jobs = {0};
    struct err *e = NULL;

    while (!e && rest.at) {
        struct str job = {0};
        int64_t step = 0;

        e = read_step(str_cut(&rest, ','), &job, &step);
        buf_printf(&jobs, "%s" STR_FMT, jobs.size > 0 ? "," : "", STR_ARG(job));
    }
    if (!e)
        e = slurm_ids_parse(text_or_empty(jobs.at), out);
    buf_done(&jobs);
    return e;
}

static bool is_step_of(const json_t *row, const char *list)
{
    AUTO(buf_done) struct buf name = {0};
    AUTO_FREE char *het = mem_format("%" PRId64, json_int(row, "hetJobId", 0));
    struct str rest = str_of(list);

    slurm_job_name_format(row, NULL, &name);
    while (rest.at) {
        struct str job = {0};
        int64_t step = 0;
        AUTO(err_freep) struct err *e = read_step(str_cut(&rest, ','), &job, &step);

        if (!e &&
            (str_equal(job, (struct str){name.at, name.size}) || str_equal(job, str_of(het))) &&
            (step < 0 || step == json_int(row, "step", 0)))
            return true;
    }
    return false;
}

struct err *slurm_steps_choose(const json_t *rows, const char *list, json_t **ret)
{
    AUTO(json_freep) json_t *chosen = json_array();
    struct str rest = str_of(list);

    while (rest.at) {
        struct str job = {0};
        int64_t step = 0;

        TRY(read_step(str_cut(&rest, ','), &job, &step));
    }
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (!list || is_step_of(json_array_get(rows, i), list))
            (void)json_array_append(chosen, json_array_get(rows, i)); /* fresh: cannot fail */
    *ret = TAKE(chosen);
    return NULL;
}

/* ---- sacct ---- */

json_t *slurm_step_account(const json_t *job, const json_t *step)
{
    static const char *const own[] = {"state",   "exitCode", "exitSignal", "startTime",
                                      "endTime", "nodes",    "nodeCount",  "tasks"};
    json_t *row = json_copy((json_t *)(uintptr_t)job);
    const json_t *usage = json_object_get(step, "usage");
    AUTO_FREE char *number = mem_format("%" PRId64, json_int(step, "step", 0));
    int64_t tasks = json_int(step, "tasks", 1);
    int64_t cpus = json_int(step, "cpus", 0);
    int64_t gpus = json_int(step, "gpus", 0);
    AUTO_FREE char *gres = gpus > 0 ? mem_format(",gres/gpu=%" PRId64, gpus) : mem_strdup("");
    AUTO_FREE char *tres = NULL;

    for (size_t i = 0; i < COUNT(own); i++) {
        json_put_text(row, own[i], NULL);
        if (json_object_get(step, own[i]))
            json_put(row, own[i], json_incref(json_object_get(step, own[i])));
    }
    cpus = cpus > 0 ? cpus : json_int(job, "cpus", 0);
    tres = mem_format("cpu=%" PRId64 ",node=%" PRId64 "%s", cpus, json_int(step, "nodeCount", 1),
                      gres);
    json_put_text(row, "step", number);
    json_put_int(row, "stepTasks", tasks > 0 ? tasks : 1);
    json_put_int(row, "stepPeakTask", json_int(usage, "memoryPeakTask", 0));
    json_put_int(row, "stepLeastTask", json_int(usage, "cpuLeastTask", 0));
    json_put_int(row, "stepLeastCpuNs", json_int(usage, "cpuLeastNs", 0));
    json_put_text(row, "stepName", json_text(step, "name"));
    json_put_int(row, "cpus", cpus);
    json_put_text(row, "tresAllocated", tres);
    json_put_text(row, "cpuNs", NULL);
    json_put_text(row, "memoryPeakBytes", NULL);
    if (json_object_get(usage, "cpuNs"))
        json_put_int(row, "cpuNs", json_int(usage, "cpuNs", 0));
    if (json_object_get(usage, "memoryPeakBytes"))
        json_put_int(row, "memoryPeakBytes", json_int(usage, "memoryPeakBytes", 0));
    return row;
}

static int step_order(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left;
    const json_t *b = *(json_t *const *)right;
    int64_t x = json_int(a, "jobId", 0);
    int64_t y = json_int(b, "jobId", 0);

    if (x == y) {
        x = json_int(a, "step", 0);
        y = json_int(b, "step", 0);
    }
    return x < y ? -1 : x > y;
}

json_t *slurm_steps_join(const json_t *live, const json_t *accounts)
{
    AUTO(json_freep) json_t *all = json_copy((json_t *)(uintptr_t)live);
    json_t *joined = json_array();
    json_t **sorted;
    size_t n;

    for (size_t i = 0; i < json_array_size(accounts); i++)
        (void)json_array_extend(all, json_array_at(json_array_get(accounts, i), "steps"));
    n = json_array_size(all);
    sorted = mem_alloc((n + 1) * sizeof(json_t *));
    for (size_t i = 0; i < n; i++)
        sorted[i] = json_array_get(all, i);
    if (n > 0)
        qsort(sorted, n, sizeof(json_t *), step_order);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || step_order(&sorted[i - 1], &sorted[i]) != 0)
            (void)json_array_append(joined, sorted[i]); /* fresh: cannot fail */
    free(sorted);
    return joined;
}
