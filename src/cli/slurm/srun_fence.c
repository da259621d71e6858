/* srun_fence.c - what the tasks of a step put for PMI, gathered from its nodes and given to all */

#include "cli/slurm/srun_private.h"
#include "slurm/pmi_server.h"

struct err *srun_fence_take(struct srun_node *node, struct str payload)
{
    struct srun_run *r = node->run;

    if (!step_make_has_pmi(r->o->make) || node->is_fenced)
        return err_new(ERR_INVALID, "the node sent what srun does not take");
    buf_add(&r->fence, payload.at, payload.size);
    if (r->fence.overflow)
        return err_new(ERR_TOO_LARGE, "the tasks have put more than %d bytes for PMI",
                       PMI_STORE_MAX);
    if (payload.size > 0)
        return NULL;
    node->is_fenced = true; /* an empty frame is the end of its data */
    r->n_fenced++;
    if (r->n_fenced < r->n_nodes)
        return NULL;
    for (size_t i = 0; i < r->n_nodes; i++)
        r->nodes[i].is_fenced = false;
    r->n_fenced = 0;
    if (r->fence.size > 0)
        srun_send(r, STEP_FENCE, STEP_ALL_RANKS, (struct str){r->fence.at, r->fence.size});
    srun_send(r, STEP_FENCE, STEP_ALL_RANKS, (struct str){0});
    buf_done(&r->fence);
    return NULL;
}
