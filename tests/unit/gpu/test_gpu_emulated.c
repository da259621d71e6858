/* test_gpu_emulated.c - profiles of emulated machines */

#include <string.h>

#include "base/mem.h"
#include "gpu/emulated.h"
#include "gpu/gpusim_machine.h"
#include "test.h"

static void makes_the_machine_that_a_name_says(void **state)
{
    AUTO_FREE struct gpusim_machine *m = mem_alloc(sizeof(*m));
    AUTO_FREE struct gpusim_machine *again = mem_alloc(sizeof(*again));
    AUTO_FREE struct gpusim_machine *other = mem_alloc(sizeof(*other));

    (void)state;
    assert_null(emulated_compile("8xH100", NULL, "node-1", m));
    assert_int_equal(m->n_gpus, 8);
    assert_string_equal(m->gpus[3].name, "NVIDIA H100 80GB HBM3");
    assert_int_equal(m->gpus[3].memory_bytes >> 20, 81559);
    assert_int_equal(m->gpus[3].n_links, 18);
    assert_int_equal(m->gpus[3].numa_node, 0);
    assert_int_equal(m->gpus[4].numa_node, 1);
    for (unsigned i = 1; i < 8; i++)
        assert_string_not_equal(m->gpus[i].uuid, m->gpus[i - 1].uuid);
    assert_null(emulated_compile("8xH100", NULL, "node-1", again));
    assert_memory_equal(m, again, sizeof(*m));
    assert_null(emulated_compile("8xH100", NULL, "node-2", other));
    assert_string_not_equal(m->gpus[0].uuid, other->gpus[0].uuid);
}

static void reads_a_profile_with_boards_of_its_own(void **state)
{
    static const char text[] = "driver: 1.2.3\n"
                               "cuda: \"11.4\"\n"
                               "gpus:\n"
                               "- count: 2\n"
                               "  model: T4\n"
                               "- name: Own Board\n"
                               "  memory: 10Gi\n"
                               "  compute: \"9.9\"\n";
    AUTO_FREE struct gpusim_machine *m = mem_alloc(sizeof(*m));
    struct str yaml = STR(text);

    (void)state;
    assert_null(emulated_compile("own.yaml", &yaml, "s", m));
    assert_int_equal(m->n_gpus, 3);
    assert_string_equal(m->driver_version, "1.2.3");
    assert_int_equal(m->cuda_version, 11040);
    assert_string_equal(m->gpus[2].name, "Own Board");
    assert_int_equal(m->gpus[2].memory_bytes, UINT64_C(10) << 30);
    assert_int_equal(m->gpus[2].compute_minor, 9);
    assert_int_equal(m->gpus[2].minor, 2);
}

static void says_what_is_wrong_with_a_profile(void **state)
{
    static const struct {
        const char *spec;
        const char *yaml; /* NULL: the spec is "NxMODEL" */
        const char *message;
    } cases[] = {
        {"eight", NULL,
         "emulated gpus 'eight': profile 'eight': want a count and a model such as 8xH100"},
        {"8xG80", NULL,
         "emulated gpus '8xG80': gpu model 'G80' is not known: want one of B200, H200"},
        {"0xH100", NULL, "emulated gpus '0xH100': "},
        {"a.yaml", "gpus: []\n",
         "emulated gpus 'a.yaml': gpus: want a list with at least one entry"},
        {"a.yaml", "gpus:\n- model: H100\n  links: ring\n",
         "emulated gpus 'a.yaml': gpus[0]: links: 'ring': want switch, pairs or none"},
        {"a.yaml", "gpus:\n- {model: H100, clique: 8f1c1d9e.1}\n",
         "emulated gpus 'a.yaml': gpus[0]: clique: '8f1c1d9e.1': want CLUSTER-UUID.NUMBER"},
        {"a.yaml", "gpus:\n- {model: H100, gpusPerSwitch: 0}\n",
         "emulated gpus 'a.yaml': gpus[0]: gpusPerSwitch: want at least 1"},
        {"a.yaml", "gpus:\n- modell: H100\n",
         "emulated gpus 'a.yaml': gpus[0]: 'modell' is not a field here"},
        {"a.yaml", "gpus:\n- model: H100\n  count: 17\n",
         "emulated gpus 'a.yaml': gpus[0]: 17 gpus: want 1 to 16"},
        {"a.yaml", "gpus:\n- name: x\n",
         "emulated gpus 'a.yaml': gpus[0]: want a model, or name and memory"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_FREE struct gpusim_machine *m = mem_alloc(sizeof(*m));
        struct str yaml = str_of(cases[i].yaml);
        AUTO(err_freep)
        struct err *e = emulated_compile(cases[i].spec, cases[i].yaml ? &yaml : NULL, "s", m);

        assert_non_null(e);
        if (strncmp(err_message(e), cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("case %zu: '%s'", i, err_message(e));
        assert_int_equal(m->n_gpus, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_the_machine_that_a_name_says),
        cmocka_unit_test(reads_a_profile_with_boards_of_its_own),
        cmocka_unit_test(says_what_is_wrong_with_a_profile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
