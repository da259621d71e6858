/*
 * gpu_task.h - short tasks on one gpu, each in a helper process with a deadline
 *
 * A task that does not end in time is abandoned, not killed: it hangs in the driver.
 */
#pragma once

#include "gpu/gpu_watch.h"

struct gpu_tasks;

struct gpu_tasks_options {
    struct loop *loop;
    const char *self_path;   /* the mete binary */
    const char *driver_root; /* directory; NULL: to be found */
    const char *machine;     /* file of an emulated machine; NULL: real gpus */
    int64_t deadline_ns;     /* 0: 60 s */
};

/* The texts are borrowed. */
struct gpu_tasks *gpu_tasks_new(const struct gpu_tasks_options *o);
void gpu_tasks_free(struct gpu_tasks *t); /* accepts NULL; no callback after it */

/*
 * Checks the device `uuid` (gpu or slice). `done` is called once, later, with the device and the
 * error (borrowed): ERR_BUSY: the device's memory is full; ERR_UNAVAILABLE: the driver does not
 * answer.
 */
struct err *gpu_task_check(struct gpu_tasks *t, const char *uuid,
                           void (*done)(void *arg, const char *uuid, const struct err *e),
                           void *arg) MUST_CHECK;
