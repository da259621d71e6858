/*
 * library_linux.h - shared libraries, loaded at their first use
 * (docs/adr/0010-libraries-at-first-use.md)
 *
 * For libraries that few commands use and that depend on many others. NAME_linux.h lists the
 * functions, each becomes the pointer sym_FUNCTION, and NAME_load() must be called before the first
 * of them.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct library_symbol {
    const char *name;
    void *at; /* address of the function pointer to set */
};

/* One static object per library. The pointers are set once. */
struct library {
    const char *file; /* "libcurl.so.4" */
    const struct library_symbol *symbols;
    size_t n_symbols;
    pthread_mutex_t mutex;
    bool is_loaded;
};

/* Loads the library; any thread may call. ERR_INTERNAL names the missing library or symbol; the
 * next call tries again. */
struct err *library_load(struct library *l) MUST_CHECK;
