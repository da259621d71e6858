/* sstat.c - options, rows and table of sstat */

#include "slurm/sstat.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "model/slurm_amount.h"
#include "model/slurm_time.h"
#include "slurm/job_columns.h"
#include "slurm/query.h"
#include "slurm/sacct_use.h"

#define NO  SLURM_TAKES_NOTHING
#define YES SLURM_TAKES_VALUE

const struct slurm_option sstat_options[] = {
    {"allsteps", NULL, 'a', NO},  {"format", NULL, 'o', YES},    {"fields", "format", 0, YES},
    {"help", NULL, 'h', NO},      {"helpformat", NULL, 'e', NO}, {"jobs", NULL, 'j', YES},
    {"noconvert", NULL, 0, NO},   {"noheader", NULL, 'n', NO},   {"parsable", NULL, 'p', NO},
    {"parsable2", NULL, 'P', NO}, {"pidformat", NULL, 'i', NO},  {"usage", NULL, 0, NO},
    {"verbose", NULL, 'v', NO},   {"version", NULL, 'V', NO},    {0},
};

const char sstat_help[] =
    "Usage: sstat [-a] [-e] [-i] [-n] [-o fields] [-p | -P] [--noconvert] -j job[.step],...\n";

static const char default_fields[] =
    "jobid,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,averss,"
    "maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,"
    "avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,consumedenergy,maxdiskread,"
    "maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,"
    "avediskwrite,tresusageinave,tresusageinmax,tresusageinmin,tresusageintot,tresusageoutave,"
    "tresusageoutmax,tresusageoutmin,tresusageouttot";
static const char pid_fields[] = "jobid,nodelist,pids";

/* ---- fields ---- */

static void field_id(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    slurm_job_name_format(row, v, out);
    buf_printf(out, ".%s", text_or_empty(json_text(row, "step")));
}

static void sstat_add_bytes(const json_t *row, const char *key, const struct slurm_view *v,
                            struct buf *out)
{
    char text[SLURM_AMOUNT_TEXT_SIZE];

    if (!json_object_get(row, key))
        return;
    slurm_bytes_format(json_int(row, key, 0), text);
    if (v->keeps_unit)
        buf_printf(out, "%" PRId64, json_int(row, key, 0));
    else
        buf_add_text(out, text);
}

static void field_ave_rss(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    sstat_add_bytes(row, "memoryAverageBytes", v, out);
}

static void field_max_rss(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    sstat_add_bytes(row, "memoryPeakBytes", v, out);
}

static void sstat_add_time(const json_t *row, const char *key, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    if (!json_object_get(row, key))
        return;
    slurm_elapsed_format(json_int(row, key, 0) / NS_PER_SEC, text);
    buf_add_text(out, text);
}

static void field_ave_cpu(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    sstat_add_time(row, "cpuAverageNs", out);
}

static void field_min_cpu(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    sstat_add_time(row, "cpuLeastNs", out);
}

/* The members that a field of TRESUsageIn... takes cpu time and memory from. Those of the pod's
 * gpus are sums, of which no task is known. */
struct sstat_tres {
    const char *cpu;
    const char *memory;
    bool is_amount;
};

static void sstat_add_item(const char *name, const struct buf *value, struct buf *out)
{
    if (value->size > 0)
        buf_printf(out, "%s%s=%s", out->size > 0 ? "," : "", name, value->at);
}

static void sstat_add_member(const json_t *row, const char *key, struct buf *out)
{
    const json_t *member = json_object_get(row, key);

    if (json_is_integer(member))
        buf_printf(out, "%" PRId64, (int64_t)json_integer_value(member));
    else
        buf_add_text(out, text_or_empty(json_string_value(member)));
}

/* The gpus' busy time in percent of one gpu, on average. */
static void sstat_add_gpu_percent(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    int64_t elapsed = slurm_job_elapsed(row, v);

    if (json_object_get(row, "gpuBusyNs"))
        buf_printf(out, "%" PRId64,
                   elapsed > 0 ? json_int(row, "gpuBusyNs", 0) / (NS_PER_SEC / 100) / elapsed : 0);
}

static void sstat_add_tres(const json_t *row, const struct slurm_view *v,
                           const struct sstat_tres *t, struct buf *out)
{
    enum {
        CPU,
        ENERGY,
        GPU_MEMORY,
        GPU_UTIL,
        MEMORY,
        N_ITEMS
    };
    static const char *const names[N_ITEMS] = {"cpu", "energy", "gres/gpumem", "gres/gpuutil",
                                               "mem"};
    struct buf values[N_ITEMS] = {0};
    struct buf all = {0};

    if (t->is_amount) {
        sstat_add_time(row, t->cpu, &values[CPU]);
        sacct_energy_raw(row, v, &values[ENERGY]);
        sstat_add_bytes(row, "gpuMemoryPeakBytes", v, &values[GPU_MEMORY]);
        sstat_add_gpu_percent(row, v, &values[GPU_UTIL]);
        sstat_add_bytes(row, t->memory, v, &values[MEMORY]);
    } else {
        sstat_add_member(row, t->cpu, &values[CPU]);
        sstat_add_member(row, t->memory, &values[MEMORY]);
    }
    for (size_t i = 0; i < N_ITEMS; i++) {
        sstat_add_item(names[i], &values[i], &all);
        buf_done(&values[i]);
    }
    buf_add(out, text_or_empty(all.at), all.size);
    buf_done(&all);
}

#define TRES(noun, ...)                                                                      \
    static void field_##noun(const json_t *row, const struct slurm_view *v, struct buf *out) \
    {                                                                                        \
        const struct sstat_tres t = {__VA_ARGS__};                                           \
                                                                                             \
        sstat_add_tres(row, v, &t, out);                                                     \
    }

TRES(tres_ave, "cpuAverageNs", "memoryAverageBytes", true)
TRES(tres_max, "cpuMostNs", "memoryPeakBytes", true)
TRES(tres_max_node, "cpuMostNode", "memoryPeakNode", false)
TRES(tres_max_task, "cpuMostTask", "memoryPeakTask", false)
TRES(tres_min, "cpuLeastNs", "memoryLeastBytes", true)
TRES(tres_min_node, "cpuLeastNode", "memoryLeastNode", false)
TRES(tres_min_task, "cpuLeastTask", "memoryLeastTask", false)
TRES(tres_sum, "cpuNs", "memorySumBytes", true)

#define FN(name, width, fn)                  \
    {                                        \
        0, name, name, fn, NULL, NULL, width \
    }
#define KEY(name, width, key)               \
    {                                       \
        0, name, name, NULL, key, "", width \
    }
#define NONE(name, width)                    \
    {                                        \
        0, name, name, NULL, NULL, "", width \
    }

static const struct slurm_column columns[] = {
    FN("AveCPU", 10, field_ave_cpu),
    NONE("AveCPUFreq", 10),
    NONE("AveDiskRead", 14),
    NONE("AveDiskWrite", 14),
    NONE("AvePages", 10),
    FN("AveRSS", 10, field_ave_rss),
    NONE("AveVMSize", 10),
    FN("ConsumedEnergy", 14, sacct_energy),
    FN("ConsumedEnergyRaw", 17, sacct_energy_raw),
    FN("JobID", -12, field_id),
    NONE("MaxDiskRead", 12),
    NONE("MaxDiskReadNode", 15),
    NONE("MaxDiskReadTask", 15),
    NONE("MaxDiskWrite", 12),
    NONE("MaxDiskWriteNode", 16),
    NONE("MaxDiskWriteTask", 16),
    NONE("MaxPages", 8),
    NONE("MaxPagesNode", 12),
    NONE("MaxPagesTask", 14),
    FN("MaxRSS", 10, field_max_rss),
    KEY("MaxRSSNode", 10, "memoryPeakNode"),
    KEY("MaxRSSTask", 10, "memoryPeakTask"),
    NONE("MaxVMSize", 10),
    NONE("MaxVMSizeNode", 14),
    NONE("MaxVMSizeTask", 14),
    FN("MinCPU", 10, field_min_cpu),
    KEY("MinCPUNode", 10, "cpuLeastNode"),
    KEY("MinCPUTask", 10, "cpuLeastTask"),
    KEY("Nodelist", 20, "nodes"),
    KEY("NTasks", 8, "stepTasks"),
    KEY("Pids", 20, "pids"),
    NONE("ReqCPUFreq", 10),
    NONE("ReqCPUFreqMin", 13),
    NONE("ReqCPUFreqMax", 13),
    NONE("ReqCPUFreqGov", 13),
    FN("TRESUsageInAve", 14, field_tres_ave),
    FN("TRESUsageInMax", 14, field_tres_max),
    FN("TRESUsageInMaxNode", 18, field_tres_max_node),
    FN("TRESUsageInMaxTask", 18, field_tres_max_task),
    FN("TRESUsageInMin", 14, field_tres_min),
    FN("TRESUsageInMinNode", 18, field_tres_min_node),
    FN("TRESUsageInMinTask", 18, field_tres_min_task),
    FN("TRESUsageInTot", 14, field_tres_sum),
    NONE("TRESUsageOutAve", 15),
    NONE("TRESUsageOutMax", 15),
    NONE("TRESUsageOutMaxNode", 19),
    NONE("TRESUsageOutMaxTask", 19),
    NONE("TRESUsageOutMin", 15),
    NONE("TRESUsageOutMinNode", 19),
    NONE("TRESUsageOutMinTask", 19),
    NONE("TRESUsageOutTot", 15),
    {0},
};

void sstat_help_format(struct buf *out)
{
    size_t n = 0;

    for (const struct slurm_column *c = columns; c->header; c++, n++)
        buf_printf(out, "%-19s%s", c->name, n % 4 == 3 ? "\n" : " ");
    buf_add_char(out, '\n');
}

/* ---- options ---- */

static struct err *sstat_add_field(struct sstat *s, struct str item)
{
    bool is_parsable =
        slurm_words_has(s->words, "parsable") || slurm_words_has(s->words, "parsable2");
    struct str width = item;
    struct str name = str_cut(&width, '%');
    struct slurm_cell cell = {.column = slurm_column_find(columns, name)};
    int64_t n = 0;

    if (!cell.column)
        return err_new(ERR_INVALID, "Invalid field requested: \"" STR_FMT "\"", STR_ARG(name));
    n = cell.column->width;
    if (width.at)
        TRY(num_parse_int64(width, -SLURM_WIDTH_LARGEST, SLURM_WIDTH_LARGEST, &n));
    s->has_pids = s->has_pids || text_equal(cell.column->key, "pids");
    cell.is_right = n > 0;
    cell.width = is_parsable ? 0 : (int)(n < 0 ? -n : n);
    cell.suffix = mem_strdup(is_parsable ? "|" : " ");
    vec_add(&s->format.cells, cell);
    return NULL;
}

static struct err *sstat_read_format(struct sstat *s)
{
    const char *fields = slurm_words_value(s->words, "format");
    struct str rest;

    if (!fields)
        fields = slurm_words_has(s->words, "pidformat") ? pid_fields : default_fields;
    rest = str_of(fields);
    s->format.cut = SLURM_CUT_PLUS;
    while (rest.at) {
        struct str item = str_cut(&rest, ',');

        if (item.size > 0)
            TRY(sstat_add_field(s, item));
    }
    if (slurm_words_has(s->words, "parsable2") && s->format.cells.n > 0) {
        free(s->format.cells.at[s->format.cells.n - 1].suffix);
        s->format.cells.at[s->format.cells.n - 1].suffix = NULL;
    }
    return NULL;
}

/* The list of steps: of -j, and of words without an option. The caller frees it. */
static char *sstat_list(const struct sstat *s)
{
    struct buf list = {0};

    for (size_t i = 0; i < s->words->given.n; i++)
        if (text_equal(s->words->given.at[i].name, "jobs"))
            buf_printf(&list, "%s%s", list.size > 0 ? "," : "", s->words->given.at[i].value);
    for (size_t i = 0; i < s->words->arguments.n; i++)
        buf_printf(&list, "%s%s", list.size > 0 ? "," : "", s->words->arguments.at[i]);
    return buf_steal(&list);
}

struct err *sstat_read(const struct slurm_words *words, struct sstat *ret)
{
    AUTO(buf_done) struct buf jobs = {0};
    AUTO(buf_done) struct buf ids = {0};
    AUTO_FREE char *list = NULL;
    AUTO(err_freep) struct err *e = NULL;
    struct str rest;

    *ret = (struct sstat){.words = words};
    list = sstat_list(ret);
    if (!*list)
        return err_new(ERR_INVALID, "You didn't give me any jobs to stat.");
    TRY(sstat_read_format(ret));
    rest = str_of(list);
    while (rest.at) {
        struct str item = str_cut(&rest, ',');
        struct str job = str_cut(&item, '.');

        buf_printf(&jobs, "%s" STR_FMT, jobs.size > 0 ? "," : "", STR_ARG(job));
    }
    e = slurm_ids_parse(jobs.at, &ids);
    if (e)
        return err_new(ERR_INVALID, "Bad job/step specified: %s", list);
    ret->ids = buf_steal(&ids);
    return NULL;
}

void sstat_done(struct sstat *s)
{
    slurm_format_done(&s->format);
    free(s->ids);
    *s = (struct sstat){0};
}

/* ---- steps ---- */

static bool sstat_is_of(const json_t *row, struct str job)
{
    AUTO(buf_done) struct buf name = {0};
    AUTO_FREE char *number = mem_format("%" PRId64, json_int(row, "jobId", 0));

    slurm_job_name_format(row, NULL, &name);
    return str_equal(job, (struct str){name.at, name.size}) || str_equal(job, str_of(number));
}

/* Adds a copy of the row as the step of that name; a step of srun has its number as text. */
static void sstat_add_row(const json_t *row, const char *step, json_t *to)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)row);
    AUTO_FREE char *number = mem_format("%" PRId64, json_int(row, "step", 0));

    json_put_text(copy, "step", step ? step : number);
    json_put_int(copy, "stepTasks", step ? 1 : json_int(row, "tasks", 1));
    (void)json_array_append_new(to, copy); /* fresh: cannot fail */
}

/* Adds the steps of srun that are meant; an empty `step`: the first, or all. */
static size_t sstat_add_steps(const struct sstat *s, const json_t *steps, struct str job,
                              struct str step, json_t *to)
{
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *row = json_array_get(steps, i);
        AUTO_FREE char *number = mem_format("%" PRId64, json_int(row, "step", 0));

        if (!sstat_is_of(row, job) || (step.size > 0 && !str_equal(step, str_of(number))))
            continue;
        sstat_add_row(row, NULL, to);
        n++;
        if (!slurm_words_has(s->words, "allsteps"))
            return n;
    }
    return n;
}

static size_t sstat_add_batch(const json_t *jobs, struct str job, json_t *to)
{
    for (size_t i = 0; i < json_array_size(jobs); i++)
        if (sstat_is_of(json_array_get(jobs, i), job) &&
            json_bool(json_array_get(jobs, i), "batch", false)) {
            sstat_add_row(json_array_get(jobs, i), "batch", to);
            return 1;
        }
    return 0;
}

json_t *sstat_choose(const struct sstat *s, const json_t *jobs, const json_t *steps,
                     struct buf *complaints)
{
    AUTO_FREE char *list = sstat_list(s);
    json_t *rows = json_array();
    struct str rest = str_of(list);

    while (rest.at) {
        struct str step = str_cut(&rest, ',');
        struct str job = str_cut(&step, '.');
        bool is_batch = step.at && str_equal(step, STR("batch"));
        bool is_all = slurm_words_has(s->words, "allsteps") && !step.at;
        size_t n = is_batch || is_all ? sstat_add_batch(jobs, job, rows) : 0;

        if (!is_batch)
            n += sstat_add_steps(s, steps, job, step, rows);
        if (n == 0 && !step.at)
            n = sstat_add_batch(jobs, job, rows);
        if (n == 0)
            buf_printf(complaints, "No steps running for job " STR_FMT "%s" STR_FMT "\n",
                       STR_ARG(job), step.at ? "." : "", STR_ARG(step));
    }
    return rows;
}

/* ---- what tasks use ---- */

/* Keeps the figure under `key` if it is the first, or beats the one there; `names` are the members
 * for the node and the task. */
static void sstat_put_best(json_t *row, const char *const names[3], int64_t value, bool is_most,
                           const char *node, int64_t rank)
{
    int64_t best = json_int(row, names[0], 0);

    if (json_object_get(row, names[0]) && (is_most ? value <= best : value >= best))
        return;
    json_put_int(row, names[0], value);
    json_put_text(row, names[1], node);
    json_put_int(row, names[2], rank);
}

static void sstat_put_task(json_t *row, const char *node, const json_t *task, struct buf *pids)
{
    static const char *const cpu_most[] = {"cpuMostNs", "cpuMostNode", "cpuMostTask"};
    static const char *const cpu_least[] = {"cpuLeastNs", "cpuLeastNode", "cpuLeastTask"};
    static const char *const peak[] = {"memoryPeakBytes", "memoryPeakNode", "memoryPeakTask"};
    static const char *const least[] = {"memoryLeastBytes", "memoryLeastNode", "memoryLeastTask"};
    int64_t rank = json_int(task, "rank", 0);
    int64_t cpu_ns = json_int(task, "cpuNs", 0);
    int64_t bytes = json_int(task, "peakBytes", 0);
    const json_t *pid = NULL;
    size_t i = 0;

    json_put_int(row, "cpuNs", json_int(row, "cpuNs", 0) + cpu_ns);
    json_put_int(row, "memorySumBytes", json_int(row, "memorySumBytes", 0) + bytes);
    sstat_put_best(row, cpu_most, cpu_ns, true, node, rank);
    sstat_put_best(row, cpu_least, cpu_ns, false, node, rank);
    sstat_put_best(row, peak, bytes, true, node, rank);
    sstat_put_best(row, least, bytes, false, node, rank);
    json_array_foreach (json_object_get(task, "pids"), i, pid)
        buf_printf(pids, "%s%" PRId64, pids->size > 0 ? "," : "", (int64_t)json_integer_value(pid));
}

void sstat_put_tasks(json_t *row, const json_t *nodes)
{
    AUTO(buf_done) struct buf pids = {0};
    const json_t *node = NULL;
    const json_t *task = NULL;
    int64_t n = 0;
    size_t i = 0;
    size_t k = 0;

    json_array_foreach (nodes, i, node)
        json_array_foreach (json_object_get(node, "tasks"), k, task) {
            sstat_put_task(row, json_text(node, "node"), task, &pids);
            n++;
        }
    if (n == 0)
        return;
    json_put_int(row, "cpuAverageNs", json_int(row, "cpuNs", 0) / n);
    json_put_int(row, "memoryAverageBytes", json_int(row, "memorySumBytes", 0) / n);
    json_put_text(row, "pids", pids.at);
}

/* The batch step is one task. */
void sstat_put_batch(json_t *row, const json_t *account)
{
    static const char *const times[] = {"cpuAverageNs", "cpuMostNs", "cpuLeastNs"};
    static const char *const sizes[] = {"memoryAverageBytes", "memorySumBytes", "memoryLeastBytes"};
    static const char *const nodes[] = {"cpuMostNode", "cpuLeastNode", "memoryPeakNode",
                                        "memoryLeastNode"};
    static const char *const tasks[] = {"cpuMostTask", "cpuLeastTask", "memoryPeakTask",
                                        "memoryLeastTask"};
    const char *host = json_text(row, "batchHost");

    sacct_put_use(row, account);
    for (size_t i = 0; i < COUNT(times) && json_object_get(row, "cpuNs"); i++)
        json_put_int(row, times[i], json_int(row, "cpuNs", 0));
    for (size_t i = 0; i < COUNT(sizes) && json_object_get(row, "memoryPeakBytes"); i++)
        json_put_int(row, sizes[i], json_int(row, "memoryPeakBytes", 0));
    for (size_t i = 0; i < COUNT(nodes) && json_object_get(row, "cpuNs"); i++) {
        json_put_text(row, nodes[i], host ? host : json_text(row, "nodes"));
        json_put_int(row, tasks[i], 0);
    }
}

/* ---- output ---- */

void sstat_print(const struct sstat *s, const json_t *rows, const struct slurm_view *v,
                 struct buf *out)
{
    AUTO(json_freep) json_t *none = json_array();
    struct slurm_view view = *v;

    view.keeps_unit = slurm_words_has(s->words, "noconvert");
    if (!slurm_words_has(s->words, "noheader")) {
        slurm_format_print(&s->format, none, &view, true, out);
        if (s->format.cells.n > 0 && s->format.cells.at[0].width > 0) {
            VEC_EACH (&s->format.cells, cell) {
                for (int k = 0; k < cell->width; k++)
                    buf_add_char(out, '-');
                buf_add_char(out, ' ');
            }
            buf_add_char(out, '\n');
        }
    }
    slurm_format_print(&s->format, rows, &view, false, out);
}
