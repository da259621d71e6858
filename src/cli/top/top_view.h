/* top_view.h - what `mete top` knows: GPUs and a window of the jobs, as plain values */
#pragma once

#include "base/json.h"
#include "base/vec.h"

enum {
    TOP_TEXT = 64,
    TOP_REASON = 160
};

enum top_state {
    TOP_FREE,
    TOP_HELD,
    TOP_IDLE,    /* held, and the last sample shows no work */
    TOP_DRAINED, /* an administrator took it out of use */
    TOP_SICK,
    TOP_NO_ANSWER,
    TOP_STATES
};

/* A gpu, or a slice of one. Numbers are -1 where they are unknown. Texts are harmless for a
 * terminal. */
struct top_gpu {
    char node[TOP_TEXT];
    char uuid[TOP_TEXT];
    char model[TOP_TEXT];
    char holder[TOP_TEXT]; /* "job 12 train"; "": none */
    char user[TOP_TEXT];
    char health[TOP_TEXT];
    char reason[TOP_REASON]; /* of the health; "": none */
    enum top_state state;
    int64_t index;
    int64_t slice; /* -1: the whole gpu */
    int64_t utilization_pct;
    int64_t memory_used_bytes;
    int64_t memory_bytes;
    int64_t temperature_c;
    int64_t power_mw;
    int64_t sampled_ns; /* wall clock */
    int64_t since_ns;   /* of the health */
};

struct top_job {
    char id[TOP_TEXT];
    char ns[TOP_TEXT];
    char name[TOP_TEXT];
    char user[TOP_TEXT];
    char queue[TOP_TEXT];
    char state[TOP_TEXT];
    char gpus[TOP_TEXT];
    char node[TOP_TEXT];
    char reason[TOP_REASON];
    int64_t from_ns; /* the start, or the submission of a job that waits */
};

struct top_view {
    VEC(struct top_gpu) gpus; /* by node, index, slice */
    VEC(struct top_job) jobs; /* running ones first */
    size_t counts[TOP_STATES];
    bool has_more_jobs; /* beyond the window */
    int64_t at_ns;      /* wall clock */
};

/* Add what an object of the API says: a Gpu, or a Pod. */
void top_view_add_gpu(struct top_view *v, const json_t *gpu);
void top_view_add_job(struct top_view *v, const json_t *pod);
/* Sorts and counts; the view is complete. */
void top_view_end(struct top_view *v, int64_t at_ns);
void top_view_done(struct top_view *v);

const char *top_state_name(enum top_state state);

/* "no answer 14 s" for a gpu that does not answer, else its health and the reason. */
void top_gpu_trouble(const struct top_gpu *g, int64_t now_ns, char ret[TOP_REASON]);

/* The view as a JSON object; unknown is null. New reference. */
json_t *top_view_json(const struct top_view *v);
