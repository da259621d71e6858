/* query.c - questions to the report of rows */

#include "slurm/query.h"

#include <inttypes.h>

#include "client/client.h"
#include "kinds/slurm/slurm_rows.h"
#include "model/slurm_array.h"

enum {
    IDS_MAX = 10000 /* numbers in one question */
};

void slurm_query_begin(struct slurm_query *q, const char *what)
{
    q->path = (struct buf){0};
    buf_printf(&q->path, "%s?what=%s", SLURM_REPORT_PATH, what);
}

void slurm_query_add(struct slurm_query *q, const char *parameter, const char *value)
{
    buf_printf(&q->path, "&%s=", parameter);
    client_add_escaped(&q->path, str_of(value));
}

char *slurm_query_end(struct slurm_query *q)
{
    return buf_steal(&q->path);
}

static struct err *ids_add(struct str text, size_t *n, struct buf *out)
{
    AUTO(slurm_job_name_done) struct slurm_job_name name = {0};
    AUTO(err_freep) struct err *e = slurm_job_name_parse(text, &name);

    if (e)
        return err_new(ERR_INVALID, "Invalid job id: " STR_FMT, STR_ARG(text));
    *n += name.indexes.count + 1;
    if (*n > IDS_MAX)
        return err_new(ERR_INVALID, "more than %d job ids", IDS_MAX);
    if (name.indexes.count == 0)
        buf_printf(out, "%s%" PRId64, out->size > 0 ? "," : "", name.id);
    if (name.component >= 0)
        buf_printf(out, "+%" PRId64, name.component);
    for (size_t i = 0; i < name.indexes.n_words * 64; i++)
        if (index_set_has(&name.indexes, i))
            buf_printf(out, "%s%" PRId64 "_%zu", out->size > 0 ? "," : "", name.id, i);
    return NULL;
}

/* Cuts a number off: up to a comma or blank outside of brackets. */
static struct str ids_cut(struct str *rest)
{
    struct str id = {rest->at, 0};
    bool is_inside = false;

    for (; id.size < rest->size; id.size++) {
        char c = rest->at[id.size];

        is_inside = c == '[' || (is_inside && c != ']');
        if (!is_inside && (c == ',' || c == ' ')) {
            rest->at += id.size + 1;
            rest->size -= id.size + 1;
            return id;
        }
    }
    *rest = (struct str){0};
    return id;
}

struct err *slurm_ids_parse(const char *text, struct buf *out)
{
    struct str rest = str_of(text);
    size_t n = 0;

    while (rest.at) {
        struct str id = ids_cut(&rest);

        if (id.size > 0)
            TRY(ids_add(id, &n, out));
    }
    return NULL;
}

bool slurm_list_has(const char *list, const char *word)
{
    struct str rest = str_of(list);

    while (rest.at)
        if (str_equal(str_cut(&rest, ','), str_of(word)))
            return true;
    return false;
}
