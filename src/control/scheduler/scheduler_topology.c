/*
 * scheduler_topology.c - the rack, block or NVLink domain that the pods of a group share
 *
 * The engine keeps the pods of one workload together. A pod that comes later, or comes back, is a
 * workload of its own: the topology label of a node with another pod of its group says where it
 * belongs.
 */
#include "base/arena.h"
#include "control/scheduler/scheduler_private.h"

/*
 * The identity of a pod's set within its group, for pods with equal requests: the controller and
 * the part of it that made the pod.
 */
static const char *set_of(struct arena *a, const json_t *pod)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    const json_t *owners = json_object_get(metadata, "ownerReferences");
    const char *part = json_text_at(metadata, "labels", "kueue.x-k8s.io/podset", NULL);
    const char *task = json_text_at(metadata, "annotations", GANG_VOLCANO_TASK, NULL);
    const char *owner = NULL;

    for (size_t i = 0; i < json_array_size(owners) && !owner; i++)
        if (json_bool(json_array_get(owners, i), "controller", false))
            owner = json_text(json_array_get(owners, i), "uid");
    return arena_format(a, "%s/%s/%s", owner ? owner : "", part ? part : "", task ? task : "");
}

static void list_domains(struct arena *a, const struct topology_level *levels, size_t n,
                         const struct mete_domain **ret)
{
    struct mete_domain *list = arena_alloc(a, (n + 1) * sizeof(*list));

    for (size_t i = 0; i < n; i++)
        list[i] = (struct mete_domain){arena_strdup(a, levels[i].key), levels[i].is_required};
    *ret = list;
}

static const char *label_of(const struct scheduler *s, const char *node, const char *key)
{
    struct sched_node *n = NULL;

    if (node)
        map_find_text(handle, s->nodes, node, n);
    return n ? json_text_at(n->facts, "labels", key, NULL) : NULL;
}

/* The pod whose domain is looked up. */
struct member {
    const struct scheduler *s;
    struct arena *a;
    const struct sched_pod *pod;
};

/* The label's value at the node of another pod of the group, of the same set (NULL: any). */
static const char *value_there(const struct member *m, const char *set, const char *key)
{
    VEC_EACH (&m->pod->group->pods, other) {
        const char *value;

        if (*other == m->pod || !sched_pod_is_placed(*other) || (*other)->is_deleting ||
            (set && !text_equal(set, set_of(m->a, (*other)->tree))))
            continue;
        value = label_of(m->s, (*other)->node, key);
        if (value)
            return value;
    }
    return NULL;
}

/* Adds the domains of the group's other pods, of the same set (NULL: any), to the selector. */
static void pin_domains(const struct member *m, const char *set,
                        const struct topology_level *levels, size_t n, struct mete_pod_set *ret)
{
    struct mete_label *list = arena_alloc(m->a, (ret->n_selector + n + 1) * sizeof(*list));
    size_t count = ret->n_selector;

    for (size_t i = 0; i < count; i++)
        list[i] = ret->selector[i];
    for (size_t i = 0; i < n; i++) {
        const char *value = levels[i].is_required ? value_there(m, set, levels[i].key) : NULL;
        bool is_new = value != NULL;

        for (size_t k = 0; k < count; k++)
            is_new = is_new && !text_equal(list[k].key, levels[i].key);
        if (is_new)
            list[count++] =
                (struct mete_label){arena_strdup(m->a, levels[i].key), arena_strdup(m->a, value)};
    }
    ret->selector = list;
    ret->n_selector = count;
}

void sched_topology_of_group(const struct scheduler *s, struct arena *a,
                             const struct sched_group *g, struct mete_workload *ret)
{
    struct gang_rules rules = {0};

    if (g && sched_group_read(s, g, &rules)) {
        list_domains(a, rules.together, rules.n_together, &ret->domains);
        ret->n_domains = rules.n_together;
    }
}

void sched_topology_of_pod(const struct scheduler *s, struct arena *a, const struct sched_pod *p,
                           struct sched_ask *ask)
{
    const struct member m = {s, a, p};
    struct topology_level own[TOPOLOGY_MAX];
    struct gang_rules rules = {0};
    size_t n;

    if (!p->group)
        return; /* a single pod is always together */
    n = topology_read(p->tree, NULL, own);
    if (n > 0) {
        ask->podset = set_of(a, p->tree);
        list_domains(a, own, n, &ask->set.domains);
        ask->set.n_domains = n;
    }
    if (sched_pod_is_placed(p))
        return;
    pin_domains(&m, ask->podset, own, n, &ask->set);
    if (sched_group_read(s, p->group, &rules))
        pin_domains(&m, NULL, rules.together, rules.n_together, &ask->set);
}

char *sched_topology_format(const struct gang_rules *rules)
{
    struct buf text = {0};

    for (size_t i = 0; i < rules->n_together; i++)
        buf_printf(&text, "%s%s,", rules->together[i].key,
                   rules->together[i].is_required ? "!" : "");
    return buf_steal(&text);
}
