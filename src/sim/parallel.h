/* parallel.h - work that shares nothing, on several processors (parallel_linux.c) */
#pragma once

#include <stddef.h>

/* Processors that this process may use. */
size_t parallel_width(void);

/*
 * Calls `fn(arg, i)` for each i below `n`, up to `width` at a time, in threads of their own where
 * that is over 1; returns when all are done. `fn` may change only what belongs to i.
 * `between(arg, done)` is called in this thread as they end, with how many have; may be NULL.
 */
void parallel_run(size_t n, size_t width, void (*fn)(void *arg, size_t i),
                  void (*between)(void *arg, size_t done), void *arg);
