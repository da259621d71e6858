/* log_limits.h - limits of a container's log, as flags and configuration state them */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct log_limits {
    int64_t max_bytes; /* of a file before rotation */
    int64_t max_files;
};

#define LOG_LIMIT_SIZE  "10Mi"
#define LOG_LIMIT_FILES "5"

/* Reads "10Mi" and "5". ERR_BAD_REQUEST says what would be right. */
struct err *log_limits_parse(const char *size, const char *files,
                             struct log_limits *ret) MUST_CHECK;
