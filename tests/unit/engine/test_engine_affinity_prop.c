/*
 * test_engine_affinity_prop.c - random affinity rules against a naive scheduler
 *
 * Random pods have random rules about nodes and about each other. A second scheduler, written
 * straight from Kubernetes' documentation, checks the engine: each placement was allowed at that
 * moment, and on a node with the highest preference; waiting pods fit nowhere.
 */

#include "affinity_naive.h"
#include "base/attr.h"
#include "base/err.h"
#include "engine/affinity/affinity.h"
#include "engine/record/record.h"
#include "engine/state.h"
#include "engine_build.h"
#include "prop.h"
#include "test.h"

enum {
    STEPS = 70
};

struct model {
    struct mete_engine *engine;
    struct prop prop;
    uint64_t seed;
    int64_t now_s;
    struct affinity_model affinity;
    struct buf recording;
};

static const char *const zones[] = {"za", "zb", "zc", NULL};
static const char *const disks[] = {"ssd", "hdd", NULL};
static const char *const cores[] = {"8", "16", "many", NULL};
static const char *const apps[] = {"a", "b", "c", NULL};
static const char *const tiers[] = {"front", "back", NULL};
static const char *const spaces[] = {"red", "blue"};
static const char *const topologies[] = {"host", "zone", "disk"};

#define PICK(m, list) ((list)[prop_below(&(m)->prop, COUNT(list))])

/* ---- the engine ---- */

static void tell_node(struct model *m, int node)
{
    const struct model_node *n = &m->affinity.nodes[node];
    const struct mete_amount capacity[] = {{"cpu", INT64_C(1000) * CPUS}};
    const struct mete_taint taint = {"dedicated", "x", METE_NO_SCHEDULE};
    struct mete_label labels[4] = {{"host", affinity_names[node]}};
    size_t n_labels = 1;

    if (n->zone)
        labels[n_labels++] = (struct mete_label){"zone", n->zone};
    if (n->disk)
        labels[n_labels++] = (struct mete_label){"disk", n->disk};
    if (n->cores)
        labels[n_labels++] = (struct mete_label){"cores", n->cores};
    CHECK(m, mete_node_set(m->engine, &(struct mete_node){
                                          .name = affinity_names[node],
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
    const struct model_pod *p = &m->affinity.pods[id];
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
                                              .is_extra = p->is_extra,
                                              .pod_sets = &set,
                                              .n_pod_sets = 1,
                                          }) == METE_OK);
}

/* ---- random nodes, pods and rules ---- */

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
    struct model_pod *p = &m->affinity.pods[id];

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
    p->is_extra = prop_chance(&m->prop, 20);
    for (size_t i = 0; i < p->n_rules; i++)
        random_rule(m, p, &p->rules[i]);
    random_terms(m, p);
    tell_pod(m, id);
}

static void remove_pod(struct model *m)
{
    int id = 1 + (int)prop_below(&m->prop, PODS);

    if (!m->affinity.pods[id].is_there)
        return;
    CHECK(m, mete_workload_remove(m->engine, (uint64_t)id) == METE_OK);
    m->affinity.pods[id].is_there = false;
}

static void relabel_pod(struct model *m)
{
    int id = 1 + (int)prop_below(&m->prop, PODS);
    struct mete_label labels[2];
    struct mete_pod_labels set = {.labels = labels};

    if (!m->affinity.pods[id].is_there)
        return;
    m->affinity.pods[id].app = PICK(m, apps);
    set.n_labels = list_labels(&m->affinity.pods[id], labels);
    CHECK(m, mete_workload_label(m->engine, (uint64_t)id, &set, 1) == METE_OK);
}

static void change_node(struct model *m)
{
    int node = (int)prop_below(&m->prop, NODES);
    struct model_node *n = &m->affinity.nodes[node];

    if (n->is_there && prop_chance(&m->prop, 15)) {
        CHECK(m, mete_node_remove(m->engine, affinity_names[node]) == METE_OK);
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
        if (strcmp(affinity_names[i], name) == 0)
            return i;
    fail_msg("there is no node %s", name);
    return -1;
}

/* Checks one pod of a decision, beside the pods placed before. */
static void check_placed(struct model *m, int id, const struct mete_pod_placement *at)
{
    struct model_pod *p = &m->affinity.pods[id];
    int node = node_named(at->node);
    int64_t scores[NODES];
    bool fits[NODES];

    for (int i = 0; i < NODES; i++)
        fits[i] = affinity_may_be(&m->affinity, p, i);
    CHECK(m, fits[node]);
    m->affinity.is_close = false;
    affinity_scores(&m->affinity, p, fits, scores);
    for (int i = 0; i < NODES && !m->affinity.is_close; i++)
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
        const struct model_pod *p = &m->affinity.pods[id];

        for (int node = 0; p->is_there && p->count == 1 && p->node[0] < 0 && node < NODES; node++)
            if (affinity_may_be(&m->affinity, p, node))
                fail_msg("seed %llu: pod %d waits and may be on %s", (unsigned long long)m->seed,
                         id, affinity_names[node]);
    }
}

/* Each "would start if" line is true, and the question changes nothing. */
static void ask_why(struct model *m)
{
    int id = 1 + (int)prop_below(&m->prop, PODS);
    uint64_t before = engine_hash(m->engine);
    struct mete_reason r;

    if (!m->affinity.pods[id].is_there)
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

static void on_line(void *arg, const char *line, size_t size)
{
    struct model *m = arg;

    buf_add(&m->recording, line, size);
}

/* The recording of the engine makes another engine the same. */
static void replay(struct model *m, const struct mete_options *options)
{
    struct mete_engine *again = mete_engine_new(options);
    struct arena *a = arena_new();
    const char *end = m->recording.at + m->recording.size;

    for (const char *at = m->recording.at; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        enum record_call call = RECORD_CALLS;
        struct mete_decisions d;
        void *args = NULL;
        AUTO(err_freep)
        struct err *e =
            record_line_parse(a, (struct str){at, (size_t)(line_end - at)}, &call, &args);

        if (e)
            fail_msg("seed %llu: %s", (unsigned long long)m->seed, err_message(e));
        if (call != RECORD_ENGINE && call != RECORD_DECIDED)
            CHECK(m, record_apply(again, call, args, &d) == METE_OK);
        at = line_end + 1;
    }
    CHECK(m, engine_hash(again) == engine_hash(m->engine));
    mete_engine_free(again);
    arena_free(a);
}

static void run_seed(uint64_t seed, const char *policy)
{
    struct model *m = mem_alloc(sizeof(*m));
    struct mete_options options = {.policy = policy, .reserve_depth = METE_RESERVE_NONE};

    options.record = on_line;
    options.record_arg = m;
    m->engine = mete_engine_new(&options);
    options.record = NULL;
    m->prop.state = seed;
    m->seed = seed;
    for (int i = 0; i < NODES; i++)
        change_node(m);
    for (int i = 0; i < STEPS; i++)
        step(m);
    replay(m, &options);
    for (int id = 1; id <= PODS; id++)
        if (m->affinity.pods[id].is_there)
            CHECK(m, mete_workload_remove(m->engine, (uint64_t)id) == METE_OK);
    CHECK(m, !m->engine->affinity || m->engine->affinity->tallies.n == 0);
    mete_engine_free(m->engine);
    buf_done(&m->recording);
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
