/*
 * slurm_gang.c - ends of attempts on several nodes
 *
 * The end of an attempt is decided once: by the script's pod, which has rank 0, or by the loss of
 * another node. The decision is written to the status (`records.ending`) before any pod of the
 * attempt is released. Then all other pods end and are released, the pod of rank 0 at last,
 * together with the count of the end: a pod of rank 0 stands for the attempt from its creation
 * until then. The next attempt starts only when no pod of this one is left.
 */
#include "base/num.h"
#include "control/slurm/slurm_private.h"

static json_t *endings_of(json_t *status)
{
    return json_object_at(json_object_at(status, "records"), "ending");
}

static const json_t *find_ending(const struct sjob_turn *t, size_t index)
{
    char key[24];
    const json_t *found =
        json_at(t->status, "records", "ending", sjob_element_key(t->job, index, key), NULL);

    return json_is_object(found) ? found : NULL;
}

static void put_ending(struct sjob_turn *t, size_t index, const struct sjob_end *end,
                       const char *nodes)
{
    json_t *ending = json_object();
    char key[24];

    json_put_text(ending, "state", sjob_state_names[end->state]);
    json_put_int(ending, "code", end->code);
    json_put_int(ending, "signal", end->signal);
    json_put_int(ending, "startedNs", end->started_ns);
    json_put_int(ending, "endedNs", end->ended_ns);
    json_put_text(ending, "nodes", nodes);
    json_put(endings_of(t->status), sjob_element_key(t->job, index, key), ending);
    t->is_urgent = true;
}

static struct sjob_end read_ending(const json_t *ending)
{
    struct sjob_end end = {.state = SJOB_FAILED,
                           .code = json_int(ending, "code", 0),
                           .signal = json_int(ending, "signal", 0),
                           .started_ns = json_int(ending, "startedNs", 0),
                           .ended_ns = json_int(ending, "endedNs", 0)};

    for (int i = SJOB_COMPLETED; i < SJOB_STATES; i++)
        if (text_equal(json_text(ending, "state"), sjob_state_names[i]))
            end.state = (enum sjob_state)i;
    return end;
}

/* ---- decisions ---- */

static bool is_own_end(enum sjob_state state)
{
    return state == SJOB_COMPLETED || state == SJOB_FAILED || state == SJOB_TIMEOUT ||
           state == SJOB_OUT_OF_MEMORY;
}

/*
 * What the end or fate of a pod says about the attempt: the highest weight decides, 0 is nothing.
 * The pods of higher ranks end by themselves only if their node cannot hold them.
 */
static int gang_weight(const struct sjob_pod *p)
{
    enum sjob_state state = p->state >= SJOB_COMPLETED ? p->state : p->fate;
    bool is_kept = json_bool_at(p->job->object, "spec", "noKill", NULL);

    if (p->rank == 0 && (p->state < SJOB_COMPLETED || is_own_end(state)))
        return p->state < SJOB_COMPLETED ? 0 : 5;
    if (state == SJOB_NODE_FAIL)
        return p->rank > 0 && is_kept ? 0 : 4;
    if (state == SJOB_PREEMPTED)
        return 3;
    if (p->rank == 0)
        return 1;
    return state == SJOB_FAILED || state == SJOB_OUT_OF_MEMORY || state == SJOB_COMPLETED ? 2 : 0;
}

static struct sjob_end end_of(const struct sjob_pod *p)
{
    struct sjob_end end = p->end;

    if (p->state < SJOB_COMPLETED) { /* it is evicted */
        end.state = p->fate;
        end.ended_ns = loop_wall_ns(p->job->jobs->options.loop);
    } else if (p->rank > 0 && end.state == SJOB_COMPLETED) { /* it let go of its node */
        end.state = SJOB_FAILED;
        end.code = 1;
    } else if (end.state == SJOB_CANCELLED && !p->node && text_equal(p->job->reason, "DeadLine")) {
        end.state = SJOB_DEADLINE;
    }
    return end;
}

/* Ends the pods of the attempt that run. */
static void gang_kill(struct sjob_turn *t, size_t index)
{
    struct sjob *j = t->job;

    for (int64_t rank = 0; rank < j->ask.nodes; rank++) {
        struct sjob_pod *p = sjob_find_rank(j, index, rank);

        if (p && p->state < SJOB_COMPLETED && !p->is_killed && !p->is_deleting)
            vec_add(&t->killed, p);
    }
}

/*
 * Decides the end of the attempt if its pods tell enough. If one was deleted, or the pod of rank 0
 * is evicted, all end, and the end of rank 0 then decides: its script may still end well.
 */
static void gang_decide(struct sjob_turn *t, struct sjob_pod *first)
{
    struct sjob *j = t->job;
    size_t index = (size_t)first->index;
    const struct sjob_pod *best = NULL;
    bool is_deleted = false;
    struct sjob_end end;

    for (int64_t rank = 0; rank < j->ask.nodes; rank++) {
        const struct sjob_pod *p = sjob_find_rank(j, index, rank);

        if (p && gang_weight(p) > (best ? gang_weight(best) : 0))
            best = p;
        is_deleted = is_deleted || (p && p->rank > 0 && p->state == SJOB_CANCELLED);
    }
    if (!best) {
        if (is_deleted || first->fate != SJOB_PENDING)
            gang_kill(t, index);
        return;
    }
    end = end_of(best);
    if (first->end.started_ns > 0)
        end.started_ns = first->end.started_ns;
    put_ending(t, index, &end, sjob_pod_nodes(first));
}

/* Has the pod ended, or will it by an eviction? */
static bool is_telling(const struct sjob_pod *p)
{
    return p->state >= SJOB_COMPLETED || p->fate != SJOB_PENDING;
}

static void gangs_decide(struct sjob_turn *t)
{
    struct sjob *j = t->job;
    AUTO(index_set_done) struct index_set seen = {0};
    struct sjob_pod *p;
    struct sjob_pod *tmp;

    map_each (by_slot, j->pods, p, tmp) {
        size_t index = (size_t)p->index;
        struct sjob_pod *first = is_telling(p) ? sjob_find_pod(j, index) : NULL;

        if (p->state >= SJOB_COMPLETED && !p->is_outdated && !sjob_take_programs(t, p))
            continue;
        if (!first || index_set_has(&seen, index) || find_ending(t, index) ||
            p->restarts != sjob_restarts(j->status, j, index))
            continue; /* of other restarts: the event of the status comes later */
        (void)index_set_add(&seen, index);
        gang_decide(t, first);
    }
}

/* ---- the end ---- */

/* Ends the pod, or releases it when it has ended. False: the pod is still there after the turn. */
static bool gang_let_go(struct sjob_turn *t, struct sjob_pod *p)
{
    if (p->state >= SJOB_COMPLETED)
        return sjob_turn_release(t, p);
    if (!p->is_killed && !p->is_deleting)
        vec_add(&t->killed, p);
    return false;
}

/* A null removes the member when the patch is merged. */
static void forget_ending(struct sjob_turn *t, size_t index)
{
    char key[24];

    json_put(endings_of(t->status), sjob_element_key(t->job, index, key), json_null());
}

static void gang_finish(struct sjob_turn *t, size_t index, const json_t *ending)
{
    struct sjob *j = t->job;
    struct sjob_pod *first = sjob_find_pod(j, index);
    struct sjob_end end = read_ending(ending);
    bool is_last = true;

    for (int64_t rank = 1; rank < j->ask.nodes; rank++) {
        struct sjob_pod *p = sjob_find_rank(j, index, rank);

        is_last = (!p || gang_let_go(t, p)) && is_last;
    }
    if (first && first->state < SJOB_COMPLETED) {
        (void)gang_let_go(t, first);
        return;
    }
    if (!is_last || (first && !sjob_turn_release(t, first)))
        return;
    if (first)
        first->end = end; /* for listings */
    sjob_turn_end(t, index, &end, json_text(ending, "nodes"));
    forget_ending(t, index);
}

static void gangs_finish(struct sjob_turn *t)
{
    struct sjob *j = t->job;
    AUTO(json_freep)
    json_t *endings = json_copy(json_at(t->status, "records", "ending", NULL));
    const char *key;
    json_t *ending;

    json_object_foreach (endings, key, ending) {
        int64_t index = 0;

        if (!json_is_object(ending))
            continue;
        if (j->is_array)
            err_free(num_parse_int64(str_of(key), 0, SLURM_ARRAY_MAX, &index)); /* our own number */
        gang_finish(t, (size_t)index, ending);
    }
}

/*
 * Pods that no end waits for: of nodes that a job goes on without (noKill), and of an attempt whose
 * pod of rank 0 somebody removed.
 */
static void gangs_release_rest(struct sjob_turn *t)
{
    struct sjob *j = t->job;
    struct sjob_pod *p;
    struct sjob_pod *tmp;

    map_each (by_slot, j->pods, p, tmp) {
        const struct sjob_pod *first = sjob_find_pod(j, (size_t)p->index);

        if (p->rank == 0 || p->is_outdated || find_ending(t, (size_t)p->index) ||
            p->restarts != sjob_restarts(j->status, j, (size_t)p->index))
            continue;
        if (!first || (p->state == SJOB_NODE_FAIL && first->state < SJOB_COMPLETED))
            (void)gang_let_go(t, p);
    }
}

void sjob_turn_count_gangs(struct sjob_turn *t)
{
    gangs_decide(t);
    gangs_release_rest(t);
    gangs_finish(t);
}
