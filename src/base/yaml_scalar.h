/* yaml_scalar.h - the meaning of a plain scalar, shared by reader and writer */
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

/* Resolves like resolve.go of go-yaml v2. */
struct scalar yaml_resolve(const char *text);

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
