/*
 * made_sysfs.h - directories like /sys with the gpus of AMD and Intel
 *
 * Names and forms of the files are those of published recordings of the kernel's sysfs (MI300X in
 * CPX, MI308X, MI210) and of the drivers' sources; no machine of the project has such gpus.
 */
#pragma once

#include <inttypes.h>

#include "made_tree.h"

/* A board of AMD. */
struct made_amd {
    unsigned card;   /* of the board, or of its first partition */
    unsigned render; /* the minor of its render node */
    unsigned node;   /* of KFD's topology */
    unsigned bus;    /* of PCI */
    unsigned device; /* of PCI */
    uint64_t unique_id;
    uint64_t hive;
    int64_t memory_bytes;
    unsigned simds;
    unsigned gfx;
    const char *product;   /* NULL: no file */
    const char *partition; /* "SPX"; NULL: the board cannot be divided */
    unsigned partitions;   /* 1: the board is whole */
};

static inline void sys_put(const struct made_tree *t, const char *dir, const char *name,
                           const char *text)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO_FREE char *line = mem_format("%s\n", text);

    tree_text(t, path, line);
}

static inline void sys_put_number(const struct made_tree *t, const char *dir, const char *name,
                                  int64_t value)
{
    AUTO_FREE char *text = mem_format("%" PRId64, value);

    sys_put(t, dir, name, text);
}

/* The files of a PCI device, and its card. */
static inline void sys_pci(const struct made_tree *t, const char *pci, unsigned vendor,
                           unsigned device, unsigned card, unsigned render)
{
    AUTO_FREE char *dir = mem_format("bus/pci/devices/%s", pci);
    AUTO_FREE char *link = mem_format("class/drm/card%u/device", card);
    AUTO_FREE char *target = mem_format("../../../bus/pci/devices/%s", pci);
    AUTO_FREE char *drm = mem_format("drm/renderD%u/dev", render);
    AUTO_FREE char *vendor_text = mem_format("0x%04x", vendor);
    AUTO_FREE char *device_text = mem_format("0x%04x", device);

    sys_put(t, dir, "vendor", vendor_text);
    sys_put(t, dir, "device", device_text);
    sys_put(t, dir, "class", "0x038000");
    sys_put(t, dir, "numa_node", "1");
    sys_put(t, dir, "local_cpulist", "48-95,144-191");
    sys_put(t, dir, drm, "226:128");
    tree_link(t, link, target);
}

static inline void sys_sensors(const struct made_tree *t, const char *dir)
{
    AUTO_FREE char *below = mem_format("%s/hwmon/hwmon5", dir);

    sys_put(t, below, "temp2_input", "41000");
    sys_put(t, below, "power1_average", "133000000");
    sys_put(t, below, "power1_cap", "750000000");
    sys_put(t, below, "freq1_input", "132000000");
}

/* What only amdgpu has. */
static inline void sys_amd_sensors(const struct made_tree *t, const char *dir)
{
    AUTO_FREE char *below = mem_format("%s/hwmon/hwmon5", dir);

    sys_put(t, below, "name", "amdgpu");
    sys_put(t, below, "temp3_input", "34000");
    sys_put(t, below, "freq2_input", "900000000");
    sys_put(t, dir, "pcie_replay_count", "2");
    sys_put(t, dir, "ras/umc_err_count", "ue: 1\nce: 5");
    sys_put(t, dir, "ras/gfx_err_count", "ue: 0\nce: 2");
    sys_put(t, dir, "ras/features", "feature mask: 0x3fffff");
}

/* The node of one partition in KFD's topology. */
static inline void sys_kfd_node(const struct made_tree *t, const struct made_amd *b, unsigned i)
{
    AUTO_FREE char *dir = mem_format("class/kfd/kfd/topology/nodes/%u", b->node + i);
    AUTO_FREE char *text = mem_format(
        "cpu_cores_count 0\nsimd_count %u\nmem_banks_count 1\nio_links_count 63\nsimd_per_cu 4\n"
        "gfx_target_version %u\nvendor_id 4098\ndevice_id %u\nlocation_id %u\ndomain 0\n"
        "drm_render_minor %u\nhive_id %" PRIu64 "\nnum_sdma_engines 2\nunique_id %" PRIu64
        "\nnum_xcc 1",
        b->simds / b->partitions, b->gfx, b->device, b->bus << 8 | i, b->render + i, b->hive,
        b->unique_id);
    AUTO_FREE char *bank =
        mem_format("heap_type 1\nsize_in_bytes %" PRId64 "\nflags 0\nwidth 8192\nmem_clk_max 1300",
                   b->memory_bytes / b->partitions);

    sys_put_number(t, dir, "gpu_id", 24000 + b->node + i);
    sys_put(t, dir, "properties", text);
    sys_put(t, dir, "mem_banks/0/properties", bank);
    sys_put(t, dir, "mem_banks/0/used_memory", "2907979776");
}

/* Puts a board; its further partitions have platform devices. */
static inline void sys_amd(const struct made_tree *t, const struct made_amd *b)
{
    AUTO_FREE char *pci = mem_format("0000:%02x:00.0", b->bus);
    AUTO_FREE char *dir = mem_format("bus/pci/devices/%s", pci);

    sys_pci(t, pci, 0x1002, b->device, b->card, b->render);
    sys_sensors(t, dir);
    sys_amd_sensors(t, dir);
    sys_put_number(t, dir, "mem_info_vram_total", b->memory_bytes);
    sys_put_number(t, dir, "mem_info_vram_used", 2907979776);
    sys_put(t, dir, "gpu_busy_percent", "7");
    sys_put(t, dir, "mem_busy_percent", "3");
    sys_put(t, dir, "serial_number", "692251001124");
    sys_put(t, dir, "pp_dpm_sclk", "0: 132Mhz *\n1: 2100Mhz");
    sys_put(t, dir, "pp_dpm_mclk", "0: 900Mhz *\n1: 1300Mhz");
    if (b->product)
        sys_put(t, dir, "product_name", b->product);
    if (b->partition) {
        sys_put(t, dir, "current_compute_partition", b->partition);
        sys_put(t, dir, "current_memory_partition", "NPS1");
    }
    for (unsigned i = 0; i < b->partitions; i++)
        sys_kfd_node(t, b, i);
    for (unsigned i = 1; i < b->partitions; i++) {
        AUTO_FREE char *link = mem_format("class/drm/card%u/device", b->card + i);
        AUTO_FREE char *xcp = mem_format("devices/platform/amdgpu_xcp_%u", b->card + i);
        AUTO_FREE char *target = mem_format("../../../%s", xcp);
        AUTO_FREE char *drm = mem_format("drm/renderD%u/dev", b->render + i);

        sys_put(t, xcp, drm, "226:129");
        tree_link(t, link, target);
    }
    sys_put(t, "class/kfd/kfd", "dev", "510:0");
    sys_put(t, "module/amdgpu", "version", "6.8.5");
}

/* Nodes without gpus, as the CPUs have. */
static inline void sys_cpus(const struct made_tree *t)
{
    for (unsigned i = 0; i < 2; i++) {
        AUTO_FREE char *dir = mem_format("class/kfd/kfd/topology/nodes/%u", i);

        sys_put(t, dir, "properties", "cpu_cores_count 96\nsimd_count 0\ndrm_render_minor 0");
    }
}

/* Puts a gpu of Intel with `memory_bytes` behind its PCI resource. */
static inline void sys_intel(const struct made_tree *t, unsigned card, const char *pci,
                             unsigned device, const char *driver, int64_t memory_bytes)
{
    AUTO_FREE char *dir = mem_format("bus/pci/devices/%s", pci);
    AUTO_FREE char *link = mem_format("%s/driver", dir);
    AUTO_FREE char *target = mem_format("../../../../bus/pci/drivers/%s", driver);
    AUTO_FREE char *resource =
        mem_format("0x0000203fff000000 0x0000203fffffffff 0x000000000014220c\n"
                   "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
                   "0x%016" PRIx64 " 0x%016" PRIx64 " 0x000000000014220c",
                   INT64_C(1) << 44, (INT64_C(1) << 44) + memory_bytes - 1);

    sys_pci(t, pci, 0x8086, device, card, 128 + card);
    sys_sensors(t, dir);
    sys_put(t, dir, "resource", resource);
    tree_link(t, link, target);
}
