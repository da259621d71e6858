/* top_view.h - the GPUs that `mete top` knows, as plain values */
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

struct top_view {
    VEC(struct top_gpu) gpus;  /* by node, index, slice */
    size_t counts[TOP_STATES]; /* also of gpus that are not in `gpus` */
    int64_t at_ns;             /* wall clock */
    bool is_whole;             /* all gpus are in `gpus` */
};

/* Adds an item of the wall (meter/wall.h). */
void top_view_add_gpu(struct top_view *v, const json_t *item);
/* Takes the counts of an answer without items. */
void top_view_take_counts(struct top_view *v, const json_t *counts);
/* All gpus are there: sorts and counts them. */
void top_view_end(struct top_view *v, int64_t at_ns);
size_t top_view_count(const struct top_view *v); /* of all states */
void top_view_done(struct top_view *v);

const char *top_state_name(enum top_state state);

/* "no answer 14 s" for a gpu that does not answer, else its health and the reason. */
void top_gpu_trouble(const struct top_gpu *g, int64_t now_ns, char ret[TOP_REASON]);

/* The view as a JSON object, with `jobs`, an answer of the list of jobs (NULL: none); unknown is
 * null. New reference. */
json_t *top_view_json(const struct top_view *v, const json_t *jobs);
