/* cancel.c - changes that cancel jobs */

#include "slurm/cancel.h"

#include <inttypes.h>

#include "base/mem.h"
#include "model/hostlist.h"

char *slurm_cancel_elements(const json_t *row, int64_t id, const struct index_set *indexes)
{
    const json_t *index = json_object_get(row, "arrayTaskId");
    bool is_element = json_is_integer(index) && json_int(row, "jobId", 0) == id &&
                      json_int(row, "arrayJobId", 0) != id;

    if (indexes->count > 0)
        return index_set_format(indexes);
    if (is_element)
        return mem_format("%" PRId64, (int64_t)json_integer_value(index));
    return mem_strdup("*");
}

/* Adds the numbers of a text to a set. */
static struct err *cancel_add(const char *text, struct index_set *set)
{
    AUTO(index_set_done) struct index_set more = {0};

    TRY(index_set_parse(str_of(text), INDEX_SET_MAX, &more));
    for (size_t i = 0; i < more.n_words * 64; i++)
        if (index_set_has(&more, i))
            (void)index_set_add(set, i); /* both may have it */
    return NULL;
}

struct err *slurm_cancel_patch(const json_t *job, const char *elements, json_t **ret)
{
    const char *before = json_text_at(job, "spec", "cancelled", NULL);
    AUTO(index_set_done) struct index_set set = {0};
    AUTO_FREE char *text = NULL;
    json_t *patch;

    if (text_equal(elements, "*") || text_equal(before, "*")) {
        text = mem_strdup("*");
    } else {
        TRY(cancel_add(text_or_empty(before), &set));
        TRY(cancel_add(elements, &set));
        text = index_set_format(&set);
    }
    patch = json_object();
    json_put_text(json_object_at(patch, "metadata"), "resourceVersion",
                  json_text_at(job, "metadata", "resourceVersion", NULL));
    json_put_text(json_object_at(patch, "spec"), "cancelled", text);
    *ret = patch;
    return NULL;
}

bool slurm_hosts_meet(const char *a, const char *b)
{
    AUTO(hostlist_done) struct hostlist first = {0};
    AUTO(hostlist_done) struct hostlist second = {0};
    AUTO(err_freep) struct err *e = hostlist_parse(str_of(text_or_empty(a)), HOSTLIST_MAX, &first);
    AUTO(err_freep)
    struct err *other = hostlist_parse(str_of(text_or_empty(b)), HOSTLIST_MAX, &second);

    for (size_t i = 0; !e && !other && i < first.names.n; i++)
        for (size_t k = 0; k < second.names.n; k++)
            if (text_equal(first.names.at[i], second.names.at[k]))
                return true;
    return false;
}
