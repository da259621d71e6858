/* reservation_view.c - a reservation as the caller sees it */

#include "engine/place/fit.h"
#include "engine/plan/reservation.h"

static const char *const *list_texts(struct mete_engine *e, const uint32_t *ids, size_t n)
{
    const char **texts = arena_alloc(e->answers, (n + 1) * sizeof(*texts));

    for (size_t i = 0; i < n; i++)
        texts[i] = arena_strdup(e->answers, intern_text(e->texts, ids[i]));
    return texts;
}

static bool has_node(const char *const *nodes, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(nodes[i], name) == 0)
            return true;
    return false;
}

/* Lists the named nodes, or the nodes of the picked gpus. */
static void view_list_nodes(struct mete_engine *e, const struct reservation *b,
                            struct mete_reservation_view *ret)
{
    const char **nodes;
    size_t n = 0;

    if (b->n_nodes > 0) {
        ret->nodes = list_texts(e, b->nodes, b->n_nodes);
        ret->n_nodes = b->n_nodes;
        return;
    }
    nodes = arena_alloc(e->answers, (b->picks.n + 1) * sizeof(*nodes));
    for (size_t i = 0; i < b->picks.n; i++) {
        const struct gpu *g = engine_gpu(e, intern_text(e->texts, b->picks.at[i]));

        if (g && g->node && !has_node(nodes, n, g->node->name))
            nodes[n++] = arena_strdup(e->answers, g->node->name);
    }
    ret->nodes = nodes;
    ret->n_nodes = n;
}

static void view_count_gpus(struct mete_engine *e, const struct reservation *b,
                            struct mete_reservation_view *ret)
{
    VEC_EACH (&e->reserved, here) {
        if (here->reservation != b)
            continue;
        ret->gpus_kept += bits(here->gpus & here->node->healthy);
        ret->gpus_late +=
            bits(here->gpus & here->node->healthy & reservation_late(e, b, here->node));
    }
}

enum mete_result mete_reservation_view(struct mete_engine *e, size_t i,
                                       struct mete_reservation_view *ret)
{
    const struct reservation *b;

    if (i >= e->reservations.n)
        return engine_refuse(e, METE_NOT_FOUND, "there are %zu reservations", e->reservations.n);
    reservations_ready(e);
    arena_reset(e->answers);
    b = e->reservations.at[i];
    *ret = (struct mete_reservation_view){
        .name = b->name,
        .start_ns = b->start_ns,
        .end_ns = b->end_ns,
        .is_maintenance = b->is_maintenance,
        .has_begun = b->has_begun,
        .gpus = b->gpus,
        .gpu_uuids = list_texts(e, b->picks.at, b->picks.n),
        .n_gpu_uuids = b->picks.n,
        .queues = list_texts(e, b->queues, b->n_queues),
        .n_queues = b->n_queues,
        .users = list_texts(e, b->users, b->n_users),
        .n_users = b->n_users,
    };
    view_list_nodes(e, b, ret);
    view_count_gpus(e, b, ret);
    return METE_OK;
}
