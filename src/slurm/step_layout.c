/* step_layout.c - spreads the tasks of a step over nodes */

#include "slurm/step_layout.h"

#include <inttypes.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"

static struct err *layout_too_many(void)
{
    return err_new(ERR_INVALID,
                   "Unable to create step for job: More processors requested than permitted");
}

/* The most tasks that a node takes. */
static int64_t node_room(const struct step_request *r, size_t node)
{
    int64_t room = r->cpus[node] / r->cpus_per_task;

    if (r->is_overcommitted)
        room = STEP_TASKS_MAX;
    if (r->tasks_per_node > 0 && room > r->tasks_per_node)
        room = r->tasks_per_node;
    return room;
}

static void layout_add(struct step_layout *l, size_t node, int64_t rank)
{
    vec_add(&l->nodes.at[node].ranks, (uint32_t)rank);
}

/* The number of tasks of each node: nodes get them in turn, as long as they have room. */
static void round_counts(const struct step_request *r, int64_t *counts)
{
    int64_t left = r->tasks;

    while (left > 0) {
        int64_t before = left;

        for (size_t i = 0; i < r->nodes && left > 0; i++)
            if (counts[i] < node_room(r, i)) {
                counts[i]++;
                left--;
            }
        if (left == before)
            return; /* the caller checked the room: cannot happen */
    }
}

/* As srun: the counts are those of a round, the ranks of a node follow each other. */
static void spread_block(const struct step_request *r, struct step_layout *l)
{
    AUTO_FREE int64_t *counts = mem_alloc(r->nodes * sizeof(*counts));
    int64_t rank = 0;

    memset(counts, 0, r->nodes * sizeof(*counts));
    round_counts(r, counts);
    for (size_t i = 0; i < r->nodes; i++)
        for (int64_t k = 0; k < counts[i]; k++)
            layout_add(l, i, rank++);
}

/* The ranks of the next group on node `i`: each later node that has none yet gets one of those
 * left. */
static int64_t group_size(const struct step_request *r, const struct step_layout *l, size_t i,
                          int64_t size, int64_t left)
{
    for (size_t k = i + 1; k < r->nodes; k++)
        left -= l->nodes.at[k].ranks.n == 0 && node_room(r, k) > 0;
    left = left < size ? left : size;
    return left > 1 ? left : 1;
}

/* Groups of `size` ranks go round the nodes that have room. */
static void spread_round(const struct step_request *r, int64_t size, struct step_layout *l)
{
    int64_t rank = 0;

    while (rank < r->tasks) {
        int64_t before = rank;

        for (size_t i = 0; i < r->nodes && rank < r->tasks; i++) {
            int64_t n = group_size(r, l, i, size, r->tasks - rank);

            for (; n > 0 && rank < r->tasks && (int64_t)l->nodes.at[i].ranks.n < node_room(r, i);
                 n--)
                layout_add(l, i, rank++);
        }
        if (rank == before)
            return; /* the caller checked the room: cannot happen */
    }
}

static struct err *spread_arbitrary(const struct step_request *r, struct step_layout *l)
{
    for (int64_t rank = 0; rank < r->tasks; rank++) {
        if (r->arbitrary[rank] >= r->nodes)
            return err_new(ERR_INVALID, "Invalid node name specified");
        layout_add(l, r->arbitrary[rank], rank);
    }
    return NULL;
}

static struct err *check_room(const struct step_request *r)
{
    int64_t room = 0;

    if (r->tasks < 1 || r->tasks > STEP_TASKS_MAX || r->nodes < 1 || r->nodes > STEP_NODES_MAX)
        return err_new(ERR_INVALID, "a step has 1 to %d tasks on 1 to %d nodes", STEP_TASKS_MAX,
                       STEP_NODES_MAX);
    if (r->distribution == STEP_ARBITRARY)
        return NULL;
    for (size_t i = 0; i < r->nodes && room < r->tasks; i++)
        room += node_room(r, i);
    return room < r->tasks ? layout_too_many() : NULL;
}

struct err *step_layout_make(const struct step_request *r, struct step_layout *ret)
{
    struct step_layout l = {0};
    struct err *e = check_room(r);

    if (e)
        return e;
    for (size_t i = 0; i < r->nodes; i++)
        vec_add(&l.nodes, (struct step_node_tasks){0});
    switch (r->distribution) {
    case STEP_BLOCK:
        spread_block(r, &l);
        break;
    case STEP_CYCLIC:
        spread_round(r, 1, &l);
        break;
    case STEP_PLANE:
        spread_round(r, r->plane_size > 0 ? r->plane_size : 1, &l);
        break;
    case STEP_ARBITRARY:
        e = spread_arbitrary(r, &l);
        break;
    }
    if (e) {
        step_layout_done(&l);
        return e;
    }
    *ret = l;
    return NULL;
}

void step_layout_done(struct step_layout *l)
{
    VEC_EACH (&l->nodes, node)
        vec_done(&node->ranks);
    vec_done(&l->nodes);
}

char *step_layout_counts(const struct step_layout *l)
{
    struct buf out = {0};

    for (size_t i = 0; i < l->nodes.n;) {
        size_t n = l->nodes.at[i].ranks.n;
        size_t same = 1;

        while (i + same < l->nodes.n && l->nodes.at[i + same].ranks.n == n)
            same++;
        buf_printf(&out, "%s%zu", i > 0 ? "," : "", n);
        if (same > 1)
            buf_printf(&out, "(x%zu)", same);
        i += same;
    }
    return buf_steal(&out);
}

struct layout_run { /* `ranks` consecutive ranks on each of `nodes` consecutive nodes */
    size_t node;
    size_t nodes;
    size_t ranks;
};

struct layout_runs { /* as VEC(struct layout_run) */
    struct layout_run *at;
    size_t n;
    size_t room;
};

/* The nodes of the ranks; the caller frees the list. */
static size_t *layout_nodes(const struct step_layout *l, size_t *ret_ranks)
{
    size_t *nodes;

    *ret_ranks = 0;
    VEC_EACH (&l->nodes, node)
        *ret_ranks += node->ranks.n;
    nodes = mem_alloc((*ret_ranks + 1) * sizeof(*nodes));
    for (size_t i = 0; i < l->nodes.n; i++)
        VEC_EACH (&l->nodes.at[i].ranks, rank)
            nodes[*rank] = i;
    return nodes;
}

/* Adds a run of one node to the last run, or as a new one. */
static void layout_add_run(struct layout_runs *runs, size_t node, size_t ranks)
{
    struct layout_run *last = runs->n > 0 ? &runs->at[runs->n - 1] : NULL;

    if (last && last->ranks == ranks && last->node + last->nodes == node)
        last->nodes++;
    else
        vec_add(runs, (struct layout_run){node, 1, ranks});
}

/* Drops what follows the first run if it only repeats it, as cyclic distribution does. */
static void layout_drop_repeated(struct layout_runs *runs)
{
    for (size_t i = 1; i < runs->n; i++) {
        const struct layout_run *a = &runs->at[0];
        const struct layout_run *b = &runs->at[i];

        if (a->node != b->node || a->ranks != b->ranks ||
            (a->nodes != b->nodes && (i + 1 < runs->n || b->nodes > a->nodes)))
            return;
    }
    if (runs->n > 1)
        runs->n = 1;
}

char *step_layout_mapping(const struct step_layout *l)
{
    struct layout_runs runs = {0};
    struct buf text = {0};
    size_t n = 0;
    AUTO_FREE size_t *nodes = layout_nodes(l, &n);

    for (size_t i = 0, first = 0; i < n; i++)
        if (i + 1 == n || nodes[i + 1] != nodes[first]) {
            layout_add_run(&runs, nodes[first], i + 1 - first);
            first = i + 1;
        }
    layout_drop_repeated(&runs);
    buf_add_text(&text, "(vector");
    VEC_EACH (&runs, run)
        buf_printf(&text, ",(%zu,%zu,%zu)", run->node, run->nodes, run->ranks);
    buf_add_char(&text, ')');
    vec_done(&runs);
    return buf_steal(&text);
}

bool step_distribution_read(const char *text, enum step_distribution *ret, int64_t *ret_plane)
{
    struct str rest = str_of(text);
    struct str first = str_cut(&rest, ',');
    struct str nodes = str_cut(&first, ':');
    AUTO_FREE char *word = mem_strndup(nodes.at ? nodes.at : "", nodes.size);

    *ret_plane = 0;
    if (text_equal(word, "*") || strcasecmp(word, "block") == 0) {
        *ret = STEP_BLOCK;
        return true;
    }
    if (strcasecmp(word, "cyclic") == 0) {
        *ret = STEP_CYCLIC;
        return true;
    }
    if (strcasecmp(word, "arbitrary") == 0) {
        *ret = STEP_ARBITRARY;
        return true;
    }
    if (strncasecmp(word, "plane=", 6) == 0) {
        AUTO(err_freep)
        struct err *e = num_parse_int64(str_of(word + 6), 1, STEP_TASKS_MAX, ret_plane);

        *ret = STEP_PLANE;
        return !e;
    }
    return false;
}

void step_distribution_put(const char *text, json_t *to)
{
    struct str size = str_of(text);
    struct str name = str_cut(&size, '=');

    if (name.at)
        (void)json_array_append_new(
            to, json_sprintf("SLURM_DISTRIBUTION=" STR_FMT, STR_ARG(name))); /* cannot fail */
    if (size.at)
        (void)json_array_append_new(
            to, json_sprintf("SLURM_DIST_PLANESIZE=" STR_FMT, STR_ARG(size))); /* likewise */
}
