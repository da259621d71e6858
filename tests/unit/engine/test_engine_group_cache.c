/* test_engine_group_cache.c - groups from the cache are those that reading gives */

#include "engine/state.h"
#include "engine_build.h"
#include "test.h"

static struct mete_engine *engine;
static uint64_t last_id;

static int setup(void **state)
{
    (void)state;
    engine = mete_engine_new(NULL);
    last_id = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (mete_engine_check(engine))
        fail_msg("%s", mete_engine_check(engine));
    mete_engine_free(engine);
    return 0;
}

static const struct mete_domain rack = {.key = "rack", .is_required = true};
static const struct mete_gpu_ask ask = {.count = 2};
static const struct mete_label bad_label = {.key = "", .value = ""};
static const struct mete_amount twice[] = {{"cpu", 1000}, {"cpu", 1000}};
static const struct mete_amount no_name[] = {{NULL, 1000}, {"pods", 1}};
static const struct mete_amount no_cpu[] = {{"cpu", 0}, {"pods", 1}};
static const struct mete_amount turned[] = {{"pods", 1}, {"cpu", 1000}};
static const struct mete_amount disk[] = {{"cpu", 1000}, {"disk", 1}};
static const char *const models[] = {"h100"};
static const struct mete_toleration toleration = {.key = "gpu", .is_exists = true};
static const struct mete_label selected = {"disk", "ssd"};

/* Changes one request of the job. False: no more changes. */
static bool change(size_t i, struct job_parts *p)
{
    struct mete_pod_set *set = &p->set;
    struct mete_workload *w = &p->workload;

    /* clang-format off */
    switch (i) {
    case 0: set->gpus = 3; break;
    case 1: set->gpu_milli = 500; break;
    case 2: set->gpu_milli = 500; set->gpu_memory_bytes = 1 << 30; break;
    case 3: set->count = 2; break;
    case 4: set->count = 3; break;
    case 5: set->name = "other"; break;
    case 6: set->name = NULL; break;
    case 7: set->requests = disk; break;
    case 8: set->requests = no_cpu; break;
    case 9: set->n_requests = 1; break;
    case 10: p->requests[0].amount = 2000; break;
    case 11: set->gpu_models = models; set->n_gpu_models = 1; break;
    case 12: set->selector = &selected; set->n_selector = 1; break;
    case 13: set->tolerations = &toleration; set->n_tolerations = 1; break;
    case 14: set->node = "a"; break;
    case 15: set->domains = &rack; set->n_domains = 1; break;
    case 16: set->is_linked = true; break;
    case 17: w->domains = &rack; w->n_domains = 1; break;
    case 18: w->time_limit_ns = SECOND; break;
    case 19: w->never_preempts = true; break;
    case 20: w->queue = "other"; break;
    case 21: w->reservation = "mine"; break;
    case 22: w->evict_class = 3; break;
    default: return false;
    }
    /* clang-format on */
    return true;
}

static const struct job_spec base = {.gpus = 2};

static struct group *add(struct job_parts *p)
{
    p->workload.id = ++last_id;
    assert_int_equal(mete_workload_add(engine, &p->workload), METE_OK);
    return engine_workload(engine, last_id)->group;
}

static struct group *add_base(void)
{
    struct job_parts p;

    (void)job_parts(base, &p);
    return add(&p);
}

static void what_says_the_same_is_in_the_same_group(void **state)
{
    struct group *g = add_base();
    struct job_parts p;

    (void)state;
    assert_ptr_equal(add_base(), g);
    (void)job_parts(base, &p);
    p.set.gpu_milli = 1000; /* whole gpus */
    assert_ptr_equal(add(&p), g);
    (void)job_parts(base, &p);
    p.set.requests = turned;
    assert_ptr_equal(add(&p), g);
    (void)job_parts(base, &p);
    p.set.asks = &ask;
    p.set.n_asks = 1;
    p.set.gpus = 0;
    assert_ptr_equal(add(&p), g);
    assert_ptr_equal(add_base(), g);
}

static void what_says_something_else_is_in_another(void **state)
{
    struct group *g = add_base();
    struct job_parts p;

    (void)state;
    (void)job_parts(base, &p);
    for (size_t i = 0; change(i, &p); i++) {
        struct group *other = add(&p);

        if (other == g)
            fail_msg("change %zu makes no difference", i);
        assert_ptr_equal(add_base(), g);
        assert_ptr_equal(add(&p), other);
        (void)job_parts(base, &p);
    }
}

static void users_are_apart_where_they_are_limited(void **state)
{
    struct group *g = add_base();
    struct job_parts p;
    struct group *other;

    (void)state;
    (void)job_parts(base, &p);
    p.workload.user = "bob";
    assert_ptr_equal(add(&p), g);
    assert_int_equal(mete_queue_set(engine, &(struct mete_queue){.name = "default",
                                                                 .user_limits = {.running = 1}}),
                     METE_OK);
    g = add_base();
    other = add(&p);
    assert_ptr_not_equal(other, g);
    assert_ptr_equal(add_base(), g);
    assert_ptr_equal(add(&p), other);
}

static void is_refused(struct job_parts *p, const char *what)
{
    p->workload.id = ++last_id;
    if (mete_workload_add(engine, &p->workload) == METE_OK)
        fail_msg("%s: taken", what);
    (void)job_parts(base, p);
}

static void what_makes_no_sense_is_refused_though_the_like_was_read(void **state)
{
    struct job_parts p;

    (void)state;
    (void)add_base();
    (void)job_parts(base, &p);
    p.set.count = 0;
    is_refused(&p, "no pods");
    p.set.requests = twice;
    is_refused(&p, "a resource twice");
    p.set.requests = no_name;
    is_refused(&p, "a resource without a name");
    p.set.gpu_milli = 1001;
    is_refused(&p, "more than a gpu of each");
    p.set.labels = &bad_label;
    p.set.n_labels = 1;
    is_refused(&p, "a label without a key");
    p.workload.n_pod_sets = 0;
    is_refused(&p, "no pod sets");
}

static void what_is_gone_is_read_again(void **state)
{
    struct job_parts p;

    (void)state;
    (void)job_parts(base, &p);
    for (size_t i = 0; change(i, &p); i++) {
        (void)add(&p);
        assert_int_equal(mete_workload_remove(engine, last_id), METE_OK);
        (void)add(&p);
        assert_int_equal(mete_workload_remove(engine, last_id), METE_OK);
        (void)job_parts(base, &p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_says_the_same_is_in_the_same_group, setup, teardown),
        cmocka_unit_test_setup_teardown(what_says_something_else_is_in_another, setup, teardown),
        cmocka_unit_test_setup_teardown(users_are_apart_where_they_are_limited, setup, teardown),
        cmocka_unit_test_setup_teardown(what_makes_no_sense_is_refused_though_the_like_was_read,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_gone_is_read_again, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
