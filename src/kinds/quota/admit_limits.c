/* admit_limits.c - limit ranges, as Kubernetes' admission plugin LimitRanger applies them */

#include <inttypes.h>

#include "base/mem.h"
#include "base/vec.h"
#include "kinds/object/tree_cache.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_view.h"
#include "kinds/quota/admit.h"
#include "kinds/quota/quota.h"
#include "model/resource.h"

__extension__ typedef __int128 wide;

static const char annotation[] = "kubernetes.io/limit-ranger";

enum {
    FAULTS_MAX = 64
};

/* Calls `fn` with each limit range of the namespace. */
static struct err *each_range(const struct change *c, void (*fn)(void *arg, const json_t *limits),
                              void *arg)
{
    const struct store_range range = {.group = "", .resource = "limitranges", .ns = c->request->ns};
    const struct store_object *o = NULL;

    while ((o = store_next_applied(c->objects->store, &range, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *tree = NULL;

        TRY(tree_cache_get(c->objects->trees, o, &tree));
        fn(arg, json_at(tree, "spec", "limits", NULL));
    }
    return NULL;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct names {
    VEC(const char *) list;
};

static void names_add(struct names *n, json_t *map)
{
    const char *name;
    json_t *value;

    json_object_foreach (map, name, value)
        vec_add(&n->list, name);
}

static void names_sort(struct names *n)
{
    if (n->list.n > 1)
        qsort(n->list.at, n->list.n, sizeof(n->list.at[0]), compare_texts);
}

/* Defaults */

struct filling {
    json_t *pod;
    struct buf told; /* "cpu, memory request for container a; ..." */
};

/* Copies the members of `from` that the container's `which` lacks. A pod whose annotations ask for
 * a share may not have other gpus. */
static void fill_map(struct filling *f, json_t *container, json_t *from, const char *which,
                     const char *what)
{
    json_t *into = json_object_at(json_object_at(container, "resources"), which);
    bool has_share = pod_gpu_annotated_milli(f->pod) > 0;
    struct names set = {0};
    const char *name;
    json_t *value;

    json_object_foreach (from, name, value) {
        if (json_object_get(into, name) || (text_equal(name, GPU_RESOURCE) && has_share))
            continue;
        json_put(into, name, json_incref(value));
        vec_add(&set.list, name);
    }
    names_sort(&set);
    for (size_t i = 0; i < set.list.n; i++)
        buf_printf(&f->told, "%s%s", i > 0 ? ", " : f->told.size > 0 ? "; " : "", set.list.at[i]);
    if (set.list.n > 0)
        buf_printf(&f->told, " %s %s", what, json_text(container, "name"));
    vec_done(&set.list);
}

static void fill_list(struct filling *f, const json_t *item, const char *which, bool is_init)
{
    const json_t *list = json_at(f->pod, "spec", which, NULL);

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *container = json_array_get(list, i);

        fill_map(f, container, json_object_get(item, "defaultRequest"), "requests",
                 is_init ? "request for init container" : "request for container");
        fill_map(f, container, json_object_get(item, "default"), "limits",
                 is_init ? "limit for init container" : "limit for container");
    }
}

static void range_fill_defaults(void *arg, const json_t *limits)
{
    struct filling *f = arg;

    for (size_t i = 0; i < json_array_size(limits); i++) {
        const json_t *item = json_array_get(limits, i);

        if (!text_equal(json_text(item, "type"), "Container"))
            continue;
        fill_list(f, item, "containers", false);
        fill_list(f, item, "initContainers", true);
    }
}

struct err *admit_limits(struct change *c)
{
    struct filling f = {.pod = c->after};
    AUTO_FREE char *told = NULL;
    AUTO_FREE char *text = NULL;

    if (!is_pod(c->kind) || !json_object_get(c->after, "spec"))
        return NULL;
    TRY(each_range(c, range_fill_defaults, &f));
    if (f.told.size == 0)
        return NULL;
    told = buf_steal(&f.told);
    text = mem_format("LimitRanger plugin set: %s", told);
    json_put_text(json_object_at(json_object_at(c->after, "metadata"), "annotations"), annotation,
                  text);
    /* The QoS class follows from the new resources. */
    json_put_text(json_object_at(c->after, "status"), "qosClass", NULL);
    return kind_default(c->kind, c->after, &c->who);
}

/* Bounds */

struct faults {
    const json_t *pod; /* or a PersistentVolumeClaim */
    VEC(char *) texts;
};

/* A resource of a container, or of the pod. */
struct asked {
    const char *type; /* "Container" or "Pod" */
    const char *resource;
    bool has_request;
    bool has_limit;
    struct quantity request;
    struct quantity limit;
    char request_text[QUANTITY_TEXT_SIZE];
    char limit_text[QUANTITY_TEXT_SIZE];
};

static void faults_add(struct faults *f, const char *fmt, ...) PRINTF(2, 3);

/* Adds a fault, once, as Kubernetes' error aggregates do. */
static void faults_add(struct faults *f, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = mem_vformat(fmt, ap);
    va_end(ap);
    VEC_EACH (&f->texts, told) {
        if (text_equal(*told, text))
            return;
    }
    if (f->texts.n < FAULTS_MAX)
        vec_add(&f->texts, TAKE(text));
}

static void check_min(struct faults *f, const struct asked *a, struct quantity min,
                      const char *text)
{
    if (!a->has_request)
        faults_add(f, "minimum %s usage per %s is %s.  No request is specified", a->resource,
                   a->type, text);
    else if (a->request.milli < min.milli)
        faults_add(f, "minimum %s usage per %s is %s, but request is %s", a->resource, a->type,
                   text, a->request_text);
    else if (a->has_limit && a->limit.milli < min.milli)
        faults_add(f, "minimum %s usage per %s is %s, but limit is %s", a->resource, a->type, text,
                   a->limit_text);
}

static void check_max(struct faults *f, const struct asked *a, struct quantity max,
                      const char *text)
{
    if (!a->has_limit)
        faults_add(f, "maximum %s usage per %s is %s.  No limit is specified", a->resource, a->type,
                   text);
    else if (a->limit.milli > max.milli)
        faults_add(f, "maximum %s usage per %s is %s, but limit is %s", a->resource, a->type, text,
                   a->limit_text);
    else if (a->has_request && a->request.milli > max.milli)
        faults_add(f, "maximum %s usage per %s is %s, but request is %s", a->resource, a->type,
                   text, a->request_text);
}

static void asked_check_ratio(struct faults *f, const struct asked *a, struct quantity ratio,
                              const char *text)
{
    wide scaled;

    if (!a->has_request || a->request.milli == 0) {
        faults_add(f,
                   "%s max limit to request ratio per %s is %s, but no request is specified or "
                   "request is 0",
                   a->resource, a->type, text);
        return;
    }
    if (!a->has_limit || a->limit.milli == 0) {
        faults_add(f,
                   "%s max limit to request ratio per %s is %s, but no limit is specified or limit "
                   "is 0",
                   a->resource, a->type, text);
        return;
    }
    if ((wide)a->limit.milli * 1000 <= (wide)ratio.milli * a->request.milli)
        return;
    scaled = ((wide)a->limit.milli * 1000000 + a->request.milli / 2) / a->request.milli;
    faults_add(f,
               "%s max limit to request ratio per %s is %s, but provided ratio is %" PRId64 ".%06d",
               a->resource, a->type, text, (int64_t)(scaled / 1000000), (int)(scaled % 1000000));
}

/* Adds the share of a gpu that annotations ask for: as with devices, request and limit are equal.
 */
static void asked_add_share(struct asked *a, int64_t milli)
{
    const struct quantity share = {.milli = milli};

    if (milli == 0)
        return;
    a->has_request = true;
    a->has_limit = true;
    (void)quota_add(&a->request, share); /* saturates */
    (void)quota_add(&a->limit, share);
}

static void asked_read_container(const json_t *pod, const json_t *container, struct asked *a)
{
    const json_t *request = json_at(container, "resources", "requests", a->resource, NULL);
    const json_t *limit = json_at(container, "resources", "limits", a->resource, NULL);

    a->has_request = request != NULL;
    a->has_limit = limit != NULL;
    a->request = quota_amount(request);
    a->limit = quota_amount(limit);
    if (text_equal(a->resource, GPU_RESOURCE))
        asked_add_share(a, container_gpu_annotated_milli(pod, container));
}

/* Reads the pod's amounts: the larger of the containers' sum and the largest init container. */
static void asked_read_pod(const json_t *pod, struct asked *a)
{
    const json_t *mains = json_at(pod, "spec", "containers", NULL);
    const json_t *inits = json_at(pod, "spec", "initContainers", NULL);
    struct asked one = *a;
    struct asked sidecars = {0}; /* that run already */
    struct asked most = {0};     /* while an init container runs */

    for (size_t i = 0; i < json_array_size(mains); i++) {
        asked_read_container(pod, json_array_get(mains, i), &one);
        a->has_request |= one.has_request;
        a->has_limit |= one.has_limit;
        (void)quota_add(&a->request, one.request); /* saturates */
        (void)quota_add(&a->limit, one.limit);
    }
    for (size_t i = 0; i < json_array_size(inits); i++) {
        asked_read_container(pod, json_array_get(inits, i), &one);
        a->has_request |= one.has_request;
        a->has_limit |= one.has_limit;
        if (container_is_sidecar(json_array_get(inits, i))) {
            (void)quota_add(&a->request, one.request);
            (void)quota_add(&a->limit, one.limit);
            (void)quota_add(&sidecars.request, one.request);
            (void)quota_add(&sidecars.limit, one.limit);
            continue;
        }
        (void)quota_add(&one.request, sidecars.request);
        (void)quota_add(&one.limit, sidecars.limit);
        most.request = one.request.milli > most.request.milli ? one.request : most.request;
        most.limit = one.limit.milli > most.limit.milli ? one.limit : most.limit;
    }
    a->request = most.request.milli > a->request.milli ? most.request : a->request;
    a->limit = most.limit.milli > a->limit.milli ? most.limit : a->limit;
}

/* The annotations of the pod ask for a share for another container: this one may not have gpus. */
static bool is_beside_share(const json_t *pod, const json_t *container)
{
    return pod_gpu_annotated_milli(pod) > 0 && container_gpu_annotated_milli(pod, container) == 0;
}

typedef void (*bound_fn)(struct faults *f, const struct asked *a, struct quantity bound,
                         const char *text);

static void check_bound(struct faults *f, const json_t *item, const json_t *container,
                        const char *map, bound_fn fn)
{
    json_t *bounds = json_object_get(item, map);
    struct names names = {0};

    names_add(&names, bounds);
    names_sort(&names);
    for (size_t i = 0; i < names.list.n; i++) {
        const char *text = json_text(bounds, names.list.at[i]);
        struct asked a = {.type = container ? "Container" : "Pod", .resource = names.list.at[i]};

        if (container && text_equal(a.resource, GPU_RESOURCE) && is_beside_share(f->pod, container))
            continue;
        if (container)
            asked_read_container(f->pod, container, &a);
        else
            asked_read_pod(f->pod, &a);
        quantity_format(a.request, a.request_text);
        quantity_format(a.limit, a.limit_text);
        fn(f, &a, quota_amount(json_object_get(bounds, names.list.at[i])), text);
    }
    vec_done(&names.list);
}

/* Checks an item of a limit range. `container` NULL: the whole pod. */
static void check_item(struct faults *f, const json_t *item, const json_t *container)
{
    check_bound(f, item, container, "min", check_min);
    check_bound(f, item, container, "max", check_max);
    check_bound(f, item, container, "maxLimitRequestRatio", asked_check_ratio);
}

static void check_containers(struct faults *f, const json_t *item, const char *which)
{
    const json_t *list = json_at(f->pod, "spec", which, NULL);

    for (size_t i = 0; i < json_array_size(list); i++)
        check_item(f, item, json_array_get(list, i));
}

static void range_check_limits(void *arg, const json_t *limits)
{
    struct faults *f = arg;

    for (size_t i = 0; i < json_array_size(limits); i++) {
        const json_t *item = json_array_get(limits, i);
        const char *type = json_text(item, "type");

        if (text_equal(type, "Container")) {
            check_containers(f, item, "containers");
            check_containers(f, item, "initContainers");
        } else if (text_equal(type, "Pod")) {
            check_item(f, item, NULL);
        }
    }
}

/* A claim has a request alone. */
static void check_claim(struct faults *f, const json_t *item)
{
    const struct quantity asked =
        quota_amount(json_at(f->pod, "spec", "resources", "requests", "storage", NULL));
    const char *min = json_text_at(item, "min", "storage", NULL);
    const char *max = json_text_at(item, "max", "storage", NULL);
    char text[QUANTITY_TEXT_SIZE];

    quantity_format(asked, text);
    if (min && asked.milli < quota_amount(json_at(item, "min", "storage", NULL)).milli)
        faults_add(f, "minimum storage usage per PersistentVolumeClaim is %s, but request is %s",
                   min, text);
    if (max && asked.milli > quota_amount(json_at(item, "max", "storage", NULL)).milli)
        faults_add(f, "maximum storage usage per PersistentVolumeClaim is %s, but request is %s",
                   max, text);
}

static void range_check_claim(void *arg, const json_t *limits)
{
    for (size_t i = 0; i < json_array_size(limits); i++) {
        const json_t *item = json_array_get(limits, i);

        if (text_equal(json_text(item, "type"), "PersistentVolumeClaim"))
            check_claim(arg, item);
    }
}

static struct err *faults_err(const struct change *c, const struct faults *f)
{
    AUTO(buf_done) struct buf text = {0};

    VEC_EACH (&f->texts, told)
        buf_printf(&text, "%s%s", text.size > 0 ? ", " : "", *told);
    if (f->texts.n == 0)
        return NULL;
    return forbidden(c, f->texts.n > 1 ? "[%s]" : "%s", text.at);
}

struct err *admit_check_limits(const struct change *c)
{
    struct faults f = {.pod = c->after};
    struct err *e = each_range(c, is_pod(c->kind) ? range_check_limits : range_check_claim, &f);

    if (!e)
        e = faults_err(c, &f);
    VEC_EACH (&f.texts, told)
        free(*told);
    vec_done(&f.texts);
    return e;
}
