/*
 * advice.h - the smallest size of the cluster that would do for a job, by what the job used
 *
 * A size that is offered has a tenth more memory than the job ever used, and a quarter more compute
 * than the job used on average, and costs at most four fifths of what the job holds.
 */
#pragma once

#include "base/json.h"
#include "base/vec.h"
#include "meter/prices.h"
#include "model/device.h"

/* A size in which a node gives gpus of a model. */
struct advice_size {
    enum device_kind kind; /* DEVICE_WHOLE, which is given in capped shares, too; DEVICE_SLICE */
    bool is_shareable;
    char model[GPU_TEXT_SIZE];
    char profile[MIG_NAME_SIZE]; /* slice */
    int64_t memory_bytes;
};

/* The sizes that exist on the cluster, each once. {0}: none. */
struct advice_sizes {
    VEC(struct advice_size) all;
};

void advice_sizes_done(struct advice_sizes *s);
/* Adds the sizes of a gpu as a node reports it (gpu_format_json). */
void advice_sizes_add(struct advice_sizes *s, const json_t *gpu);

/* What a job held, and what it used of that. */
struct advice_need {
    const char *model;
    int64_t n_gpus;        /* devices of an attempt */
    int64_t held_milli;    /* of them, in 1/1000 of a gpu */
    int64_t used_milli;    /* compute used on average, in the same measure */
    int64_t memory_bytes;  /* the most used, on all devices */
    enum device_kind kind; /* of the devices */
};

enum advice_kind {
    ADVICE_SHARE,
    ADVICE_SLICE,
    ADVICE_FEWER, /* whole gpus */
    ADVICE_MODEL  /* another model, whose compute is not compared */
};

const char *advice_kind_text(enum advice_kind k);

struct advice {
    enum advice_kind kind;
    char ask[GPU_TEXT_SIZE + 64]; /* for --gpus: "20Gi", "mig-2g.20gb", "1", "t4:1" */
    int64_t cost_milli;           /* its cost, in 1/1000 of a gpu of the job's model */
};

/* Finds the cheapest size that would do. False: what the job holds is right. `p` NULL: no prices;
 * other models are not offered then. */
bool advice_find(const struct advice_sizes *sizes, const struct advice_need *need,
                 const struct prices *p, struct advice *ret);
