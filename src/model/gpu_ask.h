/*
 * gpu_ask.h - the devices of one kind that a pod asks for, and their text form in `mete run --gpus`
 *
 *   2              whole gpus; a replica serves, too, on gpus that are offered in replicas
 *   0.5            a share with half of a gpu's compute and memory
 *   20Gi           a share with 20 GiB of memory, and compute in proportion
 *   0.3,20Gi       a share with 30 percent (whole percents) of the compute and 20 GiB of memory
 *   shared         a replica
 *   mig-1g.10gb    a slice
 *   amd            a whole gpu of AMD; i915, xe: of Intel, by its kernel driver
 *
 * All forms but the last are for gpus of NVIDIA.
 * All forms but the first may have a count in front: "2x0.5", "2xmig-1g.10gb", "8xamd".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "model/device.h"

enum {
    GPU_ASK_COUNT_MAX = 65536, /* of a text */
    GPU_ASK_TEXT_SIZE = MIG_NAME_SIZE + 64
};

/* A value. Members of other kinds are 0. */
struct gpu_ask {
    enum device_kind kind;
    enum gpu_vendor vendor; /* of others than NVIDIA only whole gpus are asked for */
    int64_t count;
    bool is_several;             /* of a pod: one container asks for more than one */
    uint32_t milli;              /* share: compute, 1 .. 999; 0: in proportion to the memory */
    int64_t bytes;               /* share: memory, whole MiB; 0: in proportion to the compute */
    char profile[MIG_NAME_SIZE]; /* slice */
    /* Of a claim (kinds/pod/pod_claims.h), borrowed; not in the text form. */
    struct str claim; /* the request; empty: no claim */
    struct str gpus;  /* the gpus to choose from: "GPU-8c1f,GPU-77"; empty: any */
    uint16_t starts;  /* slice: bits of the starts to choose from; 0: any */
};

/* Reads the text form. ERR_INVALID: the text is malformed, with the forms that are right. `*ret`
 * changes on success only. */
struct err *gpu_ask_parse(const char *text, struct gpu_ask *ret) MUST_CHECK;

/* Writes the text form, which gpu_ask_parse reads back as the same value, for counts and bytes
 * that it accepts. */
void gpu_ask_format(const struct gpu_ask *ask, char ret[GPU_ASK_TEXT_SIZE]);

/* Do both ask for the same kind of device, by the same claim or by none? Counts do not matter. */
bool gpu_ask_is_like(const struct gpu_ask *a, const struct gpu_ask *b);

/* Reads a part of 1 with at most three digits, "0.5", as 1/1000: 1 .. 999. False: another text. */
bool gpu_ask_read_part(struct str text, uint32_t *ret_milli);
