/*
 * host_roots.h - the directories of a node that hostPath volumes may be in, whoever asks
 *
 * Each is "/data" or "/data:ro". Paths are compared as text, so they must be clean
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

/* ERR_BAD_REQUEST: no path, "/", below /proc, /sys or /dev, there twice, or one too many. */
struct err *host_roots_add(struct host_roots *r, const char *text) MUST_CHECK;

/* The innermost root that `path` is in, or NULL. */
const struct host_root *host_roots_find(const struct host_roots *r, const char *path);

/* "/data, /scratch (read-only)" or "none", for people. The caller frees it. */
char *host_roots_format(const struct host_roots *r);

/* An absolute path without "." and "..", doubled slashes and one at the end dropped; NULL: it is
 * none. The caller frees it. */
char *host_path_clean(const char *path);
/* Whether `path` is `dir` or below it; both clean. */
bool host_path_is_in(const char *path, const char *dir);
/* Whether it is in /proc, /sys or /dev, of which every container has its own. */
bool host_path_is_of_kernel(const char *path);
