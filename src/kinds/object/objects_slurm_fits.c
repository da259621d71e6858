/* objects_slurm_fits.c - does a job name known nodes, could they hold it when empty, and how many
 * does it get? */

#include "base/mem.h"
#include "kinds/object/objects_private.h"
#include "kinds/object/tree_cache.h"
#include "kinds/slurm/slurm_ask.h"
#include "model/hostlist.h"

enum {
    SPREAD_MAX = 64 /* nodes of a job that says nothing about them */
};

/* Are there as many nodes as the job asks for that could hold it if they were empty? `*ret_nodes`:
 * the number of nodes, if not. */
static struct err *find_fits(const struct change *c, const struct slurm_ask *ask, bool *ret_fits,
                             int64_t *ret_nodes)
{
    const struct store_range range = {.group = "", .resource = "nodes"};
    const struct store_object *o = NULL;
    AUTO(json_freep) json_t *own = slurm_partitions_nodes(c);
    int64_t most_cpus = slurm_partitions_cpus(c);
    int64_t n_fits = 0;
    int64_t n = 0;

    *ret_fits = false;
    while ((o = store_next_applied(c->objects->store, &range, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *node = NULL;

        if (own && !json_object_get(own, o->key.name))
            continue;
        TRY(tree_cache_get(c->objects->trees, o, &node));
        n++;
        n_fits += (most_cpus == 0 || ask->cpus <= most_cpus) && slurm_ask_fits_node(ask, node);
        if (n_fits < ask->nodes)
            continue;
        *ret_fits = true;
        return NULL;
    }
    *ret_nodes = n;
    return NULL;
}

/*
 * Tasks that no node could hold together are spread over as few nodes as possible, unless the job
 * says how many nodes it wants.
 */
static struct err *spread(const struct change *c, int64_t n_nodes, bool *ret_fits)
{
    json_t *spec = json_object_at(c->after, "spec");
    int64_t most = json_int(spec, "tasks", 1);
    struct slurm_ask ask;

    if (json_object_get(spec, "nodesMin") || json_text_filled(spec, "nodeList") ||
        json_object_get(spec, "container")) /* a container has one node */
        return NULL;
    if (most > n_nodes)
        most = n_nodes;
    if (most > SPREAD_MAX)
        most = SPREAD_MAX;
    for (int64_t n = 2; n <= most && !*ret_fits; n++) {
        AUTO(err_freep) struct err *e = NULL;

        json_put_int(spec, "nodesMin", n);
        e = slurm_ask_read(spec, &ask);
        if (!e) /* else the gpus cannot be divided by this number */
            TRY(find_fits(c, &ask, ret_fits, &n_nodes));
    }
    return NULL;
}

/* Of --spread-job: the greatest number of nodes that could hold the job if they were empty. */
static struct err *spread_most(const struct change *c, int64_t n_nodes, bool *ret_fits)
{
    json_t *spec = json_object_at(c->after, "spec");
    int64_t least = json_int(spec, "nodesMin", 1);
    int64_t most = json_int(spec, "nodesMax", n_nodes);
    struct slurm_ask ask;

    if (most == 0 || most > n_nodes) /* 0: any number */
        most = n_nodes;
    if (most > json_int(spec, "tasks", 1))
        most = json_int(spec, "tasks", 1);
    if (most > SLURM_NODES_MAX)
        most = SLURM_NODES_MAX;
    for (int64_t n = most; n > least && !*ret_fits; n--) {
        AUTO(err_freep) struct err *e = NULL;

        json_put_int(spec, "nodesMin", n);
        e = slurm_ask_read(spec, &ask);
        if (!e) /* as above */
            TRY(find_fits(c, &ask, ret_fits, &n_nodes));
    }
    if (!*ret_fits && least == 1 && !json_object_get(spec, "nodesMax"))
        (void)json_object_del(spec, "nodesMin"); /* may be absent */
    else if (!*ret_fits)
        json_put_int(spec, "nodesMin", least);
    return NULL;
}

/* ---- names ---- */

/* Nodes of slurm.conf that have not joined yet, and their features, are known, too. */
static struct err *add_configured(const struct change *c, json_t *names, json_t *features)
{
    AUTO(json_freep)
    json_t *config = slurm_find_book((void *)(uintptr_t)c, "slurmconfigs", "default");
    const json_t *lines = json_at(config, "spec", "nodes", NULL);
    const json_t *line;
    const json_t *feature;
    size_t i;
    size_t k;

    json_array_foreach (lines, i, line) {
        AUTO(hostlist_done) struct hostlist list = {0};

        TRY(hostlist_parse(str_of(text_or_empty(json_text(line, "names"))), HOSTLIST_MAX, &list));
        VEC_EACH (&list.names, name)
            json_put_bool(names, *name, true);
        json_array_foreach (json_object_get(line, "features"), k, feature)
            json_put_bool(features, text_or_empty(json_string_value(feature)), true);
    }
    return NULL;
}

/* The names and the features of all nodes, as keys. */
static struct err *list_known(const struct change *c, json_t *names, json_t *features)
{
    const struct store_range range = {.group = "", .resource = "nodes"};
    const struct store_object *o = NULL;

    while ((o = store_next_applied(c->objects->store, &range, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *node = NULL;
        const char *host;

        TRY(tree_cache_get(c->objects->trees, o, &node));
        host = json_text_at(node, "metadata", "labels", "kubernetes.io/hostname", NULL);
        json_put_bool(names, o->key.name, true);
        if (host)
            json_put_bool(names, host, true);
        slurm_node_features(node, features);
    }
    return add_configured(c, names, features);
}

static struct err *check_hosts(const char *text, const json_t *names)
{
    AUTO(hostlist_done) struct hostlist list = {0};

    TRY(hostlist_parse(str_of(text_or_empty(text)), HOSTLIST_MAX, &list));
    VEC_EACH (&list.names, name)
        if (!json_object_get(names, *name))
            return err_new(ERR_INVALID, "Invalid node name specified");
    return NULL;
}

static struct err *check_features(const char *constraint, const json_t *features)
{
    struct str rest = str_of(constraint);

    while (rest.at) {
        struct str all = str_cut(&rest, '|');

        while (all.at) {
            struct str one = str_cut(&all, '&');
            AUTO_FREE char *name = mem_strndup(one.at, one.size);

            if (!json_object_get(features, name))
                return err_new(ERR_INVALID, "Invalid feature specification");
        }
    }
    return NULL;
}

struct err *slurm_names_check(const struct change *c)
{
    const json_t *spec = json_object_get(c->after, "spec");
    const char *const hosts[] = {json_text_filled(spec, "nodeList"),
                                 json_text_filled(spec, "excludeNodes")};
    const char *const wanted[] = {json_text_filled(spec, "constraint"),
                                  json_text_filled(spec, "prefer")};
    AUTO(json_freep) json_t *names = json_object();
    AUTO(json_freep) json_t *features = json_object();

    if (!hosts[0] && !hosts[1] && !wanted[0] && !wanted[1])
        return NULL;
    TRY(list_known(c, names, features));
    if (json_object_size(names) == 0)
        return NULL;
    for (size_t i = 0; i < COUNT(hosts); i++)
        TRY(check_hosts(hosts[i], names));
    for (size_t i = 0; i < COUNT(wanted); i++)
        TRY(check_features(wanted[i], features));
    return NULL;
}

/* ---- room ---- */

struct err *slurm_fits_check(const struct change *c, const struct slurm_ask *ask)
{
    const json_t *spec = json_object_get(c->after, "spec");
    struct slurm_ask all = *ask;
    int64_t n_nodes = 0;
    bool fits = false;

    if (json_bool(spec, "spread", false) && !json_text_filled(spec, "nodeList")) {
        all.nodes = INT64_MAX; /* counts the nodes */
        TRY(find_fits(c, &all, &fits, &n_nodes));
        TRY(spread_most(c, n_nodes, &fits));
        if (fits)
            return NULL;
    }
    TRY(find_fits(c, ask, &fits, &n_nodes));
    if (fits || n_nodes == 0)
        return NULL;
    TRY(spread(c, n_nodes, &fits));
    return fits ? NULL : err_new(ERR_INVALID, "Requested node configuration is not available");
}
