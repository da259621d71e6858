/* deployments_scale.c - how many pods each ReplicaSet of a Deployment should have */

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "control/apps/deployments_private.h"

static int64_t at_least_0(int64_t value)
{
    return value > 0 ? value : 0;
}

static int64_t smaller(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

static int64_t held_by(const struct rollout_set *s)
{
    return s->replicas > s->actual ? s->replicas : s->actual;
}

static void put_number(json_t *map, const char *key, int64_t value)
{
    AUTO_FREE char *text = mem_format("%" PRId64, value);

    json_put_text(map, key, text);
}

int64_t rollout_replicas(const struct rollout *r)
{
    int64_t n = 0;

    VEC_EACH (&r->sets, s)
        n += s->replicas;
    return n;
}

static int64_t count_held(const struct rollout *r)
{
    int64_t n = 0;

    VEC_EACH (&r->sets, s)
        n += s->held;
    return n;
}

void rollout_set_replicas(struct rollout *r, struct rollout_set *s, int64_t replicas)
{
    int64_t max = r->limits.replicas + r->limits.surge;
    int64_t room = at_least_0(max - count_held(r));

    if (replicas > s->replicas)
        replicas = smaller(replicas, s->replicas + room);
    if (s->desired != r->limits.replicas || s->max_replicas != max) {
        if (!s->annotations)
            s->annotations = json_object();
        put_number(s->annotations, APPS_DESIRED, r->limits.replicas);
        put_number(s->annotations, APPS_MAX_REPLICAS, max);
    }
    if (replicas != s->replicas)
        vec_add(&r->told, mem_format("Scaled %s replica set %s from %" PRId64 " to %" PRId64,
                                     replicas > s->replicas ? "up" : "down", s->part->name,
                                     s->replicas, replicas));
    s->replicas = replicas;
    s->held = held_by(s);
}

int64_t rollout_fresh_replicas(const struct rollout *r)
{
    int64_t own = r->fresh ? r->fresh->replicas : 0;
    int64_t room;

    if (!text_equal(json_text_at(r->spec, "strategy", "type", NULL), "RollingUpdate"))
        return r->limits.replicas;
    room = at_least_0(r->limits.replicas + r->limits.surge - count_held(r));
    return own + smaller(room, at_least_0(r->limits.replicas - own));
}

/* ---- a changed spec.replicas ---- */

bool rollout_is_scaled(const struct rollout *r)
{
    VEC_EACH (&r->sets, s)
        if (s->replicas > 0 && s->desired >= 0 && s->desired != r->limits.replicas)
            return true;
    return false;
}

static size_t count_active(const struct rollout *r, struct rollout_set **ret_one)
{
    size_t n = 0;

    VEC_EACH (&r->sets, s)
        if (s->replicas > 0) {
            *ret_one = s;
            n++;
        }
    return n;
}

/* The only set with pods, or the newest; NULL: several have pods, or there is none. */
static struct rollout_set *active_or_latest(const struct rollout *r)
{
    struct rollout_set *one = NULL;
    size_t n = count_active(r, &one);

    if (n == 1)
        return one;
    if (n > 1 || r->sets.n == 0)
        return NULL;
    return r->fresh ? r->fresh : &r->sets.at[r->sets.n - 1];
}

static bool is_saturated(const struct rollout *r)
{
    return r->fresh && r->fresh->replicas == r->limits.replicas &&
           r->fresh->desired == r->limits.replicas && r->fresh->available == r->limits.replicas;
}

/* The change of a set that keeps its share of all pods, rounded to the nearest. */
static int64_t share_of(const struct rollout *r, const struct rollout_set *s)
{
    int64_t max = r->limits.replicas + r->limits.surge;
    int64_t was_max = s->max_replicas > 0 ? s->max_replicas : max;

    if (r->limits.replicas == 0)
        return -s->replicas;
    if (was_max == 0)
        return 0;
    return (2 * s->replicas * max + was_max) / (2 * was_max) - s->replicas;
}

struct scaled {
    struct rollout_set *set;
    int64_t size;
    bool is_growing;
};

/* The largest first; of the same size the newer one when sets grow, the older one when they
 * shrink. */
static int compare_scaled(const void *one, const void *other)
{
    const struct scaled *x = one;
    const struct scaled *y = other;
    bool is_newer = x->set > y->set; /* in one array, the oldest first */

    if (x->set->replicas != y->set->replicas)
        return x->set->replicas > y->set->replicas ? -1 : 1;
    return is_newer == x->is_growing ? -1 : 1;
}

static void spread_change(const struct rollout *r, struct scaled *list, size_t n, int64_t change)
{
    int64_t spread = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t share = change == spread ? 0 : share_of(r, list[i].set);
        int64_t left = change - spread;

        list[i].size = list[i].set->replicas;
        if (change > 0)
            share = share < left ? share : left;
        else
            share = share > left ? share : left;
        list[i].size += share;
        spread += share;
    }
    if (n > 0)
        list[0].size = at_least_0(list[0].size + change - spread);
}

static void scale_in_proportion(struct rollout *r)
{
    int64_t allowed = r->limits.replicas > 0 ? r->limits.replicas + r->limits.surge : 0;
    int64_t change = allowed - rollout_replicas(r);
    VEC(struct scaled) list = {0};

    VEC_EACH (&r->sets, s)
        if (s->replicas > 0)
            vec_add(&list, (struct scaled){.set = s, .is_growing = change > 0});
    if (list.n > 1)
        qsort(list.at, list.n, sizeof(*list.at), compare_scaled);
    spread_change(r, list.at, list.n, change);
    VEC_EACH (&list, one)
        rollout_set_replicas(r, one->set, one->size);
    vec_done(&list);
}

void rollout_scale(struct rollout *r)
{
    struct rollout_set *only = active_or_latest(r);

    if (only) {
        rollout_set_replicas(r, only, r->limits.replicas);
        return;
    }
    if (is_saturated(r)) {
        VEC_EACH (&r->sets, s)
            if (s != r->fresh && s->replicas > 0)
                rollout_set_replicas(r, s, 0);
        return;
    }
    if (text_equal(json_text_at(r->spec, "strategy", "type", NULL), "RollingUpdate"))
        scale_in_proportion(r);
}

/* ---- a rolling update ---- */

/* Old pods that are not available are no loss. */
static int64_t drop_unavailable(struct rollout *r, int64_t max)
{
    int64_t dropped = 0;

    VEC_EACH (&r->sets, s) {
        int64_t n = smaller(max - dropped, s->replicas - s->available);

        if (s == r->fresh || n <= 0)
            continue;
        rollout_set_replicas(r, s, s->replicas - n);
        dropped += n;
    }
    return dropped;
}

static void drop_old(struct rollout *r)
{
    int64_t available = 0;
    int64_t max;

    VEC_EACH (&r->sets, s)
        available += s->available;
    max = available - (r->limits.replicas - r->limits.unavailable);
    VEC_EACH (&r->sets, s) {
        int64_t n = smaller(max, s->replicas);

        if (s == r->fresh || n <= 0)
            continue;
        rollout_set_replicas(r, s, s->replicas - n);
        max -= n;
    }
}

static int64_t count_old(const struct rollout *r)
{
    return rollout_replicas(r) - r->fresh->replicas;
}

void rollout_roll(struct rollout *r)
{
    struct rollout_set *fresh = r->fresh;
    int64_t max;

    if (fresh->replicas > r->limits.replicas)
        rollout_set_replicas(r, fresh, r->limits.replicas);
    else
        rollout_set_replicas(r, fresh, rollout_fresh_replicas(r));
    if (fresh->replicas != fresh->was || count_old(r) == 0)
        return;
    max = rollout_replicas(r) - (r->limits.replicas - r->limits.unavailable) -
          (fresh->replicas - fresh->available);
    if (max <= 0)
        return;
    (void)drop_unavailable(r, max);
    drop_old(r);
}
