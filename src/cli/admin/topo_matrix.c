/* topo_matrix.c - the matrix of connections between the gpus of a node, as nvidia-smi shows it */

#include "cli/admin/topo_matrix.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/term/output.h"
#include "model/gpu_peers.h"

/* The meanings of the names of connections; a name that ends in a digit is a count of NVLinks. */
static const char *const matrix_words[][2] = {
    {"NV", "NV# = # NVLinks"},
    {"PIX", "PIX = one PCIe switch"},
    {"PXB", "PXB = several PCIe switches"},
    {"PHB", "PHB = a PCIe host bridge"},
    {"NODE", "NODE = within a NUMA node"},
    {"SYS", "SYS = between NUMA nodes"},
};

static int64_t index_of(const json_t *gpu)
{
    return json_int_at(gpu, "spec", "index", NULL);
}

/* False: unknown. */
static bool connection_of(const json_t *gpu, int64_t other, char ret[GPU_CONNECTION_SIZE])
{
    const char *peers = json_text_at(gpu, "spec", "peers", NULL);

    return peers && other >= 0 && gpu_peers_find(peers, (size_t)other, ret);
}

json_t *topo_connections(const json_t *gpu, const json_t *gpus)
{
    json_t *o = NULL;

    for (size_t i = 0; i < json_array_size(gpus); i++) {
        int64_t other = index_of(json_array_get(gpus, i));
        char name[GPU_CONNECTION_SIZE];
        char key[24];

        if (!connection_of(gpu, other, name))
            continue;
        o = o ? o : json_object();
        (void)snprintf(key, sizeof(key), "%" PRId64, other);
        json_put_text(o, key, name);
    }
    return o;
}

static void matrix_columns(struct listing *l, const json_t *gpus)
{
    static const char *const more[] = {"CPU AFFINITY",  "NUMA AFFINITY",    "!#LINKS",
                                       "!#TO NVSWITCH", "!NVSWITCH FABRIC", "!NVLINK DOMAIN"};

    listing_column(l, "GPU");
    for (size_t i = 0; i < json_array_size(gpus); i++) {
        AUTO_FREE char *name = mem_format("GPU%" PRId64, index_of(json_array_get(gpus, i)));

        listing_column(l, name);
    }
    for (size_t i = 0; i < COUNT(more); i++)
        listing_column(l, more[i]);
}

/* A member of the gpu's spec, or null. New reference. */
static json_t *matrix_cell(const json_t *gpu, const char *key)
{
    json_t *value = json_at(gpu, "spec", key, NULL);

    return value ? json_incref(value) : json_null();
}

static json_t *matrix_row(const json_t *gpu, const json_t *gpus)
{
    static const char *const more[] = {"cpus",        "numaNode", "links",
                                       "switchLinks", "fabric",   "clique"};
    AUTO_FREE char *name = mem_format("GPU%" PRId64, index_of(gpu));
    json_t *row = json_array();

    (void)json_array_append_new(row, json_string(name));
    for (size_t i = 0; i < json_array_size(gpus); i++) {
        const json_t *other = json_array_get(gpus, i);
        char text[GPU_CONNECTION_SIZE] = "";
        bool is_known = connection_of(gpu, index_of(other), text);

        (void)json_array_append_new(row, other == gpu ? json_string("X")
                                                      : json_text_new(is_known ? text : NULL));
    }
    for (size_t i = 0; i < COUNT(more); i++)
        (void)json_array_append_new(row, matrix_cell(gpu, more[i]));
    return row;
}

static json_t *matrix_object(const json_t *gpu, const json_t *gpus)
{
    static const char *const members[] = {"node",     "index", "uuid",        "pci",    "cpus",
                                          "numaNode", "links", "switchLinks", "fabric", "clique"};
    json_t *connections = topo_connections(gpu, gpus);
    json_t *o = json_object();
    json_t *spec;

    json_put_text(o, "apiVersion", "mete.dev/v1");
    json_put_text(o, "kind", "GpuTopology");
    json_put_text(json_object_at(o, "metadata"), "name", json_text_at(gpu, "spec", "uuid", NULL));
    spec = json_object_at(o, "spec");
    for (size_t i = 0; i < COUNT(members); i++)
        json_put(spec, members[i], matrix_cell(gpu, members[i]));
    json_put(spec, "connections", connections ? connections : json_null());
    return o;
}

/* Tells what the names mean that are in the matrix. */
static void matrix_tell(struct cli *c, const json_t *gpus)
{
    AUTO(buf_done) struct buf b = {0};

    for (size_t w = 0; w < COUNT(matrix_words); w++) {
        bool is_there = false;

        for (size_t i = 0; i < json_array_size(gpus); i++) {
            const char *peers = json_text_at(json_array_get(gpus, i), "spec", "peers", NULL);

            is_there = is_there || (peers && strstr(peers, matrix_words[w][0]));
        }
        if (is_there)
            buf_printf(&b, "%s%s", b.size > 0 ? ", " : "", matrix_words[w][1]);
    }
    if (b.size > 0)
        cli_say(c, "%s", b.at);
}

struct err *topo_matrix_print(struct cli *c, const char *node, const json_t *gpus)
{
    enum output_format format = output_format_of(c->in);
    struct listing l;
    struct err *e;

    if (json_array_size(gpus) == 0)
        return err_new(ERR_NOT_FOUND, "node %s has no gpus", node);
    listing_init(&l, "GpuTopologyList");
    l.api_version = "mete.dev/v1";
    l.prefix = "gpu";
    matrix_columns(&l, gpus);
    for (size_t i = 0; i < json_array_size(gpus); i++) {
        const json_t *gpu = json_array_get(gpus, i);
        AUTO(json_freep) json_t *object = matrix_object(gpu, gpus);

        listing_add(&l, matrix_row(gpu, gpus), object);
    }
    e = listing_print(c, &l);
    listing_done(&l);
    if (!e && (format == OUTPUT_TABLE || format == OUTPUT_WIDE))
        matrix_tell(c, gpus);
    return e;
}
