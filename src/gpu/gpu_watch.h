/*
 * gpu_watch.h - the gpus of this machine, kept by helper processes with deadlines
 *
 * Two helpers (`mete gpu-helper --sample|--events`) speak JSON lines on a pipe. One that does not answer within
 * 2 s is late, within 10 s abandoned (not killed), at most 2 more are started; its gpus become GPU_NOT_ANSWERING and
 * everything else goes on.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "gpu/gpu_driver.h"

struct gpu_watch;

struct gpu_watch_options {
    struct loop *loop;
    const char *self_path;   /* the mete binary */
    const char *library;     /* NULL: the loader's */
    const char *profile;     /* emulated: path of the profile file, set as METE_GPUSIM_PROFILE; NULL otherwise */
    int lifeline_fd;         /* given to the helpers: they end at its EOF; -1: none */
    int64_t sample_every_ns; /* 0: 1 s */
    /* Something changed: the list, a health, the driver. */
    void (*on_change)(void *arg);
    void *arg;
};

struct err *gpu_watch_new(const struct gpu_watch_options *o, struct gpu_watch **ret) MUST_CHECK;
void gpu_watch_free(struct gpu_watch *w);

/* False until the first list came, or it is known that there is no driver. */
bool gpu_watch_is_ready(const struct gpu_watch *w);
/* NULL where there is no driver; borrowed until the loop runs again. */
const struct gpu_driver_info *gpu_watch_info(const struct gpu_watch *w);
const struct gpu *gpu_watch_list(const struct gpu_watch *w, size_t *ret_count);
const struct gpu_sample *gpu_watch_sample(const struct gpu_watch *w, const char *uuid); /* NULL: unknown or stale */

/* main() of the helper. */
int gpu_helper_main(int argc, char **argv);

/* struct gpu as the JSON that a node reports in its annotation mete.dev/gpus, and back. */
json_t *gpu_format_json(const struct gpu *g);
struct err *gpu_parse_json(const json_t *j, struct gpu *ret) MUST_CHECK;
