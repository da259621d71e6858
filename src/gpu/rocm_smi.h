/*
 * rocm_smi.h - what sysfs does not tell of AMD's gpus, by ROCm's library librocm_smi64.so
 * (rocm_smi_linux.c)
 *
 * The library comes with ROCm and may be missing.
 */
#pragma once

#include <stdint.h>

struct rocm_smi;

/* Loads the library at the path `library`; NULL: the loader's. Returns NULL if it is missing, does
 * not work or knows no gpu. */
struct rocm_smi *rocm_smi_open(const char *library);
void rocm_smi_free(struct rocm_smi *r); /* accepts NULL */

/* The energy that the board at a PCI address "0000:05:00.0" used so far; -1: unknown. `r` may be
 * NULL. */
int64_t rocm_smi_energy_mj(const struct rocm_smi *r, const char *pci);
