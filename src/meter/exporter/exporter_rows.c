/* exporter_rows.c - the gpus and slices of a page, with their labels */

#include "client/node_stats.h"
#include "meter/exporter/exporter_private.h"

int64_t exported_value(const struct exported *d, enum gpu_field f)
{
    return d->sample ? d->sample->value[f] : GPU_VALUE_UNKNOWN;
}

bool exported_is_split(const struct exporter *e, size_t i, enum gpu_field f)
{
    if (e->rows.at[i].is_slice)
        return false;
    while (++i < e->rows.n && e->rows.at[i].is_slice) {
        if (exported_value(&e->rows.at[i], f) != GPU_VALUE_UNKNOWN)
            return true;
    }
    return false;
}

/* Moves the labels into the arena. */
static const char *labels_keep(const struct exporter *e, struct buf *labels)
{
    return arena_strndup(e->arena, labels->size > 0 ? labels->at : "", labels->size);
}

static bool is_of_slice(const struct device *d, const struct gpu_slice *s)
{
    return d->kind == DEVICE_SLICE && d->start == s->start && text_equal(d->profile, s->profile);
}

/*
 * The common members of the holders of a device; members on which holders differ are "". The
 * holders of a gpu without those of its slices, if `slice` is NULL, else of this slice. False: the
 * device is free.
 */
static bool holder_of(const struct device_row *row, const struct gpu_slice *slice,
                      struct device_holder *ret, int64_t *ret_milli)
{
    bool is_held = false;

    *ret_milli = 0;
    for (size_t i = 0; i < row->n_holders; i++) {
        const struct device_holder *h = &row->holders[i];

        if (slice ? !is_of_slice(h->device, slice) : h->device->kind == DEVICE_SLICE)
            continue;
        *ret_milli += device_milli(h->device);
        if (!is_held)
            *ret = *h;
        is_held = true;
        if (!text_equal(ret->ns, h->ns) || !text_equal(ret->pod, h->pod)) {
            ret->pod = "";
            ret->container = "";
            ret->job_id = 0;
        }
        if (!text_equal(ret->ns, h->ns))
            ret->ns = "";
        if (!text_equal(ret->container, h->container))
            ret->container = "";
        if (!text_equal(ret->user, h->user))
            ret->user = "";
        if (!text_equal(ret->queue, h->queue))
            ret->queue = "";
    }
    return is_held;
}

static const char *dcgm_labels(const struct exporter *e, const struct device_row *row,
                               const struct gpu_slice *slice, const struct device_holder *holder)
{
    const struct gpu *g = row->gpu;
    AUTO(buf_done) struct buf b = {0};

    labels_add(&b, "gpu", arena_format(e->arena, "%d", g->index));
    labels_add(&b, "UUID", g->uuid);
    labels_add(&b, "pci_bus_id", g->pci);
    if (g->minor >= 0)
        labels_add(&b, "device", arena_format(e->arena, "nvidia%d", g->minor));
    labels_add(&b, "modelName", g->product);
    if (slice) {
        labels_add(&b, "GPU_I_PROFILE", slice->profile);
        if (slice->gpu_instance >= 0)
            labels_add(&b, "GPU_I_ID", arena_format(e->arena, "%d", slice->gpu_instance));
    }
    labels_add(&b, "Hostname", row->node);
    labels_add(&b, "DCGM_FI_DRIVER_VERSION", row->driver);
    if (holder) {
        labels_add(&b, "container", holder->container);
        labels_add(&b, "namespace", holder->ns);
        labels_add(&b, "pod", holder->pod);
    }
    return labels_keep(e, &b);
}

static void add_mete_labels(const struct exporter *e, struct buf *b, const struct device_row *row,
                            const struct gpu_slice *slice)
{
    labels_add(b, "node", row->node);
    labels_add(b, "gpu", arena_format(e->arena, "%d", row->gpu->index));
    labels_add(b, "uuid", slice && *slice->uuid ? slice->uuid : row->gpu->uuid);
    labels_add(b, "model", row->gpu->model);
    if (slice)
        labels_add(b, "profile", arena_format(e->arena, "%s@%u", slice->profile, slice->start));
}

static const char *mete_labels(const struct exporter *e, const struct device_row *row,
                               const struct gpu_slice *slice, const struct device_holder *holder)
{
    AUTO(buf_done) struct buf b = {0};

    add_mete_labels(e, &b, row, slice);
    if (!holder)
        return labels_keep(e, &b);
    labels_add(&b, "namespace", holder->ns);
    labels_add(&b, "pod", holder->pod);
    labels_add(&b, "queue", holder->queue);
    if (!e->question->drops_users)
        labels_add(&b, "user", holder->user);
    if (holder->job_id > 0)
        labels_add(&b, "job", arena_format(e->arena, "%lld", (long long)holder->job_id));
    return labels_keep(e, &b);
}

/* The fresh sample of a device; NULL: none. The last sample of a gpu that does not answer is not
 * repeated. */
static const struct gpu_sample *row_sample(const struct exporter *e, const struct device_row *row,
                                           const char *uuid)
{
    int64_t at_ns = 0;

    if (!*uuid || row->gpu->health == GPU_NOT_ANSWERING || row->gpu->health == GPU_LOST)
        return NULL;
    if (!e->meter)
        return e->sample(e->sample_arg, uuid);
    return meter_gpu_sample(e->meter, row->node, uuid, &at_ns);
}

static void add_device(struct exporter *e, const struct device_row *row,
                       const struct gpu_slice *slice)
{
    const char *uuid = slice ? slice->uuid : row->gpu->uuid;
    struct device_holder holder = {0};
    int64_t milli = 0;
    bool is_held = holder_of(row, slice, &holder, &milli);
    const struct device_history *h =
        e->meter ? use_history_device(meter_history_of(e->meter), uuid) : NULL;

    vec_add(&e->rows,
            (struct exported){
                .sample = row_sample(e, row, uuid),
                .pcie_bytes_s = {h ? h->pcie_bytes_s[0] : -1, h ? h->pcie_bytes_s[1] : -1},
                .is_slice = slice != NULL,
                .dcgm = dcgm_labels(e, row, slice, is_held ? &holder : NULL),
                .mete = mete_labels(e, row, slice, NULL),
                .history = h,
                .held = is_held ? mete_labels(e, row, slice, &holder) : NULL,
                .model = row->gpu->model,
                .node = row->node,
                .memory_bytes = slice ? slice->memory_bytes : row->gpu->memory_bytes,
                .is_healthy = row->gpu->health == GPU_HEALTHY,
                .takes_pods = row->takes_pods,
                .milli = milli,
            });
}

/* The holder of the row that the pod of a container is; NULL: none. */
static const struct device_holder *holder_named(const struct device_row *row, const char *ns,
                                                const char *pod)
{
    for (size_t i = 0; i < row->n_holders; i++) {
        if (text_equal(row->holders[i].ns, ns) && text_equal(row->holders[i].pod, pod))
            return &row->holders[i];
    }
    return NULL;
}

/* Processes of no container have no pod. */
static const char *part_labels(const struct exporter *e, const struct device_row *row,
                               const struct gpu_slice *slice, const struct container_gpu *c)
{
    const struct pod_history *p = use_history_pod(meter_history_of(e->meter), c->pod_uid);
    const struct device_holder *h = p ? holder_named(row, p->ns, p->name) : NULL;
    AUTO(buf_done) struct buf b = {0};

    add_mete_labels(e, &b, row, slice);
    labels_add(&b, "namespace", p ? p->ns : NULL);
    labels_add(&b, "pod", p ? p->name : c->pod_uid);
    labels_add(&b, "container", c->name);
    labels_add(&b, "queue", h ? h->queue : NULL);
    if (!e->question->drops_users)
        labels_add(&b, "user", h ? h->user : NULL);
    if (h && h->job_id > 0)
        labels_add(&b, "job", arena_format(e->arena, "%lld", (long long)h->job_id));
    return labels_keep(e, &b);
}

/* Two attempts of a container are one series. */
static void add_part(struct exporter *e, const char *labels, const struct container_gpu *c)
{
    const int64_t values[3] = {c->sm_milli, c->memory_bytes, c->n_processes};
    size_t row = e->rows.n - 1;

    VEC_EACH (&e->parts, part) {
        if (part->row != row || !text_equal(part->labels, labels))
            continue;
        for (size_t i = 0; i < 3; i++)
            part->values[i] += values[i] > 0 ? values[i] : 0;
        return;
    }
    vec_add(&e->parts, (struct exported_part){.labels = labels,
                                              .row = row,
                                              .values = {values[0], values[1], values[2]}});
}

static void add_parts(struct exporter *e, const struct device_row *row,
                      const struct gpu_slice *slice)
{
    const char *uuid = slice ? slice->uuid : row->gpu->uuid;
    const struct container_gpu *c;

    for (size_t i = 0; e->meter && *uuid && (c = meter_container_gpu(e->meter, row->node, uuid, i));
         i++)
        add_part(e, part_labels(e, row, slice, c), c);
}

static void on_device(void *arg, const struct device_row *row)
{
    struct exporter *e = arg;

    add_device(e, row, NULL);
    add_parts(e, row, NULL);
    for (size_t i = 0; row->gpu->mode == GPU_MODE_SLICES && i < row->gpu->n_slices; i++) {
        add_device(e, row, &row->gpu->slices[i]);
        add_parts(e, row, &row->gpu->slices[i]);
    }
}

void exporter_collect(struct exporter *e)
{
    vec_clear(&e->rows);
    vec_clear(&e->parts);
    if (e->devices.each)
        e->devices.each(e->devices.arg, on_device, e);
}
