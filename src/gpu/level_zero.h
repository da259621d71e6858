/*
 * level_zero.h - what sysfs does not tell of Intel's gpus, by Level Zero's Sysman interface
 * (level_zero_linux.c)
 *
 * The library libze_loader.so.1 comes with Intel's user space and may be missing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct level_zero;

/* Loads the library at the path `library`; NULL: the loader's. Returns NULL if it is missing, does
 * not work or knows no gpu. */
struct level_zero *level_zero_open(const char *library);
void level_zero_free(struct level_zero *z); /* accepts NULL */

/* Reads the memory of the gpu at a PCI address "0000:4d:00.0". False: unknown. `z` may be NULL. */
bool level_zero_memory(const struct level_zero *z, const char *pci, int64_t *ret_total_bytes,
                       int64_t *ret_used_bytes);

/* The part of the time since the call before in which the gpu was busy, in percent; -1: unknown, as
 * at the first call. `z` may be NULL. */
int level_zero_busy(struct level_zero *z, const char *pci);
