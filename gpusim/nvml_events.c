/* nvml_events.c - event sets: XIDs of emulated gpus */

#include "library.h"

/* An event set: gives events since its registration. */
struct event_set {
    bool is_used;
    bool is_registered[GPUSIM_GPUS_MAX];
    uint64_t seen[GPUSIM_GPUS_MAX];
};

enum {
    EVENT_SETS_MAX = 16
};
static struct event_set event_sets[EVENT_SETS_MAX];

FUNCTION(nvmlDeviceGetSupportedEventTypes, nvmlDevice_t device, unsigned long long *out)
{
    ENTER(device, g);

    (void)g;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = NVML_EVENT_XID;
    return NVML_SUCCESS;
}

FUNCTION(nvmlEventSetCreate, nvmlEventSet_t *out)
{
    if (!library_references)
        return NVML_ERROR_UNINITIALIZED;
    for (unsigned i = 0; out && i < EVENT_SETS_MAX; i++) {
        if (event_sets[i].is_used)
            continue;
        event_sets[i] = (struct event_set){.is_used = true};
        *out = &event_sets[i];
        return NVML_SUCCESS;
    }
    return out ? NVML_ERROR_UNKNOWN : NVML_ERROR_INVALID_ARGUMENT;
}

static struct event_set *set_of(nvmlEventSet_t set)
{
    for (unsigned i = 0; i < EVENT_SETS_MAX; i++) {
        if (set == &event_sets[i] && event_sets[i].is_used)
            return &event_sets[i];
    }
    return NULL;
}

FUNCTION(nvmlEventSetFree, nvmlEventSet_t set)
{
    struct event_set *s = set_of(set);

    if (!s)
        return NVML_ERROR_INVALID_ARGUMENT;
    *s = (struct event_set){0};
    return NVML_SUCCESS;
}

FUNCTION(nvmlDeviceRegisterEvents, nvmlDevice_t device, unsigned long long types,
         nvmlEventSet_t set)
{
    struct event_set *s = set_of(set);
    ENTER(device, g);

    if (!s)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (types & ~NVML_EVENT_XID)
        return NVML_ERROR_NOT_SUPPORTED;
    for (unsigned i = 0; i < library_view.n; i++) {
        if (library_view.gpus[i] != g)
            continue;
        s->is_registered[i] = true;
        s->seen[i] = g->n_xids;
    }
    return NVML_SUCCESS;
}

static bool next_event(struct event_set *s, struct nvmlEventData *out)
{
    for (unsigned i = 0; i < library_view.n; i++) {
        const struct gpusim_gpu *g = library_view.gpus[i];
        uint64_t told;

        if (!s->is_registered[i] || s->seen[i] >= g->n_xids)
            continue;
        told = g->xids[s->seen[i] % GPUSIM_XIDS_MAX]; /* the instance + 1, and the code */
        *out = (struct nvmlEventData){.device = (nvmlDevice_t)(uintptr_t)g,
                                      .eventType = NVML_EVENT_XID,
                                      .eventData = told & UINT32_MAX,
                                      .gpuInstanceId = (uint32_t)(told >> 32) - 1,
                                      .computeInstanceId = UINT32_MAX};
        s->seen[i]++;
        return true;
    }
    return false;
}

/* Another process writes the map: check it every 10 ms until the timeout. */
FUNCTION(nvmlEventSetWait_v2, nvmlEventSet_t set, struct nvmlEventData *out, unsigned timeout_ms)
{
    struct event_set *s = set_of(set);
    unsigned waited_ms = 0;

    if (!s || !out)
        return NVML_ERROR_INVALID_ARGUMENT;
    while (!next_event(s, out)) {
        if (waited_ms >= timeout_ms)
            return NVML_ERROR_TIMEOUT;
        library_wait_ms(10);
        waited_ms += 10;
    }
    return NVML_SUCCESS;
}

FUNCTION(nvmlEventSetWait, nvmlEventSet_t set, struct nvmlEventData *out, unsigned timeout_ms)
{
    return nvmlEventSetWait_v2(set, out, timeout_ms);
}
