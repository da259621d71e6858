/*
 * scheduler_ranks.c - the nodes of a Slurm job in the order of its pods' ranks
 *
 * Pods of a gang that ask for the same are interchangeable to the engine. Clients of Slurm take the
 * first node of the job's list for the one that runs the script, and read the list sorted: among
 * such pods, lower ranks get the nodes that come first.
 */
#include <stdlib.h>

#include "base/num.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/slurm/slurm_job.h"
#include "model/hostlist.h"

/* The rank in a pod's label; -1: none. */
static int64_t rank_of(const struct sched_pod *p)
{
    const char *text = json_text_at(p->tree, "metadata", "labels", SLURM_RANK_LABEL, NULL);
    int64_t rank = -1;

    if (text)
        err_free(num_parse_int64(str_of(text), 0, INT64_MAX, &rank)); /* our own number */
    return rank;
}

static int compare_ranks(const void *left, const void *right)
{
    int64_t a = rank_of(*(struct sched_pod *const *)left);
    int64_t b = rank_of(*(struct sched_pod *const *)right);

    return a < b ? -1 : a > b;
}

static bool is_ranked(const struct sched_work *w)
{
    return w->is_gang && w->pods.n > 1 && w->pods.at[0]->group &&
           w->pods.at[0]->group->ref.door == GANG_SLURM;
}

/* Deals the places of one set, from `first` to before `end`, to its pods. */
static void set_order(struct sched_work *w, const struct mete_placement *at, size_t first,
                      size_t end)
{
    struct sched_pod **pods = mem_dup(&w->pods.at[first], (end - first) * sizeof(*pods));
    struct hostlist names = {0};

    for (size_t i = first; i < end; i++)
        hostlist_add(&names, at->pods[i].node);
    hostlist_sort(&names);
    qsort(pods, end - first, sizeof(*pods), compare_ranks);
    if (names.names.n == end - first) /* else two pods share a node: their order does not matter */
        for (size_t i = first; i < end; i++)
            for (size_t k = 0; k < names.names.n; k++)
                if (text_equal(names.names.at[k], at->pods[i].node)) {
                    w->pods.at[i] = pods[k];
                    pods[k]->index = at->pods[i].pod;
                }
    hostlist_done(&names);
    free(pods);
}

void sched_ranks_order(struct sched_work *w, const struct mete_placement *at)
{
    size_t first = 0;

    if (!is_ranked(w) || at->n_pods != w->pods.n)
        return;
    for (size_t i = 1; i <= at->n_pods; i++) {
        if (i < at->n_pods && at->pods[i].pod_set == at->pods[first].pod_set)
            continue;
        set_order(w, at, first, i);
        first = i;
    }
}

char *sched_ranks_nodes(const struct sched_work *w)
{
    struct hostlist names = {0};
    struct sched_pod **pods;
    char *text;

    if (!is_ranked(w))
        return NULL;
    pods = mem_dup(w->pods.at, w->pods.n * sizeof(*pods));
    qsort(pods, w->pods.n, sizeof(*pods), compare_ranks);
    for (size_t i = 0; i < w->pods.n; i++)
        hostlist_add(&names, pods[i]->node);
    text = hostlist_format(&names);
    hostlist_done(&names);
    free(pods);
    return text;
}
