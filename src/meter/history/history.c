/* history.c - what gpus and pods used over time, in memory */

#include "meter/history/history.h"

#include "model/gpu_field.h"

enum {
    HOUR_S = 3600,
    DAY_S = 86400,
    ENDED_S = 60, /* a pod without samples for this long has ended, or its node is away */
    ASK_AGAIN_S = 5,
    UNKNOWN_MAX = 1024,
    POD_ROWS = 720,
    KIB = 1024,
    MICRO = 1000000
};

const char *const use_history_device_fields[HISTORY_DEVICE_FIELDS] = {
    "utilizationPct", "smActiveMilli", "tensorActiveMilli",
    "memoryUsedKib",  "temperatureC",  "powerMilliwatts"};

static const enum gpu_field device_sources[HISTORY_DEVICE_FIELDS] = {
    GPU_FIELD_UTILIZATION_PCT,   GPU_FIELD_SM_ACTIVE_MILLI, GPU_FIELD_TENSOR_ACTIVE_MILLI,
    GPU_FIELD_MEMORY_USED_BYTES, GPU_FIELD_TEMPERATURE_C,   GPU_FIELD_POWER_MW};

enum pod_field {
    POD_GPU_MILLI,
    POD_GPU_MEMORY,
    POD_GPU_POWER,
    POD_CPU_MILLI,
    POD_MEMORY
};

const char *const use_history_pod_fields[HISTORY_POD_FIELDS] = {
    "gpuMilli", "gpuMemoryKib", "gpuPowerMilliwatts", "cpuMilli", "memoryKib"};

/* ---- room ---- */

static void device_free(struct use_history *h, struct device_history *d)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_remove(handle, h->devices, d);
    for (size_t i = 0; i < HISTORY_DEVICE_BANDS; i++)
        band_done(&d->bands[i], &h->budget);
    h->budget.used_bytes -= sizeof(*d);
    free(d->uuid);
    free(d);
}

static void pod_free(struct use_history *h, struct pod_history *p)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_remove(handle, h->pods, p);
    band_done(&p->band, &h->budget);
    h->budget.used_bytes -= sizeof(*p);
    free(p->uid);
    free(p->ns);
    free(p->name);
    free(p);
}

static void forget_unknown(struct use_history *h)
{
    VEC_EACH (&h->unknown, uid)
        free(*uid);
    vec_clear(&h->unknown);
}

void use_history_done(struct use_history *h)
{
    struct device_history *d;
    struct device_history *next_d;
    struct pod_history *p;
    struct pod_history *next_p;

    map_each (handle, h->devices, d, next_d)
        device_free(h, d);
    map_each (handle, h->pods, p, next_p)
        pod_free(h, p);
    forget_unknown(h);
    vec_done(&h->unknown);
}

/* Frees the pod that ended first, else the gpu that went first. False: all are live. */
static bool use_history_drop_oldest(struct use_history *h, int64_t now_s)
{
    struct pod_history *p;
    struct pod_history *next_p;
    struct pod_history *oldest_p = NULL;
    struct device_history *d;
    struct device_history *next_d;
    struct device_history *oldest_d = NULL;

    map_each (handle, h->pods, p, next_p) {
        if (!oldest_p || p->last_s < oldest_p->last_s)
            oldest_p = p;
    }
    if (oldest_p && now_s - oldest_p->last_s > ENDED_S) {
        pod_free(h, oldest_p);
        return true;
    }
    map_each (handle, h->devices, d, next_d) {
        if (!oldest_d || d->last_s < oldest_d->last_s)
            oldest_d = d;
    }
    if (!oldest_d || now_s - oldest_d->last_s <= ENDED_S)
        return false;
    device_free(h, oldest_d);
    return true;
}

/* Keeps a sixteenth free, so that live rows can grow until the next sample. */
static void use_history_make_room(struct use_history *h, int64_t now_s)
{
    while (h->budget.used_bytes > h->budget.max_bytes - h->budget.max_bytes / 16) {
        if (!use_history_drop_oldest(h, now_s))
            return;
    }
}

/* ---- gpus ---- */

static struct device_history *device_of(struct use_history *h, const char *uuid, int64_t now_s)
{
    static const struct band bands[HISTORY_DEVICE_BANDS] = {
        {.step_s = 1, .rows_max = HOUR_S},
        {.step_s = 60, .rows_max = DAY_S / 60},
        {.step_s = 900, .rows_max = 31 * DAY_S / 900}};
    struct device_history *d = NULL;

    map_find_text(handle, h->devices, uuid, d);
    if (d)
        return d;
    d = mem_alloc(sizeof(*d));
    d->first_s = now_s;
    d->uuid = mem_strdup(uuid);
    d->xid = -1;
    d->xids = -1;
    d->pcie_bytes_s[0] = -1;
    d->pcie_bytes_s[1] = -1;
    for (size_t i = 0; i < HISTORY_DEVICE_BANDS; i++) {
        d->bands[i] = bands[i];
        d->bands[i].n_fields = HISTORY_DEVICE_FIELDS;
    }
    h->budget.used_bytes += sizeof(*d);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_add(handle, h->devices, d->uuid, strlen(d->uuid), d);
    return d;
}

/* A counter that went back, or samples of the same time, give no rate. */
static void device_take_rates(struct device_history *d, const struct gpu_sample *g)
{
    static const enum gpu_field fields[2] = {GPU_FIELD_PCIE_SENT_BYTES,
                                             GPU_FIELD_PCIE_RECEIVED_BYTES};
    int64_t past_ms = (g->at_ns - d->counted_ns) / 1000000;

    for (size_t i = 0; i < 2; i++) {
        int64_t now = g->value[fields[i]];
        int64_t more = now - d->pcie_bytes[i];

        if (past_ms > 0)
            d->pcie_bytes_s[i] = d->counted_ns > 0 && now >= 0 && d->pcie_bytes[i] >= 0 &&
                                         more >= 0 && more < INT64_MAX / 1000
                                     ? more * 1000 / past_ms
                                     : -1;
        d->pcie_bytes[i] = now;
    }
    d->counted_ns = g->at_ns;
}

static void use_history_take_gpu(struct use_history *h, const struct gpu_sample *g, int64_t now_s)
{
    struct device_history *d = device_of(h, g->uuid, now_s);
    int64_t values[HISTORY_DEVICE_FIELDS];

    for (size_t f = 0; f < HISTORY_DEVICE_FIELDS; f++) {
        values[f] = g->value[device_sources[f]];
        if (device_sources[f] == GPU_FIELD_MEMORY_USED_BYTES && values[f] >= 0)
            values[f] /= KIB;
    }
    for (size_t i = 0; i < HISTORY_DEVICE_BANDS; i++)
        band_add(&d->bands[i], &h->budget, now_s, values);
    device_take_rates(d, g);
    d->last_s = now_s;
}

/* ---- pods ---- */

static bool is_known_unknown(struct use_history *h, const char *uid, int64_t now_s)
{
    if (now_s >= h->ask_again_s || h->unknown.n >= UNKNOWN_MAX) {
        forget_unknown(h);
        h->ask_again_s = now_s + ASK_AGAIN_S;
    }
    VEC_EACH (&h->unknown, known) {
        if (text_equal(*known, uid))
            return true;
    }
    return false;
}

/* NULL: nobody knows the pod. */
static struct pod_history *pod_of(struct use_history *h, const char *uid, int64_t now_s)
{
    struct pod_history *p = NULL;
    char *ns = NULL;
    char *name = NULL;

    map_find_text(handle, h->pods, uid, p);
    if (p || !*uid || is_known_unknown(h, uid, now_s))
        return p;
    if (!h->find_pod(h->arg, uid, &ns, &name)) {
        vec_add(&h->unknown, mem_strdup(uid));
        return NULL;
    }
    p = mem_alloc(sizeof(*p));
    p->uid = mem_strdup(uid);
    p->ns = ns;
    p->name = name;
    p->band = (struct band){
        .step_s = 1, .rows_max = POD_ROWS, .n_fields = HISTORY_POD_FIELDS, .thins = true};
    h->budget.used_bytes += sizeof(*p);
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_add(handle, h->pods, p->uid, strlen(p->uid), p);
    return p;
}

/* Values of a pod in one message; a field that no container tells is -1. */
struct pod_sum {
    const char *uid;
    int64_t values[HISTORY_POD_FIELDS];
};

typedef VEC(struct pod_sum) pod_sums;

static struct pod_sum *sum_of(pod_sums *sums, const char *uid)
{
    VEC_EACH (sums, s) {
        if (text_equal(s->uid, uid))
            return s;
    }
    vec_add(sums, (struct pod_sum){.uid = uid, .values = {-1, -1, -1, -1, -1}});
    return &sums->at[sums->n - 1];
}

static void sum_add(pod_sums *sums, const char *uid, enum pod_field field, int64_t value)
{
    struct pod_sum *of = NULL;

    if (value < 0)
        return;
    of = sum_of(sums, uid);
    of->values[field] = (of->values[field] < 0 ? 0 : of->values[field]) + value;
}

/*
 * The power of a container on a device: the device's, divided by the busy time of all that use it,
 * or equally while none is busy. -1: unknown.
 */
static int64_t power_of(const struct node_stats *s, const struct container_gpu *c)
{
    int64_t power = -1;
    int64_t busy = 0;
    int64_t users = 0;

    for (size_t i = 0; i < s->gpus.n; i++) {
        if (text_equal(s->gpus.at[i].uuid, c->device))
            power = s->gpus.at[i].value[GPU_FIELD_POWER_MW];
    }
    for (size_t i = 0; i < s->container_gpus.n; i++) {
        if (!text_equal(s->container_gpus.at[i].device, c->device))
            continue;
        busy += s->container_gpus.at[i].sm_milli > 0 ? s->container_gpus.at[i].sm_milli : 0;
        users++;
    }
    if (power < 0 || users == 0)
        return -1;
    return busy > 0 && c->sm_milli >= 0 ? power * c->sm_milli / busy : power / users;
}

static void use_history_sum(const struct node_stats *s, pod_sums *sums)
{
    for (size_t i = 0; i < s->container_gpus.n; i++) {
        const struct container_gpu *c = &s->container_gpus.at[i];

        sum_add(sums, c->pod_uid, POD_GPU_MILLI, c->sm_milli);
        sum_add(sums, c->pod_uid, POD_GPU_MEMORY, c->memory_bytes < 0 ? -1 : c->memory_bytes / KIB);
        sum_add(sums, c->pod_uid, POD_GPU_POWER, power_of(s, c));
    }
    for (size_t i = 0; i < s->containers.n; i++) {
        const struct container_sample *c = &s->containers.at[i];

        sum_add(sums, c->pod_uid, POD_CPU_MILLI,
                c->load.cpu_nano < 0 ? -1 : c->load.cpu_nano / MICRO);
        sum_add(sums, c->pod_uid, POD_MEMORY,
                c->load.memory_bytes < 0 ? -1 : c->load.memory_bytes / KIB);
    }
}

void use_history_take(struct use_history *h, const struct node_stats *s, int64_t now_s)
{
    pod_sums sums = {0};

    use_history_make_room(h, now_s);
    for (size_t i = 0; i < s->gpus.n; i++)
        use_history_take_gpu(h, &s->gpus.at[i], now_s);
    VEC_EACH (&s->xids, x) {
        struct device_history *d = device_of(h, x->uuid, now_s);

        d->xids = x->n;
        d->xid = x->last;
    }
    use_history_sum(s, &sums);
    VEC_EACH (&sums, sum) {
        struct pod_history *p = pod_of(h, sum->uid, now_s);

        if (!p)
            continue;
        band_add(&p->band, &h->budget, now_s, sum->values);
        p->last_s = now_s;
    }
    vec_done(&sums);
}

/* ---- reading ---- */

const struct device_history *use_history_device(const struct use_history *h, const char *uuid)
{
    struct device_history *d = NULL;

    map_find_text(handle, h->devices, uuid, d);
    return d;
}

const struct pod_history *use_history_pod(const struct use_history *h, const char *uid)
{
    struct pod_history *p = NULL;

    map_find_text(handle, h->pods, uid, p);
    return p;
}

const struct pod_history *use_history_pod_named(const struct use_history *h, const char *ns,
                                                const char *name)
{
    const struct pod_history *found = NULL;
    struct pod_history *p;
    struct pod_history *next;

    map_each (handle, h->pods, p, next) {
        if (text_equal(p->ns, ns) && text_equal(p->name, name) &&
            (!found || p->last_s > found->last_s))
            found = p;
    }
    return found;
}

const struct band *use_history_band(const struct device_history *d, int64_t from_s)
{
    size_t i = 0;

    if (from_s < d->first_s)
        from_s = d->first_s;
    while (i + 1 < HISTORY_DEVICE_BANDS && band_row(&d->bands[i], 0).at_s > from_s)
        i++;
    return &d->bands[i];
}

/* The rows of one step, added up. */
struct row_sum {
    int64_t at_s;
    int64_t sums[BAND_FIELDS_MAX];
    int64_t counts[BAND_FIELDS_MAX];
    bool has_rows;
};

static void row_flush(const struct band *b, struct row_sum *sum, json_t *rows)
{
    json_t *row;

    if (sum->has_rows && json_array_size(rows) < HISTORY_ROWS_MAX) {
        row = json_array();
        (void)json_array_append_new(row, json_integer(sum->at_s)); /* fresh: cannot fail */
        for (size_t f = 0; f < b->n_fields; f++)
            (void)json_array_append_new(row, sum->counts[f] > 0
                                                 ? json_integer(sum->sums[f] / sum->counts[f])
                                                 : json_null());
        (void)json_array_append_new(rows, row);
    }
    *sum = (struct row_sum){0};
}

json_t *use_history_rows(const struct band *b, struct use_history_span span)
{
    json_t *rows = json_array();
    struct row_sum sum = {0};

    for (uint32_t i = 0; i < band_count(b); i++) {
        struct band_row row = band_row(b, i);
        int64_t at_s = row.at_s - row.at_s % span.step_s;

        if (row.at_s < span.from_s || row.at_s >= span.to_s)
            continue;
        if (sum.has_rows && at_s != sum.at_s)
            row_flush(b, &sum, rows);
        sum.at_s = at_s;
        sum.has_rows = true;
        for (size_t f = 0; f < b->n_fields; f++) {
            if (row.value[f] == BAND_UNKNOWN)
                continue;
            sum.sums[f] += row.value[f];
            sum.counts[f]++;
        }
    }
    row_flush(b, &sum, rows);
    return rows;
}
