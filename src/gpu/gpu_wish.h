/*
 * gpu_wish.h - how an administrator wants a gpu to be given, and what holders allow of it
 *
 * Text form, as in `mete gpus set --mode` and in the node's annotation mete.dev/gpu-modes
 * ({"GPU-...": "replicas=4", ...}):
 *
 *   whole                         to one pod
 *   replicas=4                    to as many pods, without a guaranteed part
 *   replicas=4,renamed            the same, requested as nvidia.com/gpu.shared
 *   mps=4                         to as many pods as clients of an MPS daemon, each with a part of
 *                                 the memory; mps=4,renamed as above
 *   slices=1g.10gb:2,3g.40gb      MIG instances, with their number (default 1)
 *   slices=                       MIG is on, without instances
 *   flexible                      MIG instances that the scheduler creates as pods request them
 */
#pragma once

#include "gpu/sharing_config.h"
#include "model/device.h"

enum gpu_wish_kind {
    GPU_WISH_WHOLE,
    GPU_WISH_REPLICAS,
    GPU_WISH_SLICES,
    GPU_WISH_FLEXIBLE
};

struct gpu_wish_slice {
    char profile[GPU_PROFILE_SIZE];
    unsigned count; /* at least 1 */
};

enum {
    GPU_WISH_TEXT_SIZE = 640
};

/* A value; {0}: whole. */
struct gpu_wish {
    enum gpu_wish_kind kind;
    bool is_asked; /* for this gpu by name, or by a mig-config: MIG is switched accordingly */
    unsigned replicas;
    bool is_renamed;
    bool is_single;
    bool is_mps; /* replicas are clients of an MPS daemon, and single */
    struct gpu_wish_slice slices[GPU_SLICES_MAX]; /* different profiles */
    size_t n_slices;
};

/* ERR_INVALID says what is wrong. `*ret` changes on success only. */
struct err *gpu_wish_parse(const char *text, struct gpu_wish *ret) MUST_CHECK;
/* Writes the text form, which gpu_wish_parse reads back as the same value. `is_single` and
 * `is_asked` have no text. */
void gpu_wish_format(const struct gpu_wish *w, char ret[GPU_WISH_TEXT_SIZE]);

/*
 * The wish for a gpu: `modes` (the tree of mete.dev/gpu-modes; NULL: none) comes before the
 * configuration (NULL: none), and without both the gpu is whole. A member of `modes` that cannot be
 * read is ERR_INVALID.
 */
struct err *gpu_wish_of(const struct gpu *g, const json_t *modes, const struct sharing_config *c,
                        struct gpu_wish *ret) MUST_CHECK;

/* A device that a pod of the node holds. */
struct gpu_holding {
    struct device device;
    const char *pod; /* "ns/name" */
};

/*
 * Sets the mode of `g`, as the driver lists it, to what the wish and the holders allow: holders
 * keep the mode that they hold the gpu in, and `mode_problem` then names one of them and the wish.
 * `g->is_mps` is that of the last call; replicas that holders keep stay clients of MPS, or not.
 * A gpu with MIG mode on is given in its slices, whatever the wish is, until it is repartitioned.
 * A gpu that needs a reset to switch MIG is flexible once MIG is on, and then keeps MIG on. False:
 * a holder is in the way.
 */
bool gpu_wish_apply(const struct gpu_wish *w, const struct gpu_holding *holdings, size_t n,
                    struct gpu *g);
