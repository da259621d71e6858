/* device_pick.c - the choice of devices: wholes, shares, slices and replicas */

#include "engine/device/device_pick.h"

#include "engine/place/fit.h"

enum {
    TRIES_MAX = 128,
    LOSS_MAX = 255,
};

/* The rest of one gpu while a pod's slices are chosen. */
struct left {
    struct mig_state state; /* of a flexible gpu */
    uint16_t free;          /* instances of the driver without a holder, by start */
};

struct device_pick {
    const struct node *n;
    const struct shape *s;
    enum device_pick_how how;
    uint64_t healthy;
    uint64_t taken;  /* gpus with a device of this pod other than a slice */
    uint64_t sliced; /* gpus with a slice of this pod */
    uint64_t known;  /* gpus whose `left` is filled */
    struct left left[NODE_GPUS_MAX];
    uint8_t items[ASK_DEVICES_MAX]; /* the ask of each slice, the largest first */
    size_t n_items;
    unsigned tries;
    const struct board *board; /* of the last profile_of: the board, */
    uint32_t name;             /* the name, and in `profile` the result */
    int profile;
    struct choice *ret;
};

/* As parts_profile: gpus of a node mostly have the same board. */
static int profile_of(struct device_pick *d, const struct parts *p, uint32_t name)
{
    if (p->board != d->board || name != d->name) {
        d->board = p->board;
        d->name = name;
        d->profile = parts_profile(p, name);
    }
    return d->profile;
}

/* Gives gpus to the devices from number `first` on, by the ask number `ask`. */
static void device_pick_give(struct device_pick *d, uint32_t first, size_t ask, uint64_t gpus)
{
    uint32_t device = first;

    for (uint64_t left = gpus; left; left &= left - 1) {
        d->ret->at[device].bit = (uint8_t)__builtin_ctzll(left);
        d->ret->at[device].ask = (uint8_t)ask;
        d->ret->at[device++].start = 0;
    }
    d->taken |= gpus;
    d->ret->gpus |= gpus;
}

/* The gpus of the ask's models that may be given whole and have no holder. */
static uint64_t wholes(const struct device_pick *d, const struct ask *a)
{
    const struct node *n = d->n;
    uint64_t held = d->how == DEVICE_PICK_EMPTY ? 0 : n->held;

    return n->wholes & d->healthy & ~held & ~d->taken & ask_gpus(n, a);
}

/* The gpu cannot be chosen. */
static const uint32_t NO_RANK = UINT32_MAX;

/* Devices to be chosen for an ask. */
struct wanted {
    size_t ask;
    uint32_t first;
    uint32_t count;
};

static struct wanted wanted_by(const struct device_pick *d, const struct ask *a)
{
    return (struct wanted){(size_t)(a - d->s->asks), a->first, a->count};
}

/* Gives the gpus of least rank among `gpus`; ranks[bit] is a gpu's rank. */
static bool device_pick_give_least(struct device_pick *d, const struct wanted *w, uint64_t gpus,
                                   const uint32_t *ranks)
{
    uint64_t chosen = 0;

    for (uint32_t i = 0; i < w->count; i++) {
        uint32_t least = NO_RANK;
        int best = -1;

        for (uint64_t left = gpus & ~chosen; left; left &= left - 1) {
            int bit = __builtin_ctzll(left);

            if (ranks[bit] < least) {
                least = ranks[bit];
                best = bit;
            }
        }
        if (best < 0)
            return false;
        chosen |= UINT64_C(1) << best;
    }
    device_pick_give(d, w->first, w->ask, chosen);
    return true;
}

/* Chooses the gpus with the least free compute that suffices; among equals those that cannot be
 * sliced. */
static bool device_pick_shares(struct device_pick *d, const struct ask *a)
{
    const struct shape one = {.milli = a->milli, .gpu_bytes = a->bytes, .gpus = 1, .ns = d->s->ns};
    const struct wanted w = wanted_by(d, a);
    const struct node *n = d->n;
    uint64_t gpus = wholes(d, a);
    uint32_t ranks[NODE_GPUS_MAX];

    if (d->how != DEVICE_PICK_EMPTY)
        gpus = fit_shares(n, &one,
                          gpus | (n->wholes & d->healthy & n->shared & ~d->taken & ask_gpus(n, a)));
    for (uint64_t left = gpus; left; left &= left - 1) {
        int bit = __builtin_ctzll(left);
        bool is_small = d->how == DEVICE_PICK_EMPTY
                            ? n->gpus[bit]->memory_bytes < a->bytes
                            : n->free_milli[bit] < ask_share_milli(a, n->gpus[bit]);

        ranks[bit] =
            is_small ? NO_RANK : (uint32_t)n->free_milli[bit] << 1 | (n->parted >> bit & 1);
    }
    return device_pick_give_least(d, &w, gpus, ranks);
}

/* Is a replica free for the shape's pods? Devices held from another mode have to be given back
 * first. */
static bool has_replica(const struct gpu *g, const struct shape *s)
{
    return g->parts->n_replicas < g->parts->replicas && g->parts->held == 0 && !g->holder &&
           g->n_shares == 0 && !gpu_keeps_out(g, s);
}

static bool device_pick_replicas(struct device_pick *d, const struct ask *a, const struct wanted *w)
{
    bool is_for_whole = a->kind == ASK_WHOLE;
    const struct node *n = d->n;
    uint64_t gpus = n->parted & d->healthy & ~d->taken & ~d->sliced & ask_gpus(n, a);
    uint32_t ranks[NODE_GPUS_MAX];

    for (uint64_t left = gpus; left; left &= left - 1) {
        int bit = __builtin_ctzll(left);
        const struct gpu *g = n->gpus[bit];
        const struct parts *p = g->parts;
        uint32_t free = p->replicas - (d->how == DEVICE_PICK_EMPTY ? 0 : p->n_replicas);

        if (p->replicas == 0 || (is_for_whole && p->is_renamed) ||
            (a->is_several && p->is_single) ||
            (d->how != DEVICE_PICK_EMPTY && !has_replica(g, d->s)))
            ranks[bit] = NO_RANK;
        else
            ranks[bit] = d->how == DEVICE_PICK_SPREAD ? REPLICAS_MAX - free : free;
    }
    return device_pick_give_least(d, w, gpus, ranks);
}

static bool device_pick_wholes(struct device_pick *d, const struct ask *a)
{
    uint64_t free = wholes(d, a);
    uint32_t n = a->count;
    struct wanted rest = {.ask = a->other, .first = a->first};

    if (bits(free) < n && a->other == 0)
        return false;
    if (bits(free) < n) {
        rest.first += bits(free);
        rest.count = n - bits(free);
        n = bits(free);
    }
    if (bits(free & ~d->n->parted) >= n)
        free &= ~d->n->parted;
    device_pick_give(d, a->first, (size_t)(a - d->s->asks), devices_choose(d->n, free, n));
    return rest.count == 0 || device_pick_replicas(d, a, &rest);
}

/* A place for one slice. A smaller key is better. */
struct option {
    uint64_t key;
    uint8_t bit;
    uint8_t start;
    uint8_t loss;
    int profile; /* number on its board; -1: none */
};

static struct left *left_of(struct device_pick *d, int bit)
{
    const struct parts *p = d->n->gpus[bit]->parts;
    struct left *l = &d->left[bit];

    if (d->known >> bit & 1)
        return l;
    *l = (struct left){0};
    for (unsigned i = 0; d->how == DEVICE_PICK_EMPTY && i < MIG_UNITS_MAX; i++)
        l->free |= (uint16_t)((p->told[i].name != 0) << i);
    if (d->how != DEVICE_PICK_EMPTY) {
        l->state = p->held_state;
        l->free = (uint16_t)(p->there & ~p->held);
    }
    d->known |= UINT64_C(1) << bit;
    return l;
}

enum {
    HAVE_INSTANCE,
    HAVE_MODE,
    HAVE_NONE
};

/* Makes the option the best one if its key is smaller, but over `after`. The key orders by the
 * gpu's rank, the loss, a present instance or mode, the gpu and the start. */
static void option_offer(struct option *best, struct option here, unsigned rank, unsigned have,
                         uint64_t after)
{
    here.key = ((uint64_t)rank << 20 | (uint64_t)here.loss << 12 | (uint64_t)have << 10 |
                (uint64_t)here.bit << 4 | here.start) +
               1;
    if (here.key > after && (best->key == 0 || here.key < best->key))
        *best = here;
}

/* Offers each start on a flexible gpu where the driver has such an instance, or could make it. */
static void option_offer_flexible(struct device_pick *d, const struct ask *a, int bit,
                                  uint64_t after, struct option *best)
{
    const struct gpu *g = d->n->gpus[bit];
    const struct parts *p = g->parts;
    int profile = profile_of(d, p, a->profile);
    const struct left *l = left_of(d, bit);
    unsigned before;
    uint16_t starts;

    if (profile < 0 || (a->bytes > 0 && parts_slice_bytes(g, profile) < a->bytes))
        return;
    if (after == 0 && l->free == 0 && a->starts == UINT16_MAX) { /* the best start, by the table */
        int start = mig_table_start(p->board->table, l->state, (unsigned)profile);

        starts = start < 0 ? 0 : (uint16_t)(1u << start);
    } else {
        starts = mig_starts(p->board->geometry, l->state, (unsigned)profile);
    }
    before = mig_table_value(p->board->table, l->state);
    for (unsigned left = starts & a->starts; left; left &= left - 1) {
        unsigned start = (unsigned)__builtin_ctz(left);
        struct mig_state then =
            mig_state_add(p->board->geometry, l->state, (unsigned)profile, start);
        unsigned loss = before - mig_table_value(p->board->table, then);
        bool is_there = (l->free >> start & 1) && p->told[start].name == a->profile;

        option_offer(best,
                     (struct option){.bit = (uint8_t)bit,
                                     .start = (uint8_t)start,
                                     .loss = (uint8_t)loss,
                                     .profile = profile},
                     d->how == DEVICE_PICK_SPREAD ? LOSS_MAX - before : 0,
                     is_there       ? HAVE_INSTANCE
                     : p->is_sliced ? HAVE_MODE
                                    : HAVE_NONE,
                     after);
    }
}

static void option_offer_fixed(struct device_pick *d, const struct ask *a, int bit, uint64_t after,
                               struct option *best)
{
    const struct gpu *g = d->n->gpus[bit];
    const struct parts *p = g->parts;
    int profile = profile_of(d, p, a->profile);
    const struct left *l = left_of(d, bit);
    unsigned size = profile >= 0 ? p->board->geometry->profiles[profile].size : 1;

    if (a->bytes > 0 && (profile < 0 || parts_slice_bytes(g, profile) < a->bytes))
        return;
    for (unsigned left = l->free & a->starts; left; left &= left - 1) {
        unsigned start = (unsigned)__builtin_ctz(left);

        if (p->told[start].name == a->profile)
            option_offer(best,
                         (struct option){.bit = (uint8_t)bit,
                                         .start = (uint8_t)start,
                                         .loss = (uint8_t)size,
                                         .profile = profile},
                         d->how == DEVICE_PICK_SPREAD ? LOSS_MAX - bits(l->free) : 0, HAVE_INSTANCE,
                         after);
    }
}

static uint64_t sliceable(const struct device_pick *d, const struct ask *a)
{
    return d->n->parted & d->healthy & ~d->taken & ask_gpus(d->n, a);
}

/* Is the gpu free of devices other than slices? */
static bool is_open(const struct device_pick *d, const struct gpu *g)
{
    return g->parts->replicas == 0 &&
           (d->how == DEVICE_PICK_EMPTY ||
            (!g->holder && g->n_shares == 0 && g->parts->n_replicas == 0));
}

static struct option option_find(struct device_pick *d, const struct ask *a, uint64_t after)
{
    struct option best = {0};

    for (uint64_t left = sliceable(d, a); left; left &= left - 1) {
        int bit = __builtin_ctzll(left);

        if (!is_open(d, d->n->gpus[bit]))
            continue;
        if (d->n->gpus[bit]->parts->is_flexible)
            option_offer_flexible(d, a, bit, after, &best);
        else
            option_offer_fixed(d, a, bit, after, &best);
    }
    return best;
}

static void option_take(struct device_pick *d, const struct option *o)
{
    const struct parts *p = d->n->gpus[o->bit]->parts;
    struct left *l = &d->left[o->bit];

    if (p->is_flexible)
        l->state = mig_state_add(p->board->geometry, l->state, (unsigned)o->profile, o->start);
    l->free = (uint16_t)(l->free & ~(1u << o->start));
}

/* Chooses the slices from item `i` on. False: impossible after the choices so far, or not found
 * within the tries. */
static bool device_pick_slices(struct device_pick *d, size_t i)
{
    const struct ask *a;
    uint32_t device;
    uint64_t after = 0;

    if (i == d->n_items)
        return true;
    a = &d->s->asks[d->items[i]];
    device = a->first;
    for (size_t k = i; k > 0 && d->items[k - 1] == d->items[i]; k--)
        device++;
    while (d->tries++ < TRIES_MAX) {
        struct option o = option_find(d, a, after);
        struct left old;

        if (o.key == 0)
            return false;
        old = d->left[o.bit];
        option_take(d, &o);
        if (device_pick_slices(d, i + 1)) {
            d->ret->at[device].bit = o.bit;
            d->ret->at[device].start = o.start;
            d->ret->at[device].ask = d->items[i];
            d->ret->gpus |= UINT64_C(1) << o.bit;
            d->ret->loss += o.loss;
            return true;
        }
        d->left[o.bit] = old;
        after = o.key;
    }
    return false;
}

/* The number of slices of the ask's profile that a gpu still has room for. */
static unsigned most_of(struct device_pick *d, int bit, const struct ask *a)
{
    const struct parts *p = d->n->gpus[bit]->parts;
    int profile = parts_profile(p, a->profile);
    struct left l = *left_of(d, bit);
    unsigned ret = 0;

    if (!p->is_flexible) {
        for (unsigned left = l.free & a->starts; left; left &= left - 1)
            ret += p->told[__builtin_ctz(left)].name == a->profile;
        return ret;
    }
    while (profile >= 0) {
        uint16_t starts = mig_starts(p->board->geometry, l.state, (unsigned)profile) & a->starts;

        if (starts == 0)
            break;
        l.state = mig_state_add(p->board->geometry, l.state, (unsigned)profile,
                                (unsigned)__builtin_ctz(starts));
        ret++;
    }
    return ret;
}

/* The same over all gpus of the node, up to `enough`. */
static uint64_t room_for(struct device_pick *d, const struct ask *a, uint64_t enough)
{
    uint64_t ret = 0;

    for (uint64_t left = sliceable(d, a); left && ret < enough; left &= left - 1)
        if (is_open(d, d->n->gpus[__builtin_ctzll(left)]))
            ret += most_of(d, __builtin_ctzll(left), a);
    return ret;
}

/* Is the slice of ask `a` larger than that of `b`: by compute, then by units of memory? */
static bool is_larger(const struct ask *a, const struct ask *b, const struct device_pick *d)
{
    unsigned sizes[2] = {0};

    if (a->milli != b->milli)
        return a->milli > b->milli;
    for (uint64_t left = d->n->parted; left && sizes[0] == 0; left &= left - 1) {
        const struct parts *p = d->n->gpus[__builtin_ctzll(left)]->parts;
        int first = parts_profile(p, a->profile);
        int second = parts_profile(p, b->profile);

        if (first < 0 || second < 0)
            continue;
        sizes[0] = p->board->geometry->profiles[first].size;
        sizes[1] = p->board->geometry->profiles[second].size;
    }
    return sizes[0] > sizes[1];
}

static void device_pick_list_slices(struct device_pick *d)
{
    const struct shape *s = d->s;
    uint8_t order[ASKS_MAX];
    size_t n = 0;

    for (uint8_t i = 0; i < s->n_asks; i++) {
        size_t at = n;

        if (s->asks[i].kind != ASK_SLICE)
            continue;
        for (; at > 0 && is_larger(&s->asks[i], &s->asks[order[at - 1]], d); at--)
            order[at] = order[at - 1];
        order[at] = i;
        n++;
    }
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < s->asks[order[i]].count; k++)
            d->items[d->n_items++] = order[i];
}

/* Chooses the devices of one ask; of slices, whether there is room for all of them at all. */
static bool device_pick_ask(struct device_pick *d, const struct ask *a)
{
    struct wanted w;

    switch (a->kind) {
    case ASK_WHOLE:
        return device_pick_wholes(d, a);
    case ASK_SHARE:
        return device_pick_shares(d, a);
    case ASK_SLICE:
        return a->count <= 1 || room_for(d, a, a->count) >= a->count;
    case ASK_REPLICA:
        w = wanted_by(d, a);
        return device_pick_replicas(d, a, &w);
    }
    return false;
}

static ALWAYS_INLINE bool device_pick_kind(struct device_pick *d, enum ask_kind kind)
{
    const struct ask *asks = d->s->asks;

    for (size_t i = 0; i < d->s->n_asks; i++)
        if (asks[i].kind == kind && !device_pick_ask(d, &asks[i]))
            return false;
    return true;
}

bool device_pick(const struct node *n, const struct shape *s, enum device_pick_how how,
                 struct choice *ret)
{
    struct device_pick d;

    d.n = n;
    d.s = s;
    d.how = how;
    d.healthy = how == DEVICE_PICK_EMPTY ? node_gpus(n) : n->healthy & ~n->barred;
    d.taken = 0;
    d.sliced = 0;
    d.known = 0;
    d.n_items = 0;
    d.tries = 0;
    d.board = NULL;
    d.name = 0;
    d.profile = -1;
    d.ret = ret;
    ret->gpus = 0;
    ret->loss = 0;
    if (!device_pick_kind(&d, ASK_WHOLE) || !device_pick_kind(&d, ASK_SHARE) ||
        !device_pick_kind(&d, ASK_SLICE))
        return false;
    device_pick_list_slices(&d);
    if (!device_pick_slices(&d, 0))
        return how == DEVICE_PICK_SPREAD && device_pick(n, s, DEVICE_PICK_PACKED, ret);
    d.sliced = ret->gpus & ~d.taken;
    return device_pick_kind(&d, ASK_REPLICA);
}

/* The number of one ask's devices that the node could hold if it were empty and had nothing else.
 */
static uint64_t empty_of(struct device_pick *d, const struct ask *a)
{
    const struct node *n = d->n;
    uint64_t gpus = ask_gpus(n, a);
    uint64_t ret = 0;

    if (a->kind == ASK_SLICE)
        return room_for(d, a, UINT64_MAX);
    for (uint64_t left = gpus; left; left &= left - 1) {
        const struct gpu *g = n->gpus[__builtin_ctzll(left)];

        if (a->is_several && g->parts && g->parts->is_single)
            continue;
        if (a->kind == ASK_REPLICA || (a->other != 0 && g->parts && !g->parts->is_renamed))
            ret += g->parts ? g->parts->replicas : 0;
        if (a->kind != ASK_REPLICA && (n->wholes & left & -left))
            ret += MILLI / ask_share_milli(a, g);
    }
    return ret;
}

uint64_t device_pick_empty(const struct node *n, const struct shape *s)
{
    struct device_pick d = {
        .n = n, .s = s, .how = DEVICE_PICK_EMPTY, .healthy = node_gpus(n), .profile = -1};
    uint64_t least = UINT64_MAX;
    struct choice c;

    if (!device_pick(n, s, DEVICE_PICK_EMPTY, &c))
        return 0;
    for (size_t i = 0; i < s->n_asks; i++) {
        uint64_t here =
            s->asks[i].count == 0 ? UINT64_MAX : empty_of(&d, &s->asks[i]) / s->asks[i].count;

        least = here < least ? here : least;
    }
    return least > 0 ? least : 1;
}

int64_t device_pick_capacity(const struct node *n, const struct shape *s)
{
    struct device_pick d = {
        .n = n, .s = s, .how = DEVICE_PICK_EMPTY, .healthy = node_gpus(n), .profile = -1};
    uint64_t sum = 0;

    for (size_t i = 0; i < s->n_asks; i++)
        sum += s->asks[i].count > 0 ? empty_of(&d, &s->asks[i]) : 0;
    return (int64_t)sum;
}

int64_t device_pick_free(const struct node *n, const struct shape *s)
{
    struct choice c;
    uint64_t total = 0;
    uint64_t ret = 0;

    for (size_t i = 0; i < s->n_asks; i++) {
        struct shape one = {.asks = &s->asks[i], .n_asks = 1, .ns = s->ns};
        struct ask ask = s->asks[i];

        one.asks = &ask;
        ask.first = 0;
        total += ask.count;
        while (ask.count > 0 && !device_pick(n, &one, DEVICE_PICK_PACKED, &c))
            ask.count--;
        ret += ask.count;
    }
    /* each ask fits by itself, but not all of them together */
    return (int64_t)(ret == total && !device_pick(n, s, DEVICE_PICK_PACKED, &c) ? ret - 1 : ret);
}

unsigned device_pick_empty_gpus(const struct node *n, const struct shape *s)
{
    struct choice c;

    return device_pick(n, s, DEVICE_PICK_EMPTY, &c) ? bits(c.gpus) : 0;
}

/* "2 and 3": the runs of free units. */
static const char *pieces_text(struct arena *a, uint16_t free)
{
    const char *text = NULL;

    for (unsigned left = free; left;) {
        unsigned at = (unsigned)__builtin_ctz(left);
        unsigned size = (unsigned)__builtin_ctz(~(left >> at));

        left &= ~(((1u << size) - 1) << at);
        if (!text)
            text = arena_format(a, "%u", size);
        else
            text = arena_format(a, "%s%s%u", text, left ? ", " : " and ", size);
    }
    return text ? text : "0";
}

bool device_pick_fragments(struct arena *a, const struct node *n, const struct shape *s,
                           unsigned *ret_bit, struct room_for_slice *ret)
{
    struct device_pick d = {
        .n = n, .s = s, .how = DEVICE_PICK_PACKED, .healthy = n->healthy, .profile = -1};
    uint16_t free = 0;

    *ret = (struct room_for_slice){0};
    for (size_t i = 0; i < s->n_asks; i++) {
        if (s->asks[i].kind != ASK_SLICE)
            continue;
        for (uint64_t left = sliceable(&d, &s->asks[i]); left; left &= left - 1) {
            unsigned bit = (unsigned)__builtin_ctzll(left);
            const struct gpu *g = n->gpus[bit];
            int profile = parts_profile(g->parts, s->asks[i].profile);
            const struct mig_geometry *geometry;
            struct mig_state silent; /* as if no slice held the video engines */
            uint16_t here;

            if (profile < 0 || !g->parts->is_flexible || !is_open(&d, g) ||
                most_of(&d, (int)bit, &s->asks[i]) > 0)
                continue;
            geometry = g->parts->board->geometry;
            here = (uint16_t)(~g->parts->held_state.occupied & ((1u << geometry->units) - 1));
            silent = (struct mig_state){.occupied = g->parts->held_state.occupied};
            if (bits(here) < geometry->profiles[profile].size || bits(here) <= bits(free) ||
                mig_starts(geometry, silent, (unsigned)profile) != 0)
                continue;
            free = here;
            *ret_bit = bit;
            ret->size = geometry->profiles[profile].size;
            ret->free = bits(here);
        }
    }
    if (free != 0)
        ret->pieces = pieces_text(a, free);
    return free != 0;
}
