/* test_gpusim_mig.c - MIG instances of the emulated NVML, against the geometry of model/mig.h */

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "gpu/emulated.h"
#include "gpu/gpusim_machine.h"
#include "gpu/nvml_abi.h"
#include "model/gpu.h"
#include "model/mig.h"
#include "prop.h"
#include "test.h"

#define NVML_CALLS(X)                                                                  \
    X(nvmlInit_v2, (void))                                                             \
    X(nvmlShutdown, (void))                                                            \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned, nvmlDevice_t *))                       \
    X(nvmlDeviceGetHandleByUUID, (const char *, nvmlDevice_t *))                       \
    X(nvmlDeviceGetUUID, (nvmlDevice_t, char *, unsigned))                             \
    X(nvmlDeviceGetMigMode, (nvmlDevice_t, unsigned *, unsigned *))                    \
    X(nvmlDeviceSetMigMode, (nvmlDevice_t, unsigned, int *))                           \
    X(nvmlDeviceGetGpuInstanceProfileInfoV,                                            \
      (nvmlDevice_t, unsigned, struct nvmlGpuInstanceProfileInfo_v2 *))                \
    X(nvmlDeviceGetGpuInstanceRemainingCapacity, (nvmlDevice_t, unsigned, unsigned *)) \
    X(nvmlDeviceGetGpuInstancePossiblePlacements_v2,                                   \
      (nvmlDevice_t, unsigned, struct nvmlPlacement *, unsigned *))                    \
    X(nvmlDeviceCreateGpuInstance, (nvmlDevice_t, unsigned, nvmlGpuInstance_t *))      \
    X(nvmlDeviceCreateGpuInstanceWithPlacement,                                        \
      (nvmlDevice_t, unsigned, const struct nvmlPlacement *, nvmlGpuInstance_t *))     \
    X(nvmlGpuInstanceGetInfo, (nvmlGpuInstance_t, struct nvmlGpuInstanceInfo *))       \
    X(nvmlGpuInstanceDestroy, (nvmlGpuInstance_t))                                     \
    X(nvmlGpuInstanceCreateComputeInstance,                                            \
      (nvmlGpuInstance_t, unsigned, nvmlComputeInstance_t *))                          \
    X(nvmlComputeInstanceDestroy, (nvmlComputeInstance_t))                             \
    X(nvmlDeviceGetMigDeviceHandleByIndex, (nvmlDevice_t, unsigned, nvmlDevice_t *))   \
    X(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (nvmlDevice_t, nvmlDevice_t *))    \
    X(nvmlDeviceGetAttributes_v2, (nvmlDevice_t, struct nvmlDeviceAttributes *))       \
    X(nvmlDeviceGetMemoryInfo_v2, (nvmlDevice_t, struct nvmlMemory_v2 *))              \
    X(nvmlDeviceGetUtilizationRates, (nvmlDevice_t, struct nvmlUtilization *))

static struct {
#define X(name, arguments) int(*name) arguments; /* NOLINT(bugprone-macro-parentheses) */
    NVML_CALLS(X)
#undef X
} nvml;

static char machine_file[128];

/* Makes a machine of one gpu, and opens the library on it. Returns the gpu. */
static nvmlDevice_t machine_open(const char *profile)
{
    AUTO_FREE struct gpusim_machine *m = mem_alloc(sizeof(*m));
    nvmlDevice_t device = NULL;

    assert_null(emulated_compile(profile, NULL, "mig", m));
    assert_null(
        file_write(machine_file, 0600, (struct str){.at = (const char *)m, .size = sizeof(*m)}));
    assert_int_equal(nvml.nvmlInit_v2(), NVML_SUCCESS);
    assert_int_equal(nvml.nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
    return device;
}

static nvmlDevice_t machine_open_mig(const char *profile)
{
    nvmlDevice_t device = machine_open(profile);
    int activation = NVML_ERROR_UNKNOWN;

    assert_int_equal(nvml.nvmlDeviceSetMigMode(device, 1, &activation), NVML_SUCCESS);
    assert_int_equal(activation, NVML_SUCCESS);
    return device;
}

/* NVML's profile with this name; its number in `*ret_number`. */
static struct nvmlGpuInstanceProfileInfo_v2 profile_named(nvmlDevice_t device, const char *name)
{
    AUTO_FREE char *full = mem_format("MIG %s", name);

    for (unsigned i = 0; i < NVML_GPU_INSTANCE_PROFILES; i++) {
        struct nvmlGpuInstanceProfileInfo_v2 info = {.version = NVML_GPU_INSTANCE_PROFILE_INFO_V2};

        if (nvml.nvmlDeviceGetGpuInstanceProfileInfoV(device, i, &info) == NVML_SUCCESS &&
            strcmp(info.name, full) == 0)
            return info;
    }
    fail_msg("no profile %s", name);
    return (struct nvmlGpuInstanceProfileInfo_v2){0};
}

static const struct mig_geometry *geometry_of(nvmlDevice_t device, const char *model)
{
    struct nvmlMemory_v2 memory = {.version = NVML_MEMORY_V2};

    assert_int_equal(nvml.nvmlDeviceGetMemoryInfo_v2(device, &memory), NVML_SUCCESS);
    return mig_geometry_of(model, (int64_t)memory.total);
}

static void shows_the_profiles_and_places_of_the_geometry(void **state)
{
    static const char *const boards[][2] = {
        {"1xH100", "h100"}, {"1xB200", "b200"}, {"1xH200", "h200"}, {"1xRTXPRO6000", "rtxpro6000"}};

    (void)state;
    for (size_t b = 0; b < COUNT(boards); b++) {
        nvmlDevice_t device = machine_open(boards[b][0]);
        const struct mig_geometry *g = geometry_of(device, boards[b][1]);

        assert_non_null(g);
        for (unsigned i = 0; i < g->n_profiles; i++) {
            const struct mig_profile *p = &g->profiles[i];
            struct nvmlGpuInstanceProfileInfo_v2 info = profile_named(device, p->name);
            struct nvmlPlacement places[32];
            unsigned n = COUNT(places);
            unsigned starts = 0;

            assert_int_equal(info.sliceCount, p->compute);
            if (p->memory_mib)
                assert_int_equal(info.memorySizeMB, p->memory_mib);
            assert_int_equal(
                nvml.nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, info.id, places, &n),
                NVML_SUCCESS);
            for (unsigned k = 0; k < n; k++) {
                assert_int_equal(places[k].size, p->size);
                starts |= 1U << places[k].start;
            }
            assert_int_equal(starts, p->starts);
        }
        assert_int_equal(nvml.nvmlShutdown(), NVML_SUCCESS);
    }
}

/* An instance of a random history. */
struct made {
    nvmlGpuInstance_t handle;
    unsigned profile;
    unsigned start;
};

static struct mig_state state_of(const struct mig_geometry *g, const struct made *made, size_t n)
{
    struct mig_state s = {0};

    for (size_t i = 0; i < n; i++)
        s = mig_state_add(g, s, made[i].profile, made[i].start);
    return s;
}

/* Creates an instance at a start where the geometry may or may not have room. */
static bool create_one(struct prop *r, nvmlDevice_t device, const struct mig_geometry *g,
                       const struct made *made, size_t n, struct made *ret)
{
    unsigned profile = (unsigned)prop_below(r, g->n_profiles);
    const struct mig_profile *p = &g->profiles[profile];
    struct nvmlGpuInstanceProfileInfo_v2 info = profile_named(device, p->name);
    struct nvmlPlacement place = {.start = (unsigned)prop_below(r, g->units), .size = p->size};
    uint16_t free = mig_starts(g, state_of(g, made, n), profile);
    nvmlGpuInstance_t handle = NULL;
    int code = nvml.nvmlDeviceCreateGpuInstanceWithPlacement(device, info.id, &place, &handle);

    if (!(p->starts >> place.start & 1)) {
        assert_int_equal(code, NVML_ERROR_INVALID_ARGUMENT);
        return false;
    }
    assert_int_equal(code,
                     free >> place.start & 1 ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_RESOURCES);
    *ret = (struct made){.handle = handle, .profile = profile, .start = place.start};
    return code == NVML_SUCCESS;
}

static void run_history(uint64_t seed, const char *board, const char *model)
{
    struct prop r = {seed};
    nvmlDevice_t device = machine_open_mig(board);
    const struct mig_geometry *g = geometry_of(device, model);
    struct made made[GPUSIM_INSTANCES_MAX];
    size_t n = 0;

    assert_non_null(g);
    for (unsigned step = 0; step < 40; step++) {
        if (n > 0 && prop_chance(&r, 30)) {
            size_t k = prop_below(&r, n);

            assert_int_equal(nvml.nvmlGpuInstanceDestroy(made[k].handle), NVML_SUCCESS);
            assert_int_equal(nvml.nvmlGpuInstanceDestroy(made[k].handle), NVML_ERROR_NOT_FOUND);
            made[k] = made[--n];
        } else if (create_one(&r, device, g, made, n, &made[n])) {
            n++;
        }
    }
    for (unsigned i = 0; i < g->n_profiles; i++) {
        uint16_t free = mig_starts(g, state_of(g, made, n), i);
        unsigned room = 0;

        assert_int_equal(nvml.nvmlDeviceGetGpuInstanceRemainingCapacity(
                             device, profile_named(device, g->profiles[i].name).id, &room),
                         NVML_SUCCESS);
        assert_int_equal(room > 0, free != 0);
    }
    assert_int_equal(nvml.nvmlShutdown(), NVML_SUCCESS);
}

static void creates_an_instance_where_the_geometry_has_room_and_nowhere_else(void **state)
{
    static const char *const boards[][2] = {{"1xH100", "h100"}, {"1xRTXPRO6000", "rtxpro6000"}};
    struct prop_seeds seeds = prop_seeds(40);

    (void)state;
    for (uint64_t seed = seeds.first; seed < seeds.end; seed++) {
        for (size_t b = 0; b < COUNT(boards); b++)
            run_history(seed, boards[b][0], boards[b][1]);
    }
}

static void chooses_a_place_that_leaves_room_for_more(void **state)
{
    static const char *const wanted[] = {"1g.10gb", "2g.20gb", "4g.40gb"};
    nvmlDevice_t device = machine_open_mig("1xH100");

    (void)state;
    for (size_t i = 0; i < COUNT(wanted); i++) {
        nvmlGpuInstance_t made = NULL;

        assert_int_equal(
            nvml.nvmlDeviceCreateGpuInstance(device, profile_named(device, wanted[i]).id, &made),
            NVML_SUCCESS);
    }
    assert_int_equal(nvml.nvmlShutdown(), NVML_SUCCESS);
}

static void a_mig_device_has_its_part_and_its_own_uuid(void **state)
{
    nvmlDevice_t device = machine_open_mig("1xH100");
    struct nvmlGpuInstanceProfileInfo_v2 info = profile_named(device, "3g.40gb");
    struct nvmlDeviceAttributes attributes = {0};
    struct nvmlUtilization use = {0};
    struct nvmlMemory_v2 memory = {.version = NVML_MEMORY_V2};
    nvmlGpuInstance_t instance = NULL;
    nvmlComputeInstance_t two = NULL;
    nvmlComputeInstance_t one = NULL;
    nvmlDevice_t mig = NULL;
    nvmlDevice_t found = NULL;
    char uuid[96] = "";

    (void)state;
    assert_int_equal(nvml.nvmlDeviceCreateGpuInstance(device, info.id, &instance), NVML_SUCCESS);
    assert_int_equal(nvml.nvmlDeviceGetMigDeviceHandleByIndex(device, 0, &mig),
                     NVML_ERROR_NOT_FOUND);
    assert_int_equal(nvml.nvmlGpuInstanceCreateComputeInstance(instance, 1, &two), NVML_SUCCESS);
    assert_int_equal(nvml.nvmlGpuInstanceCreateComputeInstance(instance, 1, &one),
                     NVML_ERROR_INSUFFICIENT_RESOURCES);
    assert_int_equal(nvml.nvmlGpuInstanceCreateComputeInstance(instance, 0, &one), NVML_SUCCESS);
    assert_int_equal(nvml.nvmlDeviceGetMigDeviceHandleByIndex(device, 0, &mig), NVML_SUCCESS);
    assert_int_equal(nvml.nvmlDeviceGetUUID(mig, uuid, sizeof(uuid)), NVML_SUCCESS);
    assert_memory_equal(uuid, "MIG-", 4);
    assert_int_equal(nvml.nvmlDeviceGetHandleByUUID(uuid, &found), NVML_SUCCESS);
    assert_ptr_equal(found, mig);
    assert_int_equal(nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig, &found), NVML_SUCCESS);
    assert_ptr_equal(found, device);
    assert_int_equal(nvml.nvmlDeviceGetAttributes_v2(mig, &attributes), NVML_SUCCESS);
    assert_int_equal(attributes.multiprocessorCount, 40);
    assert_int_equal(attributes.gpuInstanceSliceCount, 3);
    assert_int_equal(attributes.computeInstanceSliceCount, 2);
    assert_int_equal(nvml.nvmlDeviceGetMemoryInfo_v2(mig, &memory), NVML_SUCCESS);
    assert_int_equal(memory.total >> 20, 40448);
    assert_int_equal(nvml.nvmlDeviceGetUtilizationRates(device, &use), NVML_ERROR_NOT_SUPPORTED);
    assert_int_equal(nvml.nvmlGpuInstanceDestroy(instance), NVML_ERROR_IN_USE);
    assert_int_equal(nvml.nvmlComputeInstanceDestroy(one), NVML_SUCCESS);
    assert_int_equal(nvml.nvmlComputeInstanceDestroy(two), NVML_SUCCESS);
    assert_int_equal(nvml.nvmlDeviceGetUUID(mig, uuid, sizeof(uuid)), NVML_ERROR_NOT_FOUND);
    assert_int_equal(nvml.nvmlGpuInstanceDestroy(instance), NVML_SUCCESS);
    assert_int_equal(nvml.nvmlShutdown(), NVML_SUCCESS);
}

static void instances_survive_the_programs_that_made_them(void **state)
{
    nvmlDevice_t device = machine_open_mig("1xH100");
    unsigned id = profile_named(device, "7g.80gb").id;
    nvmlGpuInstance_t instance = NULL;
    unsigned current = 0;
    unsigned pending = 0;
    unsigned room = 1;
    int activation = 0;

    (void)state;
    assert_int_equal(nvml.nvmlDeviceCreateGpuInstance(device, id, &instance), NVML_SUCCESS);
    assert_int_equal(nvml.nvmlShutdown(), NVML_SUCCESS);
    assert_int_equal(nvml.nvmlInit_v2(), NVML_SUCCESS);
    assert_int_equal(nvml.nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
    assert_int_equal(nvml.nvmlDeviceGetMigMode(device, &current, &pending), NVML_SUCCESS);
    assert_int_equal(current, 1);
    assert_int_equal(nvml.nvmlDeviceGetGpuInstanceRemainingCapacity(device, id, &room),
                     NVML_SUCCESS);
    assert_int_equal(room, 0);
    assert_int_equal(nvml.nvmlDeviceSetMigMode(device, 0, &activation), NVML_SUCCESS);
    assert_int_equal(activation, NVML_ERROR_IN_USE);
    assert_int_equal(nvml.nvmlShutdown(), NVML_SUCCESS);
}

static void ampere_needs_a_reset_and_turing_has_no_mig(void **state)
{
    nvmlDevice_t device = machine_open("1xA100");
    unsigned current = 1;
    unsigned pending = 0;
    int activation = 0;

    (void)state;
    assert_int_equal(nvml.nvmlDeviceSetMigMode(device, 1, &activation), NVML_SUCCESS);
    assert_int_equal(activation, NVML_ERROR_RESET_REQUIRED);
    assert_int_equal(nvml.nvmlDeviceGetMigMode(device, &current, &pending), NVML_SUCCESS);
    assert_int_equal(current, 0);
    assert_int_equal(pending, 1);
    assert_int_equal(nvml.nvmlShutdown(), NVML_SUCCESS);
    device = machine_open("1xT4");
    assert_int_equal(nvml.nvmlDeviceGetMigMode(device, &current, &pending),
                     NVML_ERROR_NOT_SUPPORTED);
    assert_int_equal(nvml.nvmlShutdown(), NVML_SUCCESS);
}

static int open_library(void **state)
{
    void *library = dlopen(getenv("METE_TEST_NVML"), RTLD_NOW | RTLD_LOCAL);

    (void)state;
    if (!library)
        return -1;
#define X(name, arguments)                           \
    do {                                             \
        void *symbol = dlsym(library, #name);        \
                                                     \
        if (!symbol)                                 \
            return -1;                               \
        memcpy(&nvml.name, &symbol, sizeof(symbol)); \
    } while (0);
    NVML_CALLS(X)
#undef X
    (void)snprintf(machine_file, sizeof(machine_file), "/tmp/test_gpusim_mig-%d", getpid());
    return setenv("METE_GPUSIM_MACHINE", machine_file, 1) || setenv("METE_GPUSIM_ALL", "1", 1);
}

static int remove_machine(void **state)
{
    (void)state;
    return unlink(machine_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_the_profiles_and_places_of_the_geometry),
        cmocka_unit_test(creates_an_instance_where_the_geometry_has_room_and_nowhere_else),
        cmocka_unit_test(chooses_a_place_that_leaves_room_for_more),
        cmocka_unit_test(a_mig_device_has_its_part_and_its_own_uuid),
        cmocka_unit_test(instances_survive_the_programs_that_made_them),
        cmocka_unit_test(ampere_needs_a_reset_and_turing_has_no_mig),
    };

    return cmocka_run_group_tests(tests, open_library, remove_machine);
}
