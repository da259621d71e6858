/* nvml_inventory_linux.c - properties of a gpu that rarely change, by NVML and sysfs */

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "gpu/nvml_private.h"
#include "model/index_set.h"

enum {
    CPU_WORDS = 64, /* 4096 CPUs */
    WORD_BITS = 8 * sizeof(unsigned long)
};

void nvml_inventory_load(struct gpu_driver *d)
{
    LOAD(d, inventory.architecture, "nvmlDeviceGetArchitecture", NULL);
    LOAD(d, inventory.ecc, "nvmlDeviceGetEccMode", NULL);
    LOAD(d, inventory.power_limit, "nvmlDeviceGetEnforcedPowerLimit",
         "nvmlDeviceGetPowerManagementLimit");
    LOAD(d, inventory.power_default, "nvmlDeviceGetPowerManagementDefaultLimit", NULL);
    LOAD(d, inventory.power_range, "nvmlDeviceGetPowerManagementLimitConstraints", NULL);
    LOAD(d, inventory.max_clock, "nvmlDeviceGetMaxClockInfo", NULL);
    LOAD(d, inventory.cpu_affinity, "nvmlDeviceGetCpuAffinity", NULL);
}

/* "0x030200" of sysfs; -1: unknown, as of emulated gpus. */
static int read_class(const struct nvmlPciInfo *pci)
{
    AUTO(buf_done) struct buf text = {.cap = 64};
    AUTO(err_freep) struct err *e = NULL;
    struct str rest = {0};
    char path[128];
    uint64_t value = 0;

    (void)snprintf(path, sizeof(path), "/sys/bus/pci/devices/%04x:%02x:%02x.0/class", pci->domain,
                   pci->bus, pci->device);
    e = file_read(path, text.cap, &text);
    if (e || text.size < 3)
        return -1;
    rest = (struct str){.at = text.at + 2, .size = text.size - 2};
    e = num_parse_hex(str_cut(&rest, '\n'), &value);
    return e || value > INT32_MAX ? -1 : (int)value;
}

static void read_cpus(const struct gpu_driver *d, nvmlDevice_t device, struct gpu *g)
{
    unsigned long words[CPU_WORDS] = {0};
    struct index_set cpus = {0};
    AUTO_FREE char *text = NULL;

    if (CALL(d->inventory.cpu_affinity, device, CPU_WORDS, words) != NVML_SUCCESS)
        return;
    for (size_t i = 0; i < CPU_WORDS * (size_t)WORD_BITS; i++)
        if (words[i / WORD_BITS] >> (i % WORD_BITS) & 1)
            (void)index_set_add(&cpus, i);
    text = index_set_format(&cpus);
    index_set_done(&cpus);
    if (strlen(text) < sizeof(g->cpu_affinity))
        (void)snprintf(g->cpu_affinity, sizeof(g->cpu_affinity), "%s", text);
}

static void read_power(const struct gpu_driver *d, nvmlDevice_t device, struct gpu *g)
{
    unsigned value = 0;
    unsigned most = 0;

    if (CALL(d->inventory.power_limit, device, &value) == NVML_SUCCESS)
        g->power_limit_mw = value;
    if (CALL(d->inventory.power_default, device, &value) == NVML_SUCCESS && value <= INT32_MAX)
        g->power_limit_default_mw = (int)value;
    if (CALL(d->inventory.power_range, device, &value, &most) != NVML_SUCCESS || most > INT32_MAX ||
        value > most)
        return;
    g->power_limit_min_mw = (int)value;
    g->power_limit_max_mw = (int)most;
}

void nvml_inventory_read(struct gpu_driver *d, nvmlDevice_t device, const struct nvmlPciInfo *pci,
                         struct gpu *g)
{
    unsigned value = 0;
    unsigned pending = 0;

    if (pci->busId[0]) {
        g->pci_device = pci->pciDeviceId;
        g->pci_class = read_class(pci);
    }
    if (CALL(d->inventory.architecture, device, &value) == NVML_SUCCESS && value <= INT32_MAX)
        g->architecture = (int)value;
    if (CALL(d->inventory.ecc, device, &value, &pending) == NVML_SUCCESS) {
        g->ecc_mode = value == 1;
        g->ecc_pending = pending == 1;
    }
    read_power(d, device, g);
    if (CALL(d->inventory.max_clock, device, NVML_CLOCK_SM, &value) == NVML_SUCCESS)
        g->sm_clock_max_mhz = (int)value;
    if (CALL(d->inventory.max_clock, device, NVML_CLOCK_MEM, &value) == NVML_SUCCESS)
        g->memory_clock_max_mhz = (int)value;
    read_cpus(d, device, g);
}
