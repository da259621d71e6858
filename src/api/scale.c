/* scale.c - the subresource scale: the number of replicas of an object, whatever its kind */

#include "kinds/object/scale.h"

#include "api/body.h"
#include "api/handlers.h"
#include "kinds/kind/cause.h"
#include "kinds/object/objects.h"

/* The Scale of an object. New reference. */
static json_t *scale_show(const struct call *c, const json_t *object)
{
    static const char *const kept[] = {"name", "namespace", "uid", "resourceVersion",
                                       "creationTimestamp"};
    const json_t *metadata = json_object_get(object, "metadata");
    json_t *tree = json_object();
    json_t *status;
    struct scale s;

    json_put_text(tree, "kind", "Scale");
    json_put_text(tree, "apiVersion", "autoscaling/v1");
    for (size_t i = 0; i < COUNT(kept); i++)
        json_put_text(json_object_at(tree, "metadata"), kept[i], json_text(metadata, kept[i]));
    scale_read(c->kind, object, &s);
    json_put_int(json_object_at(tree, "spec"), "replicas", s.wanted);
    status = json_object_at(tree, "status");
    json_put_int(status, "replicas", s.present);
    if (c->kind->has_scale || *s.selector)
        json_put_text(status, "selector", s.selector);
    scale_done(&s);
    return tree;
}

/* The durable object, in the call's version. */
static struct err *load(const struct call *c, json_t **ret)
{
    const struct store_object *o =
        store_get(core_store(c->core), objects_key(c->kind, text_or_empty(c->ns), c->name));

    if (!o)
        return objects_not_found(c->kind, c->name);
    TRY(objects_decode(o, ret));
    kind_from_kept(c->kind, *ret);
    return NULL;
}

struct err *handle_get_scale(struct call *c)
{
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *scale = NULL;

    TRY(load(c, &object));
    scale = scale_show(c, object);
    reply_json(c->x, 200, scale, NULL);
    return NULL;
}

static struct err *check_replicas(const struct call *c, const json_t *replicas)
{
    AUTO(causes_done) struct causes causes = {0};

    if (replicas && !json_is_integer(replicas))
        return err_new(ERR_BAD_REQUEST, "spec.replicas: want a whole number");
    if (json_integer_value(replicas) < 0)
        cause_invalid_int(&causes, PATH(PATH(NULL, "spec"), "replicas"),
                          json_integer_value(replicas), "must be greater than or equal to 0");
    return causes_err(&causes, "Scale.autoscaling", c->name);
}

/* Writes what a Scale asks for. */
static struct err *put_scale(struct call *c, const json_t *scale)
{
    const json_t *replicas = json_at(scale, "spec", "replicas", NULL);
    const char *version = json_text_at(scale, "metadata", "resourceVersion", NULL);
    AUTO(json_freep) json_t *patch = NULL;

    TRY(check_replicas(c, replicas));
    patch = scale_patch(c->kind, json_integer_value(replicas));
    if (!patch)
        return not_found_path();
    if (version)
        json_put_text(json_object_at(patch, "metadata"), "resourceVersion", version);
    c->subresource = NULL; /* the replicas are a part of the object */
    return patch_with(c, PATCH_MERGE, patch, scale_show);
}

struct err *handle_update_scale(struct call *c)
{
    AUTO(json_freep) json_t *scale = NULL;
    bool is_known = false;

    TRY(body_parse(c, &scale, &is_known));
    if (!is_known)
        return NULL;
    if (json_text(scale, "kind") && !text_equal(json_text(scale, "kind"), "Scale"))
        return err_new(ERR_BAD_REQUEST, "the request body is a %.64s: want autoscaling/v1 Scale",
                       json_text(scale, "kind"));
    return put_scale(c, scale);
}

struct err *handle_patch_scale(struct call *c)
{
    AUTO(json_freep) json_t *patch = NULL;
    AUTO(json_freep) json_t *object = NULL;
    AUTO(json_freep) json_t *before = NULL;
    AUTO(json_freep) json_t *scale = NULL;
    enum patch_type type = PATCH_MERGE;

    if (!parse_patch_type(c, &type))
        return NULL;
    TRY(json_parse(c->x->request.body, &patch));
    if (type != PATCH_JSON && !json_is_object(patch))
        return err_new(ERR_BAD_REQUEST, "want a JSON object as the patch");
    TRY(load(c, &object));
    before = scale_show(c, object);
    json_put_text(json_object_at(before, "metadata"), "resourceVersion", NULL);
    if (type == PATCH_JSON)
        TRY(patch_json(before, patch, &scale));
    else
        TRY(patch_merge(before, patch, &scale));
    return put_scale(c, scale);
}
