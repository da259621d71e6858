/* used.c - usage from before the engine's start, added to queues and users */

#include <inttypes.h>
#include <stdlib.h>

#include "engine/queue/queue.h"
#include "engine/record/record.h"

static enum mete_result check_used(struct mete_engine *e, const struct mete_used *used)
{
    const char *const texts[] = {used->queue, used->user};

    for (size_t i = 0; i < COUNT(texts); i++)
        if (texts[i] && strnlen(texts[i], TEXT_MAX + 1) > TEXT_MAX)
            return engine_refuse(e, METE_INVALID, "usage: a queue or user is over %d bytes",
                                 TEXT_MAX);
    if (used->from_ns < 0 || used->to_ns < used->from_ns || used->now_ns < used->to_ns)
        return engine_refuse(e, METE_INVALID, "usage: the times from, to and now are not in order");
    for (size_t i = 0; i < used->n_amounts; i++)
        if (!text_is_sane(used->amounts[i].resource) || used->amounts[i].amount < 0 ||
            used->amounts[i].amount > AMOUNT_MAX)
            return engine_refuse(e, METE_INVALID, "usage: amount %zu is not within 0 .. 2^60", i);
    return METE_OK;
}

/* The weight of the usage period in the decayed average, in 1/EXP2_ONE. */
static uint64_t weight_of(const struct mete_engine *e, const struct mete_used *used)
{
    int64_t ref_ns = e->folded_ns;
    int64_t to_ns = used->to_ns < ref_ns ? used->to_ns : ref_ns;
    uint64_t half_life_ns = (uint64_t)e->fairness.half_life_ns;

    if (used->from_ns >= to_ns)
        return 0;
    return decay_exp2((uint64_t)(ref_ns - to_ns), half_life_ns) -
           decay_exp2((uint64_t)(ref_ns - used->from_ns), half_life_ns);
}

/* Sets the times that a first cycle would set. */
static void used_begin(struct mete_engine *e, int64_t now_ns)
{
    if (e->now_ns == 0)
        e->now_ns = now_ns;
    if (e->folded_ns == 0)
        e->folded_ns = e->now_ns;
}

static struct queue_user *used_make_user(struct mete_engine *e, struct queue *q, const char *user)
{
    uint32_t id = intern_ref(e->texts, user ? user : "");
    struct queue_user *u = queue_user(q, id);

    if (u) {
        intern_unref(e->texts, id);
        return u;
    }
    u = mem_alloc(sizeof(*u));
    u->user = id;
    map_add(handle, q->users, &u->user, sizeof(u->user), u);
    return u;
}

/* The index of the counted resource of that name; SIZE_MAX: none. */
static size_t counted_named(const struct mete_engine *e, const char *resource)
{
    uint32_t name = intern_find(e->texts, resource);

    for (size_t i = 0; name != 0 && i < e->counted.n; i++)
        if (e->counted.at[i].name == name)
            return i;
    return SIZE_MAX;
}

static void add(uint64_t *lately, uint64_t more)
{
    if (__builtin_add_overflow(*lately, more, lately))
        *lately = UINT64_MAX;
}

/* Adds the usage to one queue and its user. */
static void used_add_to(struct mete_engine *e, struct queue *q, const struct mete_used *used,
                        uint64_t weight)
{
    uint64_t most = 0;

    for (size_t i = 0; i < used->n_amounts; i++) {
        size_t at = counted_named(e, used->amounts[i].resource);
        uint64_t part;

        if (at == SIZE_MAX)
            continue;
        part = queue_part_of(used->amounts[i].amount, e->counted.at[at].capacity);
        part = decay_scale(part, weight, EXP2_ONE);
        add(&q->cells[at].usage.lately, part);
        most = part > most ? part : most;
    }
    if (most > 0)
        add(&used_make_user(e, q, used->user)->usage.lately, most);
}

enum mete_result mete_usage_add(struct mete_engine *e, const struct mete_used *used)
{
    enum mete_result result = check_used(e, used);
    struct queue *q = NULL;
    uint64_t weight;

    if (result != METE_OK)
        return result;
    map_find_text(handle, e->queue_map, used->queue ? used->queue : "default", q);
    if (!q)
        return engine_refuse(e, METE_NOT_FOUND, "usage: there is no queue '%s'", used->queue);
    if (e->fairness.half_life_ns == 0 || e->counted.n == 0)
        return METE_OK;
    record_call(e, RECORD_USAGE_ADD, used);
    used_begin(e, used->now_ns);
    queues_measure(e);
    weight = weight_of(e, used);
    for (; q && weight > 0; q = q->parent)
        used_add_to(e, q, used, weight);
    e->points_ns = 0; /* points are computed anew */
    e->eased++;
    e->version++;
    return METE_OK;
}
