/* gpus_set.c - mete gpus set: writes the annotation mete.dev/gpu-modes of nodes */

#include "cli/admin/gpus_set.h"

#include "base/mem.h"
#include "cli/admin/gpu_annotation.h"
#include "cli/commands.h"
#include "gpu/gpu_watch.h"
#include "gpu/partition.h"
#include "kinds/pod/pod_state.h"

/* Has the gpu the instances of the mode? */
static struct err *check_hardware(const char *mode, const json_t *tree)
{
    struct gpu gpu = {0};
    struct gpu_wish wish = {0};
    struct partition_plan plan = {0};

    if (!mode)
        return NULL;
    TRY(gpu_parse_json(tree, &gpu));
    TRY(gpu_wish_parse(mode, &wish));
    if (gpu.vendor != GPU_NVIDIA && wish.kind != GPU_WISH_WHOLE)
        return err_new(ERR_INVALID, "gpu %d (%s): gpus of %s are given whole only%s", gpu.index,
                       gpu.product, gpu_vendor_text(gpu.vendor),
                       gpu.vendor == GPU_AMD ? "; computePartition and memoryPartition are read "
                                               "only: `amd-smi set --compute-partition` divides a "
                                               "board"
                                             : "");
    if (wish.kind != GPU_WISH_SLICES && wish.kind != GPU_WISH_FLEXIBLE)
        return NULL;
    if (gpu.mig_mode < 0)
        return err_new(ERR_INVALID, "gpu %d (%s) has no MIG", gpu.index, gpu.product);
    gpu.n_slices = 0; /* can an empty gpu have these slices? */
    gpu.mig_mode = 0;
    wish.is_asked = true;
    return partition_plan_make(&gpu, &wish, NULL, 0, &plan);
}

/* Puts the mode (NULL: none) of the gpu into `modes`. */
static struct err *set_mode(void *arg, const json_t *gpu, json_t *modes)
{
    const char *mode = arg;

    TRY(check_hardware(mode, gpu));
    json_put_text(modes, json_text(gpu, "uuid"), mode);
    return NULL;
}

struct err *gpus_set(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    const char *mode = flag_text(c->in, "mode");
    struct gpu_wish wish = {0};
    char text[GPU_WISH_TEXT_SIZE];

    if (!mode || c->in->arguments.n < 2)
        return cli_usage(c, "gpus set needs NODE or NODE/GPU, and --mode");
    if (!text_equal(mode, "default")) {
        AUTO(err_freep) struct err *e = gpu_wish_parse(mode, &wish);

        if (e)
            return cli_usage(c, "--mode: %s", err_message(e));
        gpu_wish_format(&wish, text);
    }
    TRY(session_open(c, &s));
    for (size_t i = 1; i < c->in->arguments.n; i++) {
        AUTO_FREE char *node = NULL;
        struct gpu_edit g = {.session = s,
                             .annotation = NODE_GPU_MODES,
                             .edit = set_mode,
                             .arg = text_equal(mode, "default") ? NULL : text};
        size_t n = 0;

        gpu_target_split(c->in->arguments.at[i], &node, &g.which);
        g.node = node;
        TRY(gpu_annotation_edit(&g, &n));
        cli_say(c, "%zu gpu%s of node %s: %s", n, n == 1 ? "" : "s", node,
                g.arg ? text : "as configured");
    }
    return NULL;
}
