/*
 * partition_run.h - changes the MIG instances of a gpu, or resets it, in a helper process
 *
 * The driver refuses both while a program uses the gpu, so the other helpers of the watch end
 * first, and start again afterwards: gpu_watch lists the gpus anew. A helper that hangs in the
 * driver is abandoned, not killed.
 */
#pragma once

#include "gpu/gpu_watch.h"
#include "gpu/partition.h"
#include "gpu/share_watch.h"

struct partition_run;

struct partition_run_options {
    struct loop *loop;
    struct gpu_watch *watch;    /* borrowed */
    struct share_watch *shares; /* borrowed; NULL: none */
    const char *self_path;      /* the mete binary */
    const char *driver_root;    /* directory; NULL: to be found */
    const char *machine;        /* file of an emulated machine; NULL: real gpus */
    int64_t deadline_ns;        /* 0: 60 s */
};

/* The texts are borrowed. */
struct partition_run *partition_run_new(const struct partition_run_options *o);
void partition_run_free(struct partition_run *r); /* accepts NULL; no callback after it */

/* Is a change or a reset under way? */
bool partition_run_is_busy(const struct partition_run *r);

/*
 * Carries out a plan, one at a time. `done` is called once, later; `e` (borrowed) is the first
 * failure: the steps before it are done. The list of gpus that follows `done` has the result.
 */
struct err *partition_run_start(struct partition_run *r, const char *uuid,
                                const struct partition_plan *plan,
                                void (*done)(void *arg, const struct err *e), void *arg) MUST_CHECK;

/*
 * Resets a gpu by the nvidia-smi of the driver root: NVML has no call for it. `done` is called
 * once, later, with the error (borrowed). ERR_BUSY: a change or another reset is under way.
 */
struct err *partition_run_reset(struct partition_run *r, const char *uuid,
                                void (*done)(void *arg, const struct err *e), void *arg) MUST_CHECK;
