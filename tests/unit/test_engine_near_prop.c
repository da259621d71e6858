/*
 * Random pods with random rules about nodes and about each other, on random nodes, against a second
 * scheduler written straight from what Kubernetes' documentation defines: each placement had to be
 * allowed at that moment and on a node that is wished for most; whatever waits fits nowhere.
 */
#include "../prop.h"
#include "base/attr.h"
#include "base/err.h"
#include "engine/near.h"
#include "engine/state.h"
#include "engine_build.h"
#include "test.h"

enum {
    NODES = 7,
    PODS = 26,
    GANG = 3,
    STEPS = 70,
    RULES = 3,
    CPUS = 4,
};

struct model_node {
    bool is_there;
    bool is_cordoned;
    bool is_tainted;
    const char *zone; /* NULL: no such label */
    const char *disk;
    const char *cores;
};

struct model_rule {
    struct mete_pod_rule rule;
    struct mete_requirement requirements[2];
    const char *namespaces[2];
};

struct model_pod {
    bool is_there;
    bool tolerates;
    uint32_t count;
    const char *ns;
    const char *app; /* NULL: no such label */
    const char *tier;
    size_t n_rules;
    struct model_rule rules[RULES];
    size_t n_terms;
    struct mete_node_term terms[2];
    struct mete_requirement term_requirements[2][2];
    size_t n_wishes;
    struct mete_node_wish wishes[2];
    struct mete_requirement wish_requirements[2];
    int node[GANG]; /* -1: none */
};

struct model {
    struct mete_engine *engine;
    struct prop prop;
    uint64_t seed;
    int64_t now_s;
    bool is_close; /* a score of the definition is too near to a half to say how it is rounded */
    struct model_node nodes[NODES];
    struct model_pod pods[PODS + 1]; /* by id */
};

#define CHECK(m, condition)                                                               \
    do {                                                                                  \
        if (!(condition))                                                                 \
            fail_msg("seed %llu: not so: %s", (unsigned long long)(m)->seed, #condition); \
    } while (0)

static const char *const names[NODES] = {"n0", "n1", "n2", "n3", "n4", "n5", "n6"};
static const char *const zones[] = {"za", "zb", "zc", NULL};
static const char *const disks[] = {"ssd", "hdd", NULL};
static const char *const cores[] = {"8", "16", "many", NULL};
static const char *const apps[] = {"a", "b", "c", NULL};
static const char *const tiers[] = {"front", "back", NULL};
static const char *const spaces[] = {"red", "blue"};
static const char *const topologies[] = {"host", "zone", "disk"};

#define PICK(m, list) ((list)[prop_below(&(m)->prop, sizeof(list) / sizeof((list)[0]))])

/* The definitions. */

static const char *node_label(const struct model *m, int node, const char *key)
{
    const struct model_node *n = &m->nodes[node];

    if (strcmp(key, "host") == 0)
        return names[node];
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

static bool term_holds(const struct model *m, const struct mete_node_term *t, int node)
{
    for (size_t i = 0; i < t->n_labels; i++)
        if (!holds(&t->labels[i], node_label(m, node, t->labels[i].key)))
            return false;
    for (size_t i = 0; i < t->n_names; i++)
        if (!holds(&t->names[i], names[node]))
            return false;
    return t->n_labels + t->n_names > 0;
}

static bool node_is_wanted(const struct model *m, const struct model_pod *p, int node)
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

static bool same_domain(const struct model *m, const char *key, int a, int b)
{
    const char *one = node_label(m, a, key);
    const char *other = node_label(m, b, key);

    return one && other && strcmp(one, other) == 0;
}

typedef bool (*pod_test)(const void *arg, const struct model_pod *p);

/* Pods in the domain of the node (or with -1 in any) for which `test` holds. */
static int64_t count_pods(const struct model *m, const char *key, int node, pod_test test,
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

static bool spread_sees(const struct model *m, const struct model_pod *p,
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
static int64_t spread_count(const struct model *m, const struct model_pod *p,
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

static bool spread_allows(const struct model *m, const struct model_pod *p,
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

static bool together_allows(const struct model *m, const struct model_pod *p, int node)
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

static bool others_allow(const struct model *m, const struct model_pod *p, int node)
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

static bool rules_allow(const struct model *m, const struct model_pod *p, int node)
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

static int used_on(const struct model *m, int node)
{
    int used = 0;

    for (int id = 1; id <= PODS; id++)
        for (uint32_t k = 0; m->pods[id].is_there && k < m->pods[id].count; k++)
            used += m->pods[id].node[k] == node;
    return used;
}

static bool may_be(const struct model *m, const struct model_pod *p, int node)
{
    const struct model_node *n = &m->nodes[node];

    return n->is_there && !n->is_cordoned && (!n->is_tainted || p->tolerates) &&
           used_on(m, node) < CPUS && node_is_wanted(m, p, node) && rules_allow(m, p, node);
}

/* What each plugin says of a node before it is compared with others. */

static int64_t wishes_of(const struct model *m, const struct model_pod *p, int node)
{
    int64_t sum = 0;

    for (size_t i = 0; i < p->n_wishes; i++)
        sum += term_holds(m, &p->wishes[i].term, node) ? p->wishes[i].weight : 0;
    return sum;
}

static int64_t liking_of(const struct model *m, const struct model_pod *p, int node)
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

/* In how many domains the nodes that fit are. */
static int domains_of(const struct model *m, const struct model_pod *p, const bool *fits,
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
static int64_t unevenness_of(struct model *m, const struct model_pod *p, const bool *fits, int node)
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

static void find_scores(struct model *m, const struct model_pod *p, const bool *fits, int64_t *ret)
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

/* The engine. */

static void tell_node(struct model *m, int node)
{
    const struct model_node *n = &m->nodes[node];
    const struct mete_amount capacity[] = {{"cpu", CPUS * 1000}};
    const struct mete_taint taint = {"dedicated", "x", METE_NO_SCHEDULE};
    struct mete_label labels[4] = {{"host", names[node]}};
    size_t n_labels = 1;

    if (n->zone)
        labels[n_labels++] = (struct mete_label){"zone", n->zone};
    if (n->disk)
        labels[n_labels++] = (struct mete_label){"disk", n->disk};
    if (n->cores)
        labels[n_labels++] = (struct mete_label){"cores", n->cores};
    CHECK(m, mete_node_set(m->engine, &(struct mete_node){
                                          .name = names[node],
                                          .capacity = capacity,
                                          .n_capacity = 1,
                                          .labels = labels,
                                          .n_labels = n_labels,
                                          .taints = &taint,
                                          .n_taints = n->is_tainted ? 1 : 0,
                                          .is_ready = true,
                                          .is_cordoned = n->is_cordoned,
                                      }) == METE_OK);
}

static size_t list_labels(const struct model_pod *p, struct mete_label *ret)
{
    size_t n = 0;

    if (p->tier)
        ret[n++] = (struct mete_label){"tier", p->tier};
    if (p->app)
        ret[n++] = (struct mete_label){"app", p->app};
    return n;
}

static void tell_pod(struct model *m, int id)
{
    const struct model_pod *p = &m->pods[id];
    const struct mete_amount requests[] = {{"cpu", 1000}};
    const struct mete_toleration toleration = {
        .key = "dedicated", .is_exists = true, .any_effect = true};
    struct mete_pod_rule rules[RULES];
    struct mete_label labels[2];
    struct mete_pod_set set = {
        .name = "main",
        .count = p->count,
        .requests = requests,
        .n_requests = 1,
        .tolerations = &toleration,
        .n_tolerations = p->tolerates ? 1 : 0,
        .node_terms = p->terms,
        .n_node_terms = p->n_terms,
        .node_wishes = p->wishes,
        .n_node_wishes = p->n_wishes,
        .ns = p->ns,
        .labels = labels,
        .n_labels = list_labels(p, labels),
        .rules = rules,
        .n_rules = p->n_rules,
    };

    for (size_t i = 0; i < p->n_rules; i++)
        rules[i] = p->rules[i].rule;
    CHECK(m, mete_workload_add(m->engine, &(struct mete_workload){
                                              .id = (uint64_t)id,
                                              .name = "pod",
                                              .submit_ns = m->now_s * SECOND,
                                              .pod_sets = &set,
                                              .n_pod_sets = 1,
                                          }) == METE_OK);
}

/* Random ones. */

static struct mete_requirement random_node_requirement(struct model *m)
{
    static const char *const some_zones[] = {"za", "zb"};
    static const char *const one_disk[] = {"ssd"};
    static const char *const ten[] = {"10"};
    const struct mete_requirement choices[] = {
        {"zone", METE_OP_IN, some_zones, 2},       {"zone", METE_OP_NOT_IN, some_zones, 1},
        {"disk", METE_OP_IN, one_disk, 1},         {"disk", METE_OP_EXISTS, NULL, 0},
        {"cores", METE_OP_GREATER, ten, 1},        {"cores", METE_OP_LESS, ten, 1},
        {"disk", METE_OP_DOES_NOT_EXIST, NULL, 0},
    };

    return PICK(m, choices);
}

static void random_terms(struct model *m, struct model_pod *p)
{
    static const char *const one_name[] = {"n3"};
    static const struct mete_requirement not_there = {NULL, METE_OP_NOT_IN, one_name, 1};

    p->n_terms = prop_chance(&m->prop, 30) ? 1 + prop_below(&m->prop, 2) : 0;
    for (size_t i = 0; i < p->n_terms; i++) {
        size_t n = prop_below(&m->prop, 3);

        for (size_t k = 0; k < n; k++)
            p->term_requirements[i][k] = random_node_requirement(m);
        p->terms[i] = (struct mete_node_term){.labels = p->term_requirements[i], .n_labels = n};
        if (prop_chance(&m->prop, 20)) {
            p->terms[i].names = &not_there;
            p->terms[i].n_names = 1;
        }
    }
    p->n_wishes = prop_chance(&m->prop, 30) ? 1 + prop_below(&m->prop, 2) : 0;
    for (size_t i = 0; i < p->n_wishes; i++) {
        p->wish_requirements[i] = random_node_requirement(m);
        p->wishes[i] = (struct mete_node_wish){
            .weight = 1 + (uint32_t)prop_below(&m->prop, 100),
            .term = {.labels = &p->wish_requirements[i], .n_labels = 1},
        };
    }
}

static struct mete_requirement random_pod_requirement(struct model *m)
{
    static const char *const a[] = {"a"};
    static const char *const a_b[] = {"a", "b"};
    static const char *const back[] = {"back"};
    const struct mete_requirement choices[] = {
        {"app", METE_OP_IN, a, 1},     {"app", METE_OP_IN, a_b, 2},
        {"app", METE_OP_NOT_IN, a, 1}, {"tier", METE_OP_EXISTS, NULL, 0},
        {"tier", METE_OP_IN, back, 1}, {"tier", METE_OP_DOES_NOT_EXIST, NULL, 0},
    };

    return PICK(m, choices);
}

static void random_rule(struct model *m, struct model_pod *p, struct model_rule *r)
{
    r->rule = (struct mete_pod_rule){
        .kind = (enum mete_rule_kind)prop_below(&m->prop, 3),
        .weight = prop_chance(&m->prop, 40) ? 1 + (uint32_t)prop_below(&m->prop, 100) : 0,
        .topology = PICK(m, topologies),
        .labels = r->requirements,
        .n_labels = prop_below(&m->prop, 3),
        .matches_none = prop_chance(&m->prop, 4),
        .namespaces = r->namespaces,
        .n_namespaces = 1,
        .any_namespace = prop_chance(&m->prop, 15),
    };
    for (size_t i = 0; i < r->rule.n_labels; i++)
        r->requirements[i] = random_pod_requirement(m);
    r->namespaces[0] = p->ns;
    r->namespaces[1] = spaces[0];
    if (r->rule.kind == METE_RULE_SPREAD) {
        r->rule.any_namespace = false;
        r->rule.max_skew = 1 + (uint32_t)prop_below(&m->prop, 2);
        r->rule.min_domains = r->rule.weight == 0 ? (uint32_t)prop_below(&m->prop, 4) : 0;
        r->rule.counts_all_nodes = prop_chance(&m->prop, 30);
        r->rule.counts_no_tainted_nodes = prop_chance(&m->prop, 40);
    } else if (prop_chance(&m->prop, 20)) {
        r->rule.n_namespaces = 2;
    }
}

static void add_pod(struct model *m)
{
    int id = 1 + (int)prop_below(&m->prop, PODS);
    struct model_pod *p = &m->pods[id];

    if (p->is_there)
        return;
    *p = (struct model_pod){
        .is_there = true,
        .tolerates = prop_chance(&m->prop, 40),
        .count = prop_chance(&m->prop, 15) ? 2 + (uint32_t)prop_below(&m->prop, GANG - 1) : 1,
        .ns = PICK(m, spaces),
        .app = PICK(m, apps),
        .tier = PICK(m, tiers),
        .n_rules = prop_chance(&m->prop, 60) ? 1 + prop_below(&m->prop, RULES) : 0,
        .node = {-1, -1, -1},
    };
    for (size_t i = 0; i < p->n_rules; i++)
        random_rule(m, p, &p->rules[i]);
    random_terms(m, p);
    tell_pod(m, id);
}

static void remove_pod(struct model *m)
{
    int id = 1 + (int)prop_below(&m->prop, PODS);

    if (!m->pods[id].is_there)
        return;
    CHECK(m, mete_workload_remove(m->engine, (uint64_t)id) == METE_OK);
    m->pods[id].is_there = false;
}

static void relabel_pod(struct model *m)
{
    int id = 1 + (int)prop_below(&m->prop, PODS);
    struct mete_label labels[2];
    struct mete_pod_labels set = {.labels = labels};

    if (!m->pods[id].is_there)
        return;
    m->pods[id].app = PICK(m, apps);
    set.n_labels = list_labels(&m->pods[id], labels);
    CHECK(m, mete_workload_label(m->engine, (uint64_t)id, &set, 1) == METE_OK);
}

static void change_node(struct model *m)
{
    int node = (int)prop_below(&m->prop, NODES);
    struct model_node *n = &m->nodes[node];

    if (n->is_there && prop_chance(&m->prop, 15)) {
        CHECK(m, mete_node_remove(m->engine, names[node]) == METE_OK);
        n->is_there = false;
        return;
    }
    *n = (struct model_node){
        .is_there = true,
        .is_cordoned = prop_chance(&m->prop, 12),
        .is_tainted = prop_chance(&m->prop, 15),
        .zone = PICK(m, zones),
        .disk = PICK(m, disks),
        .cores = PICK(m, cores),
    };
    tell_node(m, node);
}

static int node_named(const char *name)
{
    for (int i = 0; i < NODES; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    fail_msg("there is no node %s", name);
    return -1;
}

/* One pod of a decision, with those before it where they are. */
static void check_placed(struct model *m, int id, const struct mete_pod_placement *at)
{
    struct model_pod *p = &m->pods[id];
    int node = node_named(at->node);
    int64_t scores[NODES];
    bool fits[NODES];

    for (int i = 0; i < NODES; i++)
        fits[i] = may_be(m, p, i);
    CHECK(m, fits[node]);
    m->is_close = false;
    find_scores(m, p, fits, scores);
    for (int i = 0; i < NODES && !m->is_close; i++)
        CHECK(m, !fits[i] || scores[i] <= scores[node]);
    p->node[at->pod] = node;
}

static void run_cycle(struct model *m)
{
    struct mete_decisions d;

    m->now_s++;
    mete_cycle(m->engine, m->now_s * SECOND, 0, &d);
    for (size_t i = 0; i < d.n_placements; i++)
        for (size_t k = 0; k < d.placements[i].n_pods; k++)
            check_placed(m, (int)d.placements[i].workload, &d.placements[i].pods[k]);
    for (int id = 1; id <= PODS; id++) {
        const struct model_pod *p = &m->pods[id];

        for (int node = 0; p->is_there && p->count == 1 && p->node[0] < 0 && node < NODES; node++)
            if (may_be(m, p, node))
                fail_msg("seed %llu: pod %d waits and may be on %s", (unsigned long long)m->seed,
                         id, names[node]);
    }
}

/* A line that says what would help is true, and asking changes nothing. */
static void ask_why(struct model *m)
{
    int id = 1 + (int)prop_below(&m->prop, PODS);
    uint64_t before = engine_hash(m->engine);
    struct mete_reason r;

    if (!m->pods[id].is_there)
        return;
    CHECK(m, mete_why(m->engine, (uint64_t)id, m->now_s * SECOND, &r) == METE_OK);
    for (size_t i = 0; i < r.n_nodes; i++)
        CHECK(m, *r.nodes[i].text);
    CHECK(m, engine_hash(m->engine) == before);
}

static void step(struct model *m)
{
    const char *wrong;

    switch (prop_below(&m->prop, 10)) {
    case 0:
    case 1:
    case 2:
    case 3:
        add_pod(m);
        break;
    case 4:
        remove_pod(m);
        break;
    case 5:
        relabel_pod(m);
        break;
    case 6:
        change_node(m);
        break;
    case 7:
        ask_why(m);
        break;
    default:
        run_cycle(m);
    }
    wrong = mete_engine_check(m->engine);
    if (wrong)
        fail_msg("seed %llu: %s", (unsigned long long)m->seed, wrong);
}

static void run_seed(uint64_t seed, const char *policy)
{
    struct model *m = mem_alloc(sizeof(*m));

    m->engine = mete_engine_new(
        &(struct mete_options){.policy = policy, .reserve_depth = METE_RESERVE_NONE});
    m->prop.state = seed;
    m->seed = seed;
    for (int i = 0; i < NODES; i++)
        change_node(m);
    for (int i = 0; i < STEPS; i++)
        step(m);
    for (int id = 1; id <= PODS; id++)
        if (m->pods[id].is_there)
            CHECK(m, mete_workload_remove(m->engine, (uint64_t)id) == METE_OK);
    CHECK(m, !m->engine->near || m->engine->near->tallies.n == 0);
    mete_engine_free(m->engine);
    free(m);
}

static void places_as_kubernetes_defines_it(void **state)
{
    struct prop_seeds seeds = prop_seeds(600);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        run_seed(seed, seed % 2 ? "binpack" : "spread");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_as_kubernetes_defines_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
