/*
 * slurm_gres.h - what slurm.conf and gres.conf want of the gpus of a node
 *
 * Types of gpus are names for the node's model. MIG profiles are slices: a gpu that is whole is
 * divided so that the node has them. https://slurm.schedmd.com/gres.conf.html
 */
#pragma once

#include "base/json.h"

/* gpu, shard and mps; jobs that ask for other resources are refused. */
bool slurm_gres_is_known(const char *name);
#define SLURM_GRES_UNKNOWN "Mete has no such resource: jobs that ask for it are refused"

/* The facts of a node. Borrowed; NULL: absent. */
struct slurm_gres_node {
    const char *gres;    /* Gres= of the node's line */
    const json_t *lines; /* of gres.conf that are about the node, an array of arrays */
    const json_t *gpus;  /* as the node reports them (gpu/gpu_json.h) */
    const json_t *modes; /* wishes for gpus by uuid (docs/gpus.md) */
    const json_t *given; /* the wishes among them that an earlier plan gave */
};

/* {0} is empty; slurm_gres_plan_done frees it. */
struct slurm_gres_plan {
    json_t *modes;  /* wishes for gpus, {"GPU-...": "slices=1g.10gb:7"} */
    int64_t wanted; /* gpus and slices */
    int64_t slices; /* of these */
    int64_t found;  /* of these, those that the node has or can have */
};

/* Divides gpus as the files want. Wishes that others gave stay. */
void slurm_gres_plan(const struct slurm_gres_node *n, struct slurm_gres_plan *ret);
void slurm_gres_plan_done(struct slurm_gres_plan *p);

/* The types of gpus that the files give the node, in lower case and without MIG profiles, as keys
 * of `to`. */
void slurm_gres_add_types(const char *gres, const json_t *lines, json_t *to);
