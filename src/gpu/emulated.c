/* emulated.c - known boards, profiles, and the wiring of emulated gpus */

#include "gpu/emulated.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/fnv.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/yaml.h"
#include "gpu/gpusim_machine.h"
#include "gpu/gpusim_mig.h"
#include "gpu/nvml_abi.h"
#include "model/quantity.h"

#define MIB (INT64_C(1) << 20)

enum links {
    LINKS_NONE,
    LINKS_PAIRS,
    LINKS_SWITCH
};

/* The properties of a model's board, from vendors' data sheets and nvidia-smi output. */
struct board {
    const char *model;
    const char *name;
    int64_t memory_mib;
    int64_t reserved_mib;
    int compute_major;
    int compute_minor;
    int architecture;
    uint32_t pci_device_id;
    enum links links;
    unsigned link_count;
    unsigned numa_nodes;
    unsigned power_limit_w;
    unsigned sm_clock_mhz;
    unsigned memory_clock_mhz;
    unsigned multiprocessors;
    unsigned memory_bus_bits;
};

/* The connections between the gpus of a group and the machine. */
struct wiring {
    unsigned per_pcie[3]; /* gpus that share a PCIe switch, a root port, a host bridge */
    unsigned cpus;        /* of a NUMA node */
    const char *clique;   /* "CLUSTER-UUID.CLIQUE"; NULL: an NVLink domain of this machine alone */
};

enum {
    CPUS_OF_NODE = 32,
    FABRIC_ARCHITECTURE = 9 /* the first whose driver reports the fabric */
};

static const struct wiring usual_wiring = {.per_pcie = {1, 1, 1}, .cpus = CPUS_OF_NODE};

static const struct board boards[] = {
    {"B200", "NVIDIA B200", 183359, 637, 10, 0, 10, 0x290110de, LINKS_SWITCH, 18, 2, 1000, 1965,
     3996, 148, 8192},
    {"H200", "NVIDIA H200", 143771, 587, 9, 0, 9, 0x233510de, LINKS_SWITCH, 18, 2, 700, 1980, 3201,
     132, 6144},
    {"H100", "NVIDIA H100 80GB HBM3", 81559, 558, 9, 0, 9, 0x233010de, LINKS_SWITCH, 18, 2, 700,
     1980, 2619, 132, 5120},
    {"A100", "NVIDIA A100-SXM4-80GB", 81920, 634, 8, 0, 7, 0x20b210de, LINKS_SWITCH, 12, 2, 400,
     1410, 1593, 108, 5120},
    {"A100-40GB", "NVIDIA A100-SXM4-40GB", 40960, 618, 8, 0, 7, 0x20b010de, LINKS_SWITCH, 12, 2,
     400, 1410, 1215, 108, 5120},
    {"A30", "NVIDIA A30", 24576, 437, 8, 0, 7, 0x20b710de, LINKS_NONE, 0, 2, 165, 1440, 1215, 56,
     3072},
    {"RTXPRO6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, 637, 12, 0, 10,
     0x2bb510de, LINKS_NONE, 0, 2, 600, 2430, 12481, 188, 512},
    {"L40S", "NVIDIA L40S", 46068, 627, 8, 9, 8, 0x26b910de, LINKS_NONE, 0, 2, 350, 2520, 9001, 142,
     384},
    {"L4", "NVIDIA L4", 23034, 586, 8, 9, 8, 0x27b810de, LINKS_NONE, 0, 1, 72, 2040, 6251, 58, 192},
    {"A10", "NVIDIA A10", 23028, 515, 8, 6, 7, 0x223610de, LINKS_NONE, 0, 1, 150, 1695, 6251, 72,
     384},
    {"V100", "Tesla V100-SXM2-32GB", 32768, 338, 7, 0, 5, 0x1db510de, LINKS_PAIRS, 6, 2, 300, 1530,
     877, 80, 4096},
    {"T4", "Tesla T4", 15360, 449, 7, 5, 6, 0x1eb810de, LINKS_NONE, 0, 1, 70, 1590, 5001, 40, 256},
};

enum {
    BOARDS = COUNT(boards)
};

static const struct board *board_find(const char *model)
{
    for (size_t i = 0; i < BOARDS; i++) {
        if (strcasecmp(boards[i].model, model) == 0)
            return &boards[i];
    }
    return NULL;
}

static struct err *unknown_model(const char *model)
{
    AUTO_FREE char *list = NULL;
    struct buf names = {0};

    for (size_t i = 0; i < BOARDS; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", boards[i].model);
    list = buf_steal(&names);
    return err_new(ERR_INVALID, "gpu model '%s' is not known: want one of %s", model, list);
}

/* The hash has its upper bits mixed: UUIDs have to differ, but need no secrecy. */
static uint64_t hash_text(const char *text, uint64_t salt)
{
    uint64_t h = fnv_text(FNV_START ^ (salt * UINT64_C(0x9e3779b97f4a7c15)), text);

    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ (h >> 32);
}

static void uuid_of(const char *seed, unsigned index, char out[96])
{
    uint64_t a = hash_text(seed, index * 2 + 1);
    uint64_t b = hash_text(seed, index * 2 + 2);

    (void)snprintf(out, 96, "GPU-%08x-%04x-4%03x-8%03x-%012llx", (unsigned)(a >> 32),
                   (unsigned)(a >> 16) & 0xffffu, (unsigned)a & 0xfffu,
                   (unsigned)(b >> 48) & 0xfffu,
                   (unsigned long long)(b & UINT64_C(0xffffffffffff)));
}

static void add_gpu(struct gpusim_machine *m, const struct board *b, const char *seed)
{
    unsigned index = m->n_gpus;
    struct gpusim_gpu *g = &m->gpus[index];

    *g = (struct gpusim_gpu){
        .pci_device_id = b->pci_device_id,
        .pci_subsystem_id = b->pci_device_id,
        .minor = (int32_t)index,
        .compute_major = b->compute_major,
        .compute_minor = b->compute_minor,
        .architecture = b->architecture,
        .memory_bytes = (uint64_t)(b->memory_mib * MIB),
        .memory_reserved_bytes = (uint64_t)(b->reserved_mib * MIB),
        .context_bytes = (uint64_t)((b->compute_major >= 9 ? 520 : 300) * MIB),
        .multiprocessors = b->multiprocessors,
        .memory_bus_bits = b->memory_bus_bits,
        .power_limit_mw = b->power_limit_w * 1000,
        .sm_clock_max_mhz = b->sm_clock_mhz,
        .memory_clock_max_mhz = b->memory_clock_mhz,
        .temperature_c = 30 + index % 4,
        .power_mw = b->power_limit_w * 100,
        .sm_clock_mhz = b->sm_clock_mhz / 5,
        .memory_clock_mhz = b->memory_clock_mhz,
    };
    uuid_of(seed, index, g->uuid);
    (void)snprintf(g->name, sizeof(g->name), "%s", b->name);
    (void)snprintf(g->serial, sizeof(g->serial), "16%011llu",
                   (unsigned long long)(hash_text(seed, index + 100) % UINT64_C(100000000000)));
    (void)snprintf(g->pci, sizeof(g->pci), "00000000:%02X:00.0", 0x10u + index * 0x0bu);
    gpusim_mig_fill(g);
    m->order[index] = index;
    m->n_gpus++;
}

/* Reads "CLUSTER-UUID.CLIQUE". */
static struct err *wire_clique(const char *clique, struct gpusim_gpu *g)
{
    struct str number = str_of(clique);
    struct str uuid = str_cut(&number, '.');
    size_t n = 0;
    int64_t value = -1;
    struct err *e = num_parse_int64(number, 0, INT32_MAX, &value);

    for (size_t i = 0; !e && i < uuid.size; i++) {
        uint64_t digit = 0;

        if (uuid.at[i] == '-' && n % 2 == 0)
            continue;
        e = n < 32 ? num_parse_hex((struct str){.at = uuid.at + i, .size = 1}, &digit)
                   : err_new(ERR_INVALID, "too long");
        if (!e)
            g->fabric_cluster[n / 2] |= (uint8_t)(digit << (n % 2 == 0 ? 4 : 0));
        n++;
    }
    if (e || n != 32) {
        err_free(e);
        return err_new(ERR_INVALID, "clique: '%s': want CLUSTER-UUID.NUMBER", clique);
    }
    g->fabric_clique = (uint32_t)value;
    return NULL;
}

/* Sets the NUMA node, the CPUs, the PCIe tree and the fabric of the group's gpu `i` of `n`. */
static struct err *wire_machine(const struct board *b, const struct wiring *w, unsigned i,
                                unsigned n, struct gpusim_gpu *g)
{
    g->numa_node = b->numa_nodes > 1 ? (int32_t)(i * b->numa_nodes / n) : 0;
    g->first_cpu = (uint32_t)g->numa_node * w->cpus;
    g->n_cpus = w->cpus;
    for (unsigned k = 0; k < COUNT(w->per_pcie); k++)
        g->pcie_groups[k] = (uint32_t)g->minor - i + i / w->per_pcie[k];
    if (b->links == LINKS_SWITCH && b->architecture >= FABRIC_ARCHITECTURE)
        g->fabric_state = NVML_FABRIC_COMPLETED;
    return w->clique ? wire_clique(w->clique, g) : NULL;
}

/* Sets the NUMA nodes and links of the gpus from `first` on, a group of equal boards. */
static struct err *wire_group(struct gpusim_machine *m, unsigned first, const struct board *b,
                              const struct wiring *w)
{
    unsigned n = m->n_gpus - first;

    for (unsigned i = 0; i < n; i++) {
        struct gpusim_gpu *g = &m->gpus[first + i];
        unsigned mate = i ^ 1u;

        TRY(wire_machine(b, w, i, n, g));
        if (b->links == LINKS_NONE || n < 2 || (b->links == LINKS_PAIRS && mate >= n))
            continue;
        g->n_links = b->link_count;
        for (unsigned l = 0; l < b->link_count; l++) {
            struct gpusim_link *link = &g->links[l];

            link->is_active = 1;
            link->remote_type =
                b->links == LINKS_SWITCH ? NVML_LINK_REMOTE_SWITCH : NVML_LINK_REMOTE_GPU;
            if (b->links == LINKS_SWITCH)
                (void)snprintf(link->remote_pci, sizeof(link->remote_pci), "00000000:%02X:00.0",
                               0xc0u + l % 4);
            else
                memcpy(link->remote_pci, m->gpus[first + mate].pci, sizeof(link->remote_pci));
        }
    }
    return NULL;
}

static struct err *add_group(struct gpusim_machine *m, const struct board *b,
                             const struct wiring *w, int64_t count, const char *seed)
{
    unsigned first = m->n_gpus;

    if (count < 1 || (uint64_t)count > GPUSIM_GPUS_MAX - m->n_gpus)
        return err_new(ERR_INVALID, "%lld gpus: want 1 to %d on a machine", (long long)count,
                       GPUSIM_GPUS_MAX);
    for (int64_t i = 0; i < count; i++)
        add_gpu(m, b, seed);
    return wire_group(m, first, b, w);
}

static struct err *compile_name(const char *spec, const char *seed, struct gpusim_machine *m)
{
    struct str rest = str_of(spec);
    struct str count_text = str_cut(&rest, 'x');
    const struct board *b;
    int64_t count = 0;

    if (!rest.at)
        return err_new(
            ERR_INVALID,
            "profile '%s': want a count and a model such as 8xH100, or the path of a YAML file",
            spec);
    TRY(num_parse_int64(count_text, 1, GPUSIM_GPUS_MAX, &count));
    b = board_find(rest.at);
    if (!b)
        return unknown_model(rest.at);
    return add_group(m, b, &usual_wiring, count, seed);
}

static struct err *read_links(const json_t *j, struct board *b)
{
    const char *links = json_text(j, "links");

    if (!links)
        return NULL;
    if (strcmp(links, "switch") == 0)
        b->links = LINKS_SWITCH;
    else if (strcmp(links, "pairs") == 0)
        b->links = LINKS_PAIRS;
    else if (strcmp(links, "none") == 0)
        b->links = LINKS_NONE;
    else
        return err_new(ERR_INVALID, "links: '%s': want switch, pairs or none", links);
    return NULL;
}

static struct err *read_memory(const json_t *j, const char *key, int64_t *mib)
{
    struct quantity q = {0};
    const char *text = json_text(j, key);
    struct err *e;

    if (!text)
        return NULL;
    e = quantity_parse(str_of(text), &q);
    if (e)
        return err_wrap(e, "%s", key);
    *mib = quantity_units(q) / MIB;
    if (*mib < 0)
        return err_new(ERR_INVALID, "%s: '%s' is negative", key, text);
    return NULL;
}

static struct err *read_number(const json_t *j, const char *key, int64_t max, unsigned *out)
{
    const json_t *v = json_object_get(j, key);

    if (!v)
        return NULL;
    if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > max)
        return err_new(ERR_INVALID, "%s: want a whole number up to %lld", key, (long long)max);
    *out = (unsigned)json_integer_value(v);
    return NULL;
}

static struct err *read_compute(const json_t *j, struct board *b)
{
    const char *text = json_text(j, "compute");
    struct str rest = str_of(text);
    struct str major;
    int64_t value = 0;

    if (!text)
        return NULL;
    major = str_cut(&rest, '.');
    if (!rest.at)
        return err_new(ERR_INVALID, "compute: '%s': want a quoted version such as \"9.0\"", text);
    TRY(num_parse_int64(major, 1, 99, &value));
    b->compute_major = (int)value;
    TRY(num_parse_int64(rest, 0, 99, &value));
    b->compute_minor = (int)value;
    return NULL;
}

static struct err *known_keys(const json_t *object, const char *const *keys)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        size_t i = 0;

        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (!keys[i])
            return err_new(ERR_INVALID, "'%s' is not a field here: want one of %s, %s, ...", key,
                           keys[0], keys[1]);
    }
    return NULL;
}

static struct err *read_wiring(const json_t *j, struct wiring *w)
{
    static const char *const keys[] = {"gpusPerSwitch", "gpusPerPort", "gpusPerBridge"};

    for (size_t i = 0; i < COUNT(keys); i++) {
        TRY(read_number(j, keys[i], GPUSIM_GPUS_MAX, &w->per_pcie[i]));
        if (w->per_pcie[i] == 0)
            return err_new(ERR_INVALID, "%s: want at least 1", keys[i]);
    }
    w->clique = json_text(j, "clique");
    return read_number(j, "cpusPerNode", 512, &w->cpus);
}

static struct err *compile_group(const json_t *j, const char *seed, struct gpusim_machine *m)
{
    static const char *const keys[] = {
        "count",         "model",       "name",      "memory",     "reserved",      "compute",
        "links",         "linkCount",   "numaNodes", "powerLimit", "gpusPerSwitch", "gpusPerPort",
        "gpusPerBridge", "cpusPerNode", "clique",    NULL};
    struct wiring w = usual_wiring;
    const char *model = json_text(j, "model");
    const struct board *known = model ? board_find(model) : NULL;
    struct board b;

    if (!json_is_object(j))
        return err_new(ERR_INVALID, "want an object with count and model");
    TRY(known_keys(j, keys));
    if (model && !known)
        return unknown_model(model);
    if (!known && (!json_text(j, "name") || !json_text(j, "memory")))
        return err_new(ERR_INVALID, "want a model, or name and memory");
    b = known ? *known
              : (struct board){.compute_major = 9,
                               .architecture = 9,
                               .numa_nodes = 1,
                               .multiprocessors = 100,
                               .memory_bus_bits = 384};
    if (json_text(j, "name"))
        b.name = json_text(j, "name");
    TRY(read_memory(j, "memory", &b.memory_mib));
    TRY(read_memory(j, "reserved", &b.reserved_mib));
    TRY(read_compute(j, &b));
    TRY(read_links(j, &b));
    TRY(read_number(j, "linkCount", GPUSIM_LINKS_MAX, &b.link_count));
    TRY(read_number(j, "numaNodes", 8, &b.numa_nodes));
    TRY(read_number(j, "powerLimit", 10000, &b.power_limit_w));
    if (b.reserved_mib > b.memory_mib)
        return err_new(ERR_INVALID, "reserved is more than memory");
    TRY(read_wiring(j, &w));
    return add_group(m, &b, &w, json_int(j, "count", 1), seed);
}

static struct err *read_versions(const json_t *document, struct gpusim_machine *m)
{
    const char *driver = json_text(document, "driver");
    const char *cuda = json_text(document, "cuda");
    struct str rest = str_of(cuda);
    struct str major;
    int64_t a = 0;
    int64_t b = 0;

    if (driver)
        (void)snprintf(m->driver_version, sizeof(m->driver_version), "%s", driver);
    if (!cuda)
        return NULL;
    major = str_cut(&rest, '.');
    if (!rest.at)
        return err_new(ERR_INVALID, "cuda: '%s': want a quoted version such as \"12.8\"", cuda);
    TRY(num_parse_int64(major, 1, 99, &a));
    TRY(num_parse_int64(rest, 0, 99, &b));
    m->cuda_version = (int32_t)(a * 1000 + b * 10);
    return NULL;
}

static struct err *compile_yaml(const char *path, struct str text, const char *seed,
                                struct gpusim_machine *m)
{
    static const char *const keys[] = {"driver", "gpus", "cuda", NULL};
    AUTO(json_freep) json_t *documents = NULL;
    json_t *document;
    json_t *group;
    size_t i;

    TRY(yaml_parse(path, text, &documents));
    if (json_array_size(documents) != 1 || !json_is_object(json_array_get(documents, 0)))
        return err_new(ERR_INVALID, "want one document with gpus");
    document = json_array_get(documents, 0);
    TRY(known_keys(document, keys));
    TRY(read_versions(document, m));
    json_array_foreach (json_object_get(document, "gpus"), i, group) {
        struct err *e = compile_group(group, seed, m);

        if (e)
            return err_wrap(e, "gpus[%zu]", i);
    }
    if (m->n_gpus == 0)
        return err_new(ERR_INVALID, "gpus: want a list with at least one entry");
    return NULL;
}

struct err *emulated_compile(const char *spec, const struct str *yaml, const char *seed,
                             struct gpusim_machine *ret)
{
    AUTO_FREE struct gpusim_machine *m = mem_alloc(sizeof(*m));
    struct err *e;

    m->magic = GPUSIM_MAGIC;
    m->version = GPUSIM_VERSION;
    m->size = sizeof(*m);
    m->cuda_version = 12080;
    (void)snprintf(m->driver_version, sizeof(m->driver_version), "570.124.06");
    (void)snprintf(m->nvml_version, sizeof(m->nvml_version), "12.570.124.06");
    e = yaml ? compile_yaml(spec, *yaml, seed, m) : compile_name(spec, seed, m);
    if (e)
        return err_wrap(e, "emulated gpus '%s'", spec);
    *ret = *m;
    return NULL;
}
