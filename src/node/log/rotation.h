/*
 * rotation.h - what is kept of the logs of running containers
 *
 * conmon begins a new file when one has its size. Here each file gets its second name as soon as it
 * is there (log_parts.h), and the oldest go. A follower loses nothing as long as this process sees
 * a new file before conmon has filled it.
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
    struct worker *worker; /* reads and removes the files; freed before the rotation */
    size_t max_files;      /* with the one that is being written */
};

struct rotation *rotation_new(const struct rotation_options *o);
void rotation_free(struct rotation *r); /* accepts NULL; before the pods */
