/* drain_gpu.c - takes a single gpu out of use, and puts it back */

#include "cli/admin/drain_gpu.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
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
    if (!c->reason)
        json_put_text(care, "resumed", since);
    if (json_object_size(care) == 0)
        (void)json_object_del(tree, uuid); /* there is one */
    return NULL;
}

struct err *drain_gpu_set(struct session *s, struct drain_gpu *g, const char *reason)
{
    struct care_change c = {.gpu = g, .reason = reason};
    const struct gpu_edit edit = {.session = s,
                                  .node = g->node,
                                  .which = g->which,
                                  .annotation = NODE_GPU_CARE,
                                  .edit = change_care,
                                  .arg = &c};
    size_t n = 0;

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
