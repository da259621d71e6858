/* gpu_offer.c - the gpus that a node offers, by its MIG strategy */

#include "node/gpu_offer.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

bool gpu_offer_is_slice(const char *uuid)
{
    return text_starts_with(uuid, "MIG-");
}

bool gpu_offer_is_single(const struct gpu *gpus, size_t n, const struct gpu_slice **ret)
{
    const struct gpu_slice *first = NULL;

    for (size_t i = 0; i < n; i++) {
        if (gpus[i].vendor != GPU_NVIDIA)
            continue;
        if (gpus[i].mode != GPU_MODE_SLICES || gpus[i].n_slices == 0)
            return false;
        for (size_t k = 0; k < gpus[i].n_slices; k++) {
            if (!first)
                first = &gpus[i].slices[k];
            if (!text_equal(first->profile, gpus[i].slices[k].profile))
                return false;
        }
    }
    if (ret)
        *ret = first;
    return first != NULL;
}

/* A slice as a gpu. */
static struct gpu slice_as_gpu(const struct gpu *g, const struct gpu_slice *s)
{
    struct gpu made = *g;

    made.n_slices = 0;
    made.mode = GPU_MODE_WHOLE;
    made.is_flexible = false;
    made.link_group = -1;
    made.n_links = -1;
    made.n_switch_links = -1;
    made.peers[0] = '\0';
    made.memory_bytes = s->memory_bytes;
    made.memory_reserved_bytes = 0;
    if (s->health > made.health) {
        made.health = s->health;
        memcpy(made.health_reason, s->health_reason, sizeof(made.health_reason));
    }
    (void)snprintf(made.uuid, sizeof(made.uuid), "%s", s->uuid);
    (void)snprintf(made.product, sizeof(made.product), "%.60s-MIG-%s", g->product, s->profile);
    (void)snprintf(made.model, sizeof(made.model), "%.50s-%s", g->model, s->profile);
    return made;
}

void gpu_offer_make(const struct gpu *gpus, size_t n, enum mig_strategy strategy,
                    gpu_offer_list *ret)
{
    bool is_single = strategy == MIG_STRATEGY_SINGLE && gpu_offer_is_single(gpus, n, NULL);
    bool is_hidden = strategy == MIG_STRATEGY_SINGLE || strategy == MIG_STRATEGY_NONE;

    for (size_t i = 0; i < n; i++) {
        struct gpu g = gpus[i];

        if (g.mode == GPU_MODE_SLICES && is_hidden)
            g.n_slices = 0;
        vec_add(ret, g);
        for (size_t k = 0; is_single && k < gpus[i].n_slices; k++)
            if (gpus[i].slices[k].uuid[0])
                vec_add(ret, slice_as_gpu(&gpus[i], &gpus[i].slices[k]));
    }
}
