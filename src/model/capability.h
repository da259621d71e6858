/* capability.h - the names of Linux capabilities, with and without "CAP_" */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    CAPABILITY_COUNT = 41
};

enum capability_class {
    CAPABILITY_UNKNOWN,
    CAPABILITY_ALL,     /* "ALL": all capabilities */
    CAPABILITY_DEFAULT, /* root in a container has it: Docker's set */
    CAPABILITY_EXTRA
};

/* The class of an upper-case name, as in manifests: "NET_RAW" or "CAP_NET_RAW". */
enum capability_class capability_class(const char *name);

/* The name of the kernel's number: 0 is "CAP_CHOWN". NULL from CAPABILITY_COUNT on. */
const char *capability_name(size_t number);
bool capability_is_default(size_t number);

/* The number of a name; CAPABILITY_COUNT: unknown, or "ALL". */
size_t capability_number(const char *name);
