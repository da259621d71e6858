/* nodes.c - mete nodes: the table of nodes */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/term/output.h"
#include "kinds/pod/pod_state.h"
#include "model/quantity.h"

/* A quantity in bytes; null if there is none. */
static json_t *bytes_of(const char *text)
{
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = text ? quantity_parse(str_of(text), &q) : NULL;

    return text && !e ? json_integer(quantity_units(q)) : json_null();
}

static const char *node_state(const json_t *node)
{
    const char *ready = json_text(object_condition(node, "Ready"), "status");

    if (!text_equal(ready, "True"))
        return "not ready";
    return json_bool_at(node, "spec", "unschedulable", NULL) ? "cordoned" : "ready";
}

/* "5 of 8": free gpus of the node, from the gpus view. */
static json_t *gpus_of(const json_t *gpus, const char *node)
{
    int64_t total = 0;
    int64_t n_free = 0;
    AUTO_FREE char *text = NULL;
    json_t *gpu;
    size_t i;

    json_array_foreach (json_object_get(gpus, "items"), i, gpu) {
        if (!text_equal(json_text_at(gpu, "spec", "node", NULL), node))
            continue;
        total++;
        n_free += !json_at(gpu, "status", "holder", "pod", NULL) &&
                  text_equal(json_text_at(gpu, "status", "health", NULL), "healthy");
    }
    text = mem_format("%" PRId64 " of %" PRId64, n_free, total);
    return json_string(text);
}

static json_t *node_age(const json_t *node, int64_t now_ns)
{
    const char *stamp = json_text_at(node, "metadata", "creationTimestamp", NULL);
    int64_t at_ns = stamp_or(stamp, INT64_MAX);
    char text[STAMP_TEXT_SIZE];

    if (now_ns < at_ns)
        return json_null();
    stamp_format_age(now_ns - at_ns, text);
    return json_string(text);
}

/* The product of the node's first gpu, from the gpus view; NULL: it has none. */
static const char *product_of(const json_t *gpus, const char *node)
{
    json_t *gpu;
    size_t i;

    json_array_foreach (json_object_get(gpus, "items"), i, gpu)
        if (text_equal(json_text_at(gpu, "spec", "node", NULL), node))
            return json_text_at(gpu, "spec", "product", NULL);
    return NULL;
}

static json_t *nodes_row(const json_t *node, const json_t *gpus, int64_t now_ns)
{
    const char *name = json_text_at(node, "metadata", "name", NULL);
    const char *label = json_text_at(node, "metadata", "labels", "nvidia.com/gpu.product", NULL);
    const char *product = label ? label : product_of(gpus, name);
    const char *emulated = json_text_at(node, "metadata", "labels", "mete.dev/gpu.emulated", NULL);
    AUTO_FREE char *model =
        product ? mem_format("%s%s", product, text_equal(emulated, "true") ? " (emulated)" : "")
                : NULL;
    json_t *row = json_array();

    (void)json_array_append_new(row, json_text_new(name));
    (void)json_array_append_new(row, json_text_new(node_state(node)));
    (void)json_array_append_new(row, gpus_of(gpus, name));
    (void)json_array_append_new(row, json_text_new(model));
    (void)json_array_append_new(
        row, json_text_new(json_text_at(node, "status", "allocatable", "cpu", NULL)));
    (void)json_array_append_new(
        row, bytes_of(json_text_at(node, "status", "allocatable", "memory", NULL)));
    (void)json_array_append_new(row, node_age(node, now_ns));
    (void)json_array_append_new(
        row, json_text_new(json_text_at(node, "status", "nodeInfo", "osImage", NULL)));
    (void)json_array_append_new(
        row, json_text_new(json_text_at(node, "status", "nodeInfo", "kernelVersion", NULL)));
    (void)json_array_append_new(
        row, json_text_new(json_text(object_condition(node, "Ready"), "message")));
    return row;
}

static void nodes_columns(struct listing *l)
{
    static const char *const names[] = {"NODE",    "STATE", "GPUS FREE", "MODEL",   "#CPU",
                                        "%MEMORY", "#AGE",  "!OS",       "!KERNEL", "!MESSAGE"};

    for (size_t i = 0; i < COUNT(names); i++)
        listing_column(l, names[i]);
}

static struct err *nodes_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *gpus = NULL;
    const struct list_query q = {.path = "/api/v1/nodes"};
    struct list_result list = {0};
    struct listing l;
    struct err *e;
    json_t *node;
    size_t i;

    TRY(session_open(c, &s));
    TRY(session_get_gpus(s, &gpus));
    TRY(session_list(s, &q, &list));
    listing_init(&l, "NodeList");
    l.api_version = "v1";
    l.prefix = "node";
    nodes_columns(&l);
    json_array_foreach (json_object_get(list.first, "items"), i, node) {
        json_put_text(node, "apiVersion", "v1");
        json_put_text(node, "kind", "Node");
        listing_add(&l, nodes_row(node, gpus, loop_wall_ns(session_loop(s))), node);
    }
    json_decref(list.first);
    e = listing_print(c, &l);
    listing_done(&l);
    return e;
}

const struct command command_nodes = {
    .name = "nodes",
    .summary = "list nodes: state, free GPUs, size",
    .examples = {{"nodes", "lists every node"},
                 {"nodes -o wide", "adds operating system and kernel"},
                 {0}},
    .groups = FLAGS_SERVER | FLAGS_OUTPUT,
    .n_max = 0,
    .run = nodes_run,
};
