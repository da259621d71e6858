/* test_gpu_use.c - the processes of a gpu and its slices, added up by container */

#include <stdio.h>
#include <string.h>

#include "gpu/gpu_use.h"
#include "test.h"

static void a_container_is_known_by_its_cgroup(void **state)
{
    static const struct {
        const char *text;
        const char *id; /* NULL: no container */
    } cases[] = {
        {"0::/mete/u1-main-0\n", "u1-main-0"},
        {"0::/mete/u1-main-0/nested\n", "u1-main-0"},
        {"12:pids:/x\n4:memory:/mete/u1-main-2\n0::/\n", "u1-main-2"},
        {"0::/../../mete/u1-main-0\n", "u1-main-0"},
        {"0::/user.slice/session-1.scope\n", NULL},
        {"0::/system.slice/mete.service\n", NULL},
        {"0::/mete/\n", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char id[GPU_USE_ID_SIZE] = "untouched";

        assert_int_equal(gpu_use_id(cases[i].text, id), cases[i].id != NULL);
        assert_string_equal(id, cases[i].id ? cases[i].id : "untouched");
    }
}

/* Processes below 100 are of container a, below 200 of b; 900 is an MPS server, 999 is gone. */
static void home(unsigned pid, struct gpu_process_home *ret)
{
    *ret = (struct gpu_process_home){.is_gone = pid == 999, .is_mps_server = pid == 900};
    if (pid < 200)
        (void)snprintf(ret->id, sizeof(ret->id), "%s", pid < 100 ? "a" : "b");
}

static struct gpu_reading reading;
static struct gpu_use uses[GPU_PROCESSES_MAX];

static void begin(size_t n_slices)
{
    reading = (struct gpu_reading){.gpu = GPU_SAMPLE_UNKNOWN, .n_slices = n_slices};
    (void)snprintf(reading.gpu.uuid, sizeof(reading.gpu.uuid), "GPU-0");
    for (size_t i = 0; i < n_slices; i++) {
        reading.slices[i] = (struct gpu_sample)GPU_SAMPLE_UNKNOWN;
        (void)snprintf(reading.slices[i].uuid, sizeof(reading.slices[i].uuid), "MIG-%zu", i);
    }
}

static void add(unsigned pid, int slice, int64_t memory_bytes, int sm_milli)
{
    reading.processes[reading.n_processes++] = (struct gpu_process){
        .pid = pid, .slice = slice, .memory_bytes = memory_bytes, .sm_milli = sm_milli};
}

static void is_use(size_t i, const char *id, int64_t memory_bytes, int64_t sm_milli, int64_t n)
{
    assert_string_equal(uses[i].id, id);
    assert_int_equal(uses[i].memory_bytes, memory_bytes);
    assert_int_equal(uses[i].sm_milli, sm_milli);
    assert_int_equal(uses[i].n_processes, n);
}

static void processes_add_up_by_container(void **state)
{
    (void)state;
    begin(0);
    add(1, -1, 100, 250);
    add(150, -1, 30, 500);
    add(2, -1, 7, 50);
    add(300, -1, 1000, 10); /* foreign */
    add(301, -1, 2000, 0);
    add(999, -1, 5, 5);
    assert_int_equal(gpu_uses_of(&reading, home, uses), 3);
    is_use(0, "a", 107, 300, 2);
    is_use(1, "b", 30, 500, 1);
    is_use(2, "", 3000, 10, 2);
    assert_string_equal(uses[1].device, "GPU-0");
}

static void what_the_driver_does_not_tell_of_one_process_is_unknown_of_all(void **state)
{
    (void)state;
    begin(0);
    add(1, -1, -1, 250);
    add(2, -1, 7, -1);
    add(150, -1, 30, 500);
    assert_int_equal(gpu_uses_of(&reading, home, uses), 2);
    is_use(0, "a", -1, -1, 2);
    is_use(1, "b", 30, 500, 1);
}

/* In MIG mode the driver tells the activity of a slice, not of a process. */
static void the_only_container_on_a_slice_has_its_activity(void **state)
{
    (void)state;
    begin(2);
    reading.slices[0].value[GPU_FIELD_GRAPHICS_ACTIVE_MILLI] = 870;
    reading.slices[1].value[GPU_FIELD_GRAPHICS_ACTIVE_MILLI] = 400;
    add(1, 0, 10, -1);
    add(2, 0, 20, -1);
    add(3, 1, 30, -1);
    add(150, 1, 40, -1);
    assert_int_equal(gpu_uses_of(&reading, home, uses), 3);
    is_use(0, "a", 30, 870, 2);
    is_use(1, "a", 30, -1, 1); /* two containers share the second slice */
    is_use(2, "b", 40, -1, 1);
    assert_string_equal(uses[0].device, "MIG-0");
    assert_string_equal(uses[2].device, "MIG-1");
}

static void the_work_of_an_mps_server_is_nobodys(void **state)
{
    (void)state;
    begin(0);
    add(900, -1, 500, 800);
    add(1, -1, 100, 0);
    add(150, -1, 30, 0);
    assert_int_equal(gpu_uses_of(&reading, home, uses), 2);
    is_use(0, "a", 100, -1, 1);
    is_use(1, "b", 30, -1, 1);
    begin(0);
    add(900, -1, 500, 0); /* this driver tells of the clients */
    add(1, -1, 100, 300);
    add(150, -1, 30, 0);
    assert_int_equal(gpu_uses_of(&reading, home, uses), 2);
    is_use(0, "a", 100, 300, 1);
    is_use(1, "b", 30, 0, 1);
}

static void a_use_is_read_back_from_json(void **state)
{
    const struct gpu_use in = {.device = "GPU-0",
                               .id = "u1-main-0",
                               .memory_bytes = INT64_C(1) << 40,
                               .sm_milli = -1,
                               .n_processes = 3};
    AUTO(json_freep) json_t *j = gpu_use_format_json(&in);
    struct gpu_use out = gpu_use_parse_json(j);

    (void)state;
    assert_memory_equal(&in, &out, sizeof(in));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_is_known_by_its_cgroup),
        cmocka_unit_test(processes_add_up_by_container),
        cmocka_unit_test(what_the_driver_does_not_tell_of_one_process_is_unknown_of_all),
        cmocka_unit_test(the_only_container_on_a_slice_has_its_activity),
        cmocka_unit_test(the_work_of_an_mps_server_is_nobodys),
        cmocka_unit_test(a_use_is_read_back_from_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
