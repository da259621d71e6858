/* slurm_nodes.c - what slurm.conf says of nodes: features, states, and gpus that must be there */
#include <inttypes.h>

#include "control/slurm/slurm_report_private.h"
#include "kinds/slurm/slurm_ask.h"
#include "model/hostlist.h"
#include "model/quantity.h"
#include "model/resource.h"
#include "model/slurm_amount.h"

#define DRAIN_REASON "mete.dev/drain-reason"
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

void slurm_read_facts(struct slurm_jobs *s)
{
    const json_t *lines = json_at(s->config, "spec", "nodes", NULL);
    const json_t *line;
    size_t i;

    json_decref(s->facts);
    s->facts = lines ? json_object() : NULL;
    json_array_foreach (lines, i, line)
        read_line(s->facts, line);
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

/* Does the node have parts of gpus, which its whole ones do not count? */
static bool has_parts_of_gpus(const json_t *node)
{
    const char *key;
    json_t *value;

    json_object_foreach (json_at(node, "status", "capacity", NULL), key, value)
        if (text_starts_with(key, "nvidia.com/mig-") || text_equal(key, "nvidia.com/gpu.shared"))
            return true;
    return false;
}

/* The reason for a drain if the node has fewer gpus than the file says; NULL: none. The caller
 * frees it. */
static char *find_missing_gpus(const struct slurm_node *n, const json_t *facts)
{
    struct slurm_gres_list gres = {0};
    AUTO(err_freep)
    struct err *e = slurm_gres_parse(str_of(text_or_empty(json_text(facts, "gres"))), NULL, &gres);
    int64_t want = 0;
    int64_t have = slurm_capacity(n->object, GPU_RESOURCE);

    VEC_EACH (&gres.items, item)
        if (text_equal(item->name, "gpu"))
            want += item->count;
    slurm_gres_list_done(&gres);
    if (!json_at(n->object, "status", "capacity", NULL) || have >= want ||
        has_parts_of_gpus(n->object))
        return NULL;
    return mem_format("gres/gpu count reported lower than configured (%" PRId64 " < %" PRId64 ")",
                      have, want);
}

static void put_drain(json_t *patch, const char *reason)
{
    json_put_text(json_object_at(json_object_at(patch, "metadata"), "annotations"), DRAIN_REASON,
                  reason);
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

void slurm_node_patch_facts(const struct slurm_jobs *s, const struct slurm_node *n, json_t *patch)
{
    const json_t *facts = json_object_get(s->facts, n->name);
    AUTO_FREE char *missing = find_missing_gpus(n, facts);
    bool is_drained = json_bool_at(n->object, "spec", "unschedulable", NULL);

    put_features(n, facts, json_object_at(patch, "metadata"));
    put_state(n, facts, patch);
    if (missing && !is_drained)
        put_drain(patch, missing);
}

/* ---- nodes that have not joined ---- */

static bool is_known(const struct slurm_jobs *s, const char *name)
{
    struct slurm_node *n = NULL;

    map_find_text(handle, s->nodes, name, n);
    return n != NULL;
}

static int64_t memory_mib(const json_t *facts)
{
    const char *text = json_text(facts, "memory");
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = text ? quantity_parse(str_of(text), &q) : NULL;

    return text && !e ? quantity_units(q) >> 20 : 1;
}

static json_t *absent_row(const struct slurm_jobs *s, const char *name)
{
    const json_t *facts = json_object_get(s->facts, name);
    int64_t cpus = json_int(facts, "cpus", 1);
    int64_t memory = memory_mib(facts);
    json_t *row = json_object();

    json_put_text(row, "name", name);
    json_put_text(row, "state", "UNKNOWN");
    (void)json_array_append_new(json_array_at(row, "flags"), json_string("NOT_RESPONDING"));
    json_put_int(row, "cpus", cpus);
    json_put_int(row, "cores", cpus);
    json_put_int(row, "memory", memory);
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
