/*
 * amd_linux.c - AMD's gpus by sysfs
 *
 * The kernel's driver amdgpu makes a card for each board, and one for each further partition of a
 * board that is divided (platform devices amdgpu_xcp_N). The topology of KFD, its compute driver,
 * has a node for each gpu or partition that computes; drm_render_minor says which card it is. A
 * partition's location_id has the partition's number as its PCI function, or in the bits from 28 on
 * (Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c).
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "gpu/gpu_readers.h"
#include "gpu/rocm_smi.h"
#include "gpu/sysfs.h"

#define AMD_PCI   0x1002
#define TOPOLOGY  "class/kfd/kfd/topology/nodes"
#define PROCESSES "class/kfd/kfd/proc"

enum {
    AMD_GPUS_MAX = 64,
    KFD_NODES_MAX = 256,
    BANKS_MAX = 8,
    HEAP_PUBLIC = 1, /* video memory, by HsaHeapType */
    HEAP_PRIVATE = 2
};

/* Gpus with less memory of their own are parts of a CPU and have no place in a list of
 * accelerators.
 */
#define MEMORY_LEAST (INT64_C(2) << 30)

/* A node of KFD's topology. */
struct kfd_node {
    unsigned number;
    int64_t gpu_id; /* in the names of files about processes; -1: unknown */
    int render;
    int simds;
    int compute_units;
    unsigned gfx;
    unsigned partition;
    uint64_t unique_id;
    uint64_t hive; /* gpus of one hive are linked; 0: none */
    char pci[16];  /* "0000:05:00.0" */
};

struct amd_gpu {
    struct sysfs_card card;
    char device[64]; /* directory of the board's PCI device */
    bool has_kfd;
    struct kfd_node kfd;
    bool is_partition;        /* the board is divided */
    char uuid[GPU_TEXT_SIZE]; /* "": not read yet */
};

struct amd {
    const char *sys;
    const char *library;
    struct rocm_smi *smi; /* opened with the first gpu; NULL: not there */
    bool is_smi_tried;
    struct amd_gpu gpus[AMD_GPUS_MAX];
    unsigned n;
};

/* ---- topology ---- */

static void kfd_read(const char *text, struct kfd_node *ret)
{
    uint64_t simds_per_unit = sysfs_property(text, "simd_per_cu", 0);
    uint64_t location = sysfs_property(text, "location_id", 0);
    uint64_t domain = sysfs_property(text, "domain", 0);
    uint64_t simds = sysfs_property(text, "simd_count", 0);

    ret->render = (int)(sysfs_property(text, "drm_render_minor", 0) & INT32_MAX);
    ret->simds = simds > 0 && simds < 1 << 20 ? (int)simds : -1;
    ret->compute_units = ret->simds > 0 && simds_per_unit > 0 ? (int)(simds / simds_per_unit) : -1;
    ret->gfx = (unsigned)sysfs_property(text, "gfx_target_version", 0);
    ret->unique_id = sysfs_property(text, "unique_id", 0);
    ret->hive = sysfs_property(text, "hive_id", 0);
    ret->partition = (unsigned)(location >> 28 & 15);
    if (ret->partition == 0)
        ret->partition = (unsigned)(location & 7);
    (void)snprintf(ret->pci, sizeof(ret->pci), "%04x:%02x:%02x.0", (unsigned)(domain & 0xffff),
                   (unsigned)(location >> 8 & 0xff), (unsigned)(location >> 3 & 31));
}

/* The nodes that compute. */
static size_t kfd_list(const char *sys, struct kfd_node *ret)
{
    AUTO_FREE char *dir = mem_format("%s/" TOPOLOGY, sys);
    AUTO(err_freep) struct err *e = NULL;
    char **names = NULL;
    size_t n_names = 0;
    size_t n = 0;

    e = dir_list(dir, &names, &n_names);
    for (size_t i = 0; !e && i < n_names && n < KFD_NODES_MAX; i++) {
        AUTO_FREE char *text = sysfs_read(sys, TOPOLOGY "/%.16s/properties", names[i]);
        int64_t number = 0;
        AUTO(err_freep)
        struct err *other = num_parse_int64(str_of(names[i]), 0, INT32_MAX, &number);

        if (other || !text)
            continue;
        ret[n] = (struct kfd_node){.number = (unsigned)number};
        kfd_read(text, &ret[n]);
        ret[n].gpu_id = sysfs_number(sys, TOPOLOGY "/%u/gpu_id", ret[n].number);
        n += ret[n].simds > 0 && ret[n].render > 0;
    }
    names_free(names, n_names);
    return n;
}

/* The node's video memory, or `file` of it; -1: unknown. */
static int64_t kfd_memory(const char *sys, unsigned node, bool is_used)
{
    int64_t total = 0;

    for (unsigned i = 0; i < BANKS_MAX; i++) {
        AUTO_FREE char *text = sysfs_read(sys, TOPOLOGY "/%u/mem_banks/%u/properties", node, i);
        uint64_t heap = sysfs_property(text, "heap_type", 0);
        uint64_t size = sysfs_property(text, "size_in_bytes", 0);
        int64_t used = 0;

        if (!text)
            break;
        if ((heap != HEAP_PUBLIC && heap != HEAP_PRIVATE) || size > (uint64_t)INT64_MAX / BANKS_MAX)
            continue;
        if (is_used)
            used = sysfs_number(sys, TOPOLOGY "/%u/mem_banks/%u/used_memory", node, i);
        if (used < 0)
            return -1;
        total += is_used ? used % (INT64_MAX / BANKS_MAX) : (int64_t)size;
    }
    return total > 0 || is_used ? total : -1;
}

/* ---- the list ---- */

static int64_t amd_memory(const char *sys, const struct amd_gpu *g)
{
    int64_t memory = g->has_kfd ? kfd_memory(sys, g->kfd.number, false) : -1;

    return memory >= 0 ? memory : sysfs_number(sys, "%s/mem_info_vram_total", g->device);
}

/* The node of a card's render node; NULL: the card does not compute. */
static const struct kfd_node *kfd_find(const struct kfd_node *nodes, size_t n, int render)
{
    for (size_t i = 0; i < n; i++)
        if (nodes[i].render == render)
            return &nodes[i];
    return NULL;
}

/* Finds what is known of a card. False: it is no gpu of AMD that programs can use. */
static bool find_gpu(const char *sys, const struct sysfs_card *card, const struct kfd_node *kfd,
                     struct amd_gpu *ret)
{
    struct amd_gpu g = {.card = *card, .has_kfd = kfd != NULL};
    int64_t memory;

    memcpy(g.device, card->device, sizeof(g.device));
    if (kfd)
        g.kfd = *kfd;
    if (card->vendor < 0 && kfd) /* a partition: no PCI device of its own */
        (void)snprintf(g.device, sizeof(g.device), "bus/pci/devices/%s", kfd->pci);
    if (sysfs_number(sys, "%s/vendor", g.device) != AMD_PCI)
        return false;
    memory = amd_memory(sys, &g);
    *ret = g;
    return memory < 0 || memory >= MEMORY_LEAST;
}

static bool is_same_board(const struct amd_gpu *a, const struct amd_gpu *b)
{
    return a->has_kfd && b->has_kfd && text_equal(a->kfd.pci, b->kfd.pci);
}

static struct err *amd_count(void *state, unsigned *ret)
{
    struct amd *a = state;
    AUTO_FREE struct sysfs_card *cards = mem_alloc(SYSFS_CARDS_MAX * sizeof(*cards));
    AUTO_FREE struct kfd_node *nodes = mem_alloc(KFD_NODES_MAX * sizeof(*nodes));
    size_t n_cards = sysfs_cards(a->sys, cards);
    size_t n_nodes = kfd_list(a->sys, nodes);

    a->n = 0;
    for (size_t i = 0; i < n_cards && a->n < AMD_GPUS_MAX; i++)
        a->n +=
            find_gpu(a->sys, &cards[i], kfd_find(nodes, n_nodes, cards[i].render), &a->gpus[a->n]);
    for (unsigned i = 0; i < a->n; i++)
        for (unsigned k = 0; k < a->n; k++)
            a->gpus[i].is_partition |= i != k && is_same_board(&a->gpus[i], &a->gpus[k]);
    if (a->n > 0 && !a->is_smi_tried && (!a->library || a->library[0]))
        a->smi = rocm_smi_open(a->library);
    a->is_smi_tried = a->is_smi_tried || a->n > 0;
    *ret = a->n;
    return NULL;
}

/* ---- one gpu ---- */

/* Boards whose firmware does not tell the product, by their PCI device. */
static const struct {
    int64_t device;
    const char *name;
} products[] = {
    {0x738c, "AMD Instinct MI100"},  {0x740c, "AMD Instinct MI250X"},
    {0x7408, "AMD Instinct MI250X"}, {0x740f, "AMD Instinct MI210"},
    {0x74a0, "AMD Instinct MI300A"}, {0x74a1, "AMD Instinct MI300X"},
    {0x74a2, "AMD Instinct MI308X"}, {0x74a5, "AMD Instinct MI325X"},
    {0x75a0, "AMD Instinct MI350X"}, {0x75a3, "AMD Instinct MI355X"},
};

static void read_product(const struct amd *a, const struct amd_gpu *from, struct gpu *g)
{
    int64_t device = g->pci_device >= 0 ? g->pci_device >> 16 : -1;

    if (!sysfs_text(g->product, sizeof(g->product), a->sys, "%s/product_name", from->device)) {
        (void)snprintf(g->product, sizeof(g->product), "AMD GPU 0x%04" PRIx64, (uint64_t)device);
        for (size_t i = 0; i < COUNT(products); i++)
            if (products[i].device == device)
                (void)snprintf(g->product, sizeof(g->product), "%s", products[i].name);
    }
    gpu_model_of(g->product, g->model);
}

/* The name that ROCm gives the board, with the partition's number where there are several. A board
 * without an id has that of its PCI slot. */
static void read_uuid(const struct amd *a, const struct amd_gpu *from, struct gpu *g)
{
    char id[32] = "";
    char partition[16] = "";
    char *at;

    if (from->has_kfd && from->kfd.unique_id != 0)
        (void)snprintf(id, sizeof(id), "%016" PRIx64, from->kfd.unique_id);
    else if (!sysfs_text(id, sizeof(id), a->sys, "%s/unique_id", from->device) ||
             strspn(id, "0123456789abcdefABCDEF") != strlen(id) || strspn(id, "0") == strlen(id))
        (void)snprintf(id, sizeof(id), "amd-%.20s", g->pci);
    for (at = id; *at; at++)
        if (*at == ':' || *at == '.')
            *at = '-';
    if (from->is_partition)
        (void)snprintf(partition, sizeof(partition), "-p%u", from->kfd.partition);
    (void)snprintf(g->uuid, sizeof(g->uuid), "GPU-%s%s", id, partition);
}

/* The largest clock of a table of lines "1: 2100Mhz *"; -1: unknown. */
static int largest_clock(const char *sys, const char *device, const char *table)
{
    AUTO_FREE char *text = sysfs_read(sys, "%s/%s", device, table);
    struct str rest = str_of(text);
    int most = -1;

    while (rest.at && rest.size > 0) {
        struct str line = str_cut(&rest, '\n');
        size_t digits = 0;
        int64_t clock = -1;
        AUTO(err_freep) struct err *e = NULL;

        (void)str_cut(&line, ' ');
        while (digits < line.size && line.at[digits] >= '0' && line.at[digits] <= '9')
            digits++;
        e = num_parse_int64((struct str){line.at, digits}, 0, 100000, &clock);
        if (!e && clock > most)
            most = (int)clock;
    }
    return most;
}

/* "gfx942" of 90402: major, minor and stepping in decimal digits, the last two written in hex. */
static void read_compute(const struct amd_gpu *from, struct gpu *g)
{
    unsigned v = from->kfd.gfx;

    if (!from->has_kfd)
        return;
    g->amd.simds = from->kfd.simds;
    g->amd.compute_units = from->kfd.compute_units;
    if (v >= 10000 && v < 1000000)
        (void)snprintf(g->amd.gfx, sizeof(g->amd.gfx), "gfx%u%x%x", v / 10000, v / 100 % 100,
                       v % 100);
    if (from->is_partition)
        g->amd.partition = (int)from->kfd.partition;
}

static void read_partitions(const struct amd *a, const struct amd_gpu *from, struct gpu *g)
{
    (void)sysfs_text(g->amd.compute_partition, sizeof(g->amd.compute_partition), a->sys,
                     "%s/current_compute_partition", from->device);
    (void)sysfs_text(g->amd.memory_partition, sizeof(g->amd.memory_partition), a->sys,
                     "%s/current_memory_partition", from->device);
}

/* Adds /dev/kfd, the node of the compute driver, which all gpus share. */
static void add_kfd(const struct amd *a, struct gpu *g)
{
    struct gpu_node *n = &g->nodes[g->n_nodes];
    char text[32];
    struct str rest = {0};
    int64_t major = -1;
    int64_t minor = -1;
    AUTO(err_freep) struct err *e = NULL;
    AUTO(err_freep) struct err *of_minor = NULL;

    if (!sysfs_text(text, sizeof(text), a->sys, "class/kfd/kfd/dev"))
        return;
    rest = str_of(text);
    e = num_parse_int64(str_cut(&rest, ':'), 0, INT32_MAX, &major);
    of_minor = num_parse_int64(rest, 0, INT32_MAX, &minor);
    if (e || of_minor)
        return;
    *n = (struct gpu_node){.path = "/dev/kfd", .major = (int)major, .minor = (int)minor};
    g->n_nodes++;
}

static struct err *amd_read(void *state, unsigned index, struct gpu *ret)
{
    struct amd *a = state;
    struct amd_gpu *from = &a->gpus[index];
    struct gpu g = GPU_UNKNOWN((int)index);

    g.vendor = GPU_AMD;
    if (!sysfs_read_pci(a->sys, from->device, &g))
        return err_new(ERR_UNAVAILABLE, "amdgpu: card%u is gone", from->card.card);
    if (from->has_kfd)
        (void)snprintf(g.pci, sizeof(g.pci), "%s", from->kfd.pci);
    else
        (void)sysfs_link(g.pci, sizeof(g.pci), a->sys, "%s", from->device);
    g.minor = from->card.render >= 0 ? from->card.render : (int)from->card.card;
    read_uuid(a, from, &g);
    read_product(a, from, &g);
    read_compute(from, &g);
    read_partitions(a, from, &g);
    g.memory_bytes = amd_memory(a->sys, from);
    (void)sysfs_text(g.serial, sizeof(g.serial), a->sys, "%s/serial_number", from->device);
    (void)sysfs_text(g.driver_version, sizeof(g.driver_version), a->sys, "module/amdgpu/version");
    g.power_limit_mw = sysfs_power_limit(a->sys, from->device);
    g.sm_clock_max_mhz = largest_clock(a->sys, from->device, "pp_dpm_sclk");
    g.memory_clock_max_mhz = largest_clock(a->sys, from->device, "pp_dpm_mclk");
    add_kfd(a, &g);
    sysfs_add_nodes(&from->card, &g);
    memcpy(from->uuid, g.uuid, sizeof(from->uuid));
    *ret = g;
    return NULL;
}

static bool amd_are_linked(void *state, unsigned a, unsigned b)
{
    const struct amd *all = state;
    const struct kfd_node *x = &all->gpus[a].kfd;
    const struct kfd_node *y = &all->gpus[b].kfd;

    return x->hive != 0 && x->hive == y->hive;
}

static void amd_connection(void *state, unsigned a, unsigned b, char ret[GPU_CONNECTION_SIZE])
{
    (void)snprintf(ret, GPU_CONNECTION_SIZE, "%s", amd_are_linked(state, a, b) ? "XGMI" : "");
}

/* The errors of one kind that the board's memories and engines counted since the driver was loaded:
 * files of lines "ue: 0" and "ce: 0". */
static int64_t count_errors(const struct amd *a, const char *device, const char *kind)
{
    static const char ending[] = "_err_count";
    AUTO_FREE char *dir = mem_format("%s/%s/ras", a->sys, device);
    AUTO(err_freep) struct err *e = NULL;
    char **names = NULL;
    size_t n = 0;
    int64_t total = -1;

    e = dir_list(dir, &names, &n);
    for (size_t i = 0; !e && i < n; i++) {
        AUTO_FREE char *text = text_ends_with(names[i], ending)
                                   ? sysfs_read(a->sys, "%s/ras/%.64s", device, names[i])
                                   : NULL;
        uint64_t count = sysfs_property(text, kind, UINT64_MAX);

        if (count < INT32_MAX)
            total = (total < 0 ? 0 : total) + (int64_t)count;
    }
    names_free(names, n);
    return total;
}

/* What is the board's, and no single partition's. */
static void sample_board(const struct amd *a, const struct amd_gpu *from, struct gpu_sample *s)
{
    const char *device = from->device;

    sysfs_read_sensors(a->sys, device, s);
    s->value[GPU_FIELD_UTILIZATION_PCT] = sysfs_number(a->sys, "%s/gpu_busy_percent", device);
    s->value[GPU_FIELD_MEMORY_UTILIZATION_PCT] =
        sysfs_number(a->sys, "%s/mem_busy_percent", device);
    s->value[GPU_FIELD_PCIE_REPLAYS] = sysfs_number(a->sys, "%s/pcie_replay_count", device);
    s->value[GPU_FIELD_ECC_CORRECTED] = count_errors(a, device, "ce:");
    s->value[GPU_FIELD_ECC_UNCORRECTED] = count_errors(a, device, "ue:");
    if (s->value[GPU_FIELD_MEMORY_USED_BYTES] < 0)
        s->value[GPU_FIELD_MEMORY_USED_BYTES] =
            sysfs_number(a->sys, "%s/mem_info_vram_used", device);
    if (s->value[GPU_FIELD_ENERGY_MJ] < 0 && from->has_kfd)
        s->value[GPU_FIELD_ENERGY_MJ] = rocm_smi_energy_mj(a->smi, from->kfd.pci);
}

/* The processes that KFD lists: those that compute, with their video memory on each gpu. */
static void list_processes(const struct amd *a, const struct amd_gpu *from, struct gpu_reading *ret)
{
    AUTO_FREE char *dir = mem_format("%s/" PROCESSES, a->sys);
    AUTO(err_freep) struct err *e = NULL;
    char **names = NULL;
    size_t n = 0;

    e = dir_list(dir, &names, &n);
    for (size_t i = 0; !e && i < n && ret->n_processes < GPU_PROCESSES_MAX; i++) {
        int64_t pid = 0;
        AUTO(err_freep)
        struct err *other = num_parse_int64(str_of(names[i]), 1, INT32_MAX, &pid);
        int64_t bytes = other ? -1
                              : sysfs_number(a->sys, PROCESSES "/%" PRId64 "/vram_%" PRId64, pid,
                                             from->kfd.gpu_id);

        if (bytes > 0)
            ret->processes[ret->n_processes++] = (struct gpu_process){
                .pid = (unsigned)pid, .slice = -1, .memory_bytes = bytes, .sm_milli = -1};
    }
    names_free(names, n);
    if (!e)
        ret->gpu.value[GPU_FIELD_PROCESSES] = (int64_t)ret->n_processes;
}

static struct err *amd_sample(void *state, unsigned index, struct gpu_reading *ret)
{
    const struct amd *a = state;
    const struct amd_gpu *from = &a->gpus[index];
    struct gpu_sample s = sysfs_sample(from->uuid);

    if (sysfs_number(a->sys, "%s/vendor", from->device) != AMD_PCI)
        return err_new(ERR_UNAVAILABLE, "amdgpu: card%u is gone", from->card.card);
    s.value[GPU_FIELD_MEMORY_USED_BYTES] =
        from->has_kfd ? kfd_memory(a->sys, from->kfd.number, true) : -1;
    if (!from->is_partition)
        sample_board(a, from, &s);
    ret->gpu = s;
    ret->n_slices = 0;
    ret->n_processes = 0;
    if (from->has_kfd && from->kfd.gpu_id > 0)
        list_processes(a, from, ret);
    return NULL;
}

static void amd_free(void *state)
{
    struct amd *a = state;

    if (a)
        rocm_smi_free(a->smi);
    free(a);
}

void *amd_reader_new(const char *sys, const char *library)
{
    struct amd *a = mem_alloc(sizeof(*a));

    a->sys = sys;
    a->library = library;
    return a;
}

const struct gpu_reader_type gpu_reader_amd = {
    .count = amd_count,
    .read = amd_read,
    .are_linked = amd_are_linked,
    .connection = amd_connection,
    .sample = amd_sample,
    .free = amd_free,
};
