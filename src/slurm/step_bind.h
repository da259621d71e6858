/*
 * step_bind.h - which gpus and cpus a task of a step gets: --gpu-bind and --cpu-bind
 *
 * https://slurm.schedmd.com/srun.html. A list may repeat an entry, "0*3,2", and begins anew when
 * the node has more tasks than entries.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "slurm/step_plan.h"

enum step_bind_kind {
    STEP_BIND_NONE,     /* all of the step's gpus; not bound to cpus */
    STEP_BIND_SINGLE,   /* one gpu for `count` tasks */
    STEP_BIND_PER_TASK, /* `count` gpus for each task, which no other task has */
    STEP_BIND_MAP,      /* the numbers of the list, one for each task */
    STEP_BIND_MASK      /* the bits of the list's masks */
};

struct step_bind {
    enum step_bind_kind kind;
    int64_t count;
    VEC(uint64_t) list;
};

/* ERR_INVALID: malformed. "none" and "closest" are STEP_BIND_NONE. `*ret` must be empty. */
struct err *step_gpu_bind_read(const char *text, struct step_bind *ret) MUST_CHECK;

/* "map_cpu" and "mask_cpu" bind; `*ret_has_effect` is false for the other words, which name what
 * this machine does not choose. ERR_INVALID: malformed. */
struct err *step_cpu_bind_read(const char *text, struct step_bind *ret,
                               bool *ret_has_effect) MUST_CHECK;
void step_bind_done(struct step_bind *b);

/* The gpus of the `local`-th task of the node out of `gpus`, the step's. */
void step_bind_gpus(const struct step_bind *b, size_t local, const struct step_numbers *gpus,
                    struct step_numbers *ret);
/* The cpus of the `local`-th task; none: not bound. */
void step_bind_cpus(const struct step_bind *b, size_t local, struct step_numbers *ret);
