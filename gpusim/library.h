/*
 * library.h - what the parts of the emulated libnvidia-ml.so.1 share
 *
 * One library, one machine: NVML is a global by its interface.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/nvml_abi.h"
#include "view.h"

#define EXPORT __attribute__((visibility("default")))

/* A function of NVML: exported, and declared for who looks at its definition only. */
#define FUNCTION(name, ...)       \
    EXPORT int name(__VA_ARGS__); \
    EXPORT int name(__VA_ARGS__)

/* What this process sees; meaningful between the first init and the last shutdown. */
extern struct view library_view;
extern unsigned library_references;

/* The gpu of a handle, or what is wrong with it; takes as long as the gpu was told to. */
int library_find(nvmlDevice_t device, const struct gpusim_gpu **ret);
void library_wait_ms(uint32_t ms);

/* `gpu` is the device's, or the function returns what is wrong with it. */
#define ENTER(device, gpu)                           \
    const struct gpusim_gpu *gpu = NULL;             \
    do {                                             \
        int enter_ = library_find((device), &(gpu)); \
        if (enter_ != NVML_SUCCESS)                  \
            return enter_;                           \
    } while (0)

/* Answers; NVML_ERROR_INSUFFICIENT_SIZE where `size` bytes do not hold the text. */
int give_text(const char *text, char *out, unsigned size);
int give(unsigned value, unsigned *out);

/* "DOMAIN:BUS:DEVICE.FUNCTION" in hexadecimal of any width, as numbers and as NVML's struct. */
bool pci_read(const char *id, unsigned ret[4]);
int pci_fill(const char *id, struct nvmlPciInfo *out);
