/* usage_private.h - a usage report in the making */
#pragma once

#include "meter/advice.h"
#include "meter/meter_private.h"

/* What advice about a job rests on. A value; {0}: nothing yet. */
struct job_facts {
    struct advice_need need; /* of its attempts; used_milli is not set */
    bool is_mixed;           /* the attempts held different things: no size is advised */
    int64_t held_ns;         /* of gpus, as need.held_milli counts them */
    int64_t known_ns;        /* of it, busy or idle */
    int64_t busy_ns;
    int64_t now_milli;   /* parts of gpus that running attempts hold and leave idle */
    int64_t idle_for_ns; /* the longest of them */
    int64_t idle_ns;     /* gpu time since they were last busy */
    int64_t cpu_ns;      /* of attempts that asked for cpu, for: */
    int64_t cpu_wall_ns;
    int64_t cpu_milli;    /* asked for, the most; 0: nothing, as the following */
    int64_t memory_bytes; /* asked for, the most */
    int64_t memory_wall_ns;
    int64_t memory_peak_bytes;
};

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
    struct job_facts facts; /* of a report of advice */
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
    bool is_waiting; /* no container of the open attempt at hand runs */
    bool is_advice;
    int64_t least_ns; /* advice rests on at least this long */
    struct store_list nodes;
    size_t next_node;
    struct advice_sizes sizes;
};

/* advice_report.c */
/* Adds an attempt to the facts of its job. */
void facts_take(const struct usage_report *r, struct job_facts *f, const struct account_row *row,
                const struct share *s);
/* Reads what the next few nodes offer. False: all nodes have been read. */
bool usage_step_nodes(struct usage_report *r);
json_t *advice_report_tree(const struct usage_report *r);

/* Begins a report of the usage, or of advice. */
struct err *usage_report_begin(struct meter *m, const struct report_question *q,
                               const char *const *known, struct usage_report **ret) MUST_CHECK;
/* Lets a begun report go on in the loop, and answer by `done`. */
void usage_report_go(struct usage_report *r, report_done_fn done, void *arg, struct report **ret);

/* usage_answer.c: the report as JSON. A new reference. */
json_t *usage_report_tree(const struct usage_report *r);
void usage_put_time(json_t *o, const char *key, int64_t ns);
