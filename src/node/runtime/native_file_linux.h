/*
 * native_file_linux.h - the file of an attempt of the native runtime: DATA/node/native/<id>
 *
 * The file has places of fixed size, then the document that `create` was given. Each place is
 * written once, by one call, and ends with a line end: a place without a line end is empty. The
 * places lie in the first block of the file, so that a full disk cannot refuse them.
 *
 *   0    "mete-attempt 1", the version of the layout
 *   64   the mark: written by the node before the start; without it the program has not run since
 *        the boot
 *   128  the pid of the waiter: written by the waiter, before all else
 *   160  the pid of the first process (0: none): written by the waiter once the cgroup is limited
 *   192  the end, a JSON object: written by the waiter once the attempt's cgroup is gone
 *   1024 the document: {"intent", "config", "host"}
 *
 * The node flocks the file before it writes the mark, and sends the descriptor to the launcher; the
 * waiter inherits it. So the lock is held while the start is on its way or the waiter lives, unlike
 * a pid never ambiguous. Without a lock and a waiter's pid, no waiter has begun and none will.
 * Only the document is synced: a power failure also ends the processes, and the boot id in the
 * intent then tells that the attempt is over, whatever the places say.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"

enum {
    NATIVE_END_MAX = 1024 - 192 /* bytes of the end, with its line end */
};

/* One attempt of a commit. */
struct native_body {
    char *id;
    char *text; /* the document */
    struct err *failed;
};

/* Writes new files below `dir`, each under its `id`, and replaces older ones. Syncs all of them
 * with the fewest syncs. Each body gets its own result. */
void native_file_commit(const char *dir, struct native_body *bodies, size_t n);

struct native_record {
    bool is_marked;
    int64_t started_ns; /* since 1970; 0: unknown */
    pid_t waiter;       /* 0: none has begun */
    bool has_begun;     /* the cgroup is there and limited */
    json_t *end;        /* NULL: none */
    json_t *document;   /* NULL unless asked for */
};

/* Reads the places, and the document if `has_document`. `*ret` is {0} before; native_record_done
 * frees its content. ERR_NOT_FOUND: no such file. */
struct err *native_file_read(const char *path, bool has_document,
                             struct native_record *ret) MUST_CHECK;
void native_record_done(struct native_record *r);

/* Locks the file and writes the mark. `*ret` is the descriptor that holds the lock. */
struct err *native_file_mark(const char *path, int64_t now_ns, int *ret) MUST_CHECK;
bool native_file_is_held(const char *path);

/* For the waiter. False: the place could not be written. */
bool native_file_put_waiter(int fd, pid_t pid);
bool native_file_put_begun(int fd, pid_t first);
bool native_file_put_end(int fd, const char *end);
struct err *native_file_read_document(int fd, json_t **ret) MUST_CHECK;
