/*
 * slurm_window.c - the nodes of jobs with --contiguous: neighbours in the order of their names
 *
 * An attempt gets its nodes before it has pods, and its pods go to these nodes alone. It takes the
 * first neighbours that have room now. When there were none for WINDOW_WAIT_S, it takes those of
 * which the fewest cpus are held, and waits for them in the queue like every job.
 */
#include "control/slurm/slurm_private.h"
#include "control/slurm/slurm_report_private.h"
#include "model/hostlist.h"

enum {
    WINDOW_LOOK_S = 5,
    WINDOW_WAIT_S = 60
};

/* A node, in the order of names. */
struct window_node {
    const char *name; /* borrowed */
    int64_t held;     /* cpus that pods hold */
    bool is_right;    /* it could hold a node's part of the job if it were empty */
    bool is_free;     /* it could now */
};

bool sjob_wants_window(const struct sjob *j)
{
    return j->ask.nodes > 1 && json_bool_at(j->object, "spec", "contiguous", NULL);
}

/* The nodes that attempts which wait have chosen, as keys. New reference. */
static json_t *taken_nodes(const struct slurm_jobs *s)
{
    json_t *taken = json_object();
    struct sjob_pod *p;
    struct sjob_pod *next;

    map_each (handle, s->pods, p, next) {
        AUTO(hostlist_done) struct hostlist names = {0};
        AUTO(err_freep) struct err *e = NULL;

        if (!p->window || p->state != SJOB_PENDING || p->rank > 0)
            continue;
        e = hostlist_parse(str_of(p->window), HOSTLIST_MAX, &names);
        VEC_EACH (&names.names, one)
            json_put_bool(taken, *one, true);
    }
    return taken;
}

static bool is_of_partitions(const json_t *row, const json_t *partitions)
{
    for (size_t i = 0; i < json_array_size(partitions); i++)
        if (json_has_text(json_object_get(row, "partitions"),
                          json_string_value(json_array_get(partitions, i))))
            return true;
    return partitions == NULL;
}

static struct window_node node_of(const struct sjob *j, const json_t *row, const json_t *partitions)
{
    const struct slurm_ask *ask = &j->ask;
    const char *state = json_text(row, "state");
    struct slurm_node *node = NULL;
    struct window_node w = {.name = json_text(row, "name"),
                            .held = json_int(row, "cpusAllocated", 0)};
    bool is_idle = text_equal(state, "IDLE");

    map_find_text(handle, j->jobs->nodes, w.name, node);
    w.is_right = node && slurm_ask_fits_node(ask, node->object) &&
                 json_array_size(json_object_get(row, "flags")) == 0 &&
                 !text_equal(state, "DOWN") && !text_equal(state, "UNKNOWN") &&
                 is_of_partitions(row, partitions);
    if (ask->is_exclusive || ask->gpus.count > 0) /* gpus are not counted here */
        w.is_free = w.is_right && is_idle;
    else
        w.is_free = w.is_right && json_int(row, "cpus", 0) - w.held >= ask->cpus &&
                    json_int(row, "memory", 0) - json_int(row, "memoryAllocated", 0) >=
                        ask->memory_bytes >> 20;
    return w;
}

/* The first of the best neighbours in `all`; SIZE_MAX: none. With `waits` they need not be free. */
static size_t window_find(const struct window_node *all, size_t n, size_t size, bool waits)
{
    int64_t least = INT64_MAX;
    size_t found = SIZE_MAX;

    for (size_t i = 0; i + size <= n; i++) {
        int64_t held = 0;
        bool is_right = true;

        for (size_t k = i; k < i + size && is_right; k++) {
            is_right = waits ? all[k].is_right : all[k].is_free;
            held += all[k].held;
        }
        if (!is_right || held >= least)
            continue;
        if (!waits)
            return i;
        least = held;
        found = i;
    }
    return found;
}

/* The names as a hostlist; the caller frees it. */
static char *window_text(const struct window_node *all, size_t n)
{
    AUTO(hostlist_done) struct hostlist names = {0};

    for (size_t i = 0; i < n; i++)
        hostlist_add(&names, all[i].name);
    return hostlist_format(&names);
}

/* The nodes in the order of their names: n2 comes before n10. The caller frees the array. */
static struct window_node *window_nodes(const struct sjob *j, const json_t *rows, size_t *ret_n)
{
    AUTO(json_freep) json_t *partitions = sjob_partitions(j, 0);
    AUTO(json_freep) json_t *by_name = json_object();
    AUTO(json_freep) json_t *taken = taken_nodes(j->jobs);
    AUTO(hostlist_done) struct hostlist names = {0};
    struct window_node *all = mem_alloc((json_array_size(rows) + 1) * sizeof(*all));
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);

        hostlist_add(&names, json_text(row, "name"));
        json_put(by_name, json_text(row, "name"), json_incref(row));
    }
    hostlist_sort(&names);
    VEC_EACH (&names.names, name) {
        all[n] = node_of(j, json_object_get(by_name, *name), partitions);
        all[n].is_free = all[n].is_free && !json_object_get(taken, *name);
        n++;
    }
    *ret_n = n;
    return all;
}

char *sjob_window_choose(struct sjob *j)
{
    AUTO(json_freep) json_t *rows = slurm_node_rows(j->jobs);
    int64_t waited_ns = loop_wall_ns(j->jobs->options.loop) - j->eligible_ns;
    size_t size = (size_t)j->ask.nodes;
    size_t n = 0;
    AUTO_FREE struct window_node *all = window_nodes(j, rows, &n);
    size_t at = window_find(all, n, size, false);

    if (at == SIZE_MAX && waited_ns >= WINDOW_WAIT_S * NS_PER_SEC)
        at = window_find(all, n, size, true);
    if (at != SIZE_MAX)
        return window_text(&all[at], size);
    j->reason = "Resources";
    sjob_poke_in(j, WINDOW_LOOK_S * NS_PER_SEC);
    return NULL;
}
