/* log_limits.h - how much of a container's log is kept, as flags and the configuration say it */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct log_limits {
    int64_t max_bytes; /* of a file before it is cut */
    int64_t max_files;
};

#define LOG_LIMIT_SIZE  "10Mi"
#define LOG_LIMIT_FILES "5"

/* "10Mi" and "5". ERR_BAD_REQUEST says what would be right. */
struct err *log_limits_parse(const char *size, const char *files,
                             struct log_limits *ret) MUST_CHECK;
