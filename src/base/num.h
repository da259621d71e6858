/* num.h - numbers: parsed from text, sorted, scattered */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Parses all of `text`: decimal, optional '-'. ERR_INVALID: other text, or outside [min, max]; the
 * message names both bounds. */
struct err *num_parse_int64(struct str text, int64_t min, int64_t max, int64_t *ret) MUST_CHECK;
struct err *num_parse_uint64(struct str text, uint64_t max, uint64_t *ret) MUST_CHECK;

/* The value of a hexadecimal digit of either case; -1: another character. */
int num_hex_digit(char c);

/* 1 to 16 hexadecimal digits of either case, without "0x". */
struct err *num_parse_hex(struct str text, uint64_t *ret) MUST_CHECK;

/* "300ms", "10s", "5m", "1h30m", "1.5s", "2d" in ns; a bare number is refused (no unit). */
struct err *num_parse_duration(struct str text, int64_t *ret_ns) MUST_CHECK;

/* Sorts, drops duplicates, and returns the number left. */
size_t num_sort_unique(int64_t *at, size_t n);

/*
 * Scatters a number; different numbers give different results. The finalizer of splitmix64 (Steele,
 * Lea and Flood, "Fast splittable pseudorandom number generators", 2014), a generator that adds
 * NUM_SCATTER_STEP before each next number.
 */
#define NUM_SCATTER_STEP UINT64_C(0x9e3779b97f4a7c15)
uint64_t num_scatter(uint64_t x);
