/*
 * intel_linux.c - Intel's gpus by sysfs
 *
 * A gpu belongs to the kernel's driver i915 or xe, and pods request it by the driver's name. Gpus
 * that are a part of the CPU are not listed. Sysfs has no id of a
 * board: the gpu's id is its PCI slot.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "gpu/gpu_readers.h"
#include "gpu/level_zero.h"
#include "gpu/sysfs.h"

#define INTEL_PCI 0x8086

enum {
    INTEL_GPUS_MAX = 64,
    LOCAL_BAR = 2 /* the PCI resource that shows the gpu's own memory */
};

/* The slot of a gpu that is a part of the CPU. */
#define CPU_SLOT "0000:00:02.0"

/* A smaller PCI resource is a window, not the whole memory. */
#define MEMORY_LEAST (INT64_C(2) << 30)

struct intel_gpu {
    struct sysfs_card card;
    enum gpu_vendor vendor;
    char pci[16];
    char uuid[GPU_TEXT_SIZE];
    int64_t memory_bytes;
};

struct intel {
    const char *sys;
    const char *library;
    struct level_zero *zero; /* opened with the first gpu; NULL: not there */
    bool is_zero_tried;
    struct intel_gpu gpus[INTEL_GPUS_MAX];
    unsigned n;
};

/* Products by their PCI device. */
static const struct {
    int64_t device;
    const char *name;
} products[] = {
    {0x0bd5, "Intel Data Center GPU Max 1550"},
    {0x0bda, "Intel Data Center GPU Max 1100"},
    {0x56c0, "Intel Data Center GPU Flex 170"},
    {0x56c1, "Intel Data Center GPU Flex 140"},
    {0xe20b, "Intel Arc B580"},
    {0x56a0, "Intel Arc A770"},
};

static bool find_vendor(const char *driver, enum gpu_vendor *ret)
{
    *ret = text_equal(driver, "xe") ? GPU_INTEL_XE : GPU_INTEL_I915;
    return text_equal(driver, "xe") || text_equal(driver, "i915");
}

/* The size of a PCI resource: the line "0xSTART 0xEND 0xFLAGS" with its number; 0: unknown. */
static int64_t bar_size(const char *sys, const char *device)
{
    AUTO_FREE char *text = sysfs_read(sys, "%s/resource", device);
    struct str rest = str_of(text);
    struct str line = {0};
    struct str start;
    struct str end;
    uint64_t first = 0;
    uint64_t last = 0;
    AUTO(err_freep) struct err *e = NULL;
    AUTO(err_freep) struct err *of_last = NULL;

    for (int i = 0; rest.at && i <= LOCAL_BAR; i++)
        line = str_cut(&rest, '\n');
    start = str_cut(&line, ' ');
    end = str_cut(&line, ' ');
    if (!str_starts_with(start, STR("0x")) || !str_starts_with(end, STR("0x")))
        return 0;
    e = num_parse_hex((struct str){start.at + 2, start.size - 2}, &first);
    of_last = num_parse_hex((struct str){end.at + 2, end.size - 2}, &last);
    return e || of_last || last <= first || last - first >= INT64_MAX ? 0
                                                                      : (int64_t)(last - first) + 1;
}

/* The gpu's own memory: as Intel's i915 tells it, else the size of the PCI resource; -1: unknown.
 */
static int64_t intel_memory(const char *sys, const struct sysfs_card *card)
{
    int64_t bytes = sysfs_number(sys, "class/drm/card%u/lmem_total_bytes", card->card);

    if (bytes <= 0)
        bytes = bar_size(sys, card->device);
    return bytes >= MEMORY_LEAST ? bytes : -1;
}

static bool find_gpu(const char *sys, const struct sysfs_card *card, struct intel_gpu *ret)
{
    struct intel_gpu g = {.card = *card, .memory_bytes = intel_memory(sys, card)};
    char driver[16];

    if (card->vendor != INTEL_PCI ||
        !sysfs_link(driver, sizeof(driver), sys, "%s/driver", card->device) ||
        !find_vendor(driver, &g.vendor) ||
        !sysfs_link(g.pci, sizeof(g.pci), sys, "%s", card->device) || text_equal(g.pci, CPU_SLOT))
        return false;
    (void)snprintf(g.uuid, sizeof(g.uuid), "GPU-intel-%s", g.pci);
    for (char *at = g.uuid; *at; at++)
        if (*at == ':' || *at == '.')
            *at = '-';
    *ret = g;
    /* A physical function that has virtual ones computes nothing itself. */
    return sysfs_number(sys, "%s/sriov_numvfs", card->device) <= 0;
}

static struct err *intel_count(void *state, unsigned *ret)
{
    struct intel *t = state;
    AUTO_FREE struct sysfs_card *cards = mem_alloc(SYSFS_CARDS_MAX * sizeof(*cards));
    size_t n_cards = sysfs_cards(t->sys, cards);

    t->n = 0;
    for (size_t i = 0; i < n_cards && t->n < INTEL_GPUS_MAX; i++)
        t->n += find_gpu(t->sys, &cards[i], &t->gpus[t->n]);
    if (t->n > 0 && !t->is_zero_tried && (!t->library || t->library[0]))
        t->zero = level_zero_open(t->library);
    t->is_zero_tried = t->is_zero_tried || t->n > 0;
    *ret = t->n;
    return NULL;
}

static void read_product(struct gpu *g)
{
    int64_t device = g->pci_device >= 0 ? g->pci_device >> 16 : 0;

    (void)snprintf(g->product, sizeof(g->product), "Intel GPU 0x%04" PRIx64, (uint64_t)device);
    for (size_t i = 0; i < COUNT(products); i++)
        if (products[i].device == device)
            (void)snprintf(g->product, sizeof(g->product), "%s", products[i].name);
    gpu_model_of(g->product, g->model);
}

static struct err *intel_read(void *state, unsigned index, struct gpu *ret)
{
    const struct intel *t = state;
    const struct intel_gpu *from = &t->gpus[index];
    struct gpu g = GPU_UNKNOWN((int)index);
    int64_t used_bytes = 0;

    g.vendor = from->vendor;
    if (!sysfs_read_pci(t->sys, from->card.device, &g))
        return err_new(ERR_UNAVAILABLE, "card%u is gone", from->card.card);
    memcpy(g.pci, from->pci, sizeof(from->pci));
    memcpy(g.uuid, from->uuid, sizeof(g.uuid));
    g.minor = from->card.render >= 0 ? from->card.render : (int)from->card.card;
    g.memory_bytes = from->memory_bytes;
    (void)level_zero_memory(t->zero, from->pci, &g.memory_bytes, &used_bytes);
    g.power_limit_mw = sysfs_power_limit(t->sys, from->card.device);
    read_product(&g);
    sysfs_add_nodes(&from->card, &g);
    *ret = g;
    return NULL;
}

static bool intel_are_linked(void *state, unsigned a, unsigned b)
{
    (void)state; /* sysfs does not tell Xe Link */
    (void)a;
    (void)b;
    return false;
}

static void intel_connection(void *state, unsigned a, unsigned b, char ret[GPU_CONNECTION_SIZE])
{
    (void)state;
    (void)a;
    (void)b;
    ret[0] = '\0';
}

/* Use and memory in use are not in sysfs: Level Zero tells them. */
static struct err *intel_sample(void *state, unsigned index, struct gpu_reading *ret)
{
    const struct intel *t = state;
    const struct intel_gpu *from = &t->gpus[index];
    struct gpu_sample s = sysfs_sample(from->uuid);
    int64_t total_bytes = 0;

    if (sysfs_number(t->sys, "%s/vendor", from->card.device) != INTEL_PCI)
        return err_new(ERR_UNAVAILABLE, "card%u is gone", from->card.card);
    sysfs_read_sensors(t->sys, from->card.device, &s);
    (void)level_zero_memory(t->zero, from->pci, &total_bytes,
                            &s.value[GPU_FIELD_MEMORY_USED_BYTES]);
    s.value[GPU_FIELD_UTILIZATION_PCT] = level_zero_busy(t->zero, from->pci);
    if (s.value[GPU_FIELD_SM_CLOCK_MHZ] < 0)
        s.value[GPU_FIELD_SM_CLOCK_MHZ] =
            sysfs_number(t->sys, "class/drm/card%u/gt_act_freq_mhz", from->card.card);
    ret->gpu = s;
    ret->n_slices = 0;
    ret->n_processes = 0;
    return NULL;
}

static void intel_free(void *state)
{
    struct intel *t = state;

    if (t)
        level_zero_free(t->zero);
    free(t);
}

void *intel_reader_new(const char *sys, const char *library)
{
    struct intel *t = mem_alloc(sizeof(*t));

    t->sys = sys;
    t->library = library;
    return t;
}

const struct gpu_reader_type gpu_reader_intel = {
    .count = intel_count,
    .read = intel_read,
    .are_linked = intel_are_linked,
    .connection = intel_connection,
    .sample = intel_sample,
    .free = intel_free,
};
