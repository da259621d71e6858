/* kind_slurmconfig.c - mete.dev/v1 SlurmConfig: what slurm.conf says, but for the partitions */

#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/slurm/slurm_rules.h"

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

static const struct field set_fields[] = {
    F_STRING("account", "The account.", .size_max = TEXT_MAX),
    F_STRING("partition", "The partitions, with commas.", .size_max = TEXT_MAX),
    F_STRING("qos", "The quality of service.", .size_max = TEXT_MAX),
    F_STRING("reservation", "The reservation.", .size_max = TEXT_MAX),
    F_STRING("licenses", "NAME[:COUNT], with commas.", .size_max = TEXT_MAX),
    F_STRING("constraint", "The features that nodes must have.", .size_max = TEXT_MAX),
    F_STRING("comment", "A free text.", .size_max = TEXT_MAX),
    F_STRING("wckey", "The workload characterization key.", .size_max = TEXT_MAX),
    F_INT("timeLimitMinutes", "The time limit.", .min = 1, .max = INT32_MAX),
    F_INT("nice", "Lowers the priority.", .min = -2147483645, .max = 2147483645),
    F_BOOL("requeue", "Whether the job may be requeued."),
    F_END,
};

static const struct field rule_fields[] = {
    F_STRING("when", "A condition in CEL on `job`.", .is_required = true, .size_max = TEXT_MAX),
    F_OBJECT("set", set_fields, "Members that such a job gets."),
    F_STRING("refuse", "The text with which such a job is refused.", .size_max = TEXT_MAX),
    F_END,
};
static const struct field rule_item =
    F(NULL, FIELD_OBJECT, "A rule for new jobs.", .fields = rule_fields);

static const struct field spec_fields[] = {
    F_MAP("settings", &setting_item, "The values of keys that Mete heeds, by Slurm's names.",
          .items_max = KEYS_MAX),
    F_LIST("nodes", &node_item, "The nodes.", .items_max = LINES_MAX),
    F_LIST("gres", &gres_item, "The generic resources of nodes, from gres.conf.",
           .items_max = LINES_MAX),
    F_LIST("submitRules", &rule_item, "Rules for new jobs, in their order.", .items_max = 256),
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

static void slurmconfig_validate(const json_t *object, struct causes *causes)
{
    const json_t *rules = json_at(object, "spec", "submitRules", NULL);
    const struct path *at = PATH(PATH(NULL, "spec"), "submitRules");

    for (size_t i = 0; i < json_array_size(rules); i++) {
        const char *when = json_text(json_array_get(rules, i), "when");

        if (when)
            cause_take(causes, PATH(PATH_INDEX(at, i), "when"), when, slurm_rule_check(when));
    }
}

const struct kind kind_slurmconfig = {
    .group = "mete.dev",
    .version = "v1",
    .api_version = "mete.dev/v1",
    .kind = "SlurmConfig",
    .plural = "slurmconfigs",
    .singular = "slurmconfig",
    .has_status = true,
    .fields = fields,
    .validate = slurmconfig_validate,
    .doc = "What the configuration files of Slurm say, but for the partitions. Mete reads one "
           "object, \"default\".",
};
