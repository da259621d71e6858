/* quota.c - charges, and the quotas and limits that admit them */

#include "engine/device/device_asks.h"
#include "engine/queue/queue.h"

/* The gpus of a pod, in 1/1000; with a model (not 0) only gpus that can be of no other model. */
static int64_t gpus_of(const struct shape *s, uint32_t model)
{
    if (s->n_asks > 0)
        return asks_milli(s, model);
    if (model != 0 && (s->n_models != 1 || s->models[0] != model))
        return 0;
    return (int64_t)s->gpus * s->milli;
}

static void charge_set(const struct mete_engine *e, const struct group_set *set,
                       const struct shape *s, struct charge *c)
{
    int64_t times = set->count;

    for (size_t i = 0; i < e->counted.n; i++) {
        const struct counted *r = &e->counted.at[i];
        int64_t amount = 0;

        if (i == COUNTED_GPU)
            amount = gpus_of(s, 0);
        else if (r->model != 0)
            amount = gpus_of(s, r->model);
        for (size_t k = 0; amount == 0 && r->model == 0 && k < s->n_requests; k++)
            if (s->requests[k].resource == r->name)
                amount = s->requests[k].amount;
        if (__builtin_mul_overflow(amount, times, &amount) ||
            __builtin_add_overflow(c->at[i], amount, &c->at[i]) || c->at[i] > AMOUNT_MAX)
            c->at[i] = AMOUNT_MAX; /* more than any cluster has */
    }
}

void charge_of(struct mete_engine *e, const struct workload *w, struct shape *const *shapes,
               struct charge *ret)
{
    struct group *g = w->group;
    size_t size = e->counted.n * sizeof(*ret->at);

    memset(ret->at, 0, size);
    if (!shapes && g->charge && g->charge_at == e->counted_at) {
        memcpy(ret->at, g->charge, size);
        return;
    }
    for (size_t i = 0; i < g->n_sets; i++)
        charge_set(e, &g->sets[i], shapes ? shapes[i] : g->sets[i].shape, ret);
    if (shapes)
        return;
    free(g->charge);
    g->charge = mem_dup(ret->at, size + 1);
    g->charge_at = e->counted_at;
}

/* The part of its gpu is known only when it is placed: of a replica, of a share by memory. */
static bool has_open_asks(const struct workload *w)
{
    for (size_t i = 0; i < w->group->n_sets; i++)
        if (asks_are_open(w->group->sets[i].shape))
            return true;
    return false;
}

/* The models of its gpus are known only once a workload is placed. */
void charge_of_placed(struct mete_engine *e, const struct workload *w, struct charge *ret)
{
    bool is_unknown = e->counted.n > 0 && has_open_asks(w);

    charge_of(e, w, NULL, ret);
    for (size_t i = 0; i < e->counted.n; i++) {
        const struct counted *r = &e->counted.at[i];

        if (r->model == 0 && !(i == COUNTED_GPU && is_unknown))
            continue;
        ret->at[i] = 0;
        for (size_t k = 0; k < w->n_pods; k++)
            for (size_t n = 0; n < w->pods[k].n_gpus; n++)
                if (i == COUNTED_GPU || w->pods[k].gpus[n]->model == r->model)
                    ret->at[i] += pod_device_milli(&w->pods[k], n);
    }
}

struct queue_user *queue_user(const struct queue *q, uint32_t user)
{
    struct queue_user *u = NULL;

    map_find(handle, q->users, &user, sizeof(user), u);
    return u;
}

static void count_cell(struct mete_engine *e, struct queue *q, size_t i, int64_t amount,
                       bool is_secured, bool is_own)
{
    struct queue_cell *cell = &q->cells[i];
    int64_t kept;

    SET(e, cell->held, cell->held + amount);
    if (is_secured)
        SET(e, cell->secured, cell->secured + amount);
    if (is_own)
        SET(e, cell->below, cell->below + amount);
    kept = cell->below > cell->guarantee ? cell->below : cell->guarantee;
    if (kept == cell->kept)
        return;
    if (q->parent)
        SET(e, q->parent->cells[i].below, q->parent->cells[i].below + kept - cell->kept);
    SET(e, cell->kept, kept);
}

void queue_count_held(struct mete_engine *e, struct workload *w, const int64_t *charge, int sign)
{
    for (struct queue *q = w->queue; q; q = q->parent) {
        struct queue_user *u = queue_user(q, w->user);

        if (!w->is_extra) {
            SET(e, q->n_running, q->n_running + (uint32_t)sign);
            SET(e, u->n_running, u->n_running + (uint32_t)sign);
        }
        SET(e, u->gpu_milli, u->gpu_milli + sign * charge[COUNTED_GPU]);
        SET(e, u->billed, u->billed + (uint64_t)sign * w->billed);
        for (size_t i = 0; i < e->counted.n; i++)
            if (charge[i] != 0)
                count_cell(e, q, i, sign * charge[i], w->is_secured, q == w->queue);
    }
}

uint64_t queue_part_of(int64_t amount, int64_t capacity)
{
    if (amount <= 0)
        return 0;
    if (capacity <= 0 || amount / 1024 >= capacity)
        return DECAY_ONE * 1024;
    return decay_scale((uint64_t)amount, DECAY_ONE, (uint64_t)capacity);
}

uint64_t queue_part(const struct mete_engine *e, const struct queue *q, size_t i)
{
    return queue_part_of(q->cells[i].held, e->counted.at[i].capacity);
}

uint64_t queue_share(const struct mete_engine *e, const struct queue *q, const struct charge *c)
{
    uint64_t most = 0;

    for (size_t i = 0; i < e->counted.n; i++) {
        uint64_t here = q->cells[i].usage.lately;

        if (q->cells[i].held > 0 || (c && c->at[i] > 0))
            here +=
                queue_part_of(q->cells[i].held + (c ? c->at[i] / 2 : 0), e->counted.at[i].capacity);
        most = here > most ? here : most;
    }
    return most / q->weight;
}

bool queue_is_within(const struct mete_engine *e, const struct queue *q, const struct charge *c,
                     bool *ret_has)
{
    *ret_has = false;
    for (size_t i = 0; q->has_quotas && i < e->counted.n; i++) {
        if (c->at[i] == 0 || !q->cells[i].has_quota)
            continue;
        *ret_has = true;
        if (q->cells[i].held + c->at[i] > q->cells[i].nominal)
            return false;
    }
    return *ret_has;
}

bool queue_would_secure(const struct mete_engine *e, const struct workload *w, const int64_t *c)
{
    bool has = false;

    for (const struct queue *q = w->queue; q; q = q->parent) {
        has = has || q->has_quotas;
        for (size_t i = 0; q->has_quotas && i < e->counted.n; i++)
            if (c[i] > 0 && q->cells[i].has_quota &&
                q->cells[i].secured + c[i] > q->cells[i].nominal)
                return false;
    }
    return has;
}

static void queue_secure(struct mete_engine *e, struct workload *w)
{
    w->is_secured = true;
    for (struct queue *q = w->queue; q; q = q->parent)
        for (size_t i = 0; i < e->counted.n; i++)
            q->cells[i].secured += w->charged[i];
}

void queue_unsecure(struct mete_engine *e, struct workload *w)
{
    if (!w->is_secured)
        return;
    w->is_secured = false;
    e->may_secure = true;
    for (struct queue *q = w->queue; q; q = q->parent)
        for (size_t i = 0; i < e->counted.n; i++)
            q->cells[i].secured -= w->charged[i];
}

void queues_secure(struct mete_engine *e)
{
    if (!e->may_secure)
        return;
    e->may_secure = false;
    VEC_EACH (&e->queues, q) {
        for (struct workload *w = (*q)->first_placed; w; w = w->placed_after)
            if (w->evicted_by == 0 && !w->is_secured && !w->is_extra &&
                queue_would_secure(e, w, w->charged))
                queue_secure(e, w);
    }
}

void queues_measure(struct mete_engine *e)
{
    if (e->capacities_at == e->nodes_version)
        return;
    e->capacities_at = e->nodes_version;
    VEC_EACH (&e->counted, r) {
        r->capacity = 0;
        for (size_t k = 0; k < e->order.n; k++) {
            const struct node *n = e->order.at[k];
            const struct room *room;

            if (r == &e->counted.at[COUNTED_GPU]) {
                r->capacity += (int64_t)n->n_gpus * MILLI;
                continue;
            }
            for (uint32_t i = 0; r->model != 0 && i < n->n_gpus; i++)
                r->capacity += n->gpus[i]->model == r->model ? MILLI : 0;
            room = r->model == 0 ? node_room(n, r->name) : NULL;
            if (room && __builtin_add_overflow(r->capacity, room->capacity, &r->capacity))
                r->capacity = INT64_MAX;
        }
    }
}

/* Replaces the block found so far if `b` precedes it. */
static void quota_block_add(struct quota_block *ret, struct quota_block b)
{
    if (ret->code == METE_REASON_NONE || b.code < ret->code)
        *ret = b;
}

static void ask_queue(const struct queue *q, const struct workload *w, struct quota_block *ret)
{
    struct quota_block b = {.queue = q, .counted = RESOURCES_MAX};

    if (q->is_stopped) {
        b.code = METE_REASON_QUEUE_STOPPED;
        quota_block_add(ret, b);
    }
    if (q->time_limit_ns > 0 &&
        (w->group->time_limit_ns == 0 || w->group->time_limit_ns > q->time_limit_ns)) {
        b.code = METE_REASON_OVER_MAX;
        b.resource = "time";
        b.asked = w->group->time_limit_ns;
        b.limit = q->time_limit_ns;
        quota_block_add(ret, b);
    }
}

/* The present use of a queue, or of a user in it. */
struct has {
    uint32_t running; /* 0 for an extra, whose workload counts already */
    int64_t gpu_milli;
};

/* Checks the limits of a queue, or of a user in it. */
static void ask_limits(const struct queue *q, const struct mete_limits *limits,
                       const struct has *has, const struct charge *c, struct quota_block *ret)
{
    bool is_user = limits == &q->user_limits;
    enum mete_reason_code code = is_user ? METE_REASON_USER_LIMIT : METE_REASON_QUOTA;

    if (limits->running > 0 && has->running >= limits->running)
        quota_block_add(ret, (struct quota_block){code, q, "workloads", RESOURCES_MAX, 1,
                                                  has->running, limits->running});
    if (limits->gpu_milli > 0 && c->at[COUNTED_GPU] > limits->gpu_milli - has->gpu_milli &&
        c->at[COUNTED_GPU] > 0)
        quota_block_add(
            ret, (struct quota_block){
                     c->at[COUNTED_GPU] > limits->gpu_milli ? METE_REASON_OVER_MAX : code, q, "gpu",
                     COUNTED_GPU, c->at[COUNTED_GPU], has->gpu_milli, limits->gpu_milli});
}

/*
 * Checks one resource, up the tree from the workload's queue: the amount held, and the amount kept
 * together with the guarantees of other queues, against each ceiling; in the root, if there are
 * guarantees, against the cluster's capacity.
 */
static void ask_cell(const struct mete_engine *e, const struct workload *w, size_t i, int64_t asked,
                     struct quota_block *ret)
{
    int64_t more = asked; /* the increase of `kept` in the queue below */

    for (const struct queue *q = w->queue; q; q = q->parent) {
        const struct queue_cell *cell = &q->cells[i];
        int64_t ceiling = cell->has_quota ? cell->ceiling : METE_UNLIMITED;
        struct quota_block b = {METE_REASON_QUOTA, q, "", i, asked, cell->held, ceiling};
        int64_t after;

        if (!q->parent && cell->guarantee > 0)
            b.limit = e->counted.at[i].capacity; /* else the nodes are the limit */
        if (asked > b.limit && q->parent)
            b.code = METE_REASON_OVER_MAX;
        if (q->parent && asked > b.limit - cell->held)
            quota_block_add(ret, b);
        after = cell->below + more;
        b.held = cell->below;
        if (more > 0 && after > b.limit)
            quota_block_add(ret, b);
        after = after > cell->guarantee ? after : cell->guarantee;
        more = after > cell->kept ? after - cell->kept : 0;
    }
}

bool queue_admits(struct mete_engine *e, const struct workload *w, const struct charge *c,
                  struct quota_block *ret)
{
    struct quota_block b = {0};

    if (!queue_is_leaf(w->queue))
        b = (struct quota_block){.code = METE_REASON_NO_SUCH_QUEUE, .queue = w->queue};
    for (const struct queue *q = w->queue; q && e->counted.n > 0; q = q->parent) {
        struct has has = {w->is_extra ? 0 : q->n_running, q->cells[COUNTED_GPU].held};

        ask_queue(q, w, &b);
        ask_limits(q, &q->limits, &has, c, &b);
        if (q->user_limits.running > 0 || q->user_limits.gpu_milli > 0) {
            const struct queue_user *u = queue_user(q, w->user);

            has = (struct has){u && !w->is_extra ? u->n_running : 0, u ? u->gpu_milli : 0};
            ask_limits(q, &q->user_limits, &has, c, &b);
        }
    }
    for (size_t i = 0; i < e->counted.n; i++)
        if (c->at[i] > 0)
            ask_cell(e, w, i, c->at[i], &b);
    if (ret)
        *ret = b;
    return b.code == METE_REASON_NONE;
}

bool queue_may_start(struct mete_engine *e, const struct workload *w, struct shape *const *shapes)
{
    struct charge c;

    if (e->counted.n == 0)
        return true;
    charge_of(e, w, shapes, &c);
    return queue_admits(e, w, &c, NULL);
}

bool queue_admits_placed(struct mete_engine *e, const struct workload *w, struct quota_block *ret)
{
    bool has_models = e->counted.n > 0 && has_open_asks(w);
    struct charge c;

    VEC_EACH (&e->counted, r) {
        has_models = has_models || r->model != 0;
    }
    if (!has_models)
        return true;
    charge_of_placed(e, w, &c);
    return queue_admits(e, w, &c, ret);
}

/* The dominant part of a charge: its largest part of the cluster. */
static uint64_t charge_bill(const struct mete_engine *e, const int64_t *charge)
{
    uint64_t most = 0;

    for (size_t i = 0; i < e->counted.n; i++) {
        uint64_t here = charge[i] > 0 ? queue_part_of(charge[i], e->counted.at[i].capacity) : 0;

        most = here > most ? here : most;
    }
    return most;
}

static void list_placed(struct workload *w)
{
    struct queue *q = w->queue;

    w->placed_before = q->last_placed;
    w->placed_after = NULL;
    if (q->last_placed)
        q->last_placed->placed_after = w;
    else
        q->first_placed = w;
    q->last_placed = w;
}

static void unlist_placed(struct workload *w)
{
    struct queue *q = w->queue;

    if (w->placed_before)
        w->placed_before->placed_after = w->placed_after;
    else
        q->first_placed = w->placed_after;
    if (w->placed_after)
        w->placed_after->placed_before = w->placed_before;
    else
        q->last_placed = w->placed_before;
    w->placed_before = NULL;
    w->placed_after = NULL;
}

void queue_users_make(struct mete_engine *e, const struct workload *w)
{
    for (struct queue *q = w->queue; q; q = q->parent) {
        struct queue_user *u = queue_user(q, w->user);

        if (u)
            continue;
        u = mem_alloc(sizeof(*u));
        u->user = w->user;
        (void)intern_ref(e->texts, intern_text(e->texts, w->user));
        map_add(handle, q->users, &u->user, sizeof(u->user), u);
    }
}

void queue_count_trial(struct mete_engine *e, struct workload *w)
{
    struct charge c;

    if (e->counted.n == 0)
        return;
    charge_of_placed(e, w, &c);
    queue_users_make(e, w);
    queue_count_held(e, w, c.at, 1);
}

void queue_count_placed(struct mete_engine *e, struct workload *w)
{
    struct charge c;

    if (e->counted.n == 0)
        return;
    queue_users_make(e, w);
    queues_measure(e);
    charge_of_placed(e, w, &c);
    w->charged = mem_dup(c.at, e->counted.n * sizeof(*c.at));
    w->billed = charge_bill(e, w->charged);
    w->is_secured = !w->is_extra && queue_would_secure(e, w, w->charged);
    queue_count_held(e, w, w->charged, 1);
}

void queue_placed(struct mete_engine *e, struct workload *w)
{
    list_placed(w);
    queue_count_placed(e, w);
}

void queue_given(struct mete_engine *e, struct workload *w)
{
    unlist_placed(w);
    e->may_secure = e->may_secure || w->is_secured;
    if (w->charged)
        queue_count_held(e, w, w->charged, -1);
    free(w->charged);
    w->charged = NULL;
    w->is_secured = false;
}
