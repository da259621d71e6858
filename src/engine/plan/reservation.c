/* reservation.c - reservations: set, removed, begun; and the workloads that may use them */

#include "engine/plan/reservation.h"

#include <stdlib.h>

#include "base/str.h"
#include "engine/queue/queue.h"
#include "engine/record/record.h"

static void unref_all(struct mete_engine *e, uint32_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        intern_unref(e->texts, list[i]);
    free(list);
}

static void reservation_free(struct mete_engine *e, struct reservation *b)
{
    unref_all(e, b->nodes, b->n_nodes);
    unref_all(e, b->models, b->n_models);
    unref_all(e, b->queues, b->n_queues);
    unref_all(e, b->users, b->n_users);
    unref_all(e, b->picks.at, b->picks.n);
    intern_unref(e->texts, b->name_id);
    free(b->name);
    free(b);
}

void reservations_free_all(struct mete_engine *e)
{
    VEC_EACH (&e->reservations, b) {
        reservation_free(e, *b);
    }
    vec_done(&e->reservations);
    vec_done(&e->reserved);
}

static size_t reservation_find_index(const struct mete_engine *e, const char *name)
{
    size_t i = 0;

    while (i < e->reservations.n && strcmp(e->reservations.at[i]->name, name) < 0)
        i++;
    return i;
}

static bool is_at(const struct mete_engine *e, size_t i, const char *name)
{
    return i < e->reservations.n && text_equal(e->reservations.at[i]->name, name);
}

struct reservation *reservation_find(const struct mete_engine *e, uint32_t name_id)
{
    VEC_EACH (&e->reservations, b) {
        if ((*b)->name_id == name_id)
            return *b;
    }
    return NULL;
}

static bool has_id(const uint32_t *list, size_t n, uint32_t id)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == id)
            return true;
    return false;
}

bool reservation_is_entitled(const struct mete_engine *e, const struct reservation *b,
                             const struct workload *w)
{
    if (b->is_maintenance)
        return false;
    if (has_id(b->users, b->n_users, w->user))
        return true;
    for (const struct queue *q = w->queue; b->n_queues > 0 && q->parent; q = q->parent)
        if (has_id(b->queues, b->n_queues, intern_find(e->texts, q->name)))
            return true;
    return false;
}

enum reservation_answer reservation_ask(const struct mete_engine *e, const struct workload *w,
                                        int64_t now_ns)
{
    int64_t limit_ns = w->group->time_limit_ns;
    const struct reservation *b;
    int64_t end_ns = 0;

    if (w->group->reservation == 0)
        return RESERVATION_OPEN;
    b = reservation_find(e, w->group->reservation);
    if (!b)
        return RESERVATION_MISSING;
    if (!reservation_is_entitled(e, b, w))
        return RESERVATION_NOT_ENTITLED;
    if (now_ns < b->start_ns)
        return RESERVATION_NOT_YET;
    if (now_ns >= b->end_ns)
        return RESERVATION_OVER;
    if (limit_ns > 0 && (__builtin_add_overflow(now_ns, limit_ns, &end_ns) || end_ns > b->end_ns))
        return RESERVATION_TOO_LONG;
    return RESERVATION_OPEN;
}

/* While a reservation is for users, each group has one user. */
static void reservations_find_users(struct mete_engine *e)
{
    bool is_by_user = false;

    VEC_EACH (&e->reservations, b) {
        is_by_user = is_by_user || (*b)->n_users > 0;
    }
    if (is_by_user == e->is_reserved_by_user)
        return;
    e->is_reserved_by_user = is_by_user;
    queues_changed(e);
}

static void reservations_note_change(struct mete_engine *e)
{
    reservations_changed(e);
    reservations_find_users(e);
    engine_freed(e);
    e->version++;
}

static void reservation_drop(struct mete_engine *e, size_t i)
{
    struct reservation *b = e->reservations.at[i];

    vec_remove(&e->reservations, i);
    reservation_free(e, b);
}

void reservations_begin(struct mete_engine *e, int64_t now_ns)
{
    bool is_changed = false;

    for (size_t i = e->reservations.n; i > 0; i--) {
        struct reservation *b = e->reservations.at[i - 1];

        if (b->end_ns <= now_ns) {
            reservation_drop(e, i - 1);
            is_changed = true;
        } else if (!b->has_begun && b->start_ns <= now_ns) {
            b->has_begun = true;
            is_changed = true;
        }
    }
    if (is_changed)
        reservations_note_change(e);
    reservations_ready(e);
}

static enum mete_result reservation_check_list(struct mete_engine *e,
                                               const struct mete_reservation *r,
                                               const char *const *list, size_t n, const char *noun)
{
    if (n > (list == r->nodes || list == r->gpu_uuids ? (size_t)NODES_MAX : (size_t)LIST_MAX))
        return engine_refuse(e, METE_INVALID, "reservation '%s': too many %ss", r->name, noun);
    for (size_t i = 0; i < n; i++)
        if (!text_is_sane(list[i]))
            return engine_refuse(e, METE_INVALID, "reservation '%s': %s %zu has no name", r->name,
                                 noun, i);
    return METE_OK;
}

static enum mete_result reservation_check_fields(struct mete_engine *e,
                                                 const struct mete_reservation *r)
{
    bool is_by_count = r->gpus > 0;

    if (is_by_count == (r->n_nodes > 0))
        return engine_refuse(e, METE_INVALID, "reservation '%s': needs nodes, or a number of gpus",
                             r->name);
    if (!is_by_count && (r->n_gpu_models > 0 || r->n_gpu_uuids > 0))
        return engine_refuse(e, METE_INVALID,
                             "reservation '%s': models go with a number of gpus, not with nodes",
                             r->name);
    if (r->gpus > (uint32_t)NODES_MAX)
        return engine_refuse(e, METE_INVALID, "reservation '%s': over %d gpus", r->name, NODES_MAX);
    if (r->is_maintenance ? r->n_queues + r->n_users > 0 : r->n_queues + r->n_users == 0)
        return engine_refuse(
            e, METE_INVALID,
            r->is_maintenance ? "reservation '%s': a maintenance window has no queues and no users"
                              : "reservation '%s': needs a queue or a user that it is for",
            r->name);
    return METE_OK;
}

static enum mete_result reservation_check(struct mete_engine *e, const struct mete_reservation *r)
{
    enum mete_result result;

    if (!text_is_sane(r->name))
        return engine_refuse(e, METE_INVALID, "a reservation has no name, or one over %d bytes",
                             TEXT_MAX);
    if (r->start_ns < 0 || r->end_ns <= r->start_ns)
        return engine_refuse(e, METE_INVALID, "reservation '%s': the end is not after the start",
                             r->name);
    result = reservation_check_fields(e, r);
    if (result == METE_OK)
        result = reservation_check_list(e, r, r->nodes, r->n_nodes, "node");
    if (result == METE_OK)
        result = reservation_check_list(e, r, r->gpu_uuids, r->n_gpu_uuids, "gpu");
    if (result == METE_OK)
        result = reservation_check_list(e, r, r->gpu_models, r->n_gpu_models, "model");
    if (result == METE_OK)
        result = reservation_check_list(e, r, r->queues, r->n_queues, "queue");
    return result == METE_OK ? reservation_check_list(e, r, r->users, r->n_users, "user") : result;
}

/* The first named node that the other reservation has, whole or in part; NULL. */
static const char *shared_node(struct mete_engine *e, const struct mete_reservation *r,
                               const struct reservation *other)
{
    reservations_ready(e);
    for (size_t i = 0; i < r->n_nodes; i++) {
        const struct node *n = engine_node(e, r->nodes[i]);
        uint32_t id = intern_find(e->texts, r->nodes[i]);

        if (id != 0 && has_id(other->nodes, other->n_nodes, id))
            return r->nodes[i];
        for (uint32_t k = 0; n && k < n->n_reserved; k++)
            if (e->reserved.at[n->first_reserved + k].reservation == other)
                return r->nodes[i];
    }
    return NULL;
}

/* Maintenance windows may overlap any reservation. */
static enum mete_result reservation_check_conflicts(struct mete_engine *e,
                                                    const struct mete_reservation *r)
{
    const struct reservation now = {.start_ns = r->start_ns, .end_ns = r->end_ns};

    VEC_EACH (&e->reservations, b) {
        const char *node;

        if (r->is_maintenance || (*b)->is_maintenance || text_equal((*b)->name, r->name) ||
            !reservations_overlap(*b, &now))
            continue;
        node = shared_node(e, r, *b);
        if (node)
            return engine_refuse(e, METE_CONFLICT,
                                 "reservation '%s': node '%s' is in reservation '%s' at that time",
                                 r->name, node, (*b)->name);
    }
    return METE_OK;
}

static uint32_t *read_list(struct mete_engine *e, const char *const *list, size_t n, size_t *ret_n)
{
    uint32_t *ret = mem_alloc(n * sizeof(*ret) + 1);

    *ret_n = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t id = intern_ref(e->texts, list[i]);

        if (has_id(ret, *ret_n, id))
            intern_unref(e->texts, id);
        else
            ret[(*ret_n)++] = id;
    }
    return ret;
}

static struct reservation *reservation_read(struct mete_engine *e, const struct mete_reservation *r)
{
    struct reservation *b = mem_alloc(sizeof(*b));

    b->name = mem_strdup(r->name);
    b->name_id = intern_ref(e->texts, r->name);
    b->start_ns = r->start_ns;
    b->end_ns = r->end_ns;
    b->is_maintenance = r->is_maintenance;
    b->has_begun = r->start_ns <= e->now_ns;
    b->gpus = r->gpus;
    b->nodes = read_list(e, r->nodes, r->n_nodes, &b->n_nodes);
    b->models = read_list(e, r->gpu_models, r->n_gpu_models, &b->n_models);
    b->queues = read_list(e, r->queues, r->n_queues, &b->n_queues);
    b->users = read_list(e, r->users, r->n_users, &b->n_users);
    b->picks.at = read_list(e, r->gpu_uuids, r->n_gpu_uuids, &b->picks.n);
    b->picks.room = b->picks.n;
    return b;
}

/* Prefers the gpus that were picked for the reservation's old version. */
static void keep_picks(struct mete_engine *e, struct reservation *b, const struct reservation *old)
{
    for (size_t i = 0; i < old->picks.n; i++)
        if (!has_id(b->picks.at, b->picks.n, old->picks.at[i]))
            vec_add(&b->picks, intern_ref(e->texts, intern_text(e->texts, old->picks.at[i])));
}

enum mete_result mete_reservation_set(struct mete_engine *e, const struct mete_reservation *r)
{
    enum mete_result result = reservation_check(e, r);
    struct reservation *b;
    size_t at;

    if (result == METE_OK)
        result = reservation_check_conflicts(e, r);
    if (result != METE_OK)
        return result;
    at = reservation_find_index(e, r->name);
    if (!is_at(e, at, r->name) && e->reservations.n >= RESERVATIONS_MAX)
        return engine_refuse(e, METE_INVALID, "over %d reservations", RESERVATIONS_MAX);
    record_call(e, RECORD_RESERVATION_SET, r);
    b = reservation_read(e, r);
    if (is_at(e, at, r->name)) {
        if (b->gpus > 0)
            keep_picks(e, b, e->reservations.at[at]);
        reservation_drop(e, at);
    }
    vec_add(&e->reservations, b);
    memmove(&e->reservations.at[at + 1], &e->reservations.at[at],
            (e->reservations.n - 1 - at) * sizeof(b));
    e->reservations.at[at] = b;
    reservations_note_change(e);
    reservations_ready(e);
    return METE_OK;
}

enum mete_result mete_reservation_remove(struct mete_engine *e, const char *name)
{
    size_t at = name ? reservation_find_index(e, name) : e->reservations.n;

    if (at >= e->reservations.n || !is_at(e, at, name))
        return engine_refuse(e, METE_NOT_FOUND, "there is no reservation '%s'", name ? name : "");
    record_call(e, RECORD_RESERVATION_REMOVE, &(struct record_name){name});
    reservation_drop(e, at);
    reservations_note_change(e);
    reservations_ready(e);
    return METE_OK;
}

size_t mete_reservation_count(const struct mete_engine *e)
{
    return e->reservations.n;
}
