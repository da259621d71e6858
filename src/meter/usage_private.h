/* usage_private.h - a usage report in the making */
#pragma once

#include "meter/meter_private.h"

/* A sum for one combination of the question's `by`; other texts are "". */
struct group {
    struct map_handle handle;
    char *key; /* its texts, joined by bytes 1 */
    char *texts[BY_COUNT];
    int64_t n_attempts;
    int64_t n_running;
    char *job_name; /* by job: "NAMESPACE/NAME"; else NULL */
    struct gpu_sums gpu;
    struct amount cpu;
    int64_t memory_kib_seconds;
    int64_t cost_micro; /* of cpu and memory */
    bool has_cpu;       /* known for at least one attempt */
    bool has_memory;
};

struct used_gpu {
    struct map_handle handle;
    char *uuid;
    char *model;
    VEC(struct account_span) held;
    VEC(struct account_span) up;
    VEC(struct account_span) out;
};

struct usage_report {
    struct report report;
    struct meter *meter;
    struct question q;
    struct prices *prices;
    char *price_error;
    struct loop_timer *timer;
    report_done_fn done;
    void *arg;
    int64_t now_ns;
    int64_t revision;             /* at the start: later rows do not count */
    bool are_rows_read;           /* then come the stretches */
    char after[ACCOUNT_KEY_SIZE]; /* key of the last row, then of the last stretch */
    struct store_list placements; /* at the start */
    size_t next_placement;
    struct group *groups;
    size_t n_groups;
    struct group total;
    bool is_idle_first; /* groups with idle gpus alone, the most idle first */
    struct used_gpu *gpus;
};

/* usage_answer.c: the report as JSON. A new reference. */
json_t *usage_report_tree(const struct usage_report *r);
