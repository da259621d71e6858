/*
 * eviction.c - pods/eviction: a deletion that asks the pod's disruption budget first
 *
 * The budget is counted and the pod marked in one turn, by what is applied: two evictions never
 * take the same room.
 */
#include "api/body.h"
#include "api/handlers.h"
#include "kinds/disruption.h"

static struct err *check_eviction(const struct call *c, const json_t *body)
{
    const char *kind = json_text(body, "kind");
    const char *version = json_text(body, "apiVersion");
    const char *name = json_text_at(body, "metadata", "name", NULL);

    if ((kind && !text_equal(kind, "Eviction")) ||
        (version && !text_equal(version, "policy/v1") && !text_equal(version, "policy/v1beta1")))
        return err_new(ERR_BAD_REQUEST,
                       "the request body is a %.64s %.64s: want policy/v1 Eviction",
                       version ? version : "", kind ? kind : "");
    if (name && *name && !text_equal(name, c->name))
        return err_new(ERR_BAD_REQUEST,
                       "the name of the object (%.253s) does not match the name on the URL (%s)",
                       name, c->name);
    return NULL;
}

static struct err *check_budget(const struct call *c)
{
    const struct store_object *o =
        store_get_applied(core_store(c->core), objects_key(c->kind, c->ns, c->name));
    AUTO(json_freep) json_t *pod = NULL;

    if (!o)
        return objects_not_found(c->kind, c->name);
    TRY(objects_decode(o, &pod));
    return disruption_check(core_store(c->core), pod);
}

struct err *handle_eviction(struct call *c)
{
    AUTO(json_freep) json_t *body = NULL;
    struct delete_options o = {0};
    bool is_known = false;

    TRY(body_parse(c, &body, &is_known));
    if (!is_known)
        return NULL;
    TRY(check_eviction(c, body));
    TRY(delete_options_parse(c, json_object_get(body, "deleteOptions"), &o));
    TRY(check_budget(c));
    o.disruption = "EvictionByEvictionAPI";
    o.disruption_message = "Eviction API: evicting";
    c->subresource = NULL;
    return delete_with(c, &o, 201);
}
