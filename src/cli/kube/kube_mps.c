/* kube_mps.c - the MPS daemons of the gpus that a kubelet gives as clients of MPS */

#include "cli/kube/kube_mps.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "gpu/mps_process.h"
#include "gpu/mps_watch.h"
#include "node/spec/mps_edits.h"

static const int64_t CHECK_NS = 10 * NS_PER_SEC;

struct kube_mps {
    struct kube_mps_options o;
    struct mps_watch *watch;
    char *told; /* the last problem that was logged; NULL: none */
    bool is_swept;
};

/* Kubelets know no namespaces of devices: the clients of a gpu are those of one daemon. */
static struct mps_wish kube_mps_wish(const struct gpu *g)
{
    return (struct mps_wish){
        .gpu = g->uuid, .ns = "", .memory_bytes = g->memory_bytes, .clients = g->replicas};
}

static bool has_daemon(const struct gpu *g)
{
    return g->vendor == GPU_NVIDIA && g->mode == GPU_MODE_REPLICAS && g->is_mps && g->uuid[0];
}

static void on_mps_told(void *arg, const char *gpu, const char *ns, const char *problem)
{
    struct kube_mps *k = arg;

    (void)gpu;
    (void)ns;
    (void)problem; /* the watch has logged it */
    k->o.changed(k->o.arg);
}

struct kube_mps *kube_mps_new(const struct kube_mps_options *o)
{
    struct kube_mps *k = mem_alloc(sizeof(*k));
    AUTO_FREE char *dir = mem_format("%s/mps", o->data);

    k->o = *o;
    k->watch =
        mps_watch_new(&(struct mps_watch_options){.loop = o->loop,
                                                  .self_path = o->self_path,
                                                  .dir = dir,
                                                  .root = o->is_emulated ? NULL : o->machine_root,
                                                  .check_ns = CHECK_NS});
    mps_watch_listen(k->watch, on_mps_told, k);
    return k;
}

void kube_mps_free(struct kube_mps *k)
{
    if (!k)
        return;
    mps_watch_free(k->watch);
    free(k->told);
    free(k);
}

/* Takes a gpu without a daemon out of service. */
static void mps_take(struct kube_mps *k, const char *program, struct gpu *g)
{
    const struct mps_wish wish = kube_mps_wish(g);
    struct mps_client client;
    AUTO(err_freep) struct err *e = mps_watch_take(k->watch, program, &wish, &client);

    if (!e || g->health != GPU_HEALTHY)
        return;
    g->health = GPU_UNHEALTHY;
    (void)snprintf(g->health_reason, sizeof(g->health_reason), "%.160s", err_message(e));
    if (text_equal(k->told, err_message(e)))
        return;
    free(k->told);
    k->told = mem_strdup(err_message(e));
    LOG(WARN, "gpu cannot be shared by MPS now", S("gpu", g->uuid), S("cause", k->told));
}

void kube_mps_apply(struct kube_mps *k, const struct driver_root *driver, struct gpu *gpus,
                    size_t n)
{
    const char *program = mps_program_find(driver, k->o.machine_root);
    VEC(struct mps_wish) wishes = {0};

    for (size_t i = 0; i < n; i++) {
        if (!has_daemon(&gpus[i]))
            continue;
        vec_add(&wishes, kube_mps_wish(&gpus[i]));
        mps_take(k, program, &gpus[i]);
    }
    mps_watch_keep(k->watch, program, wishes.at, wishes.n);
    vec_done(&wishes);
    if (!k->is_swept)
        mps_watch_sweep(k->watch, program);
    k->is_swept = true;
}

json_t *kube_mps_edits(const struct kube_mps *k, const struct gpu *gpus, size_t n)
{
    json_t *edits = json_object();

    for (size_t i = 0; i < n; i++) {
        const struct mps_wish wish = kube_mps_wish(&gpus[i]);
        AUTO_FREE char *dir = mps_watch_dir(k->watch, &wish);

        if (has_daemon(&gpus[i]))
            mps_edits_add(&(struct mps_client){.dir = dir,
                                               .memory_mib = mps_client_mib(&wish),
                                               .percent = mps_client_percent(&wish)},
                          k->o.machine_root, json_object_at(edits, gpus[i].uuid));
    }
    return edits;
}

void kube_mps_stop(struct kube_mps *k, void (*fn)(void *arg), void *arg)
{
    mps_watch_stop(k->watch, fn, arg);
}
