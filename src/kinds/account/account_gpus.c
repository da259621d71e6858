/* account_gpus.c - the states of gpus over time, written with their node */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/account/account_private.h"
#include "kinds/object/txn.h"
#include "kinds/pod/pod_state.h"
#include "model/gpu.h"

/* A write of a node. */
struct node_change {
    const struct store *store;
    struct txn *txn;
    const char *node;
    const json_t *after; /* NULL: the node is removed */
    json_t *gpus;        /* the node's list after the write */
    json_t *gpus_before;
    struct account_clock *clock;
    int64_t now_ns;
};

/* The node's gpus, an array, or NULL. New reference. */
static json_t *node_gpus(const json_t *node)
{
    const char *text = json_text_at(node, "metadata", "annotations", NODE_GPUS, NULL);
    AUTO(err_freep) struct err *e = NULL;
    json_t *gpus = NULL;

    if (text)
        e = json_parse(str_of(text), &gpus);
    return e ? NULL : gpus;
}

static const json_t *gpus_find(const json_t *gpus, const char *uuid)
{
    const json_t *gpu;
    size_t i;

    json_array_foreach (gpus, i, gpu) {
        if (text_equal(json_text(gpu, "uuid"), uuid))
            return gpu;
    }
    return NULL;
}

/* Why is the gpu out of service? NULL: in service. */
static const char *why_out(const json_t *node, const json_t *gpu)
{
    const json_t *ready = object_condition(node, "Ready");

    if (!text_equal(json_text(ready, "status"), "True"))
        return "node not ready";
    if (json_bool_at(node, "spec", "unschedulable", NULL))
        return "node cordoned";
    if (!text_equal(json_text(gpu, "health"), gpu_health_text(GPU_HEALTHY)))
        return "not healthy";
    return NULL;
}

/* Writes the stretch that ends now. */
static void close_stretch(const struct node_change *c, const char *uuid, json_t *state,
                          int64_t *ret_to_ns)
{
    int64_t from_ns = json_int(state, "fromNs", c->now_ns);
    int64_t to_ns = c->now_ns > from_ns ? c->now_ns : account_clock_at_least(c->clock, from_ns);
    AUTO_FREE char *key = mem_format("%0*" PRId64 ".%0*" PRId64 ".%s", ACCOUNT_TIME_DIGITS, to_ns,
                                     ACCOUNT_TIME_DIGITS, from_ns, uuid);

    *ret_to_ns = to_ns;
    if (to_ns == from_ns)
        return; /* a stretch without time has no object */
    json_put_int(state, "toNs", to_ns);
    txn_put_owed(c->txn, account_key(account_stretches(), key), state, STORE_ABSENT);
}

static void state_put(const struct node_change *c, const json_t *gpu, int64_t from_ns,
                      int64_t version)
{
    const char *uuid = json_text(gpu, "uuid");
    const char *why = why_out(c->after, gpu);
    AUTO(json_freep) json_t *state = json_object();

    json_put_text(state, "uuid", uuid);
    json_put_text(state, "model", json_text(gpu, "model"));
    json_put_text(state, "node", c->node);
    json_put_text(state, "state", why ? "out" : "up");
    json_put_text(state, "why", why);
    json_put_int(state, "fromNs", from_ns);
    txn_put_owed(c->txn, account_key(account_states(), uuid), state, version);
}

static bool is_same(const struct node_change *c, const json_t *state, const json_t *gpu)
{
    const char *why = why_out(c->after, gpu);
    const char *model = json_text(gpu, "model");

    return text_equal(json_text(state, "node"), c->node) &&
           text_equal(json_text(state, "why"), why) && text_equal(json_text(state, "model"), model);
}

/* The gpu's open stretch, or NULL. A damaged one counts as absent, and is overwritten. New
 * reference. */
static json_t *state_find(const struct node_change *c, const char *uuid, int64_t *ret_version)
{
    const struct store_object *o = store_get_applied(c->store, account_key(account_states(), uuid));
    AUTO(err_freep) struct err *e = NULL;
    json_t *state = NULL;

    *ret_version = o ? o->version : STORE_ABSENT;
    if (o)
        e = json_parse(o->bytes, &state);
    return e ? NULL : state;
}

static void state_update(const struct node_change *c, const json_t *gpu)
{
    const char *uuid = json_text(gpu, "uuid");
    int64_t from_ns = c->now_ns;
    AUTO(json_freep) json_t *state = NULL;
    int64_t version = 0;

    if (!uuid || !*uuid || txn_has(c->txn, account_key(account_states(), uuid)))
        return;
    state = state_find(c, uuid, &version);
    if (state && is_same(c, state, gpu))
        return;
    /* If two nodes report the same gpu, the node that found it last keeps it. */
    if (state && !text_equal(json_text(state, "node"), c->node) && gpus_find(c->gpus_before, uuid))
        return;
    if (state)
        close_stretch(c, uuid, state, &from_ns);
    state_put(c, gpu, from_ns, version);
}

/* Closes the stretch of a gpu that is no longer in the node's list. */
static void state_close(const struct node_change *c, const json_t *gpu)
{
    const char *uuid = json_text(gpu, "uuid");
    AUTO(json_freep) json_t *state = NULL;
    int64_t version = 0;
    int64_t to_ns = 0;

    if (!uuid || gpus_find(c->gpus, uuid))
        return;
    state = state_find(c, uuid, &version);
    if (!state || !text_equal(json_text(state, "node"), c->node))
        return;
    close_stretch(c, uuid, state, &to_ns);
    txn_delete(c->txn, account_key(account_states(), uuid), version);
}

void account_node_in(const struct store *s, struct txn *t, const json_t *before,
                     const json_t *after, struct account_clock *clock, int64_t now_ns)
{
    const char *name = json_text_at(after ? after : before, "metadata", "name", NULL);
    struct node_change c = {.store = s,
                            .txn = t,
                            .node = name ? name : "",
                            .after = after,
                            .gpus = after ? node_gpus(after) : NULL,
                            .gpus_before = node_gpus(before),
                            .clock = clock,
                            .now_ns = now_ns};
    const json_t *gpu;
    size_t i;

    json_array_foreach (c.gpus, i, gpu)
        state_update(&c, gpu);
    json_array_foreach (c.gpus_before, i, gpu)
        state_close(&c, gpu);
    json_decref(c.gpus);
    json_decref(c.gpus_before);
}
