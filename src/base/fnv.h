/* fnv.h - FNV-1a with 64 bits: tells texts apart that nobody chose to collide; keeps no secret */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FNV_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t fnv_byte(uint64_t hash, uint8_t byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

/* Adds the bytes of a text, without its NUL. */
static inline uint64_t fnv_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = fnv_byte(hash, (uint8_t)*text);
    return hash;
}

/* Adds the eight bytes of a number, lowest first. */
static inline uint64_t fnv_number(uint64_t hash, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        hash = fnv_byte(hash, (uint8_t)(number >> 8 * i));
    return hash;
}
