/* checksum.h - 64 bits over bytes, for what a disk may damage; no defence against people */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_START UINT64_C(0x4d657465)

/* Continues with the result of the piece before. The size of each piece is part of the sum. */
uint64_t checksum_add(uint64_t sum, const void *bytes, size_t size);

/* Of its eight bytes, the lowest first. */
uint64_t checksum_add_int64(uint64_t sum, int64_t number);
