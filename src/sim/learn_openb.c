/* learn_openb.c - the nodes and pods of an openb trace as input for learning */

#include "sim/learn_openb.h"

#include <stdlib.h>

#include "base/mem.h"

struct input {
    struct learn_node *nodes;
    struct learn_kind *kinds;
    const char *models[LEARN_MODELS_MAX];
    struct learn_input in;
};

static void input_done(struct input *p)
{
    free(p->nodes);
    free(p->kinds);
}

/* The number of a model; with `adds`, a new model is added. LEARN_MODELS_MAX: not found, or too
 * many. */
static uint32_t model_of(struct input *p, const char *model, bool adds)
{
    for (size_t i = 0; i < p->in.n_models; i++)
        if (text_equal(p->models[i], model))
            return (uint32_t)i;
    if (!adds || p->in.n_models == LEARN_MODELS_MAX)
        return LEARN_MODELS_MAX;
    p->models[p->in.n_models] = model;
    return (uint32_t)p->in.n_models++;
}

static struct err *learn_openb_add_nodes(struct input *p, const struct openb *o)
{
    p->in.n_nodes = openb_node_count(o);
    p->nodes = mem_alloc((p->in.n_nodes + 1) * sizeof(*p->nodes));
    for (size_t i = 0; i < p->in.n_nodes; i++) {
        const struct openb_node *n = &openb_nodes(o)[i];
        const uint32_t model = model_of(p, n->model, true);

        if (model == LEARN_MODELS_MAX)
            return err_new(ERR_INVALID, "over %d models of gpus to learn from", LEARN_MODELS_MAX);
        p->nodes[i] = (struct learn_node){.cpu_milli = n->cpu_milli,
                                          .memory_mib = n->memory_mib,
                                          .gpus = n->gpus,
                                          .model = model};
    }
    return NULL;
}

static bool is_same(const struct learn_kind *a, const struct learn_kind *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory_mib == b->memory_mib && a->gpus == b->gpus &&
           a->gpu_milli == b->gpu_milli && a->models == b->models;
}

/* The kind of the pod. False: the pod can run on no model, so there is nothing to learn from it. */
static bool kind_of(struct input *p, const struct openb_pod *pod, struct learn_kind *ret)
{
    *ret = (struct learn_kind){.cpu_milli = pod->cpu_milli,
                               .memory_mib = pod->memory_mib,
                               .gpus = pod->gpus,
                               .gpu_milli = pod->gpu_milli,
                               .weight = 1};
    for (size_t i = 0; i < pod->n_models && pod->gpus > 0; i++) {
        uint32_t model = model_of(p, pod->models[i], false);

        if (model < LEARN_MODELS_MAX)
            ret->models |= UINT64_C(1) << model;
    }
    return pod->gpus == 0 || pod->n_models == 0 || ret->models != 0;
}

/* Adds the kinds of all pods. Past the limit, pods of further kinds are left out: these kinds are
 * rare, because the pods are in no order. */
static void add_kinds(struct input *p, const struct openb *o)
{
    p->kinds = mem_alloc(LEARN_KINDS_MAX * sizeof(*p->kinds));
    for (size_t i = 0; i < openb_pod_count(o); i++) {
        struct learn_kind kind;
        size_t at = 0;

        if (!kind_of(p, &openb_pods(o)[i], &kind))
            continue;
        while (at < p->in.n_kinds && !is_same(&p->kinds[at], &kind))
            at++;
        if (at < p->in.n_kinds)
            p->kinds[at].weight++;
        else if (at < LEARN_KINDS_MAX)
            p->kinds[p->in.n_kinds++] = kind;
    }
}

static struct err *fill_input(struct input *p, const struct openb *o, uint64_t seed)
{
    TRY(learn_openb_add_nodes(p, o));
    add_kinds(p, o);
    p->in.nodes = p->nodes;
    p->in.kinds = p->kinds;
    p->in.models = p->models;
    p->in.seed = seed;
    return NULL;
}

struct err *learn_openb(const struct openb *o, uint64_t seed, struct value_table **ret)
{
    struct input p = {0};
    struct err *e = fill_input(&p, o, seed);

    if (!e)
        e = learn_values(&p.in, ret);
    input_done(&p);
    return e;
}
