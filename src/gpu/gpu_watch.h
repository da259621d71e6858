/*
 * gpu_watch.h - watches the gpus of this machine by helper processes with deadlines
 *
 * XIDs come as events of the driver and from the log of the kernel (kernel_log.h): one XID often as
 * both. Two helpers (`mete gpu-helper sample|events`) exchange JSON lines over pipes. A helper that
 * does not answer within 10 s is abandoned, not killed: the gpu of the question becomes
 * GPU_NOT_ANSWERING, and a new helper samples the others. There are at most two abandoned helpers.
 * When the driver releases an abandoned helper, its gpu is sampled again. A gpu whose samples fail
 * is unhealthy until they succeed again (gpu_condition.h).
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "gpu/driver_root.h"
#include "gpu/gpu_condition.h"
#include "gpu/gpu_driver.h"
#include "gpu/gpu_use.h"

struct gpu_watch;

struct gpu_watch_options {
    struct loop *loop;
    const char *self_path;   /* the mete binary */
    const char *driver_root; /* directory; NULL: `/`, else /run/nvidia/driver */
    const char *machine;     /* file of an emulated machine (gpusim_machine.h); NULL: real gpus */
    const char *sys;         /* directory of AMD's and Intel's gpus; NULL: /sys, which a machine
                              * with emulated gpus does not read */
    int64_t sample_every_ns; /* 0: 1 s */
    int64_t deadline_ns;     /* for each answer; 0: 10 s */
    /* The list, a gpu's health or the driver changed, or an XID came. */
    void (*on_change)(void *arg);
    /* All gpus that answer have a new sample. */
    void (*on_round)(void *arg);
    void *arg;
};

struct err *gpu_watch_new(const struct gpu_watch_options *o, struct gpu_watch **ret) MUST_CHECK;
void gpu_watch_free(struct gpu_watch *w); /* accepts NULL */

/* The number of lists that have come so far. */
uint64_t gpu_watch_list_number(const struct gpu_watch *w);

/* Ends the helpers, so that no process of the watch uses the driver; samples and events stop. */
void gpu_watch_pause(struct gpu_watch *w);
/* Starts the helpers again: the gpus are listed anew. */
void gpu_watch_resume(struct gpu_watch *w);

/* True once the first list has come, or the absence of a driver is known. */
bool gpu_watch_is_ready(const struct gpu_watch *w);

/* NULL: no driver. Borrowed until the loop runs again. */
const struct gpu_driver_info *gpu_watch_info(const struct gpu_watch *w);

/* The files of the driver; NULL: not known yet, or no driver. Borrowed until the loop runs again.
 */
const struct driver_root *gpu_watch_root(const struct gpu_watch *w);

/* Why the machine has no driver; "": it has one. */
const char *gpu_watch_problem(const struct gpu_watch *w);
const struct gpu *gpu_watch_list(const struct gpu_watch *w, size_t *ret_count);

/* NULL: unknown, or older than ten periods. */
const struct gpu_sample *gpu_watch_sample(const struct gpu_watch *w, const char *uuid);

/* The samples of the slices of the list's gpu `index`, and what containers use of it and of them,
 * both of the time of its last sample. Borrowed until the loop runs again. */
const struct gpu_sample *gpu_watch_slices(const struct gpu_watch *w, size_t index,
                                          size_t *ret_count);
const struct gpu_use *gpu_watch_uses(const struct gpu_watch *w, size_t index, size_t *ret_count);

/* Takes the oldest unread XID; false: none. on_change announces new ones. `*ret_dropped` counts the
 * XIDs lost since the start because the queue was full. */
bool gpu_watch_next_xid(struct gpu_watch *w, struct gpu_xid *ret, uint64_t *ret_dropped);

/* main() of the helper: `sample`, `events` or `shares`, then the indices of gpus to skip; other
 * tasks in helper_linux.c. */
int gpu_helper_main(int argc, char **argv);

/* struct gpu as the JSON that a node reports in its annotation mete.dev/gpus, and back. */
json_t *gpu_format_json(const struct gpu *g);
struct err *gpu_parse_json(const json_t *j, struct gpu *ret) MUST_CHECK;

/* Unknown numbers are null. The object has neither uuid nor time: the enclosing document has
 * both. */
json_t *gpu_sample_format_json(const struct gpu_sample *s);

/* The values alone, in the order of enum gpu_field, between helper and watch. */
json_t *gpu_sample_format_values(const struct gpu_sample *s);
struct gpu_sample gpu_sample_parse_values(const json_t *list);
