/*
 * slurm_whole.c - the cpus of a job that has its nodes alone
 *
 * As under Slurm it gets all cpus of them. A pod's request is made before it has a node: it asks
 * for the cpus of the smallest node that the job may have, which are those of each where all are
 * alike.
 */
#include "control/slurm/slurm_private.h"
#include "kinds/slurm/slurm_ask.h"
#include "model/hostlist.h"

#define WHOLE_NS NS_PER_SEC /* the pods of one turn are alike */

struct whole_search {
    const struct sjob *job;
    const json_t *spec;
    const struct slurm_ask *ask;
    const json_t *partitions; /* names; NULL: any */
    json_t *listed;           /* names as keys; NULL: any */
    json_t *excluded;
};

/* New reference; NULL: the text names none. */
static json_t *names_of(const char *text)
{
    AUTO(hostlist_done) struct hostlist names = {0};
    json_t *keys;

    if (!text)
        return NULL;
    err_free(hostlist_parse(str_of(text), HOSTLIST_MAX, &names)); /* was checked */
    keys = json_object();
    VEC_EACH (&names.names, name)
        json_put_bool(keys, *name, true);
    return keys;
}

static bool is_of_a_partition(const struct whole_search *w, const char *node)
{
    for (size_t i = 0; i < json_array_size(w->partitions); i++) {
        const char *name = json_string_value(json_array_get(w->partitions, i));
        struct slurm_part *part = NULL;

        map_find_text(handle, w->job->jobs->parts, name, part);
        if (part && slurm_part_has(part, node))
            return true;
    }
    return w->partitions == NULL;
}

static bool may_have(const struct whole_search *w, const struct slurm_node *n)
{
    return is_of_a_partition(w, n->name) && (!w->listed || json_object_get(w->listed, n->name)) &&
           !json_object_get(w->excluded, n->name) && slurm_ask_fits_node(w->ask, n->object) &&
           slurm_constraint_holds(json_text_filled(w->spec, "constraint"), n->object);
}

static int64_t least_cpus(const struct whole_search *w)
{
    struct slurm_node *n;
    struct slurm_node *next;
    int64_t least = 0;

    map_each (handle, w->job->jobs->nodes, n, next) {
        int64_t cpus = slurm_node_cpus(n->object);

        if ((least == 0 || cpus < least) && cpus > 0 && may_have(w, n))
            least = cpus;
    }
    return least;
}

int64_t sjob_whole_cpus(struct sjob *j, size_t component, const json_t *partitions)
{
    AUTO(json_freep) json_t *own = j->het.n > 1 ? sjob_spec(j, component) : NULL;
    const json_t *spec = own ? own : json_object_get(j->object, "spec");
    const char *listed = json_text_filled(spec, "nodeList");
    struct whole_search w = {j, spec, &j->het.asks[component], partitions, NULL, NULL};
    int64_t now_ns = loop_now_ns(j->jobs->options.loop);

    if (!json_bool(spec, "exclusive", false))
        return 0;
    if (j->whole_component == component && j->whole_ns > 0 && now_ns - j->whole_ns < WHOLE_NS)
        return j->whole_cpus;
    w.listed = names_of(listed);
    w.excluded = names_of(json_text_filled(spec, "excludeNodes"));
    if (w.listed && (int64_t)json_object_size(w.listed) < w.ask->nodes)
        json_decref(TAKE(w.listed)); /* the job gets others, too */
    j->whole_cpus = least_cpus(&w);
    j->whole_component = component;
    j->whole_ns = now_ns;
    json_decref(w.listed);
    json_decref(w.excluded);
    return j->whole_cpus;
}
