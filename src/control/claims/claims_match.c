/* claims_match.c - the devices of the inventory that meet a request: its class and its selectors */

#include "base/arena.h"
#include "control/claims/claims_private.h"
#include "model/cel/cel.h"
#include "model/quantity.h"

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

/* ---- conditions ---- */

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

static struct err *match_with(const struct claims *c, struct arena *a,
                              struct cel *const *conditions, size_t n, struct claims_option *o)
{
    const char *node;
    json_t *devices;

    json_object_foreach (c->inventory, node, devices) {
        for (size_t i = 0; i < json_array_size(devices); i++) {
            const json_t *device = json_array_get(devices, i);
            struct cel_device d = read_device(a, device);
            bool yes = false;
            struct err *e = device_matches(conditions, n, &d, &yes);

            if (e)
                return err_wrap(e, "device %s of node %s", json_text(device, "name"), node);
            if (yes && !claims_is_tainted(device, o->ask))
                vec_add(&o->matches, (struct claims_match){device, node});
        }
    }
    return NULL;
}

/* Fills o->matches. */
static struct err *match_all(const struct claims *c, struct arena *a, struct claims_option *o)
{
    const json_t *own = json_object_get(o->ask, "selectors");
    const json_t *of_class = json_at(o->class, "spec", "selectors", NULL);
    size_t max = json_array_size(own) + json_array_size(of_class);
    struct cel **all = arena_alloc(a, (max + 1) * sizeof(struct cel *));
    size_t n = 0;
    struct err *e = parse_conditions(of_class, "class", all, &n);

    if (!e)
        e = parse_conditions(own, "request", all, &n);
    if (!e)
        e = match_with(c, a, all, n, o);
    for (size_t i = 0; i < n; i++)
        cel_free(all[i]);
    return e;
}

struct err *claims_match(const struct claims *c, struct claims_option *o)
{
    const char *name = json_text(o->ask, "deviceClassName");
    const struct claims_object *class = name ? claims_find(c, CLAIMS_CLASSES, "", name) : NULL;
    struct arena *a;
    struct err *e;

    if (!class)
        return err_new(ERR_NOT_FOUND, "there is no DeviceClass %s", text_or_empty(name));
    o->class = class->tree;
    a = arena_new();
    e = match_all(c, a, o);
    arena_free(a);
    return e;
}
