/*
 * slurm_step.h - steps of Slurm jobs: a SlurmStep (kind/kind_slurmstep.c) is what one srun runs
 *
 * The server names it "JOB.NUMBER" ("JOB-INDEX.NUMBER" in an array), and gives it cpus and gpus of
 * the job that no other running step holds, unless one of the two overlaps. srun renews its sign of
 * life, writes the end, and starts the tasks by pods/exec. A step whose pod is over, or whose srun
 * is silent, holds nothing.
 */
#pragma once

#include "base/json.h"

enum {
    SLURM_STEP_NODES_MAX = 4096,
    SLURM_STEPS_MAX = 10000,  /* of a job */
    SLURM_STEP_RENEW_S = 60,  /* srun's sign of life */
    SLURM_STEP_SILENT_S = 180 /* without one the step counts as ended */
};

/* The command by which pods/exec starts the manager of a step: the node runs its own program. A
 * second word, the step's number, names its cgroup for signals (pods/signal). */
#define SLURM_STEP_PROGRAM "mete-step"
/* With a third word it prints what the step's tasks use on the node: {"tasks":[...]}. */
#define SLURM_STEP_USE "use"
/* With this one it passes frames (slurm/step_frame.h) to and from the manager of the step. */
#define SLURM_STEP_ATTACH "attach"

/* The words by which srun knows that it may try again. */
#define SLURM_STEP_BUSY "Requested nodes are busy"

/* The members of the step that the rows "steps" (slurm_rows.h) and those of accounting have;
 * `state` is absent while it has no end. New reference. */
json_t *slurm_step_row(const json_t *step);

/*
 * The steps that ended, for accounting: internal objects of the group "mete.dev", never served,
 * slurmstepends//JOB.STEP with the row of the step. `step` -1: the text before all of the job.
 */
#define SLURM_STEP_ENDS "slurmstepends"
enum {
    SLURM_STEP_KEY_SIZE = 64
};
void slurm_step_key(int64_t job_id, int64_t step, char ret[SLURM_STEP_KEY_SIZE]);
