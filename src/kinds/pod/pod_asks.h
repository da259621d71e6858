/*
 * pod_asks.h - the resources and devices that a pod asks for
 *
 * The only reader of the resources of gpus and of the annotations about them:
 *
 *   nvidia.com/gpu: N          whole gpus, or replicas where gpus are offered so under this name
 *   nvidia.com/gpu.shared: N   replicas
 *   nvidia.com/mig-PROFILE: N  slices; "." stands for "+" in the name of the profile
 *   nvidia.com/gpumem: MIB     with nvidia.com/gpu: N (default 1): N capped shares with so much
 *   nvidia.com/gpucores: PCT   memory and compute each, as HAMi has them
 *   amd.com/gpu: N             whole gpus of AMD; gpu.intel.com/i915, gpu.intel.com/xe: of Intel. A
 *                              pod asks for gpus of one vendor
 *   annotation gpu-fraction: "0.5"      a capped share for the pod's first container, as KAI has
 *   annotation gpu-memory: "20480"      it: a part of a gpu, or memory in MiB;
 *   annotation gpu-fraction-num-devices: "2", and gpu-fraction-container-name: NAME
 *   annotation mete.dev/claims          the devices of claims (pod_claims.h)
 *
 * Amounts past int64 saturate. Absent and malformed requests count as 0: validation refuses such
 * objects.
 */
#pragma once

#include "base/json.h"
#include "kinds/kind/cause.h"
#include "model/gpu_ask.h"

enum {
    POD_OTHERS_MAX = 16,
    POD_GPU_ASKS_MAX = 16
};

/* Kinds of devices, each once. A value. */
struct gpu_asks {
    struct gpu_ask at[POD_GPU_ASKS_MAX];
    size_t n;
    bool has_more; /* there are more than POD_GPU_ASKS_MAX kinds */
};

/* A request for another resource, in whole units. */
struct pod_other {
    const char *name; /* borrowed from the pod */
    int64_t amount;
};

/* The larger of the containers' sum and the largest init container. A limit counts if the request
 * is absent. */
struct pod_asks {
    int64_t cpu_milli;
    int64_t memory_bytes;
    int64_t ephemeral_bytes;
    struct gpu_asks gpus;
    struct pod_other others[POD_OTHERS_MAX];
    size_t n_others;
    bool has_more_others; /* the pod has more than POD_OTHERS_MAX */
};

/* `pod`: a pod or a template of pods. */
struct pod_asks pod_asks(const json_t *pod);

/* The `gpus` of pod_asks. */
struct gpu_asks pod_gpu_asks(const json_t *pod);

/* A container's request, else its limit, else 0; in thousandths. */
int64_t container_request_milli(const json_t *container, const char *resource);
int64_t container_limit_milli(const json_t *container, const char *resource);
/* The devices of one container of the pod. */
struct gpu_asks container_gpu_asks(const json_t *pod, const json_t *container);

/*
 * The devices of one kind that a container gets: `count` of the pod's devices, in the order of
 * pod_gpu_asks, from index `first` on. Main containers have devices of their own, but containers
 * that name one claim share its devices; an init container uses the first ones of its kinds.
 */
struct pod_part {
    const char *container; /* borrowed from the pod */
    bool is_init;
    struct str claim; /* of gpu_ask; empty: none */
    uint32_t first;
    uint32_t count;
};

typedef void (*pod_part_fn)(void *arg, const struct pod_part *part);

/* Calls `fn` for each container and each kind of devices that it asks for: init containers first,
 * the parts of one container one after the other. */
void pod_each_part(const json_t *pod, pod_part_fn fn, void *arg);

/* The number of devices. */
int64_t gpu_asks_count(const struct gpu_asks *asks);
/* Makes the asks those of `n` such pods. */
void gpu_asks_multiply(struct gpu_asks *asks, int64_t n);
/* "2", "0.5", "1+2xmig-1g.10gb": the texts of model/gpu_ask.h; "0": none. The caller frees it. */
char *gpu_asks_format(const struct gpu_asks *asks);

/*
 * The amount of nvidia.com/gpu, in thousandths, for which the pod's annotations ask. A share by
 * memory counts as a whole gpu, because its part of a gpu is not known yet.
 */
int64_t pod_gpu_annotated_milli(const json_t *pod);
/* The same for the container of the pod that the annotations mean; 0: another container. */
int64_t container_gpu_annotated_milli(const json_t *pod, const json_t *container);

/* Is this a resource of gpus that `mete` knows? */
bool gpu_resource_is_known(const char *name);

/* Makes the pod's container `container` ask for devices, as a manifest does. */
void pod_ask_for(json_t *pod, json_t *container, const struct gpu_ask *ask);

/* Adds causes for requests of one container that contradict each other (`at`: its resources), and
 * for annotations of a pod or template. */
void container_validate_gpus(const json_t *container, const struct path *at, struct causes *causes);
void pod_validate_gpus(const json_t *pod, const struct path *at, struct causes *causes);

/* The annotations that ask for gpus: no update changes them. NULL ends the list. */
extern const char *const pod_gpu_annotations[];
