/* claims_resolve.c - what a claim asks for: the devices that its class and its selectors choose */

#include <inttypes.h>

#include "base/arena.h"
#include "control/claims/claims_private.h"
#include "model/cel/cel.h"
#include "model/gpu_ask.h"
#include "model/quantity.h"

enum {
    CLAIM_GPUS_MAX = 1024 /* limit of the engine */
};

/* ---- a device as CEL sees it ---- */

/* "memory" is in the driver's domain, "resource.kubernetes.io/numaNode" in its own. */
static struct cel_attribute attribute_named(const char *key)
{
    struct str rest = str_of(key);
    struct str domain = str_cut(&rest, '/');

    if (rest.at)
        return (struct cel_attribute){.domain = domain, .name = rest};
    return (struct cel_attribute){.domain = STR(CLAIM_DRIVER), .name = domain};
}

static struct cel_attribute read_attribute(const char *key, const json_t *tree)
{
    struct cel_attribute a = attribute_named(key);
    const char *version = json_text(tree, "version");
    const json_t *number = json_object_get(tree, "int");

    a.value = (struct cel_value){.kind = CEL_STRING, .text = str_of(json_text(tree, "string"))};
    if (version && cel_version_read(str_of(version), &a.value.version))
        a.value.kind = CEL_VERSION;
    else if (number)
        a.value = (struct cel_value){.kind = CEL_INT, .number = json_integer_value(number)};
    return a;
}

static struct cel_attribute read_capacity(const char *key, const json_t *tree)
{
    struct cel_attribute a = attribute_named(key);
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = quantity_parse(str_of(json_text(tree, "value")), &q);

    a.is_capacity = true;
    a.value = (struct cel_value){.kind = CEL_QUANTITY, .number = e ? 0 : q.milli};
    return a;
}

static struct cel_device read_device(struct arena *a, const json_t *device)
{
    json_t *attributes = json_object_get(device, "attributes");
    json_t *capacity = json_object_get(device, "capacity");
    struct cel_attribute *list = arena_alloc(
        a, (json_object_size(attributes) + json_object_size(capacity) + 1) * sizeof(*list));
    size_t n = 0;
    const char *key;
    json_t *value;

    json_object_foreach (attributes, key, value)
        list[n++] = read_attribute(key, value);
    json_object_foreach (capacity, key, value)
        list[n++] = read_capacity(key, value);
    return (struct cel_device){.driver = STR(CLAIM_DRIVER), .attributes = list, .n_attributes = n};
}

/* ---- the choice ---- */

/* The devices that match a request, by kind. */
struct chosen {
    json_t *gpus;   /* uuids of whole gpus, and the parents of slices: {uuid: matching slices} */
    size_t n;       /* devices */
    size_t n_nodes; /* with devices */
    const char *profile;       /* of the slices */
    const char *other_profile; /* another one; NULL: all slices have one */
    bool has_gpus;
    bool has_slices;
};

struct resolving {
    const struct claims *claims;
    const char *name; /* the pod's for the claim */
    const json_t *claim;
    const json_t *exactly;
    const char *request;
    const json_t *class;
    struct arena *arena;
    struct chosen chosen;
};

/* Adds the conditions that are parsed to `all`. */
static struct err *parse_conditions(const json_t *selectors, const char *whose, struct cel **all,
                                    size_t *n)
{
    for (size_t i = 0; i < json_array_size(selectors); i++) {
        const char *text = json_text_at(json_array_get(selectors, i), "cel", "expression", NULL);
        struct err *e = cel_parse(str_of(text_or_empty(text)), &all[*n]);

        if (e)
            return err_wrap(e, "selector %zu of the %s", i, whose);
        (*n)++;
    }
    return NULL;
}

static struct err *device_matches(struct cel *const *all, size_t n, const struct cel_device *d,
                                  bool *ret)
{
    *ret = true;
    for (size_t i = 0; i < n && *ret; i++)
        TRY(cel_matches(all[i], d, ret));
    return NULL;
}

static void chosen_add(struct chosen *c, const json_t *device)
{
    bool is_slice = text_equal(claims_attribute(device, "type"), "mig");
    const char *uuid = claims_attribute(device, is_slice ? "parentUUID" : "uuid");
    const char *profile = claims_attribute(device, "profile");

    if (!uuid)
        return;
    json_put_int(c->gpus, uuid, json_int(c->gpus, uuid, 0) + 1);
    c->n++;
    c->has_gpus = c->has_gpus || !is_slice;
    c->has_slices = c->has_slices || is_slice;
    if (is_slice && c->profile && !text_equal(c->profile, profile))
        c->other_profile = profile;
    if (is_slice && !c->profile)
        c->profile = profile;
}

static struct err *choose_with(struct resolving *r, struct cel *const *conditions, size_t n)
{
    const char *node;
    json_t *devices;

    json_object_foreach (r->claims->inventory, node, devices) {
        size_t before = r->chosen.n;

        for (size_t i = 0; i < json_array_size(devices); i++) {
            const json_t *device = json_array_get(devices, i);
            struct cel_device d = read_device(r->arena, device);
            bool yes = false;
            struct err *e = device_matches(conditions, n, &d, &yes);

            if (e)
                return err_wrap(e, "device %s of node %s", json_text(device, "name"), node);
            if (yes)
                chosen_add(&r->chosen, device);
        }
        r->chosen.n_nodes += r->chosen.n > before;
    }
    return NULL;
}

/* Fills r->chosen. */
static struct err *choose(struct resolving *r)
{
    const json_t *own = json_object_get(r->exactly, "selectors");
    const json_t *of_class = json_at(r->class, "spec", "selectors", NULL);
    size_t max = json_array_size(own) + json_array_size(of_class);
    struct cel **all = arena_alloc(r->arena, (max + 1) * sizeof(struct cel *));
    size_t n = 0;
    struct err *e = parse_conditions(of_class, "class", all, &n);

    if (!e)
        e = parse_conditions(own, "request", all, &n);
    if (!e)
        e = choose_with(r, all, n);
    for (size_t i = 0; i < n; i++)
        cel_free(all[i]);
    return e;
}

/* The number of devices of the whole inventory that lie on the gpu and have the profile (NULL: the
 * gpu itself). */
static int64_t count_on(const struct resolving *r, const char *uuid, const char *profile)
{
    const char *node;
    json_t *devices;
    int64_t n = 0;

    json_object_foreach (r->claims->inventory, node, devices) {
        for (size_t i = 0; i < json_array_size(devices); i++) {
            const json_t *device = json_array_get(devices, i);

            n += profile ? text_equal(claims_attribute(device, "parentUUID"), uuid) &&
                               text_equal(claims_attribute(device, "profile"), profile)
                         : text_equal(claims_attribute(device, "uuid"), uuid);
        }
    }
    return n;
}

/* Are all slices of the profile chosen, on the gpus that have a chosen one? The engine chooses
 * among a gpu's slices by profile only. */
static bool are_slices_whole(const struct resolving *r)
{
    const char *uuid;
    json_t *n;

    json_object_foreach (r->chosen.gpus, uuid, n)
        if (json_integer_value(n) != count_on(r, uuid, r->chosen.profile))
            return false;
    return true;
}

/* ---- how the devices are given ---- */

static bool is_for_request(const json_t *config, const char *request)
{
    const json_t *names = json_object_get(config, "requests");

    return json_array_size(names) == 0 || json_has_text(names, request);
}

static struct err *read_configs(const json_t *list, const char *request, struct claim_sharing *ret)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *config = json_array_get(list, i);
        const json_t *opaque = json_object_get(config, "opaque");

        if (!text_equal(json_text(opaque, "driver"), CLAIM_DRIVER) ||
            !is_for_request(config, request))
            continue;
        *ret = (struct claim_sharing){0};
        TRY(claim_read_sharing(json_object_get(opaque, "parameters"), ret));
    }
    return NULL;
}

/* Fills the ask; the claim's parameters go before those of the class. */
static struct err *read_ask(const struct resolving *r, struct gpu_ask *ret)
{
    struct claim_sharing sharing = {0};

    TRY(read_configs(json_at(r->class, "spec", "config", NULL), r->request, &sharing));
    TRY(read_configs(json_at(r->claim, "spec", "devices", "config", NULL), r->request, &sharing));
    *ret = (struct gpu_ask){.count = json_int(r->exactly, "count", 1)};
    if (text_equal(json_text(r->exactly, "allocationMode"), "All"))
        ret->count = (int64_t)r->chosen.n;
    if (sharing.is_replica) {
        ret->kind = DEVICE_REPLICA;
    } else if (sharing.milli > 0 || sharing.bytes > 0) {
        ret->kind = DEVICE_SHARE;
        ret->milli = sharing.milli;
        ret->bytes = sharing.bytes;
    }
    if (!r->chosen.has_slices)
        return NULL;
    if (ret->kind != DEVICE_WHOLE)
        return err_new(ERR_INVALID, "slices are not shared: not implemented yet");
    ret->kind = DEVICE_SLICE;
    (void)mig_name_read(text_or_empty(r->chosen.profile), ret->profile);
    return NULL;
}

/* Faults of a choice that the engine could not keep. */
static struct err *check_choice(const struct resolving *r, int64_t count)
{
    const struct chosen *c = &r->chosen;

    if (c->n == 0)
        return err_new(ERR_INVALID, "no device of class %s matches",
                       json_text_at(r->class, "metadata", "name", NULL));
    if (c->has_gpus && c->has_slices)
        return err_new(ERR_INVALID,
                       "the selectors match both gpus and slices: not implemented yet");
    if (c->other_profile)
        return err_new(ERR_INVALID,
                       "the selectors match slices of %s and of %s: select one profile", c->profile,
                       c->other_profile);
    if (c->has_slices && !are_slices_whole(r))
        return err_new(ERR_INVALID,
                       "the selectors match some slices %s of a gpu only: not implemented yet",
                       c->profile);
    if (json_object_size(c->gpus) > CLAIM_GPUS_MAX)
        return err_new(ERR_INVALID, "the selectors match %zu gpus, at most %d can be told apart",
                       json_object_size(c->gpus), CLAIM_GPUS_MAX);
    if ((size_t)count > c->n)
        return err_new(ERR_INVALID, "asks for %" PRId64 " devices, %zu of class %s match", count,
                       c->n, json_text_at(r->class, "metadata", "name", NULL));
    if (text_equal(json_text(r->exactly, "allocationMode"), "All") && c->n_nodes > 1)
        return err_new(ERR_INVALID, "allocationMode All matches devices of several nodes: not "
                                    "implemented yet");
    return NULL;
}

static void add_line(const struct resolving *r, const struct gpu_ask *ask, struct buf *out)
{
    char text[GPU_ASK_TEXT_SIZE];
    const char *uuid;
    json_t *n;
    size_t i = 0;

    gpu_ask_format(ask, text);
    buf_printf(out, "%s %s %s %s ", r->name, r->request,
               text_or_empty(json_text_at(r->claim, "metadata", "uid", NULL)), text);
    json_object_foreach (r->chosen.gpus, uuid, n)
        buf_printf(out, "%s%s", i++ > 0 ? "," : "", uuid);
    buf_add_char(out, '\n');
}

static struct err *resolve_request(struct resolving *r, struct buf *out)
{
    const char *name = json_text(r->exactly, "deviceClassName");
    const struct claims_object *class =
        name ? claims_find(r->claims, CLAIMS_CLASSES, "", name) : NULL;
    struct gpu_ask ask = {0};

    if (!class)
        return err_new(ERR_NOT_FOUND, "there is no DeviceClass %s", text_or_empty(name));
    r->class = class->tree;
    TRY(choose(r));
    TRY(read_ask(r, &ask));
    TRY(check_choice(r, ask.count));
    add_line(r, &ask, out);
    return NULL;
}

char *claims_resolve(const struct claims *c, const char *name, const json_t *claim, struct buf *out)
{
    const json_t *requests = json_at(claim, "spec", "devices", "requests", NULL);

    for (size_t i = 0; i < json_array_size(requests); i++) {
        const json_t *request = json_array_get(requests, i);
        struct resolving r = {.claims = c,
                              .name = name,
                              .claim = claim,
                              .exactly = json_object_get(request, "exactly"),
                              .request = json_text(request, "name"),
                              .arena = arena_new(),
                              .chosen = {.gpus = json_object()}};
        AUTO(err_freep) struct err *e = resolve_request(&r, out);

        json_decref(r.chosen.gpus);
        arena_free(r.arena);
        if (e)
            return mem_format("request %s of ResourceClaim %s: %s", r.request,
                              json_text_at(claim, "metadata", "name", NULL), err_message(e));
    }
    return NULL;
}
