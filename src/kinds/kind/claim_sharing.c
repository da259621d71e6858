/* claim_sharing.c - opaque parameters of claims: shared gpus */

#include <stdio.h>

#include "base/mem.h"
#include "kinds/kind/claim_fields.h"
#include "model/gpu_ask.h"

/* ERR_INVALID for the first member that is not in `known` (NULL ends the list). */
static struct err *check_members(const json_t *object, const char *const *known)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        bool is_known = false;

        for (size_t i = 0; known[i]; i++)
            is_known = is_known || text_equal(known[i], key);
        if (!is_known)
            return err_new(ERR_INVALID, "%s: not implemented yet", key);
    }
    return NULL;
}

static struct err *read_gpu_config(const json_t *parameters, struct claim_sharing *ret)
{
    static const char *const known[] = {"apiVersion", "kind", "sharing", NULL};
    static const char *const known_sharing[] = {"strategy", "timeSlicingConfig", NULL};
    static const char *const known_slicing[] = {"interval", NULL};
    const json_t *sharing = json_object_get(parameters, "sharing");
    const json_t *slicing = json_object_get(sharing, "timeSlicingConfig");
    const char *strategy = json_text(sharing, "strategy");
    const char *interval = json_text(slicing, "interval");

    TRY(check_members(parameters, known));
    if (!sharing)
        return NULL;
    if (!text_equal(strategy, "TimeSlicing"))
        return err_new(ERR_INVALID, "sharing.strategy %s: not implemented yet: want TimeSlicing",
                       strategy ? strategy : "");
    TRY(check_members(sharing, known_sharing));
    TRY(check_members(slicing, known_slicing));
    if (interval && !text_equal(interval, "Default"))
        return err_new(ERR_INVALID,
                       "sharing.timeSlicingConfig.interval %s: not implemented yet: want Default",
                       interval);
    ret->is_replica = true;
    return NULL;
}

/* The number or text as a text: 0.5, "0.5". */
static char *compute_text(const json_t *value)
{
    if (json_is_real(value))
        return mem_format("%.3g", json_real_value(value));
    return mem_strdup(json_is_string(value) ? json_string_value(value) : "?");
}

static struct err *read_share(const json_t *parameters, struct claim_sharing *ret)
{
    static const char *const known[] = {"apiVersion", "kind", "compute", "memory", NULL};
    const json_t *compute = json_object_get(parameters, "compute");
    const char *memory = json_text(parameters, "memory");
    AUTO_FREE char *part = compute ? compute_text(compute) : NULL;
    AUTO_FREE char *text =
        mem_format("%s%s%s", part ? part : "", part && memory ? "," : "", memory ? memory : "");
    struct gpu_ask ask = {0};

    TRY(check_members(parameters, known));
    if (!part && !memory)
        return err_new(ERR_INVALID, "want compute, memory or both");
    TRY(gpu_ask_parse(text, &ask));
    if (ask.kind != DEVICE_SHARE || ask.count != 1)
        return err_new(ERR_INVALID, "%s: want a part of a gpu, compute: 0.5, memory: 20Gi", text);
    ret->milli = ask.milli;
    ret->bytes = ask.bytes;
    return NULL;
}

struct err *claim_read_sharing(const json_t *parameters, struct claim_sharing *ret)
{
    const char *version = json_text(parameters, "apiVersion");
    const char *kind = json_text(parameters, "kind");

    if (version && text_starts_with(version, "resource.nvidia.com/") &&
        text_equal(kind, "GpuConfig"))
        return read_gpu_config(parameters, ret);
    if (text_equal(version, "mete.dev/v1") && text_equal(kind, "Share"))
        return read_share(parameters, ret);
    return err_new(ERR_INVALID,
                   "%s %s: not implemented yet: want GpuConfig of resource.nvidia.com/v1beta1 or "
                   "Share of mete.dev/v1",
                   version ? version : "no apiVersion", kind ? kind : "without a kind");
}
