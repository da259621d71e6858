/* exporter_gpus.c - the gpus under our names: readings in base units, and what is free */

#include "meter/exporter/exporter_private.h"

/* A reading as a family: its value is the reading / 10^decimals. */
struct gpu_family {
    struct metric_family family;
    enum gpu_field field;
    unsigned decimals;
};

static const struct gpu_family gpu_families[] = {
    {{"mete_gpu_utilization_ratio", METRIC_GAUGE,
      "Part of the time in which the gpu or slice was busy."},
     GPU_FIELD_UTILIZATION_PCT,
     2},
    {{"mete_gpu_sm_active_ratio", METRIC_GAUGE,
      "Part of the multiprocessors' cycles in which work was resident."},
     GPU_FIELD_SM_ACTIVE_MILLI,
     3},
    {{"mete_gpu_tensor_active_ratio", METRIC_GAUGE,
      "Part of the cycles in which the tensor pipe was busy."},
     GPU_FIELD_TENSOR_ACTIVE_MILLI,
     3},
    {{"mete_gpu_memory_used_bytes", METRIC_GAUGE, "Memory in use."},
     GPU_FIELD_MEMORY_USED_BYTES,
     0},
    {{"mete_gpu_temperature_celsius", METRIC_GAUGE, "Temperature of the gpu."},
     GPU_FIELD_TEMPERATURE_C,
     0},
    {{"mete_gpu_memory_temperature_celsius", METRIC_GAUGE, "Temperature of the gpu's memory."},
     GPU_FIELD_MEMORY_TEMPERATURE_C,
     0},
    {{"mete_gpu_power_watts", METRIC_GAUGE, "Power draw."}, GPU_FIELD_POWER_MW, 3},
    {{"mete_gpu_energy_joules_total", METRIC_COUNTER, "Energy since the driver was loaded."},
     GPU_FIELD_ENERGY_MJ,
     3},
    {{"mete_gpu_ecc_corrected_total", METRIC_COUNTER,
      "Corrected memory errors since the driver was loaded."},
     GPU_FIELD_ECC_CORRECTED,
     0},
    {{"mete_gpu_ecc_uncorrected_total", METRIC_COUNTER,
      "Uncorrected memory errors since the driver was loaded."},
     GPU_FIELD_ECC_UNCORRECTED,
     0},
    {{"mete_gpu_nvlink_errors_total", METRIC_COUNTER, "NVLink errors since the driver was loaded."},
     GPU_FIELD_NVLINK_ERRORS,
     0},
    {{"mete_gpu_processes", METRIC_GAUGE, "Processes that use the gpu or slice."},
     GPU_FIELD_PROCESSES,
     0},
};

static void write_readings(const struct exporter *e, struct exposition *x)
{
    for (size_t k = 0; k < sizeof(gpu_families) / sizeof(gpu_families[0]); k++) {
        const struct gpu_family *f = &gpu_families[k];

        exposition_family(x, &f->family);
        for (size_t i = 0; i < e->rows.n; i++) {
            int64_t value = exported_value(&e->rows.at[i], f->field);

            if (value != GPU_VALUE_UNKNOWN && !exported_is_split(e, i, f->field))
                exposition_add(x, e->rows.at[i].mete, value, f->decimals);
        }
    }
}

/* Use by container; and what is known also of a gpu that does not answer. */
static void write_parts(const struct exporter *e, struct exposition *x)
{
    static const struct {
        struct metric_family family;
        unsigned decimals;
    } families[] = {
        {{"mete_container_gpu_sm_ratio", METRIC_GAUGE,
          "Part of the busy time of a gpu or slice that a container uses."},
         3},
        {{"mete_container_gpu_memory_bytes", METRIC_GAUGE,
          "Memory of a gpu or slice that a container uses."},
         0},
        {{"mete_container_gpu_processes", METRIC_GAUGE,
          "Processes of a container on a gpu or slice; without a pod: processes of no container."},
         0},
    };
    static const struct metric_family at = {"mete_gpu_last_sample_timestamp_seconds", METRIC_GAUGE,
                                            "Time of the last sample, however old."};
    static const struct metric_family xids = {
        "mete_gpu_xid_total", METRIC_COUNTER,
        "XIDs of the gpu since Mete first saw it, over all restarts."};

    for (size_t k = 0; k < sizeof(families) / sizeof(families[0]); k++) {
        exposition_family(x, &families[k].family);
        VEC_EACH (&e->parts, part) {
            if (part->values[k] >= 0)
                exposition_add(x, part->labels, part->values[k], families[k].decimals);
        }
    }
    exposition_family(x, &at);
    VEC_EACH (&e->rows, d) {
        if (d->history && d->history->last_s > 0)
            exposition_add(x, d->mete, d->history->last_s, 0);
    }
    exposition_family(x, &xids);
    VEC_EACH (&e->rows, d) {
        if (d->history && !d->is_slice && d->history->xids >= 0)
            exposition_add(x, d->mete, d->history->xids, 0);
    }
}

static bool is_last_of_gpu(const struct exporter *e, size_t i)
{
    return i + 1 == e->rows.n || !e->rows.at[i + 1].is_slice;
}

/* Is the row a device that pods can get: a slice, or a gpu without slices? */
static bool is_leaf(const struct exporter *e, size_t i)
{
    return e->rows.at[i].is_slice || is_last_of_gpu(e, i);
}

static void write_leaves(const struct exporter *e, struct exposition *x)
{
    static const struct metric_family memory = {"mete_gpu_memory_bytes", METRIC_GAUGE,
                                                "Memory of the gpu or slice."};
    static const struct metric_family held = {
        "mete_gpu_held", METRIC_GAUGE,
        "1 for each held gpu or slice; labels on which several holders differ are absent."};
    static const struct metric_family part = {"mete_gpu_held_ratio", METRIC_GAUGE,
                                              "Part of the gpu or slice that is held."};

    exposition_family(x, &memory);
    for (size_t i = 0; i < e->rows.n; i++)
        if (is_leaf(e, i) && e->rows.at[i].memory_bytes >= 0)
            exposition_add(x, e->rows.at[i].mete, e->rows.at[i].memory_bytes, 0);
    exposition_family(x, &held);
    for (size_t i = 0; i < e->rows.n; i++)
        if (is_leaf(e, i) && e->rows.at[i].held)
            exposition_add(x, e->rows.at[i].held, 1, 0);
    exposition_family(x, &part);
    for (size_t i = 0; i < e->rows.n; i++) {
        const struct exported *d = &e->rows.at[i];

        if (is_leaf(e, i))
            exposition_add(x, d->mete,
                           d->is_slice && d->held ? 1000
                           : d->milli > 1000      ? 1000
                                                  : d->milli,
                           3);
    }
}

/* ---- gpus by state ---- */

enum gpu_state {
    STATE_FREE,
    STATE_PART, /* held in part */
    STATE_HELD,
    STATE_SICK,
    STATE_DRAINED, /* free, on a node that takes no pods */
    STATE_COUNT
};

static const char *const state_names[STATE_COUNT] = {"free", "part", "held", "sick", "drained"};

/* Gpus of one model on one node. */
struct model_count {
    const char *model;
    const char *node;
    int64_t n[STATE_COUNT];
    int64_t memory_bytes;
};

/* The state of the gpu in row `i`, which its slices follow. */
static enum gpu_state state_of(const struct exporter *e, size_t i)
{
    const struct exported *gpu = &e->rows.at[i];
    bool some_held = gpu->milli > 0;
    bool some_free = gpu->milli < 1000 && is_last_of_gpu(e, i);

    while (!is_last_of_gpu(e, i)) {
        i++;
        some_held = some_held || e->rows.at[i].held;
        some_free = some_free || !e->rows.at[i].held;
    }
    if (!gpu->is_healthy)
        return STATE_SICK;
    if (some_held)
        return some_free ? STATE_PART : STATE_HELD;
    return gpu->takes_pods ? STATE_FREE : STATE_DRAINED;
}

typedef VEC(struct model_count) model_counts;

/* Rows come node by node: only the end of the list can be of this node. */
static struct model_count *count_at(model_counts *counts, const struct exported *d)
{
    for (size_t i = counts->n; i > 0 && text_equal(counts->at[i - 1].node, d->node); i--) {
        if (text_equal(counts->at[i - 1].model, d->model))
            return &counts->at[i - 1];
    }
    vec_add(counts, (struct model_count){.model = d->model, .node = d->node});
    return &counts->at[counts->n - 1];
}

static void write_states(struct exposition *x, const model_counts *counts)
{
    static const struct metric_family gpus = {"mete_gpus", METRIC_GAUGE,
                                              "Gpus by state: free, part (held in part), held, "
                                              "sick, drained (free, but the node takes no pods)."};

    exposition_family(x, &gpus);
    VEC_EACH (counts, c) {
        for (size_t s = 0; s < STATE_COUNT; s++) {
            AUTO(buf_done) struct buf labels = {0};

            labels_add(&labels, "node", c->node);
            labels_add(&labels, "model", c->model);
            labels_add(&labels, "state", state_names[s]);
            exposition_add(x, labels.at, c->n[s], 0);
        }
    }
}

static void write_largest(struct exposition *x, const model_counts *counts)
{
    static const struct metric_family largest = {
        "mete_largest_free_set", METRIC_GAUGE,
        "Free whole gpus of one model on one node that takes pods."};

    exposition_family(x, &largest);
    VEC_EACH (counts, c) {
        AUTO(buf_done) struct buf labels = {0};

        labels_add(&labels, "node", c->node);
        labels_add(&labels, "model", c->model);
        exposition_add(x, labels.at, c->n[STATE_FREE], 0);
    }
}

void exporter_write_gpus(struct exporter *e, struct exposition *x)
{
    static const struct metric_family history = {"mete_history_bytes", METRIC_GAUGE,
                                                 "Memory of the history of gpus and pods."};
    static const struct metric_family history_max = {"mete_history_max_bytes", METRIC_GAUGE,
                                                     "Bound of mete_history_bytes."};
    model_counts counts = {0};

    write_readings(e, x);
    write_leaves(e, x);
    write_parts(e, x);
    for (size_t i = 0; i < e->rows.n; i++) {
        if (!e->rows.at[i].is_slice)
            count_at(&counts, &e->rows.at[i])->n[state_of(e, i)]++;
    }
    write_states(x, &counts);
    write_largest(x, &counts);
    vec_done(&counts);
    if (!e->meter)
        return;
    exposition_family(x, &history);
    exposition_add(x, "", (int64_t)meter_history_of(e->meter)->budget.used_bytes, 0);
    exposition_family(x, &history_max);
    exposition_add(x, "", (int64_t)meter_history_of(e->meter)->budget.max_bytes, 0);
}
