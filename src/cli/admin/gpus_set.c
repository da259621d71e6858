/* gpus_set.c - mete gpus set: writes the annotation mete.dev/gpu-modes of nodes */

#include "cli/admin/gpus_set.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "gpu/gpu_watch.h"
#include "gpu/partition.h"
#include "kinds/pod/pod_state.h"

/* Reports of the node change the Node between our read and our write. */
enum {
    TRIES_MAX = 40
};
static const int64_t look_again_ns = 50 * NS_PER_MS;

/* A change of one node's gpus. */
struct gpus_change {
    struct cli *cli;
    struct session *session;
    const char *mode; /* text of a wish; NULL: removes the mode */
    char *node;
    const char *which; /* index or UUID; NULL: all gpus of the node */
};

/* The gpus in the Node's annotation. A new tree. */
static struct err *read_gpus(const json_t *node, json_t **ret)
{
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);

    if (!text)
        return err_new(ERR_NOT_FOUND, "the node has not reported its gpus yet");
    return json_parse(str_of(text), ret);
}

static bool is_chosen(const struct gpus_change *g, const json_t *gpu)
{
    AUTO_FREE char *index = mem_format("%" PRId64, json_int(gpu, "index", -1));

    return !g->which || text_equal(g->which, index) || text_equal(g->which, json_text(gpu, "uuid"));
}

/* Has the gpu the instances of the mode? */
static struct err *check_hardware(const struct gpus_change *g, const json_t *tree)
{
    struct gpu gpu = {0};
    struct gpu_wish wish = {0};
    struct partition_plan plan = {0};

    if (!g->mode)
        return NULL;
    TRY(gpu_parse_json(tree, &gpu));
    TRY(gpu_wish_parse(g->mode, &wish));
    if (gpu.vendor != GPU_NVIDIA && wish.kind != GPU_WISH_WHOLE)
        return err_new(ERR_INVALID, "gpu %d (%s): gpus of %s are given whole only", gpu.index,
                       gpu.product, gpu_vendor_text(gpu.vendor));
    if (wish.kind != GPU_WISH_SLICES && wish.kind != GPU_WISH_FLEXIBLE)
        return NULL;
    if (gpu.mig_mode < 0)
        return err_new(ERR_INVALID, "gpu %d (%s) has no MIG", gpu.index, gpu.product);
    gpu.n_slices = 0; /* can an empty gpu have these slices? */
    gpu.mig_mode = 0;
    wish.is_asked = true;
    return partition_plan_make(&gpu, &wish, NULL, 0, &plan);
}

/* Puts the mode of the chosen gpus into `modes`; counts them. */
static struct err *change_modes(const struct gpus_change *g, const json_t *gpus, json_t *modes,
                                size_t *ret_count)
{
    size_t n = 0;
    json_t *gpu;
    size_t i;

    json_array_foreach (gpus, i, gpu) {
        const char *uuid = json_text(gpu, "uuid");

        if (!uuid || !is_chosen(g, gpu))
            continue;
        TRY(check_hardware(g, gpu));
        json_put_text(modes, uuid, g->mode);
        n++;
    }
    if (n == 0)
        return err_new(ERR_NOT_FOUND, "node %s has no gpu %s", g->node, g->which ? g->which : "");
    *ret_count = n;
    return NULL;
}

static struct err *send_modes(const struct gpus_change *g, const json_t *node, json_t *modes)
{
    AUTO_FREE char *path = path_format("/api/v1/nodes/%s", g->node);
    AUTO_FREE char *text = json_object_size(modes) > 0 ? json_format(modes) : NULL;
    AUTO(json_freep) json_t *patch = json_object();
    json_t *meta = json_object_at(patch, "metadata");
    const struct call call = {.method = "PATCH",
                              .path = path,
                              .content_type = "application/merge-patch+json",
                              .body = patch};

    json_put_text(meta, "resourceVersion", json_text_at(node, "metadata", "resourceVersion", NULL));
    json_put(json_object_at(meta, "annotations"), NODE_GPU_MODES,
             text ? json_string(text) : json_null());
    return session_call(g->session, &call, NULL);
}

static struct err *change_once(const struct gpus_change *g, size_t *ret_count)
{
    AUTO_FREE char *path = path_format("/api/v1/nodes/%s", g->node);
    AUTO(json_freep) json_t *node = NULL;
    AUTO(json_freep) json_t *gpus = NULL;
    AUTO(json_freep) json_t *modes = NULL;
    const char *text;

    TRY(session_get(g->session, path, &node));
    TRY(read_gpus(node, &gpus));
    text = json_text_at(node, "metadata", "annotations", NODE_GPU_MODES, NULL);
    if (text)
        err_free(json_parse(str_of(text), &modes)); /* a damaged annotation is replaced */
    if (!json_is_object(modes)) {
        json_decref(modes);
        modes = json_object();
    }
    TRY(change_modes(g, gpus, modes, ret_count));
    return send_modes(g, node, modes);
}

static void gpus_set_on_time(void *arg)
{
    session_stop(arg);
}

static struct err *wait_a_moment(struct session *s)
{
    struct loop_timer *timer = loop_timer_new(session_loop(s), gpus_set_on_time, s);
    struct err *e = NULL;

    loop_timer_set(timer, look_again_ns);
    e = session_run(s);
    loop_timer_free(timer);
    return e;
}

static struct err *change_node(const struct gpus_change *g)
{
    AUTO(err_freep) struct err *e = NULL;
    size_t n = 0;

    for (int i = 0; i < TRIES_MAX; i++) {
        err_free(e);
        e = change_once(g, &n);
        if (!e || err_code(e) != ERR_CONFLICT)
            break;
        TRY(wait_a_moment(g->session));
    }
    if (e)
        return TAKE(e);
    cli_say(g->cli, "%zu gpu%s of node %s: %s", n, n == 1 ? "" : "s", g->node,
            g->mode ? g->mode : "as configured");
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
        struct str rest = str_of(c->in->arguments.at[i]);
        struct str node = str_cut(&rest, '/');
        AUTO_FREE char *name = mem_strndup(node.at, node.size);
        const struct gpus_change g = {.cli = c,
                                      .session = s,
                                      .mode = text_equal(mode, "default") ? NULL : text,
                                      .node = name,
                                      .which = rest.at};

        TRY(change_node(&g));
    }
    return NULL;
}
