/*
 * claims_resolve.c - what a claim asks for: the devices that its classes and its selectors choose
 *
 * A claim may be met in several ways: by each request of firstAvailable, by each value of an
 * attribute that devices shall have in common, by the devices of each node for monitoring. Each way
 * is an alternative with lines of its own, the preferred ones first.
 */

#include <inttypes.h>

#include "control/claims/claims_private.h"
#include "kinds/kind/claim_device.h"
#include "kinds/pod/pod_claims.h"
#include "model/gpu_ask.h"

enum {
    CLAIM_GPUS_MAX = 1024, /* limit of the engine */
    TRIES_MAX = 4096       /* combinations of one claim that are looked at */
};

/* ---- the choice ---- */

/* The devices that match a request, by kind. */
struct chosen {
    json_t *gpus; /* uuids of whole gpus, and the parents of slices: {uuid: bits of starts} */
    size_t n;     /* devices */
    const char *profile;       /* of the slices */
    const char *other_profile; /* another one; NULL: all slices have one */
    bool has_gpus;
    bool has_slices;
    bool is_any; /* all devices match: no need to name them */
};

/* A request, and the ways to meet it. */
struct claims_request {
    VEC(struct claims_option) options;
};

struct resolving {
    const struct claims *claims;
    const json_t *pod;
    const char *name; /* the pod's for the claim */
    const json_t *claim;
    const json_t *constraints;
    struct claims_request requests[CLAIM_DEVICES_MAX];
    size_t n_requests;
    size_t n_tries;
    struct claims_alternatives *out;
    struct err *first; /* the fault of the first way */
    /* One way: */
    const struct claims_option *picked[CLAIM_DEVICES_MAX];
    const json_t *values[CLAIM_DEVICES_MAX]; /* of each constraint; NULL: any */
    const char *node;                        /* of devices for monitoring; NULL: any */
};

/* One request in one way. */
struct resolved {
    const struct resolving *r;
    const struct claims_option *option;
    struct chosen chosen;
};

static bool is_for_all(const json_t *ask)
{
    return text_equal(json_text(ask, "allocationMode"), "All");
}

static bool is_admin(const json_t *ask)
{
    return json_is_true(json_object_get(ask, "adminAccess"));
}

/* Do the names, none for all, mean the request "gpu" or "gpu/large"? */
static bool names_request(const json_t *names, const char *request)
{
    AUTO_FREE char *main = mem_strndup(request, strcspn(request, "/"));

    return json_array_size(names) == 0 || json_has_text(names, request) ||
           json_has_text(names, main);
}

static bool is_accepted(const struct resolved *d, const struct claims_match *m)
{
    for (size_t i = 0; i < json_array_size(d->r->constraints); i++) {
        const json_t *one = json_array_get(d->r->constraints, i);
        const json_t *value = claims_value(m->device, json_text(one, "matchAttribute"));

        if (!names_request(json_object_get(one, "requests"), d->option->request))
            continue;
        if (!value || (d->r->values[i] && !json_equal(d->r->values[i], value)))
            return false;
    }
    return !d->r->node || text_equal(d->r->node, m->node);
}

static void chosen_add(struct chosen *c, const struct claims_match *m)
{
    bool is_slice = text_equal(claim_device_text(m->device, "type"), "mig");
    const char *uuid = claim_device_text(m->device, is_slice ? "parentUUID" : "uuid");
    const char *profile = claim_device_text(m->device, "profile");
    int64_t start = json_int_at(m->device, "attributes", "start", "int", NULL);

    if (!uuid)
        return;
    json_put_int(c->gpus, uuid, json_int(c->gpus, uuid, 0) | INT64_C(1) << (start & 15));
    c->n++;
    c->has_gpus = c->has_gpus || !is_slice;
    c->has_slices = c->has_slices || is_slice;
    if (is_slice && c->profile && !text_equal(c->profile, profile))
        c->other_profile = profile;
    if (is_slice && !c->profile)
        c->profile = profile;
}

/* The starts of the slices of the profile that the gpu has, as bits. */
static int64_t starts_on(const struct resolving *r, const char *uuid, const char *profile)
{
    const char *node;
    json_t *devices;
    int64_t starts = 0;

    json_object_foreach (r->claims->inventory, node, devices) {
        for (size_t i = 0; i < json_array_size(devices); i++) {
            const json_t *device = json_array_get(devices, i);
            int64_t start = json_int_at(device, "attributes", "start", "int", NULL);

            if (text_equal(claim_device_text(device, "parentUUID"), uuid) &&
                text_equal(claim_device_text(device, "profile"), profile))
                starts |= INT64_C(1) << (start & 15);
        }
    }
    return starts;
}

/* The starts to choose from, if not all slices of the profile are chosen on the chosen gpus. The
 * engine has one such choice for all gpus of an ask. */
static struct err *read_starts(const struct resolved *d, uint16_t *ret)
{
    const struct chosen *c = &d->chosen;
    bool is_whole = true;
    int64_t starts = 0;
    const char *uuid;
    json_t *bits;

    json_object_foreach (c->gpus, uuid, bits) {
        is_whole = is_whole && json_integer_value(bits) == starts_on(d->r, uuid, c->profile);
        if (starts != 0 && starts != json_integer_value(bits))
            starts = -1;
        if (starts == 0)
            starts = json_integer_value(bits);
    }
    if (!is_whole && starts < 0)
        return err_new(ERR_INVALID,
                       "the selectors match some slices %s only, at different places of several "
                       "gpus: not implemented yet",
                       c->profile);
    *ret = is_whole ? 0 : (uint16_t)starts;
    return NULL;
}

/* ---- how the devices are given ---- */

static struct err *read_configs(const json_t *list, const char *request, struct claim_sharing *ret)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *config = json_array_get(list, i);
        const json_t *opaque = json_object_get(config, "opaque");

        if (!text_equal(json_text(opaque, "driver"), CLAIM_DRIVER) ||
            !names_request(json_object_get(config, "requests"), request))
            continue;
        *ret = (struct claim_sharing){0};
        TRY(claim_read_sharing(json_object_get(opaque, "parameters"), ret));
    }
    return NULL;
}

/* Fills the ask; the claim's parameters go before those of the class. */
static struct err *read_ask(const struct resolved *d, struct gpu_ask *ret)
{
    const struct claims_option *o = d->option;
    struct claim_sharing sharing = {0};

    if (!d->r->claims->is_kube) { /* there, parameters are the driver's affair */
        TRY(read_configs(json_at(o->class, "spec", "config", NULL), o->request, &sharing));
        TRY(read_configs(json_at(d->r->claim, "spec", "devices", "config", NULL), o->request,
                         &sharing));
    }
    *ret = (struct gpu_ask){.count = json_int(o->ask, "count", 1)};
    if (is_for_all(o->ask))
        ret->count = (int64_t)d->chosen.n;
    if (sharing.is_replica) {
        ret->kind = DEVICE_REPLICA;
    } else if (sharing.milli > 0 || sharing.bytes > 0) {
        ret->kind = DEVICE_SHARE;
        ret->milli = sharing.milli;
        ret->bytes = sharing.bytes;
    }
    if (!d->chosen.has_slices || is_admin(o->ask))
        return NULL;
    if (ret->kind != DEVICE_WHOLE)
        return err_new(ERR_INVALID, "slices are not shared: not implemented yet");
    ret->kind = DEVICE_SLICE;
    (void)mig_name_read(text_or_empty(d->chosen.profile), ret->profile);
    return NULL;
}

/* Faults of a choice that the engine could not keep. */
static struct err *check_kinds(const struct chosen *c)
{
    if (c->has_gpus && c->has_slices)
        return err_new(ERR_INVALID,
                       "the selectors match both gpus and slices: not implemented yet");
    if (c->other_profile)
        return err_new(ERR_INVALID,
                       "the selectors match slices of %s and of %s: select one profile", c->profile,
                       c->other_profile);
    if (!c->is_any && json_object_size(c->gpus) > CLAIM_GPUS_MAX)
        return err_new(ERR_INVALID, "the selectors match %zu gpus, at most %d can be told apart",
                       json_object_size(c->gpus), CLAIM_GPUS_MAX);
    return NULL;
}

static struct err *check_choice(const struct resolved *d, int64_t count)
{
    const struct chosen *c = &d->chosen;
    const char *class = json_text_at(d->option->class, "metadata", "name", NULL);

    if (c->n == 0)
        return err_new(ERR_INVALID, "no device of class %s matches%s", class,
                       json_array_size(d->r->constraints) > 0 ? " with the constraints" : "");
    if (!is_admin(d->option->ask))
        TRY(check_kinds(c));
    if ((size_t)count > c->n)
        return err_new(ERR_INVALID, "asks for %" PRId64 " devices, %zu of class %s match", count,
                       c->n, class);
    return NULL;
}

/* ---- lines ---- */

static void add_line(const struct resolved *d, const struct gpu_ask *ask, uint16_t starts,
                     struct buf *out)
{
    char text[GPU_ASK_TEXT_SIZE];
    const char *uuid;
    json_t *n;
    size_t i = 0;

    gpu_ask_format(ask, text);
    buf_printf(out, "%s %s %s %s ", d->r->name, d->option->request,
               text_or_empty(json_text_at(d->r->claim, "metadata", "uid", NULL)), text);
    if (d->chosen.is_any)
        buf_add_char(out, '*');
    else
        json_object_foreach (d->chosen.gpus, uuid, n)
            buf_printf(out, "%s%s", i++ > 0 ? "," : "", uuid);
    if (starts)
        buf_printf(out, "@%u", (unsigned)starts);
    buf_add_char(out, '\n');
}

/* The line of devices that the pod sees, and that others may hold. */
static void add_seen_line(const struct resolved *d, int64_t count, struct buf *out)
{
    int64_t n = 0;

    buf_printf(out, "%s %s %s " POD_CLAIM_SEEN " ", d->r->name, d->option->request,
               text_or_empty(json_text_at(d->r->claim, "metadata", "uid", NULL)));
    VEC_EACH (&d->option->matches, m) {
        char text[DEVICE_TEXT_SIZE];

        if (n == count || !is_accepted(d, m))
            continue;
        claims_device_text(m->device, text);
        buf_printf(out, "%s%s", n++ > 0 ? ";" : "", text);
    }
    buf_add_char(out, '\n');
}

/* The whole gpus of the inventory. */
static size_t count_gpus(const struct claims *c)
{
    const char *node;
    json_t *devices;
    size_t n = 0;

    json_object_foreach (c->inventory, node, devices)
        for (size_t i = 0; i < json_array_size(devices); i++)
            n += !text_equal(claim_device_text(json_array_get(devices, i), "type"), "mig");
    return n;
}

static struct err *resolve_chosen(struct resolved *d, struct buf *out)
{
    struct gpu_ask ask = {0};
    uint16_t starts = 0;

    VEC_EACH (&d->option->matches, m) {
        if (is_accepted(d, m))
            chosen_add(&d->chosen, m);
    }
    d->chosen.is_any =
        d->r->claims->is_kube && !d->chosen.has_slices && d->chosen.n == count_gpus(d->r->claims);
    TRY(read_ask(d, &ask));
    TRY(check_choice(d, ask.count));
    if (is_admin(d->option->ask)) {
        add_seen_line(d, ask.count, out);
        return NULL;
    }
    if (ask.kind == DEVICE_SLICE)
        TRY(read_starts(d, &starts));
    add_line(d, &ask, starts, out);
    return NULL;
}

static struct err *resolve_request(const struct resolving *r, const struct claims_option *o,
                                   struct buf *out)
{
    struct resolved d = {.r = r, .option = o, .chosen = {.gpus = json_object()}};
    struct err *e = resolve_chosen(&d, out);

    json_decref(d.chosen.gpus);
    return e ? err_wrap(e, "request %s of ResourceClaim %s", o->request,
                        json_text_at(r->claim, "metadata", "name", NULL))
             : NULL;
}

/* ---- the ways, one after the other ---- */

static bool is_full(const struct resolving *r)
{
    return r->out->all.n >= CLAIMS_ALTERNATIVES_MAX || r->n_tries >= TRIES_MAX;
}

static void resolve_way(struct resolving *r)
{
    struct buf lines = {0};
    struct err *e = NULL;

    r->n_tries++;
    for (size_t i = 0; i < r->n_requests && !e; i++)
        e = resolve_request(r, r->picked[i], &lines);
    if (!e) {
        vec_add(&r->out->all, (struct claims_alternative){buf_steal(&lines), r->node});
        return;
    }
    buf_done(&lines);
    if (r->first)
        err_free(e);
    else
        r->first = e;
}

static bool node_has_label(const json_t *node, const json_t *selector)
{
    const json_t *labels = json_at(node, "metadata", "labels", NULL);
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)selector, key, value)
        if (!text_equal(json_text(labels, key), json_string_value(value)))
            return false;
    return true;
}

/* Do all devices of some node meet the request, and not those of all nodes? */
static bool is_for_all_of_node(const struct claims_option *o)
{
    VEC_EACH (&o->matches, m)
        if (is_for_all(o->ask) && !text_equal(m->node, o->matches.at[0].node))
            return true;
    return false;
}

/* The scheduler does not choose devices for monitoring, nor all devices of a node: each node is a
 * way of its own. */
static void resolve_nodes(struct resolving *r)
{
    const json_t *selector = json_at(r->pod, "spec", "nodeSelector", NULL);
    bool is_by_node = false;
    const char *node;
    json_t *devices;

    for (size_t i = 0; i < r->n_requests; i++)
        is_by_node = is_by_node || is_admin(r->picked[i]->ask) || is_for_all_of_node(r->picked[i]);
    if (!is_by_node) {
        resolve_way(r);
        return;
    }
    json_object_foreach (r->claims->inventory, node, devices) {
        const struct claims_object *o = claims_find(r->claims, CLAIMS_NODES, "", node);

        if (is_full(r))
            break;
        if (!o || !node_has_label(o->tree, selector))
            continue;
        r->node = node;
        resolve_way(r);
    }
    r->node = NULL;
    if (r->out->all.n == 0 && !r->first)
        r->first =
            err_new(ERR_INVALID, "no node with gpus has the labels of the pod's nodeSelector");
}

/* The devices of which a constraint speaks; NULL: fewer than two, so that all values do. */
static const struct claims_option *first_covered(const struct resolving *r,
                                                 const json_t *constraint)
{
    const struct claims_option *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < r->n_requests; i++) {
        const struct claims_option *o = r->picked[i];

        if (!names_request(json_object_get(constraint, "requests"), o->request))
            continue;
        first = first ? first : o;
        n += is_for_all(o->ask) ? 2 : (size_t)json_int(o->ask, "count", 1);
    }
    return n > 1 ? first : NULL;
}

static bool has_value(const json_t *list, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), value))
            return true;
    return false;
}

/* Goes through the values of the constraints from number `k` on, of at most 32. */
static void resolve_values(struct resolving *r, size_t k)
{
    const json_t *constraint = json_array_get(r->constraints, k);
    const struct claims_option *o = constraint ? first_covered(r, constraint) : NULL;
    AUTO(json_freep) json_t *seen = NULL;

    if (k == json_array_size(r->constraints)) {
        resolve_nodes(r);
        return;
    }
    if (!o) {
        r->values[k] = NULL;
        resolve_values(r, k + 1);
        return;
    }
    seen = json_array();
    VEC_EACH (&o->matches, m) {
        const json_t *value = claims_value(m->device, json_text(constraint, "matchAttribute"));

        if (!value || has_value(seen, value) || is_full(r))
            continue;
        (void)json_array_append(seen, (json_t *)(uintptr_t)value); /* cannot fail */
        r->values[k] = value;
        resolve_values(r, k + 1);
    }
    if (json_array_size(seen) == 0 && !r->first)
        r->first = err_new(ERR_INVALID, "request %s: no device that matches has the attribute %s",
                           o->request, json_text(constraint, "matchAttribute"));
}

/* Goes through the options of the requests from number `i` on, of at most 32. */
static void resolve_options(struct resolving *r, size_t i)
{
    if (i == r->n_requests) {
        resolve_values(r, 0);
        return;
    }
    VEC_EACH (&r->requests[i].options, o) {
        if (is_full(r))
            return;
        r->picked[i] = o;
        resolve_options(r, i + 1);
    }
}

/* ---- reading ---- */

static struct err *add_option(struct resolving *r, const char *request, const json_t *ask)
{
    struct claims_option o = {.request = mem_strdup(request), .ask = ask};
    struct err *e = claims_match(r->claims, &o);

    vec_add(&r->requests[r->n_requests].options, o);
    return e ? err_wrap(e, "request %s of ResourceClaim %s", request,
                        json_text_at(r->claim, "metadata", "name", NULL))
             : NULL;
}

static struct err *read_request(struct resolving *r, const json_t *request)
{
    const char *name = text_or_empty(json_text(request, "name"));
    const json_t *list = json_object_get(request, "firstAvailable");

    if (json_object_get(request, "exactly"))
        return add_option(r, name, json_object_get(request, "exactly"));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *ask = json_array_get(list, i);
        AUTO_FREE char *full = mem_format("%s/%s", name, text_or_empty(json_text(ask, "name")));

        TRY(add_option(r, full, ask));
    }
    return NULL;
}

static struct err *resolve_all(struct resolving *r)
{
    const json_t *requests = json_at(r->claim, "spec", "devices", "requests", NULL);
    struct err *e = NULL;

    for (size_t i = 0; i < json_array_size(requests) && i < CLAIM_DEVICES_MAX && !e; i++) {
        e = read_request(r, json_array_get(requests, i));
        r->n_requests++;
    }
    if (!e)
        resolve_options(r, 0);
    if (!e && r->out->all.n == 0)
        return TAKE(r->first);
    return e;
}

char *claims_resolve(const struct claims *c, const json_t *pod, const char *name,
                     const json_t *claim, struct claims_alternatives *ret)
{
    struct resolving r = {.claims = c,
                          .pod = pod,
                          .name = name,
                          .claim = claim,
                          .constraints = json_at(claim, "spec", "devices", "constraints", NULL),
                          .out = ret};
    AUTO(err_freep) struct err *e = resolve_all(&r);

    err_free(r.first);
    for (size_t i = 0; i < r.n_requests; i++) {
        VEC_EACH (&r.requests[i].options, o) {
            free(o->request);
            vec_done(&o->matches);
        }
        vec_done(&r.requests[i].options);
    }
    return e ? mem_strdup(err_message(e)) : NULL;
}
