/* engine_bench.h - what the figures of bench_engine share: clusters, jobs, time, a line of JSON */
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
    const char *figure; /* only this one; NULL: all */
    size_t nodes;       /* 0: what the figure says */
    uint64_t turns;     /* 0: what the figure says */
    const char *pods;   /* list of an openb trace; NULL: a mix made of a seed */
    const char *values; /* table of policy mete; NULL: none, it places as fgd does */
};

/* One figure: runs, and says its lines. */
typedef void (*bench_fn)(const struct bench *b);

/* The same numbers in every run. */
uint64_t bench_random(void);

/* The end of the program where the engine or a file refuses what it must take. */
void bench_need(enum mete_result result);
void bench_need_not(struct err *e);

/* `nodes` nodes "node-00000" of 8 gpus, labeled with a rack of 200 and a block of 1,000. */
struct mete_engine *bench_cluster(const struct mete_options *options, size_t nodes);
/* The same, whose gpus may be cut into MIG slices. */
struct mete_engine *bench_flexible_cluster(const struct mete_options *options, size_t nodes);

/* What a job of these figures is; {0} apart from id and pods is a pod of no gpu. */
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
 * Nanoseconds of this thread's processor time that `run` took. Everything that is measured goes
 * through here, so that callgrind can count by --toggle-collect=bench_time alone.
 */
int64_t bench_time(void (*run)(void *arg), void *arg);

/* `count` things took `ns`. */
void bench_say_rate(const char *figure, size_t nodes, uint64_t count, int64_t ns);
/* One took this long, in ms; `count` of them ran. */
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
void bench_memory(const struct bench *b);
void bench_why(const struct bench *b);
