/* affinity_naive.c - the rules of affinity_naive.h */

#include "affinity_naive.h"

#include <string.h>

#include "base/attr.h"
#include "base/num.h"

const char *const affinity_names[NODES] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6"};

static const char *node_label(const struct affinity_model *m, int node, const char *key)
{
    const struct model_node *n = &m->nodes[node];

    if (strcmp(key, "host") == 0)
        return affinity_names[node];
    if (strcmp(key, "zone") == 0)
        return n->zone;
    return strcmp(key, "disk") == 0 ? n->disk : n->cores;
}

static const char *pod_label(const struct model_pod *p, const char *key)
{
    return strcmp(key, "app") == 0 ? p->app : strcmp(key, "tier") == 0 ? p->tier : NULL;
}

static bool one_of(const struct mete_requirement *r, const char *value)
{
    for (size_t i = 0; i < r->n_values; i++)
        if (strcmp(r->values[i], value) == 0)
            return true;
    return false;
}

static bool holds(const struct mete_requirement *r, const char *value)
{
    AUTO(err_freep) struct err *e = NULL;
    int64_t number = 0;
    int64_t limit = 0;

    switch (r->op) {
    case METE_OP_IN:
        return value && one_of(r, value);
    case METE_OP_NOT_IN:
        return !value || !one_of(r, value);
    case METE_OP_EXISTS:
        return value != NULL;
    case METE_OP_DOES_NOT_EXIST:
        return !value;
    case METE_OP_GREATER:
    case METE_OP_LESS:
        if (!value)
            return false;
        e = num_parse_int64(str_of(value), INT64_MIN, INT64_MAX, &number);
        if (e)
            return false;
        e = num_parse_int64(str_of(r->values[0]), INT64_MIN, INT64_MAX, &limit);
        return !e && (r->op == METE_OP_GREATER ? number > limit : number < limit);
    }
    return false;
}

static bool term_holds(const struct affinity_model *m, const struct mete_node_term *t, int node)
{
    for (size_t i = 0; i < t->n_labels; i++)
        if (!holds(&t->labels[i], node_label(m, node, t->labels[i].key)))
            return false;
    for (size_t i = 0; i < t->n_names; i++)
        if (!holds(&t->names[i], affinity_names[node]))
            return false;
    return t->n_labels + t->n_names > 0;
}

static bool node_is_wanted(const struct affinity_model *m, const struct model_pod *p, int node)
{
    for (size_t i = 0; i < p->n_terms; i++)
        if (term_holds(m, &p->terms[i], node))
            return true;
    return p->n_terms == 0;
}

static bool selects(const struct mete_pod_rule *r, const struct model_pod *p)
{
    bool is_there = r->any_namespace;

    for (size_t i = 0; i < r->n_namespaces; i++)
        is_there = is_there || strcmp(r->namespaces[i], p->ns) == 0;
    for (size_t i = 0; i < r->n_labels; i++)
        if (!holds(&r->labels[i], pod_label(p, r->labels[i].key)))
            return false;
    return is_there && !r->matches_none;
}

static bool selected_by_all(const struct model_pod *owner, const struct model_pod *p)
{
    for (size_t i = 0; i < owner->n_rules; i++) {
        const struct mete_pod_rule *r = &owner->rules[i].rule;

        if (r->kind == METE_RULE_TOGETHER && r->weight == 0 && !selects(r, p))
            return false;
    }
    return true;
}

static bool same_domain(const struct affinity_model *m, const char *key, int a, int b)
{
    const char *one = node_label(m, a, key);
    const char *other = node_label(m, b, key);

    return one && other && strcmp(one, other) == 0;
}

typedef bool (*pod_test)(const void *arg, const struct model_pod *p);

/* Pods in the domain of the node (or with -1 in any) for which `test` holds. */
static int64_t count_pods(const struct affinity_model *m, const char *key, int node, pod_test test,
                          const void *arg)
{
    int64_t n = 0;

    for (int id = 1; id <= PODS; id++)
        for (uint32_t k = 0; m->pods[id].is_there && k < m->pods[id].count; k++) {
            int at = m->pods[id].node[k];

            if (at < 0 || !m->nodes[at].is_there || !node_label(m, at, key))
                continue;
            if (node < 0 || same_domain(m, key, node, at))
                n += test(arg, &m->pods[id]);
        }
    return n;
}

static bool test_rule(const void *arg, const struct model_pod *p)
{
    return selects(arg, p);
}

static bool test_all(const void *arg, const struct model_pod *p)
{
    return selected_by_all(arg, p);
}

static bool spread_sees(const struct affinity_model *m, const struct model_pod *p,
                        const struct mete_pod_rule *r, int node)
{
    const struct model_node *n = &m->nodes[node];

    if (!n->is_there)
        return false;
    for (size_t i = 0; i < p->n_rules; i++) {
        const struct mete_pod_rule *other = &p->rules[i].rule;

        if (other->kind == METE_RULE_SPREAD && (other->weight > 0) == (r->weight > 0) &&
            !node_label(m, node, other->topology))
            return false;
    }
    if (!r->counts_all_nodes && !node_is_wanted(m, p, node))
        return false;
    return !r->counts_no_tainted_nodes || (!n->is_cordoned && (!n->is_tainted || p->tolerates));
}

/* Pods that match on the nodes of the domain that count; -1: there is no such node. */
static int64_t spread_count(const struct affinity_model *m, const struct model_pod *p,
                            const struct mete_pod_rule *r, int domain_of)
{
    int64_t n = -1;

    for (int node = 0; node < NODES; node++) {
        if (!spread_sees(m, p, r, node) || !same_domain(m, r->topology, domain_of, node))
            continue;
        n = n < 0 ? 0 : n;
        for (int id = 1; id <= PODS; id++)
            for (uint32_t k = 0; m->pods[id].is_there && k < m->pods[id].count; k++)
                n += m->pods[id].node[k] == node && selects(r, &m->pods[id]);
    }
    return n;
}

static bool spread_allows(const struct affinity_model *m, const struct model_pod *p,
                          const struct mete_pod_rule *r, int node)
{
    int64_t least = INT64_MAX;
    int64_t here;
    uint32_t n_domains = 0;

    if (!node_label(m, node, r->topology))
        return false;
    for (int other = 0; other < NODES; other++) {
        bool is_first = spread_sees(m, p, r, other);

        for (int before = 0; before < other && is_first; before++)
            is_first = !spread_sees(m, p, r, before) || !same_domain(m, r->topology, other, before);
        if (!is_first)
            continue;
        here = spread_count(m, p, r, other);
        least = here < least ? here : least;
        n_domains++;
    }
    if (n_domains < (r->min_domains > 0 ? r->min_domains : 1))
        least = 0;
    here = spread_count(m, p, r, node);
    return (here < 0 ? 0 : here) + selects(r, p) - least <= r->max_skew;
}

static bool together_allows(const struct affinity_model *m, const struct model_pod *p, int node)
{
    bool are_there = true;
    bool are_anywhere = false;

    for (size_t i = 0; i < p->n_rules; i++) {
        const struct mete_pod_rule *r = &p->rules[i].rule;

        if (r->kind != METE_RULE_TOGETHER || r->weight > 0)
            continue;
        if (!node_label(m, node, r->topology))
            return false;
        are_there = are_there && count_pods(m, r->topology, node, test_all, p) > 0;
        are_anywhere = are_anywhere || count_pods(m, r->topology, -1, test_all, p) > 0;
    }
    return are_there || (!are_anywhere && selected_by_all(p, p));
}

static bool others_allow(const struct affinity_model *m, const struct model_pod *p, int node)
{
    for (int id = 1; id <= PODS; id++) {
        const struct model_pod *other = &m->pods[id];

        for (uint32_t k = 0; other->is_there && k < other->count; k++)
            for (size_t i = 0; i < other->n_rules && other->node[k] >= 0; i++) {
                const struct mete_pod_rule *r = &other->rules[i].rule;

                if (r->kind == METE_RULE_APART && r->weight == 0 && selects(r, p) &&
                    m->nodes[other->node[k]].is_there &&
                    same_domain(m, r->topology, node, other->node[k]))
                    return false;
            }
    }
    return true;
}

static bool rules_allow(const struct affinity_model *m, const struct model_pod *p, int node)
{
    for (size_t i = 0; i < p->n_rules; i++) {
        const struct mete_pod_rule *r = &p->rules[i].rule;

        if (r->weight > 0)
            continue;
        if (r->kind == METE_RULE_APART && node_label(m, node, r->topology) &&
            count_pods(m, r->topology, node, test_rule, r) > 0)
            return false;
        if (r->kind == METE_RULE_SPREAD && !spread_allows(m, p, r, node))
            return false;
    }
    return together_allows(m, p, node) && others_allow(m, p, node);
}

static int used_on(const struct affinity_model *m, int node)
{
    int used = 0;

    for (int id = 1; id <= PODS; id++)
        for (uint32_t k = 0; m->pods[id].is_there && k < m->pods[id].count; k++)
            used += m->pods[id].node[k] == node;
    return used;
}

bool affinity_may_be(const struct affinity_model *m, const struct model_pod *p, int node)
{
    const struct model_node *n = &m->nodes[node];

    return n->is_there && !n->is_cordoned && (!n->is_tainted || p->tolerates) &&
           used_on(m, node) < CPUS && node_is_wanted(m, p, node) && rules_allow(m, p, node);
}

/* ---- a node's score by each plugin, before normalization ---- */

static int64_t wishes_of(const struct affinity_model *m, const struct model_pod *p, int node)
{
    int64_t sum = 0;

    for (size_t i = 0; i < p->n_wishes; i++)
        sum += term_holds(m, &p->wishes[i].term, node) ? p->wishes[i].weight : 0;
    return sum;
}

static int64_t liking_of(const struct affinity_model *m, const struct model_pod *p, int node)
{
    int64_t sum = 0;

    for (int id = 1; id <= PODS; id++)
        for (uint32_t k = 0; m->pods[id].is_there && k < m->pods[id].count; k++) {
            const struct model_pod *other = &m->pods[id];
            int at = other->node[k];

            if (at < 0 || !m->nodes[at].is_there)
                continue;
            for (size_t i = 0; i < p->n_rules; i++) {
                const struct mete_pod_rule *r = &p->rules[i].rule;

                if (r->kind != METE_RULE_SPREAD && r->weight > 0 && selects(r, other) &&
                    same_domain(m, r->topology, node, at))
                    sum += r->kind == METE_RULE_APART ? -(int64_t)r->weight : r->weight;
            }
            for (size_t i = 0; i < other->n_rules; i++) {
                const struct mete_pod_rule *r = &other->rules[i].rule;
                int64_t weight = r->weight > 0 ? r->weight : 1;

                if (r->kind == METE_RULE_SPREAD || (r->kind == METE_RULE_APART && r->weight == 0) ||
                    !selects(r, p) || !same_domain(m, r->topology, node, at))
                    continue;
                sum += r->kind == METE_RULE_APART ? -weight : weight;
            }
        }
    return sum;
}

static bool is_wished_spread(const struct mete_pod_rule *r)
{
    return r->kind == METE_RULE_SPREAD && r->weight > 0;
}

static bool has_wished_spread(const struct model_pod *p)
{
    for (size_t i = 0; i < p->n_rules; i++)
        if (is_wished_spread(&p->rules[i].rule))
            return true;
    return false;
}

/* The number of domains with nodes that fit. */
static int domains_of(const struct affinity_model *m, const struct model_pod *p, const bool *fits,
                      const struct mete_pod_rule *r)
{
    int n = 0;

    for (int node = 0; node < NODES; node++) {
        bool is_first = fits[node] && spread_sees(m, p, r, node);

        for (int before = 0; before < node && is_first; before++)
            is_first = !fits[before] || !spread_sees(m, p, r, before) ||
                       !same_domain(m, r->topology, node, before);
        n += is_first;
    }
    return n;
}

/* -1: it is not in all of the topologies. */
static int64_t unevenness_of(struct affinity_model *m, const struct model_pod *p, const bool *fits,
                             int node)
{
    /* ln(n + 2) of so many domains */
    static const double logs[NODES + 1] = {0.6931471806, 1.0986122887, 1.3862943611, 1.6094379124,
                                           1.7917594692, 1.9459101491, 2.0794415417, 2.1972245773};
    double sum = 0;
    double rest;

    for (size_t i = 0; i < p->n_rules; i++) {
        const struct mete_pod_rule *r = &p->rules[i].rule;
        int64_t here;

        if (!is_wished_spread(r))
            continue;
        if (!node_label(m, node, r->topology))
            return -1;
        here = spread_count(m, p, r, node);
        sum += (double)(here < 0 ? 0 : here) * logs[domains_of(m, p, fits, r)] + r->max_skew - 1;
    }
    rest = sum - (double)(int64_t)sum;
    if (rest > 0.499 && rest < 0.501)
        m->is_close = true;
    return (int64_t)(sum + 0.5);
}

void affinity_scores(struct affinity_model *m, const struct model_pod *p, const bool *fits,
                     int64_t *ret)
{
    int64_t raw[3][NODES] = {0};
    int64_t low[3] = {INT64_MAX, INT64_MAX, INT64_MAX};
    int64_t high[3] = {INT64_MIN, INT64_MIN, INT64_MIN};

    for (int node = 0; node < NODES; node++) {
        if (!fits[node])
            continue;
        raw[0][node] = wishes_of(m, p, node);
        raw[1][node] = liking_of(m, p, node);
        raw[2][node] = has_wished_spread(p) ? unevenness_of(m, p, fits, node) : -1;
        for (int i = 0; i < 3; i++) {
            if (i == 2 && raw[2][node] < 0)
                continue;
            low[i] = raw[i][node] < low[i] ? raw[i][node] : low[i];
            high[i] = raw[i][node] > high[i] ? raw[i][node] : high[i];
        }
    }
    for (int node = 0; node < NODES; node++) {
        ret[node] = 0;
        if (!fits[node])
            continue;
        if (high[0] > 0)
            ret[node] += 2 * (100 * raw[0][node] / high[0]);
        if (high[1] > low[1])
            ret[node] += 2 * (100 * (raw[1][node] - low[1]) / (high[1] - low[1]));
        if (raw[2][node] >= 0)
            ret[node] +=
                2 * (high[2] == 0 ? 100 : 100 * (high[2] + low[2] - raw[2][node]) / high[2]);
    }
}
