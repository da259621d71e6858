/* checksum.h - 64-bit checksum against damage by a disk; no defence against attackers */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_START UINT64_C(0x4d657465)

/* Continues with the result of the piece before. The size of each piece is part of the sum. */
uint64_t checksum_add(uint64_t sum, const void *bytes, size_t size);

/* Adds the eight bytes of `number`, the lowest first. */
uint64_t checksum_add_int64(uint64_t sum, int64_t number);
