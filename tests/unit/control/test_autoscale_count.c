/* test_autoscale_count.c - the number of pods that a metric asks for, and the bounds of a change */

#include "base/stamp.h"
#include "control/autoscale/autoscale_count.h"
#include "control/autoscale/autoscale_rules.h"
#include "prop.h"
#include "test.h"

enum {
    PODS_MAX = 16
};

/* ---- one metric ---- */

struct count_case {
    const char *pods; /* a letter a pod: r(eady) u(nready) m(issing) g(one) */
    int64_t values[PODS_MAX];
    int64_t request; /* of each pod; 0: the target is an amount */
    int64_t target;
    int64_t present;
    int64_t want; /* -1: nothing can be said */
};

static enum autoscale_pod_state state_of(char letter)
{
    switch (letter) {
    case 'r':
        return AUTOSCALE_READY;
    case 'u':
        return AUTOSCALE_UNREADY;
    case 'm':
        return AUTOSCALE_MISSING;
    default:
        return AUTOSCALE_GONE;
    }
}

static int64_t count_of(const struct count_case *c)
{
    struct autoscale_pod pods[PODS_MAX];
    const struct autoscale_goal goal = {.target = c->target,
                                        .is_utilization = c->request > 0,
                                        .up_milli = AUTOSCALE_TOLERANCE_MILLI,
                                        .down_milli = AUTOSCALE_TOLERANCE_MILLI};
    struct autoscale_count found = {.replicas = -1};
    size_t n = strlen(c->pods);

    for (size_t i = 0; i < n; i++)
        pods[i] = (struct autoscale_pod){state_of(c->pods[i]), c->values[i], c->request};
    if (!autoscale_count(pods, n, &goal, c->present, &found))
        assert_int_equal(found.replicas, -1); /* untouched */
    return found.replicas;
}

static void asks_for_the_pods_that_meet_the_target(void **state)
{
    static const struct count_case cases[] = {
        /* The mean by the target: 200m of 100m doubles, 50m of 100m halves. */
        {"r", {200}, 0, 100, 1, 2},
        {"rr", {50, 50}, 0, 100, 2, 1},
        {"rrr", {300, 500, 700}, 1000, 30, 3, 5},
        {"rrrrr", {100, 300, 500, 250, 250}, 1000, 50, 5, 3},
        {"rrr", {900, 950, 950}, 900, 100, 3, 3},
        /* A tenth of the target is no reason to change. */
        {"rr", {110, 110}, 0, 100, 2, 2},
        {"rr", {111, 111}, 0, 100, 2, 3},
        {"rr", {90, 90}, 0, 100, 2, 2},
        {"rrrrrrrrrr", {89, 89, 89, 89, 89, 89, 89, 89, 89, 89}, 0, 100, 10, 9},
        /* Nothing used: nothing needed. */
        {"rr", {0, 0}, 0, 100, 2, 0},
        {"r", {INT64_MAX}, 0, 1, 1, INT32_MAX},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(count_of(&cases[i]), cases[i].want);
}

static void pods_without_a_measure_make_a_change_smaller(void **state)
{
    static const struct count_case cases[] = {
        /* More: a pod without a measure counts as idle. */
        {"rrm", {1000, 1000, 0}, 0, 300, 3, 7},
        {"rm", {150, 0}, 0, 100, 2, 2},
        /* Fewer: it counts as at its target; in percent as using all that it requests. */
        {"rm", {10, 0}, 0, 100, 2, 2},
        {"rrrm", {100, 100, 100, 0}, 1000, 50, 4, 3},
        {"rrrrm", {0, 0, 0, 0, 0}, 0, 100, 5, 1},
        /* Pods that are not ready count as idle for more pods, and not at all for fewer. */
        {"rru", {500, 700, 0}, 1000, 30, 3, 4},
        {"rruuu", {400, 400, 900, 900, 900}, 1000, 30, 5, 5},
        {"rru", {100, 100, 900}, 1000, 50, 3, 1},
        /* Pods that end are no pods. */
        {"rg", {200, 900}, 0, 100, 1, 2},
        {"uu", {0, 0}, 0, 100, 2, -1},
        {"m", {0}, 0, 100, 1, -1},
        {"", {0}, 0, 100, 0, -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(count_of(&cases[i]), cases[i].want);
}

static void says_nothing_of_pods_that_request_nothing(void **state)
{
    const struct autoscale_pod pod = {.state = AUTOSCALE_READY, .value = 5};
    const struct autoscale_goal goal = {.target = 50, .is_utilization = true};
    struct autoscale_count found = {.replicas = 42};

    (void)state;
    assert_false(autoscale_count(&pod, 1, &goal, 1, &found));
    assert_int_equal(found.replicas, 42);
}

/* The direction is that of the pods with a measure, and all others make the change smaller. */
static void what_is_not_known_never_turns_a_change_around(void **state)
{
    struct prop random = {1};

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct count_case c = {.pods = "", .target = 100, .present = PODS_MAX - 1};
        char pods[PODS_MAX] = "";
        int64_t sum = 0;
        int64_t n = 0;

        for (size_t k = 0; k < PODS_MAX - 1; k++) {
            pods[k] = "rrmu"[prop_below(&random, 4)];
            c.values[k] = (int64_t)prop_below(&random, 300);
            sum += pods[k] == 'r' ? c.values[k] : 0;
            n += pods[k] == 'r';
        }
        c.pods = pods;
        c.want = count_of(&c);
        if (n == 0)
            assert_int_equal(c.want, -1);
        else if (sum / n > c.target) /* without the others, all pods would need that */
            assert_in_range(c.want, c.present, (sum / n * c.present + c.target - 1) / c.target);
        else
            assert_in_range(c.want, (sum / n * n + c.target - 1) / c.target, c.present);
    }
}

/* ---- bounds ---- */

struct change {
    struct autoscale_history history;
    struct autoscale_behavior behavior;
    struct autoscale_bounds bounds;
};

static struct change change_new(const char *behavior, int64_t min, int64_t max, int64_t present)
{
    struct change c = {.bounds = {min, max, present}};
    AUTO_FREE char *text = behavior ? mem_strdup(behavior) : NULL;
    AUTO(json_freep) json_t *tree = NULL;

    for (char *at = text; at && *at; at++)
        if (*at == '\'')
            *at = '"';
    if (text)
        assert_null(json_parse(str_of(text), &tree));
    autoscale_behavior_read(tree, &c.behavior);
    return c;
}

static void change_done(struct change *c)
{
    autoscale_behavior_done(&c->behavior);
    autoscale_history_done(&c->history);
}

/* Chooses at a second, and carries out the change. */
static struct autoscale_choice choose(struct change *c, int64_t wanted, int64_t at_s)
{
    int64_t now_ns = (at_s + 10000) * NS_PER_SEC;
    struct autoscale_choice choice =
        autoscale_choose(&c->history, &c->behavior, c->bounds, wanted, now_ns);

    if (choice.replicas != c->bounds.present)
        autoscale_changed(&c->history, choice.replicas - c->bounds.present, now_ns);
    c->bounds.present = choice.replicas;
    return choice;
}

static void fewer_pods_wait_for_five_minutes(void **state)
{
    struct change c = change_new(NULL, 1, 10, 2);
    struct autoscale_choice last;

    (void)state;
    last = choose(&c, 8, 0);
    assert_int_equal(last.replicas, 4); /* twice at most */
    assert_string_equal(last.limit_reason, "ScaleUpLimit");
    assert_int_equal(choose(&c, 8, 15).replicas, 8);
    last = choose(&c, 20, 30);
    assert_int_equal(last.replicas, 10);
    assert_string_equal(last.limit_reason, "TooManyReplicas");
    assert_true(last.is_limited);
    last = choose(&c, 3, 45);
    assert_int_equal(last.replicas, 10);
    assert_string_equal(last.able_reason, "ScaleDownStabilized");
    assert_int_equal(choose(&c, 3, 320).replicas, 10);
    last = choose(&c, 3, 331);
    assert_int_equal(last.replicas, 3);
    assert_string_equal(last.able_reason, "ReadyForNewScale");
    assert_string_equal(last.limit_reason, "DesiredWithinRange");
    assert_false(last.is_limited);
    last = choose(&c, 0, 700);
    assert_int_equal(last.replicas, 1);
    assert_string_equal(last.limit_reason, "TooFewReplicas");
    change_done(&c);
}

static void policies_bound_the_change_of_a_period(void **state)
{
    struct change c = change_new(
        "{'scaleUp': {'stabilizationWindowSeconds': 0, 'selectPolicy': 'Max', 'policies': ["
        "{'type': 'Pods', 'value': 4, 'periodSeconds': 60},"
        "{'type': 'Percent', 'value': 10, 'periodSeconds': 60}]},"
        "'scaleDown': {'stabilizationWindowSeconds': 0, 'selectPolicy': 'Min', 'policies': ["
        "{'type': 'Pods', 'value': 4, 'periodSeconds': 60},"
        "{'type': 'Percent', 'value': 10, 'periodSeconds': 60}]}}",
        1, 1000, 30);
    struct autoscale_choice last;

    (void)state;
    assert_int_equal(choose(&c, 200, 0).replicas, 34); /* the larger of 4 pods and a tenth */
    assert_int_equal(choose(&c, 200, 30).replicas, 34);
    assert_int_equal(choose(&c, 200, 61).replicas, 38);
    last = choose(&c, 36, 90);
    assert_int_equal(last.replicas, 36); /* what was added in the period may go, too */
    last = choose(&c, 1, 200);
    assert_int_equal(last.replicas, 32);
    assert_string_equal(last.limit_reason, "ScaleDownLimit");
    assert_int_equal(choose(&c, 1, 230).replicas, 32);
    assert_int_equal(choose(&c, 1, 261).replicas, 28);
    change_done(&c);
}

static void a_direction_can_be_closed(void **state)
{
    struct change c = change_new("{'scaleDown': {'selectPolicy': 'Disabled',"
                                 "'stabilizationWindowSeconds': 0}}",
                                 0, 10, 5);

    (void)state;
    assert_int_equal(choose(&c, 0, 0).replicas, 5);
    change_done(&c);
}

static void more_pods_wait_for_a_window_too(void **state)
{
    struct change c = change_new(
        "{'scaleUp': {'stabilizationWindowSeconds': 60, 'policies': ["
        "{'type': 'Percent', 'value': 900, 'periodSeconds': 60}]}, 'scaleDown': {'policies': ["
        "{'type': 'Percent', 'value': 100, 'periodSeconds': 15}]}}",
        0, 100, 2);
    struct autoscale_choice last;

    (void)state;
    assert_int_equal(choose(&c, 2, 0).replicas, 2);
    last = choose(&c, 9, 30);
    assert_int_equal(last.replicas, 2);
    assert_string_equal(last.able_reason, "ScaleUpStabilized");
    assert_int_equal(choose(&c, 7, 61).replicas, 7); /* the least of the last minute */
    assert_int_equal(choose(&c, 0, 100).replicas, 7);
    assert_int_equal(choose(&c, 0, 362).replicas, 0); /* to nothing, five minutes later */
    change_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_for_the_pods_that_meet_the_target),
        cmocka_unit_test(pods_without_a_measure_make_a_change_smaller),
        cmocka_unit_test(says_nothing_of_pods_that_request_nothing),
        cmocka_unit_test(what_is_not_known_never_turns_a_change_around),
        cmocka_unit_test(fewer_pods_wait_for_five_minutes),
        cmocka_unit_test(policies_bound_the_change_of_a_period),
        cmocka_unit_test(a_direction_can_be_closed),
        cmocka_unit_test(more_pods_wait_for_a_window_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
