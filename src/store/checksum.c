/*
 * checksum.c - a 64-bit checksum, eight bytes a step
 *
 * Each step xors a word into the sum, multiplies by an odd constant and folds the high half down. A
 * step is a bijection of the sum, so that damage within one word always shows; other damage escapes
 * once in 2^64.
 */

#include "store/checksum.h"

#include <endian.h>
#include <string.h>

static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 divided by the golden ratio */
    return sum ^ (sum >> 32);
}

uint64_t checksum_add(uint64_t sum, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t word = 0;

    sum = mix(sum, size);
    for (; size >= sizeof(word); size -= sizeof(word), at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        sum = mix(sum, le64toh(word));
    }
    if (size == 0)
        return sum;
    word = 0;
    memcpy(&word, at, size);
    return mix(sum, le64toh(word));
}

uint64_t checksum_add_int64(uint64_t sum, int64_t number)
{
    uint8_t bytes[8];

    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)((uint64_t)number >> (8 * i));
    return checksum_add(sum, bytes, sizeof(bytes));
}
