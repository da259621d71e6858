/*
 * gpu_charge.h - what attempts used of their gpus from one sample of a gpu to the next: busy and
 * idle time, energy, memory
 *
 * A running container holds its devices, busy or not. Its busy time is what it used of the gpu's
 * compute, up to the part that it holds; the rest is idle; where the driver does not tell, the time
 * is neither. The energy of a gpu is divided among its holders and foreign programs by the compute
 * that each uses, or by the parts held while none works: the parts add up to the gpu's.
 */
#pragma once

#include "client/node_stats.h"
#include "node/pod/pods.h"

/* A part of a gpu that a container held between two samples. */
struct gpu_part_held {
    int64_t ns;         /* of the time between the samples */
    int64_t held_milli; /* the part, as accounting counts it */
    int64_t sm_milli;   /* compute used, in 1/1000 of the device's; -1: unknown */
    int64_t full_milli; /* the device's compute, in the measure of held_milli */
    int64_t size_milli; /* the device's compute, in 1/1000 of its gpu's */
};

/* The busy time of the part, by its size; -1: unknown. Idle is the rest. */
int64_t gpu_part_busy_ns(const struct gpu_part_held *p);
/* The whole time of the part, by its size. */
int64_t gpu_part_ns(const struct gpu_part_held *p);

/*
 * Divides `energy_mj` of one gpu among its parts, into ret_mj[n]. Foreign programs used
 * `foreign_milli` of the gpu's compute, and get the rest.
 */
void gpu_energy_divide(int64_t energy_mj, int64_t foreign_milli, const struct gpu_part_held *parts,
                       size_t n, int64_t *ret_mj);

/* The last sample of a gpu. */
struct gpu_mark {
    char uuid[GPU_TEXT_SIZE];
    int64_t at_ns; /* monotonic */
    int64_t energy_mj;
};

/* The last samples of all gpus. {0}: none; what was before is unknown. */
struct gpu_marks {
    VEC(struct gpu_mark) all;
};

void gpu_marks_done(struct gpu_marks *m);

/* Adds what the running containers used since the marks to their attempts; `s` has the new samples
 * of gpus (with monotonic times) and slices, and the containers on both. */
void gpu_charge(struct gpu_marks *m, const struct pods *pods, const struct node_stats *s);
