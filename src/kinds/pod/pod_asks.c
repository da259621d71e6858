/* pod_asks.c - requests and annotations of a pod, read as amounts and devices */

#include "kinds/pod/pod_asks.h"

#include <inttypes.h>

#include "base/attr.h"
#include "base/mem.h"
#include "base/num.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_view.h"
#include "model/quantity.h"
#include "model/resource.h"

#define VENDOR     "nvidia.com/"
#define GPU_MEMORY VENDOR "gpumem"
#define GPU_CORES  VENDOR "gpucores"

#define MIB (INT64_C(1) << 20)

#define FRACTION       "gpu-fraction"
#define MEMORY         "gpu-memory"
#define FRACTION_COUNT "gpu-fraction-num-devices"
#define FRACTION_OWNER "gpu-fraction-container-name"

enum {
    SHARES_MAX = 64 /* of one pod: the engine gives no more devices */
};

const char *const pod_gpu_annotations[] = {FRACTION, MEMORY, FRACTION_COUNT, FRACTION_OWNER, NULL};

/* Reads a quantity; 0 if it does not parse, for validation refuses such objects. */
static struct quantity read_quantity(const json_t *value)
{
    struct quantity q = {0};
    struct err *e = NULL;

    if (json_is_integer(value))
        return json_integer_value(value) > INT64_MAX / 1000
                   ? (struct quantity){.milli = INT64_MAX}
                   : (struct quantity){.milli = json_integer_value(value) * 1000};
    if (json_is_string(value))
        e = quantity_parse(str_of(json_string_value(value)), &q);
    err_free(e);
    return q.milli < 0 ? (struct quantity){0} : q;
}

static const json_t *requested(const json_t *container, const char *resource)
{
    const json_t *resources = json_object_get(container, "resources");
    const json_t *value = json_at(resources, "requests", resource, NULL);

    return value ? value : json_at(resources, "limits", resource, NULL);
}

int64_t container_request_milli(const json_t *container, const char *resource)
{
    return read_quantity(requested(container, resource)).milli;
}

int64_t container_limit_milli(const json_t *container, const char *resource)
{
    return read_quantity(json_at(container, "resources", "limits", resource, NULL)).milli;
}

static int64_t container_units(const json_t *container, const char *resource)
{
    return quantity_units(read_quantity(requested(container, resource)));
}

/* The profile of "nvidia.com/mig-1g.10gb.me"; false: another resource. */
static bool read_profile(const char *resource, char ret[MIG_NAME_SIZE])
{
    return text_starts_with(resource, GPU_SLICE_RESOURCE) && !strchr(resource, '+') &&
           mig_name_read(resource + sizeof(VENDOR) - 1, ret);
}

bool gpu_resource_is_known(const char *name)
{
    char profile[MIG_NAME_SIZE];
    enum gpu_vendor vendor;

    return gpu_vendor_of(name, &vendor) || text_equal(name, GPU_SHARED_RESOURCE) ||
           text_equal(name, GPU_MEMORY) || text_equal(name, GPU_CORES) ||
           read_profile(name, profile);
}

/* ---- devices of a container ---- */

static int64_t add_saturating(int64_t a, int64_t b)
{
    int64_t sum = 0;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* The ask of the same kind, added with count 0 if the list has none; NULL: the list is full. */
static struct gpu_ask *gpu_asks_at(struct gpu_asks *asks, const struct gpu_ask *like)
{
    for (size_t i = 0; i < asks->n; i++)
        if (gpu_ask_is_like(&asks->at[i], like))
            return &asks->at[i];
    if (asks->n == POD_GPU_ASKS_MAX) {
        asks->has_more = true;
        return NULL;
    }
    asks->at[asks->n] = *like;
    asks->at[asks->n].count = 0;
    asks->at[asks->n].is_several = false;
    return &asks->at[asks->n++];
}

static void gpu_asks_add(struct gpu_asks *asks, const struct gpu_ask *ask)
{
    struct gpu_ask *into = ask->count > 0 ? gpu_asks_at(asks, ask) : NULL;

    if (!into)
        return;
    into->count = add_saturating(into->count, ask->count);
    into->is_several = into->is_several || ask->count > 1;
}

/* Adds nvidia.com/gpu: whole gpus, or shares with gpumem or gpucores. */
static void add_gpus(struct gpu_asks *asks, const json_t *container)
{
    int64_t mib = container_units(container, GPU_MEMORY);
    int64_t percent = container_units(container, GPU_CORES);
    struct gpu_ask ask = {.count = container_units(container, GPU_RESOURCE)};

    if (mib > 0 || (percent > 0 && percent < 100)) {
        ask.kind = DEVICE_SHARE;
        ask.count = requested(container, GPU_RESOURCE) ? ask.count : 1;
        ask.milli = percent < 100 ? (uint32_t)percent * 10 : 999;
        ask.bytes = mib > INT64_MAX / MIB ? INT64_MAX : mib * MIB;
    }
    gpu_asks_add(asks, &ask);
}

/* Adds gpus of other vendors than NVIDIA. */
static void add_vendors(struct gpu_asks *asks, const json_t *container)
{
    for (int v = GPU_NVIDIA + 1; v < GPU_VENDORS; v++) {
        const enum gpu_vendor vendor = (enum gpu_vendor)v;
        const struct gpu_ask ask = {
            .vendor = vendor, .count = container_units(container, gpu_vendor_resource(vendor))};

        gpu_asks_add(asks, &ask);
    }
}

static void add_slices(struct gpu_asks *asks, const json_t *container)
{
    static const char *const maps[] = {"requests", "limits"};

    for (size_t i = 0; i < COUNT(maps); i++) {
        const char *name;
        json_t *value;

        json_object_foreach (json_at(container, "resources", maps[i], NULL), name, value) {
            struct gpu_ask ask = {.kind = DEVICE_SLICE};

            if (!read_profile(name, ask.profile) ||
                (i == 1 && json_at(container, "resources", maps[0], name, NULL)))
                continue;
            ask.count = quantity_units(read_quantity(value));
            gpu_asks_add(asks, &ask);
        }
    }
}

static const char *annotation(const json_t *pod, const char *name)
{
    return json_text_at(pod, "metadata", "annotations", name, NULL);
}

/* The container that has the annotations' share: the named one, else the first. */
static bool owns_fraction(const json_t *pod, const json_t *container)
{
    const json_t *mains = json_at(pod, "spec", "containers", NULL);
    const char *owner = annotation(pod, FRACTION_OWNER);

    if (!owner || !*owner)
        return container == json_array_get(mains, 0);
    for (size_t i = 0; i < json_array_size(mains); i++)
        if (text_equal(json_text(json_array_get(mains, i), "name"), owner))
            return container == json_array_get(mains, i);
    return false;
}

/* The share that the annotations ask for; false: none, or malformed. */
static bool read_fraction(const json_t *pod, struct gpu_ask *ret)
{
    const char *part = annotation(pod, FRACTION);
    const char *memory = annotation(pod, MEMORY);
    const char *count = annotation(pod, FRACTION_COUNT);
    int64_t mib = 0;
    AUTO(err_freep) struct err *e = NULL;
    AUTO(err_freep) struct err *of_count = NULL;

    *ret = (struct gpu_ask){.kind = DEVICE_SHARE, .count = 1};
    if (count)
        of_count = num_parse_int64(str_of(count), 1, SHARES_MAX, &ret->count);
    if (part && !memory)
        return gpu_ask_read_part(str_of(part), &ret->milli);
    if (!memory || part)
        return false;
    e = num_parse_int64(str_of(memory), 1, INT64_MAX / MIB, &mib);
    ret->bytes = mib * MIB;
    return !e;
}

/* False: the claim's devices are held, or the line is damaged. */
static bool read_claim(const struct pod_claim *c, struct gpu_ask *ret)
{
    AUTO_FREE char *text = c->ask.size > 0 ? mem_strndup(c->ask.at, c->ask.size) : NULL;
    AUTO(err_freep) struct err *e = text ? gpu_ask_parse(text, ret) : NULL;

    if (!text || e)
        return false;
    ret->claim = c->id;
    ret->gpus = c->gpus;
    ret->starts = c->starts;
    return true;
}

static void add_claims(struct gpu_asks *asks, const json_t *pod, const json_t *container)
{
    struct str rest = {0};
    struct pod_claim c;

    if (!json_at(container, "resources", "claims", NULL))
        return;
    while (pod_next_claim(pod, &rest, &c)) {
        struct gpu_ask ask;

        if (container_has_claim(container, &c) && read_claim(&c, &ask))
            gpu_asks_add(asks, &ask);
    }
}

struct gpu_asks container_gpu_asks(const json_t *pod, const json_t *container)
{
    struct gpu_asks asks = {0};
    struct gpu_ask share = {.kind = DEVICE_REPLICA,
                            .count = container_units(container, GPU_SHARED_RESOURCE)};

    add_gpus(&asks, container);
    gpu_asks_add(&asks, &share);
    add_slices(&asks, container);
    add_vendors(&asks, container);
    if (owns_fraction(pod, container) && read_fraction(pod, &share))
        gpu_asks_add(&asks, &share);
    add_claims(&asks, pod, container);
    return asks;
}

int64_t pod_gpu_annotated_milli(const json_t *pod)
{
    struct gpu_ask share;

    if (json_array_size(json_at(pod, "spec", "containers", NULL)) == 0 ||
        !read_fraction(pod, &share))
        return 0;
    return share.count * (share.milli > 0 ? share.milli : 1000); /* at most 64000 */
}

int64_t container_gpu_annotated_milli(const json_t *pod, const json_t *container)
{
    return owns_fraction(pod, container) ? pod_gpu_annotated_milli(pod) : 0;
}

/* ---- the whole pod ---- */

/* Init containers use the devices of later ones; containers that name one claim share its
 * devices. */
static void gpu_asks_join(struct gpu_asks *all, const struct gpu_ask *own)
{
    struct gpu_ask *into = gpu_asks_at(all, own);

    if (into && own->count > into->count)
        into->count = own->count;
    if (into && own->count > 1)
        into->is_several = true;
}

struct gpu_asks pod_gpu_asks(const json_t *pod)
{
    const json_t *mains = json_at(pod, "spec", "containers", NULL);
    const json_t *inits = json_at(pod, "spec", "initContainers", NULL);
    struct gpu_asks all = {0};

    for (size_t i = 0; i < json_array_size(mains); i++) {
        struct gpu_asks own = container_gpu_asks(pod, json_array_get(mains, i));

        for (size_t k = 0; k < own.n; k++) {
            if (own.at[k].claim.size > 0)
                gpu_asks_join(&all, &own.at[k]);
            else
                gpu_asks_add(&all, &own.at[k]);
        }
        all.has_more = all.has_more || own.has_more;
    }
    for (size_t i = 0; i < json_array_size(inits); i++) {
        struct gpu_asks own = container_gpu_asks(pod, json_array_get(inits, i));

        for (size_t k = 0; k < own.n; k++)
            gpu_asks_join(&all, &own.at[k]);
        all.has_more = all.has_more || own.has_more;
    }
    return all;
}

/* What the pod's RuntimeClass takes. */
static int64_t overhead_amount(const json_t *pod, const char *resource, bool is_milli)
{
    const struct quantity q = read_quantity(json_at(pod, "spec", "overhead", resource, NULL));

    return is_milli ? q.milli : quantity_units(q);
}

static int64_t pod_amount(const json_t *pod, const char *resource, bool is_milli)
{
    const json_t *containers = json_at(pod, "spec", "containers", NULL);
    const json_t *inits = json_at(pod, "spec", "initContainers", NULL);
    int64_t total = 0;
    int64_t sidecars = 0; /* that run already */
    int64_t most = 0;     /* while an init container runs */

    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *container = json_array_get(containers, i);

        total = add_saturating(total, is_milli ? container_request_milli(container, resource)
                                               : container_units(container, resource));
    }
    for (size_t i = 0; i < json_array_size(inits); i++) {
        const json_t *container = json_array_get(inits, i);
        int64_t amount = is_milli ? container_request_milli(container, resource)
                                  : container_units(container, resource);

        amount = add_saturating(amount, sidecars);
        if (container_is_sidecar(container)) {
            total = add_saturating(total, amount - sidecars);
            sidecars = amount;
        }
        most = amount > most ? amount : most;
    }
    most = most > total ? most : total;
    return add_saturating(most, overhead_amount(pod, resource, is_milli));
}

static bool is_own(const char *name)
{
    static const char *const own[] = {"cpu", "memory", "ephemeral-storage"};

    for (size_t i = 0; i < COUNT(own); i++)
        if (text_equal(own[i], name))
            return true;
    return gpu_resource_is_known(name);
}

static void asks_add_other(struct pod_asks *asks, const json_t *pod, const char *name)
{
    int64_t amount;

    for (size_t i = 0; i < asks->n_others; i++)
        if (text_equal(asks->others[i].name, name))
            return;
    amount = is_own(name) ? 0 : pod_amount(pod, name, false);
    if (amount == 0)
        return;
    if (asks->n_others == POD_OTHERS_MAX)
        asks->has_more_others = true;
    else
        asks->others[asks->n_others++] = (struct pod_other){.name = name, .amount = amount};
}

static void add_others(struct pod_asks *asks, const json_t *pod, const json_t *containers)
{
    static const char *const maps[] = {"requests", "limits"};

    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *resources = json_object_get(json_array_get(containers, i), "resources");

        for (size_t j = 0; j < COUNT(maps); j++) {
            const char *name;
            json_t *value;

            json_object_foreach (json_object_get(resources, maps[j]), name, value)
                asks_add_other(asks, pod, name);
        }
    }
}

struct pod_asks pod_asks(const json_t *pod)
{
    struct pod_asks asks = {
        .cpu_milli = pod_amount(pod, "cpu", true),
        .memory_bytes = pod_amount(pod, "memory", false),
        .ephemeral_bytes = pod_amount(pod, "ephemeral-storage", false),
        .gpus = pod_gpu_asks(pod),
    };

    add_others(&asks, pod, json_at(pod, "spec", "containers", NULL));
    add_others(&asks, pod, json_at(pod, "spec", "initContainers", NULL));
    return asks;
}

/* ---- parts ---- */

static uint32_t to_uint32(int64_t n)
{
    return (uint32_t)(n > UINT32_MAX ? UINT32_MAX : n);
}

/* The parts of one container. `dealt`: devices of each ask that earlier containers have. */
static void each_part_of(const json_t *pod, const json_t *container, const struct gpu_asks *all,
                         int64_t *dealt, pod_part_fn fn, void *arg)
{
    struct gpu_asks own = container_gpu_asks(pod, container);
    int64_t first = 0;

    for (size_t i = 0; i < all->n; i++) {
        for (size_t k = 0; k < own.n; k++) {
            struct pod_part part = {
                .container = json_text(container, "name"),
                .is_init = !dealt,
                .claim = own.at[k].claim,
                .first = to_uint32(add_saturating(first, dealt ? dealt[i] : 0)),
                .count = to_uint32(own.at[k].count),
            };

            if (!gpu_ask_is_like(&all->at[i], &own.at[k]))
                continue;
            fn(arg, &part);
            if (dealt && own.at[k].claim.size == 0)
                dealt[i] = add_saturating(dealt[i], own.at[k].count);
        }
        first = add_saturating(first, all->at[i].count);
    }
}

void pod_each_part(const json_t *pod, pod_part_fn fn, void *arg)
{
    const json_t *mains = json_at(pod, "spec", "containers", NULL);
    const json_t *inits = json_at(pod, "spec", "initContainers", NULL);
    struct gpu_asks all = pod_gpu_asks(pod);
    int64_t dealt[POD_GPU_ASKS_MAX] = {0};

    for (size_t i = 0; all.n > 0 && i < json_array_size(inits); i++)
        each_part_of(pod, json_array_get(inits, i), &all, NULL, fn, arg);
    for (size_t i = 0; all.n > 0 && i < json_array_size(mains); i++)
        each_part_of(pod, json_array_get(mains, i), &all, dealt, fn, arg);
}

int64_t gpu_asks_count(const struct gpu_asks *asks)
{
    int64_t n = 0;

    for (size_t i = 0; i < asks->n; i++)
        n = add_saturating(n, asks->at[i].count);
    return n;
}

void gpu_asks_multiply(struct gpu_asks *asks, int64_t n)
{
    if (n <= 0)
        *asks = (struct gpu_asks){0};
    for (size_t i = 0; i < asks->n; i++)
        if (__builtin_mul_overflow(asks->at[i].count, n, &asks->at[i].count))
            asks->at[i].count = INT64_MAX;
}

char *gpu_asks_format(const struct gpu_asks *asks)
{
    char text[GPU_ASK_TEXT_SIZE];
    struct buf b = {0};

    if (asks->n == 0)
        buf_add_char(&b, '0');
    for (size_t i = 0; i < asks->n; i++) {
        gpu_ask_format(&asks->at[i], text);
        buf_printf(&b, "%s%s", i > 0 ? "+" : "", text);
    }
    if (asks->has_more)
        buf_add_text(&b, "+...");
    return buf_steal(&b);
}

/* ---- manifests ---- */

void pod_ask_for(json_t *pod, json_t *container, const struct gpu_ask *ask)
{
    json_t *limits = json_object_at(json_object_at(container, "resources"), "limits");
    json_t *annotations;
    AUTO_FREE char *profile = NULL;
    AUTO_FREE char *count = mem_format("%" PRId64, ask->count);
    AUTO_FREE char *part = mem_format("0.%03u", ask->milli);

    switch (ask->kind) {
    case DEVICE_WHOLE:
        json_put_int(limits, gpu_vendor_resource(ask->vendor), ask->count);
        return;
    case DEVICE_REPLICA:
        json_put_int(limits, GPU_SHARED_RESOURCE, ask->count);
        return;
    case DEVICE_SLICE:
        profile = mem_format(GPU_SLICE_RESOURCE "%s", ask->profile);
        for (char *c = profile; *c; c++)
            if (*c == '+')
                *c = '.';
        json_put_int(limits, profile, ask->count);
        return;
    case DEVICE_SHARE:
        break;
    }
    if (ask->bytes > 0) {
        json_put_int(limits, GPU_RESOURCE, ask->count);
        json_put_int(limits, GPU_MEMORY, ask->bytes / MIB);
        if (ask->milli > 0)
            json_put_int(limits, GPU_CORES, ask->milli / 10);
        return;
    }
    annotations = json_object_at(json_object_at(pod, "metadata"), "annotations");
    json_put_text(annotations, FRACTION, part);
    if (ask->count > 1)
        json_put_text(annotations, FRACTION_COUNT, count);
}

static const json_t *limit_of(const json_t *container, const char *name)
{
    const json_t *limit = json_at(container, "resources", "limits", name, NULL);

    return limit ? limit : json_at(container, "resources", "requests", name, NULL);
}

static void validate_share(const json_t *container, const struct path *limits,
                           struct causes *causes)
{
    const json_t *memory = limit_of(container, GPU_MEMORY);
    const json_t *cores = limit_of(container, GPU_CORES);
    const json_t *gpus = limit_of(container, GPU_RESOURCE);
    int64_t percent = quantity_units(read_quantity(cores));
    struct gpu_asks asks = {0};

    if (cores && (percent < 1 || percent > 99))
        cause_invalid_int(causes, PATH_KEY(limits, GPU_CORES), percent,
                          "must be between 1 and 99, in percent: for all of a gpu leave out "
                          "gpucores and gpumem");
    if (!memory)
        cause_required(causes, PATH_KEY(limits, GPU_MEMORY),
                       "a share by gpucores needs its memory, in MiB");
    else if (read_quantity(memory).milli == 0)
        cause_invalid_int(causes, PATH_KEY(limits, GPU_MEMORY), 0, "must be at least 1, in MiB");
    if (gpus && read_quantity(gpus).milli == 0)
        cause_invalid_int(causes, PATH_KEY(limits, GPU_RESOURCE), 0,
                          "must be at least 1 with gpumem: the number of shares");
    add_slices(&asks, container);
    if (asks.n > 0 || container_units(container, GPU_SHARED_RESOURCE) > 0)
        cause_forbidden(causes, PATH_KEY(limits, GPU_MEMORY),
                        "gpumem and gpucores are about nvidia.com/gpu only: a replica has no "
                        "memory of its own, and a slice has that of its profile");
}

void container_validate_gpus(const json_t *container, const struct path *at, struct causes *causes)
{
    struct gpu_asks asks = container_gpu_asks(NULL, container);

    if (limit_of(container, GPU_MEMORY) || limit_of(container, GPU_CORES))
        validate_share(container, PATH(at, "limits"), causes);
    if (asks.has_more)
        cause_too_many(causes, at, POD_GPU_ASKS_MAX + 1, POD_GPU_ASKS_MAX);
}

static void validate_number(const json_t *pod, const char *name, int64_t max, const char *detail,
                            const struct path *annotations, struct causes *causes)
{
    const char *text = annotation(pod, name);
    int64_t n = 0;
    AUTO(err_freep) struct err *e = text ? num_parse_int64(str_of(text), 1, max, &n) : NULL;

    if (e)
        cause_invalid(causes, PATH_KEY(annotations, name), text, detail);
}

static void validate_owner(const json_t *pod, const struct path *annotations, struct causes *causes)
{
    const json_t *mains = json_at(pod, "spec", "containers", NULL);
    const char *owner = annotation(pod, FRACTION_OWNER);
    bool is_found = false;

    for (size_t i = 0; i < json_array_size(mains); i++)
        is_found = is_found || text_equal(json_text(json_array_get(mains, i), "name"), owner);
    if (owner && !is_found)
        cause_not_found(causes, PATH_KEY(annotations, FRACTION_OWNER), owner);
}

/* Adds a cause if a container asks for gpus beside the annotation `name`. */
static void validate_beside(const json_t *pod, const char *name, const struct path *annotations,
                            struct causes *causes)
{
    static const char *const lists[] = {"containers", "initContainers"};

    for (size_t l = 0; l < 2; l++) {
        const json_t *list = json_at(pod, "spec", lists[l], NULL);

        for (size_t i = 0; i < json_array_size(list); i++) {
            struct gpu_asks own = container_gpu_asks(NULL, json_array_get(list, i));

            if (own.n == 0)
                continue;
            cause_forbidden(causes, PATH_KEY(annotations, name),
                            "a container of the pod asks for gpus among its resources: leave out "
                            "either the annotation or these");
            return;
        }
    }
}

/* A device in the pod's list says nothing of its vendor, so there is only one. */
static void validate_vendors(const json_t *pod, const struct path *at, struct causes *causes)
{
    const struct gpu_asks all = pod_gpu_asks(pod);

    for (size_t i = 1; i < all.n; i++) {
        if (all.at[i].vendor == all.at[0].vendor)
            continue;
        cause_forbidden(causes, PATH(PATH(at, "spec"), "containers"),
                        "a pod asks for gpus of one vendor only: nvidia.com/..., amd.com/gpu, "
                        "gpu.intel.com/i915 or gpu.intel.com/xe");
        return;
    }
}

void pod_validate_gpus(const json_t *pod, const struct path *at, struct causes *causes)
{
    const struct path *annotations = PATH(PATH(at, "metadata"), "annotations");
    const char *part = annotation(pod, FRACTION);
    const char *memory = annotation(pod, MEMORY);
    uint32_t milli = 0;

    validate_vendors(pod, at, causes);
    if (part && memory)
        cause_forbidden(causes, PATH_KEY(annotations, MEMORY),
                        "a share is either a gpu-fraction or a gpu-memory");
    if (part && !gpu_ask_read_part(str_of(part), &milli))
        cause_invalid(causes, PATH_KEY(annotations, FRACTION), part,
                      "must be between 0.001 and 0.999: for whole gpus use the resource "
                      "nvidia.com/gpu");
    validate_number(pod, MEMORY, INT64_MAX / MIB, "must be a number of MiB, at least 1",
                    annotations, causes);
    if (!part && !memory)
        return;
    validate_number(pod, FRACTION_COUNT, SHARES_MAX, "must be a number between 1 and 64",
                    annotations, causes);
    validate_owner(pod, annotations, causes);
    validate_beside(pod, part ? FRACTION : MEMORY, annotations, causes);
}
