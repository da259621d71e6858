/*
 * rotation.h - rotation of the logs of running containers
 *
 * conmon begins a new file when the present one has reached its size. The rotation links each new
 * file (log_parts.h) and removes the oldest parts. A follower misses no line as long as the node
 * sees each new file before conmon has filled it.
 */
#pragma once

#include "base/loop.h"
#include "node/pod/pods.h"
#include "node/worker.h"

enum {
    LOG_FILES_MIN = 2,
    LOG_FILES_MAX = 1000,
    LOG_FILES_DEFAULT = 5
};

#define LOG_BYTES_MIN     (INT64_C(64) << 10)
#define LOG_BYTES_MAX     (INT64_C(1) << 40)
#define LOG_BYTES_DEFAULT (INT64_C(10) << 20)

struct rotation;

struct rotation_options {
    struct loop *loop;
    struct pods *pods;
    struct worker *worker; /* links and removes the files; freed before the rotation */
    size_t max_files;      /* including the file being written */
};

struct rotation *rotation_new(const struct rotation_options *o);
void rotation_free(struct rotation *r); /* accepts NULL; before the pods */
