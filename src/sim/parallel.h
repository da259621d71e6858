/* parallel.h - independent work on several processors (parallel_linux.c) */
#pragma once

#include <stddef.h>

/* Processors that this process may use. */
size_t parallel_width(void);

/*
 * Calls `fn(arg, i)` for each i below `n`, up to `width` calls at a time, in other threads when
 * `width` is over 1. Returns when all calls are done. `fn` may change only data of index i.
 * `between(arg, done)`, which may be NULL, is called in this thread as calls end, with their
 * number.
 */
void parallel_run(size_t n, size_t width, void (*fn)(void *arg, size_t i),
                  void (*between)(void *arg, size_t done), void *arg);
