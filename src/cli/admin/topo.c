/* topo.c - mete topo: free gpus by rack, block and other labels of nodes, down to link groups; how
 * the gpus of a node reach each other */

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/vec.h"
#include "cli/admin/topo_matrix.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/term/output.h"
#include "kinds/pod/pod_state.h"
#include "model/index_set.h"
#include "model/names.h"

enum {
    LEVELS_MAX = 8,
    INDENT = 2
};

/* The usual labels, the widest first; shown if a node has the label. */
static const char *const known_keys[] = {
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "network.topology.nvidia.com/spine",
    "network.topology.nvidia.com/leaf",
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gce-topology-subblock",
    "cloud.provider.com/topology-block",
    "cloud.provider.com/topology-rack",
    "block",
    "rack",
    "nvidia.com/gpu.clique",
};

struct levels {
    char *keys[LEVELS_MAX]; /* the widest first */
    size_t n;
};

struct machine {
    const json_t *node;
    const char *name;
    const char *values[LEVELS_MAX]; /* NULL: no such label */
    const json_t *gpus;             /* array, or NULL */
    size_t n_levels;
    const char *state;
};

struct topo {
    struct levels levels;
    VEC(struct machine) machines;
    struct listing listing;
};

static void levels_done(struct levels *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->keys[i]);
}

static bool is_labeled(const json_t *nodes, const char *key)
{
    for (size_t i = 0; i < json_array_size(nodes); i++)
        if (json_text_at(json_array_get(nodes, i), "metadata", "labels", key, NULL))
            return true;
    return false;
}

static struct err *read_levels(struct cli *c, const json_t *nodes, struct levels *ret)
{
    const char *text = flag_text(c->in, "levels");
    struct str rest = str_of(text);

    for (size_t i = 0; !text && i < COUNT(known_keys); i++)
        if (ret->n < LEVELS_MAX && is_labeled(nodes, known_keys[i]))
            ret->keys[ret->n++] = mem_strdup(known_keys[i]);
    while (rest.at) {
        struct str key = str_cut(&rest, ',');
        AUTO_FREE char *copy = mem_strndup(key.at, key.size);
        AUTO(err_freep) struct err *e = name_check_qualified(copy);

        if (e)
            return cli_usage(c, "--levels: \"%s\" is not a label: %s", copy, err_message(e));
        if (ret->n == LEVELS_MAX)
            return cli_usage(c, "--levels: at most %d", LEVELS_MAX);
        ret->keys[ret->n++] = TAKE(copy);
    }
    return NULL;
}

static const char *topo_state(const json_t *node)
{
    const char *ready = json_text(object_condition(node, "Ready"), "status");

    if (!text_equal(ready, "True"))
        return "not ready";
    return json_bool_at(node, "spec", "unschedulable", NULL) ? "cordoned" : "ready";
}

static bool is_free(const struct machine *m, const json_t *gpu)
{
    return text_equal(m->state, "ready") && !json_at(gpu, "status", "holder", "pod", NULL) &&
           text_equal(json_text_at(gpu, "status", "health", NULL), "healthy");
}

/* Nodes without the label come last. */
static int compare_values(const char *a, const char *b)
{
    if (!a || !b)
        return (a == NULL) - (b == NULL);
    return strcmp(a, b);
}

static int compare_machines(const void *left, const void *right)
{
    const struct machine *a = left;
    const struct machine *b = right;

    for (size_t i = 0; i < a->n_levels; i++) {
        int order = compare_values(a->values[i], b->values[i]);

        if (order != 0)
            return order;
    }
    return strcmp(a->name, b->name);
}

/* {node: [gpu, ...]} */
static json_t *gpus_by_node(const json_t *gpus)
{
    json_t *by_node = json_object();
    json_t *gpu;
    size_t i;

    json_array_foreach (json_object_get(gpus, "items"), i, gpu) {
        const char *node = json_text_at(gpu, "spec", "node", NULL);
        json_t *list = node ? json_object_get(by_node, node) : NULL;

        if (!node)
            continue;
        if (!list) {
            list = json_array();
            json_put(by_node, node, list);
        }
        (void)json_array_append(list, gpu); /* a reference: cannot fail */
    }
    return by_node;
}

static void add_machines(struct topo *t, const json_t *nodes, const json_t *by_node)
{
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *node = json_array_get(nodes, i);
        struct machine m = {
            .node = node,
            .name = json_text_at(node, "metadata", "name", NULL),
            .n_levels = t->levels.n,
            .state = topo_state(node),
        };

        m.gpus = json_object_get(by_node, m.name);
        for (size_t k = 0; k < t->levels.n; k++)
            m.values[k] = json_text_at(node, "metadata", "labels", t->levels.keys[k], NULL);
        vec_add(&t->machines, m);
    }
    if (t->machines.n > 1)
        qsort(t->machines.at, t->machines.n, sizeof(*t->machines.at), compare_machines);
}

/* The counts of one row. */
struct counts {
    int64_t nodes;
    int64_t gpus;
    int64_t n_free;
    int64_t most; /* the most free on one node */
};

static void count_machine(const struct machine *m, struct counts *to)
{
    int64_t here = 0;

    for (size_t i = 0; i < json_array_size(m->gpus); i++)
        here += is_free(m, json_array_get(m->gpus, i));
    to->nodes++;
    to->gpus += (int64_t)json_array_size(m->gpus);
    to->n_free += here;
    to->most = here > to->most ? here : to->most;
}

/* "rack" of "example.com/rack". */
static const char *noun_of(const char *key)
{
    const char *slash = strrchr(key, '/');

    return slash && slash[1] ? slash + 1 : key;
}

struct row {
    size_t depth;
    const char *noun;
    const char *name; /* NULL: no such label */
    const char *key;  /* key of the label, or NULL */
    struct counts counts;
    const char *free_gpus; /* "0-3"; NULL: not a row of one node */
    const char *state;     /* NULL: not a node */
    const json_t *gpus;    /* as the json output shows gpus, or NULL */
};

static json_t *topo_object(const struct row *r)
{
    json_t *o = json_object();
    json_t *status;

    json_put_text(o, "apiVersion", "mete.dev/v1");
    json_put_text(o, "kind", "Domain");
    json_put_text(json_object_at(o, "metadata"), "name", r->name);
    json_put_text(json_object_at(o, "spec"), "level", r->noun);
    json_put_text(json_object_at(o, "spec"), "key", r->key);
    json_put_int(json_object_at(o, "spec"), "depth", (int64_t)r->depth);
    status = json_object_at(o, "status");
    json_put_int(status, "nodes", r->counts.nodes);
    json_put_int(status, "gpus", r->counts.gpus);
    json_put_int(status, "gpusFree", r->counts.n_free);
    json_put_int(status, "mostFreeOnOneNode", r->counts.most);
    json_put_text(status, "state", r->state);
    if (r->gpus)
        json_put(status, "devices", json_incref((json_t *)(uintptr_t)r->gpus));
    return o;
}

static void topo_add_row(struct topo *t, const struct row *r)
{
    AUTO_FREE char *where =
        mem_format("%*s%s %s", (int)(r->depth * INDENT), "", r->noun, r->name ? r->name : "(none)");
    AUTO_FREE char *gpus = mem_format("%" PRId64 " of %" PRId64, r->counts.n_free, r->counts.gpus);
    AUTO(json_freep) json_t *object = topo_object(r);
    json_t *row = json_array();

    (void)json_array_append_new(row, json_string(where));
    (void)json_array_append_new(row, json_string(gpus));
    (void)json_array_append_new(row, json_integer(r->counts.most));
    (void)json_array_append_new(row, json_text_new(r->free_gpus));
    (void)json_array_append_new(row, json_text_new(r->state));
    listing_add(&t->listing, row, object);
}

static int64_t link_of(const json_t *gpu)
{
    return json_int_at(gpu, "spec", "linkGroup", NULL);
}

/* Copies a member of the gpu's spec, if it is known. */
static void copy_known(json_t *to, const json_t *gpu, const char *key)
{
    json_t *value = json_at(gpu, "spec", key, NULL);

    if (value && !json_is_null(value))
        json_put(to, key, json_incref(value));
}

/* Adds a row for one link group of a node, or (`is_all`) for all gpus of the node. */
static void add_gpus(struct topo *t, const struct machine *m, bool is_all, int64_t link)
{
    struct row r = {.depth = m->n_levels + !is_all};
    struct index_set set = {0};
    AUTO_FREE char *free_gpus = NULL;
    AUTO_FREE char *number = mem_format("%" PRId64, link);
    AUTO(json_freep) json_t *gpus = json_array();

    for (size_t i = 0; i < json_array_size(m->gpus); i++) {
        const json_t *gpu = json_array_get(m->gpus, i);
        int64_t index = json_int_at(gpu, "spec", "index", NULL);
        json_t *connections;
        json_t *told;

        if (!is_all && link_of(gpu) != link)
            continue;
        told = json_object();
        json_put_text(told, "uuid", json_text_at(gpu, "spec", "uuid", NULL));
        json_put_int(told, "index", index);
        json_put_bool(told, "isFree", is_free(m, gpu));
        copy_known(told, gpu, "numaNode");
        copy_known(told, gpu, "links");
        copy_known(told, gpu, "switchLinks");
        copy_known(told, gpu, "fabric");
        copy_known(told, gpu, "clique");
        connections = topo_connections(gpu, m->gpus);
        if (connections)
            json_put(told, "connections", connections);
        copy_known(told, gpu, "cpus");
        copy_known(told, gpu, "pci");
        (void)json_array_append_new(gpus, told); /* a fresh object: cannot fail */
        r.counts.gpus++;
        if (!is_free(m, gpu))
            continue;
        r.counts.n_free++;
        if (index >= 0 && index < INDEX_SET_MAX)
            (void)index_set_add(&set, (size_t)index);
    }
    r.counts.most = r.counts.n_free;
    r.counts.nodes = 1;
    free_gpus = index_set_format(&set);
    index_set_done(&set);
    r.free_gpus = free_gpus;
    r.noun = is_all ? "node" : "link group";
    r.name = is_all ? m->name : number;
    r.key = is_all ? "kubernetes.io/hostname" : NULL;
    r.state = is_all ? m->state : NULL;
    r.gpus = gpus;
    topo_add_row(t, &r);
}

static void add_machine(struct topo *t, const struct machine *m)
{
    int64_t last = -1;

    add_gpus(t, m, true, 0);
    for (;;) {
        int64_t next = INT64_MAX;

        for (size_t i = 0; i < json_array_size(m->gpus); i++) {
            const json_t *gpu = json_array_get(m->gpus, i);
            bool has = json_is_integer(json_at(gpu, "spec", "linkGroup", NULL));
            int64_t link = has ? link_of(gpu) : -1;

            if (link > last && link < next)
                next = link;
        }
        if (next == INT64_MAX)
            return;
        add_gpus(t, m, false, next);
        last = next;
    }
}

/* Is node `i` in another domain of this level, or of a wider level, than node `i - 1`? */
static bool begins(const struct topo *t, size_t i, size_t level)
{
    for (size_t k = 0; k <= level && i > 0; k++)
        if (compare_values(t->machines.at[i - 1].values[k], t->machines.at[i].values[k]) != 0)
            return true;
    return i == 0;
}

static void add_domain(struct topo *t, size_t first, size_t level)
{
    const struct machine *m = &t->machines.at[first];
    struct row r = {
        .depth = level,
        .noun = noun_of(t->levels.keys[level]),
        .name = m->values[level],
        .key = t->levels.keys[level],
    };

    count_machine(m, &r.counts);
    for (size_t i = first + 1; i < t->machines.n && !begins(t, i, level); i++)
        count_machine(&t->machines.at[i], &r.counts);
    topo_add_row(t, &r);
}

static void topo_add_all(struct topo *t)
{
    static const char *const names[] = {"WHERE", "GPUS FREE", "#MOST ON ONE NODE", "FREE", "STATE"};

    for (size_t i = 0; i < COUNT(names); i++)
        listing_column(&t->listing, names[i]);
    for (size_t i = 0; i < t->machines.n; i++) {
        for (size_t level = 0; level < t->levels.n; level++)
            if (begins(t, i, level))
                add_domain(t, i, level);
        add_machine(t, &t->machines.at[i]);
    }
}

/* Prints how the gpus of one node reach each other. */
static struct err *topo_run_node(struct cli *c, struct session *s, const json_t *by_node)
{
    const char *name = c->in->arguments.at[0];
    AUTO_FREE char *path = path_format("/api/v1/nodes/%s", name);
    AUTO(json_freep) json_t *node = NULL;

    TRY(session_get(s, path, &node));
    return topo_matrix_print(c, name, json_object_get(by_node, name));
}

/* A table of one node is followed by how its gpus reach each other. */
static struct err *topo_add_matrix(struct cli *c, const struct topo *t)
{
    const struct machine *m = t->machines.at;

    if (t->machines.n != 1 || json_array_size(m->gpus) < 2 || output_format_of(c->in) > OUTPUT_WIDE)
        return NULL;
    TRY(output_write(c, STR("\n")));
    return topo_matrix_print(c, m->name, m->gpus);
}

static struct err *topo_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *gpus = NULL;
    AUTO(json_freep) json_t *by_node = NULL;
    const struct list_query q = {.path = "/api/v1/nodes"};
    struct list_result list = {0};
    struct topo t = {0};
    struct err *e;

    TRY(session_open(c, &s));
    TRY(session_get_gpus(s, &gpus));
    by_node = gpus_by_node(gpus);
    if (c->in->arguments.n > 0)
        return topo_run_node(c, s, by_node);
    TRY(session_list(s, &q, &list));
    e = read_levels(c, json_object_get(list.first, "items"), &t.levels);
    if (!e) {
        listing_init(&t.listing, "DomainList");
        t.listing.api_version = "mete.dev/v1";
        add_machines(&t, json_object_get(list.first, "items"), by_node);
        topo_add_all(&t);
        e = listing_print(c, &t.listing);
        if (!e)
            e = topo_add_matrix(c, &t);
        listing_done(&t.listing);
    }
    json_decref(list.first);
    vec_done(&t.machines);
    levels_done(&t.levels);
    return e;
}

static const struct flag topo_flags[] = {
    {.name = "levels",
     .type = FLAG_TEXT,
     .value = "LABEL,...",
     .doc = "node labels that form the domains, the widest first. Default: the usual labels that "
            "nodes have"},
    {0},
};

const struct command command_topo = {
    .name = "topo",
    .arguments = "[NODE]",
    .summary = "show free GPUs by block, rack, node and NVLink group; how GPUs are connected",
    .doc = "A domain is the set of nodes with the same value of a label: kubectl label node n1 "
           "rack=r1. A GPU is free if it is healthy, has no holder, and its node accepts jobs; "
           "FREE lists the indices. With NODE, or if there is one node: how each GPU reaches "
           "each other GPU, as nvidia-smi topo -m; -o wide adds NVSwitches and the NVLink domain. "
           "docs/topology.md explains how a job asks for one domain.",
    .examples = {{"topo", "uses the usual labels for blocks and racks"},
                 {"topo gpu-01", "shows the connections between the GPUs of a node"},
                 {"topo --levels example.com/row,rack", "uses your own labels, the widest first"},
                 {0}},
    .flags = topo_flags,
    .groups = FLAGS_SERVER | FLAGS_OUTPUT,
    .n_max = 1,
    .run = topo_run,
};
