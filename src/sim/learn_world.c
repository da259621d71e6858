/*
 * learn_world.c - the cluster on paper: costs of each class of pods on each node
 *
 * Each class of pods has a cost on each node. A placement makes the costs of one node stale; a
 * class catches up when the next pod of the class is drawn.
 */

#include "sim/learn_world.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"

enum {
    WHOLE = 1000,
    NODES_MANY = 1536,     /* a larger cluster is cut to this size, */
    NODES_FEW = 192,       /* a smaller cluster is repeated */
    ARRIVALS_MANY = 60000, /* in an episode */
    FRAGMENT_CPUS_MAX = 128,
    WEIGHT_UNIT = 1 << 16
};

#define NOT_SEEN SIZE_MAX

/* Steps of a quarter octave, from 1 to 45 cpu for each whole gpu. */
static const int32_t cpu_steps[] = {1000,  1189,  1414,  1682,  2000,  2378,  2828,  3364,
                                    4000,  4757,  5657,  6727,  8000,  9514,  11314, 13454,
                                    16000, 19027, 22627, 26909, 32000, 38055, 45255};

static bool runs_on(const struct world_class *c, uint32_t model)
{
    return c->models == 0 || (c->models >> model & 1);
}

static void add_class(struct world *w, const struct learn_kind *k, uint32_t *ret)
{
    size_t i = 0;

    while (i < w->n_classes &&
           !(w->classes[i].cpu_milli == k->cpu_milli && w->classes[i].gpus == k->gpus &&
             w->classes[i].gpu_milli == k->gpu_milli && w->classes[i].models == k->models))
        i++;
    if (i == w->n_classes)
        w->classes[w->n_classes++] = (struct world_class){.cpu_milli = k->cpu_milli,
                                                          .gpus = k->gpus,
                                                          .gpu_milli = k->gpu_milli,
                                                          .models = k->models};
    w->classes[i].weight += k->weight;
    *ret = (uint32_t)i;
}

static void add_classes(struct world *w)
{
    uint64_t sum = 0;

    w->classes = mem_alloc(w->in->n_kinds * sizeof(*w->classes));
    w->class_of = mem_alloc(w->in->n_kinds * sizeof(*w->class_of));
    w->up_to = mem_alloc(w->in->n_kinds * sizeof(*w->up_to));
    for (size_t i = 0; i < w->in->n_kinds; i++) {
        add_class(w, &w->in->kinds[i], &w->class_of[i]);
        sum += w->in->kinds[i].weight;
        w->up_to[i] = sum;
    }
}

/* The number of nodes of an episode, so that its arrivals stay under ARRIVALS_MANY. */
static size_t node_count(const struct world *w)
{
    double asked = 0;
    double capacity = 0;
    double nodes = (double)w->in->n_nodes;

    for (size_t i = 0; i < w->in->n_kinds; i++)
        asked += (double)w->in->kinds[i].weight * w->in->kinds[i].gpus * w->in->kinds[i].gpu_milli;
    asked /= (double)w->up_to[w->in->n_kinds - 1];
    for (size_t i = 0; i < w->in->n_nodes; i++)
        capacity += (double)w->in->nodes[i].gpus * WHOLE;
    if (nodes > NODES_MANY)
        nodes = NODES_MANY;
    if (nodes < NODES_FEW) {
        const size_t times = NODES_FEW / w->in->n_nodes + 1;

        nodes *= (double)times;
    }
    while (nodes > 16 && 1.3 * capacity * nodes / (double)w->in->n_nodes / asked > ARRIVALS_MANY)
        nodes /= 2;
    return (size_t)nodes;
}

static void learn_world_add_nodes(struct world *w)
{
    w->n_nodes = node_count(w);
    w->empty = mem_alloc(w->n_nodes * sizeof(*w->empty));
    w->nodes = mem_alloc(w->n_nodes * sizeof(*w->nodes));
    for (size_t i = 0; i < w->n_nodes; i++) {
        size_t at =
            w->n_nodes < w->in->n_nodes ? i * w->in->n_nodes / w->n_nodes : i % w->in->n_nodes;
        const struct learn_node *from = &w->in->nodes[at];
        struct world_node *n = &w->empty[i];

        *n = (struct world_node){.cpu_milli = from->cpu_milli,
                                 .memory_mib = from->memory_mib,
                                 .gpus = from->gpus,
                                 .model = from->model};
        for (uint32_t k = 0; k < n->gpus; k++)
            n->free[k] = WHOLE;
        w->capacity_milli += (int64_t)n->gpus * WHOLE;
        w->model_milli[n->model] += (int64_t)n->gpus * WHOLE;
    }
}

/* Lists the cpu requests of classes, each once; every nth when there are too many. */
static void find_cpus(const struct world *w, struct world_fragment *f)
{
    int64_t *at = mem_alloc((w->n_classes + 1) * sizeof(*at));
    size_t n;
    size_t step;

    for (size_t i = 0; i < w->n_classes; i++)
        at[i] = w->classes[i].cpu_milli;
    n = num_sort_unique(at, w->n_classes);
    step = n / FRAGMENT_CPUS_MAX + 1;
    for (size_t i = 0; i < n; i += step)
        at[f->n_cpus++] = at[i];
    f->cpus = at;
}

static void add_fragment(struct world_fragment *f, size_t row, const struct world_class *c,
                         bool runs, int32_t weight)
{
    if (c->gpus == 0 || !runs) {
        f->none[row] += weight;
    } else if (c->gpus == 1) {
        for (uint32_t level = 0; level < METE_VALUES_LEVELS; level++)
            if (c->gpu_milli > level * METE_VALUES_LEVEL_MILLI)
                f->single[row][level] += weight;
    } else {
        f->none[row] += weight;
        for (uint32_t whole = c->gpus; whole < METE_VALUES_WHOLE; whole++)
            f->several[row][whole] += weight;
    }
}

static void add_fragments(struct world *w, uint32_t model)
{
    struct world_fragment *f = &w->fragments[model];
    double total = (double)w->up_to[w->in->n_kinds - 1];
    size_t rows;

    find_cpus(w, f);
    rows = f->n_cpus + 1;
    f->single = mem_alloc(rows * sizeof(*f->single));
    f->none = mem_alloc(rows * sizeof(*f->none));
    f->several = mem_alloc(rows * sizeof(*f->several));
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < w->n_classes; i++) {
            const struct world_class *c = &w->classes[i];
            bool runs = runs_on(c, model) && row > 0 && c->cpu_milli <= f->cpus[row - 1];

            add_fragment(f, row, c, runs, (int32_t)((double)c->weight / total * WEIGHT_UNIT));
        }
}

void world_init(struct world *w, const struct learn_input *in)
{
    *w = (struct world){.in = in};
    add_classes(w);
    learn_world_add_nodes(w);
    for (size_t i = 0; i < COUNT(cpu_steps); i++)
        w->cpu_steps[w->n_cpu_steps++] = cpu_steps[i];
    for (uint32_t i = 0; i < in->n_models; i++)
        add_fragments(w, i);
    w->costs = mem_alloc(w->n_classes * w->n_nodes * sizeof(*w->costs));
    w->seen = mem_alloc(w->n_classes * sizeof(*w->seen));
}

void world_done(struct world *w)
{
    for (size_t i = 0; i < w->in->n_models; i++) {
        free(w->fragments[i].cpus);
        free(w->fragments[i].single);
        free(w->fragments[i].none);
        free(w->fragments[i].several);
    }
    free(w->classes);
    free(w->class_of);
    free(w->up_to);
    free(w->empty);
    free(w->nodes);
    free(w->costs);
    free(w->seen);
    free(w->changes);
    *w = (struct world){0};
}

uint32_t world_draw(const struct world *w, struct chance *c)
{
    uint64_t at = chance_below(c, w->up_to[w->in->n_kinds - 1]);
    size_t low = 0;
    size_t n = w->in->n_kinds;

    while (n > 0) {
        size_t half = n / 2;

        if (w->up_to[low + half] <= at) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return (uint32_t)low;
}

static size_t steps_up_to(const int64_t *steps, size_t n, int64_t value)
{
    size_t low = 0;

    while (n > 0) {
        size_t half = n / 2;

        if (steps[low + half] <= value) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

/* The idle compute, and the number of wholly free gpus. */
static int64_t idle_of(const struct world_node *n, uint32_t *ret_whole)
{
    int64_t idle = 0;
    uint32_t whole = 0;

    for (uint32_t i = 0; i < n->gpus; i++) {
        idle += n->free[i];
        whole += n->free[i] == WHOLE;
    }
    *ret_whole = whole;
    return idle;
}

static uint32_t column_of(uint32_t whole)
{
    return whole < METE_VALUES_WHOLE ? whole : METE_VALUES_WHOLE - 1;
}

static size_t entry_of(const struct world *w, int64_t cpu, int64_t idle, uint32_t whole)
{
    size_t step = steps_up_to(w->cpu_steps, w->n_cpu_steps, cpu * WHOLE / idle);

    return (step * METE_VALUES_WHOLE + column_of(whole)) * METE_VALUES_LEVELS;
}

size_t world_entry(const struct world *w, const struct world_node *n)
{
    uint32_t whole;
    int64_t idle = idle_of(n, &whole);

    return idle > 0 ? entry_of(w, n->cpu_milli, idle, whole) : 0;
}

/* A node's value: the sum over its gpus, by the part of the tables that the node's sums choose. */
struct learn_sums {
    const int32_t *table; /* by level */
    const int32_t *single;
    int64_t value;
    int64_t fragment;
};

static void add_gpu(struct learn_sums *s, uint32_t free, int sign)
{
    const uint32_t level = free / METE_VALUES_LEVEL_MILLI;

    if (free == 0)
        return;
    s->value += (int64_t)sign * s->table[level];
    s->fragment += (int64_t)sign * free * s->single[level];
}

/* Sums the present gpus by the part of the tables for `cpu`, `idle` (over 0) and `whole`. */
static struct learn_sums sums_of(const struct world *w, const struct world_node *n, int64_t cpu,
                                 int64_t idle, uint32_t whole)
{
    const struct world_fragment *f = &w->fragments[n->model];
    const uint32_t column = column_of(whole);
    const size_t row = steps_up_to(f->cpus, f->n_cpus, cpu);
    struct learn_sums ret = {.table = w->idle + entry_of(w, cpu, idle, whole),
                             .single = f->single[row],
                             .fragment = idle * f->none[row] -
                                         (int64_t)column * WHOLE * f->several[row][column]};

    for (uint32_t i = 0; i < n->gpus; i++)
        add_gpu(&ret, n->free[i], 1);
    return ret;
}

static int64_t value_of(const struct world *w, const struct learn_sums *s)
{
    return s->value + s->fragment * w->fragment_milli / WEIGHT_UNIT;
}

static int64_t world_value(const struct world *w, const struct world_node *n)
{
    uint32_t whole;
    const int64_t idle = idle_of(n, &whole);
    struct learn_sums sums;

    if (idle == 0)
        return 0;
    sums = sums_of(w, n, n->cpu_milli, idle, whole);
    return value_of(w, &sums);
}

/* The gpus with the least free compute that is enough. The node has enough such gpus. */
static uint64_t best_fit(const struct world_node *n, const struct world_class *c)
{
    uint64_t ret = 0;

    for (uint32_t left = c->gpus; left > 0; left--) {
        uint32_t best = LEARN_GPUS_MAX;

        for (uint32_t i = 0; i < n->gpus; i++)
            if (n->free[i] >= c->gpu_milli && !(ret >> i & 1) &&
                (best == LEARN_GPUS_MAX || n->free[i] < n->free[best]))
                best = i;
        assert(best < LEARN_GPUS_MAX);
        ret |= UINT64_C(1) << best;
    }
    return ret;
}

static void node_take(struct world_node *n, const struct world_class *c, uint64_t gpus)
{
    n->cpu_milli -= c->cpu_milli;
    for (; gpus != 0; gpus &= gpus - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(gpus);

        n->free[i] = (uint16_t)(n->free[i] - c->gpu_milli);
    }
}

/* The node's value with a share on the best gpu. */
static int64_t with_share(const struct world *w, const struct world_node *n,
                          const struct world_class *c, uint64_t *ret_gpus)
{
    struct learn_sums sums[2] = {0}; /* [1]: the share takes a wholly free gpu */
    uint32_t whole;
    const int64_t idle = idle_of(n, &whole) - c->gpu_milli;
    int64_t least = INT64_MAX;

    for (uint32_t i = 0, last = 0; i < n->gpus; i++) {
        const bool is_whole = n->free[i] == WHOLE;
        struct learn_sums after = {0};

        if (n->free[i] < c->gpu_milli || n->free[i] == last)
            continue;
        last = n->free[i];
        if (idle > 0) {
            if (!sums[is_whole].table)
                sums[is_whole] = sums_of(w, n, n->cpu_milli - c->cpu_milli, idle, whole - is_whole);
            after = sums[is_whole];
            add_gpu(&after, n->free[i], -1);
            add_gpu(&after, n->free[i] - c->gpu_milli, 1);
        }
        if (value_of(w, &after) < least) {
            least = value_of(w, &after);
            *ret_gpus = UINT64_C(1) << i;
        }
    }
    return least;
}

/* The growth of the node's value with the pod on the best gpus. */
static int32_t best_growth(const struct world *w, const struct world_node *n,
                           const struct world_class *c, uint64_t *ret_gpus)
{
    int64_t best;

    if (c->gpus == 1 && c->gpu_milli < WHOLE) {
        best = with_share(w, n, c, ret_gpus);
    } else {
        struct world_node after = *n;

        *ret_gpus = best_fit(n, c);
        node_take(&after, c, *ret_gpus);
        best = world_value(w, &after);
    }
    best += (int64_t)w->price_milli[n->model] * c->gpu_milli * c->gpus - n->value;
    return best >= INT32_MAX ? INT32_MAX - 1 : best < -INT32_MAX ? -INT32_MAX : (int32_t)best;
}

static bool node_fits(const struct world_node *n, const struct world_class *c)
{
    uint32_t room = 0;

    if (c->cpu_milli > n->cpu_milli)
        return false;
    if (c->gpus == 0)
        return true;
    if (!runs_on(c, n->model))
        return false;
    for (uint32_t i = 0; i < n->gpus; i++)
        room += n->free[i] >= c->gpu_milli;
    return room >= c->gpus;
}

static void class_look_at(struct world *w, size_t class, size_t node)
{
    uint64_t gpus;
    struct world_node *n = &w->nodes[node];
    const struct world_class *c = &w->classes[class];

    w->costs[class * w->n_nodes + node] = node_fits(n, c) ? best_growth(w, n, c, &gpus) : INT32_MAX;
}

static void class_catch_up(struct world *w, size_t class)
{
    if (w->seen[class] == NOT_SEEN)
        for (size_t i = 0; i < w->n_nodes; i++)
            class_look_at(w, class, i);
    else
        for (size_t i = w->seen[class]; i < w->n_changes; i++)
            class_look_at(w, class, w->changes[i]);
    w->seen[class] = w->n_changes;
}

static void world_note_change(struct world *w, size_t node)
{
    if (w->n_changes == w->changes_room) {
        w->changes_room = w->changes_room * 2 + 4096;
        w->changes = mem_realloc(w->changes, w->changes_room * sizeof(*w->changes));
    }
    w->changes[w->n_changes++] = (uint32_t)node;
}

void world_clear(struct world *w, struct chance *c)
{
    memcpy(w->nodes, w->empty, w->n_nodes * sizeof(*w->nodes));
    for (size_t i = w->n_nodes - 1; i > 0; i--) {
        size_t k = (size_t)chance_below(c, i + 1);
        struct world_node n = w->nodes[i];

        w->nodes[i] = w->nodes[k];
        w->nodes[k] = n;
    }
    for (size_t i = 0; i < w->n_nodes; i++)
        w->nodes[i].value = world_value(w, &w->nodes[i]);
    w->used_milli = 0;
    w->n_changes = 0;
    for (size_t i = 0; i < w->n_classes; i++) {
        w->seen[i] = NOT_SEEN;
        w->classes[i].asked_milli = 0;
        w->classes[i].denied_milli = 0;
    }
}

/* The first of the cheapest nodes with enough memory, or SIZE_MAX. */
static size_t learn_cheapest(const struct world *w, const int32_t *costs, int64_t memory)
{
    int32_t least = INT32_MAX;
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < w->n_nodes; i++)
        least = costs[i] < least ? costs[i] : least;
    for (size_t i = 0; i < w->n_nodes && least < INT32_MAX; i++)
        if (costs[i] == least && w->nodes[i].memory_mib >= memory)
            return i;
    least = INT32_MAX;
    for (size_t i = 0; i < w->n_nodes; i++)
        if (costs[i] < least && w->nodes[i].memory_mib >= memory) {
            least = costs[i];
            best = i;
        }
    return best;
}

size_t world_place(struct world *w, uint32_t kind)
{
    const size_t class = w->class_of[kind];
    struct world_class *c = &w->classes[class];
    const int64_t memory = w->in->kinds[kind].memory_mib;
    const int64_t milli = (int64_t)c->gpus * c->gpu_milli;
    size_t best;
    uint64_t gpus = 0;

    class_catch_up(w, class);
    best = learn_cheapest(w, &w->costs[class * w->n_nodes], memory);
    c->asked_milli += milli;
    if (best == SIZE_MAX) {
        c->denied_milli += milli;
        return best;
    }
    (void)best_growth(w, &w->nodes[best], c, &gpus);
    node_take(&w->nodes[best], c, gpus);
    w->nodes[best].memory_mib -= memory;
    w->nodes[best].value = world_value(w, &w->nodes[best]);
    w->used_milli += milli;
    world_note_change(w, best);
    return best;
}
