/*
 * slurm_licenses.c - licenses: how many are held, and which of its alternatives a job gets
 *
 * A job holds its licenses from its first pod until it is over, whether limits are enforced or not.
 * The pod of a job with alternatives says which one it holds.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "control/slurm/slurm_private.h"
#include "kinds/slurm/slurm_license.h"

static void licenses_of(const struct slurm_jobs *s, struct slurm_tres *ret)
{
    const char *text = json_text_filled(slurm_settings(s), "Licenses");

    if (text)
        err_free(slurm_licenses_parse(str_of(text), ret)); /* malformed: there are none */
}

static int64_t licenses_used(const struct slurm_jobs *s, const char *name)
{
    AUTO_FREE char *key = mem_format("license\n%s", name);

    return slurm_held_number(s, key);
}

static void count_all(struct slurm_jobs *s, const struct slurm_tres *of, bool holds)
{
    VEC_EACH (&of->items, item)
        slurm_held_add(s, mem_format("license\n%s", item->name),
                       holds ? item->count : -item->count);
}

void sjob_pod_count_licenses(struct sjob_pod *p, bool holds)
{
    struct slurm_tres own = {0};

    if (holds == p->is_licensed)
        return;
    p->is_licensed = holds;
    if (!p->job->has_any_license) {
        count_all(p->job->jobs, &p->job->licenses, holds);
        return;
    }
    if (p->license)
        err_free(slurm_licenses_parse(str_of(p->license), &own)); /* our own text */
    count_all(p->job->jobs, &own, holds);
    slurm_tres_done(&own);
}

/* The number of the job's licenses that are free, and the first of these; NULL: none. */
static size_t count_free(const struct sjob *j, const struct slurm_tres_item **ret_first)
{
    struct slurm_tres total = {0};
    size_t n = 0;

    *ret_first = NULL;
    licenses_of(j->jobs, &total);
    VEC_EACH (&j->licenses.items, item) {
        bool is_free = licenses_used(j->jobs, item->name) + item->count <=
                       slurm_tres_get(&total, item->name, 0);

        if (is_free && n++ == 0)
            *ret_first = item;
    }
    slurm_tres_done(&total);
    return n;
}

bool sjob_has_licenses(const struct sjob *j)
{
    const struct slurm_tres_item *first;
    size_t n = j->licenses.items.n > 0 ? count_free(j, &first) : 0;

    return n == j->licenses.items.n || (j->has_any_license && n > 0);
}

char *sjob_license_pick(const struct sjob *j)
{
    const struct slurm_tres_item *first = NULL;

    if (j->has_any_license)
        (void)count_free(j, &first);
    return first ? mem_format("%s:%" PRId64, first->name, first->count) : NULL;
}

json_t *slurm_license_rows(const struct slurm_jobs *s)
{
    struct slurm_tres total = {0};
    json_t *rows = json_array();

    licenses_of(s, &total);
    VEC_EACH (&total.items, item) {
        json_t *row = json_object();

        json_put_text(row, "name", item->name);
        json_put_int(row, "total", item->count);
        json_put_int(row, "used", licenses_used(s, item->name));
        (void)json_array_append_new(rows, row); /* fresh: cannot fail */
    }
    slurm_tres_done(&total);
    return rows;
}
