/*
 * dra_claim.h - a claim's devices of this driver: as its allocation says, and as a file on disk
 *
 * The allocation is in the claim's status, alike in all versions of resource.k8s.io:
 * https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-claim-v1/
 */
#pragma once

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"

/* A device that a claim has. Texts are owned; "" where there is none. */
struct dra_result {
    char *request; /* of the claim: "gpu"; an alternative "gpu/large" as "gpu" */
    char *pool;
    char *device;  /* its name in the pool: "gpu-0" */
    char *share;   /* of a device that several claims share; "": the device is the claim's own */
    char *uuid;    /* of the gpu or MIG instance; "": not looked up yet */
    bool is_admin; /* for monitoring: others may hold the device */
    bool is_tolerated; /* the claim asked for a device in any state */
};

struct dra_claim {
    struct map_handle handle; /* by uid */
    char *uid;
    char *ns;
    char *name;
    VEC(struct dra_result) results;
};

void dra_claim_free(struct dra_claim *c); /* accepts NULL */
static inline void dra_claim_freep(struct dra_claim **c)
{
    dra_claim_free(*c);
}

/*
 * Reads a claim of the API server. ERR_CONFLICT: it has no allocation; ERR_INVALID: its parameters
 * ask for what this driver does not do. Results of other drivers are left out.
 */
struct err *dra_claim_read(const json_t *object, struct dra_claim **ret) MUST_CHECK;

/* The claim on disk, and back. ERR_INVALID: malformed. */
json_t *dra_claim_format(const struct dra_claim *c);
struct err *dra_claim_parse(const json_t *j, struct dra_claim **ret) MUST_CHECK;
