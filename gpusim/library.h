/*
 * library.h - shared by the parts of the emulated libnvidia-ml.so.1
 *
 * The state is global, as NVML's interface requires: one library, one machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/nvml_abi.h"
#include "view.h"

#define EXPORT __attribute__((visibility("default")))

/* A function of NVML: exported, and declared to satisfy -Wmissing-prototypes. */
#define FUNCTION(name, ...)       \
    EXPORT int name(__VA_ARGS__); \
    EXPORT int name(__VA_ARGS__)

/* The answer of a function that the emulation does not have. */
int library_answer_nothing(void);

/* The gpus that this process sees; valid between the first init and the last shutdown. */
extern struct view library_view;
extern unsigned library_references;

/* Finds the gpu of a handle, or returns its error; waits for the gpu's hang_ms. */
int library_find(nvmlDevice_t device, const struct gpusim_gpu **ret);
void library_wait_ms(uint32_t ms);

/* Busy percent of the gpu over the last second, by the work of clients; of MIG instances by their
 * parts of it. */
unsigned library_load_of(const struct gpusim_gpu *g);
unsigned library_degrees(const struct gpusim_gpu *g);
/* The energy that the work of a compute instance took so far; index in the gpu's computes. */
uint64_t library_compute_mj(const struct gpusim_gpu *g, unsigned compute);

/* ---- MIG devices: nvml_mig.c ---- */

bool library_is_mig(nvmlDevice_t device);
int library_find_mig(const char *uuid, nvmlDevice_t *out);
/* The gpu of a MIG device, and the index of its engine. */
int mig_gpu(nvmlDevice_t device, const struct gpusim_gpu **ret, unsigned *ret_engine);
int mig_name(nvmlDevice_t device, char *out, unsigned size);
int mig_uuid(nvmlDevice_t device, char *out, unsigned size);
/* Sets all members but the version. */
int mig_memory(nvmlDevice_t device, struct nvmlMemory_v2 *out);

/* Declares `gpu`, the device's gpu, or returns its error from the function. */
#define ENTER(device, gpu)                           \
    const struct gpusim_gpu *gpu = NULL;             \
    do {                                             \
        int enter_ = library_find((device), &(gpu)); \
        if (enter_ != NVML_SUCCESS)                  \
            return enter_;                           \
    } while (0)

/* Copies the text. NVML_ERROR_INSUFFICIENT_SIZE: `size` bytes are too few. */
int give_text(const char *text, char *out, unsigned size);
int give(unsigned value, unsigned *out);

/* Reads "DOMAIN:BUS:DEVICE.FUNCTION", hexadecimal numbers of any width. */
bool pci_read(const char *id, unsigned ret[4]);
int pci_fill(const char *id, struct nvmlPciInfo *out);
