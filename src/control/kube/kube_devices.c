/* kube_devices.c - gpus of nodes and devices of pods that say only their number */

#include "control/kube/kube_devices.h"

#include <inttypes.h>

#include "base/list.h"
#include "base/map.h"
#include "base/num.h"
#include "base/vec.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "model/resource.h"

enum {
    KUBE_GPUS_MAX = 1024 /* of a node */
};

/* A gpu of a node; `load` devices of it are held, `n_promised` will be. */
struct kube_gpu {
    char *name;
    uint32_t load;
    uint32_t n_promised;
};

struct kube_node {
    struct map_handle handle;
    char *name;
    uint32_t replicas; /* devices of each gpu */
    VEC(struct kube_gpu) gpus;
    size_t n_pods;
    bool is_gone;          /* kept until its pods are gone, too: the node may come back */
    struct kube_pod *made; /* its pods whose gpus are named here */
};

/* A bound pod and the names of its gpus, one for each device. */
struct kube_pod {
    struct map_handle handle;
    struct kube_pod *prev; /* in `made` of its node */
    struct kube_pod *next;
    char *key; /* "ns/name" */
    char *uid;
    struct kube_node *of; /* NULL: the node is gone, or was not there */
    char *text;           /* its annotation, if it is made here */
    size_t n_asks;        /* devices that such a pod asks for; the node may have had fewer left */
    VEC(char *) gpus;
};

/* Gpus of a pod whose binding is on its way. */
struct kube_promise {
    struct map_handle handle;
    char *key; /* "ns/name" */
    char *node;
    VEC(char *) gpus;
};

struct kube_devices {
    struct kube_node *nodes;
    struct kube_pod *pods;
    struct kube_promise *promises;
    bool is_loaded;
    VEC(char *) moved;  /* keys of pods that have to be put again */
    VEC(char *) filled; /* the same, later */
};

/* ---- nodes ---- */

static struct kube_node *kube_node_find(const struct kube_devices *d, const char *name)
{
    struct kube_node *n = NULL;

    map_find_text(handle, d->nodes, name, n);
    return n;
}

static struct kube_gpu *kube_gpu_find(const struct kube_node *n, const char *name)
{
    for (size_t i = 0; n && i < n->gpus.n; i++)
        if (text_equal(n->gpus.at[i].name, name))
            return &n->gpus.at[i];
    return NULL;
}

static void kube_node_free(struct kube_devices *d, struct kube_node *n)
{
    map_remove(handle, d->nodes, n);
    VEC_EACH (&n->gpus, g)
        free(g->name);
    vec_done(&n->gpus);
    free(n->name);
    free(n);
}

static int64_t number_at(const json_t *texts, const char *key, int64_t max)
{
    const char *text = json_text(texts, key);
    int64_t n = 0;
    AUTO(err_freep) struct err *e = text ? num_parse_int64(str_of(text), 0, max, &n) : NULL;

    return e ? 0 : n;
}

/* The amounts in a node's status. */
struct kube_amount {
    const char *resource;
    int64_t capacity; /* devices */
    int64_t allocatable;
    int64_t replicas; /* devices of a gpu; 1: whole gpus */
};

static bool amount_read(const json_t *node, const char *resource, struct kube_amount *ret)
{
    const json_t *capacity = json_at(node, "status", "capacity", NULL);
    const json_t *allocatable = json_at(node, "status", "allocatable", NULL);

    *ret = (struct kube_amount){.resource = resource,
                                .capacity = number_at(capacity, resource, KUBE_GPUS_MAX),
                                .allocatable = number_at(allocatable, resource, KUBE_GPUS_MAX),
                                .replicas = 1};
    if (ret->allocatable > ret->capacity)
        ret->capacity = ret->allocatable;
    return ret->capacity > 0;
}

/* Replicas have a name of their own, or a label says what each stands for. */
static bool node_amount(const json_t *node, struct kube_amount *ret)
{
    static const char *const others[] = {"amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe"};
    const json_t *labels = json_at(node, "metadata", "labels", NULL);
    int64_t replicas = number_at(labels, "nvidia.com/gpu.replicas", KUBE_GPUS_MAX);
    bool is_shared = amount_read(node, GPU_SHARED_RESOURCE, ret);

    if (is_shared || amount_read(node, GPU_RESOURCE, ret)) {
        if (replicas > 1 &&
            (is_shared ||
             text_equal(json_text(labels, "nvidia.com/gpu.sharing-strategy"), "time-slicing")))
            ret->replicas = replicas;
        return true;
    }
    for (size_t i = 0; i < COUNT(others); i++)
        if (amount_read(node, others[i], ret))
            return true;
    return false;
}

static json_t *gpu_describe(const json_t *labels, const struct kube_amount *amount,
                            const char *name, bool is_out)
{
    char model[GPU_TEXT_SIZE];
    json_t *gpu = json_object();

    gpu_model_of(text_or_empty(json_text(labels, "nvidia.com/gpu.product")), model);
    json_put_text(gpu, "uuid", name);
    json_put_text(gpu, "model", model[0] ? model : "gpu");
    json_put_int(gpu, "memoryBytes",
                 number_at(labels, "nvidia.com/gpu.memory", INT32_MAX) * (INT64_C(1) << 20));
    if (!text_starts_with(amount->resource, "nvidia.com/"))
        json_put_text(gpu, "resource", amount->resource);
    json_put_text(gpu, "health", is_out ? "unhealthy" : "healthy");
    if (is_out)
        json_put_text(gpu, "healthReason", "the kubelet may not give all gpus of the node now");
    if (amount->replicas > 1) {
        json_put_text(gpu, "mode", "replicas");
        json_put_int(gpu, "replicas", amount->replicas);
        json_put_bool(gpu, "renamed", text_equal(amount->resource, GPU_SHARED_RESOURCE));
    }
    return gpu;
}

/* Brings the table to so many gpus: those that pods hold stay as long as there are so many. */
static void kube_node_resize(struct kube_node *n, size_t count)
{
    while (n->gpus.n > count)
        free(n->gpus.at[--n->gpus.n].name);
    for (size_t i = n->gpus.n; i < count; i++)
        vec_add(&n->gpus, (struct kube_gpu){.name = mem_format("%s-gpu-%zu", n->name, i)});
}

static char *gpus_text(const struct kube_node *n, const json_t *node,
                       const struct kube_amount *amount)
{
    const json_t *labels = json_at(node, "metadata", "labels", NULL);
    AUTO(json_freep) json_t *list = json_array();
    AUTO_FREE bool *is_out = mem_alloc(n->gpus.n + 1);
    int64_t missing = (amount->capacity - amount->allocatable) / amount->replicas;

    for (int is_held = 0; is_held < 2; is_held++)
        for (size_t i = n->gpus.n; i > 0 && missing > 0; i--)
            if ((n->gpus.at[i - 1].load > 0) == is_held && !is_out[i - 1]) {
                is_out[i - 1] = true;
                missing--;
            }
    for (size_t i = 0; i < n->gpus.n; i++)
        (void)json_array_append_new(
            list, gpu_describe(labels, amount, n->gpus.at[i].name, is_out[i])); /* an object */
    return json_format(list);
}

/* A copy of an object with one more annotation. */
static json_t *annotate(const json_t *object, const char *key, const char *text)
{
    json_t *copy = json_deep_copy(object);

    json_put_text(json_object_at(json_object_at(copy, "metadata"), "annotations"), key, text);
    return copy;
}

bool kube_devices_has_gpus(const json_t *node)
{
    struct kube_amount amount;

    return json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL) ||
           node_amount(node, &amount);
}

json_t *kube_devices_put_node(struct kube_devices *d, const json_t *node)
{
    const char *name = text_or_empty(json_text_at(node, "metadata", "name", NULL));
    struct kube_node *n = kube_node_find(d, name);
    struct kube_amount amount;
    AUTO_FREE char *text = NULL;

    if (json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL) ||
        (!node_amount(node, &amount) && !n))
        return json_incref((json_t *)(uintptr_t)node);
    if (!n) {
        n = mem_alloc(sizeof(*n));
        n->name = mem_strdup(name);
        map_add(handle, d->nodes, n->name, strlen(n->name), n);
    }
    n->is_gone = false;
    n->replicas = (uint32_t)amount.replicas;
    kube_node_resize(n, (size_t)(amount.capacity / amount.replicas));
    text = gpus_text(n, node, &amount);
    return annotate(node, NODE_GPUS, text);
}

void kube_devices_remove_node(struct kube_devices *d, const char *name)
{
    struct kube_node *n = kube_node_find(d, name);

    if (n && n->n_pods == 0 && d->is_loaded)
        kube_node_free(d, n);
    else if (n)
        n->is_gone = true;
}

void kube_devices_loaded(struct kube_devices *d)
{
    struct kube_node *n;
    struct kube_node *next;

    d->is_loaded = true;
    map_each (handle, d->nodes, n, next) {
        if (n->is_gone && n->n_pods == 0)
            kube_node_free(d, n);
    }
}

/* ---- pods ---- */

static struct kube_pod *kube_pod_find(const struct kube_devices *d, const char *key)
{
    struct kube_pod *p = NULL;

    map_find_text(handle, d->pods, key, p);
    return p;
}

static void kube_pod_free(struct kube_devices *d, struct kube_pod *p)
{
    struct kube_node *n = p->of;

    map_remove(handle, d->pods, p);
    if (p->text && n)
        LIST_REMOVE(n->made, p);
    VEC_EACH (&p->gpus, name) {
        struct kube_gpu *g = kube_gpu_find(n, *name);

        if (g && g->load > 0)
            g->load--;
        free(*name);
    }
    vec_done(&p->gpus);
    if (n && --n->n_pods == 0 && n->is_gone && d->is_loaded)
        kube_node_free(d, n);
    free(p->text);
    free(p->uid);
    free(p->key);
    free(p);
}

/* The pod holds nothing any more: others on its node that have too little may get it. */
static void kube_pod_end(struct kube_devices *d, struct kube_pod *p)
{
    const struct kube_pod *other = p->of && p->gpus.n > 0 ? p->of->made : NULL;

    for (; other; other = other->next)
        if (other != p && other->gpus.n < other->n_asks)
            vec_add(&d->filled, mem_strdup(other->key));
    kube_pod_free(d, p);
}

static void kube_pod_hold(struct kube_pod *p, const struct kube_node *n, const char *gpu)
{
    struct kube_gpu *g = kube_gpu_find(n, gpu);

    if (g)
        g->load++;
    vec_add(&p->gpus, mem_strdup(gpu));
}

struct holding {
    struct kube_pod *pod;
    const struct kube_node *node;
};

static bool hold_named(void *arg, const char *container, const struct device *d)
{
    const struct holding *h = arg;

    (void)container;
    kube_pod_hold(h->pod, h->node, d->gpu);
    return true;
}

/* The gpu of which the fewest devices are held or promised; NULL: all are held. */
static struct kube_gpu *gpu_free(const struct kube_node *n)
{
    struct kube_gpu *best = NULL;

    VEC_EACH (&n->gpus, g)
        if (g->load < n->replicas &&
            (!best || g->load + g->n_promised < best->load + best->n_promised))
            best = g;
    return best;
}

/* The devices that one container of the pod gets. */
static json_t *hold_free(struct kube_pod *p, const struct kube_node *n, const json_t *pod,
                         const json_t *container)
{
    struct gpu_asks asks = container_gpu_asks(pod, container);
    json_t *list = json_array();

    for (size_t i = 0; i < asks.n; i++)
        p->n_asks += (size_t)asks.at[i].count;
    for (size_t i = 0; i < asks.n; i++) {
        for (uint32_t k = 0; k < asks.at[i].count; k++) {
            struct kube_gpu *g = gpu_free(n);
            char text[DEVICE_TEXT_SIZE];
            struct device d;

            if (!g)
                return list;
            d = device_whole(g->name);
            if (n->replicas > 1) {
                d.kind = DEVICE_REPLICA;
                d.replicas = n->replicas;
            }
            device_format(&d, text);
            kube_pod_hold(p, n, g->name);
            (void)json_array_append_new(list, json_string(text)); /* ASCII */
        }
    }
    return list;
}

/* Names devices for a pod that another scheduler bound. */
static void hold_any(struct kube_pod *p, struct kube_node *n, const json_t *pod)
{
    AUTO(json_freep) json_t *text = json_object();
    json_t *containers = json_object_at(text, "containers");
    const json_t *container = NULL;
    size_t i = 0;

    if (!n)
        return;
    json_array_foreach (json_at(pod, "spec", "containers", NULL), i, container)
        json_put(containers, text_or_empty(json_text(container, "name")),
                 hold_free(p, n, pod, container));
    if (p->n_asks == 0)
        return;
    p->text = json_format(text);
    LIST_ADD(n->made, p);
}

static bool pod_holds(const struct kube_pod *p, const char *gpu)
{
    VEC_EACH (&p->gpus, name)
        if (text_equal(*name, gpu))
            return true;
    return false;
}

/* The pod names its gpus: others, whose names were made here, make room. */
static void pods_move(struct kube_devices *d, const struct kube_pod *p)
{
    VEC_EACH (&p->gpus, name) {
        const struct kube_gpu *g = kube_gpu_find(p->of, *name);
        struct kube_pod *other = NULL;

        if (!g || g->load <= p->of->replicas)
            continue;
        LIST_EACH (p->of->made, other) {
            if (!pod_holds(other, *name))
                continue;
            vec_add(&d->moved, mem_strdup(other->key));
            kube_pod_free(d, other);
            break;
        }
    }
}

static struct kube_pod *kube_pod_new(struct kube_devices *d, const char *key, const json_t *pod)
{
    struct kube_pod *p = mem_alloc(sizeof(*p));
    struct kube_node *n = kube_node_find(d, pod_node(pod));
    struct holding h = {p, n};

    *p = (struct kube_pod){
        .key = mem_strdup(key),
        .uid = mem_strdup(text_or_empty(json_text_at(pod, "metadata", "uid", NULL))),
        .of = n};
    map_add(handle, d->pods, p->key, strlen(p->key), p);
    if (n)
        n->n_pods++;
    if (json_text_at(pod, "metadata", "annotations", POD_DEVICES, NULL)) {
        pod_each_device(pod, hold_named, &h);
        pods_move(d, p);
    } else {
        hold_any(p, n, pod);
    }
    return p;
}

json_t *kube_devices_put_pod(struct kube_devices *d, const json_t *pod)
{
    AUTO_FREE char *key = mem_format("%s/%s", json_text_at(pod, "metadata", "namespace", NULL),
                                     json_text_at(pod, "metadata", "name", NULL));
    const char *uid = text_or_empty(json_text_at(pod, "metadata", "uid", NULL));
    struct kube_pod *p = kube_pod_find(d, key);

    if (*pod_node(pod) || pod_is_terminal(pod))
        kube_devices_unpromise(d, key);
    if (p && (!*pod_node(pod) || pod_is_terminal(pod) || !text_equal(p->uid, uid))) {
        kube_pod_end(d, p);
        p = NULL;
    } else if (p && p->gpus.n < p->n_asks) {
        kube_pod_free(d, p);
        p = NULL;
    }
    if (!p && *pod_node(pod) && !pod_is_terminal(pod))
        p = kube_pod_new(d, key, pod);
    return p && p->text ? annotate(pod, POD_DEVICES, p->text)
                        : json_incref((json_t *)(uintptr_t)pod);
}

void kube_devices_remove_pod(struct kube_devices *d, const char *ns, const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct kube_pod *p = kube_pod_find(d, key);

    kube_devices_unpromise(d, key);
    if (p)
        kube_pod_end(d, p);
}

/* ---- promises ---- */

/* A node that came back meanwhile may have fewer gpus, or none that are promised. */
static void promise_count(const struct kube_devices *d, const struct kube_promise *p, bool is_more)
{
    const struct kube_node *n = kube_node_find(d, p->node);

    VEC_EACH (&p->gpus, name) {
        struct kube_gpu *g = kube_gpu_find(n, *name);

        if (g && is_more)
            g->n_promised++;
        else if (g && g->n_promised > 0)
            g->n_promised--;
    }
}

void kube_devices_unpromise(struct kube_devices *d, const char *key)
{
    struct kube_promise *p = NULL;

    map_find_text(handle, d->promises, key, p);
    if (!p)
        return;
    promise_count(d, p, false);
    map_remove(handle, d->promises, p);
    VEC_EACH (&p->gpus, name)
        free(*name);
    vec_done(&p->gpus);
    free(p->node);
    free(p->key);
    free(p);
}

void kube_devices_promise(struct kube_devices *d, const char *key, const struct ledger_pod *pod)
{
    struct kube_promise *p = mem_alloc(sizeof(*p));

    kube_devices_unpromise(d, key);
    *p = (struct kube_promise){.key = mem_strdup(key), .node = mem_strdup(pod->node)};
    for (size_t i = 0; i < pod->n_containers; i++)
        for (size_t k = 0; k < pod->containers[i].n_devices; k++)
            vec_add(&p->gpus, mem_strdup(pod->containers[i].devices[k].gpu));
    map_add(handle, d->promises, p->key, strlen(p->key), p);
    promise_count(d, p, true);
}

bool kube_devices_hold(const struct kube_devices *d, const char *node, const struct device *device)
{
    const struct kube_node *n = kube_node_find(d, node);
    const struct kube_gpu *g = kube_gpu_find(n, device->gpu);
    const struct kube_pod *p;
    uint32_t load = g ? g->load : 0;

    if (!g || (device->kind != DEVICE_WHOLE && device->kind != DEVICE_REPLICA))
        return false;
    for (p = n->made; p; p = p->next)
        load -= pod_holds(p, device->gpu) && load > 0;
    return load >= (device->kind == DEVICE_WHOLE ? 1 : n->replicas);
}

char *kube_devices_moved(struct kube_devices *d)
{
    return d->moved.n > 0 ? d->moved.at[--d->moved.n] : NULL;
}

char *kube_devices_filled(struct kube_devices *d)
{
    return d->filled.n > 0 ? d->filled.at[--d->filled.n] : NULL;
}

struct kube_devices *kube_devices_new(void)
{
    return mem_alloc(sizeof(struct kube_devices));
}

void kube_devices_free(struct kube_devices *d)
{
    if (!d)
        return;
    while (d->promises)
        kube_devices_unpromise(d,
                               d->promises->key); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    while (d->pods)
        kube_pod_free(d, d->pods); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    while (d->nodes)
        kube_node_free(d, d->nodes); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    VEC_EACH (&d->moved, key)
        free(*key);
    VEC_EACH (&d->filled, key)
        free(*key);
    vec_done(&d->moved);
    vec_done(&d->filled);
    free(d);
}
