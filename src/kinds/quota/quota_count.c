/* quota_count.c - the usage of a namespace, counted object by object */

#include "kinds/quota/quota_count.h"

#include "base/mem.h"

/* The next object of the range, durable or applied. */
static const struct store_object *next_of(const struct quota_counting *q,
                                          const struct store_range *range,
                                          const struct store_key *after)
{
    return q->is_durable ? store_next(q->store, range, after)
                         : store_next_applied(q->store, range, after);
}

static struct err *too_much(const struct quota_counting *q, const char *resource)
{
    return err_new(ERR_INVALID, "namespace %s uses more %s than can be counted", q->ns, resource);
}

/* Adds the object's usage of each key. */
static struct err *usage_add_object(const struct quota_counting *q, const struct kind *k,
                                    const json_t *object, json_t *used)
{
    const char *resource;
    json_t *value;
    void *next;

    json_object_foreach_safe (used, next, resource, value) {
        struct quantity sum = quota_amount(value);
        struct quantity usage = quota_usage(k, object, resource);

        if (usage.milli == 0)
            continue;
        if (!quota_add(&sum, usage))
            return too_much(q, resource);
        json_put(used, resource, quota_amount_json(sum));
    }
    return NULL;
}

/* Counts pods or claims, whose usage is in their fields. */
static struct err *usage_count_contents(const struct quota_counting *q, const struct kind *k,
                                        json_t *used)
{
    const struct store_range range = {.group = k->group, .resource = k->plural, .ns = q->ns};
    const struct store_object *o = NULL;

    while ((o = next_of(q, &range, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *object = NULL;

        TRY(json_parse(o->bytes, &object));
        if (quota_covers(q->quota, k, object))
            TRY(usage_add_object(q, k, object, used));
    }
    return NULL;
}

/* Counts objects of kinds whose contents do not matter, one each, without decoding. The quota
 * counts itself, even if it is not yet stored. */
static void usage_count_objects(const struct quota_counting *q, const struct kind *k,
                                const char *resource, json_t *used)
{
    const struct store_range range = {.group = k->group, .resource = k->plural, .ns = q->ns};
    bool is_own = text_equal(k->plural, "resourcequotas");
    const char *own = json_text_at(q->quota, "metadata", "name", NULL);
    const struct store_object *o = NULL;
    int64_t n = is_own;

    if (!quota_covers(q->quota, k, NULL))
        return;
    while ((o = next_of(q, &range, o ? &o->key : NULL)))
        n += !(is_own && text_equal(o->key.name, own));
    json_put(used, resource, quota_amount_json((struct quantity){.milli = n * 1000}));
}

struct err *quota_count(const struct quota_counting *q, json_t **ret)
{
    AUTO(json_freep) json_t *used = json_object();
    const struct kind *pods = kind_find("", "pods");
    const struct kind *claims = kind_find("resource.k8s.io", "resourceclaims");
    const struct kind *services = kind_find("", "services");
    const struct kind *volumes = kind_find("", "persistentvolumeclaims");
    const char *resource;
    json_t *value;
    bool has_pods = false;
    bool has_claims = false;
    bool has_services = false;
    bool has_volumes = false;

    json_object_foreach (json_at(q->quota, "spec", "hard", NULL), resource, value) {
        const struct kind *k = quota_counted(resource);

        json_put_text(used, resource, "0");
        if (k && k != pods && k != claims && k != services && k != volumes && !quota_ignores(k))
            usage_count_objects(q, k, resource, used);
        has_pods |= !k || k == pods;
        has_claims |= (k && k == claims) || quota_device_class(resource).size > 0;
        has_volumes |= k == volumes || quota_is_storage(resource);
        has_services |= k == services || text_starts_with(resource, "services.");
    }
    if (has_volumes)
        TRY(usage_count_contents(q, volumes, used));
    if (has_services)
        TRY(usage_count_contents(q, services, used));
    if (has_pods)
        TRY(usage_count_contents(q, pods, used));
    if (has_claims)
        TRY(usage_count_contents(q, claims, used));
    *ret = TAKE(used);
    return NULL;
}
