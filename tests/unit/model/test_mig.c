/* test_mig.c - MIG profiles and placements, against NVIDIA's tables */

#include "mig_facts.h"
#include "model/mig.h"
#include "prop.h"
#include "test.h"

static const struct mig_geometry *geometry(const char *key)
{
    for (size_t i = 0; i < mig_geometry_count(); i++)
        if (strcmp(mig_geometry_at(i)->key, key) == 0)
            return mig_geometry_at(i);
    fail_msg("no geometry %s", key);
    return NULL;
}

static unsigned profile(const struct mig_geometry *g, const char *name)
{
    int ret = mig_profile_find(g, name);

    if (ret < 0)
        fail_msg("%s has no profile %s", g->key, name);
    return (unsigned)ret;
}

/* Counts the instances of a profile that fit on a gpu, each at the first remaining start. */
static int most_of(const struct mig_geometry *g, unsigned p)
{
    struct mig_state s = {0};
    int count = 0;

    for (uint16_t starts = mig_starts(g, s, p); starts; starts = mig_starts(g, s, p), count++)
        s = mig_state_add(g, s, p, (unsigned)__builtin_ctz(starts));
    return count;
}

static void has_every_fact_and_nothing_else(void **state)
{
    size_t n_profiles = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(mig_facts); i++) {
        const struct mig_fact *f = &mig_facts[i];
        const struct mig_geometry *g = geometry(f->key);
        unsigned number = profile(g, f->name);
        const struct mig_profile *p = &g->profiles[number];
        unsigned starts = 0;

        for (int k = 0; f->starts[k] >= 0; k++)
            starts |= 1u << f->starts[k];
        assert_int_equal(g->units, f->units);
        assert_int_equal(g->compute, f->gpu_compute);
        assert_int_equal(p->compute, f->compute);
        assert_int_equal(p->size, f->size);
        assert_int_equal(p->starts, starts);
        assert_int_equal(most_of(g, number), f->max);
        assert_int_equal(p->media == MIG_MEDIA_ONE, strcmp(f->media, "me") == 0);
        assert_int_equal(p->media == MIG_MEDIA_ALL, strcmp(f->media, "me.all") == 0);
        assert_int_equal(p->media == MIG_MEDIA_NONE, strcmp(f->media, "no-me") == 0);
        if (f->memory < 0)
            assert_int_equal(p->memory_mib, 0);
        else
            assert_in_range(p->memory_mib * 100 / 1024 - f->memory + 1, 0, 2);
    }
    for (size_t i = 0; i < mig_geometry_count(); i++)
        n_profiles += mig_geometry_at(i)->n_profiles;
    assert_int_equal(n_profiles, COUNT(mig_facts));
}

static void is_found_by_model_and_memory(void **state)
{
    static const struct {
        const char *model;
        int64_t memory_mib;
        const char *key; /* NULL: none */
    } cases[] = {
        {"a100", 40960, "A100-40"},
        {"a100", 81920, "A100-80"},
        {"a800", 81251, "A100-80"},
        {"h100", 81559, "H100-80"},
        {"h100", 95830, "H100-94"},
        {"h100", 97871, "H100-96"},
        {"h200", 143771, "H200-141"},
        {"rtxpro", 97887, "RTXPRO6000-96"},
        {"a30", 24576, "A30-24"},
        {"gh200", 97871, "H100-96"},
        {"gh200", 146831, "GH200-144"},
        {"b200", 183359, "B200-180"},
        {"a100", 0, "A100-40"},
        {"h100", 20480, NULL},
        {"t4", 15360, NULL},
        {"", 0, NULL},
        {"a10", 24576, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct mig_geometry *g =
            mig_geometry_of(cases[i].model, cases[i].memory_mib * 1024 * 1024);

        if ((g != NULL) != (cases[i].key != NULL) || (g && strcmp(g->key, cases[i].key) != 0))
            fail_msg("%s of %lld MiB is %s", cases[i].model, (long long)cases[i].memory_mib,
                     g ? g->key : "nothing");
    }
}

static void keeps_the_large_placements_possible(void **state)
{
    static const struct {
        const char *key;
        const char *profiles[8]; /* one after the other */
        int starts[8];           /* -1: no room */
    } cases[] = {
        {"H100-80", {"1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb"}, {6, 4, 5, 0}},
        {"H100-80", {"3g.40gb", "4g.40gb", "1g.10gb"}, {4, 0, -1}},
        {"H100-80", {"3g.40gb", "3g.40gb", "1g.10gb"}, {4, 0, -1}},
        {"H100-80", {"2g.20gb", "2g.20gb", "3g.40gb"}, {4, 0, -1}},
        {"H100-80", {"1g.20gb", "3g.40gb", "2g.20gb"}, {6, 0, 4}},
        {"H100-80", {"1g.10gb+me", "1g.10gb+me", "1g.10gb"}, {6, -1, 4}},
        {"A30-24", {"1g.6gb+me", "2g.12gb+me", "2g.12gb"}, {0, -1, 2}},
        {"RTXPRO6000-96", {"1g.24gb+me.all", "1g.24gb", "1g.24gb-me", "2g.48gb-me"}, {0, -1, 3, 6}},
        {"RTXPRO6000-96", {"1g.24gb", "1g.24gb+me.all", "1g.24gb+me"}, {0, -1, 3}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct mig_geometry *g = geometry(cases[i].key);
        struct mig_table *t = mig_table_new(g);
        struct mig_state s = {0};

        for (size_t k = 0; cases[i].profiles[k]; k++) {
            unsigned p = profile(g, cases[i].profiles[k]);
            int start = mig_table_start(t, s, p);

            if (start != cases[i].starts[k])
                fail_msg("case %zu: %s starts at %d, not %d", i, cases[i].profiles[k], start,
                         cases[i].starts[k]);
            if (start >= 0)
                s = mig_state_add(g, s, p, (unsigned)start);
        }
        mig_table_free(t);
    }
}

/* In each reachable state the tables agree with trying every start. */
static void a_table_says_what_trying_says(void **state)
{
    struct prop_seeds seeds = prop_seeds(300);

    (void)state;
    assert_int_equal(mig_state_value(geometry("H100-80"), (struct mig_state){0}), 41);
    for (size_t i = 0; i < mig_geometry_count(); i++) {
        const struct mig_geometry *g = mig_geometry_at(i);
        struct mig_table *t = mig_table_new(g);
        const unsigned n = g->n_profiles;

        for (uint64_t seed = seeds.first; n > 0 && seed < seeds.end; seed++) {
            struct prop prop = {seed};
            struct mig_state s = {0};

            for (;;) {
                unsigned p = (unsigned)prop_below(&prop, n);
                uint16_t starts = mig_starts(g, s, p);
                int best = mig_table_start(t, s, p);
                unsigned value;

                assert_int_equal(best >= 0, starts != 0);
                assert_int_equal(mig_table_value(t, s), mig_state_value(g, s));
                if (best < 0)
                    break;
                value = mig_state_value(g, mig_state_add(g, s, p, (unsigned)best));
                for (unsigned at = 0; at < g->units; at++) {
                    unsigned other;

                    if (!(starts >> at & 1))
                        continue;
                    other = mig_state_value(g, mig_state_add(g, s, p, at));
                    assert_true(other < value || (other == value && (int)at >= best));
                }
                do
                    best = (int)prop_below(&prop, MIG_UNITS_MAX);
                while (!(starts >> best & 1));
                s = mig_state_add(g, s, p, (unsigned)best);
            }
        }
        mig_table_free(t);
    }
}

static void reads_names_as_people_and_resources_write_them(void **state)
{
    static const struct {
        const char *text;
        const char *name; /* NULL: refused */
    } cases[] = {
        {"1g.10gb", "1g.10gb"},
        {"mig-3g.40gb", "3g.40gb"},
        {"mig-1g.10gb.me", "1g.10gb+me"},
        {"1g.24gb+me.all", "1g.24gb+me.all"},
        {"mig-1g.24gb.me.all", "1g.24gb+me.all"},
        {"1g.24gb-me", "1g.24gb-me"},
        {"9g.999gb", "9g.999gb"},
        {"", NULL},
        {"mig-", NULL},
        {"g.10gb", NULL},
        {"1g.gb", NULL},
        {"1g.10gb+", NULL},
        {"1g.10gb.", NULL},
        {"1c.1g.10gb", NULL},
        {"1g.10gbs", NULL},
        {"1234g.10gb", NULL},
        {"1g.10gb+me.all.and.what.else.there.is", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char name[MIG_NAME_SIZE] = "untouched";
        bool is_read = mig_name_read(cases[i].text, name);

        if (is_read != (cases[i].name != NULL))
            fail_msg("'%s' is %s", cases[i].text, is_read ? "taken" : "refused");
        assert_string_equal(name, cases[i].name ? cases[i].name : "untouched");
    }
    assert_int_equal(mig_name_milli("1g.10gb"), 142);
    assert_int_equal(mig_name_milli("3g.40gb"), 428);
    assert_int_equal(mig_name_milli("7g.80gb"), 1000);
    assert_int_equal(mig_name_milli("1g.24gb"), 250);
    assert_int_equal(mig_name_milli("9g.999gb"), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_every_fact_and_nothing_else),
        cmocka_unit_test(is_found_by_model_and_memory),
        cmocka_unit_test(keeps_the_large_placements_possible),
        cmocka_unit_test(a_table_says_what_trying_says),
        cmocka_unit_test(reads_names_as_people_and_resources_write_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
