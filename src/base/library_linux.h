/*
 * library_linux.h - shared libraries that are loaded when they are used first
 * (docs/adr/0010-libraries-at-first-use.md)
 *
 * For libraries that few commands use and that bring many others: NAME_linux.h lists the functions
 * once, each is the pointer sym_FUNCTION, and NAME_load() comes before the first call.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct library_symbol {
    const char *name;
    void *at; /* of the pointer that is set; a pointer to a function */
};

/* Static, one a library; the pointers are set once and never again. */
struct library {
    const char *file; /* "libcurl.so.4" */
    const struct library_symbol *symbols;
    size_t n_symbols;
    pthread_mutex_t mutex;
    bool is_loaded;
};

/* From any thread. ERR_INTERNAL names what is missing; the next call tries again. */
struct err *library_load(struct library *l) MUST_CHECK;
