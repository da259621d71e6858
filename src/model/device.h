/*
 * device.h - devices of containers: a gpu, or a slice, share or replica; and the held parts of a
 * gpu
 *
 * The annotation mete.dev/devices, the ledger, placements and rows have the same text form:
 *
 *   whole gpu   GPU-8c1f
 *   share       GPU-8c1f/share:300,21474836480          compute in 1/1000, memory in bytes
 *   replica     GPU-8c1f/replica:4                      one of four
 *   slice       GPU-8c1f/slice:2g.20gb@4                profile, first memory slice
 *               GPU-8c1f/slice:2g.20gb@4,MIG-77ab       the same, with the driver's instance
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/gpu.h"
#include "model/mig.h"

enum device_kind {
    DEVICE_WHOLE,
    DEVICE_SHARE,
    DEVICE_REPLICA,
    DEVICE_SLICE
};

enum {
    DEVICE_REPLICAS_MAX = 256,
    DEVICE_TEXT_SIZE = 2 * GPU_TEXT_SIZE + MIG_NAME_SIZE + 32
};

/* A value: copy it with `=`, nothing to free. Members of other kinds are 0. */
struct device {
    char gpu[GPU_TEXT_SIZE]; /* uuid */
    enum device_kind kind;
    uint32_t milli;               /* share: compute, 1 .. 999 */
    int64_t bytes;                /* share: memory, over 0 */
    uint32_t replicas;            /* replica: parts of the gpu, 1 .. DEVICE_REPLICAS_MAX */
    uint32_t start;               /* slice: first memory slice */
    char profile[MIG_NAME_SIZE];  /* slice */
    char instance[GPU_TEXT_SIZE]; /* slice: uuid of the MIG instance; "": not known */
};

/* The whole gpu. Too long a uuid is cut: no gpu has such a uuid. */
struct device device_whole(const char *uuid);

/* Reads the text form. ERR_INVALID: the text is malformed. `*ret` changes on success only. */
struct err *device_parse(const char *text, struct device *ret) MUST_CHECK;

/* Writes the text form, which device_parse reads back as the same value. */
void device_format(const struct device *d, char ret[DEVICE_TEXT_SIZE]);

bool device_equal(const struct device *a, const struct device *b);

/* The device's part of its gpu's compute, in 1/1000: of a replica the gpu's compute by the number
 * of replicas, of a slice by the profile's name. */
uint32_t device_milli(const struct device *d);

/* The held parts of one gpu. A value; {0}: none. */
struct device_load {
    uint32_t n;            /* devices */
    enum device_kind kind; /* of all devices */
    uint32_t milli;        /* of the shares */
    int64_t bytes;         /* of the shares */
    uint32_t replicas;     /* parts of the gpu, equal for all replicas */
    struct mig_state slices;
};

/*
 * Adds a device to the held parts of its gpu. ERR_CONFLICT: the device and the held parts exclude
 * each other; `*load` changes on success only. A gpu is held whole, in shares, in replicas or in
 * slices. The compute of shares is at most 1000 and their memory at most the gpu's. All replicas
 * have the same number of parts, and there are at most that many. Slices do not overlap
 * (model/mig.h). `gpu` gives model and memory; NULL, or a memory under 1: the memory of shares is
 * not compared, and slices are refused.
 */
struct err *device_load_add(struct device_load *load, const struct device *d,
                            const struct gpu *gpu) MUST_CHECK;
