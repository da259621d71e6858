/*
 * objects_version.c - writes in another version of a kind than the stored one
 *
 * The object is decoded by its version's schema, so that warnings name unknown fields in its words,
 * and converted to the stored form. From there it takes the way of all writes. The answer is
 * converted back.
 */

#include "base/mem.h"
#include "kinds/object/objects_private.h"

struct objects_request version_kept(const struct objects_request *r)
{
    struct objects_request own = *r;

    own.kind = r->kind->kept_as;
    own.asked = r->kind;
    return own;
}

struct err *version_take(const struct objects_request *r, json_t *object, bool is_new)
{
    if (!json_is_object(object))
        return err_new(ERR_BAD_REQUEST, "want a JSON object");
    TRY(kind_decode(r->kind, object, r->validation, r->warnings));
    if (is_new && r->kind->checks_creation)
        TRY(kind_validate(r->kind, object));
    kind_to_kept(r->kind, object);
    return NULL;
}

void version_give(const struct objects_request *r, json_t **object)
{
    json_t *own;

    if (!json_text(*object, "apiVersion") || !text_equal(json_text(*object, "kind"), r->kind->kind))
        return; /* a Status is no object of the kind */
    own = json_deep_copy(*object);
    kind_from_kept(r->kind, own);
    json_decref(*object);
    *object = own;
}

/* The present object, in the request's version, with the patch applied. */
struct err *version_patch(struct objects *o, const struct objects_request *r, enum patch_type type,
                          const json_t *patch, json_t **ret)
{
    const struct store_object *found =
        store_get_applied(o->store, objects_key(r->kind, r->ns, r->name));
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(json_freep) json_t *patched = NULL;

    if (!found)
        return objects_not_found(r->kind, r->name);
    if (type != PATCH_JSON && !json_is_object(patch))
        return err_new(ERR_BAD_REQUEST, "want a JSON object as the patch");
    TRY(objects_decode(found, &tree));
    kind_from_kept(r->kind, tree);
    if (type == PATCH_STRATEGIC)
        TRY(patch_strategic(r->kind, tree, patch, &patched));
    else if (type == PATCH_JSON)
        TRY(patch_json(tree, patch, &patched));
    else
        TRY(patch_merge(tree, patch, &patched));
    *ret = json_deep_copy(patched); /* the tree shares parts with the patch */
    return NULL;
}
