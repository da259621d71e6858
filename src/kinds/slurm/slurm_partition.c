/* slurm_partition.c - the rules of partitions */

#include "kinds/slurm/slurm_partition.h"

#include <inttypes.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/kind/cause.h"
#include "kinds/slurm/slurm_ask.h"
#include "model/hostlist.h"
#include "model/names.h"
#include "model/quantity.h"
#include "model/slurm_amount.h"

#define MIB (INT64_C(1) << 20)

struct err *slurm_partition_check_name(const char *name)
{
    if (!*name)
        return err_new(ERR_INVALID, "a partition needs a name");
    return name_check_label_value(name);
}

void slurm_partition_validate(const json_t *spec, const struct path *at, struct causes *causes)
{
    const char *nodes = json_text(spec, "nodes");
    int64_t max = json_int(spec, "maxTimeMinutes", INT64_MAX);
    int64_t own = json_int(spec, "defaultTimeMinutes", 0);
    struct hostlist names = {0};

    if (nodes && !slurm_partition_has_all(spec))
        cause_take(causes, PATH(at, "nodes"), nodes,
                   hostlist_parse(str_of(nodes), HOSTLIST_MAX, &names));
    hostlist_done(&names);
    if (own > max)
        cause_invalid_int(causes, PATH(at, "defaultTimeMinutes"), own,
                          "must not be greater than maxTimeMinutes");
}

bool slurm_partition_has_all(const json_t *spec)
{
    const char *nodes = json_text(spec, "nodes");

    return !spec || (nodes && strcasecmp(nodes, "ALL") == 0);
}

json_t *slurm_partition_nodes(const json_t *spec)
{
    AUTO(hostlist_done) struct hostlist names = {0};
    AUTO(err_freep) struct err *e = NULL;
    json_t *nodes;

    if (slurm_partition_has_all(spec))
        return NULL;
    nodes = json_object();
    e = hostlist_parse(str_of(text_or_empty(json_text(spec, "nodes"))), HOSTLIST_MAX, &names);
    VEC_EACH (&names.names, name)
        json_put_bool(nodes, *name, true);
    return nodes;
}

/* ---- access ---- */

/* A list of those who may goes before a list of those who may not. */
static bool is_admitted(const json_t *allowed, const json_t *denied, const char *name)
{
    if (json_array_size(allowed) > 0)
        return name && json_has_text(allowed, name);
    return !name || !json_has_text(denied, name);
}

static bool is_in_groups(const json_t *groups, const struct slurm_submitter *by)
{
    for (size_t i = 0; i < json_array_size(groups); i++)
        if (by->is_member &&
            by->is_member(by->arg, text_or_empty(json_string_value(json_array_get(groups, i)))))
            return true;
    return json_array_size(groups) == 0;
}

static struct err *check_users(const json_t *spec, const struct slurm_submitter *by)
{
    bool is_root = by->uid == 0;

    if (json_bool(spec, "rootOnly", false) && !by->is_admin)
        return err_new(ERR_FORBIDDEN, "Access/permission denied");
    if (json_bool(spec, "disableRootJobs", false) && is_root)
        return err_new(ERR_FORBIDDEN, "Access/permission denied");
    if (json_bool(spec, "requiresReservation", false) && !by->has_reservation)
        return err_new(ERR_FORBIDDEN, "Access/permission denied");
    if (is_root)
        return NULL;
    if (!is_in_groups(json_object_get(spec, "allowGroups"), by))
        return err_new(ERR_FORBIDDEN, "User's group not permitted to use this partition");
    if (!is_admitted(json_object_get(spec, "allowUsers"), json_object_get(spec, "denyUsers"),
                     by->user))
        return err_new(ERR_FORBIDDEN, "Access/permission denied");
    return NULL;
}

struct err *slurm_partition_admit(const json_t *spec, const struct slurm_submitter *by)
{
    const char *state = json_text(spec, "state");

    if (text_equal(state, "DRAIN") || text_equal(state, "INACTIVE"))
        return err_new(ERR_INVALID, "Required partition not available (inactive or drain)");
    TRY(check_users(spec, by));
    if (!is_admitted(json_object_get(spec, "allowAccounts"), json_object_get(spec, "denyAccounts"),
                     by->account))
        return err_new(ERR_INVALID, "Invalid account or account/partition combination specified");
    if (by->uid != 0 &&
        !is_admitted(json_object_get(spec, "allowQos"), json_object_get(spec, "denyQos"), by->qos))
        return err_new(ERR_INVALID, "Invalid qos specification");
    return NULL;
}

/* ---- limits ---- */

const char *slurm_partition_limit(const json_t *spec, int64_t nodes, int64_t minutes)
{
    int64_t max = json_int(spec, "maxTimeMinutes", 0);

    if (max > 0 && (minutes == 0 || minutes > max))
        return "PartitionTimeLimit";
    if (nodes < json_int(spec, "minNodes", 0) || nodes > json_int(spec, "maxNodes", INT64_MAX))
        return "PartitionNodeLimit";
    return NULL;
}

const char *slurm_partition_wait(const json_t *spec, int64_t nodes, int64_t minutes)
{
    const char *state = json_text(spec, "state");

    if (text_equal(state, "DOWN"))
        return "PartitionDown";
    if (text_equal(state, "INACTIVE"))
        return "PartitionInactive";
    if (spec && !json_text_filled(spec, "nodes"))
        return "PartitionConfig";
    return slurm_partition_limit(spec, nodes, minutes);
}

/* The bytes of a quantity in the partition, else of MiB in the settings; 0: none. */
static int64_t memory_of(const json_t *partition, const char *member, const json_t *settings,
                         const char *key)
{
    const char *text = json_text(partition, member);
    const char *mib = json_text(settings, key);
    struct quantity q = {0};
    int64_t n = 0;
    AUTO(err_freep)
    struct err *e = text  ? quantity_parse(str_of(text), &q)
                    : mib ? slurm_memory_parse(str_of(mib), &n)
                          : NULL;

    if (e)
        return 0;
    return text ? quantity_units(q) : n * MIB;
}

static bool fill_memory(json_t *job_spec, const char *member, int64_t bytes)
{
    AUTO_FREE char *text = mem_format("%" PRId64 "Mi", (bytes + MIB - 1) / MIB);

    if (bytes > 0)
        json_put_text(job_spec, member, text);
    return bytes > 0;
}

static bool asks_for_gpus(const json_t *job_spec)
{
    static const char *const members[] = {"gres", "gpus", "gpusPerNode", "gpusPerTask"};

    for (size_t i = 0; i < COUNT(members); i++)
        if (json_text_filled(job_spec, members[i]))
            return true;
    return false;
}

/* The partition's own defaults go before those of the settings. */
static void fill_memories(const json_t *partition, const json_t *settings, json_t *job_spec)
{
    static const char *const members[] = {"memoryPerGpu", "memoryPerCpu", "memoryPerNode"};
    static const char *const keys[] = {"DefMemPerGPU", "DefMemPerCPU", "DefMemPerNode"};

    for (size_t i = 0; i < COUNT(members); i++)
        if (json_text(job_spec, members[i]))
            return;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = asks_for_gpus(job_spec) ? 0 : 1; i < COUNT(members); i++)
            if (fill_memory(job_spec, members[i],
                            memory_of(pass == 0 ? partition : NULL, members[i],
                                      pass == 0 ? NULL : settings, keys[i])))
                return;
}

static int64_t setting_count(const json_t *settings, const char *key)
{
    const char *text = json_text(settings, key);
    int64_t n = 0;

    if (text)
        err_free(num_parse_int64(str_of(text), 0, INT32_MAX, &n)); /* was checked */
    return n;
}

int64_t slurm_partition_minutes(const json_t *spec)
{
    return json_int(spec, "defaultTimeMinutes", json_int(spec, "maxTimeMinutes", 0));
}

void slurm_partition_fill(const json_t *partition, const json_t *settings, json_t *job_spec)
{
    int64_t cpus = json_int(partition, "cpusPerGpu", setting_count(settings, "DefCpuPerGPU"));

    if (cpus > 0 && asks_for_gpus(job_spec) && !json_object_get(job_spec, "cpusPerTask") &&
        !json_object_get(job_spec, "cpusPerGpu"))
        json_put_int(job_spec, "cpusPerGpu", cpus);
    if (text_equal(json_text(partition, "overSubscribe"), "EXCLUSIVE"))
        json_put_bool(job_spec, "exclusive", true);
    fill_memories(partition, settings, job_spec);
}

bool slurm_partition_has_room(const json_t *partition, const json_t *settings,
                              const struct slurm_ask *ask)
{
    int64_t node = memory_of(partition, "maxMemoryPerNode", settings, "MaxMemPerNode");
    int64_t cpu = memory_of(partition, "maxMemoryPerCpu", settings, "MaxMemPerCPU");

    if (node > 0 && ask->memory_bytes > node)
        return false;
    return cpu == 0 || ask->memory_bytes / ask->cpus <= cpu;
}

void slurm_partition_add_terms(const char *name, const json_t *terms, json_t *to)
{
    AUTO_FREE char *label = mem_format(SLURM_PARTITION_LABEL "%s", name);
    size_t n = terms ? json_array_size(terms) : 1;

    for (size_t i = 0; i < n; i++) {
        json_t *term = terms ? json_deep_copy(json_array_get(terms, i)) : json_object();

        (void)json_array_append_new(json_array_at(term, "matchExpressions"),
                                    json_pack("{s:s,s:s}", "key", label, "operator", "Exists"));
        (void)json_array_append_new(to, term); /* fresh: cannot fail */
    }
}
