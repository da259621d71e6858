/* policy.c - the table of policies, and sums that they share */

#include "engine/place/policy.h"

#include "base/str.h"
#include "engine/place/fit.h"

static const struct policy policies[] = {
    {.name = "binpack", .score = score_binpack},
    {.name = "spread", .score = score_spread, .spreads = true},
    {.name = "random", .score = score_random, .share = share_random, .is_random = true},
    {.name = "dotprod", .score = score_dotprod},
    {.name = "bestfit", .score = score_bestfit},
    {.name = "gpupacking", .score = score_gpupacking},
    {.name = "gpuclustering", .score = score_gpuclustering},
    {.name = "fgd", .score = score_fgd, .share = share_fgd},
    {.name = "mete",
     .score = score_mete,
     .share = share_mete,
     .look = look_mete,
     .score_plain = score_mete_plain},
};

const struct policy *policy_find(const char *name)
{
    if (!name)
        return &policies[0];
    for (size_t i = 0; i < COUNT(policies); i++)
        if (text_equal(policies[i].name, name))
            return &policies[i];
    return NULL;
}

bool policy_deal(const struct mete_engine *e, const struct node *n, const struct shape *s,
                 struct choice *ret)
{
    return device_pick(n, s, e->policy->spreads ? DEVICE_PICK_SPREAD : DEVICE_PICK_PACKED, ret);
}

uint64_t policy_devices(const struct mete_engine *e, const struct node *n, const struct shape *s)
{
    uint64_t free;
    struct choice c;

    if (s->n_asks > 0)
        return policy_deal(e, n, s, &c) ? c.gpus : 0;
    free = fit_gpus(n, s);
    free = devices_uncut(n, free, s->gpus);
    if (!shape_is_share(s))
        return devices_choose(n, free, s->gpus);
    if (s->gpus == 1 && e->policy->share)
        return e->policy->share(e, n, s, free);
    return devices_best_fit(n, s, free);
}

uint32_t policy_lead(const struct node *n, const struct shape *s)
{
    unsigned disliked = n->n_taints > 0 ? fit_disliked(n, s) : 0;
    uint32_t liked = disliked < 7 ? 7 - disliked : 0;
    uint32_t quality = s->gpus <= 1 ? 2 : devices_quality(n, fit_gpus(n, s), s->gpus);

    return (liked << 2 | quality) << POLICY_BITS;
}

int64_t node_milli_free(const struct node *n)
{
    int64_t free = 0;

    for (uint64_t left = n->healthy; left; left &= left - 1)
        free += n->free_milli[__builtin_ctzll(left)];
    return free;
}

int64_t node_cpu_free(const struct mete_engine *e, const struct node *n)
{
    const struct room *room = node_room(n, e->cpu);

    return room && room->capacity > room->used ? room->capacity - room->used : 0;
}
