/* admit_claims.c - claims that see the devices of others, only in namespaces that are labelled so
 */

#include "kinds/object/tree_cache.h"
#include "kinds/quota/admit.h"

#define ADMIN_ACCESS "resource.kubernetes.io/admin-access"

static const json_t *devices_of_claim(const struct change *c)
{
    if (!text_equal(c->kind->group, "resource.k8s.io"))
        return NULL;
    if (text_equal(c->kind->plural, "resourceclaims"))
        return json_at(c->after, "spec", "devices", NULL);
    if (text_equal(c->kind->plural, "resourceclaimtemplates"))
        return json_at(c->after, "spec", "spec", "devices", NULL);
    return NULL;
}

static bool wants_access(const json_t *devices)
{
    const json_t *requests = json_object_get(devices, "requests");

    for (size_t i = 0; i < json_array_size(requests); i++)
        if (json_bool_at(json_array_get(requests, i), "exactly", "adminAccess", NULL))
            return true;
    return false;
}

struct err *admit_claim(const struct change *c)
{
    const struct store_key key = {
        .group = "", .resource = "namespaces", .ns = "", .name = c->request->ns};
    const struct store_object *o = NULL;
    AUTO(json_freep) json_t *ns = NULL;

    if (c->before || !wants_access(devices_of_claim(c)))
        return NULL;
    o = store_get_applied(c->objects->store, key);
    if (o)
        TRY(tree_cache_get(c->objects->trees, o, &ns));
    if (text_equal(json_text_at(ns, "metadata", "labels", ADMIN_ACCESS, NULL), "true"))
        return NULL;
    return forbidden(c, "admin access to devices requires the `" ADMIN_ACCESS
                        ": true` label on the containing namespace");
}
