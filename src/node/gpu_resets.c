/* gpu_resets.c - a reset from its request to its answer */

#include "node/gpu_resets.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/pod/pod_state.h"

static const int64_t reset_again_ns = 2 * NS_PER_SEC;

struct gpu_resets {
    struct gpu_resets_options o;
    char uuid[GPU_TEXT_SIZE]; /* "": no reset is under way */
    json_t *gpus;             /* in the Node's annotation, of the gpu under way; NULL: none */
    struct client_call *call;
    struct loop_timer *timer; /* of the next try: another gpu is being changed */
};

static void reset_over(struct gpu_resets *r, const struct err *e, bool was_tried)
{
    char uuid[GPU_TEXT_SIZE];

    memcpy(uuid, r->uuid, sizeof(uuid));
    r->uuid[0] = '\0';
    json_decref(r->gpus);
    r->gpus = NULL;
    gpu_incidents_reset_over(r->o.incidents, uuid, e, was_tried);
}

static void on_reset_done(void *arg, const struct err *e)
{
    reset_over(arg, e, true);
}

static void reset_start(void *arg)
{
    struct gpu_resets *r = arg;
    AUTO(err_freep)
    struct err *e = r->o.start(r->o.arg, r->uuid, on_reset_done, r);

    if (e && err_code(e) == ERR_BUSY)
        loop_timer_set(r->timer, reset_again_ns);
    else if (e)
        reset_over(r, e, true);
}

/* The gpu of the reset, as the node reports it; NULL: none. */
static const json_t *reported_gpu(const json_t *gpus, const char *uuid)
{
    json_t *gpu;
    size_t i;

    json_array_foreach (gpus, i, gpu)
        if (text_equal(json_text(gpu, "uuid"), uuid))
            return gpu;
    return NULL;
}

struct reset_search {
    const json_t *gpu;
    bool is_held;
};

/* A device names its gpu, or its slice. */
static bool reset_look_at(void *arg, const char *container, const struct device *d)
{
    struct reset_search *s = arg;
    json_t *slice;
    size_t i;

    (void)container;
    s->is_held = s->is_held || text_equal(json_text(s->gpu, "uuid"), d->gpu);
    json_array_foreach (json_object_get(s->gpu, "slices"), i, slice)
        s->is_held = s->is_held || text_equal(json_text(slice, "uuid"), d->gpu);
    return !s->is_held;
}

/* The name of a pod that holds the gpu; NULL: none does. */
static const char *reset_holder(const struct gpu_resets *r, const json_t *pods)
{
    struct reset_search s = {.gpu = reported_gpu(r->gpus, r->uuid)};
    json_t *pod;
    size_t i;

    json_array_foreach (json_object_get(pods, "items"), i, pod) {
        const char *phase = json_text_at(pod, "status", "phase", NULL);

        if (text_equal(phase, "Succeeded") || text_equal(phase, "Failed"))
            continue;
        pod_each_device(pod, reset_look_at, &s);
        if (s.is_held)
            return json_text_at(pod, "metadata", "name", NULL);
    }
    return NULL;
}

static void on_reset_pods(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct gpu_resets *r = arg;
    AUTO(err_freep) struct err *failed = client_error(e, reply);
    AUTO(json_freep) json_t *pods = NULL;
    const char *holder = NULL;

    r->call = NULL;
    if (!failed)
        failed = json_parse(reply->body, &pods);
    holder = failed ? NULL : reset_holder(r, pods);
    if (holder)
        failed = err_new(ERR_CONFLICT, "pod %s holds it", holder);
    if (failed)
        reset_over(r, failed, false);
    else
        reset_start(r);
}

/* Takes the gpu if the server knows that it is being reset. */
static bool reset_take(struct gpu_resets *r, const char *uuid, const json_t *node)
{
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    AUTO(json_freep) json_t *gpus = NULL;

    if (text)
        err_free(json_parse(str_of(text), &gpus)); /* damaged: not announced */
    if (!text_equal(json_text(reported_gpu(gpus, uuid), "healthReason"), gpu_is_reset))
        return false;
    (void)snprintf(r->uuid, sizeof(r->uuid), "%s", uuid);
    r->gpus = TAKE(gpus);
    return true;
}

void gpu_resets_advance(struct gpu_resets *r, const json_t *node)
{
    const char *uuid = r->uuid[0] ? NULL : gpu_incidents_reset_due(r->o.incidents);
    AUTO_FREE char *path = NULL;

    if (!uuid || !reset_take(r, uuid, node))
        return;
    path = mem_format("/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", r->o.node);
    client_send(r->o.client, &(struct client_request){.method = "GET", .path = path}, on_reset_pods,
                r, &r->call);
}

struct gpu_resets *gpu_resets_new(const struct gpu_resets_options *o)
{
    struct gpu_resets *r = mem_alloc(sizeof(*r));

    r->o = *o;
    r->timer = loop_timer_new(o->loop, reset_start, r);
    return r;
}

void gpu_resets_free(struct gpu_resets *r)
{
    if (!r)
        return;
    if (r->call)
        client_cancel(r->call);
    loop_timer_free(r->timer);
    json_decref(r->gpus);
    free(r);
}
