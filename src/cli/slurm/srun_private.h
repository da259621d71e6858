/* srun_private.h - the run of a step by srun */
#pragma once

#include "cli/slurm/srun.h"
#include "cli/term/keyboard.h"
#include "client/remote.h"
#include "slurm/step_frame.h"

struct srun_run;

struct srun_node {
    struct srun_run *run;
    size_t i;
    struct remote *remote;
    struct buf received; /* of stdout, not read yet */
    struct buf pmix;     /* of messages of PMIx, not read yet */
    bool is_over;
    bool is_fenced; /* its tasks wait for those of the other nodes, by PMI */
};

/* A fence of PMIx that some of its nodes wait at. */
struct srun_pmix_fence {
    struct buf ranks; /* as PMIX_MESSAGE_FENCE has them; none: all of the step */
    uint32_t n_ranks;
    bool *wants;    /* of each node: it has ranks of the fence */
    bool *has_come; /* likewise: its data is here */
    size_t n_wanted;
    size_t n_come;
    int32_t status; /* of the first node that has one */
    struct buf data;
};

/* A request of PMIx that a node has not answered yet. */
struct srun_pmix_ask {
    uint32_t number; /* ours */
    uint32_t number_of_asker;
    size_t asker; /* node */
    size_t node;  /* of the rank */
};

struct srun_task {
    size_t node;
    bool is_over;
    bool is_unreported; /* its end was not told yet */
    bool has_core;
    int code;
    int signal;
};

struct srun_run {
    const struct srun_run_options *o;
    struct srun_end *end;
    struct srun_node *nodes;
    size_t n_nodes;
    size_t n_nodes_over;
    struct srun_task *tasks; /* by rank */
    size_t n_over;
    struct buf fence; /* what the nodes have put for PMI */
    size_t n_fenced;
    VEC(struct srun_pmix_fence *) pmix_fences;
    VEC(struct srun_pmix_ask) pmix_asks;
    uint32_t pmix_number; /* of the next request */
    struct srun_output *output;
    struct keyboard *keyboard;
    int input_fd;        /* -1: no input */
    uint32_t input_rank; /* STEP_ALL_RANKS: all tasks */
    struct loop_timer *report_timer;
    struct loop_timer *wait_timer;
    struct loop_timer *abort_timer;
    struct loop_timer *renew_timer;
    char *renewal; /* the patch that is on its way */
    int64_t interrupted_ns;
    int64_t passed_ns; /* an interrupt went to the tasks */
    bool has_wait;     /* --wait */
    bool is_killed;
};

/* srun_input_linux.c: where the input of tasks comes from: `*ret_fd` -1: nowhere. */
struct err *srun_input_open(const struct slurm_submit *submit, const struct step_make *make,
                            int *ret_fd, uint32_t *ret_rank) MUST_CHECK;
void srun_input_close(int fd);

/* srun_run.c: sends a frame to the nodes of `rank`. */
void srun_send(struct srun_run *r, char kind, uint32_t rank, struct str payload);

void srun_send_node(struct srun_node *node, char kind, uint32_t rank, struct str payload);

/* srun_pmix.c: takes bytes of messages of PMIx of a node. */
struct err *srun_pmix_take(struct srun_node *node, struct str payload) MUST_CHECK;
/* Ends the nodes' PMIx servers, once all tasks of the step are over. */
void srun_pmix_end(struct srun_run *r);
/* A node is gone: those who asked it get no answer of it. */
void srun_pmix_lose(struct srun_run *r, size_t node);
void srun_pmix_done(struct srun_run *r);

/* srun_fence.c: takes what the tasks of a node have put for PMI; when all nodes have, all get it.
 */
struct err *srun_fence_take(struct srun_node *node, struct str payload) MUST_CHECK;

/* srun.c: the sign of life. */
void srun_renew(struct srun_run *r);
