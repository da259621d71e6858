/* kind_slurmconfig.c - mete.dev/v1 SlurmConfig: what slurm.conf says, but for the partitions */

#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"

enum {
    TEXT_MAX = 4096,
    LINE_MAX_BYTES = 65536,
    KEYS_MAX = 1024,
    LINES_MAX = 65536
};

static const struct field setting_item =
    F(NULL, FIELD_STRING, "The value of a key.", .size_max = LINE_MAX_BYTES);

static const struct field node_fields[] = {
    F_STRING("names", "The nodes, as a hostlist.", .is_required = true, .size_max = LINE_MAX_BYTES),
    F_INT("cpus", "The cpus that jobs may have; absent: all.", .min = 0, .max = 1 << 20),
    F_QUANTITY("memory", "The memory that jobs may have; absent: all."),
    F_INT("sockets", "The sockets.", .min = 0, .max = 1 << 12),
    F_INT("coresPerSocket", "The cores of a socket.", .min = 0, .max = 1 << 12),
    F_INT("threadsPerCore", "The cpus of a core.", .min = 0, .max = 1 << 6),
    F_INT("specCores", "The cores that jobs may not have.", .min = 0, .max = 1 << 20),
    F_QUANTITY("specMemory", "The memory that jobs may not have."),
    F_STRING("gres", "The generic resources that the nodes must have.", .size_max = TEXT_MAX),
    F_LIST("features", &string_item, "Features, each a label of the nodes.", .items_max = 4096),
    F_INT("weight", "Jobs go to nodes of lower weight first.", .min = 0, .max = UINT32_MAX),
    F_STRING("state", "The state at the start, as in slurm.conf.", .size_max = 64),
    F_STRING("reason", "The reason of the state.", .size_max = TEXT_MAX),
    F_STRING("switches", "The switches above the nodes, the widest first: core/rack1.",
             .size_max = TEXT_MAX),
    F_END,
};
static const struct field node_item =
    F(NULL, FIELD_OBJECT, "Nodes of one line.", .fields = node_fields);

static const struct field gres_fields[] = {
    F_STRING("names", "The nodes, as a hostlist; absent: all nodes.", .size_max = LINE_MAX_BYTES),
    F_STRING("name", "gpu, shard or mps.", .is_required = true, .size_max = 64),
    F_STRING("type", "A name for the gpus, a MIG profile, or both: h100, 1g.10gb, a100_1g.5gb.",
             .size_max = 256),
    F_INT("count", "The number of them.", .min = 0, .max = INT64_C(1) << 50),
    F_STRING("gpus", "The gpus that the line is about, as \"0-3,7\"; absent: any.",
             .size_max = TEXT_MAX),
    F_END,
};
static const struct field gres_item =
    F(NULL, FIELD_OBJECT, "One line of gres.conf.", .fields = gres_fields);

static const struct field spec_fields[] = {
    F_MAP("settings", &setting_item, "The values of keys that Mete heeds, by Slurm's names.",
          .items_max = KEYS_MAX),
    F_LIST("nodes", &node_item, "The nodes.", .items_max = LINES_MAX),
    F_LIST("gres", &gres_item, "The generic resources of nodes, from gres.conf.",
           .items_max = LINES_MAX),
    F_INT("reread", "Raise it: the server reads the files again.", .min = 0, .max = INT64_MAX),
    F_END,
};

static const struct field status_fields[] = {
    F_INT("read", "The value of spec.reread at the last reading."),
    F_TIME("readTime", "The time of the last reading on request."),
    F_STRING("problem", "The reason why the files were not taken.", .size_max = TEXT_MAX * 2),
    F_END,
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", spec_fields, "The settings.", .fallback = "{}"),
    F_OBJECT("status", status_fields, "The last reading of the files."),
    F_END,
};

const struct kind kind_slurmconfig = {
    .group = "mete.dev",
    .version = "v1",
    .api_version = "mete.dev/v1",
    .kind = "SlurmConfig",
    .plural = "slurmconfigs",
    .singular = "slurmconfig",
    .has_status = true,
    .fields = fields,
    .doc = "What the configuration files of Slurm say, but for the partitions. Mete reads one "
           "object, \"default\".",
};
