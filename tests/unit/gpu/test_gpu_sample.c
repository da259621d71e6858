/* test_gpu_sample.c - the table of readings, read by NVML's functions from the emulated driver */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "gpu/emulated.h"
#include "gpu/gpu_driver.h"
#include "gpu/gpusim_machine.h"
#include "test.h"

static char path[64];
static struct gpusim_machine *machine;
static struct gpu_driver *driver;
static struct gpu_reading reading;

static void begin(const char *profile)
{
    AUTO_FREE struct gpusim_machine *m = mem_alloc(sizeof(*m));
    AUTO(fd_closep) int fd = -1;
    struct gpu g = {0};

    assert_null(emulated_compile(profile, NULL, "sample", m));
    assert_null(file_write(path, 0600, (struct str){.at = (const char *)m, .size = sizeof(*m)}));
    fd = open(path, O_RDWR | O_CLOEXEC);
    machine = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(machine, MAP_FAILED);
    assert_null(gpu_driver_open(getenv("METE_TEST_NVML"), &driver));
    assert_null(gpu_driver_read(driver, 0, &g));
}

static void end(void)
{
    gpu_driver_free(driver);
    (void)munmap(machine, sizeof(*machine));
}

static int64_t value(enum gpu_field field)
{
    return reading.gpu.value[field];
}

static void take(void)
{
    assert_null(gpu_driver_sample(driver, 0, &reading));
}

static void each_reading_is_what_the_machine_has(void **state)
{
    struct gpusim_gpu *g = NULL;

    (void)state;
    begin("2xH100");
    g = &machine->gpus[0];
    g->utilization_pct = 87;
    g->memory_utilization_pct = 41;
    g->tensor_pct = 33;
    g->processes[0] = (struct gpusim_process){.pid = 1, .memory_bytes = UINT64_C(3) << 30};
    g->processes[1] = (struct gpusim_process){.pid = 2, .is_graphics = 1, .memory_bytes = 1 << 20};
    g->n_processes = 2;
    g->throttle = 0x4;
    g->pcie_bytes[0] = UINT64_C(1) << 40;
    g->pcie_bytes[1] = 77;
    g->pcie_replays = 5;
    g->nvlink_bytes[0] = 1024;
    g->nvlink_bytes[1] = UINT64_C(1) << 50;
    g->nvlink_errors = 9;
    g->ecc[0][0] = 11;
    g->ecc[1][0] = 12;
    g->ecc[0][1] = 13;
    g->ecc[1][1] = 14;
    for (uint32_t i = 0; i < 4; i++)
        g->remapped[i] = i == 1 ? 6 : 1;
    take();
    assert_int_equal(value(GPU_FIELD_SM_ACTIVE_MILLI), -1); /* needs a second sample */
    take();
    assert_string_equal(reading.gpu.uuid, g->uuid);
    assert_string_equal(reading.gpu.parent, "");
    assert_int_equal(value(GPU_FIELD_UTILIZATION_PCT), 87);
    assert_int_equal(value(GPU_FIELD_MEMORY_UTILIZATION_PCT), 41);
    assert_int_equal(value(GPU_FIELD_ENCODER_PCT), 0);
    assert_int_equal(value(GPU_FIELD_DECODER_PCT), 0);
    assert_int_equal(value(GPU_FIELD_SM_ACTIVE_MILLI), 870);
    assert_int_equal(value(GPU_FIELD_GRAPHICS_ACTIVE_MILLI), 870);
    assert_int_equal(value(GPU_FIELD_TENSOR_ACTIVE_MILLI), 330);
    assert_int_equal(value(GPU_FIELD_DRAM_ACTIVE_MILLI), 410);
    assert_int_equal(value(GPU_FIELD_MEMORY_USED_BYTES), (INT64_C(3) << 30) + (1 << 20));
    assert_int_equal(value(GPU_FIELD_MEMORY_USED_BYTES) + value(GPU_FIELD_MEMORY_FREE_BYTES) +
                         value(GPU_FIELD_MEMORY_RESERVED_BYTES),
                     g->memory_bytes);
    assert_int_equal(value(GPU_FIELD_TEMPERATURE_C), g->temperature_c);
    assert_int_equal(value(GPU_FIELD_MEMORY_TEMPERATURE_C), g->temperature_c + 8);
    assert_int_equal(value(GPU_FIELD_POWER_MW), g->power_mw);
    assert_int_equal(value(GPU_FIELD_SM_CLOCK_MHZ), g->sm_clock_mhz);
    assert_int_equal(value(GPU_FIELD_MEMORY_CLOCK_MHZ), g->memory_clock_mhz);
    assert_int_equal(value(GPU_FIELD_THROTTLE_REASONS), 0x4);
    assert_int_equal(value(GPU_FIELD_PCIE_SENT_BYTES), INT64_C(1) << 40);
    assert_int_equal(value(GPU_FIELD_PCIE_RECEIVED_BYTES), 77);
    assert_int_equal(value(GPU_FIELD_PCIE_REPLAYS), 5);
    assert_int_equal(value(GPU_FIELD_NVLINK_SENT_BYTES), 1024);
    assert_int_equal(value(GPU_FIELD_NVLINK_RECEIVED_BYTES), INT64_C(1) << 50);
    assert_int_equal(value(GPU_FIELD_NVLINK_ERRORS), 9);
    assert_int_equal(value(GPU_FIELD_ECC_CORRECTED), 11);
    assert_int_equal(value(GPU_FIELD_ECC_UNCORRECTED), 12);
    assert_int_equal(value(GPU_FIELD_ECC_CORRECTED_EVER), 13);
    assert_int_equal(value(GPU_FIELD_ECC_UNCORRECTED_EVER), 14);
    assert_int_equal(value(GPU_FIELD_REMAPPED_CORRECTABLE), 1);
    assert_int_equal(value(GPU_FIELD_REMAPPED_UNCORRECTABLE), 6);
    assert_int_equal(value(GPU_FIELD_REMAP_PENDING), 1);
    assert_int_equal(value(GPU_FIELD_REMAP_FAILED), 1);
    assert_int_equal(value(GPU_FIELD_RECOVERY_ACTION), 1);
    assert_int_equal(value(GPU_FIELD_PROCESSES), 2);
    assert_int_equal(reading.n_processes, 2);
    assert_int_equal(reading.processes[0].memory_bytes, INT64_C(3) << 30);
    assert_int_equal(reading.processes[0].slice, -1);
    end();
}

/* Errors are read in each fifth sample; a counter of traffic in each. */
static void what_rarely_moves_is_read_again_within_five_samples(void **state)
{
    unsigned n = 0;

    (void)state;
    begin("1xH100");
    take();
    machine->gpus[0].ecc[1][0] = 1;
    machine->gpus[0].pcie_bytes[0] = 4096;
    take();
    assert_int_equal(value(GPU_FIELD_PCIE_SENT_BYTES), 4096);
    for (; value(GPU_FIELD_ECC_UNCORRECTED) == 0; n++)
        take();
    assert_int_equal(n, 4);
    end();
}

/* A T4 has no performance metrics and no NVLink. */
static void what_a_board_does_not_have_is_unknown(void **state)
{
    (void)state;
    begin("1xT4");
    take();
    take();
    assert_int_equal(value(GPU_FIELD_SM_ACTIVE_MILLI), -1);
    assert_int_equal(value(GPU_FIELD_NVLINK_SENT_BYTES), -1);
    assert_int_equal(value(GPU_FIELD_NVLINK_ERRORS), -1);
    assert_int_equal(value(GPU_FIELD_UTILIZATION_PCT), 0);
    assert_int_equal(value(GPU_FIELD_PCIE_SENT_BYTES), 0);
    end();
}

/* In MIG mode the driver refuses the utilization of the gpu; a list of gpus asks anew. */
static void a_refusal_holds_until_the_gpu_is_listed_anew(void **state)
{
    struct gpu g = {0};

    (void)state;
    begin("1xH100");
    machine->gpus[0].mig_mode = 1;
    take();
    assert_int_equal(value(GPU_FIELD_UTILIZATION_PCT), -1);
    machine->gpus[0].mig_mode = 0;
    take();
    assert_int_equal(value(GPU_FIELD_UTILIZATION_PCT), -1);
    assert_null(gpu_driver_read(driver, 0, &g));
    take();
    assert_int_equal(value(GPU_FIELD_UTILIZATION_PCT), 0);
    end();
}

static void slices_have_samples_while_the_driver_has_them(void **state)
{
    struct gpu g = {0};

    (void)state;
    begin("1xH100");
    assert_null(gpu_driver_set_mig(driver, 0, true));
    assert_null(gpu_driver_create_slice(driver, 0, "1g.10gb", 0, 1));
    assert_null(gpu_driver_create_slice(driver, 0, "3g.40gb", 4, 4));
    assert_null(gpu_driver_read(driver, 0, &g));
    assert_int_equal(g.n_slices, 2);
    take();
    take();
    assert_int_equal(reading.n_slices, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct gpu_sample *s = &reading.slices[i];

        assert_string_equal(s->uuid, g.slices[i].uuid);
        assert_string_equal(s->parent, g.uuid);
        assert_int_equal(s->value[GPU_FIELD_MEMORY_USED_BYTES] +
                             s->value[GPU_FIELD_MEMORY_FREE_BYTES],
                         g.slices[i].memory_bytes);
        assert_int_equal(s->value[GPU_FIELD_SM_ACTIVE_MILLI], 0);
        assert_int_equal(s->value[GPU_FIELD_PROCESSES], 0);
        assert_int_equal(s->value[GPU_FIELD_TEMPERATURE_C], -1);
    }
    assert_null(gpu_driver_destroy_slice(driver, 0, (unsigned)g.slices[0].gpu_instance));
    take();
    assert_int_equal(reading.n_slices, 1);
    assert_string_equal(reading.slices[0].uuid, g.slices[1].uuid);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reading_is_what_the_machine_has),
        cmocka_unit_test(what_rarely_moves_is_read_again_within_five_samples),
        cmocka_unit_test(what_a_board_does_not_have_is_unknown),
        cmocka_unit_test(a_refusal_holds_until_the_gpu_is_listed_anew),
        cmocka_unit_test(slices_have_samples_while_the_driver_has_them),
    };
    int failed;

    (void)snprintf(path, sizeof(path), "/tmp/mete-test-sample-%d.bin", (int)getpid());
    (void)setenv("METE_GPUSIM_MACHINE", path, 1); /* NOLINT(concurrency-mt-unsafe): one thread */
    (void)setenv("METE_GPUSIM_ALL", "1", 1);      /* NOLINT(concurrency-mt-unsafe) */
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
