/*
 * vendor_stub.c - functions of librocm_smi64.so and of libze_loader.so.1 for one gpu each
 *
 * The gpu of AMD is at 0000:05:00.0, that of Intel at 0000:29:00.0.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static int handle; /* all handles are its address */
static uint64_t now_us;

EXPORT int rsmi_init(uint64_t flags);
EXPORT int rsmi_shut_down(void);
EXPORT int rsmi_num_monitor_devices(uint32_t *ret);
EXPORT int rsmi_dev_pci_id_get(uint32_t index, uint64_t *ret);
EXPORT int rsmi_dev_energy_count_get(uint32_t index, uint64_t *ret, float *ret_resolution,
                                     uint64_t *ret_timestamp);
EXPORT int zesInit(uint32_t flags);
EXPORT int zesDriverGet(uint32_t *count, void **ret);
EXPORT int zesDeviceGet(void *driver, uint32_t *count, void **ret);
EXPORT int zesDevicePciGetProperties(void *device, unsigned char *ret);
EXPORT int zesDeviceEnumMemoryModules(void *device, uint32_t *count, void **ret);
EXPORT int zesMemoryGetState(void *memory, unsigned char *ret);
EXPORT int zesDeviceEnumEngineGroups(void *device, uint32_t *count, void **ret);
EXPORT int zesEngineGetProperties(void *engine, unsigned char *ret);
EXPORT int zesEngineGetActivity(void *engine, uint64_t ret[2]);

int rsmi_init(uint64_t flags)
{
    return flags == 0 ? 0 : 1;
}

int rsmi_shut_down(void)
{
    return 0;
}

int rsmi_num_monitor_devices(uint32_t *ret)
{
    *ret = 1;
    return 0;
}

int rsmi_dev_pci_id_get(uint32_t index, uint64_t *ret)
{
    *ret = 5 << 8;
    return index == 0 ? 0 : 1;
}

int rsmi_dev_energy_count_get(uint32_t index, uint64_t *ret, float *ret_resolution,
                              uint64_t *ret_timestamp)
{
    *ret = 4000000;
    *ret_resolution = 15.25F;
    *ret_timestamp = 1;
    return index == 0 ? 0 : 1;
}

/* Gives one handle. */
static int give(uint32_t *count, void **ret)
{
    *count = 1;
    ret[0] = &handle;
    return 0;
}

int zesInit(uint32_t flags)
{
    return flags == 0 ? 0 : 1;
}

int zesDriverGet(uint32_t *count, void **ret)
{
    return give(count, ret);
}

int zesDeviceGet(void *driver, uint32_t *count, void **ret)
{
    return driver == &handle ? give(count, ret) : 1;
}

/* Structures are written by their offsets in the specification. */
static void write_at(unsigned char *at, size_t offset, const void *value, size_t size)
{
    memcpy(at + offset, value, size);
}

int zesDevicePciGetProperties(void *device, unsigned char *ret)
{
    const uint32_t address[4] = {0, 0x29, 0, 0};

    write_at(ret, 16, address, sizeof(address));
    return device == &handle && ret[0] == 2 ? 0 : 1;
}

int zesDeviceEnumMemoryModules(void *device, uint32_t *count, void **ret)
{
    (void)device;
    (void)give(count, ret);
    ret[1] = &handle; /* two tiles */
    *count = 2;
    return 0;
}

int zesMemoryGetState(void *memory, unsigned char *ret)
{
    const uint64_t sizes[2] = {UINT64_C(60) << 30, UINT64_C(64) << 30}; /* free, all */

    write_at(ret, 24, sizes, sizeof(sizes));
    return memory == &handle && ret[0] == 0x1e ? 0 : 1;
}

int zesDeviceEnumEngineGroups(void *device, uint32_t *count, void **ret)
{
    (void)device;
    return give(count, ret);
}

int zesEngineGetProperties(void *engine, unsigned char *ret)
{
    const int group = 0;

    write_at(ret, 16, &group, sizeof(group));
    return engine == &handle && ret[0] == 5 ? 0 : 1;
}

/* Busy for a quarter of the time. */
int zesEngineGetActivity(void *engine, uint64_t ret[2])
{
    now_us += 1000;
    ret[0] = now_us / 4;
    ret[1] = now_us;
    return engine == &handle ? 0 : 1;
}
