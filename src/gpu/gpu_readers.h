/*
 * gpu_readers.h - all gpus of a machine, read by one reader for each vendor
 *
 * The functions block and may hang in the kernel, so only helper processes (helper_linux.c),
 * mete doctor and tests call them. The gpus have the indices 0, 1 ...: first those of NVIDIA, then
 * AMD's, then Intel's.
 */
#pragma once

#include "gpu/gpu_driver.h"

/* The functions of a vendor's reader; `state` is what `open` made. Errors as in gpu_driver.h. */
struct gpu_reader_type {
    struct err *(*count)(void *state, unsigned *ret);
    struct err *(*read)(void *state, unsigned index, struct gpu *ret);
    bool (*are_linked)(void *state, unsigned a, unsigned b);
    void (*connection)(void *state, unsigned a, unsigned b, char ret[GPU_CONNECTION_SIZE]);
    struct err *(*sample)(void *state, unsigned index, struct gpu_reading *ret);
    void (*free)(void *state); /* accepts NULL */
};

extern const struct gpu_reader_type gpu_reader_nvml;  /* state: struct gpu_driver, not owned */
extern const struct gpu_reader_type gpu_reader_amd;   /* amd_linux.c: sysfs */
extern const struct gpu_reader_type gpu_reader_intel; /* intel_linux.c: sysfs */

/* The states of the readers of sysfs, on the directory `sys` ("/sys"), which is borrowed.
 * `library`: path of the vendor's library, for what sysfs does not tell; NULL: the loader's, if it
 * is there;
 * "": none. */
void *amd_reader_new(const char *sys, const char *library);
void *intel_reader_new(const char *sys, const char *library);

enum {
    GPU_READERS_MAX = 3
};

struct gpu_reader {
    const struct gpu_reader_type *type;
    void *state;
    unsigned n; /* gpus, by the last count */
};

struct gpu_readers {
    struct gpu_reader at[GPU_READERS_MAX];
    size_t n;
};

void gpu_readers_add(struct gpu_readers *r, const struct gpu_reader_type *type, void *state);
void gpu_readers_done(struct gpu_readers *r);

/* Counts the gpus anew. The other functions take indices below that number. */
struct err *gpu_readers_count(struct gpu_readers *r, unsigned *ret) MUST_CHECK;
/* Reads one gpu; its link group is -1. ERR_UNAVAILABLE: the gpu is lost. */
struct err *gpu_readers_read(struct gpu_readers *r, unsigned index, struct gpu *ret) MUST_CHECK;
/* Are the two gpus connected by NVLink or by Infinity Fabric (XGMI)? */
bool gpu_readers_are_linked(struct gpu_readers *r, unsigned a, unsigned b);
/* How does one gpu reach another? "": not known. */
void gpu_readers_connection(struct gpu_readers *r, unsigned a, unsigned b,
                            char ret[GPU_CONNECTION_SIZE]);
struct err *gpu_readers_sample(struct gpu_readers *r, unsigned index,
                               struct gpu_reading *ret) MUST_CHECK;
