/*
 * scontrol_top.c - scontrol top: jobs go before the other jobs of their user
 *
 * As Slurm it changes nice values: among the waiting jobs of the same user, partition, account and
 * QOS.
 */

#include <inttypes.h>

#include "base/mem.h"
#include "cli/slurm/scontrol.h"
#include "slurm/query.h"

static bool is_same_text(const json_t *a, const json_t *b, const char *key)
{
    return text_equal(text_or_empty(json_text(a, key)), text_or_empty(json_text(b, key)));
}

static bool is_rival(const json_t *job, const json_t *other)
{
    static const char *const same[] = {"user", "partition", "account", "qos"};

    for (size_t i = 0; i < COUNT(same); i++)
        if (!is_same_text(job, other, same[i]))
            return false;
    return !is_same_text(job, other, "object");
}

/* The highest priority of the jobs that the job has to pass; 0: none. */
static int64_t highest_of(const json_t *job, const json_t *rows)
{
    int64_t highest = 0;
    const json_t *row;
    size_t i;

    json_array_foreach (rows, i, row)
        if (is_rival(job, row) && json_int(row, "priority", 0) > highest)
            highest = json_int(row, "priority", 0);
    return highest;
}

/* `above`: the priority of the job before, which stays above. */
static struct err *top_one(struct scontrol *x, const char *name, const json_t *rows, int64_t *above)
{
    AUTO(json_freep) json_t *job = NULL;
    AUTO_FREE char *elements = NULL;
    AUTO_FREE char *id = mem_format("JobId=%s", name);
    AUTO_FREE char *nice = NULL;
    const char *words[2] = {id, NULL};
    int64_t highest;
    int64_t own;

    TRY(scontrol_find_job(x, name, &job, &elements));
    if (!text_equal(json_text(job, "state"), "PENDING"))
        return err_new(ERR_INVALID, "Job is no longer pending execution");
    own = json_int(job, "priority", 0);
    highest = highest_of(job, rows);
    highest = *above > highest ? *above : highest;
    if (own <= 1 && highest <= 1)
        return err_new(ERR_INVALID,
                       "job %s has no points: no PriorityWeight is set, or the job is "
                       "held",
                       name);
    *above = own > highest ? own : highest + 1;
    if (own > highest)
        return NULL;
    nice = mem_format("Nice=%" PRId64, json_int(job, "nice", 0) - (highest + 1 - own));
    words[1] = nice;
    return scontrol_update(x, 2, words);
}

struct err *scontrol_top(struct scontrol *x, const char *list)
{
    AUTO(json_freep) json_t *rows = NULL;
    AUTO_FREE char *path = NULL;
    struct slurm_query query = {0};
    AUTO_FREE char *left = mem_strdup(text_or_empty(list));
    int64_t above = 0;

    if (!*left)
        return err_new(ERR_INVALID, "too few arguments for keyword:top");
    slurm_query_begin(&query, "jobs");
    slurm_query_add(&query, "states", "PENDING");
    path = slurm_query_end(&query);
    TRY(slurm_rows(&x->s, path, "jobs", &rows));
    while (*left) { /* the last one first: the first one is then above all */
        char *comma = strrchr(left, ',');

        TRY(top_one(x, comma ? comma + 1 : left, rows, &above));
        *(comma ? comma : left) = '\0';
    }
    return NULL;
}
