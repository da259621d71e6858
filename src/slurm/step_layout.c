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

/* How many tasks each node gets if ranks fill node after node: one a node first, so that no node of
 * the step stays idle. */
static void fill_counts(const struct step_request *r, int64_t *counts)
{
    int64_t left = r->tasks;

    for (size_t i = 0; i < r->nodes && left > 0; i++)
        if (node_room(r, i) > 0) {
            counts[i] = 1;
            left--;
        }
    for (size_t i = 0; i < r->nodes && left > 0; i++) {
        int64_t more = node_room(r, i) - counts[i];

        if (r->is_overcommitted && r->tasks_per_node <= 0)
            more = (r->tasks + (int64_t)r->nodes - 1) / (int64_t)r->nodes - counts[i];
        more = more < left ? more : left;
        counts[i] += more > 0 ? more : 0;
        left -= more > 0 ? more : 0;
    }
}

static void spread_block(const struct step_request *r, struct step_layout *l)
{
    AUTO_FREE int64_t *counts = mem_alloc(r->nodes * sizeof(*counts));
    int64_t rank = 0;

    memset(counts, 0, r->nodes * sizeof(*counts));
    fill_counts(r, counts);
    for (size_t i = 0; i < r->nodes; i++)
        for (int64_t k = 0; k < counts[i]; k++)
            layout_add(l, i, rank++);
}

/* Groups of `size` ranks go round the nodes that have room. */
static void spread_round(const struct step_request *r, int64_t size, struct step_layout *l)
{
    int64_t rank = 0;

    while (rank < r->tasks) {
        int64_t before = rank;

        for (size_t i = 0; i < r->nodes && rank < r->tasks; i++)
            for (int64_t k = 0;
                 k < size && rank < r->tasks && (int64_t)l->nodes.at[i].ranks.n < node_room(r, i);
                 k++)
                layout_add(l, i, rank++);
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
