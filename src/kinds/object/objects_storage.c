/*
 * objects_storage.c - rules of persistent volumes and their claims, as Kubernetes' admission
 * plugins StorageObjectInUseProtection, DefaultStorageClass and PersistentVolumeClaimResize have
 * them
 */

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/object/objects_private.h"
#include "kinds/object/tree_cache.h"
#include "kinds/pod/pod_volume_claims.h"
#include "kinds/storage/storage.h"

static bool is_core(const struct kind *k, const char *plural)
{
    return *k->group == '\0' && text_equal(k->plural, plural);
}

static void add_finalizer(json_t *object, const char *name)
{
    json_t *list = json_array_at(json_object_at(object, "metadata"), "finalizers");

    if (!json_has_text(list, name))
        (void)json_array_append_new(list, json_string(name)); /* valid: cannot fail */
}

static struct err *claim_create_rules(struct change *c)
{
    const struct store_range classes = {.group = "storage.k8s.io", .resource = "storageclasses"};
    json_t *spec = json_object_at(c->after, "spec");
    AUTO(json_freep) json_t *class = NULL;

    add_finalizer(c->after, STORAGE_CLAIM_PROTECTION);
    if (json_object_get(spec, "storageClassName"))
        return NULL;
    TRY(class_find_default(c, &classes, storage_class_is_default, &class));
    if (class)
        json_put_text(spec, "storageClassName", json_text_at(class, "metadata", "name", NULL));
    return NULL;
}

struct err *storage_create_rules(struct change *c)
{
    if (is_core(c->kind, "persistentvolumes"))
        add_finalizer(c->after, STORAGE_VOLUME_PROTECTION);
    if (is_core(c->kind, "persistentvolumeclaims"))
        return claim_create_rules(c);
    if (is_pod(c->kind) && pod_has_volume_claims(c->after))
        json_put_text(json_object_at(json_object_at(c->after, "metadata"), "annotations"),
                      POD_VOLUMES, POD_VOLUMES_NEW);
    return NULL;
}

static struct err *class_allows_growth(const struct change *c, bool *ret)
{
    const char *name = json_text_at(c->after, "spec", "storageClassName", NULL);
    const struct store_object *o = NULL;
    AUTO(json_freep) json_t *class = NULL;

    *ret = false;
    if (name && *name)
        o = store_get_applied(c->objects->store, (struct store_key){.group = "storage.k8s.io",
                                                                    .resource = "storageclasses",
                                                                    .ns = "",
                                                                    .name = name});
    if (!o)
        return NULL;
    TRY(tree_cache_get(c->objects->trees, o, &class));
    *ret = json_bool(class, "allowVolumeExpansion", false);
    return NULL;
}

struct err *storage_update_rules(const struct change *c)
{
    bool may_grow = false;

    if (!is_core(c->kind, "persistentvolumeclaims") || c->request->subresource ||
        storage_bytes(json_at(c->before, "spec", "resources", "requests", NULL)) >=
            storage_bytes(json_at(c->after, "spec", "resources", "requests", NULL)))
        return NULL;
    TRY(class_allows_growth(c, &may_grow));
    return may_grow ? NULL
                    : forbidden(c, "only dynamically provisioned pvc can be resized and the "
                                   "storageclass that provisions the pvc must support resize");
}
