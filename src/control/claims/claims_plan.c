/* claims_plan.c - the devices that claims of a kube-apiserver have, and those that a placement
 * gives them */

#include "base/arena.h"
#include "control/claims/claims_kube_private.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_state.h"

static const char *uid_of(const json_t *object)
{
    return text_or_empty(json_text_at(object, "metadata", "uid", NULL));
}

/* ---- whose claim ---- */

/* The name that kube-controller-manager wrote into the pod's status. `*ret_is_none`: it wrote that
 * the template makes no claim. */
static const char *name_in_status(const json_t *pod, const char *entry, bool *ret_is_none)
{
    const json_t *list = json_at(pod, "status", "resourceClaimStatuses", NULL);

    *ret_is_none = false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        if (!text_equal(json_text(one, "name"), entry))
            continue;
        *ret_is_none = !json_text(one, "resourceClaimName");
        return json_text(one, "resourceClaimName");
    }
    return NULL;
}

static bool is_controlled_by(const json_t *claim, const json_t *pod)
{
    const json_t *owners = json_at(claim, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *one = json_array_get(owners, i);

        if (json_bool(one, "controller", false) && text_equal(json_text(one, "uid"), uid_of(pod)))
            return true;
    }
    return false;
}

const struct claims_object *claims_kube_find(const struct claims_kube *k, const json_t *pod,
                                             const json_t *entry, char **ret_wait)
{
    const char *ns = text_or_empty(json_text_at(pod, "metadata", "namespace", NULL));
    const char *own = json_text(entry, "resourceClaimName");
    const char *template = text_or_empty(json_text(entry, "resourceClaimTemplateName"));
    bool is_none = false;
    const char *name =
        own ? own : name_in_status(pod, text_or_empty(json_text(entry, "name")), &is_none);
    const struct claims_object *claim =
        name ? claims_find(&k->claims, CLAIMS_CLAIMS, ns, name) : NULL;

    *ret_wait = NULL;
    if (is_none)
        return NULL;
    if (!name)
        *ret_wait = mem_format("waits until the ResourceClaim of template %s is made", template);
    else if (!claim)
        *ret_wait = mem_format("there is no ResourceClaim %s", name);
    else if (!own && !is_controlled_by(claim->tree, pod))
        *ret_wait = mem_format("ResourceClaim %s was not made for this pod", name);
    return *ret_wait ? NULL : claim;
}

bool claims_is_user(const json_t *claim, const json_t *pod)
{
    const json_t *users = json_at(claim, "status", "reservedFor", NULL);

    for (size_t i = 0; i < json_array_size(users); i++)
        if (text_equal(json_text(json_array_get(users, i), "uid"), uid_of(pod)))
            return true;
    return false;
}

/* ---- the devices that claims have ---- */

const char *claims_node_of(const json_t *allocation)
{
    const json_t *terms = json_at(allocation, "nodeSelector", "nodeSelectorTerms", NULL);
    const json_t *term = json_array_get(terms, 0);
    const json_t *field = json_array_get(json_object_get(term, "matchFields"), 0);
    const json_t *values = json_object_get(field, "values");

    if (!json_object_get(allocation, "nodeSelector"))
        return "";
    if (json_array_size(terms) != 1 || json_array_size(json_object_get(term, "matchFields")) != 1 ||
        json_array_size(json_object_get(term, "matchExpressions")) > 0 ||
        !text_equal(json_text(field, "key"), "metadata.name") ||
        !text_equal(json_text(field, "operator"), "In") || json_array_size(values) != 1)
        return NULL;
    return json_string_value(json_array_get(values, 0));
}

static void holder_add(json_t *list, const struct claims_object *claim, const json_t *user,
                       const char *device)
{
    AUTO_FREE char *pod =
        mem_format("%s/%s", claim->ns, user ? text_or_empty(json_text(user, "name")) : claim->name);

    (void)json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s}", "placement", pod,
                                                "pod", pod, "podUid",
                                                user ? text_or_empty(json_text(user, "uid")) : "",
                                                "device", device, "claim", uid_of(claim->tree)));
}

/* Adds a device that the claim has. A claim without pods is a holder in its own name. */
static void held_add_device(const struct claims_object *claim, const char *node,
                            const json_t *device, json_t *all)
{
    const json_t *users = json_at(claim->tree, "status", "reservedFor", NULL);
    char text[DEVICE_TEXT_SIZE];
    struct device d = {0};
    json_t *entry;
    json_t *holders;

    claims_device_text(device, text);
    err_free(device_parse(text, &d)); /* our own text */
    entry = json_object_at(all, d.gpu);
    json_put_text(entry, "node", node);
    holders = json_array_at(entry, "holders");
    if (json_array_size(users) == 0)
        holder_add(holders, claim, NULL, text);
    for (size_t i = 0; i < json_array_size(users); i++)
        holder_add(holders, claim, json_array_get(users, i), text);
}

static void held_add_of_node(const struct claims_object *claim, const char *node,
                             const json_t *devices, json_t *all)
{
    const json_t *results =
        json_at(claim->tree, "status", "allocation", "devices", "results", NULL);

    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *one = json_array_get(results, i);
        const json_t *device =
            claims_offers_find(devices, json_text(one, "pool"), json_text(one, "device"));

        if (device && text_equal(json_text(one, "driver"), CLAIM_DRIVER) &&
            !json_bool(one, "adminAccess", false))
            held_add_device(claim, node, device, all);
    }
}

static void held_add(const struct claims_kube *k, const struct claims_object *claim, json_t *all)
{
    const char *chosen = claims_node_of(json_at(claim->tree, "status", "allocation", NULL));
    const char *node;
    json_t *devices;

    if (chosen && *chosen) {
        held_add_of_node(claim, chosen, json_object_get(k->offered, chosen), all);
        return;
    }
    json_object_foreach (k->offered, node, devices)
        held_add_of_node(claim, node, devices, all);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp((*(struct claims_object *const *)a)->key,
                  (*(struct claims_object *const *)b)->key);
}

json_t *claims_held_read(const struct claims_kube *k)
{
    VEC(struct claims_object *) claims = {0};
    struct claims_object *o;
    struct claims_object *next;
    json_t *all = json_object();

    map_each (handle, k->claims.kinds[CLAIMS_CLAIMS].all, o, next) {
        if (json_at(o->tree, "status", "allocation", NULL))
            vec_add(&claims, o);
    }
    if (claims.n > 1)
        qsort(claims.at, claims.n, sizeof(struct claims_object *), compare_keys);
    VEC_EACH (&claims, claim)
        held_add(k, *claim, all);
    vec_done(&claims);
    return all;
}

/* Does another claim hold the device? */
static bool is_held(const struct claims_kube *k, const json_t *device, const char *claim)
{
    char text[DEVICE_TEXT_SIZE];
    struct device d = {0};
    const json_t *holders;

    claims_device_text(device, text);
    err_free(device_parse(text, &d)); /* our own text */
    holders = json_at(k->held, d.gpu, "holders", NULL);
    for (size_t i = 0; i < json_array_size(holders); i++) {
        const json_t *one = json_array_get(holders, i);

        if (!text_equal(json_text(one, "claim"), claim) &&
            text_equal(json_text(one, "device"), text))
            return true;
    }
    return false;
}

bool claims_kube_is_taken(const struct claims_kube *k, const struct claims_plan *plan)
{
    const char *node = claims_node_of(plan->allocation);
    const json_t *results = json_at(plan->allocation, "devices", "results", NULL);

    for (size_t i = 0; node && i < json_array_size(results); i++) {
        const json_t *one = json_array_get(results, i);
        const json_t *device = claims_offers_find(json_object_get(k->offered, node),
                                                  json_text(one, "pool"), json_text(one, "device"));

        if (device && !json_bool(one, "adminAccess", false) && is_held(k, device, plan->uid))
            return true;
    }
    return false;
}

static bool is_same_device(const json_t *a, const json_t *b)
{
    static const char *const parts[] = {"driver", "pool", "device"};

    for (size_t i = 0; i < COUNT(parts); i++)
        if (!text_equal(json_text(a, parts[i]), json_text(b, parts[i])))
            return false;
    return !json_bool(a, "adminAccess", false) && !json_bool(b, "adminAccess", false);
}

bool claims_plans_collide(const struct claims_plan *a, const struct claims_plan *b)
{
    const json_t *of_a = json_at(a->allocation, "devices", "results", NULL);
    const json_t *of_b = json_at(b->allocation, "devices", "results", NULL);

    if (text_equal(a->uid, b->uid))
        return false;
    for (size_t i = 0; i < json_array_size(of_a); i++)
        for (size_t k = 0; k < json_array_size(of_b); k++)
            if (is_same_device(json_array_get(of_a, i), json_array_get(of_b, k)))
                return true;
    return false;
}

/* ---- what a placement gives ---- */

static void config_add(json_t *list, const json_t *from, const char *source, const char *request)
{
    for (size_t i = 0; i < json_array_size(from); i++) {
        const json_t *one = json_array_get(from, i);
        const json_t *requests = json_object_get(one, "requests");
        json_t *copy = json_object();

        json_put_text(copy, "source", source);
        if (request)
            json_put(copy, "requests", json_pack("[s]", request));
        else if (requests)
            json_put(copy, "requests", json_deep_copy(requests));
        if (json_object_get(one, "opaque"))
            json_put(copy, "opaque", json_deep_copy(json_object_get(one, "opaque")));
        (void)json_array_append_new(list, copy); /* an object */
    }
}

/* The request "gpu" or "gpu/large" of a claim: what it asks for. Borrowed. */
static const json_t *ask_of(const json_t *claim, const char *request)
{
    const json_t *requests = json_at(claim, "spec", "devices", "requests", NULL);
    struct str rest = str_of(request);
    struct str main = str_cut(&rest, '/');

    for (size_t i = 0; i < json_array_size(requests); i++) {
        const json_t *one = json_array_get(requests, i);
        const json_t *list = json_object_get(one, "firstAvailable");

        if (!str_equal(main, str_of(json_text(one, "name"))))
            continue;
        for (size_t s = 0; rest.at && s < json_array_size(list); s++)
            if (str_equal(rest, str_of(json_text(json_array_get(list, s), "name"))))
                return json_array_get(list, s);
        return json_object_get(one, "exactly");
    }
    return NULL;
}

/* Parameters of the classes, each for its request, and then the claim's own. */
static void put_config(const struct claims_kube *k, const json_t *claim, json_t *allocation)
{
    json_t *devices = json_object_get(allocation, "devices");
    const json_t *results = json_object_get(devices, "results");
    json_t *list = json_array();
    const char *last = NULL;

    for (size_t i = 0; i < json_array_size(results); i++) {
        const char *request = text_or_empty(json_text(json_array_get(results, i), "request"));
        const char *class = json_text(ask_of(claim, request), "deviceClassName");
        const struct claims_object *o =
            class ? claims_find(&k->claims, CLAIMS_CLASSES, "", class) : NULL;

        if (o && !text_equal(last, request))
            config_add(list, json_at(o->tree, "spec", "config", NULL), "FromClass", request);
        last = request;
    }
    config_add(list, json_at(claim, "spec", "devices", "config", NULL), "FromClaim", NULL);
    if (json_array_size(list) > 0)
        json_put(devices, "config", list);
    else
        json_decref(list);
}

static void result_add(const struct claims_object *claim, const json_t *device, const char *request,
                       bool is_admin, json_t *results)
{
    const json_t *tolerations = json_object_get(ask_of(claim->tree, request), "tolerations");
    json_t *one = json_pack("{s:s, s:s, s:s, s:s}", "request", request, "driver", CLAIM_DRIVER,
                            "pool", json_text(device, "pool"), "device", json_text(device, "name"));

    if (is_admin)
        json_put_bool(one, "adminAccess", true);
    if (json_array_size(tolerations) > 0)
        json_put(one, "tolerations", json_deep_copy(tolerations));
    (void)json_array_append_new(results, one); /* an object */
}

/* Adds the devices for monitoring. */
static void seen_add(const struct claims_object *pod, const struct claims_object *claim,
                     const json_t *devices, json_t *results)
{
    struct str rest = {0};
    struct pod_claim line;

    while (pod_next_claim(pod->tree, &rest, &line)) {
        AUTO_FREE char *request = mem_strndup(line.request.at, line.request.size);
        struct str seen = line.seen;
        struct device d;

        while (str_equal(line.uid, str_of(uid_of(claim->tree))) && pod_next_held(&seen, &d)) {
            const json_t *device = claims_device_find(devices, &d);

            if (device)
                result_add(claim, device, request, true, results);
        }
    }
}

/* `pod` has the annotations of the placement. */
static struct err *allocate(const struct claims_kube *k, const struct claims_object *pod,
                            const struct claims_object *claim, const char *node, json_t **ret)
{
    const json_t *devices = json_object_get(k->claims.inventory, node);
    AUTO(json_freep) json_t *held = claims_devices_of(pod, claim->tree);
    AUTO(json_freep) json_t *allocation = json_object();
    json_t *results = json_array_at(json_object_at(allocation, "devices"), "results");

    for (size_t i = 0; i < json_array_size(held); i++) {
        const json_t *one = json_array_get(held, i);
        struct device d = {0};
        AUTO(err_freep)
        struct err *damaged = device_parse(text_or_empty(json_text(one, "device")), &d);
        const json_t *device = damaged ? NULL : claims_device_find(devices, &d);

        if (!device)
            return err_new(ERR_CONFLICT, "node %s no longer offers gpu %s to claims", node,
                           json_text(one, "device"));
        result_add(claim, device, text_or_empty(json_text(one, "request")), false, results);
    }
    seen_add(pod, claim, devices, results);
    put_config(k, claim->tree, allocation);
    json_put(allocation, "nodeSelector", claims_node_selector(node));
    *ret = TAKE(allocation);
    return NULL;
}

/* ---- plans ---- */

void claims_plans_free(struct claims_plan *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(all[i].name);
        free(all[i].uid);
        json_decref(all[i].claim);
        json_decref(all[i].allocation);
    }
    free(all);
}

void claims_placed_done(struct claims_placed *p)
{
    claims_plans_free(p->plans, p->n_plans);
    free(p->claims);
    free(p->devices);
    *p = (struct claims_placed){0};
}

static struct err *plan_claim(const struct claims_kube *k, const struct claims_object *pod,
                              const struct claims_object *claim, const char *node,
                              struct claims_plan *ret)
{
    json_t *there = json_at(claim->tree, "status", "allocation", NULL);
    json_t *allocation = there ? json_incref(there) : NULL;

    if (!there)
        TRY(allocate(k, pod, claim, node, &allocation));
    *ret = (struct claims_plan){.name = mem_strdup(claim->name),
                                .uid = mem_strdup(uid_of(claim->tree)),
                                .claim = json_incref(claim->tree),
                                .allocation = allocation,
                                .has_devices = there != NULL};
    if (claims_kube_is_taken(k, ret))
        return err_new(ERR_CONFLICT, "another claim has a device that ResourceClaim %s shall get",
                       claim->name);
    return NULL;
}

/* Two entries of a pod may name one claim. */
static bool is_planned(const struct claims_plan *all, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (text_equal(all[i].name, name))
            return true;
    return false;
}

static struct err *plan_all(const struct claims_kube *k, const struct claims_object *pod,
                            const char *node, struct claims_plan *all, size_t *n)
{
    const json_t *entries = json_at(pod->tree, "spec", "resourceClaims", NULL);

    for (size_t i = 0; i < json_array_size(entries); i++) {
        AUTO_FREE char *wait = NULL;
        const struct claims_object *claim =
            claims_kube_find(k, pod->tree, json_array_get(entries, i), &wait);
        struct err *e = NULL;

        if (wait)
            return err_new(ERR_CONFLICT, "%s", wait);
        if (!claim || is_planned(all, *n, claim->name))
            continue;
        e = plan_claim(k, pod, claim, node, &all[*n]);
        *n += all[*n].name != NULL;
        if (e)
            return e;
    }
    return NULL;
}

/* The pod as it will be bound. A new tree. */
static json_t *pod_placed(const struct claims_object *pod, const struct ledger_pod *to)
{
    json_t *tree = json_deep_copy(pod->tree);
    json_t *annotations = json_object_at(json_object_at(tree, "metadata"), "annotations");
    AUTO_FREE char *devices = ledger_devices_format(to);

    json_put_text(annotations, POD_CLAIMS, pod->text);
    json_put_text(annotations, POD_DEVICES, devices);
    return tree;
}

/* Plans for `placed`, which has the annotations of the placement. */
static struct err *plan_placed(const struct claims_kube *k, const struct claims_object *placed,
                               const struct ledger_pod *to, struct claims_placed *ret)
{
    const json_t *entries = json_at(placed->tree, "spec", "resourceClaims", NULL);
    struct claims_plan *all = mem_alloc((json_array_size(entries) + 1) * sizeof(*all));
    struct arena *a = arena_new();
    struct ledger_pod pod = *to;
    size_t n = 0;
    struct err *e = plan_all(k, placed, to->node, all, &n);

    if (!e) {
        ledger_add_held(a, placed->tree, &pod);
        *ret = (struct claims_placed){.plans = all,
                                      .n_plans = n,
                                      .claims = mem_strdup(placed->text),
                                      .devices = ledger_devices_format(&pod)};
    } else {
        claims_plans_free(all, n);
        e = err_wrap(e, "pod %s", to->name);
    }
    arena_free(a);
    return e;
}

struct err *claims_kube_plan(struct claims_kube *k, const char *ns, const struct ledger_pod *pod,
                             struct claims_placed *ret)
{
    struct claims_object *o = claims_find(&k->claims, CLAIMS_PODS, ns, pod->name);
    struct claims_object placed = {0};
    struct err *e = NULL;

    *ret = (struct claims_placed){0};
    if (!o || !text_equal(uid_of(o->tree), pod->uid))
        return NULL;
    if (!text_equal(o->text, pod->claims)) {
        /* The scheduler does not look at a pod that it has placed: the pod is told again. */
        free(TAKE(o->text));
        o->is_due = true;
        loop_timer_set(k->timer, 0);
        return err_new(ERR_CONFLICT, "pod %s: its claims have changed", pod->name);
    }
    placed = (struct claims_object){
        .ns = o->ns, .name = o->name, .text = o->text, .tree = pod_placed(o, pod)};
    e = plan_placed(k, &placed, pod, ret);
    json_decref(placed.tree);
    return e;
}
