/*
 * test_deployments_prop.c - a Deployment is rolled, undone and paused while its pods come and go
 *
 * The controllers end between any two turns and start again, and the node serves one pod at a
 * time. At no time there are more pods than maxSurge allows, or fewer ready ones than
 * maxUnavailable allows; at the end all pods are of the last template.
 */

#include "apps_kit.h"
#include "base/mem.h"
#include "kinds/pod/pod_state.h"
#include "prop.h"
#include "sim_loop.h"
#include "test.h"

enum {
    STEPS = 150,
    CASES = 30,
    SPEC_SIZE = 256
};

struct run {
    struct jobs_world jw;
    struct prop prop;
    size_t replicas;
    size_t surge;
    size_t unavailable;
    bool was_whole;   /* all pods were ready once */
    size_t known_low; /* the fewest ready pods that the statuses told since they were right */
    char image[2];
};

static size_t count_known(struct run *r)
{
    AUTO(json_freep) json_t *sets = list_all(&r->jw, "apps", "replicasets");
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(sets); i++)
        n += (size_t)json_int_at(json_array_get(sets, i), "status", "availableReplicas", NULL);
    return n;
}

/*
 * A pod that is taken for not ready, and is deleted first, may have become ready meanwhile: ready
 * pods may be as few as the statuses told.
 */
static void check_limits(struct run *r)
{
    size_t ready = count_ready(&r->jw);
    size_t active = count_active(&r->jw);
    size_t known = count_known(r);

    assert_true(active <= r->replicas + r->surge);
    r->was_whole = r->was_whole || ready >= r->replicas;
    if (known == ready || known < r->known_low)
        r->known_low = known;
    if (r->was_whole)
        assert_true(ready + r->unavailable >= r->replicas || ready >= r->known_low);
}

/* Runs a few due timers, not all, so that writes stay pending. */
static void a_few_turns(struct run *r)
{
    for (size_t n = prop_below(&r->prop, 12); n > 0 && sim_loop_step(r->jw.w.loop); n--)
        check_limits(r);
}

static void act_on_pod(struct run *r)
{
    AUTO(json_freep) json_t *pods = list_all(&r->jw, "", "pods");
    size_t n = json_array_size(pods);

    if (n > 0)
        (void)serve_pod(&r->jw, json_array_get(pods, prop_below(&r->prop, n)));
}

static void change(struct run *r)
{
    if (prop_chance(&r->prop, 30)) {
        patch_app(&r->jw, "deployments", "d",
                  prop_chance(&r->prop, 40) ? "{'spec':{'paused':true}}"
                                            : "{'spec':{'paused':false}}");
        return;
    }
    r->image[0] = (char)('a' + prop_below(&r->prop, 4));
    set_image(&r->jw, r->image);
}

static void step(struct run *r)
{
    switch (prop_below(&r->prop, 12)) {
    case 0:
        jobs_world_restart(&r->jw, prop_chance(&r->prop, 50));
        break;
    case 1:
        change(r);
        break;
    case 2:
        jobs_world_run(&r->jw, (int)prop_below(&r->prop, 30));
        break;
    default:
        act_on_pod(r);
        break;
    }
    check_limits(r);
    a_few_turns(r);
}

static void let_it_end(struct run *r)
{
    patch_app(&r->jw, "deployments", "d", "{'spec':{'paused':false}}");
    for (int i = 0; i < 3000; i++) {
        act_on_pod(r);
        a_few_turns(r);
        check_limits(r);
    }
    serve_all(&r->jw);
    jobs_world_run(&r->jw, 70); /* beyond the pauses after conflicts */
    serve_all(&r->jw);
    assert_int_equal(count_active(&r->jw), r->replicas);
    assert_int_equal(count_ready(&r->jw), r->replicas);
    assert_int_equal(count_image(&r->jw, r->image), r->replicas);
    assert_int_equal(app_number(&r->jw, "deployments", "d", "availableReplicas"), r->replicas);
    assert_app_condition(&r->jw, "deployments", "d", "Progressing", "True",
                         "NewReplicaSetAvailable");
}

static void run_seed(uint64_t seed)
{
    struct run r = {.prop = {seed}, .image = "a"};
    char spec[SPEC_SIZE];

    r.replicas = 1 + prop_below(&r.prop, 8);
    r.surge = prop_below(&r.prop, 4);
    r.unavailable = prop_below(&r.prop, 3);
    if (r.surge == 0 && r.unavailable == 0)
        r.unavailable = 1;
    (void)snprintf(
        spec, sizeof(spec),
        "'replicas':%zu,'strategy':{'rollingUpdate':{'maxSurge':%zu,'maxUnavailable':%zu}}",
        r.replicas, r.surge, r.unavailable);
    jobs_world_init(&r.jw, seed);
    add_deployment(&r.jw, r.image, spec);
    for (int i = 0; i < STEPS; i++)
        step(&r);
    let_it_end(&r);
    jobs_world_done(&r.jw);
}

static void its_limits_hold_whenever_the_controllers_end(void **state)
{
    struct prop_seeds seeds = prop_seeds(CASES);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        print_message("# seed %llu\n", (unsigned long long)seed);
        run_seed(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_limits_hold_whenever_the_controllers_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
