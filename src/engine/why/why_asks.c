/* why_asks.c - pods with asks: their devices, fragmented gpus, and changes that would help */

#include <ctype.h>
#include <inttypes.h>

#include "engine/device/device_pick.h"
#include "engine/place/fit.h"
#include "engine/why/why.h"
#include "model/resource.h"

/* " on H100", " on A100 or H100" */
static const char *on_models(struct mete_engine *e, const struct ask *a, const char *word)
{
    const char *text = "";

    for (size_t i = 0; i < a->n_models; i++) {
        char *model = arena_strdup(e->answers, intern_text(e->texts, a->models[i]));

        for (char *c = model; *c; c++)
            *c = (char)toupper((unsigned char)*c);
        text = arena_format(e->answers, "%s%s%s", text, i == 0 ? word : " or ", model);
    }
    return text;
}

/* "2 H100", "1 gpu", "0.5 of a gpu", "2 x mig 1g.10gb", "1 replica" */
static const char *ask_text(struct mete_engine *e, const struct ask *a)
{
    const char *on = on_models(e, a, " on ");
    const char *profile = intern_text(e->texts, a->profile);

    switch (a->kind) {
    case ASK_WHOLE:
        if (a->n_models > 0)
            return arena_format(e->answers, "%u%s", a->count, on_models(e, a, " "));
        return arena_format(e->answers, "%u %s", a->count, a->count == 1 ? "gpu" : "gpus");
    case ASK_SHARE:
        if (a->is_by_memory)
            return arena_format(e->answers, "%u x %" PRId64 " MiB of a gpu%s", a->count,
                                a->bytes >> 20, on);
        return arena_format(e->answers, "%s of a gpu%s", why_part(e, a->count, a->milli), on);
    case ASK_SLICE:
        if (a->count == 1)
            return arena_format(e->answers, "mig %s%s", profile, on);
        return arena_format(e->answers, "%u x mig %s%s", a->count, profile, on);
    case ASK_REPLICA:
        return arena_format(e->answers, "%u %s%s", a->count, a->count == 1 ? "replica" : "replicas",
                            on);
    }
    return "";
}

/* " out of 2 chosen gpus" */
static const char *chosen_text(struct mete_engine *e, const struct ask *a)
{
    if (a->n_uuids == 0)
        return "";
    if (a->kind == ASK_SLICE && a->starts != UINT16_MAX)
        return arena_format(e->answers, " out of chosen slices of %zu %s", a->n_uuids,
                            a->n_uuids == 1 ? "gpu" : "gpus");
    return arena_format(e->answers, " out of %zu chosen %s", a->n_uuids,
                        a->n_uuids == 1 ? "gpu" : "gpus");
}

const char *why_asks(struct mete_engine *e, const struct shape *s)
{
    const char *text = "";
    size_t n = asks_named(s);

    for (size_t i = 0; i < n; i++)
        text = arena_format(e->answers, "%s%s%s%s", text,
                            i == 0      ? ""
                            : i + 1 < n ? ", "
                                        : " and ",
                            ask_text(e, &s->asks[i]), chosen_text(e, &s->asks[i]));
    return text;
}

const char *why_asks_resource(struct mete_engine *e, const struct shape *s)
{
    if (s->n_asks != 1 || s->asks[0].kind != ASK_SLICE)
        return GPU_RESOURCE;
    return arena_format(e->answers, "nvidia.com/mig-%s", intern_text(e->texts, s->asks[0].profile));
}

const char *why_fenced(struct mete_engine *e, const struct shape *s)
{
    struct shape *other = shape_scratch(e, s);

    for (size_t i = 0; i < e->order.n; i++) {
        const struct node *n = e->order.at[i];

        for (uint64_t left = n->fenced | n->parted; left; left &= left - 1) {
            const struct gpu *g = n->gpus[__builtin_ctzll(left)];

            if (!gpu_keeps_out(g, s) || !node_takes_pods(n))
                continue;
            other->ns = g->fence;
            if (fit_gpus_now(n, other))
                return "; free ones are for pods of another namespace only";
        }
    }
    return "";
}

const char *why_asks_place_text(struct mete_engine *e, const struct shape *s,
                                const struct answer *best)
{
    const char *asked = why_asks(e, s);

    if (best->free == 0)
        return arena_format(e->answers, "needs %s; no such device is free%s", asked,
                            why_fenced(e, s));
    if (asks_named(s) == 1)
        return arena_format(e->answers, "needs %s on one node; most free is %" PRId64 " (%s)",
                            asked, best->free, best->node->name);
    return arena_format(e->answers,
                        "needs %s on one node; %s has %" PRId64 " of these %" PRId64 " devices",
                        asked, best->node->name, best->free, best->asked);
}

const char *why_asks_never_text(struct mete_engine *e, const struct shape *s)
{
    return arena_format(e->answers,
                        "needs %s on one node; no node that matches has that, even empty",
                        why_asks(e, s));
}

/* The gpu with the most free units that the slice cannot use. */
static const struct gpu *most_fragmented(struct mete_engine *e, const struct shape *s,
                                         struct room_for_slice *ret)
{
    const struct gpu *best = NULL;

    for (size_t i = 0; i < e->order.n && s->n_asks > 0; i++) {
        const struct node *n = e->order.at[i];
        struct room_for_slice here = {0};
        unsigned bit = 0;

        if (!node_takes_pods(n) || !fit_rooms(n, s, false) || !fit_kind(n, s) ||
            !device_pick_fragments(e->answers, n, s, &bit, &here) ||
            (best && here.free <= ret->free))
            continue;
        best = n->gpus[bit];
        *ret = here;
    }
    return best;
}

bool why_is_fragmented(struct mete_engine *e, const struct shape *s)
{
    struct room_for_slice room = {0};

    return most_fragmented(e, s, &room) != NULL;
}

const char *why_fragmented_text(struct mete_engine *e, const struct shape *s)
{
    struct room_for_slice room = {0};
    const struct gpu *g = most_fragmented(e, s, &room);

    if (!g)
        return "";
    return arena_format(e->answers,
                        "needs %s; no gpu has %u free memory %s at a start the driver allows: "
                        "%s/%u has %u free in pieces of %s",
                        why_asks(e, s), room.size, room.size == 1 ? "slice" : "slices",
                        g->node->name, g->bit, room.free, room.pieces);
}

/* Counts the shape's devices anew after the count of an ask changed. */
static void count_again(struct shape *s)
{
    s->gpus = 0;
    for (size_t i = 0; i < s->n_asks; i++) {
        s->asks[i].first = s->gpus;
        s->gpus += s->asks[i].count;
    }
}

/* Trials with other asks in place of the workload's own. */
struct tries {
    struct mete_engine *e;
    const struct attempt *a;
    const struct shape *own;
    struct why_lines *to;
};

static bool try_ask(const struct tries *t, struct shape *s, size_t i)
{
    const char *node = NULL;

    count_again(s);
    if (!why_try(t->e, t->a, s, &node))
        return false;
    why_line(t->to,
             arena_format(t->e->answers, "it asks for %s, not %s (on %s)",
                          ask_text(t->e, &s->asks[i]), ask_text(t->e, &t->own->asks[i]), node));
    return true;
}

static void if_fewer(const struct tries *t, size_t i)
{
    struct shape *s = shape_scratch(t->e, t->own);

    while (s->asks[i].count > 1) {
        s->asks[i].count--;
        if (try_ask(t, s, i))
            return;
    }
}

/* Tries the smaller profiles of the same gpus, the largest first. */
static void if_other_profile(const struct tries *t, size_t i)
{
    const struct ask *own = &t->own->asks[i];
    uint64_t tried = 0;

    VEC_EACH (&t->e->boards, b) {
        const struct mig_geometry *g = (*b)->geometry;
        int here = mig_profile_find(g, intern_text(t->e->texts, own->profile));

        for (size_t k = g->n_profiles; here >= 0 && k-- > 0;) {
            struct shape *s = shape_scratch(t->e, t->own);

            if (g->profiles[k].size >= g->profiles[here].size || tried++ >= MIG_PROFILES_MAX)
                continue;
            s->asks[i].profile = (*b)->names[k];
            s->asks[i].milli = mig_name_milli(g->profiles[k].name);
            if (try_ask(t, s, i))
                return;
        }
    }
}

static void if_whole(const struct tries *t, size_t i)
{
    struct shape *s = shape_scratch(t->e, t->own);

    s->asks[i].kind = ASK_WHOLE;
    s->asks[i].milli = MILLI;
    s->asks[i].bytes = 0;
    s->asks[i].profile = 0;
    (void)try_ask(t, s, i);
}

void why_if_asks(struct mete_engine *e, const struct attempt *a, const struct shape *own,
                 struct why_lines *to)
{
    const struct tries t = {.e = e, .a = a, .own = own, .to = to};

    for (size_t i = 0; i < own->n_asks; i++) {
        if_fewer(&t, i);
        if (own->asks[i].kind != ASK_SLICE)
            continue;
        if_other_profile(&t, i);
        if_whole(&t, i);
    }
}
