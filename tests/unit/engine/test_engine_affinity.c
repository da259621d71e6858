/* test_engine_affinity.c - node affinity and rules about other pods: reasons and side effects */

#include "engine/affinity/affinity.h"
#include "engine/state.h"
#include "engine_build.h"
#include "test.h"

static struct mete_engine *engine;
static char text[512];

#define OK(call) assert_int_equal((call), METE_OK)

static int setup(void **state)
{
    (void)state;
    engine = mete_engine_new(NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_null(mete_engine_check(engine));
    mete_engine_free(engine);
    return 0;
}

/* Adds a node with 8 gpus and 16 cpus; `zone` may be NULL. */
static void put_node(const char *name, const char *zone)
{
    const struct mete_amount capacity[] = {{"cpu", 16000}};
    const struct mete_label labels[] = {{"host", name}, {"zone", zone}};
    char uuids[8][16];
    struct mete_gpu gpus[8];

    for (int i = 0; i < 8; i++) {
        (void)snprintf(uuids[i], sizeof(uuids[i]), "%s-%d", name, i);
        gpus[i] = (struct mete_gpu){.uuid = uuids[i],
                                    .model = "h100",
                                    .memory_bytes = INT64_C(80) << 30,
                                    .numa_node = -1,
                                    .link_group = -1,
                                    .is_healthy = true};
    }
    OK(mete_node_set(engine, &(struct mete_node){.name = name,
                                                 .capacity = capacity,
                                                 .n_capacity = 1,
                                                 .labels = labels,
                                                 .n_labels = zone ? 2 : 1,
                                                 .gpus = gpus,
                                                 .n_gpus = 8,
                                                 .is_ready = true}));
}

struct pod_spec {
    uint64_t id;
    const char *app;
    uint32_t gpus;
    uint32_t count;
    int32_t priority;
    int64_t limit_s;
    struct mete_pod_rule
        rule; /* about pods of the same app, unless labels are set; topology NULL: no rule */
    const char *zone; /* node affinity */
    const char *likes_zone;
};

static enum mete_result add_pod(struct pod_spec s)
{
    const struct mete_label label = {"app", s.app};
    const struct mete_requirement own = {"app", METE_OP_IN, &s.app, 1};
    const struct mete_requirement in_zone = {"zone", METE_OP_IN, &s.zone, 1};
    const struct mete_requirement in_liked = {"zone", METE_OP_IN, &s.likes_zone, 1};
    const struct mete_node_term term = {.labels = &in_zone, .n_labels = 1};
    const struct mete_node_wish wish = {100, {.labels = &in_liked, .n_labels = 1}};
    const struct mete_amount requests[] = {{"cpu", 1000}};
    const char *const ns[] = {"team"};
    struct mete_pod_set set = {.name = "main",
                               .count = s.count ? s.count : 1,
                               .gpus = s.gpus,
                               .requests = requests,
                               .n_requests = 1,
                               .ns = "team",
                               .labels = &label,
                               .n_labels = s.app ? 1 : 0,
                               .node_terms = &term,
                               .n_node_terms = s.zone ? 1 : 0,
                               .node_wishes = &wish,
                               .n_node_wishes = s.likes_zone ? 1 : 0,
                               .rules = &s.rule,
                               .n_rules = s.rule.topology ? 1 : 0};

    if (!s.rule.labels) {
        s.rule.labels = &own;
        s.rule.n_labels = 1;
    }
    s.rule.namespaces = ns;
    s.rule.n_namespaces = 1;
    return mete_workload_add(engine, &(struct mete_workload){.id = s.id,
                                                             .name = "team/pod",
                                                             .priority = s.priority,
                                                             .submit_ns = (int64_t)s.id * SECOND,
                                                             .time_limit_ns = s.limit_s * SECOND,
                                                             .pod_sets = &set,
                                                             .n_pod_sets = 1});
}

#define POD(...)          OK(add_pod((struct pod_spec){__VA_ARGS__}))
#define APART(key)        .rule = {.kind = METE_RULE_APART, .topology = (key)}
#define TOGETHER(key)     .rule = {.kind = METE_RULE_TOGETHER, .topology = (key)}
#define SPREAD(key, skew) .rule = {.kind = METE_RULE_SPREAD, .topology = (key), .max_skew = (skew)}
#define CYCLE(now_s, want) \
    assert_string_equal(cycle_text(engine, (now_s), text, sizeof(text)), (want))

static struct mete_reason why(uint64_t id)
{
    struct mete_reason r = {0};

    OK(mete_why(engine, id, 100 * SECOND, &r));
    return r;
}

static bool would_start_if(const struct mete_reason *r, const char *line)
{
    for (size_t i = 0; i < r->n_would_start_if; i++)
        if (strcmp(r->would_start_if[i], line) == 0)
            return true;
    return false;
}

static void keeps_apart_and_says_who_is_there(void **state)
{
    struct mete_reason r;

    (void)state;
    put_node("a", "z1");
    put_node("b", "z1");
    POD(.id = 1, .app = "x", APART("host"));
    POD(.id = 2, .app = "x", APART("host"));
    POD(.id = 3, .app = "x", APART("host"));
    CYCLE(10, "1:a 2:b");
    r = why(3);
    assert_int_equal(r.code, METE_REASON_NO_NODE_FITS);
    assert_string_equal(r.message, "pod anti-affinity of job 1 keeps away app=x on host (a)");
    assert_string_equal(r.nodes[1].text, "pod anti-affinity of job 2 keeps away app=x on host");
    assert_true(would_start_if(&r, "job 1 ends"));
    assert_int_equal(r.estimate_to_ns, 0); /* no plan has a time for it */
    OK(mete_workload_remove(engine, 1));
    CYCLE(11, "3:a");
}

static void says_whom_its_own_rule_keeps_it_from(void **state)
{
    const char *const y[] = {"y"};
    const struct mete_requirement app_y = {"app", METE_OP_IN, y, 1};
    struct mete_reason r;

    (void)state;
    put_node("a", "z1");
    POD(.id = 1, .app = "y");
    CYCLE(10, "1:a");
    POD(.id = 2, .app = "x",
        .rule = {.kind = METE_RULE_APART, .topology = "zone", .labels = &app_y, .n_labels = 1});
    CYCLE(11, "");
    r = why(2);
    assert_string_equal(r.message, "pod anti-affinity app=y on zone: job 1 is there (a)");
    assert_true(would_start_if(&r, "it does not ask for pod anti-affinity app=y on zone (on a)"));
    assert_true(would_start_if(&r, "job 1 ends"));
    OK(mete_workload_label(engine, 1, &(struct mete_pod_labels){0}, 1));
    CYCLE(12, "2:a");
}

static void the_first_of_its_own_kind_may_start_and_the_others_follow(void **state)
{
    const char *const y[] = {"y"};
    const struct mete_requirement app_y = {"app", METE_OP_IN, y, 1};
    struct mete_reason r;

    (void)state;
    put_node("a", "z1");
    put_node("b", "z2");
    put_node("c", "z1");
    put_node("d", NULL);
    POD(.id = 1, .app = "x", .gpus = 8, TOGETHER("zone"));
    POD(.id = 2, .app = "x", .gpus = 8, TOGETHER("zone"));
    POD(.id = 3, .app = "x", .gpus = 8, TOGETHER("zone"));
    POD(.id = 4, .app = "x",
        .rule = {.kind = METE_RULE_TOGETHER, .topology = "zone", .labels = &app_y, .n_labels = 1});
    CYCLE(10, "1:a(0,1,2,3,4,5,6,7) 2:c(0,1,2,3,4,5,6,7)");
    r = why(4);
    assert_string_equal(r.message, "pod affinity app=y on zone: no such pod is there (a)");
    assert_true(would_start_if(&r, "it does not ask for pod affinity app=y on zone (on a)"));
    POD(.id = 5, .app = "y",
        .zone = "z2"); /* later in the order: after it, job 4 has its turn again */
    CYCLE(11, "5:b 4:b 3:b(0,1,2,3,4,5,6,7)"); /* beside job 4, which also is an x */
}

static void spreads_and_says_the_skew(void **state)
{
    struct mete_reason r;

    (void)state;
    put_node("a", "z1");
    put_node("b", "z2");
    put_node("c", NULL);
    POD(.id = 1, .app = "x", .count = 4, SPREAD("zone", 1));
    CYCLE(10, "1:a 1:b 1:a 1:b");
    POD(.id = 2, .app = "x", .count = 3, SPREAD("zone", 1));
    CYCLE(11, "2:a 2:b 2:a");
    POD(.id = 3, .app = "x", .gpus = 1, .zone = "z1",
        .rule = {
            .kind = METE_RULE_SPREAD, .topology = "zone", .max_skew = 1, .counts_all_nodes = true});
    r = why(3);
    assert_string_equal(r.message,
                        "topology spread app=x on zone: skew would be 2 of at most 1 (a)");
    OK(mete_workload_remove(engine, 1));
    OK(mete_workload_remove(engine, 2));
    CYCLE(12, "3:a(0)");
}

static void likes_what_it_is_told_to_before_it_packs(void **state)
{
    (void)state;
    put_node("a", "z1");
    put_node("b", "z2");
    put_node("c", "z1");
    POD(.id = 1, .app = "x", .gpus = 1);
    CYCLE(10, "1:a(0)");
    POD(.id = 2, .app = "y", .gpus = 1, .likes_zone = "z2");
    CYCLE(11, "2:b(0)");
    POD(.id = 3, .app = "x", .gpus = 1,
        .rule = {.kind = METE_RULE_APART, .topology = "host", .weight = 100});
    CYCLE(12, "3:b(1)"); /* not beside job 1; of the other nodes the fuller one */
    POD(.id = 4, .app = "x", .gpus = 1,
        .rule = {.kind = METE_RULE_SPREAD, .topology = "host", .weight = 1, .max_skew = 1});
    CYCLE(13, "4:c(0)");
}

static void says_that_no_node_is_of_the_kind(void **state)
{
    struct mete_reason r;

    (void)state;
    put_node("a", "z1");
    POD(.id = 1, .zone = "z9");
    CYCLE(10, "");
    r = why(1);
    assert_int_equal(r.code, METE_REASON_NEVER_FITS);
    assert_string_equal(r.message, "no node meets its node affinity: zone=z9");
    assert_string_equal(r.nodes[0].text, "node affinity is not met: zone=z9");
    assert_true(would_start_if(&r, "it does not ask for the node affinity zone=z9 (on a)"));
}

/* Room for a pod that other pods keep away would stay empty. */
static void keeps_no_room_for_one_that_others_keep_away(void **state)
{
    (void)state;
    put_node("a", "z1");
    POD(.id = 1, .app = "x", APART("host"));
    CYCLE(10, "1:a");
    POD(.id = 2, .app = "x", .gpus = 8, .priority = 10, APART("host"));
    POD(.id = 3, .gpus = 8);
    CYCLE(11, "3:a(0,1,2,3,4,5,6,7)");
}

static void a_preemptor_goes_where_its_rules_let_it(void **state)
{
    const struct mete_quota quota = {"gpu", 100000, METE_UNLIMITED, METE_UNLIMITED};

    (void)state;
    OK(mete_queue_set(engine, &(struct mete_queue){.name = "default",
                                                   .quotas = &quota,
                                                   .n_quotas = 1,
                                                   .within = METE_PREEMPT_LOWER_PRIORITY}));
    put_node("a", "z1");
    put_node("b", "z2");
    POD(.id = 1, .app = "x", .priority = 100);
    CYCLE(10, "1:a");
    OK(mete_workload_add(
        engine, &(struct mete_workload){
                    .id = 2,
                    .is_preemptible = true,
                    .pod_sets = &(struct mete_pod_set){.name = "main", .count = 2, .gpus = 8},
                    .n_pod_sets = 1}));
    CYCLE(11, "2:a(0,1,2,3,4,5,6,7) 2:b(0,1,2,3,4,5,6,7)");
    POD(.id = 3, .app = "x", .gpus = 8, .priority = 50, APART("host"));
    CYCLE(12, "2 for 3");
    OK(mete_workload_remove(engine, 2));
    CYCLE(13, "3:b(0,1,2,3,4,5,6,7)");
}

static void refuses_what_cannot_be(void **state)
{
    static const char *const values[] = {"1"};
    const struct mete_requirement no_values = {"a", METE_OP_IN, NULL, 0};
    const struct mete_requirement too_many = {"a", METE_OP_EXISTS, values, 1};
    const struct mete_label twice[] = {{"a", "1"}, {"a", "2"}};
    const struct mete_pod_labels labels = {twice, 2};

    (void)state;
    assert_int_equal(add_pod((struct pod_spec){
                         .id = 1, .rule = {.topology = "z", .labels = &no_values, .n_labels = 1}}),
                     METE_INVALID);
    assert_string_equal(mete_last_error(engine), "rule 0: a requirement has no value");
    assert_int_equal(add_pod((struct pod_spec){
                         .id = 1, .rule = {.topology = "z", .labels = &too_many, .n_labels = 1}}),
                     METE_INVALID);
    assert_int_equal(
        add_pod((struct pod_spec){.id = 1, .app = "x", .rule = {.topology = "z", .weight = 101}}),
        METE_INVALID);
    assert_int_equal(add_pod((struct pod_spec){.id = 1, .app = "x", SPREAD("z", 0)}), METE_INVALID);
    assert_string_equal(mete_last_error(engine), "rule 0: max_skew is not within 1 .. 2^31-1");
    assert_int_equal(mete_workload_label(engine, 1, &labels, 1), METE_NOT_FOUND);
    POD(.id = 1);
    assert_int_equal(mete_workload_label(engine, 1, &labels, 1), METE_INVALID);
    assert_string_equal(mete_last_error(engine), "labels of workload 1: a key is named twice");
    assert_int_equal(mete_workload_label(engine, 1, &labels, 0), METE_INVALID);
}

/* Unused rules are forgotten, also if matching pods stay. */
static void forgets_rules_that_are_gone(void **state)
{
    char key[32];

    (void)state;
    put_node("a", "z1");
    POD(.id = 1, .app = "x");
    CYCLE(10, "1:a");
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof(key), "key-%u", i);
        POD(.id = 2, .app = "x", APART(key));
        OK(mete_workload_remove(engine, 2));
    }
    assert_true(engine->affinity->tallies.n < 200);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(keeps_apart_and_says_who_is_there),
        TEST(says_whom_its_own_rule_keeps_it_from),
        TEST(the_first_of_its_own_kind_may_start_and_the_others_follow),
        TEST(spreads_and_says_the_skew),
        TEST(likes_what_it_is_told_to_before_it_packs),
        TEST(says_that_no_node_is_of_the_kind),
        TEST(keeps_no_room_for_one_that_others_keep_away),
        TEST(a_preemptor_goes_where_its_rules_let_it),
        TEST(refuses_what_cannot_be),
        TEST(forgets_rules_that_are_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
