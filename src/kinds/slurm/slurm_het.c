/* slurm_het.c - the components of heterogeneous jobs */

#include "kinds/slurm/slurm_het.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "model/hostlist.h"

const char *const slurm_het_keys[] = {
    "name",         "partition",    "constraint",    "prefer",      "nodesMin",    "nodesMax",
    "tasks",        "tasksPerNode", "cpusPerTask",   "cpusMin",     "nodeList",    "excludeNodes",
    "exclusive",    "overcommit",   "memoryPerNode", "tmpPerNode",  "switches",    "memoryPerCpu",
    "memoryPerGpu", "gres",         "gpus",          "gpusPerNode", "gpusPerTask", "cpusPerGpu",
    "switchesWait", "spread",       "tasksPerGpu",   NULL};

int64_t slurm_het_size(const json_t *spec)
{
    return 1 + (int64_t)json_array_size(json_object_get(spec, "components"));
}

json_t *slurm_het_spec(const json_t *spec, int64_t component)
{
    json_t *own = json_copy((json_t *)(uintptr_t)spec);
    json_t *request = json_array_get(json_object_get(spec, "components"), (size_t)component - 1);

    (void)json_object_del(own, "components"); /* may be absent */
    if (component == 0)
        return own;
    for (size_t i = 0; slurm_het_keys[i]; i++)
        if (!text_equal(slurm_het_keys[i], "name"))
            (void)json_object_del(own, slurm_het_keys[i]); /* may be absent */
    (void)json_object_update(own, request);                /* two objects: cannot fail */
    return own;
}

struct err *slurm_het_read(const json_t *spec, struct slurm_het *ret)
{
    struct slurm_het h = {.n = (size_t)slurm_het_size(spec)};

    h.asks = mem_alloc(h.n * sizeof(*h.asks));
    for (size_t i = 0; i < h.n; i++) {
        AUTO(json_freep) json_t *own = slurm_het_spec(spec, (int64_t)i);
        struct err *e = slurm_ask_read(own, &h.asks[i]);

        if (e) {
            slurm_het_done(&h);
            return e;
        }
        h.nodes += h.asks[i].nodes;
    }
    *ret = h;
    return NULL;
}

void slurm_het_done(struct slurm_het *h)
{
    free(h->asks);
    *h = (struct slurm_het){0};
}

size_t slurm_het_of_rank(const struct slurm_het *h, int64_t rank, int64_t *ret_first)
{
    int64_t first = 0;
    size_t i = 0;

    while (i + 1 < h->n && rank >= first + h->asks[i].nodes) {
        first += h->asks[i].nodes;
        i++;
    }
    *ret_first = first;
    return i;
}

/* Finds the first node of the component, and their number. False: the counts have no such
 * component. */
static bool find_part(const char *counts, int64_t component, size_t *ret_first, size_t *ret_n)
{
    struct str rest = str_of(counts);
    size_t first = 0;

    for (int64_t i = 0; rest.at; i++) {
        int64_t n = 0;
        AUTO(err_freep)
        struct err *e = num_parse_int64(str_cut(&rest, ','), 1, SLURM_NODES_MAX, &n);

        if (e)
            return false;
        if (i == component) {
            *ret_first = first;
            *ret_n = (size_t)n;
            return true;
        }
        first += (size_t)n;
    }
    return false;
}

char *slurm_het_nodes(const char *nodes, const char *counts, int64_t component)
{
    AUTO(hostlist_done) struct hostlist all = {0};
    AUTO(hostlist_done) struct hostlist own = {0};
    AUTO(err_freep)
    struct err *e = hostlist_parse(str_of(text_or_empty(nodes)), HOSTLIST_MAX, &all);
    size_t first = 0;
    size_t n = 0;

    if (e || !find_part(counts, component, &first, &n) || first + n > all.names.n)
        return NULL;
    for (size_t i = first; i < first + n; i++)
        hostlist_add(&own, all.names.at[i]);
    return hostlist_format(&own);
}

char *slurm_het_counts(const struct slurm_het *h)
{
    struct buf out = {0};

    for (size_t i = 0; i < h->n; i++)
        buf_printf(&out, "%s%" PRId64, i > 0 ? "," : "", h->asks[i].nodes);
    return buf_steal(&out);
}
