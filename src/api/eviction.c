/*
 * eviction.c - pods/eviction: a deletion that respects the pod's disruption budget
 *
 * With the annotation mete.dev/requeue: "now", Mete creates the pod again after its end, if no
 * controller does.
 *
 * One turn of the loop checks the budget and marks the pod, on applied state: two evictions cannot
 * use the same allowance.
 */

#include "api/body.h"
#include "api/handlers.h"
#include "base/mem.h"
#include "kinds/object/disruption.h"
#include "kinds/object/requeue.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

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

static struct err *load_pod(const struct call *c, json_t **ret)
{
    const struct store_object *o =
        store_get_applied(core_store(c->core), objects_key(c->kind, c->ns, c->name));

    return o ? objects_decode(o, ret) : objects_not_found(c->kind, c->name);
}

/* A requeue needs a pod that is bound and is not being deleted. */
static struct err *check_requeue(const struct call *c, const json_t *pod)
{
    const char *why = NULL;

    if (pod_is_terminal(pod))
        why = "it has ended";
    else if (pod_is_deleting(pod))
        why = "it is being deleted";
    else if (!*pod_node(pod))
        why = "it waits already";
    else if (!pod_has_controller(pod) && !pod_is_requeued(pod))
        why = "its annotation " POD_REQUEUE " says never";
    return why ? err_new(ERR_CONFLICT, "pod %s cannot be requeued: %s", c->name, why) : NULL;
}

struct err *handle_eviction(struct call *c)
{
    AUTO(json_freep) json_t *body = NULL;
    AUTO(json_freep) json_t *pod = NULL;
    AUTO_FREE char *by = NULL;
    struct delete_options o = {0};
    bool is_known = false;

    TRY(body_parse(c, &body, &is_known));
    if (!is_known)
        return NULL;
    TRY(check_eviction(c, body));
    TRY(delete_options_parse(c, json_object_get(body, "deleteOptions"), &o));
    TRY(load_pod(c, &pod));
    TRY(disruption_check(core_store(c->core), pod));
    o.disruption = "EvictionByEvictionAPI";
    o.disruption_message = "Eviction API: evicting";
    if (text_equal(json_text_at(body, "metadata", "annotations", POD_REQUEUE, NULL), "now")) {
        TRY(check_requeue(c, pod));
        by = mem_format("Requeued by %s", c->who.user);
        o.disruption = POD_REQUEUED;
        o.disruption_message = by;
        o.is_requeued = true;
    }
    c->subresource = NULL;
    return delete_with(c, &o, 201);
}
