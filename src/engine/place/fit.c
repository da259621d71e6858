/* fit.c - the conditions of fit.h, and the choice of gpus within a node */

#include "engine/place/fit.h"

#include <limits.h>

#include "engine/affinity/node_rules.h"
#include "engine/device/device_pick.h"

bool fit_labels(const struct node *n, const struct shape *s)
{
    size_t at = 0;

    for (size_t i = 0; i < s->n_selector; i++) {
        while (at < n->n_labels && n->labels[at].key < s->selector[i].key)
            at++;
        if (at == n->n_labels || n->labels[at].key != s->selector[i].key ||
            n->labels[at].value != s->selector[i].value)
            return false;
    }
    return true;
}

bool fit_wanted(const struct node *n, const struct shape *s)
{
    return fit_labels(n, s) && (!s->nodes || node_rules_hold(s->nodes, n));
}

static bool tolerates(const struct toleration *t, const struct taint *taint)
{
    if (t->effect != EFFECT_ANY && t->effect != (uint32_t)taint->effect)
        return false;
    if (t->key == 0)
        return t->is_exists;
    return t->key == taint->key && (t->is_exists || t->value == taint->value);
}

static bool is_tolerated(const struct taint *taint, const struct shape *s)
{
    for (size_t i = 0; i < s->n_tolerations; i++)
        if (tolerates(&s->tolerations[i], taint))
            return true;
    return false;
}

const struct taint *fit_taint(const struct node *n, const struct shape *s)
{
    for (size_t i = 0; i < n->n_taints; i++)
        if (n->taints[i].effect != METE_PREFER_NO_SCHEDULE && !is_tolerated(&n->taints[i], s))
            return &n->taints[i];
    return NULL;
}

unsigned fit_disliked(const struct node *n, const struct shape *s)
{
    unsigned count = 0;

    for (size_t i = 0; i < n->n_taints; i++)
        if (n->taints[i].effect == METE_PREFER_NO_SCHEDULE && !is_tolerated(&n->taints[i], s))
            count++;
    return count;
}

bool fit_kind(const struct node *n, const struct shape *s)
{
    if (s->node != 0 && s->node != n->name_id)
        return false;
    return fit_wanted(n, s) && !fit_taint(n, s);
}

bool fit_rooms(const struct node *n, const struct shape *s, bool is_empty)
{
    size_t at = 0;

    for (size_t i = 0; i < s->n_requests; i++) {
        const struct request *r = &s->requests[i];

        while (at < n->n_rooms && n->rooms[at].resource < r->resource)
            at++;
        if (at == n->n_rooms || n->rooms[at].resource != r->resource)
            return false;
        if (r->amount > n->rooms[at].capacity - (is_empty ? 0 : n->rooms[at].used))
            return false;
    }
    return true;
}

bool fit_gpus_now(const struct node *n, const struct shape *s)
{
    struct choice c;

    if (s->n_asks > 0)
        return device_pick(n, s, DEVICE_PICK_PACKED, &c);
    return s->gpus == 0 || bits(fit_gpus(n, s)) >= s->gpus;
}

bool fit_now(const struct node *n, const struct shape *s)
{
    return node_takes_pods(n) && !n->is_barred && fit_gpus_now(n, s) && fit_rooms(n, s, false) &&
           fit_kind(n, s);
}

bool fit_share_memory(const struct gpu *g, const struct shape *s)
{
    uint32_t memory_milli = g->memory_milli_used + (s->gpu_bytes > 0 ? 0 : s->milli);
    int64_t by_part = 0;
    int64_t bytes = 0;

    if (s->gpu_bytes == 0 && g->bytes_used == 0)
        return true; /* all shares have memory in proportion to compute */
    if (__builtin_mul_overflow(g->memory_bytes, (int64_t)memory_milli, &by_part) ||
        __builtin_add_overflow(g->bytes_used, s->gpu_bytes, &bytes) ||
        __builtin_add_overflow(bytes, (by_part + MILLI - 1) / MILLI, &bytes))
        return false;
    return bytes <= g->memory_bytes;
}

uint64_t fit_shares(const struct node *n, const struct shape *s, uint64_t gpus)
{
    uint64_t unsized =
        s->gpu_bytes == 0 ? ~n->sized : 0; /* gpus whose shares have memory in proportion */
    uint64_t ret = 0;

    for (uint64_t left = gpus; left; left &= left - 1) {
        int bit = __builtin_ctzll(left);

        if (n->free_milli[bit] >= s->milli && !gpu_keeps_out(n->gpus[bit], s) &&
            ((unsized >> bit & 1) || fit_share_memory(n->gpus[bit], s)))
            ret |= left & -left;
    }
    return ret;
}

unsigned fit_together(const struct node *n, const struct shape *s, uint64_t gpus)
{
    unsigned most = 0;

    if (!s->is_linked)
        return bits(gpus);
    for (size_t i = 0; i < n->n_links; i++)
        if (bits(n->links[i].gpus & gpus) > most)
            most = bits(n->links[i].gpus & gpus);
    return most;
}

/* The number of such pods that the gpus of an empty node hold. */
static uint64_t fit_empty_gpus(const struct node *n, const struct shape *s)
{
    uint64_t gpus = node_gpus_of(n, s);
    uint64_t slots = 0;

    if (s->n_asks > 0)
        return device_pick_empty(n, s);
    for (size_t i = 0; s->is_linked && i < n->n_links; i++)
        slots += bits(n->links[i].gpus & gpus) / s->gpus;
    if (s->is_linked)
        return slots;
    if (!shape_is_share(s))
        return bits(gpus) / s->gpus;
    for (uint64_t left = gpus; left; left &= left - 1) {
        int64_t memory = n->gpus[__builtin_ctzll(left)]->memory_bytes;
        uint64_t here = MILLI / s->milli;

        if (s->gpu_bytes > 0 && (uint64_t)(memory / s->gpu_bytes) < here)
            here = (uint64_t)(memory / s->gpu_bytes);
        slots += here;
        gpus &= here > 0 ? UINT64_MAX : ~(left & -left);
    }
    /* the shares of one pod are of different gpus */
    return bits(gpus) >= s->gpus ? slots / s->gpus : 0;
}

uint64_t fit_empty(const struct node *n, const struct shape *s)
{
    uint64_t count = UINT32_MAX;

    if (!n->is_present || !fit_rooms(n, s, true) || !fit_kind(n, s))
        return 0;
    if (s->gpus > 0)
        count = fit_empty_gpus(n, s);
    for (size_t i = 0; i < s->n_requests; i++) {
        int64_t capacity = node_room(n, s->requests[i].resource)->capacity;
        uint64_t times = (uint64_t)(capacity / s->requests[i].amount);

        count = times < count ? times : count;
    }
    return count;
}

/* The gpus of `free` in the group that has the fewest of these, but at least `count`; 0: none. */
static uint64_t group_tightest(const struct gpu_group *groups, size_t n, uint64_t free,
                               unsigned count)
{
    unsigned fewest = UINT_MAX;
    uint64_t best = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t here = groups[i].gpus & free;
        unsigned n_here = bits(here);

        if (n_here < count || n_here >= fewest)
            continue;
        fewest = n_here;
        best = here;
    }
    return best;
}

uint64_t fit_linked(const struct node *n, uint64_t gpus, unsigned count)
{
    return group_tightest(n->links, n->n_links, gpus, count);
}

static uint64_t lowest(uint64_t set, unsigned count)
{
    uint64_t ret = 0;

    for (unsigned i = 0; i < count; i++) {
        ret |= set & -set;
        set &= set - 1;
    }
    return ret;
}

/* Gathers gpus from several groups: whole groups, the largest first, then the tightest for the
 * rest. */
static uint64_t devices_gather(const struct node *n, uint64_t free, unsigned count)
{
    uint64_t ret = 0;

    while (bits(ret) < count) {
        unsigned rest = count - bits(ret);
        uint64_t from = group_tightest(n->links, n->n_links, free & ~ret, rest);

        for (size_t i = 0; !(bits(from) >= rest) && i < n->n_links; i++) {
            uint64_t here = n->links[i].gpus & free & ~ret;

            if (bits(here) > bits(from))
                from = here;
        }
        if (from == 0)
            from = free & ~ret;
        ret |= lowest(from, bits(from) < rest ? bits(from) : rest);
    }
    return ret;
}

uint64_t devices_choose(const struct node *n, uint64_t free, unsigned count)
{
    uint64_t narrower;

    if (count == 0)
        return 0;
    narrower = n->n_models > 1 ? group_tightest(n->models, n->n_models, free, count) : 0;
    if (narrower)
        free = narrower;
    if (count == 1 && (free & ~n->linked))
        free &= ~n->linked;
    narrower = group_tightest(n->links, n->n_links, free, count);
    if (narrower)
        free = narrower;
    narrower = group_tightest(n->numas, n->n_numas, free, count);
    if (narrower)
        free = narrower;
    else if (!group_tightest(n->links, n->n_links, free, count))
        return devices_gather(n, free, count);
    return lowest(free, count);
}

uint64_t devices_uncut(const struct node *n, uint64_t free, unsigned count)
{
    uint64_t uncut = free;

    for (uint64_t left = free & n->parted; left; left &= left - 1)
        if (n->gpus[__builtin_ctzll(left)]->parts->is_sliced)
            uncut &= ~(left & -left);
    return bits(uncut) >= count ? uncut : free;
}

uint64_t devices_best_fit(const struct node *n, const struct shape *s, uint64_t free)
{
    uint64_t ret = 0;

    for (uint32_t i = 0; i < s->gpus; i++) {
        uint64_t left = free & ~ret;
        int best = __builtin_ctzll(left);

        for (left &= left - 1; left; left &= left - 1) {
            int bit = __builtin_ctzll(left);

            if (n->free_milli[bit] < n->free_milli[best])
                best = bit;
        }
        ret |= UINT64_C(1) << best;
    }
    return ret;
}

unsigned devices_quality(const struct node *n, uint64_t free, unsigned count)
{
    if (count <= 1 || group_tightest(n->links, n->n_links, free, count))
        return 2;
    return group_tightest(n->numas, n->n_numas, free, count) ? 1 : 0;
}
