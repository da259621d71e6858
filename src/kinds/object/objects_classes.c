/*
 * objects_classes.c - rules of classes that objects name: the default class, and what a pod gets
 * from its RuntimeClass, as Kubernetes' admission plugins DefaultIngressClass and RuntimeClass have
 * them
 */

#include "base/mem.h"
#include "kinds/object/objects_private.h"
#include "kinds/object/tree_cache.h"
#include "kinds/pod/pod_state.h"
#include "kinds/service/ingress.h"

/* Is `one` newer than `other`; of the same age: first by name? */
static bool is_preferred(const json_t *one, const json_t *other)
{
    int order = strcmp(text_or_empty(json_text_at(one, "metadata", "creationTimestamp", NULL)),
                       text_or_empty(json_text_at(other, "metadata", "creationTimestamp", NULL)));

    return order > 0 || (order == 0 && strcmp(json_text_at(one, "metadata", "name", NULL),
                                              json_text_at(other, "metadata", "name", NULL)) < 0);
}

struct err *class_find_default(const struct change *c, const struct store_range *classes,
                               bool (*is_default)(const json_t *class), json_t **ret)
{
    const struct store_object *o = NULL;

    while ((o = store_next_applied(c->objects->store, classes, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *class = NULL;

        TRY(tree_cache_get(c->objects->trees, o, &class));
        if (!is_default(class) || (*ret && !is_preferred(class, *ret)))
            continue;
        json_decref(*ret);
        *ret = TAKE(class);
    }
    return NULL;
}

struct err *ingress_create_rules(struct change *c)
{
    const struct store_range classes = {.group = "networking.k8s.io", .resource = "ingressclasses"};
    const char *named = json_text_at(c->after, "spec", "ingressClassName", NULL);
    const char *old = json_text_at(c->after, "metadata", "annotations", INGRESS_OLD_CLASS, NULL);
    AUTO(json_freep) json_t *class = NULL;
    AUTO(causes_done) struct causes causes = {0};

    if (!text_equal(c->kind->group, "networking.k8s.io") ||
        !text_equal(c->kind->plural, "ingresses"))
        return NULL;
    if (named && old && !text_equal(named, old)) {
        cause_invalid(&causes, PATH(PATH(NULL, "annotations"), INGRESS_OLD_CLASS), old,
                      "must match `ingressClassName` when both are specified");
        return causes_err_of(&causes, c->kind,
                             text_or_empty(json_text_at(c->after, "metadata", "name", NULL)));
    }
    if (named || old)
        return NULL;
    TRY(class_find_default(c, &classes, ingress_class_is_default, &class));
    if (class)
        json_put_text(json_object_at(c->after, "spec"), "ingressClassName",
                      json_text_at(class, "metadata", "name", NULL));
    return NULL;
}

/* ---- RuntimeClass ---- */

static struct err *runtime_class_get(const struct change *c, const char *name, json_t **ret)
{
    const struct store_object *o = store_get_applied(
        c->objects->store,
        (struct store_key){
            .group = "node.k8s.io", .resource = "runtimeclasses", .ns = "", .name = name});

    if (!o)
        return forbidden(c, "pod rejected: RuntimeClass \"%s\" not found", name);
    return tree_cache_get(c->objects->trees, o, ret);
}

static struct err *put_overhead(const struct change *c, const json_t *class, json_t *spec)
{
    json_t *fixed = json_at(class, "overhead", "podFixed", NULL);
    const json_t *given = json_object_get(spec, "overhead");

    if (!json_object_get(class, "overhead"))
        return given ? forbidden(c, "pod rejected: Pod Overhead set without corresponding "
                                    "RuntimeClass defined Overhead")
                     : NULL;
    if (json_object_size(given) > 0 && (!fixed || !json_equal(given, fixed)))
        return forbidden(
            c, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    if (fixed)
        json_put(spec, "overhead", json_deep_copy(fixed));
    return NULL;
}

static struct err *put_selector(const struct change *c, const json_t *class, json_t *spec)
{
    json_t *wanted = json_at(class, "scheduling", "nodeSelector", NULL);
    const char *key;
    json_t *value;

    json_object_foreach (wanted, key, value) {
        json_t *selector = json_object_at(spec, "nodeSelector");
        const char *own = json_text(selector, key);
        const char *text = text_or_empty(json_string_value(value));

        if (own && !text_equal(own, text))
            return forbidden(c,
                             "conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; "
                             "pod.spec.nodeSelector[%s] = %s",
                             key, text, key, own);
        json_put_text(selector, key, text);
    }
    return NULL;
}

static bool has_item(const json_t *list, const json_t *item)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), item))
            return true;
    return false;
}

static void put_tolerations(const json_t *class, json_t *spec)
{
    const json_t *more = json_at(class, "scheduling", "tolerations", NULL);

    for (size_t i = 0; i < json_array_size(more); i++) {
        json_t *item = json_array_get(more, i);
        json_t *list = json_array_at(spec, "tolerations");

        if (!has_item(list, item))
            (void)json_array_append_new(list, json_deep_copy(item)); /* fresh: cannot fail */
    }
}

/* GPUs come to containers without the help of a runtime: the handlers of NVIDIA's GPU operator name
 * the nodes' own runtime. */
static bool is_handler_known(const char *handler)
{
    static const char *const known[] = {"crun", "runc", "nvidia", "nvidia-cdi", "nvidia-legacy"};

    for (size_t i = 0; i < COUNT(known); i++)
        if (text_equal(known[i], handler))
            return true;
    return false;
}

static void put_handler(const json_t *class, json_t *metadata)
{
    const char *handler = json_text(class, "handler");

    if (handler && !is_handler_known(handler))
        json_put_text(json_object_at(metadata, "annotations"), POD_RUNTIME, handler);
}

struct err *runtime_class_rules(struct change *c)
{
    const char *name = json_text_at(c->after, "spec", "runtimeClassName", NULL);
    AUTO(json_freep) json_t *class = NULL;
    json_t *spec;

    if (!is_pod(c->kind))
        return NULL;
    spec = json_object_at(c->after, "spec");
    if (name)
        TRY(runtime_class_get(c, name, &class));
    TRY(put_overhead(c, class, spec));
    TRY(put_selector(c, class, spec));
    put_tolerations(class, spec);
    put_handler(class, json_object_at(c->after, "metadata"));
    return NULL;
}
