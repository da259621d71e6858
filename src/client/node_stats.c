/* node_stats.c - formatting and parsing of a node's samples */

#include "client/node_stats.h"

#include "base/mem.h"

enum stats_type {
    STATS_NODE = 1,
    STATS_GPU = 2,
    STATS_CONTAINER = 3,
    STATS_CONTAINER_GPU = 4,
    STATS_XIDS = 5
};

enum {
    RECORD_HEAD = 3,
    CONTAINER_NUMBERS = 12,
    CONTAINER_NUMBERS_MIN = 6, /* of older writers */
    RECORD_SIZE_MAX = 1024     /* of the records that we write */
};

void node_stats_done(struct node_stats *s)
{
    vec_done(&s->gpus);
    vec_done(&s->container_gpus);
    vec_done(&s->xids);
    vec_done(&s->containers);
    *s = (struct node_stats){0};
}

/* ---- out ---- */

static void stats_put(struct buf *b, uint64_t value, unsigned n_bytes)
{
    for (unsigned i = n_bytes; i > 0; i--)
        buf_add_char(b, (char)(unsigned char)(value >> (8 * (i - 1))));
}

static void stats_put_numbers(struct buf *b, const int64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        stats_put(b, (uint64_t)numbers[i], 8);
}

static void stats_put_text(struct buf *b, const char *text)
{
    size_t size = strnlen(text, UINT8_MAX);

    stats_put(b, size, 1);
    buf_add(b, text, size);
}

static void stats_put_record(struct buf *b, enum stats_type type, const struct buf *record)
{
    stats_put(b, (uint64_t)type, 1);
    stats_put(b, record->size, 2);
    buf_add(b, record->at, record->size);
}

static void stats_put_node(struct buf *b, const struct node_stats *s)
{
    const int64_t numbers[] = {s->at_ns, s->parts, s->load.cpu_nano, s->load.memory_bytes,
                               s->load.window_ns};
    AUTO(buf_done) struct buf record = {0};

    stats_put_numbers(&record, numbers, COUNT(numbers));
    stats_put_record(b, STATS_NODE, &record);
}

static void stats_put_gpu(struct buf *b, const struct gpu_sample *g)
{
    AUTO(buf_done) struct buf record = {0};

    stats_put_text(&record, g->uuid);
    stats_put_text(&record, g->parent);
    stats_put(&record, GPU_FIELD_COUNT, 1);
    stats_put_numbers(&record, g->value, GPU_FIELD_COUNT);
    stats_put_record(b, STATS_GPU, &record);
}

static void stats_put_container_gpu(struct buf *b, const struct container_gpu *c)
{
    const int64_t numbers[] = {c->attempt, c->memory_bytes, c->sm_milli, c->n_processes};
    AUTO(buf_done) struct buf record = {0};

    stats_put_text(&record, c->pod_uid);
    stats_put_text(&record, c->name);
    stats_put_text(&record, c->device);
    stats_put_numbers(&record, numbers, COUNT(numbers));
    stats_put_record(b, STATS_CONTAINER_GPU, &record);
}

static void stats_put_xids(struct buf *b, const struct gpu_xids *x)
{
    const int64_t numbers[] = {x->n, x->last};
    AUTO(buf_done) struct buf record = {0};

    stats_put_text(&record, x->uuid);
    stats_put_numbers(&record, numbers, COUNT(numbers));
    stats_put_record(b, STATS_XIDS, &record);
}

static void stats_put_container(struct buf *b, const struct container_sample *c)
{
    const struct account_usage *u = &c->usage;
    const int64_t numbers[CONTAINER_NUMBERS] = {
        c->attempt,     c->load.cpu_nano,      c->load.memory_bytes,     c->load.window_ns,
        u->cpu_ns,      u->memory_kib_seconds, u->memory_peak_bytes,     u->gpu_busy_ns,
        u->gpu_idle_ns, u->gpu_energy_mj,      u->gpu_memory_peak_bytes, c->gpu_idle_for_ns};
    AUTO(buf_done) struct buf record = {0};

    stats_put_text(&record, c->pod_uid);
    stats_put_text(&record, c->name);
    stats_put_numbers(&record, numbers, COUNT(numbers));
    stats_put_record(b, STATS_CONTAINER, &record);
}

void node_stats_format(struct buf *b, const struct node_stats *s)
{
    AUTO(buf_done) struct buf body = {0};

    stats_put(&body, STATS_VERSION, 1);
    stats_put_node(&body, s);
    VEC_EACH (&s->gpus, g) {
        if (body.size + RECORD_SIZE_MAX <= STATS_MAX)
            stats_put_gpu(&body, g);
    }
    VEC_EACH (&s->xids, x) {
        if (body.size + RECORD_SIZE_MAX <= STATS_MAX)
            stats_put_xids(&body, x);
    }
    VEC_EACH (&s->container_gpus, c) {
        if (body.size + RECORD_SIZE_MAX <= STATS_MAX)
            stats_put_container_gpu(&body, c);
    }
    VEC_EACH (&s->containers, c) {
        if (body.size + RECORD_SIZE_MAX <= STATS_MAX)
            stats_put_container(&body, c);
    }
    stats_put(b, body.size, STATS_HEAD_SIZE);
    buf_add(b, body.at, body.size);
}

/* ---- in ---- */

/* Takes a number of `n_bytes` from the front; false: too few bytes. */
static bool stats_take(struct str *rest, unsigned n_bytes, uint64_t *ret)
{
    uint64_t value = 0;

    if (rest->size < n_bytes)
        return false;
    for (unsigned i = 0; i < n_bytes; i++)
        value = value << 8 | (unsigned char)rest->at[i];
    *rest = (struct str){.at = rest->at + n_bytes, .size = rest->size - n_bytes};
    *ret = value;
    return true;
}

static bool stats_take_numbers(struct str *rest, int64_t *ret, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t value = 0;

        if (!stats_take(rest, 8, &value))
            return false;
        ret[i] = value > INT64_MAX ? -1 : (int64_t)value;
    }
    return true;
}

/* Takes a text of less than `size_max` bytes, which may be "". */
static bool stats_take_any(struct str *rest, char *ret, size_t size_max)
{
    uint64_t size = 0;

    if (!stats_take(rest, 1, &size) || size > rest->size || size >= size_max)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (rest->at[i] <= ' ' || rest->at[i] > '~')
            return false;
    }
    memcpy(ret, rest->at, size);
    ret[size] = '\0';
    *rest = (struct str){.at = rest->at + size, .size = rest->size - size};
    return true;
}

static bool stats_take_text(struct str *rest, char *ret, size_t size_max)
{
    return stats_take_any(rest, ret, size_max) && *ret;
}

static bool stats_take_node(struct str record, struct node_stats *s)
{
    int64_t n[5];

    if (!stats_take_numbers(&record, n, COUNT(n)) || n[0] <= 0 || n[1] < 0)
        return false;
    s->at_ns = n[0];
    s->parts = (unsigned)(n[1] & (STATS_LOADS | STATS_GPUS));
    s->load = (struct load_sample){.cpu_nano = n[2], .memory_bytes = n[3], .window_ns = n[4]};
    return true;
}

static bool stats_take_gpu(struct str record, struct node_stats *s)
{
    struct gpu_sample g = GPU_SAMPLE_UNKNOWN;
    uint64_t n = 0;

    g.at_ns = s->at_ns;
    if (!stats_take_text(&record, g.uuid, sizeof(g.uuid)) ||
        !stats_take_any(&record, g.parent, sizeof(g.parent)) || !stats_take(&record, 1, &n) ||
        !stats_take_numbers(&record, g.value, n < GPU_FIELD_COUNT ? n : GPU_FIELD_COUNT))
        return false;
    vec_add(&s->gpus, g);
    return true;
}

static bool stats_take_container_gpu(struct str record, struct node_stats *s)
{
    struct container_gpu c = {0};
    int64_t n[4];

    if (!stats_take_any(&record, c.pod_uid, sizeof(c.pod_uid)) ||
        !stats_take_any(&record, c.name, sizeof(c.name)) ||
        !stats_take_text(&record, c.device, sizeof(c.device)) ||
        !stats_take_numbers(&record, n, COUNT(n)) || !*c.pod_uid != !*c.name)
        return false;
    c.attempt = n[0];
    c.memory_bytes = n[1];
    c.sm_milli = n[2];
    c.n_processes = n[3];
    vec_add(&s->container_gpus, c);
    return true;
}

static bool stats_take_xids(struct str record, struct node_stats *s)
{
    struct gpu_xids x = {0};
    int64_t n[2];

    if (!stats_take_text(&record, x.uuid, sizeof(x.uuid)) || !stats_take_numbers(&record, n, 2) ||
        n[0] < 0)
        return false;
    x.n = n[0];
    x.last = n[1] > 0 ? n[1] : 0;
    vec_add(&s->xids, x);
    return true;
}

static bool stats_take_container(struct str record, struct node_stats *s)
{
    struct container_sample c = {0};
    int64_t n[CONTAINER_NUMBERS];
    size_t i = CONTAINER_NUMBERS_MIN;

    if (!stats_take_text(&record, c.pod_uid, sizeof(c.pod_uid)) ||
        !stats_take_text(&record, c.name, sizeof(c.name)) ||
        !stats_take_numbers(&record, n, CONTAINER_NUMBERS_MIN))
        return false;
    for (; i < CONTAINER_NUMBERS; i++)
        if (!stats_take_numbers(&record, &n[i], 1))
            n[i] = -1;
    c.attempt = n[0];
    c.load = (struct load_sample){.cpu_nano = n[1], .memory_bytes = n[2], .window_ns = n[3]};
    c.usage = (struct account_usage){.cpu_ns = n[4],
                                     .memory_kib_seconds = n[5],
                                     .memory_peak_bytes = n[6],
                                     .gpu_busy_ns = n[7],
                                     .gpu_idle_ns = n[8],
                                     .gpu_energy_mj = n[9],
                                     .gpu_memory_peak_bytes = n[10]};
    c.gpu_idle_for_ns = n[11];
    vec_add(&s->containers, c);
    return true;
}

/* Takes one record. False: the record is malformed. */
static bool stats_take_record(struct str *rest, struct node_stats *s)
{
    struct str record;
    uint64_t type = 0;
    uint64_t size = 0;

    if (!stats_take(rest, 1, &type) || !stats_take(rest, 2, &size) || size > rest->size)
        return false;
    record = (struct str){.at = rest->at, .size = (size_t)size};
    *rest = (struct str){.at = rest->at + size, .size = rest->size - (size_t)size};
    if ((type == STATS_NODE) != (s->at_ns == 0)) /* the node's record comes first, and once */
        return false;
    if (type == STATS_NODE)
        return stats_take_node(record, s);
    if (type == STATS_GPU)
        return stats_take_gpu(record, s);
    if (type == STATS_CONTAINER_GPU)
        return stats_take_container_gpu(record, s);
    if (type == STATS_XIDS)
        return stats_take_xids(record, s);
    return type != STATS_CONTAINER || stats_take_container(record, s);
}

struct err *node_stats_parse(struct str bytes, struct node_stats *ret, size_t *ret_size)
{
    struct node_stats s = {0};
    struct str rest = bytes;
    uint64_t size = 0;
    uint64_t version = 0;

    *ret_size = 0;
    if (!stats_take(&rest, STATS_HEAD_SIZE, &size))
        return NULL;
    if (size > STATS_MAX)
        return err_new(ERR_BAD_REQUEST, "samples of %llu bytes: at most %d are allowed",
                       (unsigned long long)size, (int)STATS_MAX);
    if (rest.size < size)
        return NULL;
    rest.size = (size_t)size;
    if (!stats_take(&rest, 1, &version) || version != STATS_VERSION)
        return err_new(ERR_BAD_REQUEST, "samples of version %u: want version %d", (unsigned)version,
                       (int)STATS_VERSION);
    while (rest.size > 0 || s.at_ns == 0) {
        if (stats_take_record(&rest, &s))
            continue;
        node_stats_done(&s);
        return err_new(ERR_BAD_REQUEST, "samples: malformed record");
    }
    *ret = s;
    *ret_size = STATS_HEAD_SIZE + (size_t)size;
    return NULL;
}
