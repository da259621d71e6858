/* engine_bench.h - shared parts of bench_engine's figures: clusters, jobs, time, lines of JSON */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "mete/engine.h"

enum {
    GPUS = 8, /* of a node */
    NS_PER_MS = 1000000
};

struct bench {
    const char *figure; /* the only figure to run; NULL: all */
    size_t nodes;       /* 0: the figure's default */
    uint64_t turns;     /* 0: the figure's default */
    const char *pods;   /* pod list of an openb trace; NULL: a generated mix */
    const char *values; /* table of policy mete; NULL: none, the policy places as fgd */
};

/* Runs a figure, and prints its lines. */
typedef void (*bench_fn)(const struct bench *b);

/* The same numbers in every run. */
uint64_t bench_random(void);

/* End the program when the call failed. */
void bench_need(enum mete_result result);
void bench_need_not(struct err *e);

/* `nodes` nodes "node-00000" of 8 gpus, labeled with a rack of 200 and a block of 1,000. */
struct mete_engine *bench_cluster(const struct mete_options *options, size_t nodes);
/* The same, with gpus that can be cut into MIG slices. */
struct mete_engine *bench_flexible_cluster(const struct mete_options *options, size_t nodes);

/* A job. With id and pods alone it asks for no gpu. */
struct bench_job {
    uint64_t id;
    const char *queue;
    uint32_t pods;
    uint32_t gpus;
    uint32_t gpu_milli;
    int64_t gpu_bytes;
    const char *profile; /* one slice, in place of gpus */
    int64_t cpu_milli;
    int64_t limit_ns;
    int32_t priority;
    const struct mete_domain *domains;
    size_t n_domains;
};

void bench_add(struct mete_engine *e, const struct bench_job *job);

/*
 * The cpu time of this thread for `run`, in ns. All measured work goes through this function, so
 * that callgrind can count with --toggle-collect=bench_time alone.
 */
int64_t bench_time(void (*run)(void *arg), void *arg);

/* Prints a rate: `count` operations took `ns`. */
void bench_say_rate(const char *figure, size_t nodes, uint64_t count, int64_t ns);
/* Prints the mean time of `count` operations, in ms. */
void bench_say_ms(const char *figure, size_t nodes, uint64_t count, int64_t ns);
void bench_say(const char *figure, size_t nodes, double value, const char *unit);

/* engine_steady.c */
void bench_steady_openb(const struct bench *b);
void bench_steady_binpack(const struct bench *b);
void bench_steady_one(const struct bench *b);
void bench_steady_shares(const struct bench *b);
void bench_steady_slices(const struct bench *b);
void bench_steady_queues(const struct bench *b);

/* engine_gangs.c */
void bench_gangs(const struct bench *b);
void bench_gang_preempts(const struct bench *b);

/* engine_waiting.c */
void bench_plan(const struct bench *b);
void bench_backlog(const struct bench *b);
void bench_queues(const struct bench *b);
void bench_memory(const struct bench *b);
void bench_why(const struct bench *b);
