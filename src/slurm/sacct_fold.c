/*
 * sacct_fold.c - the rows of the accounting of a job on several nodes, as one row
 *
 * The accounting has a row for each node of an attempt. The row of the script's node (rank 0)
 * stands for the attempt: the others add their use, their nodes and the time until their end. An
 * attempt that ended because of another node has that node's end.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "model/hostlist.h"
#include "slurm/sacct.h"

struct fold {
    struct map_handle handle;
    char *key;                /* "12 0": number of the job, restarts */
    VEC(const json_t *) rows; /* borrowed */
};

static int64_t fold_rank(const json_t *row)
{
    return json_int_at(row, "slurm", "rank", NULL);
}

static int compare_ranks(const void *left, const void *right)
{
    int64_t a = fold_rank(*(const json_t *const *)left);
    int64_t b = fold_rank(*(const json_t *const *)right);

    return a < b ? -1 : a > b;
}

static void add_time(json_t *sum, const json_t *time)
{
    int64_t nanos = json_int(sum, "nanos", 0) + json_int(time, "nanos", 0);

    json_put_int(sum, "seconds",
                 json_int(sum, "seconds", 0) + json_int(time, "seconds", 0) + nanos / NS_PER_SEC);
    json_put_int(sum, "nanos", nanos % NS_PER_SEC);
}

static bool is_loss(const char *state)
{
    return text_equal(state, "NODE_FAIL") || text_equal(state, "PREEMPTED") ||
           text_equal(state, "FAILED") || text_equal(state, "OUT_OF_MEMORY");
}

/* Times and energies are sums, peaks are the largest of the nodes. */
static void fold_use(json_t *sum, const json_t *row)
{
    static const char *const times[] = {"cpuTime", "gpuBusyTime"};
    static const char *const peaks[] = {"memoryPeakBytes", "gpuMemoryPeakBytes"};
    static const char energy[] = "gpuEnergyMillijoules";

    for (size_t i = 0; i < COUNT(times); i++)
        if (json_is_object(json_object_get(row, times[i])))
            add_time(json_object_at(sum, times[i]), json_object_get(row, times[i]));
    for (size_t i = 0; i < COUNT(peaks); i++)
        if (json_int(row, peaks[i], 0) > json_int(sum, peaks[i], 0))
            json_put_int(sum, peaks[i], json_int(row, peaks[i], 0));
    if (json_is_integer(json_object_get(row, energy)))
        json_put_int(sum, energy, json_int(sum, energy, 0) + json_int(row, energy, 0));
}

static void fold_row(json_t *sum, const json_t *row)
{
    const char *to = json_text(row, "to");

    fold_use(sum, row);
    if (stamp_or(to, 0) > stamp_or(json_text(sum, "to"), 0))
        json_put_text(sum, "to", to);
    if (text_equal(json_text(sum, "state"), "CANCELLED") && is_loss(json_text(row, "state")))
        json_put_text(sum, "state", json_text(row, "state"));
}

/* New reference. */
static json_t *fold_rows(struct fold *f)
{
    struct hostlist names = {0};
    AUTO_FREE char *nodes = NULL;
    json_t *sum;

    qsort(f->rows.at, f->rows.n, sizeof(*f->rows.at), compare_ranks);
    sum = json_deep_copy(f->rows.at[0]);
    for (size_t i = 0; i < f->rows.n; i++) {
        if (json_text(f->rows.at[i], "node"))
            hostlist_add(&names, json_text(f->rows.at[i], "node"));
        if (i > 0)
            fold_row(sum, f->rows.at[i]);
    }
    nodes = hostlist_format(&names);
    hostlist_done(&names);
    json_put_text(sum, "node", nodes && *nodes ? nodes : NULL);
    return sum;
}

/* The attempt of the row, which is new if no row of it was seen. */
static struct fold *fold_of(struct fold **folds, const json_t *row)
{
    AUTO_FREE char *key = mem_format("%" PRId64 " %" PRId64, json_int(row, "jobId", 0),
                                     json_int_at(row, "slurm", "restarts", NULL));
    struct fold *f = NULL;

    map_find_text(handle, *folds, key, f);
    if (f)
        return f;
    f = mem_alloc(sizeof(*f));
    f->key = TAKE(key);
    map_add(handle, *folds, f->key, strlen(f->key), f);
    return f;
}

static bool is_part(const json_t *row)
{
    return json_at(row, "slurm", "rank", NULL) && json_text(row, "node");
}

json_t *sacct_fold(const json_t *accounts)
{
    json_t *all = json_array();
    struct fold *folds = NULL;
    struct fold *f;
    struct fold *next;
    const json_t *row;
    size_t i;

    json_array_foreach (accounts, i, row)
        if (is_part(row))
            vec_add(&fold_of(&folds, row)->rows, row);
    json_array_foreach (accounts, i, row) {
        f = is_part(row) ? fold_of(&folds, row) : NULL;
        if (!f)
            (void)json_array_append(all, (json_t *)(uintptr_t)row);
        else if (f->rows.at[f->rows.n - 1] == row) /* the last end of the attempt */
            (void)json_array_append_new(all, fold_rows(f));
    }
    map_each (handle, folds, f, next) {
        map_remove(handle, folds, f); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        vec_done(&f->rows);
        free(f->key);
        free(f);
    }
    return all;
}
