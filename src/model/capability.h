/* capability.h - the names of Linux capabilities, with and without "CAP_" */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    CAPABILITY_COUNT = 41
};

enum capability_class {
    CAPABILITY_UNKNOWN,
    CAPABILITY_ALL,     /* "ALL": the word for every one of them */
    CAPABILITY_DEFAULT, /* root of a container has it: Docker's set */
    CAPABILITY_EXTRA
};

/* Upper case, as manifests have it: "NET_RAW" or "CAP_NET_RAW". */
enum capability_class capability_class(const char *name);

/* "CAP_CHOWN" is number 0, as in the kernel; NULL from CAPABILITY_COUNT on. */
const char *capability_name(size_t number);
bool capability_is_default(size_t number);

/* Its number; CAPABILITY_COUNT: unknown, or "ALL". */
size_t capability_number(const char *name);
