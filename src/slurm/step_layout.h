/*
 * step_layout.h - which tasks of a step run on which node
 *
 * Distributions have the results of Slurm's select plugin and step layout:
 * https://slurm.schedmd.com/srun.html, --distribution.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/vec.h"

enum step_distribution {
    STEP_BLOCK,    /* as many tasks on each node as with STEP_CYCLIC, with consecutive ranks */
    STEP_CYCLIC,   /* ranks go round the nodes one by one */
    STEP_PLANE,    /* ranks go round the nodes in groups */
    STEP_ARBITRARY /* each rank has its node by a list */
};

enum {
    STEP_TASKS_MAX = 1 << 16,
    STEP_NODES_MAX = 1 << 12
};

struct step_request {
    const int64_t *cpus;    /* of each node for this step */
    size_t nodes;           /* at least 1 */
    int64_t tasks;          /* at least 1 */
    int64_t cpus_per_task;  /* at least 1 */
    int64_t tasks_per_node; /* the most on a node; 0: not limited */
    bool is_overcommitted;  /* a cpu may have several tasks */
    enum step_distribution distribution;
    int64_t plane_size;      /* of STEP_PLANE */
    const size_t *arbitrary; /* of STEP_ARBITRARY: the node of each rank */
};

struct step_node_tasks {
    VEC(uint32_t) ranks; /* ascending */
};

struct step_layout {
    VEC(struct step_node_tasks) nodes;
};

/* ERR_INVALID, in the words of srun: the tasks do not fit. `*ret`, which must be empty, changes on
 * success only; a node may have no tasks. */
struct err *step_layout_make(const struct step_request *r, struct step_layout *ret) MUST_CHECK;
void step_layout_done(struct step_layout *l);

/* "2(x3),1": the counts of tasks, as SLURM_TASKS_PER_NODE has them. The caller frees it. */
char *step_layout_counts(const struct step_layout *l);

/*
 * "(vector,(0,2,4))": the nodes of the ranks as MPICH's PMI_process_mapping has them, each part
 * with the first node, how many nodes, and how many consecutive ranks on each; the parts are
 * repeated until all ranks have a node. The caller frees it.
 */
char *step_layout_mapping(const struct step_layout *l);

/* Adds the variables of a distribution to an array of NAME=VALUE: the size of "plane=2" has one of
 * its own. NULL: none. */
void step_distribution_put(const char *text, json_t *to);

/* Reads "block", "cyclic", "plane=4", "arbitrary" or "*", with the parts for sockets and cores
 * behind ':' and ','. False: malformed. */
bool step_distribution_read(const char *text, enum step_distribution *ret, int64_t *ret_plane);
