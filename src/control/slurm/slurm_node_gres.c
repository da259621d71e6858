/* slurm_node_gres.c - gpus, slices, shards and mps of nodes, as Slurm's files and lists have them
 */
#include <inttypes.h>

#include "control/slurm/slurm_report_private.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_gres.h"
#include "model/hostlist.h"
#include "model/resource.h"
#include "model/slurm_amount.h"

/* Annotation of a node: the modes of its gpus that the files gave. */
#define GIVEN_MODES "mete.dev/slurm-gpu-modes"
#define EVERYWHERE  "*"

/* ---- lines ---- */

static void add_line_to(json_t *gres, const char *node, const json_t *line)
{
    (void)json_array_append(json_array_at(gres, node), (json_t *)(uintptr_t)line);
}

static void read_gres_line(struct slurm_jobs *s, const json_t *line)
{
    const char *names = json_text(line, "names");
    AUTO(hostlist_done) struct hostlist hosts = {0};
    AUTO(err_freep)
    struct err *e = names ? hostlist_parse(str_of(names), HOSTLIST_MAX, &hosts) : NULL;

    if (!names)
        add_line_to(s->gres, EVERYWHERE, line);
    VEC_EACH (&hosts.names, name)
        if (!e)
            add_line_to(s->gres, *name, line);
}

void slurm_read_gres(struct slurm_jobs *s)
{
    const json_t *lines = json_at(s->config, "spec", "gres", NULL);
    const json_t *line;
    const char *name;
    json_t *facts;
    size_t i;

    s->gres = json_object();
    s->gpu_types = json_object();
    json_array_foreach (lines, i, line)
        read_gres_line(s, line);
    slurm_gres_add_types(NULL, lines, s->gpu_types);
    json_object_foreach (s->facts, name, facts)
        slurm_gres_add_types(json_text(facts, "gres"), NULL, s->gpu_types);
}

void slurm_forget_gres(struct slurm_jobs *s)
{
    json_decref(s->gres);
    json_decref(s->gpu_types);
    s->gres = NULL;
    s->gpu_types = NULL;
}

/* The lines about the node: an array of arrays. New reference. */
static json_t *lines_of(const struct slurm_jobs *s, const char *node)
{
    const json_t *own = json_object_get(s->gres, node);
    const json_t *all = json_object_get(s->gres, EVERYWHERE);
    json_t *lines = json_array();

    if (own)
        (void)json_array_append(lines, (json_t *)(uintptr_t)own);
    if (all)
        (void)json_array_append(lines, (json_t *)(uintptr_t)all);
    return lines;
}

/* ---- labels of types ---- */

/* Labels the node with the types of its gpus: those that the files give it, and its model. */
static void put_types(const struct slurm_jobs *s, const struct slurm_node *n, const json_t *lines,
                      json_t *metadata)
{
    json_t *labels = json_at(n->object, "metadata", "labels", NULL);
    const char *model = json_text(labels, "mete.dev/gpu.model");
    const char *gres = json_text(json_object_get(s->facts, n->name), "gres");
    AUTO(json_freep) json_t *types = json_object();
    const json_t *some;
    const char *key;
    json_t *value;
    size_t i;

    slurm_gres_add_types(gres, NULL, types);
    json_array_foreach (lines, i, some)
        slurm_gres_add_types(NULL, some, types);
    if (model && json_object_get(s->gpu_types, model))
        json_put_bool(types, model, true);
    json_object_foreach (types, key, value) {
        AUTO_FREE char *label = mem_format(SLURM_GPU_TYPE_LABEL "%s", key);

        if (!json_object_get(labels, label))
            json_put_text(json_object_at(metadata, "labels"), label, "");
    }
    json_object_foreach (labels, key, value)
        if (text_starts_with(key, SLURM_GPU_TYPE_LABEL) &&
            !json_object_get(types, key + strlen(SLURM_GPU_TYPE_LABEL)))
            json_put(json_object_at(metadata, "labels"), key, json_null());
}

/* ---- modes of gpus ---- */

/* The object in an annotation of the node; absent: empty. New reference. */
static json_t *read_annotation(const struct slurm_node *n, const char *key)
{
    const char *text = json_text_at(n->object, "metadata", "annotations", key, NULL);
    json_t *value = NULL;
    AUTO(err_freep) struct err *e = text ? json_parse(str_of(text), &value) : NULL;

    return !e && value ? value : json_object();
}

static void put_annotation(const char *key, const json_t *value, json_t *metadata)
{
    AUTO_FREE char *text = json_object_size(value) > 0 ? json_format(value) : NULL;

    json_put(json_object_at(metadata, "annotations"), key, text ? json_string(text) : json_null());
}

/* Sets the modes that the files give, and takes back those that they gave before. */
static void put_modes(const json_t *given, const json_t *plan, json_t *modes, json_t *metadata)
{
    AUTO(json_freep) json_t *now = json_deep_copy(modes);
    const char *uuid;
    json_t *mode;

    json_object_foreach ((json_t *)(uintptr_t)given, uuid, mode)
        if (!json_object_get(plan, uuid) && json_equal(mode, json_object_get(modes, uuid)))
            (void)json_object_del(now, uuid); /* is there */
    (void)json_object_update(now, (json_t *)(uintptr_t)plan);
    if (!json_equal(now, modes))
        put_annotation(NODE_GPU_MODES, now, metadata);
    if (!json_equal(given, plan))
        put_annotation(GIVEN_MODES, plan, metadata);
}

char *slurm_node_patch_gres(const struct slurm_jobs *s, const struct slurm_node *n, json_t *patch)
{
    const char *text = json_text_at(n->object, "metadata", "annotations", NODE_GPUS, NULL);
    json_t *metadata = json_object_at(patch, "metadata");
    AUTO(json_freep) json_t *lines = lines_of(s, n->name);
    AUTO(json_freep) json_t *modes = read_annotation(n, NODE_GPU_MODES);
    AUTO(json_freep) json_t *given = read_annotation(n, GIVEN_MODES);
    struct slurm_gres_node of = {.gres = json_text(json_object_get(s->facts, n->name), "gres"),
                                 .lines = lines,
                                 .modes = modes,
                                 .given = given};
    AUTO(json_freep) json_t *gpus = NULL;
    AUTO(slurm_gres_plan_done) struct slurm_gres_plan plan = {0};
    AUTO(err_freep) struct err *e = NULL;

    put_types(s, n, lines, metadata);
    if (!text || (!of.gres && json_array_size(lines) == 0 && json_object_size(given) == 0))
        return NULL;
    e = json_parse(str_of(text), &gpus);
    if (e)
        return NULL; /* the node's own text */
    of.gpus = gpus;
    slurm_gres_plan(&of, &plan);
    put_modes(given, plan.modes, modes, metadata);
    if (plan.found >= plan.wanted)
        return NULL;
    /* Replicas, and slices of the strategy `single`, count as gpus, too. */
    if (plan.slices == 0 && slurm_capacity(n->object, GPU_RESOURCE) >= plan.wanted)
        return NULL;
    return mem_format("gres/gpu count reported lower than configured (%" PRId64 " < %" PRId64 ")",
                      plan.found, plan.wanted);
}

/* ---- rows ---- */

/* The word for the node's whole gpus (`profile` NULL) or slices: the files' type, else the model
 * or the profile. The caller frees it. */
static char *shown_type(const struct slurm_jobs *s, const struct slurm_node *n, const char *profile)
{
    AUTO(json_freep) json_t *lines = lines_of(s, n->name);
    const char *gres = json_text(json_object_get(s->facts, n->name), "gres");
    AUTO(slurm_gres_list_done) struct slurm_gres_list list = {0};
    AUTO(err_freep) struct err *e = slurm_gres_parse(str_of(text_or_empty(gres)), NULL, &list);
    const char *model = json_text_at(n->object, "metadata", "labels", "mete.dev/gpu.model", NULL);
    struct slurm_gpu_type t;
    const json_t *some;
    const json_t *line;
    size_t i;
    size_t k;

    VEC_EACH (&list.items, item)
        if (!e && text_equal(item->name, "gpu") && item->type &&
            slurm_gpu_type_read(str_of(item->type), &t) &&
            text_equal(t.profile, text_or_empty(profile)))
            return mem_strdup(item->type);
    json_array_foreach (lines, i, some)
        json_array_foreach (some, k, line)
            if (text_equal(json_text(line, "name"), "gpu") && json_text(line, "type") &&
                slurm_gpu_type_read(str_of(json_text(line, "type")), &t) &&
                text_equal(t.profile, text_or_empty(profile)))
                return mem_strdup(json_text(line, "type"));
    return mem_strdup(profile ? profile : text_or_empty(model));
}

static void add_gres(struct buf *out, const char *name, const char *type, int64_t count)
{
    buf_printf(out, "%s%s%s%s:%" PRId64, out->size > 0 ? "," : "", name, *type ? ":" : "", type,
               count);
}

/* The count of mps that the files give the node. */
static int64_t count_mps(const struct slurm_jobs *s, const struct slurm_node *n)
{
    AUTO(json_freep) json_t *lines = lines_of(s, n->name);
    const json_t *some;
    const json_t *line;
    int64_t count = 0;
    size_t i;
    size_t k;

    json_array_foreach (lines, i, some)
        json_array_foreach (some, k, line)
            if (text_equal(json_text(line, "name"), "mps"))
                count = json_int(line, "count", 0);
    return count;
}

/* The held slices of the profile. */
static int64_t held_slices(const struct slurm_node_gres *held, const char *profile)
{
    VEC_EACH (&held->slices, one)
        if (text_equal(one->profile, profile))
            return one->count;
    return 0;
}

static void add_tres(struct buf *out, const char *name, int64_t count)
{
    if (count > 0)
        buf_printf(out, ",gres/%s=%" PRId64, name, count);
}

/* Texts of the node's list, of what is held of it, and of their sums. */
struct gres_texts {
    struct buf all;
    struct buf used;
    struct buf tres;
    struct buf tres_used;
    int64_t gpus; /* and slices */
    int64_t gpus_used;
};

static void show_gpus(struct gres_texts *t, const char *type, int64_t count, int64_t held)
{
    AUTO_FREE char *name = mem_format("gpu%s%s", *type ? ":" : "", type);

    add_gres(&t->all, "gpu", type, count);
    add_gres(&t->used, "gpu", type, held);
    if (*type) {
        add_tres(&t->tres, name, count);
        add_tres(&t->tres_used, name, held);
    }
    t->gpus += count;
    t->gpus_used += held;
}

static void show_shares(struct gres_texts *t, const char *name, int64_t count, int64_t held)
{
    if (count == 0)
        return;
    add_gres(&t->all, name, "", count);
    add_gres(&t->used, name, "", held);
    add_tres(&t->tres, name, count);
    add_tres(&t->tres_used, name, held);
}

static void show_slices(const struct slurm_jobs *s, const struct slurm_node *n,
                        const struct slurm_node_gres *held, struct gres_texts *t)
{
    const char *resource;
    json_t *value;

    json_object_foreach (json_at(n->object, "status", "capacity", NULL), resource, value) {
        char profile[MIG_NAME_SIZE];
        AUTO_FREE char *type = NULL;

        if (!text_starts_with(resource, GPU_SLICE_RESOURCE) ||
            !mig_name_read(resource + strlen("nvidia.com/"), profile))
            continue;
        type = shown_type(s, n, profile);
        show_gpus(t, type, slurm_capacity(n->object, resource), held_slices(held, profile));
    }
}

/* "cpu=4,mem=1G" and what is added, with the sum of the gpus before their types. */
static void put_tres_more(json_t *row, const char *key, const struct buf *more, int64_t gpus)
{
    const char *base = json_text(row, key);
    AUTO_FREE char *text = NULL;
    struct buf all = {.cap = 1 << 16};

    buf_add_text(&all, text_or_empty(base));
    add_tres(&all, "gpu", gpus);
    buf_add_text(&all, text_or_empty(more->at));
    text = buf_steal(&all);
    if (base)
        json_put_text(row, key, text);
}

void slurm_put_gres(const struct slurm_jobs *s, const struct slurm_node *n,
                    const struct slurm_node_gres *held, json_t *row)
{
    struct gres_texts t = {.all = {.cap = 1 << 16},
                           .used = {.cap = 1 << 16},
                           .tres = {.cap = 1 << 16},
                           .tres_used = {.cap = 1 << 16}};
    int64_t whole = slurm_capacity(n->object, GPU_RESOURCE);
    AUTO_FREE char *type = shown_type(s, n, NULL);

    if (whole > 0)
        show_gpus(&t, type, whole, held->gpus);
    show_slices(s, n, held, &t);
    show_shares(&t, "shard", slurm_capacity(n->object, GPU_SHARED_RESOURCE), held->shards);
    show_shares(&t, "mps", count_mps(s, n), held->mps);
    if (t.all.size > 0) {
        json_put_text(row, "gres", t.all.at);
        json_put_text(row, "gresUsed", t.used.at);
    }
    put_tres_more(row, "tres", &t.tres, t.gpus);
    put_tres_more(row, "tresAllocated", &t.tres_used, t.gpus_used);
    buf_done(&t.all);
    buf_done(&t.used);
    buf_done(&t.tres);
    buf_done(&t.tres_used);
}
