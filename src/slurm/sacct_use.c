/*
 * sacct_use.c - the fields of sacct about what a job used: cpu time, memory, energy, gpus
 *
 * The batch step is one task on one node: its sum, mean, least and greatest are the same. Of other
 * steps srun knows the figures of each task. An absent figure was not measured, and its field is
 * empty.
 */

#include "slurm/sacct_use.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "model/slurm_amount.h"
#include "model/slurm_time.h"
#include "slurm/job_columns.h"

static bool is_step(const json_t *row)
{
    return json_text(row, "step") != NULL;
}

static bool has_use(const json_t *row, const char *key)
{
    return is_step(row) && json_object_get(row, key);
}

static void bytes_format(int64_t bytes, const struct slurm_view *v,
                         char ret[SLURM_AMOUNT_TEXT_SIZE])
{
    if (v->unit)
        slurm_unit_format(bytes, v->unit, ret);
    else
        slurm_bytes_format(bytes, ret);
}

void sacct_max_rss(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_AMOUNT_TEXT_SIZE];

    if (!has_use(row, "memoryPeakBytes"))
        return;
    bytes_format(json_int(row, "memoryPeakBytes", 0), v, text);
    if (v->keeps_unit)
        buf_printf(out, "%" PRId64, json_int(row, "memoryPeakBytes", 0));
    else
        buf_add_text(out, text);
}

void sacct_max_rss_node(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (has_use(row, "memoryPeakBytes"))
        buf_add_text(out, text_or_empty(json_text(row, "nodes")));
}

void sacct_max_rss_task(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (has_use(row, "memoryPeakBytes"))
        buf_printf(out, "%" PRId64, json_int(row, "stepPeakTask", 0));
}

static void add_cpu_seconds(int64_t cpu_ns, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    slurm_elapsed_format(cpu_ns / NS_PER_SEC, text);
    buf_add_text(out, text);
}

void sacct_total_cpu(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    (void)v;
    slurm_cpu_time_format(json_int(row, "cpuNs", 0) / NS_PER_MS, text);
    buf_add_text(out, text);
}

void sacct_ave_cpu(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (has_use(row, "cpuNs"))
        add_cpu_seconds(json_int(row, "cpuNs", 0) / json_int(row, "stepTasks", 1), out);
}

void sacct_min_cpu(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (has_use(row, "cpuNs"))
        add_cpu_seconds(json_int(row, "stepLeastCpuNs", json_int(row, "cpuNs", 0)), out);
}

void sacct_min_cpu_node(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (has_use(row, "cpuNs"))
        buf_add_text(out, text_or_empty(json_text(row, "nodes")));
}

void sacct_min_cpu_task(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (has_use(row, "cpuNs"))
        buf_printf(out, "%" PRId64, json_int(row, "stepLeastTask", 0));
}

void sacct_tasks(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (is_step(row))
        buf_printf(out, "%" PRId64, json_int(row, "stepTasks", 1));
}

/* ---- energy ---- */

void sacct_energy_raw(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    if (json_object_get(row, "energyMj"))
        buf_printf(out, "%" PRId64, json_int(row, "energyMj", 0) / 1000);
}

/* Thousands of joules as "1.50K". */
void sacct_energy(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    static const char units[] = "KMGT";
    int64_t joules = json_int(row, "energyMj", 0) / 1000;
    int64_t divisor = 1000;
    size_t unit = 0;

    if (!json_object_get(row, "energyMj"))
        return;
    if (v->keeps_unit || joules < divisor) {
        buf_printf(out, "%" PRId64, joules);
        return;
    }
    while (joules / divisor >= 1000 && units[unit + 1]) {
        divisor *= 1000;
        unit++;
    }
    buf_printf(out, "%" PRId64 ".%02" PRId64 "%c", joules / divisor,
               joules % divisor * 100 / divisor, units[unit]);
}

/* ---- TRESUsageIn... ---- */

/* What is put for each figure. */
enum tres_value {
    TRES_AMOUNT,
    TRES_NODE,
    TRES_TASK
};

static void tres_add(const json_t *row, const char *name, const char *amount, enum tres_value value,
                     struct buf *out)
{
    if (out->size > 0)
        buf_add_char(out, ',');
    buf_printf(out, "%s=%s", name,
               value == TRES_AMOUNT ? amount
               : value == TRES_NODE ? text_or_empty(json_text(row, "nodes"))
                                    : "0");
}

/* The parts of gpus that worked, in percent of one gpu, on average. */
static int64_t gpu_percent(const json_t *row, const struct slurm_view *v)
{
    int64_t elapsed = slurm_job_elapsed(row, v);

    return elapsed > 0 ? json_int(row, "gpuBusyNs", 0) / (NS_PER_SEC / 100) / elapsed : 0;
}

static void tres_usage(const json_t *row, const struct slurm_view *v, enum tres_value value,
                       struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];
    char amount[SLURM_AMOUNT_TEXT_SIZE];
    AUTO_FREE char *number = NULL;

    if (has_use(row, "cpuNs")) {
        slurm_elapsed_format(json_int(row, "cpuNs", 0) / NS_PER_SEC, text);
        tres_add(row, "cpu", text, value, out);
    }
    if (has_use(row, "energyMj")) {
        number = mem_format("%" PRId64, json_int(row, "energyMj", 0) / 1000);
        tres_add(row, "energy", number, value, out);
    }
    if (has_use(row, "gpuMemoryPeakBytes")) {
        bytes_format(json_int(row, "gpuMemoryPeakBytes", 0), v, amount);
        tres_add(row, "gres/gpumem", amount, value, out);
    }
    if (has_use(row, "gpuBusyNs")) {
        free(number);
        number = mem_format("%" PRId64, gpu_percent(row, v));
        tres_add(row, "gres/gpuutil", number, value, out);
    }
    if (has_use(row, "memoryPeakBytes")) {
        bytes_format(json_int(row, "memoryPeakBytes", 0), v, amount);
        tres_add(row, "mem", amount, value, out);
    }
}

void sacct_tres_amount(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    struct buf text = {0};

    tres_usage(row, v, TRES_AMOUNT, &text);
    buf_add(out, text.at, text.size);
    buf_done(&text);
}

void sacct_tres_node(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    struct buf text = {0};

    tres_usage(row, v, TRES_NODE, &text);
    buf_add(out, text.at, text.size);
    buf_done(&text);
}

void sacct_tres_task(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    struct buf text = {0};

    tres_usage(row, v, TRES_TASK, &text);
    buf_add(out, text.at, text.size);
    buf_done(&text);
}

/* ---- rows ---- */

/* A duration {"seconds","nanos"} of accounting as a number of nanoseconds. */
static void put_time(json_t *row, const char *key, const json_t *time)
{
    if (json_is_object(time))
        json_put_int(row, key,
                     json_int(time, "seconds", 0) * NS_PER_SEC + json_int(time, "nanos", 0));
}

void sacct_put_use(json_t *row, const json_t *account)
{
    static const struct {
        const char *from;
        const char *to;
    } numbers[] = {{"memoryPeakBytes", "memoryPeakBytes"},
                   {"gpuMemoryPeakBytes", "gpuMemoryPeakBytes"},
                   {"gpuEnergyMillijoules", "energyMj"}};

    put_time(row, "cpuNs", json_object_get(account, "cpuTime"));
    put_time(row, "gpuBusyNs", json_object_get(account, "gpuBusyTime"));
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (json_is_integer(json_object_get(account, numbers[i].from)))
            json_put_int(row, numbers[i].to, json_int(account, numbers[i].from, 0));
}
