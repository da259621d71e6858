/* admit_priority.c - priority classes, as Kubernetes' admission plugin Priority applies them */

#include <inttypes.h>

#include "kinds/object/tree_cache.h"
#include "kinds/quota/admit.h"

static const char group[] = "scheduling.k8s.io";
static const char plural[] = "priorityclasses";

static bool is_class(const struct kind *k)
{
    return text_equal(k->group, group) && text_equal(k->plural, plural);
}

/* The class for pods that name none: a new reference, or NULL. */
static struct err *find_default(const struct change *c, json_t **ret)
{
    const struct store_range range = {.group = group, .resource = plural};
    const struct store_object *o = NULL;

    while ((o = store_next_applied(c->objects->store, &range, o ? &o->key : NULL))) {
        json_t *class = NULL;

        TRY(tree_cache_get(c->objects->trees, o, &class));
        if (json_bool(class, "globalDefault", false)) {
            *ret = class;
            return NULL;
        }
        json_decref(class);
    }
    return NULL;
}

static struct err *find_class(const struct change *c, const char *name, json_t **ret)
{
    struct store_key key = {.group = group, .resource = plural, .ns = "", .name = name};
    const struct store_object *o = store_get_applied(c->objects->store, key);

    if (!o)
        return forbidden(c, "no PriorityClass with name %.253s was found", name);
    return tree_cache_get(c->objects->trees, o, ret);
}

/* Sets priority and preemptionPolicy from the class (NULL: none). Values in the spec must equal
 * them. */
static struct err *set_from(struct change *c, json_t *spec, const json_t *class)
{
    const json_t *own = json_object_get(spec, "priority");
    const char *own_policy = json_text(spec, "preemptionPolicy");
    const char *policy = class ? json_text(class, "preemptionPolicy") : "PreemptLowerPriority";
    int64_t priority = json_int(class, "value", 0);

    if (own && json_integer_value(own) != priority)
        return forbidden(c,
                         "the integer value of priority (%" PRId64
                         ") must not be provided in pod spec; priority admission controller "
                         "computed %" PRId64 " from the given PriorityClass name",
                         (int64_t)json_integer_value(own), priority);
    if (own_policy && *own_policy && !text_equal(own_policy, policy))
        return forbidden(c,
                         "the string value of PreemptionPolicy (%.64s) must not be provided in "
                         "pod spec; priority admission controller computed %s from the given "
                         "PriorityClass name",
                         own_policy, policy);
    json_put_int(spec, "priority", priority);
    json_put_text(spec, "preemptionPolicy", policy);
    return NULL;
}

struct err *admit_priority(struct change *c)
{
    json_t *spec = json_object_get(c->after, "spec");
    const char *name = json_text(spec, "priorityClassName");
    AUTO(json_freep) json_t *class = NULL;

    if (!is_pod(c->kind) || !spec)
        return NULL;
    if (name && *name)
        TRY(find_class(c, name, &class));
    else
        TRY(find_default(c, &class));
    if (class && !(name && *name))
        json_put_text(spec, "priorityClassName", json_text_at(class, "metadata", "name", NULL));
    return set_from(c, spec, class);
}

void admit_keep_priority(struct change *c)
{
    static const char *const fields[] = {"priority", "preemptionPolicy"};
    const json_t *was = json_object_get(c->before, "spec");
    json_t *is = json_object_get(c->after, "spec");

    for (size_t i = 0; is_pod(c->kind) && i < 2; i++) {
        json_t *value = json_object_get(was, fields[i]);

        if (value && is && !json_object_get(is, fields[i]))
            json_put(is, fields[i], json_incref(value));
    }
}

static struct err *check_default(const struct change *c)
{
    AUTO(json_freep) json_t *other = NULL;
    const char *name;

    if (!json_bool(c->after, "globalDefault", false))
        return NULL;
    TRY(find_default(c, &other));
    name = json_text_at(other, "metadata", "name", NULL);
    if (!other || text_equal(name, json_text_at(c->after, "metadata", "name", NULL)))
        return NULL;
    return forbidden(c, "PriorityClass %s is already marked as default. Only one default can exist",
                     name);
}

struct err *admit_check(const struct change *c)
{
    if (is_class(c->kind))
        return check_default(c);
    TRY(admit_check_queue(c));
    if (text_equal(c->kind->plural, "persistentvolumeclaims") && *c->kind->group == '\0')
        return c->request->subresource ? NULL : admit_check_limits(c);
    return is_pod(c->kind) && !c->before ? admit_check_limits(c) : NULL;
}

struct err *admit_removal(const struct change *c)
{
    TRY(admit_queue_removal(c));
    if (is_class(c->kind) && text_starts_with(c->key.name, "system-"))
        return forbidden(c, "this is a system priority class and cannot be deleted");
    return NULL;
}
