/* claim_fields.h - parts of claims and classes that the kinds and the allocation of claims read */
#pragma once

#include "kinds/kind/cause.h"

#define CLAIM_DRIVER "gpu.nvidia.com" /* the driver of all devices */

enum {
    CLAIM_DEVICES_MAX = 32 /* devices that a claim's request may get */
};

/* The way in which a claim's gpus are shared, by its opaque parameters. */
struct claim_sharing {
    bool is_replica; /* GpuConfig with the strategy TimeSlicing */
    uint32_t milli;  /* Share: compute, 1 .. 999; 0: by the memory */
    int64_t bytes;   /* Share: memory, whole MiB; 0: by the compute */
};

/*
 * Reads opaque parameters:
 *
 *   {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing}}
 *   {apiVersion: mete.dev/v1, kind: Share, compute: 0.5, memory: 20Gi}
 *
 * ERR_INVALID: other parameters, by their names. A GpuConfig without `sharing` changes nothing.
 */
struct err *claim_read_sharing(const json_t *parameters, struct claim_sharing *ret) MUST_CHECK;

/* Adds causes for CEL expressions that do not parse. */
void claim_validate_selectors(const json_t *list, const struct path *at, struct causes *causes);
