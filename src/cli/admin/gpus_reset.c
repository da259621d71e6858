/* gpus_reset.c - mete gpus reset: writes the request into the annotation mete.dev/gpu-care */

#include "cli/admin/gpus_reset.h"

#include "base/mem.h"
#include "cli/admin/drain_gpu.h"
#include "cli/admin/gpu_annotation.h"

struct err *gpus_reset(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(drain_gpu_done) struct drain_gpu gpu = {0};
    AUTO_FREE char *node = NULL;

    if (c->in->arguments.n != 2)
        return cli_usage(c, "gpus reset needs NODE/GPU");
    gpu_target_split(c->in->arguments.at[1], &node, &gpu.which);
    gpu.node = node;
    if (!gpu.which)
        return cli_usage(c, "gpus reset needs NODE/GPU: a GPU by its index or UUID");
    TRY(session_open(c, &s));
    TRY(drain_gpu_reset(s, &gpu));
    cli_say(c, "%s is reset now, unless a pod holds it, and then checked%s", gpu.name,
            gpu.is_drained ? "; it stays drained until mete resume"
                           : "; if it passes, jobs start on it again");
    return NULL;
}
