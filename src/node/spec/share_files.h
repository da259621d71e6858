/* share_files.h - the files by which the node and the share library hold a pod's capped shares */
#pragma once

#include "base/err.h"
#include "gpu/share_state.h"

/* A plan: what the files say. */
struct share_files {
    char *dir; /* owned; NULL: the pod has no share */
    struct share_limits limits;
};

/* Adds a share of a gpu; a second share of the same gpu is dropped. False: there are SHARE_GPUS_MAX
 * already. */
bool share_files_add(struct share_files *f, const char *uuid, uint64_t memory_bytes,
                     uint32_t gpu_milli);
void share_files_done(struct share_files *f);

/*
 * In the worker (share_files_linux.c): makes the files that are not there yet. The state stays as
 * it is: another container of the pod may use it.
 */
struct err *share_files_make(const struct share_files *f) MUST_CHECK;
