/*
 * gpu_watch.h - the gpus of this machine, kept by helper processes with deadlines
 *
 * Two helpers (`mete gpu-helper sample|events`) speak JSON lines on pipes. One that does not answer
 * within 10 s is abandoned, not killed; the gpu that it was asked for becomes GPU_NOT_ANSWERING and
 * is left out by its successor, of which there are at most two; everything else goes on. When the
 * driver lets the abandoned one go, the gpu is asked again. A gpu
 * whose samples fail is unhealthy until they succeed again (gpu_condition.h).
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "gpu/gpu_condition.h"
#include "gpu/gpu_driver.h"

struct gpu_watch;

struct gpu_watch_options {
    struct loop *loop;
    const char *self_path;   /* the mete binary */
    const char *library;     /* of NVML; NULL: the loader's */
    const char *machine;     /* emulated: the file of gpusim_machine.h; NULL otherwise */
    int64_t sample_every_ns; /* 0: 1 s */
    int64_t deadline_ns;     /* of one answer; 0: 10 s */
    /* Something changed: the list, a health, the driver; or an XID came. */
    void (*on_change)(void *arg);
    void *arg;
};

struct err *gpu_watch_new(const struct gpu_watch_options *o, struct gpu_watch **ret) MUST_CHECK;
void gpu_watch_free(struct gpu_watch *w); /* accepts NULL */

/* False until the first list came, or it is known that there is no driver. */
bool gpu_watch_is_ready(const struct gpu_watch *w);

/* NULL where there is no driver; borrowed until the loop runs again. */
const struct gpu_driver_info *gpu_watch_info(const struct gpu_watch *w);

/* Why there is no driver, or "". */
const char *gpu_watch_problem(const struct gpu_watch *w);
const struct gpu *gpu_watch_list(const struct gpu_watch *w, size_t *ret_count);

/* NULL: unknown, or older than ten periods. */
const struct gpu_sample *gpu_watch_sample(const struct gpu_watch *w, const char *uuid);

/*
 * The oldest XID that was not read yet; false: none. On_change tells of new ones. A burst is kept
 * in the order in which it came; `*ret_dropped` counts those that found the queue full since the
 * start.
 */
bool gpu_watch_next_xid(struct gpu_watch *w, struct gpu_xid *ret, uint64_t *ret_dropped);

/* main() of the helper: `sample` or `events`, then the indices of gpus to leave alone. */
int gpu_helper_main(int argc, char **argv);

/* struct gpu as the JSON that a node reports in its annotation mete.dev/gpus, and back. */
json_t *gpu_format_json(const struct gpu *g);
struct err *gpu_parse_json(const json_t *j, struct gpu *ret) MUST_CHECK;

/* Unknown numbers are null. The uuid and the time are the carrier's to say. */
json_t *gpu_sample_format_json(const struct gpu_sample *s);
struct gpu_sample gpu_sample_parse_json(const json_t *j);
