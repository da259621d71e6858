/*
 * map.c - the hash of map.h and its key
 *
 * The hash is SipHash-1-3: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012), with
 * one round a word and three at the end, as used for hash tables by CPython and Rust.
 */

#include "base/map.h"

#include <endian.h>

struct sip {
    uint64_t v0, v1, v2, v3;
};

/* The key of the process: the only static state here, set once in main before any map exists. */
static uint64_t key0 = UINT64_C(0x0706050403020100);
static uint64_t key1 = UINT64_C(0x0f0e0d0c0b0a0908);

static inline uint64_t rotate(uint64_t x, unsigned bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static uint64_t read_word(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return le64toh(word);
}

static inline void sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate(s->v2, 32);
}

static inline void sip_word(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    sip_round(s);
    s->v0 ^= word;
}

uint32_t map_hash(const void *key, size_t size)
{
    struct sip s = {
        .v0 = key0 ^ UINT64_C(0x736f6d6570736575),
        .v1 = key1 ^ UINT64_C(0x646f72616e646f6d),
        .v2 = key0 ^ UINT64_C(0x6c7967656e657261),
        .v3 = key1 ^ UINT64_C(0x7465646279746573),
    };
    const uint8_t *at = key;
    uint64_t last = (uint64_t)size << 56;
    uint64_t hash;

    for (size_t left = size; left >= 8; left -= 8, at += 8)
        sip_word(&s, read_word(at));
    for (size_t i = 0; i < size % 8; i++)
        last |= (uint64_t)at[i] << (8 * i);
    sip_word(&s, last);
    s.v2 ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(&s);
    hash = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    return (uint32_t)(hash ^ (hash >> 32));
}

void map_seed(const uint8_t key[16])
{
    key0 = read_word(key);
    key1 = read_word(key + 8);
}
