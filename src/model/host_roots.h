/*
 * host_roots.h - directories of a node that all users may mount as hostPath volumes
 *
 * A root is written as "/data" or "/data:ro". Paths are compared as text, so they must be clean
 * (host_path_clean).
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

enum {
    HOST_ROOTS_MAX = 64
};

struct host_root {
    char *path;
    bool is_read_only;
};

struct host_roots {
    VEC(struct host_root) list;
};

void host_roots_done(struct host_roots *r);

/* Adds a root. ERR_BAD_REQUEST: the text is no path, is "/", is in /proc, /sys or /dev, or is
 * present already; or there are too many roots. */
struct err *host_roots_add(struct host_roots *r, const char *text) MUST_CHECK;

/* The innermost root that contains `path`, or NULL. */
const struct host_root *host_roots_find(const struct host_roots *r, const char *path);

/* "/data, /scratch (read-only)" or "none", for messages. The caller frees it. */
char *host_roots_format(const struct host_roots *r);

/* The path without doubled slashes and a slash at the end; NULL: the path is not absolute, or has
 * "." or "..". The caller frees it. */
char *host_path_clean(const char *path);
/* Is `path` equal to `dir` or below it? Both must be clean. */
bool host_path_is_in(const char *path, const char *dir);
/* Is the path in /proc, /sys or /dev, of which each container has its own? */
bool host_path_is_of_kernel(const char *path);
