/* gpu_annotation.c - reads a Node, edits the annotation of its gpus, and writes it back */

#include "cli/admin/gpu_annotation.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/pod/pod_state.h"

/* Reports of the node change the Node between our read and our write. */
enum {
    TRIES_MAX = 40
};
static const int64_t look_again_ns = 50 * NS_PER_MS;

void gpu_target_split(const char *target, char **ret_node, const char **ret_which)
{
    struct str rest = str_of(target);
    struct str node = str_cut(&rest, '/');

    *ret_node = mem_strndup(node.at, node.size);
    *ret_which = rest.at;
}

/* The gpus in the Node's annotation. A new tree. */
static struct err *read_gpus(const json_t *node, json_t **ret)
{
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);

    if (!text)
        return err_new(ERR_NOT_FOUND, "the node has not reported its gpus yet");
    return json_parse(str_of(text), ret);
}

static bool is_chosen(const struct gpu_edit *g, const json_t *gpu)
{
    AUTO_FREE char *index = mem_format("gpu%" PRId64, json_int(gpu, "index", -1));

    return !g->which || text_equal(g->which, index) || text_equal(g->which, index + 3) ||
           text_equal(g->which, json_text(gpu, "uuid"));
}

static struct err *edit_chosen(const struct gpu_edit *g, const json_t *gpus, json_t *tree,
                               size_t *ret_count)
{
    size_t n = 0;
    json_t *gpu;
    size_t i;

    json_array_foreach (gpus, i, gpu) {
        if (!json_text(gpu, "uuid") || !is_chosen(g, gpu))
            continue;
        TRY(g->edit(g->arg, gpu, tree));
        n++;
    }
    if (n == 0)
        return err_new(ERR_NOT_FOUND, "node %s has no gpu %s", g->node, g->which ? g->which : "");
    *ret_count = n;
    return NULL;
}

static struct err *send_tree(const struct gpu_edit *g, const json_t *node, const json_t *tree)
{
    AUTO_FREE char *path = path_format("/api/v1/nodes/%s", g->node);
    AUTO_FREE char *text = json_object_size(tree) > 0 ? json_format(tree) : NULL;
    AUTO(json_freep) json_t *patch = json_object();
    json_t *meta = json_object_at(patch, "metadata");
    const struct call call = {.method = "PATCH",
                              .path = path,
                              .content_type = "application/merge-patch+json",
                              .body = patch};

    json_put_text(meta, "resourceVersion", json_text_at(node, "metadata", "resourceVersion", NULL));
    json_put(json_object_at(meta, "annotations"), g->annotation,
             text ? json_string(text) : json_null());
    return session_call(g->session, &call, NULL);
}

static struct err *edit_once(const struct gpu_edit *g, size_t *ret_count)
{
    AUTO_FREE char *path = path_format("/api/v1/nodes/%s", g->node);
    AUTO(json_freep) json_t *node = NULL;
    AUTO(json_freep) json_t *gpus = NULL;
    AUTO(json_freep) json_t *tree = NULL;
    const char *text;

    TRY(session_get(g->session, path, &node));
    TRY(read_gpus(node, &gpus));
    text = json_text_at(node, "metadata", "annotations", g->annotation, NULL);
    if (text)
        err_free(json_parse(str_of(text), &tree)); /* a damaged annotation is replaced */
    if (!json_is_object(tree)) {
        json_decref(tree);
        tree = json_object();
    }
    TRY(edit_chosen(g, gpus, tree, ret_count));
    return send_tree(g, node, tree);
}

static void edit_on_time(void *arg)
{
    session_stop(arg);
}

static struct err *wait_a_moment(struct session *s)
{
    struct loop_timer *timer = loop_timer_new(session_loop(s), edit_on_time, s);
    struct err *e = NULL;

    loop_timer_set(timer, look_again_ns);
    e = session_run(s);
    loop_timer_free(timer);
    return e;
}

struct err *gpu_annotation_edit(const struct gpu_edit *g, size_t *ret_count)
{
    AUTO(err_freep) struct err *e = NULL;

    for (int i = 0; i < TRIES_MAX; i++) {
        err_free(e);
        e = edit_once(g, ret_count);
        if (!e || err_code(e) != ERR_CONFLICT)
            break;
        TRY(wait_a_moment(g->session));
    }
    return TAKE(e);
}
