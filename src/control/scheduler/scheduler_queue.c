/* scheduler_queue.c - the queue of a waiting workload, and its holds */
#include "base/log.h"
#include "base/num.h"
#include "base/stamp.h"
#include "base/str.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_volume_claims.h"
#include "kinds/queue.h"

enum {
    GATES_SHOWN = 8
};

const char *scheduler_queue_of(const struct scheduler *s, const json_t *pod)
{
    const char *queue = queue_of(pod);

    (void)s;
    return queue ? queue : QUEUE_DEFAULT;
}

const char *scheduler_reservation_of(const json_t *pod)
{
    const char *name = json_text_at(pod, "metadata", "annotations", QUEUE_RESERVATION, NULL);

    return name ? name : "";
}

/* The reason why claims and volumes of a pod wait; NULL: none does. */
static char *claims_text(const json_t *pod)
{
    const char *wait = pod_claims_wait(pod);
    AUTO_FREE char *node = NULL;
    AUTO_FREE char *volumes = NULL;

    if (!wait)
        wait = pod_volumes_wait(pod);
    if (wait)
        return mem_strdup(wait);
    if (!pod_has_claims(pod) || !pod_has_volume_claims(pod))
        return NULL;
    node = pod_claims_node(pod);
    volumes = pod_volumes_node(pod);
    if (!*node || !*volumes || text_equal(node, volumes))
        return NULL;
    return mem_format("its claims have devices on node %s, but its volumes are on node %s", node,
                      volumes);
}

/* "waits until its scheduling gates go: a, b", or what its claims wait for; NULL: neither. */
static char *gates_text(const json_t *pod)
{
    const json_t *gates = json_at(pod, "spec", "schedulingGates", NULL);
    size_t n = json_array_size(gates);
    struct buf b = {0};

    if (n == 0)
        return claims_text(pod);
    buf_add_text(&b, "waits until its scheduling gates go: ");
    for (size_t i = 0; i < n && i < GATES_SHOWN; i++)
        buf_printf(&b, "%s%s", i > 0 ? ", " : "", json_text(json_array_get(gates, i), "name"));
    if (n > GATES_SHOWN)
        buf_printf(&b, ", %zu more", n - GATES_SHOWN);
    return buf_steal(&b);
}

static int64_t not_before_ns(const json_t *pod)
{
    return stamp_or(json_text_at(pod, "metadata", "annotations", QUEUE_NOT_BEFORE, NULL), 0);
}

void sched_pod_read_hold(struct sched_pod *p, const json_t *pod)
{
    const char *said = json_text_at(pod, "metadata", "annotations", QUEUE_HOLD, NULL);

    free(p->queue);
    free(p->gates);
    p->queue = mem_strdup(scheduler_queue_of(NULL, pod));
    p->gates = gates_text(pod);
    p->not_before_ns = not_before_ns(pod);
    p->hold = METE_HOLD_NONE;
    if (text_equal(said, "admin"))
        p->hold = METE_HOLD_ADMIN;
    else if (text_equal(said, "user"))
        p->hold = METE_HOLD_USER;
}

/* The first pod of the workload with this hold, or NULL. */
static const struct sched_pod *find_held(const struct sched_work *w, enum mete_hold hold)
{
    for (size_t i = 0; i < w->pods.n; i++)
        if (w->pods.at[i]->hold == hold)
            return w->pods.at[i];
    return NULL;
}

static const char *find_gates(const struct sched_work *w)
{
    for (size_t i = 0; i < w->pods.n; i++)
        if (w->pods.at[i]->gates)
            return w->pods.at[i]->gates;
    return NULL;
}

static int64_t latest_start(const struct sched_work *w)
{
    int64_t latest_ns = 0;

    for (size_t i = 0; i < w->pods.n; i++)
        if (w->pods.at[i]->not_before_ns > latest_ns)
            latest_ns = w->pods.at[i]->not_before_ns;
    return latest_ns;
}

static char *not_before_text(int64_t ns)
{
    char stamp[STAMP_TEXT_SIZE];

    stamp_format(ns, stamp);
    return mem_format("does not start before %s", stamp);
}

/*
 * The hold of the workload: one held pod holds all. An administrator's hold goes before the user's.
 * `*ret_text` is the caller's; NULL: none.
 */
static enum mete_hold hold_of(const struct scheduler *s, const struct sched_work *w,
                              char **ret_text)
{
    const char *queue = w->pods.at[0]->queue;
    const char *gates = find_gates(w);
    int64_t start_ns = latest_start(w);

    *ret_text = NULL;
    if (!queue_tree_let_in(s->queues, queue, w->ns)) {
        *ret_text = mem_format("namespace %s may not use queue %s", w->ns, queue);
        return METE_HOLD_NOT_ALLOWED;
    }
    if (find_held(w, METE_HOLD_ADMIN))
        return METE_HOLD_ADMIN;
    if (find_held(w, METE_HOLD_USER))
        return METE_HOLD_USER;
    if (gates) {
        *ret_text = mem_strdup(gates);
        return METE_HOLD_GATED;
    }
    if (start_ns > loop_wall_ns(s->options.loop)) {
        *ret_text = not_before_text(start_ns);
        return METE_HOLD_NOT_BEFORE;
    }
    return METE_HOLD_NONE;
}

static void wake_at(struct scheduler *s, int64_t at_ns)
{
    if (s->start_ns != 0 && s->start_ns <= at_ns)
        return;
    s->start_ns = at_ns;
    loop_timer_set(s->start_timer, at_ns - loop_wall_ns(s->options.loop));
}

void sched_work_hold(struct scheduler *s, struct sched_work *w)
{
    AUTO_FREE char *text = NULL;
    enum mete_hold hold = hold_of(s, w, &text);

    if (hold == METE_HOLD_NOT_BEFORE)
        wake_at(s, latest_start(w));
    if (hold == w->hold && text_equal(text, w->hold_text))
        return;
    if (mete_workload_hold(s->engine, w->id, hold, text) != METE_OK) {
        LOG(ERROR, "workload was not put on hold", S("workload", w->key),
            S("error", mete_last_error(s->engine)));
        return;
    }
    w->hold = hold;
    free(w->hold_text);
    w->hold_text = TAKE(text);
    scheduler_poke(s);
}

void sched_work_points(struct scheduler *s, const struct sched_work *w)
{
    int64_t points = w->pods.n > 0 ? w->pods.at[0]->points.points : 0;
    bool is_unreserved = false;

    VEC_EACH (&w->pods, p) {
        points = (*p)->points.points < points ? (*p)->points.points : points;
        is_unreserved = is_unreserved || (*p)->points.is_unreserved;
    }
    if (mete_workload_points(s->engine, w->id, points) != METE_OK ||
        mete_workload_unreserved(s->engine, w->id, is_unreserved) != METE_OK)
        LOG(ERROR, "workload got no points", S("workload", w->key),
            S("error", mete_last_error(s->engine)));
}

void scheduler_set_points(struct scheduler *s, const char *key, const char *uid,
                          const struct sched_points *points)
{
    struct sched_pod *p = scheduler_find_pod(s, key);

    if (!p || !text_equal(p->uid, uid) ||
        (p->points.points == points->points && p->points.is_unreserved == points->is_unreserved))
        return;
    p->points = *points;
    if (!p->work || p->work->phase != SCHED_WORK_WAITING)
        return;
    sched_work_points(s, p->work);
    scheduler_poke(s);
}

void scheduler_look_at_holds(void *arg)
{
    struct scheduler *s = arg;
    struct sched_work *w;
    struct sched_work *next;

    s->start_ns = 0;
    map_each (handle, s->works, w, next) {
        if (w->phase == SCHED_WORK_WAITING && w->pods.n > 0)
            sched_work_hold(s, w);
    }
    scheduler_poke(s);
}

int64_t scheduler_expected_ns(const json_t *pod)
{
    const char *text = json_text_at(pod, "metadata", "annotations", QUEUE_EXPECTED, NULL);
    int64_t ns = 0;
    AUTO(err_freep) struct err *e = text ? num_parse_duration(str_of(text), &ns) : NULL;

    return e ? 0 : ns; /* validated */
}
