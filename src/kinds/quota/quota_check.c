/* quota_check.c - the check of the invariant of quotas on durable objects */

#include "base/mem.h"
#include "kinds/quota/quota.h"
#include "kinds/quota/quota_count.h"

static struct err *quota_check_resource(const char *where, const json_t *quota,
                                        const json_t *counted, const char *resource)
{
    const json_t *used = json_at(quota, "status", "used", resource, NULL);
    const json_t *hard = json_at(quota, "status", "hard", resource, NULL);
    const json_t *spec = json_at(quota, "spec", "hard", resource, NULL);
    const json_t *want = json_object_get(counted, resource);

    if (!hard || !json_equal(hard, spec))
        return err_new(ERR_INTERNAL, "quota %s: status.hard[%s] differs from spec.hard", where,
                       resource);
    if (!used || quota_amount(used).milli != quota_amount(want).milli)
        return err_new(ERR_INTERNAL, "quota %s: %s of %s is used, but its status says %s", where,
                       json_string_value(want), resource, used ? json_string_value(used) : "none");
    return NULL;
}

static struct err *check_quota(const struct store *s, const struct store_object *o)
{
    AUTO(json_freep) json_t *quota = NULL;
    AUTO(json_freep) json_t *counted = NULL;
    AUTO_FREE char *where = mem_format("%s/%s", o->key.ns, o->key.name);
    struct quota_counting q = {.store = s, .is_durable = true, .ns = o->key.ns};
    const char *resource;
    json_t *value;

    TRY(json_parse(o->bytes, &quota));
    q.quota = quota;
    TRY(quota_count(&q, &counted));
    json_object_foreach (counted, resource, value)
        TRY(quota_check_resource(where, quota, counted, resource));
    if (json_object_size(json_at(quota, "status", "used", NULL)) != json_object_size(counted))
        return err_new(ERR_INTERNAL, "quota %s: status.used has resources that are not limited",
                       where);
    return NULL;
}

struct err *quota_check(const struct store *s)
{
    const struct store_range range = {.group = "", .resource = "resourcequotas"};
    const struct store_object *o = NULL;

    while ((o = store_next(s, &range, o ? &o->key : NULL)))
        TRY(check_quota(s, o));
    return NULL;
}
