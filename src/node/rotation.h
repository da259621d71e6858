/*
 * rotation.h - logs are cut before they fill the disk
 *
 * Every second the logs of running containers are looked at (in the worker); what is larger than
 * `max_bytes` is cut, and so many files are kept. A log that grows faster is dropped by conmon at
 * `max_bytes` * `max_files`, which also holds while no node runs.
 */
#pragma once

#include "base/loop.h"
#include "node/pods.h"

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
    const struct pods *pods;
    struct runtime *runtime;
    struct worker *worker;
    int64_t max_bytes;
    size_t max_files; /* with the one that is being written */
};

struct rotation *rotation_new(const struct rotation_options *o);
void rotation_free(struct rotation *r); /* accepts NULL; the worker is still there */
