/* gpu_modes.c - how the gpus of this node are given */

#include "node/gpu_modes.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "kinds/pod/pod_state.h"

enum {
    MODES_GPUS_MAX = 64
};

struct gpu_modes {
    struct sharing_config own;
    struct sharing_config given; /* by the server */
    bool is_given;
    char *modes_text; /* of the annotations; NULL: absent */
    char *config_text;
    json_t *modes; /* NULL: none */
    json_t *node;
    char problem[200]; /* of the annotations; "": none */
    struct gpu gpus[MODES_GPUS_MAX];
    size_t n;
};

struct gpu_modes *gpu_modes_new(const struct sharing_config *own)
{
    struct gpu_modes *m = mem_alloc(sizeof(*m));

    if (own)
        m->own = *own;
    return m;
}

void gpu_modes_free(struct gpu_modes *m)
{
    if (!m)
        return;
    free(m->modes_text);
    free(m->config_text);
    json_decref(m->modes);
    json_decref(m->node);
    free(m);
}

/* Keeps a copy of `text`. True: it differs from `*kept`. */
static bool keep_text(char **kept, const char *text)
{
    if (text_equal(*kept, text))
        return false;
    free(*kept);
    *kept = text ? mem_strdup(text) : NULL;
    return true;
}

/* Notes a problem of an annotation; takes `e`. */
static void set_problem(struct gpu_modes *m, const char *key, struct err *e)
{
    if (!e)
        return;
    LOG(WARN, "annotation of this node cannot be used", S("annotation", key), E(e));
    (void)snprintf(m->problem, sizeof(m->problem), "%s: %.160s", key, err_message(e));
    err_free(e);
}

static void read_modes(struct gpu_modes *m)
{
    struct err *e = NULL;

    json_decref(m->modes);
    m->modes = NULL;
    if (m->modes_text)
        e = json_parse(str_of(m->modes_text), &m->modes);
    if (!e && m->modes && !json_is_object(m->modes))
        e = err_new(ERR_INVALID, "want an object: {\"GPU-...\": \"replicas=4\"}");
    set_problem(m, NODE_GPU_MODES, e);
}

static void read_config(struct gpu_modes *m)
{
    AUTO(json_freep) json_t *config = NULL;
    const json_t *plugin = NULL;
    struct err *e = NULL;

    m->is_given = false;
    if (m->config_text)
        e = json_parse(str_of(m->config_text), &config);
    plugin = json_object_get(config, "plugin");
    if (!e && plugin)
        e = sharing_config_parse(plugin, NULL, &m->given);
    m->is_given = !e && plugin;
    if (!e && json_text(config, "problem"))
        e = err_new(ERR_INVALID, "%s", json_text(config, "problem"));
    set_problem(m, NODE_GPU_CONFIG, e);
}

bool gpu_modes_set_node(struct gpu_modes *m, const json_t *node)
{
    const json_t *annotations = json_at(node, "metadata", "annotations", NULL);
    bool has_modes = keep_text(&m->modes_text, json_text(annotations, NODE_GPU_MODES));
    bool has_config = keep_text(&m->config_text, json_text(annotations, NODE_GPU_CONFIG));

    json_decref(m->node);
    m->node = node ? json_incref((json_t *)(uintptr_t)node) : NULL;
    if (!has_modes && !has_config)
        return false;
    m->problem[0] = '\0';
    read_modes(m);
    read_config(m);
    return true;
}

static const struct sharing_config *modes_config(const struct gpu_modes *m)
{
    return m->is_given ? &m->given : &m->own;
}

static bool is_same_mode(const struct gpu *a, const struct gpu *b)
{
    return text_equal(a->uuid, b->uuid) && a->mode == b->mode && a->replicas == b->replicas &&
           a->is_renamed == b->is_renamed && a->is_single == b->is_single &&
           a->is_flexible == b->is_flexible && a->n_slices == b->n_slices &&
           text_equal(a->mode_problem, b->mode_problem);
}

static void modes_apply(struct gpu_modes *m, const struct gpu_holding *holdings, size_t n_holdings,
                        struct gpu *g)
{
    struct gpu_wish w = {0};
    AUTO(err_freep) struct err *e = gpu_wish_of(g, m->modes, modes_config(m), &w);

    gpu_wish_apply(&w, holdings, n_holdings, g);
    if (e)
        (void)snprintf(g->mode_problem, sizeof(g->mode_problem), "%s: %.160s", NODE_GPU_MODES,
                       err_message(e));
    else if (m->problem[0] && !g->mode_problem[0])
        (void)snprintf(g->mode_problem, sizeof(g->mode_problem), "%s", m->problem);
}

bool gpu_modes_update(struct gpu_modes *m, const struct gpu *read, size_t n,
                      const struct gpu_holding *holdings, size_t n_holdings)
{
    bool has_changed = n != m->n;

    for (size_t i = 0; i < n && i < MODES_GPUS_MAX; i++) {
        struct gpu g = read[i];

        modes_apply(m, holdings, n_holdings, &g);
        has_changed = has_changed || i >= m->n || !is_same_mode(&m->gpus[i], &g);
        m->gpus[i] = g;
    }
    m->n = n < MODES_GPUS_MAX ? n : MODES_GPUS_MAX;
    return has_changed;
}

const struct gpu *gpu_modes_list(const struct gpu_modes *m, size_t *ret_count)
{
    *ret_count = m->n;
    return m->gpus;
}

const char *gpu_modes_strategy(const struct gpu_modes *m)
{
    return mig_strategy_text(modes_config(m)->strategy);
}

const json_t *gpu_modes_node(const struct gpu_modes *m)
{
    return m->node;
}
