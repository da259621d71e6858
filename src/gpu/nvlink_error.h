/*
 * nvlink_error.h - what an XID of NVLink 5 (144 to 150) asks for, by the words of its line in the
 * kernel's log
 *
 *   NVRM: Xid (PCI:0000:0a:00): 149, NETIR_LINK_EVT  Fatal XC0 i0 Link 00 (0x004505c6 0x00000000
 * ...)
 *
 * The table follows NVIDIA's catalogue of XIDs: unit, interrupt word and error status decide.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gpu/gpu_xid.h"

enum {
    NVLINK_XID_FIRST = 144,
    NVLINK_XID_LAST = 150,
    NVLINK_ROWS = 91
};

/* Reads the text after "Xid (...): ". False: another XID, or none that the table has. */
bool nvlink_error_find(struct str text, enum xid_action *ret);

/* A row; a bit that is not in the mask may be either. */
struct nvlink_row {
    int xid;
    const char *unit; /* names that a line may have, with a slash between them */
    uint32_t mask[2]; /* of the second and of the first version of interrupt words */
    uint32_t word[2];
    uint32_t status;
    enum xid_action action;
};

extern const struct nvlink_row nvlink_rows[NVLINK_ROWS];
