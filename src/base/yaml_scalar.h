/* yaml_scalar.h - what a plain scalar means: the part that reading and writing share */
#pragma once

#include <stdint.h>

#include "base/str.h"

enum meaning {
    IS_TEXT,
    IS_NULL,
    IS_BOOL,
    IS_INT,
    IS_BIG_INT,
    IS_REAL,
    IS_NOT_FINITE
};

struct scalar {
    enum meaning meaning;
    bool truth;
    int64_t number;
    double real;
};

/* As resolve.go of go-yaml v2. */
struct scalar yaml_resolve(const char *text);

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
