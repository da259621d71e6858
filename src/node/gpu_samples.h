/*
 * gpu_samples.h - samples of gpus: judged for memory that nobody holds, charged to attempts, and
 * sent to the server
 */
#pragma once

#include "base/loop.h"
#include "gpu/gpu_watch.h"
#include "node/gpu_charge.h"
#include "node/gpu_incidents.h"
#include "node/pod/pods.h"
#include "node/stats.h"

/* What was done with samples so far. {0}: nothing. Free with gpu_samples_done. */
struct gpu_samples {
    int64_t judged_ns; /* monotonic, like the next */
    int64_t taken_ns;
    struct gpu_marks marks; /* the last sample of each gpu */
};

/* The parts of the node that samples concern. Borrowed. */
struct gpu_samples_of {
    struct loop *loop;
    struct gpu_watch *gpus;
    struct gpu_incidents *incidents;
    struct pods *pods;
    struct stats *stats; /* NULL: nobody listens */
};

/* Judges the samples since the last call. True: the health of a gpu has changed. */
bool gpu_samples_judge(struct gpu_samples *s, const struct gpu_samples_of *of);
/* Charges and sends the samples since the last call, of gpus, slices and containers; sends the XIDs
 * of gpus. */
void gpu_samples_take(struct gpu_samples *s, const struct gpu_samples_of *of);
void gpu_samples_done(struct gpu_samples *s);
