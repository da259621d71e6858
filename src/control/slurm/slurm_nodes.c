/* slurm_nodes.c - what slurm.conf says of nodes: features, states, sizes, weights, switches */
#include <inttypes.h>
#include <stdlib.h>

#include "control/slurm/slurm_report_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_ask.h"
#include "model/hostlist.h"
#include "model/quantity.h"
#include "model/resource.h"

/* What the file said last of the node: its features, with commas; its state and reason. */
#define OLD_FEATURES "mete.dev/slurm-features"
#define OLD_STATE    "mete.dev/slurm-state"

/* Adds the members of a line to those that earlier lines gave its nodes. */
static void read_line(json_t *facts, const json_t *line)
{
    AUTO(hostlist_done) struct hostlist names = {0};
    AUTO(err_freep)
    struct err *e =
        hostlist_parse(str_of(text_or_empty(json_text(line, "names"))), HOSTLIST_MAX, &names);

    VEC_EACH (&names.names, name)
        (void)json_object_update(json_object_at(facts, *name), (json_t *)(uintptr_t)line);
}

/* Notes the switches above the nodes of a line. */
static void read_switches(struct slurm_jobs *s, const json_t *line)
{
    AUTO(hostlist_done) struct hostlist names = {0};
    AUTO(err_freep)
    struct err *e =
        hostlist_parse(str_of(text_or_empty(json_text(line, "names"))), HOSTLIST_MAX, &names);

    VEC_EACH (&names.names, name)
        json_put_text(s->switches, *name, json_text(line, "switches"));
}

static int compare_weights(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a;
    int64_t other = *(const int64_t *)b;

    return (one > other) - (one < other);
}

/* The different weights of nodes, ascending. One weight orders nothing. */
static json_t *read_weights(const json_t *facts)
{
    VEC(int64_t) all = {0};
    json_t *weights = json_array();
    const char *name;
    json_t *one;

    json_object_foreach ((json_t *)(uintptr_t)facts, name, one)
        vec_add(&all, json_int(one, "weight", 1));
    if (all.n > 0)
        qsort(all.at, all.n, sizeof(*all.at), compare_weights);
    for (size_t i = 0; i < all.n; i++)
        if (i == 0 || all.at[i] != all.at[i - 1])
            (void)json_array_append_new(weights, json_integer(all.at[i]));
    vec_done(&all);
    if (json_array_size(weights) < 2)
        json_array_clear(weights);
    return weights;
}

void slurm_forget_facts(struct slurm_jobs *s)
{
    json_decref(s->facts);
    json_decref(s->switches);
    json_decref(s->weights);
    s->facts = NULL;
    s->switches = NULL;
    s->weights = NULL;
    slurm_forget_gres(s);
}

void slurm_read_facts(struct slurm_jobs *s)
{
    const json_t *lines = json_at(s->config, "spec", "nodes", NULL);
    const json_t *line;
    size_t i;

    slurm_forget_facts(s);
    if (!s->config)
        return;
    s->facts = json_object();
    s->switches = json_object();
    json_array_foreach (lines, i, line) {
        if (json_text(line, "switches"))
            read_switches(s, line);
        else
            read_line(s->facts, line);
    }
    s->weights = read_weights(s->facts);
    slurm_read_gres(s);
}

/* ---- features ---- */

static void put_features(const struct slurm_node *n, const json_t *facts, json_t *metadata)
{
    const json_t *features = json_object_get(facts, "features");
    const json_t *labels = json_at(n->object, "metadata", "labels", NULL);
    const char *old = json_text_at(n->object, "metadata", "annotations", OLD_FEATURES, NULL);
    AUTO(buf_done) struct buf now = {.cap = 1 << 16};
    struct str rest = str_of(old);

    for (size_t i = 0; i < json_array_size(features); i++) {
        const char *name = text_or_empty(json_string_value(json_array_get(features, i)));
        AUTO_FREE char *label = mem_format(SLURM_FEATURE_LABEL "%s", name);

        buf_printf(&now, "%s%s", now.size > 0 ? "," : "", name);
        if (!json_object_get(labels, label))
            json_put_text(json_object_at(metadata, "labels"), label, "");
    }
    while (rest.at) {
        struct str word = str_cut(&rest, ',');
        AUTO_FREE char *name = mem_strndup(word.at, word.size);
        AUTO_FREE char *label = mem_format(SLURM_FEATURE_LABEL "%s", name);

        if (*name && !json_has_text(features, name) && json_object_get(labels, label))
            json_put(json_object_at(metadata, "labels"), label, json_null());
    }
    if (!text_equal(text_or_empty(old), text_or_empty(now.at)))
        json_put(json_object_at(metadata, "annotations"), OLD_FEATURES,
                 now.size > 0 ? json_string(now.at) : json_null());
}

/* ---- drains ---- */

static void put_drain(json_t *patch, const char *reason)
{
    json_put_text(json_object_at(json_object_at(patch, "metadata"), "annotations"),
                  NODE_DRAIN_REASON, reason);
    json_put_bool(json_object_at(patch, "spec"), "unschedulable", true);
}

/* A state of the file counts once: who resumes the node later is right. */
static void put_state(const struct slurm_node *n, const json_t *facts, json_t *patch)
{
    static const char *const out[] = {"DOWN", "DRAIN", "FAIL", "FAILING"};
    const char *state = text_or_empty(json_text(facts, "state"));
    const char *reason = json_text_filled(facts, "reason");
    const char *old = json_text_at(n->object, "metadata", "annotations", OLD_STATE, NULL);
    AUTO_FREE char *now = mem_format("%s %s", state, text_or_empty(reason));
    bool is_out = false;

    for (size_t i = 0; i < COUNT(out); i++)
        is_out = is_out || text_equal(state, out[i]);
    if (is_out == (old != NULL) && (!is_out || text_equal(old, now)))
        return;
    json_put(json_object_at(json_object_at(patch, "metadata"), "annotations"), OLD_STATE,
             is_out ? json_string(now) : json_null());
    if (is_out)
        put_drain(patch, reason ? reason : "State of slurm.conf");
}

/* ---- cpus and memory ---- */

/* The cpus that slurm.conf gives the node; 0: it says nothing. */
static int64_t cpus_of(const json_t *facts)
{
    int64_t cores = json_int(facts, "sockets", 1) * json_int(facts, "coresPerSocket", 1);
    bool has_cores = json_object_get(facts, "sockets") || json_object_get(facts, "coresPerSocket");

    return json_int(facts, "cpus", has_cores ? cores * json_int(facts, "threadsPerCore", 1) : 0);
}

static int64_t memory_mib(const json_t *facts, const char *key)
{
    const char *text = json_text(facts, key);
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = text ? quantity_parse(str_of(text), &q) : NULL;

    return text && !e ? quantity_units(q) >> 20 : 0;
}

/* The reason for a drain if the machine is smaller than slurm.conf says; NULL: none. The caller
 * frees it. */
static char *find_low(const struct slurm_node *n, const json_t *facts)
{
    int64_t cpus = slurm_capacity(n->object, "cpu");
    int64_t mib = slurm_capacity(n->object, "memory") >> 20;
    int64_t want = memory_mib(facts, "memory");

    if (!json_at(n->object, "status", "capacity", NULL))
        return NULL;
    if (cpus < cpus_of(facts))
        return mem_format("Low CPUs (reported:%" PRId64 " < configured:%" PRId64 ")", cpus,
                          cpus_of(facts));
    if (mib < want)
        return mem_format("Low RealMemory (reported:%" PRId64 " < 100.00%% of configured:%" PRId64
                          ")",
                          mib, want);
    return NULL;
}

void slurm_node_size(const struct slurm_node *n, const json_t *facts, int64_t *ret_cpus,
                     int64_t *ret_mib)
{
    int64_t cpus = cpus_of(facts);
    int64_t mib = memory_mib(facts, "memory");

    *ret_cpus = slurm_capacity(n->object, "cpu");
    *ret_mib = slurm_capacity(n->object, "memory") >> 20;
    if (cpus > 0 && cpus < *ret_cpus)
        *ret_cpus = cpus;
    if (mib > 0 && mib < *ret_mib)
        *ret_mib = mib;
}

/* Keeps from jobs what slurm.conf leaves out or sets aside. */
static void put_offers(const struct slurm_node *n, const json_t *facts, json_t *patch)
{
    int64_t spare_cpus = json_int(facts, "specCores", 0) * json_int(facts, "threadsPerCore", 1);
    int64_t spare_mib = memory_mib(facts, "specMemory");
    const char *old = json_text_at(n->object, "metadata", "annotations", NODE_OFFERS, NULL);
    AUTO_FREE char *now = NULL;
    int64_t cpus = 0;
    int64_t mib = 0;

    if (!json_at(n->object, "status", "capacity", NULL))
        return;
    slurm_node_size(n, facts, &cpus, &mib);
    cpus -= spare_cpus;
    mib -= spare_mib;
    if (cpus < slurm_capacity(n->object, "cpu") || mib < slurm_capacity(n->object, "memory") >> 20)
        now = mem_format("{\"cpu\":%" PRId64 ",\"memoryBytes\":%" PRId64 "}", cpus > 0 ? cpus : 0,
                         mib > 0 ? mib << 20 : 0);
    if (!text_equal(old, now))
        json_put(json_object_at(json_object_at(patch, "metadata"), "annotations"), NODE_OFFERS,
                 now ? json_string(now) : json_null());
}

/* ---- labels ---- */

static void put_label(const struct slurm_node *n, const char *key, const char *value,
                      json_t *metadata)
{
    const char *old = json_text_at(n->object, "metadata", "labels", key, NULL);

    if (!text_equal(old, value))
        json_put(json_object_at(metadata, "labels"), key, value ? json_string(value) : json_null());
}

/* Takes the last name of a path that ends at `*end`; NULL: none is left. The caller frees it. */
static char *take_switch(const char *path, size_t *end)
{
    size_t last = *end;
    size_t at = last;

    while (at > 0 && path[at - 1] != '/')
        at--;
    *end = at > 0 ? at - 1 : 0;
    return last > at ? mem_strndup(path + at, last - at) : NULL;
}

/* The switches above the node, the nearest first. */
static void put_switches(const struct slurm_jobs *s, const struct slurm_node *n, json_t *metadata)
{
    const char *path = text_or_empty(json_text(s->switches, n->name));
    size_t end = strlen(path);

    for (int level = 1; level <= SLURM_SWITCH_LEVELS; level++) {
        AUTO_FREE char *key = mem_format(SLURM_SWITCH_LABEL "%d", level);
        AUTO_FREE char *name = take_switch(path, &end);

        put_label(n, key, name, metadata);
    }
}

static void put_weight(const struct slurm_jobs *s, const struct slurm_node *n, const json_t *facts,
                       json_t *metadata)
{
    AUTO_FREE char *weight = json_array_size(s->weights) > 0
                                 ? mem_format("%" PRId64, json_int(facts, "weight", 1))
                                 : NULL;

    put_label(n, SLURM_WEIGHT_LABEL, weight, metadata);
}

void slurm_node_patch_facts(const struct slurm_jobs *s, const struct slurm_node *n, json_t *patch)
{
    const json_t *facts = json_object_get(s->facts, n->name);
    json_t *metadata = json_object_at(patch, "metadata");
    AUTO_FREE char *missing = slurm_node_patch_gres(s, n, patch);
    AUTO_FREE char *low = find_low(n, facts);
    bool is_drained = json_bool_at(n->object, "spec", "unschedulable", NULL);

    put_features(n, facts, metadata);
    put_switches(s, n, metadata);
    put_weight(s, n, facts, metadata);
    put_offers(n, facts, patch);
    put_state(n, facts, patch);
    if ((missing || low) && !is_drained)
        put_drain(patch, low ? low : missing);
}

/* ---- nodes that have not joined ---- */

static bool is_known(const struct slurm_jobs *s, const char *name)
{
    struct slurm_node *n = NULL;

    map_find_text(handle, s->nodes, name, n);
    return n != NULL;
}

static json_t *absent_row(const struct slurm_jobs *s, const char *name)
{
    const json_t *facts = json_object_get(s->facts, name);
    int64_t cpus = cpus_of(facts) > 0 ? cpus_of(facts) : 1;
    int64_t memory = memory_mib(facts, "memory");
    json_t *row = json_object();

    json_put_text(row, "name", name);
    json_put_text(row, "state", "UNKNOWN");
    (void)json_array_append_new(json_array_at(row, "flags"), json_string("NOT_RESPONDING"));
    json_put_int(row, "cpus", cpus);
    json_put_int(row, "cores", cpus);
    json_put_int(row, "memory", memory > 0 ? memory : 1);
    json_put_text(row, "address", name);
    json_put(row, "partitions", slurm_partitions_of(s, name));
    slurm_put_facts(row, facts);
    return row;
}

void slurm_put_facts(json_t *row, const json_t *facts)
{
    const json_t *features = json_object_get(facts, "features");
    AUTO(buf_done) struct buf list = {.cap = 1 << 16};

    for (size_t i = 0; i < json_array_size(features); i++)
        buf_printf(&list, "%s%s", i > 0 ? "," : "",
                   text_or_empty(json_string_value(json_array_get(features, i))));
    json_put_text(row, "features", list.size > 0 ? list.at : NULL);
    json_put_int(row, "weight", json_int(facts, "weight", 1));
    if (json_text(facts, "gres") && !json_text(row, "gres"))
        json_put_text(row, "gres", json_text(facts, "gres"));
}

void slurm_add_absent_rows(const struct slurm_jobs *s, json_t *rows)
{
    const char *name;
    json_t *facts;

    json_object_foreach (s->facts, name, facts)
        if (!is_known(s, name))
            (void)json_array_append_new(rows, absent_row(s, name)); /* fresh: cannot fail */
}
