/* test_partition.c - tests of plans for MIG instances */

#include "base/mem.h"
#include "gpu/partition.h"
#include "model/mig.h"
#include "prop.h"
#include "test.h"

enum {
    HOLDINGS_MAX = 8
};

/* A gpu, its holders and a wish, in short texts. */
struct scene {
    const char *slices;   /* "1g.10gb@0 2g.20gb@4"; NULL: MIG is off */
    const char *holdings; /* devices, with blanks between */
    const char *wish;
    const char *steps; /* "enable create:1g.10gb@0", or the error's text */
};

static struct gpu gpu_of(const char *slices)
{
    struct gpu g = GPU_UNKNOWN(0);
    struct str rest = str_of(slices);

    (void)snprintf(g.uuid, sizeof(g.uuid), "GPU-a");
    (void)snprintf(g.model, sizeof(g.model), "h100");
    (void)snprintf(g.product, sizeof(g.product), "H100");
    g.memory_bytes = INT64_C(81559) << 20;
    g.mig_mode = slices != NULL;
    while (rest.at && rest.size > 0) {
        struct str start = str_cut(&rest, ' ');
        struct str profile = str_cut(&start, '@');
        struct gpu_slice *s = &g.slices[g.n_slices++];

        (void)snprintf(s->profile, sizeof(s->profile), STR_FMT, STR_ARG(profile));
        s->start = (unsigned)(start.at[0] - '0');
        s->gpu_instance = (int)g.n_slices;
        if (start.size == 1) /* "@0-": an instance without a compute instance */
            (void)snprintf(s->uuid, sizeof(s->uuid), "MIG-%u", s->start);
    }
    return g;
}

static size_t holdings_of(const char *text, struct gpu_holding ret[HOLDINGS_MAX])
{
    struct str rest = str_of(text);
    size_t n = 0;

    while (rest.at && rest.size > 0) {
        struct str device = str_cut(&rest, ' ');
        AUTO_FREE char *copy = mem_strndup(device.at, device.size);
        AUTO(err_freep) struct err *e = device_parse(copy, &ret[n].device);

        assert_null(e);
        ret[n++].pod = "ns/p";
    }
    return n;
}

/* The caller frees the text. */
static char *steps_of(const struct partition_plan *p)
{
    static const char *const names[] = {"enable", "disable", "destroy", "create"};
    struct buf out = {0};

    for (size_t i = 0; i < p->n; i++) {
        const struct partition_step *s = &p->steps[i];

        buf_printf(&out, "%s%s", i ? " " : "", names[s->op]);
        if (s->op == PARTITION_CREATE || s->op == PARTITION_DESTROY)
            buf_printf(&out, ":%s@%u", s->profile, s->start);
    }
    return out.at ? buf_steal(&out) : mem_strdup("");
}

static void assert_scene(const struct scene *c)
{
    const struct gpu g = gpu_of(c->slices);
    struct gpu_holding holdings[HOLDINGS_MAX] = {{.pod = NULL}};
    size_t n = c->holdings ? holdings_of(c->holdings, holdings) : 0;
    struct gpu_wish w = {0};
    struct partition_plan plan = {0};
    AUTO_FREE char *steps = NULL;
    AUTO(err_freep) struct err *e = gpu_wish_parse(c->wish, &w);

    assert_null(e);
    w.is_asked = true;
    e = partition_plan_make(&g, &w, holdings, n, &plan);
    steps = e ? mem_strdup(err_message(e)) : steps_of(&plan);
    assert_string_equal(steps, c->steps);
}

static void only_the_difference_is_changed(void **state)
{
    static const struct scene scenes[] = {
        {NULL, NULL, "slices=1g.10gb:2,3g.40gb:1",
         "enable create:3g.40gb@0 create:1g.10gb@4 create:1g.10gb@5"},
        {"1g.10gb@0 1g.10gb@6", NULL, "slices=1g.10gb:2", ""},
        {"1g.10gb@0 1g.10gb@6", NULL, "slices=1g.10gb:1,3g.40gb:1",
         "destroy:1g.10gb@6 create:3g.40gb@4"},
        {"1g.10gb@2 1g.10gb@6", NULL, "slices=7g.80gb:1",
         "destroy:1g.10gb@2 destroy:1g.10gb@6 create:7g.80gb@0"},
        {"1g.10gb@0-", NULL, "slices=1g.10gb:1", "destroy:1g.10gb@0 create:1g.10gb@0"},
        {"2g.20gb@0", NULL, "whole", "destroy:2g.20gb@0 disable"},
        {"", NULL, "slices=", ""},
        {NULL, NULL, "slices=", "enable"},
        {NULL, NULL, "replicas=4", ""},
        {"", NULL, "replicas=4", "disable"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(scenes); i++)
        assert_scene(&scenes[i]);
}

static void held_instances_stay_and_blockers_are_named(void **state)
{
    static const struct scene scenes[] = {
        {"1g.10gb@0 1g.10gb@6", "GPU-a/slice:1g.10gb@6", "slices=1g.10gb:1,3g.40gb:1",
         "destroy:1g.10gb@0 create:3g.40gb@0"},
        {"1g.10gb@0 1g.10gb@6", "GPU-a/slice:1g.10gb@0", "slices=4g.40gb:1,1g.10gb:1",
         "slices=4g.40gb:1,1g.10gb:1 waits for the end of ns/p"},
        {"1g.10gb@0", "GPU-a/slice:1g.10gb@0", "slices=2g.20gb:1",
         "slices=2g.20gb:1 waits for the end of ns/p"},
        {"1g.10gb@0", "GPU-a/slice:1g.10gb@0", "whole", "MIG off waits for the end of ns/p"},
        {NULL, "GPU-a", "slices=2g.20gb:1", "MIG on waits for the end of ns/p"},
        {NULL, "GPU-b", "slices=2g.20gb:1", "enable create:2g.20gb@0"},
        {"", NULL, "slices=3g.40gb:3", "slices=3g.40gb:3 do not fit on the gpu"},
        {"", NULL, "slices=1g.5gb:3",
         "the gpu has no profile 1g.5gb: it has 1g.10gb, 1g.10gb+me, 1g.20gb, 2g.20gb, 3g.40gb, "
         "4g.40gb, 7g.80gb"},
        {"", NULL, "slices=1g.10gb+me:2", "slices=1g.10gb+me:2 do not fit on the gpu"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(scenes); i++)
        assert_scene(&scenes[i]);
}

static void a_flexible_gpu_follows_its_holders(void **state)
{
    static const struct scene scenes[] = {
        {NULL, NULL, "flexible", ""},
        {"1g.10gb@0", NULL, "flexible", ""},
        {NULL, "GPU-a/slice:3g.40gb@4", "flexible", "enable create:3g.40gb@4"},
        {"1g.10gb@0 1g.10gb@5", "GPU-a/slice:3g.40gb@4", "flexible",
         "destroy:1g.10gb@5 create:3g.40gb@4"},
        {"3g.40gb@4", "GPU-a/slice:3g.40gb@4", "flexible", ""},
        {"3g.40gb@4", "GPU-a/slice:3g.40gb@4 GPU-a/slice:1g.10gb@5", "flexible",
         "slice 3g.40gb@4 of ns/p is in the way"},
        {"1g.10gb@0", "GPU-a", "flexible", "destroy:1g.10gb@0 disable"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(scenes); i++)
        assert_scene(&scenes[i]);
}

/* An A100 needs a reset to switch MIG, so MIG is on before the first slice is given. */
static void mig_that_needs_a_reset_goes_on_first(void **state)
{
    static const struct {
        const char *slices;
        const char *holding; /* NULL: none */
        const char *steps;
        bool is_flexible;
    } cases[] = {
        {NULL, NULL, "enable", false},
        {NULL, "GPU-a", "flexible waits for the end of ns/p: MIG is off", false},
        {"", NULL, "", true},
        {"", "GPU-a/slice:3g.40gb@4", "create:3g.40gb@4", true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct gpu g = gpu_of(cases[i].slices);
        struct gpu_holding holding = {.pod = "ns/p"};
        struct gpu_wish w = {.kind = GPU_WISH_FLEXIBLE, .is_asked = true};
        struct partition_plan plan = {0};
        AUTO_FREE char *steps = NULL;
        AUTO(err_freep) struct err *e = NULL;

        g.architecture = 7;
        (void)snprintf(g.model, sizeof(g.model), "a100");
        if (cases[i].holding)
            assert_null(device_parse(cases[i].holding, &holding.device));
        e = partition_plan_make(&g, &w, &holding, cases[i].holding != NULL, &plan);
        steps = e ? mem_strdup(err_message(e)) : steps_of(&plan);
        assert_string_equal(steps, cases[i].steps);
        gpu_wish_apply(&w, &holding, cases[i].holding != NULL, &g);
        assert_int_equal(g.is_flexible, cases[i].is_flexible);
        assert_int_equal(g.keeps_mig, cases[i].is_flexible);
    }
}

static void what_nobody_asked_for_stays(void **state)
{
    const struct gpu g = gpu_of("1g.10gb@0");
    struct gpu none = gpu_of(NULL);
    struct gpu_wish w = {0};
    struct partition_plan plan = {.n = 42};
    AUTO(err_freep) struct err *e = partition_plan_make(&g, &w, NULL, 0, &plan);

    (void)state;
    assert_null(e);
    assert_int_equal(plan.n, 0);
    w = (struct gpu_wish){.kind = GPU_WISH_SLICES, .is_asked = true};
    none.mig_mode = -1;
    e = partition_plan_make(&none, &w, NULL, 0, &plan);
    assert_string_equal(err_message(e), "the gpu has no MIG");
}

/* ---- property: a plan that stops anywhere is completed by the next one ---- */

struct driver_model {
    uint64_t seed;
    struct gpu gpu;
};

static void remove_instance(struct gpu *g, unsigned instance)
{
    for (size_t i = 0; i < g->n_slices; i++)
        if (g->slices[i].gpu_instance == (int)instance) {
            g->slices[i] = g->slices[--g->n_slices];
            return;
        }
}

static void add_instance(struct driver_model *m, const struct partition_step *step)
{
    struct gpu *g = &m->gpu;
    const struct mig_geometry *geometry = mig_geometry_of(g->model, g->memory_bytes);
    struct gpu_slice *made = &g->slices[g->n_slices];
    struct mig_state s = {0};
    int k;

    for (size_t i = 0; i < g->n_slices; i++) {
        k = mig_profile_find(geometry, g->slices[i].profile);
        s = mig_state_add(geometry, s, (unsigned)k, g->slices[i].start);
    }
    k = mig_profile_find(geometry, step->profile);
    CHECK(m, k >= 0 && (mig_starts(geometry, s, (unsigned)k) >> step->start & 1));
    *made = (struct gpu_slice){.start = step->start, .gpu_instance = (int)(100 + step->start)};
    (void)snprintf(made->profile, sizeof(made->profile), "%s", step->profile);
    (void)snprintf(made->uuid, sizeof(made->uuid), "MIG-%u", step->start);
    g->n_slices++;
}

/* Carries out a step as a driver does, and checks that the driver would allow it. */
static void carry_out(struct driver_model *m, const struct partition_step *step)
{
    bool is_switch = step->op == PARTITION_ENABLE || step->op == PARTITION_DISABLE;

    CHECK(m, is_switch ? m->gpu.n_slices == 0 : m->gpu.mig_mode == 1);
    if (is_switch)
        m->gpu.mig_mode = step->op == PARTITION_ENABLE;
    else if (step->op == PARTITION_DESTROY)
        remove_instance(&m->gpu, step->gpu_instance);
    else
        add_instance(m, step);
}

static struct gpu_wish random_wish(struct prop *r)
{
    static const char *const profiles[] = {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "7g.80gb"};
    struct gpu_wish w = {.kind = GPU_WISH_SLICES, .is_asked = true};

    if (prop_below(r, 6) == 0)
        w.kind = GPU_WISH_WHOLE;
    for (size_t i = 0; w.kind == GPU_WISH_SLICES && i < COUNT(profiles); i++) {
        unsigned n = (unsigned)prop_below(r, 4);

        if (n == 0)
            continue;
        (void)snprintf(w.slices[w.n_slices].profile, GPU_PROFILE_SIZE, "%s", profiles[i]);
        w.slices[w.n_slices++].count = n;
    }
    return w;
}

static void run_until(struct driver_model *m, const struct gpu_wish *w, size_t stop)
{
    struct partition_plan plan = {0};
    AUTO(err_freep) struct err *e = partition_plan_make(&m->gpu, w, NULL, 0, &plan);

    for (size_t i = 0; !e && i < plan.n && i < stop; i++)
        carry_out(m, &plan.steps[i]);
}

static void run_seed(uint64_t seed)
{
    struct driver_model m = {.seed = seed, .gpu = gpu_of(NULL)};
    struct prop r = {seed};

    for (int round = 0; round < 6; round++) {
        const struct gpu_wish w = random_wish(&r);
        struct partition_plan plan = {0};
        AUTO(err_freep) struct err *e = NULL;

        run_until(&m, &w, prop_below(&r, 8));
        run_until(&m, &w, SIZE_MAX);
        e = partition_plan_make(&m.gpu, &w, NULL, 0, &plan);
        CHECK(&m, e ? err_code(e) == ERR_INVALID : plan.n == 0);
    }
}

static void an_interrupted_change_is_completed(void **state)
{
    struct prop_seeds seeds = prop_seeds(1000);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_difference_is_changed),
        cmocka_unit_test(held_instances_stay_and_blockers_are_named),
        cmocka_unit_test(a_flexible_gpu_follows_its_holders),
        cmocka_unit_test(mig_that_needs_a_reset_goes_on_first),
        cmocka_unit_test(what_nobody_asked_for_stays),
        cmocka_unit_test(an_interrupted_change_is_completed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
