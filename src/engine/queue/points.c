/* points.c - the points of workloads, and the order by them */

#include "engine/queue/points.h"

#include <inttypes.h>

#include "engine/queue/due.h"
#include "engine/queue/share.h"
#include "engine/record/record.h"

#define PERIOD_DEFAULT_NS  (INT64_C(300) * 1000000000)
#define AGE_MAX_DEFAULT_NS (INT64_C(7) * 86400 * 1000000000)

static const struct mete_factors only_class = {.class_points = 1};

static const struct mete_factors *factors_of(const struct mete_engine *e)
{
    const struct mete_factors *f = &e->fairness.factors;

    if (f->class_points == 0 && f->age_points == 0 && f->fair_share_points == 0 &&
        f->size_points == 0)
        return &only_class;
    return f;
}

/* Does a factor change with time? */
static bool is_moving(const struct mete_factors *f)
{
    return f->age_points != 0 || f->fair_share_points != 0 || f->size_points != 0;
}

static int64_t points_for_age(const struct mete_factors *f, const struct workload *w,
                              int64_t now_ns)
{
    int64_t most_ns = f->age_max_ns > 0 ? f->age_max_ns : AGE_MAX_DEFAULT_NS;
    int64_t waited_ns = now_ns > w->key.submit_ns ? now_ns - w->key.submit_ns : 0;

    if (waited_ns >= most_ns)
        return f->age_points;
    return (int64_t)((__int128)f->age_points * waited_ns / most_ns);
}

static int64_t points_for_size(struct mete_engine *e, const struct mete_factors *f,
                               const struct workload *w)
{
    struct charge c;
    int64_t all;
    int64_t asked;

    if (e->counted.n == 0)
        return 0;
    queues_measure(e);
    charge_of(e, w, NULL, &c);
    all = e->counted.at[COUNTED_GPU].capacity;
    asked = c.at[COUNTED_GPU] < all ? c.at[COUNTED_GPU] : all;
    if (f->favors_small)
        asked = all - asked;
    return all > 0 ? (int64_t)((__int128)f->size_points * asked / all) : 0;
}

static int64_t points_add(int64_t a, int64_t b)
{
    int64_t sum = 0;

    if (__builtin_add_overflow(a, b, &sum))
        return a > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

int64_t points_of(struct mete_engine *e, const struct workload *w, int64_t now_ns)
{
    const struct mete_factors *f = factors_of(e);
    int64_t points;

    if (w->is_extra)
        return INT64_MIN; /* behind all others */
    points = points_add((int64_t)f->class_points * w->priority, w->points_given);

    if (f == &only_class)
        return points;
    points = points_add(points, points_for_age(f, w, now_ns));
    if (f->fair_share_points != 0)
        points = points_add(points, (int64_t)f->fair_share_points *
                                        share_factor(w->queue, w->user) / SHARE_FACTOR_ONE);
    return f->size_points != 0 ? points_add(points, points_for_size(e, f, w)) : points;
}

enum mete_result mete_workload_points(struct mete_engine *e, uint64_t id, int64_t points)
{
    struct workload *w = engine_workload(e, id);
    bool waits;

    if (!w)
        return engine_refuse(e, METE_NOT_FOUND, "there is no workload %" PRIu64, id);
    if (w->points_given == points)
        return METE_OK;
    record_call(e, RECORD_WORKLOAD_POINTS, &(struct record_points){id, points});
    waits = !w->is_placed;
    if (waits)
        group_unwait(e, w);
    w->points_given = points;
    w->key.points = points_of(e, w, e->now_ns);
    if (waits)
        group_wait(e, w);
    e->version++;
    return METE_OK;
}

/* Computes the keys of a queue's waiting workloads. The trees are built anew only if the order
 * changes. */
static void points_order_anew(struct mete_engine *e, const struct queue *q, int64_t now_ns)
{
    VEC(struct order_key) keys = {0};
    VEC(struct workload *) all = {0};
    bool is_in_order = true;

    for (struct order_link *at = order_first(&q->waiting); at; at = order_next(at)) {
        struct workload *w = workload_of_all(at);
        struct order_key key = w->key;

        key.points = points_of(e, w, now_ns);
        key.due_s = due_of(e, w);
        is_in_order = is_in_order && (keys.n == 0 || order_before(&keys.at[keys.n - 1], &key));
        vec_add(&all, w);
        vec_add(&keys, key);
    }
    for (size_t i = 0; !is_in_order && i < all.n; i++)
        group_unwait(e, all.at[i]);
    for (size_t i = 0; i < all.n; i++)
        all.at[i]->key = keys.at[i];
    for (size_t i = 0; !is_in_order && i < all.n; i++)
        group_wait(e, all.at[i]);
    vec_done(&all);
    vec_done(&keys);
}

static void make_users(struct mete_engine *e, const struct queue *q)
{
    for (struct order_link *at = order_first(&q->waiting); at; at = order_next(at))
        queue_users_make(e, workload_of_all(at));
}

void points_begin(struct mete_engine *e, int64_t now_ns)
{
    const struct mete_factors *f = factors_of(e);
    int64_t period_ns = e->fairness.period_ns > 0 ? e->fairness.period_ns : PERIOD_DEFAULT_NS;
    struct queue *next;
    struct queue *q;

    if (e->points_ns != 0 &&
        ((!is_moving(f) && !e->fairness.by_size) || now_ns - e->points_ns < period_ns))
        return;
    if (e->points_ns == 0 && e->counted.n == 0)
        return; /* the points of the workloads' entry still hold */
    if (f->fair_share_points != 0) {
        map_each (handle, e->queue_map, q, next) {
            make_users(e, q);
        }
        share_find(e);
    }
    due_check(e, now_ns);
    map_each (handle, e->queue_map, q, next) {
        points_order_anew(e, q, now_ns);
    }
    e->points_ns = now_ns > 0 ? now_ns : 1;
    e->version++;
}

enum mete_result mete_fairness_set(struct mete_engine *e, const struct mete_fairness *fairness)
{
    if (fairness->half_life_ns < 0 || fairness->period_ns < 0 || fairness->factors.age_max_ns < 0)
        return engine_refuse(e, METE_INVALID, "fairness: a time is negative");
    if ((unsigned)fairness->order > METE_ORDER_PRIORITY ||
        (unsigned)fairness->formula > METE_FAIR_TREE)
        return engine_refuse(e, METE_INVALID, "fairness: no such order or formula");
    record_call(e, RECORD_FAIRNESS_SET, fairness);
    e->fairness = *fairness;
    e->points_ns = 0;
    queues_begin(e);
    due_switch(e);
    e->eased++;
    e->version++;
    return METE_OK;
}
