/* advice.c - the smallest size of the cluster that would do for a job */

#include "meter/advice.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/stamp.h"
#include "base/str.h"

static const int64_t GIB = INT64_C(1) << 30;
static const int64_t BYTES_MAX = INT64_C(1) << 50; /* of a job's memory on gpus */

enum {
    SIZES_MAX = 512,
    COST_MAX_MILLI = 800,   /* of what the job holds */
    MODEL_USED_MILLI = 250, /* a busier job gets no other model, whose compute is not compared */
    SHARE_MAX_MILLI = 950
};

const char *advice_kind_text(enum advice_kind k)
{
    static const char *const texts[] = {"share", "slice", "fewer", "model"};

    return texts[k];
}

/* ---- sizes ---- */

void advice_sizes_done(struct advice_sizes *s)
{
    vec_done(&s->all);
}

static void sizes_put(struct advice_sizes *s, const struct advice_size *size)
{
    VEC_EACH (&s->all, known) {
        if (known->kind == size->kind && known->memory_bytes == size->memory_bytes &&
            text_equal(known->model, size->model) && text_equal(known->profile, size->profile)) {
            known->is_shareable = known->is_shareable || size->is_shareable;
            return;
        }
    }
    if (s->all.n < SIZES_MAX && size->memory_bytes > 0)
        vec_add(&s->all, *size);
}

/* Adds the profiles into which the scheduler may divide the gpu. */
static void sizes_add_flexible(struct advice_sizes *s, struct advice_size size)
{
    const struct mig_geometry *g = mig_geometry_of(size.model, size.memory_bytes);

    size.kind = DEVICE_SLICE;
    for (size_t i = 0; g && i < g->n_profiles; i++) {
        if (g->profiles[i].media != MIG_MEDIA_USUAL)
            continue;
        (void)snprintf(size.profile, sizeof(size.profile), "%s", g->profiles[i].name);
        size.memory_bytes = (int64_t)g->profiles[i].memory_mib << 20;
        sizes_put(s, &size);
    }
}

void advice_sizes_add(struct advice_sizes *s, const json_t *gpu)
{
    const char *model = json_text(gpu, "model");
    const char *mode = json_text(gpu, "mode");
    struct advice_size size = {.kind = DEVICE_WHOLE,
                               .memory_bytes = json_int(gpu, "memoryBytes", -1)};
    const json_t *slice;
    size_t i;

    if (!model || json_text(gpu, "vendor")) /* parts are for NVIDIA's alone */
        return;
    (void)snprintf(size.model, sizeof(size.model), "%s", model);
    if (json_bool(gpu, "flexible", false))
        sizes_add_flexible(s, size);
    json_array_foreach (json_object_get(gpu, "slices"), i, slice) {
        struct advice_size one = size;
        const char *profile = json_text(slice, "profile");

        one.kind = DEVICE_SLICE;
        one.memory_bytes = json_int(slice, "memoryBytes", -1);
        (void)snprintf(one.profile, sizeof(one.profile), "%s", profile ? profile : "");
        sizes_put(s, &one);
    }
    size.is_shareable = !mode || text_equal(mode, gpu_mode_text(GPU_MODE_WHOLE));
    if (size.is_shareable && !json_bool(gpu, "keepsMig", false))
        sizes_put(s, &size);
}

/* ---- candidates ---- */

struct advice_search {
    const struct advice_need *need;
    const struct prices *prices;
    int64_t memory_bytes; /* with its reserve */
    int64_t milli;        /* with its reserve */
    bool has_found;
    struct advice best;
};

/* Takes the candidate if it is cheaper than the best so far. */
static void search_offer(struct advice_search *s, const struct advice *a)
{
    if (a->cost_milli * 1000 > s->need->held_milli * COST_MAX_MILLI)
        return;
    if (s->has_found && a->cost_milli >= s->best.cost_milli)
        return;
    s->best = *a;
    s->has_found = true;
}

static void search_slice(struct advice_search *s, const struct advice_size *size)
{
    struct advice a = {.kind = ADVICE_SLICE, .cost_milli = mig_name_milli(size->profile)};

    if (s->need->n_gpus != 1 || size->memory_bytes < s->memory_bytes || a.cost_milli < s->milli)
        return;
    (void)snprintf(a.ask, sizeof(a.ask), "mig-%s", size->profile);
    search_offer(s, &a);
}

/* A share has compute in proportion to its memory. */
static void search_share(struct advice_search *s, const struct advice_size *size)
{
    int64_t bytes = (int64_t)((__int128)s->milli * size->memory_bytes / 1000);
    int64_t gib = ((bytes > s->memory_bytes ? bytes : s->memory_bytes) + GIB - 1) / GIB;
    struct advice a = {.kind = ADVICE_SHARE};

    if (s->need->n_gpus != 1 || !size->is_shareable)
        return;
    gib = gib < 1 ? 1 : gib;
    a.cost_milli = (int64_t)((__int128)gib * GIB * 1000 / size->memory_bytes) + 1;
    if (a.cost_milli > SHARE_MAX_MILLI)
        return;
    (void)snprintf(a.ask, sizeof(a.ask), "%" PRId64 "Gi", gib);
    search_offer(s, &a);
}

static void search_fewer(struct advice_search *s, const struct advice_size *size)
{
    int64_t by_memory = (s->memory_bytes + size->memory_bytes - 1) / size->memory_bytes;
    int64_t by_compute = (s->milli + 999) / 1000;
    int64_t n = by_memory > by_compute ? by_memory : by_compute;
    struct advice a = {.kind = ADVICE_FEWER};

    n = n < 1 ? 1 : n;
    if (s->need->kind != DEVICE_WHOLE || n >= s->need->n_gpus)
        return;
    a.cost_milli = n * 1000;
    (void)snprintf(a.ask, sizeof(a.ask), "%" PRId64, n);
    search_offer(s, &a);
}

static void search_model(struct advice_search *s, const struct advice_size *size)
{
    int64_t hour_ns = 3600 * NS_PER_SEC;
    int64_t own = s->prices ? prices_gpu(s->prices, s->need->model, hour_ns) : 0;
    struct advice a = {.kind = ADVICE_MODEL};

    if (own <= 0 || s->need->n_gpus != 1 || size->memory_bytes < s->memory_bytes ||
        s->need->used_milli > MODEL_USED_MILLI)
        return;
    a.cost_milli = (int64_t)((__int128)prices_gpu(s->prices, size->model, hour_ns) * 1000 / own);
    (void)snprintf(a.ask, sizeof(a.ask), "%s:1", size->model);
    search_offer(s, &a);
}

bool advice_find(const struct advice_sizes *sizes, const struct advice_need *need,
                 const struct prices *p, struct advice *ret)
{
    struct advice_search s = {.need = need,
                              .prices = p,
                              .memory_bytes = need->memory_bytes + need->memory_bytes / 10,
                              .milli = need->used_milli + need->used_milli / 4};

    if (need->memory_bytes > BYTES_MAX)
        return false;
    /* Slices come first: among equals the hardware's wall is better. */
    VEC_EACH (&sizes->all, size) {
        if (size->kind == DEVICE_SLICE && text_equal(size->model, need->model))
            search_slice(&s, size);
    }
    VEC_EACH (&sizes->all, size) {
        if (size->kind != DEVICE_WHOLE)
            continue;
        if (!text_equal(size->model, need->model)) {
            search_model(&s, size);
            continue;
        }
        search_share(&s, size);
        search_fewer(&s, size);
    }
    if (s.has_found)
        *ret = s.best;
    return s.has_found;
}
