/* gpu_modes.c - how the gpus of this node are given */

#include "node/gpu_modes.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "gpu/mig_config.h"
#include "kinds/pod/pod_state.h"
#include "node/gpu_offer.h"

enum {
    MODES_GPUS_MAX = 64
};

static const int64_t wait_max_ns = 600 * NS_PER_SEC;

struct gpu_modes {
    struct gpu_partitions *partitions; /* NULL: MIG instances stay as they are */
    json_t *parted;                    /* the node's mig-parted file; NULL: none */
    struct mig_config mig;             /* that the label names */
    bool has_mig_label;
    struct err *mig_error; /* why `mig` cannot be used; NULL: it can */
    enum gpu_partition_state mig_state;
    struct sharing_config own;
    struct sharing_config given; /* by the server */
    bool is_given;
    char *modes_text; /* of the annotations; NULL: absent */
    char *config_text;
    json_t *modes; /* NULL: none */
    json_t *node;
    char problem[200]; /* of the annotations; "": none */
    enum mig_strategy strategy;
    struct gpu gpus[MODES_GPUS_MAX];
    int64_t
        blocked_ns[MODES_GPUS_MAX]; /* since when pods keep each gpu from its mode; 0: none do */
    size_t n;
    struct loop *loop;        /* NULL: gpus wait without a limit */
    struct loop_timer *timer; /* for the gpu that has waited longest; NULL: as above */
};

struct gpu_modes *gpu_modes_new(const struct gpu_modes_options *o)
{
    struct gpu_modes *m = mem_alloc(sizeof(*m));

    if (o->sharing)
        m->own = *o->sharing;
    m->parted = o->parted ? json_incref((json_t *)(uintptr_t)o->parted) : NULL;
    m->partitions = o->partitions;
    m->loop = o->loop;
    m->timer = o->loop ? loop_timer_new(o->loop, o->waited, o->arg) : NULL;
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
    json_decref(m->parted);
    err_free(m->mig_error);
    if (m->timer)
        loop_timer_free(m->timer);
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

/* Reads the mig-config of the annotation, which names it and may contain it. */
static void read_mig(struct gpu_modes *m, const json_t *config)
{
    const char *name = json_text_at(config, "mig", "name", NULL);
    const json_t *document = json_at(config, "mig", "document", NULL);

    err_free(m->mig_error);
    m->mig_error = NULL;
    m->mig = (struct mig_config){0};
    m->has_mig_label = name != NULL;
    if (!name)
        return;
    if (!document)
        document = m->parted;
    m->mig_error =
        document ? mig_config_parse(document, name, &m->mig) : mig_config_usual(name, &m->mig);
    if (m->mig_error)
        LOG(WARN, "mig-config cannot be used", S("config", name), E(m->mig_error));
}

static void read_config(struct gpu_modes *m)
{
    AUTO(json_freep) json_t *config = NULL;
    const json_t *plugin = NULL;
    struct err *e = NULL;

    m->is_given = false;
    if (m->config_text)
        e = json_parse(str_of(m->config_text), &config);
    read_mig(m, config);
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

static bool is_same_slices(const struct gpu *a, const struct gpu *b)
{
    for (size_t i = 0; i < a->n_slices && i < b->n_slices; i++)
        if (a->slices[i].health != b->slices[i].health)
            return false;
    return a->n_slices == b->n_slices;
}

static bool is_same_mode(const struct gpu *a, const struct gpu *b)
{
    return text_equal(a->uuid, b->uuid) && a->mode == b->mode && a->replicas == b->replicas &&
           a->is_renamed == b->is_renamed && a->is_single == b->is_single &&
           a->is_mps == b->is_mps && a->is_flexible == b->is_flexible && is_same_slices(a, b) &&
           a->health == b->health && text_equal(a->mode_problem, b->mode_problem);
}

/* Notes the state of a gpu that the mig-config is about. */
static void note_mig(struct gpu_modes *m, enum gpu_partition_state state)
{
    if (state > m->mig_state)
        m->mig_state = state;
}

/* The mig-config counts after mete.dev/gpu-modes. True: it is about the gpu. */
static bool wish_by_mig(const struct gpu_modes *m, const struct gpu *g, struct gpu_wish *w)
{
    struct gpu_wish mig = {0};

    if (w->is_asked || m->mig_error || !mig_config_wish(&m->mig, g, &mig))
        return false;
    if (mig.kind == GPU_WISH_SLICES)
        *w = mig;
    w->is_asked = true;
    return true;
}

/* Sets the mode. False: pods keep the gpu from the wish. */
static bool modes_apply(struct gpu_modes *m, const struct gpu_holding *holdings, size_t n_holdings,
                        struct gpu *g, struct gpu_wish *ret)
{
    struct gpu_wish w = {0};
    enum gpu_partition_state state = GPU_PARTITION_DONE;
    bool is_by_mig = false;
    bool is_free = false;
    AUTO(err_freep) struct err *e = gpu_wish_of(g, m->modes, modes_config(m), &w);

    is_by_mig = wish_by_mig(m, g, &w);
    is_free = gpu_wish_apply(&w, holdings, n_holdings, g);
    if (m->partitions)
        state = gpu_partitions_apply(m->partitions, &w, holdings, n_holdings, g);
    if (is_by_mig)
        note_mig(m, state);
    if (e)
        (void)snprintf(g->mode_problem, sizeof(g->mode_problem), "%s: %.160s", NODE_GPU_MODES,
                       err_message(e));
    else if (m->problem[0] && !g->mode_problem[0])
        (void)snprintf(g->mode_problem, sizeof(g->mode_problem), "%s", m->problem);
    *ret = w;
    return is_free && state != GPU_PARTITION_BLOCKED;
}

/* Closes the gpu `i` to new pods when pods have kept it from its mode for too long. Returns the
 * time left; INT64_MAX: nothing is to be waited for. */
static int64_t modes_limit_wait(struct gpu_modes *m, size_t i, bool is_free,
                                const struct gpu_wish *w, struct gpu *g)
{
    int64_t now_ns = m->loop ? loop_now_ns(m->loop) : 0;
    char text[GPU_WISH_TEXT_SIZE];

    if (is_free || !m->loop) {
        m->blocked_ns[i] = 0;
        return INT64_MAX;
    }
    if (m->blocked_ns[i] == 0)
        m->blocked_ns[i] = now_ns;
    if (now_ns - m->blocked_ns[i] < wait_max_ns)
        return m->blocked_ns[i] + wait_max_ns - now_ns;
    if (g->health != GPU_HEALTHY)
        return INT64_MAX;
    gpu_wish_format(w, text);
    g->health = GPU_UNHEALTHY;
    (void)snprintf(g->health_reason, sizeof(g->health_reason),
                   "takes no new pods until it is %.80s", text);
    return INT64_MAX;
}

/* A slice is held as a gpu of its own (`single`) or by its profile, never both: the ledger knows
 * the two under different names. */
static enum mig_strategy strategy_of(const struct gpu_modes *m, const struct gpu_holding *holdings,
                                     size_t n)
{
    enum mig_strategy wanted = modes_config(m)->strategy;

    if (wanted == MIG_STRATEGY_UNSET)
        wanted = MIG_STRATEGY_MIXED;
    for (size_t i = 0; i < n && wanted != MIG_STRATEGY_NONE; i++) {
        if (gpu_offer_is_slice(holdings[i].device.gpu))
            return MIG_STRATEGY_SINGLE;
        if (holdings[i].device.kind == DEVICE_SLICE)
            return MIG_STRATEGY_MIXED;
    }
    return wanted;
}

bool gpu_modes_update(struct gpu_modes *m, const struct gpu *read, size_t n,
                      const struct gpu_holding *holdings, size_t n_holdings)
{
    enum gpu_partition_state before = m->mig_state;
    enum mig_strategy strategy = strategy_of(m, holdings, n_holdings);
    bool has_changed = n != m->n || strategy != m->strategy;
    int64_t next_ns = INT64_MAX;

    m->strategy = strategy;
    m->mig_state = m->mig_error ? GPU_PARTITION_FAILED : GPU_PARTITION_DONE;

    for (size_t i = 0; i < n && i < MODES_GPUS_MAX; i++) {
        struct gpu g = read[i];
        bool is_known = i < m->n && text_equal(m->gpus[i].uuid, g.uuid);
        struct gpu_wish w = {0};
        int64_t left_ns;

        g.is_mps = is_known && m->gpus[i].is_mps;
        if (!is_known)
            m->blocked_ns[i] = 0;
        left_ns = modes_limit_wait(m, i, modes_apply(m, holdings, n_holdings, &g, &w), &w, &g);
        next_ns = left_ns < next_ns ? left_ns : next_ns;
        has_changed = has_changed || i >= m->n || !is_same_mode(&m->gpus[i], &g);
        m->gpus[i] = g;
    }
    m->n = n < MODES_GPUS_MAX ? n : MODES_GPUS_MAX;
    if (m->timer && next_ns < INT64_MAX)
        loop_timer_set(m->timer, next_ns);
    return has_changed || before != m->mig_state;
}

const char *gpu_modes_mig_state(const struct gpu_modes *m)
{
    static const char *const texts[] = {"success", "pending", "pending", "failed"};

    return m->has_mig_label ? texts[m->mig_state] : NULL;
}

const struct gpu *gpu_modes_list(const struct gpu_modes *m, size_t *ret_count)
{
    *ret_count = m->n;
    return m->gpus;
}

enum mig_strategy gpu_modes_strategy(const struct gpu_modes *m)
{
    return m->strategy;
}

const json_t *gpu_modes_node(const struct gpu_modes *m)
{
    return m->node;
}
