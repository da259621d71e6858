/*
 * level_zero_linux.c - Intel's gpus by Level Zero's Sysman interface
 *
 * Structures and numbers are those of the Level Zero specification 1.11, zes_api.h.
 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "gpu/level_zero.h"

enum {
    ZES_SUCCESS = 0,
    ZES_TYPE_PCI = 0x2,
    ZES_TYPE_ENGINE = 0x5,
    ZES_TYPE_MEMORY_STATE = 0x1e,
    ZES_ENGINES_ALL = 0,     /* zes_engine_group_t: all engines together */
    ZES_ENGINES_COMPUTE = 1, /* all compute engines together */
    ZES_DRIVERS_MAX = 4,
    ZES_DEVICES_MAX = 64,
    ZES_PARTS_MAX = 64
};

typedef void *zes_handle;

/* zes_pci_properties_t */
struct zes_pci {
    int type;
    void *next;
    uint32_t domain;
    uint32_t bus;
    uint32_t device;
    uint32_t function;
    int32_t gen;
    int32_t width;
    int64_t bandwidth;
    uint8_t has[3];
};

/* zes_mem_state_t */
struct zes_memory {
    int type;
    const void *next;
    int health;
    uint64_t free;
    uint64_t size;
};

/* zes_engine_properties_t */
struct zes_engine {
    int type;
    void *next;
    int group;
    uint8_t is_on_subdevice;
    uint32_t subdevice;
};

/* zes_engine_stats_t */
struct zes_activity {
    uint64_t active;
    uint64_t timestamp;
};

struct zes_device {
    zes_handle handle;
    char pci[16];
    zes_handle engines[ZES_PARTS_MAX]; /* that have the gpu's activity */
    struct zes_activity before[ZES_PARTS_MAX];
    uint32_t n_engines;
};

struct level_zero {
    void *library;
    int (*init)(uint32_t flags);
    int (*drivers)(uint32_t *count, zes_handle *);
    int (*devices)(zes_handle driver, uint32_t *count, zes_handle *);
    int (*pci)(zes_handle device, struct zes_pci *);
    int (*memories)(zes_handle device, uint32_t *count, zes_handle *);
    int (*memory)(zes_handle memory, struct zes_memory *);
    int (*groups)(zes_handle device, uint32_t *count, zes_handle *);
    int (*engine)(zes_handle engine, struct zes_engine *);
    int (*activity)(zes_handle engine, struct zes_activity *);
    struct zes_device list[ZES_DEVICES_MAX];
    size_t n;
};

/* As in nvml_private.h. */
#define LOAD(z, member, name) (*(void **)&(z)->member = dlsym((z)->library, (name)))

static void load_symbols(struct level_zero *z)
{
    LOAD(z, init, "zesInit");
    LOAD(z, drivers, "zesDriverGet");
    LOAD(z, devices, "zesDeviceGet");
    LOAD(z, pci, "zesDevicePciGetProperties");
    LOAD(z, memories, "zesDeviceEnumMemoryModules");
    LOAD(z, memory, "zesMemoryGetState");
    LOAD(z, groups, "zesDeviceEnumEngineGroups");
    LOAD(z, engine, "zesEngineGetProperties");
    LOAD(z, activity, "zesEngineGetActivity");
}

/* Keeps the engine groups of one kind. */
static void find_engines(const struct level_zero *z, struct zes_device *d, int kind)
{
    zes_handle all[ZES_PARTS_MAX];
    uint32_t n = ZES_PARTS_MAX;

    if (!z->groups || !z->engine || !z->activity || z->groups(d->handle, &n, all) != ZES_SUCCESS)
        return;
    for (uint32_t i = 0; i < n && i < ZES_PARTS_MAX; i++) {
        struct zes_engine e = {.type = ZES_TYPE_ENGINE};

        if (z->engine(all[i], &e) == ZES_SUCCESS && e.group == kind)
            d->engines[d->n_engines++] = all[i];
    }
}

static void add_device(struct level_zero *z, zes_handle handle)
{
    struct zes_device *d = &z->list[z->n];
    struct zes_pci pci = {.type = ZES_TYPE_PCI};

    if (z->n == ZES_DEVICES_MAX || z->pci(handle, &pci) != ZES_SUCCESS)
        return;
    *d = (struct zes_device){.handle = handle};
    (void)snprintf(d->pci, sizeof(d->pci), "%04x:%02x:%02x.%x", pci.domain & 0xffff, pci.bus & 0xff,
                   pci.device & 0x1f, pci.function & 7);
    find_engines(z, d, ZES_ENGINES_ALL);
    if (d->n_engines == 0)
        find_engines(z, d, ZES_ENGINES_COMPUTE);
    z->n++;
}

static void list_devices(struct level_zero *z)
{
    zes_handle drivers[ZES_DRIVERS_MAX];
    uint32_t n_drivers = ZES_DRIVERS_MAX;

    if (z->init(0) != ZES_SUCCESS || z->drivers(&n_drivers, drivers) != ZES_SUCCESS)
        return;
    for (uint32_t i = 0; i < n_drivers && i < ZES_DRIVERS_MAX; i++) {
        zes_handle devices[ZES_DEVICES_MAX];
        uint32_t n = ZES_DEVICES_MAX;

        if (z->devices(drivers[i], &n, devices) != ZES_SUCCESS)
            continue;
        for (uint32_t k = 0; k < n && k < ZES_DEVICES_MAX; k++)
            add_device(z, devices[k]);
    }
}

struct level_zero *level_zero_open(const char *library)
{
    void *loaded = dlopen(library ? library : "libze_loader.so.1", RTLD_LAZY | RTLD_LOCAL);
    struct level_zero *z;

    if (!loaded)
        return NULL;
    z = mem_alloc(sizeof(*z));
    z->library = loaded;
    load_symbols(z);
    if (z->init && z->drivers && z->devices && z->pci)
        list_devices(z);
    if (z->n > 0)
        return z;
    level_zero_free(z);
    return NULL;
}

void level_zero_free(struct level_zero *z)
{
    if (!z)
        return;
    (void)dlclose(z->library);
    free(z);
}

static size_t index_of(const struct level_zero *z, const char *pci)
{
    size_t i = 0;

    while (z && i < z->n && !text_equal(z->list[i].pci, pci))
        i++;
    return i;
}

bool level_zero_memory(const struct level_zero *z, const char *pci, int64_t *ret_total_bytes,
                       int64_t *ret_used_bytes)
{
    size_t at = index_of(z, pci);
    zes_handle parts[ZES_PARTS_MAX];
    uint32_t n = ZES_PARTS_MAX;
    uint64_t total = 0;
    uint64_t unused = 0;

    if (!z || at == z->n || !z->memories || !z->memory ||
        z->memories(z->list[at].handle, &n, parts) != ZES_SUCCESS)
        return false;
    for (uint32_t i = 0; i < n && i < ZES_PARTS_MAX; i++) {
        struct zes_memory m = {.type = ZES_TYPE_MEMORY_STATE};

        if (z->memory(parts[i], &m) != ZES_SUCCESS || m.free > m.size || m.size > INT64_MAX / 64)
            return false;
        total += m.size;
        unused += m.free;
    }
    if (total == 0)
        return false;
    *ret_total_bytes = (int64_t)total;
    *ret_used_bytes = (int64_t)(total - unused);
    return true;
}

int level_zero_busy(struct level_zero *z, const char *pci)
{
    size_t at = index_of(z, pci);
    struct zes_device *d;
    uint64_t active = 0;
    uint64_t passed = 0;

    if (!z || at == z->n)
        return -1;
    d = &z->list[at];
    for (uint32_t i = 0; i < d->n_engines; i++) {
        struct zes_activity now = {0};

        if (z->activity(d->engines[i], &now) != ZES_SUCCESS)
            return -1;
        if (d->before[i].timestamp != 0 && now.timestamp > d->before[i].timestamp &&
            now.active >= d->before[i].active) {
            passed += now.timestamp - d->before[i].timestamp;
            active += now.active - d->before[i].active;
        }
        d->before[i] = now;
    }
    if (passed == 0)
        return -1;
    return active >= passed ? 100 : (int)(active * 100 / passed);
}
