/* drain_gpu.c - takes a single gpu out of use, has it reset, and puts it back */

#include "cli/admin/drain_gpu.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/admin/gpu_annotation.h"
#include "kinds/pod/pod_state.h"
#include "model/gpu.h"

void drain_gpu_done(struct drain_gpu *g)
{
    json_decref(g->uuids);
    g->uuids = NULL;
}

/* A change of one gpu's care. */
struct care_change {
    struct drain_gpu *gpu;
    const char *reason; /* NULL: resume */
    const char *by;     /* the caller's name; NULL: unknown */
};

static void note_gpu(struct drain_gpu *g, const json_t *gpu)
{
    const json_t *slice;
    size_t i;

    drain_gpu_done(g);
    g->uuids = json_array();
    (void)json_array_append_new(g->uuids, json_string(json_text(gpu, "uuid")));
    json_array_foreach (json_object_get(gpu, "slices"), i, slice) {
        if (json_text_filled(slice, "uuid"))
            (void)json_array_append_new(g->uuids, json_string(json_text(slice, "uuid")));
    }
    (void)snprintf(g->name, sizeof(g->name), "GPU %" PRId64 " of node %.63s",
                   json_int(gpu, "index", -1), g->node);
}

static struct err *change_care(void *arg, const json_t *gpu, json_t *tree)
{
    const struct care_change *c = arg;
    const char *since = json_text(gpu, "healthSince");
    const char *uuid = json_text(gpu, "uuid");
    json_t *care = json_object_at(tree, uuid);

    note_gpu(c->gpu, gpu);
    c->gpu->is_ill = since != NULL;
    json_put_text(care, "drained", c->reason);
    json_put_text(care, "by", c->reason ? c->by : NULL);
    if (!c->reason) {
        json_put_text(care, "resumed", since);
        json_put_text(care, "reset", NULL);
    }
    if (json_object_size(care) == 0)
        (void)json_object_del(tree, uuid); /* there is one */
    return NULL;
}

/* The caller as the server knows the caller. A new reference; NULL: unknown. */
static json_t *ask_who(struct session *s)
{
    AUTO(json_freep)
    json_t *review = json_pack("{s:s, s:s}", "apiVersion", "authentication.k8s.io/v1", "kind",
                               "SelfSubjectReview");
    const struct call call = {.method = "POST",
                              .path = "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                              .body = review};
    json_t *who = NULL;

    err_free(session_call(s, &call, &who)); /* the drain counts more than the name */
    return who;
}

struct err *drain_gpu_set(struct session *s, struct drain_gpu *g, const char *reason)
{
    AUTO(json_freep) json_t *who = reason ? ask_who(s) : NULL;
    struct care_change c = {.gpu = g,
                            .reason = reason,
                            .by = json_text_at(who, "status", "userInfo", "username", NULL)};
    const struct gpu_edit edit = {.session = s,
                                  .node = g->node,
                                  .which = g->which,
                                  .annotation = NODE_GPU_CARE,
                                  .edit = change_care,
                                  .arg = &c};
    size_t n = 0;

    return gpu_annotation_edit(&edit, &n);
}

static struct err *ask_reset(void *arg, const json_t *gpu, json_t *tree)
{
    struct drain_gpu *g = arg;
    json_t *care = json_object_at(tree, json_text(gpu, "uuid"));
    const char *health = json_text(gpu, "health");
    char now[STAMP_TEXT_SIZE];

    note_gpu(g, gpu);
    g->is_drained = json_text_filled(care, "drained") != NULL;
    if (json_text(gpu, "vendor") && !text_equal(json_text(gpu, "vendor"), "nvidia"))
        return err_new(ERR_CONFLICT, "%s is not of NVIDIA: reset it by its vendor's tools",
                       g->name);
    if (!health || text_equal(health, "healthy"))
        return err_new(ERR_CONFLICT,
                       "%s is in service: mete drain %s/%s --reason ... --evict first", g->name,
                       g->node, g->which);
    stamp_format_nano(loop_wall_ns(session_loop(g->session)), now);
    json_put_text(care, "reset", now);
    return NULL;
}

struct err *drain_gpu_reset(struct session *s, struct drain_gpu *g)
{
    const struct gpu_edit edit = {.session = s,
                                  .node = g->node,
                                  .which = g->which,
                                  .annotation = NODE_GPU_CARE,
                                  .edit = ask_reset,
                                  .arg = g};
    size_t n = 0;

    g->session = s;
    return gpu_annotation_edit(&edit, &n);
}

struct holding_search {
    const json_t *uuids;
    bool is_found;
};

static bool look_at_device(void *arg, const char *container, const struct device *d)
{
    struct holding_search *h = arg;

    (void)container;
    h->is_found = h->is_found || json_has_text(h->uuids, d->gpu);
    return !h->is_found;
}

bool drain_gpu_holds(const struct drain_gpu *g, const json_t *pod)
{
    struct holding_search h = {.uuids = g->uuids};

    pod_each_device(pod, look_at_device, &h);
    return h.is_found;
}
