/*
 * learn.c - learning the table of policy "mete" by self-play
 *
 * An episode fills the cluster. The learner notes each state of a gpu, and the compute of the gpu
 * that was idle when the pods had asked for 100 % of the cluster, and at the end (130 %). The table
 * has the mean by state, with less weight for older episodes. So the next episode places by the
 * policy's own outcome (policy iteration by Monte Carlo).
 *
 * The prices of models come first: a price rises when pods that name the model are denied while
 * other pods hold it, and falls when the model stays idle. Then several sets of prices, also one
 * without prices, play the same arrivals, and the best set stays. The tables of several starts
 * compete in the same way, as do several later tables of the best start: they differ by some tenths
 * of a point.
 */

#include "sim/learn.h"

#include <stdlib.h>

#include "base/mem.h"
#include "sim/learn_world.h"

enum {
    WHOLE = 1000,
    EPISODES_FIRST =
        24, /* episodes that find prices, if pods name models; and episodes of each start */
    STARTS = 6,
    EPISODES_EACH = 5, /* of the best start, between two compared tables */
    TABLES = 5,
    TRIALS = 5, /* episodes that compare prices or tables */
    HORIZON_PCT = 130,
    FRAGMENT_MILLI = 100, /* a tenth of the fragment, for states that the learner never saw */
    PRICES_MAX = 8
};

static const double keeps = 0.93;     /* weight of older episodes, for each episode */
static const double prior_weight = 3; /* of the mean of similar states, in visits */
static const double price_rate = 0.5;
static const double price_tires = 0.1; /* fall of the rate with each episode */

struct visit {
    uint32_t entry;
    uint32_t node;
    uint32_t gpu;
};

struct learner {
    struct world world;
    struct chance chance;
    uint64_t arrivals;
    double *sums; /* by entry: idle compute */
    double *counts;
    int32_t *idle; /* the table */
    size_t size;
    struct visit *visits;
    size_t n_visits;
    size_t visits_room;
    size_t visits_at_100;
    uint16_t *idle_at_100; /* by node and gpu */
    bool has_named;        /* some pods name models */
    double prices[LEARN_MODELS_MAX];
};

static void learner_done(struct learner *l)
{
    world_done(&l->world);
    free(l->sums);
    free(l->counts);
    free(l->idle);
    free(l->visits);
    free(l->idle_at_100);
}

/* Notes the state of each gpu of a node. */
static void note_visits(struct learner *l, size_t node)
{
    const struct world_node *n = &l->world.nodes[node];
    const size_t entry = world_entry(&l->world, n);

    if (l->n_visits + LEARN_GPUS_MAX > l->visits_room) {
        l->visits_room = l->visits_room * 2 + 65536;
        l->visits = mem_realloc(l->visits, l->visits_room * sizeof(*l->visits));
    }
    for (uint32_t i = 0; i < n->gpus; i++)
        if (n->free[i] > 0)
            l->visits[l->n_visits++] = (struct visit){
                (uint32_t)(entry + n->free[i] / METE_VALUES_LEVEL_MILLI), (uint32_t)node, i};
}

static void add_visits(struct learner *l)
{
    for (size_t i = 0; i < l->size; i++) {
        l->sums[i] *= keeps;
        l->counts[i] *= keeps;
    }
    for (size_t i = 0; i < l->n_visits; i++) {
        const struct visit *v = &l->visits[i];
        double idle = l->world.nodes[v->node].free[v->gpu];

        if (i < l->visits_at_100)
            idle = (idle + l->idle_at_100[v->node * LEARN_GPUS_MAX + v->gpu]) / 2;
        l->sums[v->entry] += idle;
        l->counts[v->entry] += 1;
    }
}

/* A mean that stays near `prior` when the count is small. */
static double mean_of(double sum, double count, double prior)
{
    return (sum + prior_weight * prior) / (count + prior_weight);
}

/* A rare state gets nearly the mean of states with equal free compute and cpu, and these get nearly
 * the mean of states with equal free compute. */
static void make_level(struct learner *l, size_t level)
{
    const size_t row = (size_t)METE_VALUES_WHOLE * METE_VALUES_LEVELS;
    double sum = 0;
    double count = 0;
    double prior;

    for (size_t i = level; i < l->size; i += METE_VALUES_LEVELS) {
        sum += l->sums[i];
        count += l->counts[i];
    }
    prior = mean_of(sum, count, (double)level * METE_VALUES_LEVEL_MILLI / 2);
    for (size_t cpu = level; cpu < l->size; cpu += row) {
        double similar;

        sum = 0;
        count = 0;
        for (size_t i = cpu; i < cpu + row; i += METE_VALUES_LEVELS) {
            sum += l->sums[i];
            count += l->counts[i];
        }
        similar = (sum + 2 * prior_weight * prior) / (count + 2 * prior_weight);
        for (size_t i = cpu; i < cpu + row; i += METE_VALUES_LEVELS) {
            double idle = mean_of(l->sums[i], l->counts[i], similar);

            l->idle[i] = (int32_t)(idle > WHOLE ? WHOLE * WHOLE : idle * WHOLE);
        }
    }
}

static void make_table(struct learner *l)
{
    for (size_t level = 0; level < METE_VALUES_LEVELS; level++)
        make_level(l, level);
    l->world.idle = l->idle;
}

static void learner_init(struct learner *l, const struct learn_input *in)
{
    *l = (struct learner){.chance = chance_of(in->seed)};
    world_init(&l->world, in);
    l->size = METE_VALUES_SIZE(l->world.n_cpu_steps);
    l->sums = mem_alloc(l->size * sizeof(*l->sums));
    l->counts = mem_alloc(l->size * sizeof(*l->counts));
    l->idle = mem_alloc(l->size * sizeof(*l->idle));
    l->idle_at_100 = mem_alloc(l->world.n_nodes * LEARN_GPUS_MAX * sizeof(*l->idle_at_100));
    l->world.fragment_milli = FRAGMENT_MILLI;
    make_table(l);
    for (size_t i = 0; i < l->world.n_classes; i++)
        l->has_named |= l->world.classes[i].models != 0 && l->world.classes[i].gpus > 0;
}

static void note_at_100(struct learner *l)
{
    l->visits_at_100 = l->n_visits;
    for (size_t i = 0; i < l->world.n_nodes; i++)
        memcpy(&l->idle_at_100[i * LEARN_GPUS_MAX], l->world.nodes[i].free,
               LEARN_GPUS_MAX * sizeof(*l->idle_at_100));
}

/* Requests of pods that name a model, and of all others. */
struct named {
    double asked[LEARN_MODELS_MAX]; /* for each 1/1000 gpu of the model */
    double denied[LEARN_MODELS_MAX];
    double idle[LEARN_MODELS_MAX];
    double any_denied; /* part of the other pods' requests */
    double all_idle;
};

static void count_class(const struct world *w, const struct world_class *c, struct named *n)
{
    double capacity = 0;

    for (size_t m = 0; m < w->in->n_models; m++)
        capacity += c->models >> m & 1 ? (double)w->model_milli[m] : 0;
    for (size_t m = 0; m < w->in->n_models && capacity > 0; m++)
        if (c->models >> m & 1) {
            n->asked[m] += (double)c->asked_milli / capacity;
            n->denied[m] += (double)c->denied_milli / capacity;
        }
}

static void count_named(const struct world *w, struct named *n)
{
    double asked = 0;
    double denied = 0;

    for (size_t i = 0; i < w->n_classes; i++) {
        const struct world_class *c = &w->classes[i];

        if (c->models != 0) {
            count_class(w, c, n);
        } else {
            asked += (double)c->asked_milli;
            denied += (double)c->denied_milli;
        }
    }
    n->any_denied = asked > 0 ? denied / asked : 0;
    n->all_idle = 1 - (double)w->used_milli / (double)w->capacity_milli;
    for (size_t i = 0; i < w->n_nodes; i++)
        for (uint32_t k = 0; k < w->nodes[i].gpus; k++)
            n->idle[w->nodes[i].model] += w->nodes[i].free[k];
    for (size_t m = 0; m < w->in->n_models; m++)
        n->idle[m] = w->model_milli[m] > 0 ? n->idle[m] / (double)w->model_milli[m] : 0;
}

static void set_prices(struct world *w, const double prices[])
{
    for (size_t m = 0; m < w->in->n_models; m++)
        w->price_milli[m] = (int32_t)(prices[m] * WHOLE);
}

static void move_prices(struct learner *l, double rate)
{
    struct named n = {0};

    count_named(&l->world, &n);
    for (size_t m = 0; m < l->world.in->n_models; m++) {
        double over = n.denied[m] - n.asked[m] * n.any_denied - (n.idle[m] - n.all_idle);
        double price = l->prices[m] + rate * over;

        if (l->world.model_milli[m] > 0)
            l->prices[m] = price < 0 ? 0 : price > 1 ? 1 : price;
    }
    set_prices(&l->world, l->prices);
}

/* Plays an episode. Returns used gpu / capacity: the mean of its values at 100 % and at the end. */
static double learner_play(struct learner *l, struct chance *c, bool learns, double rate)
{
    struct world *w = &l->world;
    const int64_t end = w->capacity_milli / 100 * HORIZON_PCT;
    int64_t asked = 0;
    double used = 0;
    bool is_past = false;

    world_clear(w, c);
    l->n_visits = 0;
    while (asked < end) {
        uint32_t kind = world_draw(w, c);
        size_t node = world_place(w, kind);

        asked += (int64_t)w->in->kinds[kind].gpus * w->in->kinds[kind].gpu_milli;
        l->arrivals++;
        if (learns && node != SIZE_MAX)
            note_visits(l, node);
        if (is_past || asked < w->capacity_milli)
            continue;
        is_past = true;
        used = (double)w->used_milli;
        if (learns)
            note_at_100(l);
        if (rate > 0)
            move_prices(l, rate);
    }
    if (learns) {
        add_visits(l);
        make_table(l);
    }
    return (used + (double)w->used_milli) / 2 / (double)w->capacity_milli;
}

static void learner_learn(struct learner *l, int episodes, bool moves_prices)
{
    for (int i = 0; i < episodes; i++)
        (void)learner_play(l, &l->chance, true,
                           moves_prices ? price_rate / (1 + price_tires * i) : 0);
}

/* The result of the present table and prices, over the same arrivals each time. */
static double learner_judge(struct learner *l)
{
    struct chance c = chance_of(l->world.in->seed + 1);
    double sum = 0;

    for (int i = 0; i < TRIALS; i++)
        sum += learner_play(l, &c, false, 0);
    return sum / TRIALS;
}

/* The load of each model from pods that name it, when all pods ask for 100 % of the cluster. */
static void load_prices(const struct world *w, double ret[])
{
    double total = 0;

    for (size_t i = 0; i < w->n_classes; i++)
        total += (double)w->classes[i].weight * w->classes[i].gpus * w->classes[i].gpu_milli;
    for (size_t i = 0; i < w->n_classes; i++) {
        const struct world_class *c = &w->classes[i];
        double asked =
            (double)c->weight * c->gpus * c->gpu_milli / total * (double)w->capacity_milli;
        double capacity = 0;

        for (size_t m = 0; m < w->in->n_models; m++)
            capacity += c->models >> m & 1 ? (double)w->model_milli[m] : 0;
        for (size_t m = 0; m < w->in->n_models && capacity > 0; m++)
            ret[m] += c->models >> m & 1 ? asked / capacity : 0;
    }
}

static void choose_prices(struct learner *l)
{
    /* Factors of the prices found, and of the load. */
    static const double scales[PRICES_MAX][2] = {{0, 0},   {0.5, 0}, {1, 0},   {2, 0},
                                                 {0, 0.1}, {0, 0.3}, {0, 0.6}, {0.5, 0.1}};
    double load[LEARN_MODELS_MAX] = {0};
    double best[LEARN_MODELS_MAX] = {0};
    double best_used = -1;

    load_prices(&l->world, load);
    for (int i = 0; i < PRICES_MAX; i++) {
        double prices[LEARN_MODELS_MAX] = {0};
        double used;

        for (size_t m = 0; m < l->world.in->n_models; m++) {
            double price = scales[i][0] * l->prices[m] + scales[i][1] * load[m];

            prices[m] = price > 1 ? 1 : price;
        }
        set_prices(&l->world, prices);
        used = learner_judge(l);
        if (used > best_used) {
            best_used = used;
            memcpy(best, prices, sizeof(best));
        }
    }
    memcpy(l->prices, best, sizeof(best));
    set_prices(&l->world, best);
}

/* A copy of the learner's table. */
struct learned {
    double *sums;
    double *counts;
    int32_t *idle;
    double used; /* learner_judge()'s result with it; under 0: no table */
};

static void learned_done(struct learned *b)
{
    free(b->sums);
    free(b->counts);
    free(b->idle);
}

/* Copies the learner's table to `best` if its result is better. */
static void learned_keep_better(const struct learner *l, struct learned *best, double used)
{
    if (used <= best->used)
        return;
    best->used = used;
    memcpy(best->sums, l->sums, l->size * sizeof(*l->sums));
    memcpy(best->counts, l->counts, l->size * sizeof(*l->counts));
    memcpy(best->idle, l->idle, l->size * sizeof(*l->idle));
}

static void learner_take_back(struct learner *l, const struct learned *best)
{
    memcpy(l->sums, best->sums, l->size * sizeof(*l->sums));
    memcpy(l->counts, best->counts, l->size * sizeof(*l->counts));
    memcpy(l->idle, best->idle, l->size * sizeof(*l->idle));
}

/* Learning ends in different tables: so the learner starts several times, goes on from the best
 * start, and takes the best table. */
static void choose_table(struct learner *l)
{
    struct learned best = {mem_alloc(l->size * sizeof(double)), mem_alloc(l->size * sizeof(double)),
                           mem_alloc(l->size * sizeof(int32_t)), -1};

    for (int i = 0; i < STARTS; i++) {
        memset(l->sums, 0, l->size * sizeof(*l->sums));
        memset(l->counts, 0, l->size * sizeof(*l->counts));
        make_table(l);
        learner_learn(l, EPISODES_FIRST, false);
        learned_keep_better(l, &best, learner_judge(l));
    }
    learner_take_back(l, &best);
    for (int i = 0; i < TABLES; i++) {
        learner_learn(l, EPISODES_EACH, false);
        learned_keep_better(l, &best, learner_judge(l));
    }
    learner_take_back(l, &best);
    learned_done(&best);
}

static struct value_table *table_of(struct learner *l)
{
    struct value_table *t = mem_alloc(sizeof(*t));
    const struct world *w = &l->world;

    t->pods = l->arrivals;
    t->fragment_milli = (uint32_t)w->fragment_milli;
    memcpy(t->cpu_steps, w->cpu_steps, sizeof(t->cpu_steps));
    t->n_cpu_steps = w->n_cpu_steps;
    t->idle = TAKE(l->idle);
    for (size_t m = 0; m < w->in->n_models; m++)
        if (w->price_milli[m] > 0)
            (void)value_table_price(t, str_of(w->in->models[m]), w->price_milli[m]);
    value_table_name(t);
    return t;
}

static struct err *check_nodes(const struct learn_input *in)
{
    uint64_t gpus = 0;

    if (in->n_nodes == 0 || in->n_nodes > LEARN_NODES_MAX || in->n_models > LEARN_MODELS_MAX)
        return err_new(ERR_INVALID,
                       "%zu nodes with %zu models of gpus: want 1 to %d and at most %d",
                       in->n_nodes, in->n_models, LEARN_NODES_MAX, LEARN_MODELS_MAX);
    for (size_t i = 0; i < in->n_nodes; i++) {
        const struct learn_node *n = &in->nodes[i];

        if (n->gpus > LEARN_GPUS_MAX || n->model >= in->n_models || n->cpu_milli < 0 ||
            n->cpu_milli > INT64_C(1) << 40 || n->memory_mib < 0)
            return err_new(ERR_INVALID, "node %zu: want at most %d gpus of a known model", i,
                           LEARN_GPUS_MAX);
        gpus += n->gpus;
    }
    return gpus > 0 ? NULL : err_new(ERR_INVALID, "the nodes have no gpus: nothing to learn");
}

static struct err *check_kinds(const struct learn_input *in)
{
    uint64_t sum = 0;
    uint64_t asking = 0;

    if (in->n_kinds > LEARN_KINDS_MAX)
        return err_new(ERR_INVALID, "%zu kinds of pods to learn from: at most %d", in->n_kinds,
                       LEARN_KINDS_MAX);
    for (size_t i = 0; i < in->n_kinds; i++) {
        const struct learn_kind *k = &in->kinds[i];

        if (k->gpus > LEARN_GPUS_MAX || (k->gpus > 0 && k->gpu_milli == 0) ||
            k->gpu_milli > WHOLE || k->cpu_milli < 0 || k->weight > UINT32_MAX)
            return err_new(ERR_INVALID, "kind %zu of pods: want at most %d gpus, 1 to %d of each",
                           i, LEARN_GPUS_MAX, WHOLE);
        sum += k->weight;
        asking += k->gpus > 0 ? k->weight : 0;
    }
    if (sum > UINT64_C(1) << 32)
        return err_new(ERR_INVALID, "the weights of the kinds of pods sum to over 2^32");
    return asking > 0 ? NULL : err_new(ERR_INVALID, "no pod asks for a gpu: nothing to learn");
}

struct err *learn_values(const struct learn_input *in, struct value_table **ret)
{
    struct learner l;

    TRY(check_nodes(in));
    TRY(check_kinds(in));
    learner_init(&l, in);
    if (l.has_named) {
        learner_learn(&l, EPISODES_FIRST, true);
        choose_prices(&l);
    }
    choose_table(&l);
    *ret = table_of(&l);
    learner_done(&l);
    return NULL;
}
