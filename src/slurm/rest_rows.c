/* rest_rows.c - nodes, partitions and statistics as documents of slurmrestd */

#include <strings.h>

#include "base/mem.h"
#include "slurm/job_json.h"
#include "slurm/rest.h"

enum member_form {
    MEMBER_TEXT,
    MEMBER_NUMBER, /* N */
    MEMBER_VALUE   /* {"set", "infinite", "number"} */
};

struct rest_member {
    const char *name;
    const char *key; /* of the row (kinds/slurm/slurm_rows.h) */
    enum member_form form;
};

static const struct rest_member node_members[] = {
    {"address", "address", MEMBER_TEXT},
    {"alloc_cpus", "cpusAllocated", MEMBER_NUMBER},
    {"alloc_memory", "memoryAllocated", MEMBER_NUMBER},
    {"architecture", "arch", MEMBER_TEXT},
    {"boot_time", "bootTime", MEMBER_VALUE},
    {"cores", "cores", MEMBER_NUMBER},
    {"cpu_load", "load", MEMBER_NUMBER},
    {"cpus", "cpus", MEMBER_NUMBER},
    {"free_mem", "memoryFree", MEMBER_VALUE},
    {"gres", "gres", MEMBER_TEXT},
    {"gres_used", "gresUsed", MEMBER_TEXT},
    {"hostname", "name", MEMBER_TEXT},
    {"name", "name", MEMBER_TEXT},
    {"operating_system", "os", MEMBER_TEXT},
    {"real_memory", "memory", MEMBER_NUMBER},
    {"reason", "reason", MEMBER_TEXT},
    {"reason_changed_at", "reasonTime", MEMBER_VALUE},
    {"reason_set_by_user", "reasonUser", MEMBER_TEXT},
    {"reservation", "reservation", MEMBER_TEXT},
    {"slurmd_start_time", "startTime", MEMBER_VALUE},
    {"sockets", "sockets", MEMBER_NUMBER},
    {"temporary_disk", "disk", MEMBER_NUMBER},
    {"threads", "threads", MEMBER_NUMBER},
    {"tres", "tres", MEMBER_TEXT},
    {"tres_used", "tresAllocated", MEMBER_TEXT},
    {"version", "version", MEMBER_TEXT},
    {"weight", "weight", MEMBER_NUMBER},
    {0},
};

static void members_put(json_t *to, const json_t *row, const struct rest_member *m)
{
    for (; m->name; m++) {
        bool is_set = json_object_get(row, m->key) != NULL;

        if (m->form == MEMBER_TEXT)
            json_put_text(to, m->name, text_or_empty(json_text(row, m->key)));
        else if (m->form == MEMBER_NUMBER)
            json_put_int(to, m->name, json_int(row, m->key, 0));
        else
            json_put(to, m->name, slurm_number(is_set, json_int(row, m->key, 0)));
    }
}

/* The words of a text with commas. */
static json_t *words_of(const char *text)
{
    json_t *words = json_array();
    struct str rest = str_of(text);

    while (rest.at) {
        struct str word = str_cut(&rest, ',');

        if (word.size > 0)
            (void)json_array_append_new(words, json_stringn(word.at, word.size));
    }
    return words;
}

static json_t *state_of(const json_t *row)
{
    json_t *states = json_array();

    (void)json_array_append_new(states, json_string(text_or_empty(json_text(row, "state"))));
    (void)json_array_extend(states, json_object_get(row, "flags")); /* absent: none */
    return states;
}

json_t *slurm_rest_nodes(const json_t *rows)
{
    json_t *nodes = json_array();
    const json_t *row = NULL;
    size_t i = 0;

    json_array_foreach (rows, i, row) {
        json_t *node = json_object();

        members_put(node, row, node_members);
        json_put(node, "state", state_of(row));
        json_put(node, "features", words_of(json_text(row, "features")));
        json_put(node, "active_features", words_of(json_text(row, "features")));
        json_put(node, "partitions", json_deep_copy(json_object_get(row, "partitions")));
        (void)json_array_append_new(nodes, node);
    }
    return nodes;
}

static json_t *partition_new(const json_t *row)
{
    json_t *partition = json_pack("{s:s}", "cluster", "mete");
    json_t *maximums = json_object_at(partition, "maximums");
    json_t *defaults = json_object_at(partition, "defaults");
    json_t *nodes = json_object_at(partition, "nodes");
    json_t *priority = json_object_at(partition, "priority");

    json_put_text(partition, "name", text_or_empty(json_text(row, "name")));
    json_put_text(nodes, "configured", text_or_empty(json_text(row, "nodes")));
    json_put_int(nodes, "total", json_int(row, "nodeCount", 0));
    json_put_int(json_object_at(partition, "cpus"), "total", json_int(row, "cpus", 0));
    json_put(json_object_at(partition, "partition"), "state", words_of(json_text(row, "state")));
    json_put(maximums, "time", slurm_number(true, json_int(row, "timeLimit", -1)));
    json_put(maximums, "nodes", slurm_number(true, json_int(row, "nodesMax", -1)));
    json_put(defaults, "time",
             slurm_number(json_object_get(row, "defaultTime"), json_int(row, "defaultTime", 0)));
    json_put_int(priority, "job_factor", json_int(row, "priorityFactor", 0));
    json_put_int(priority, "tier", json_int(row, "priorityTier", 0));
    json_put_text(json_object_at(partition, "tres"), "configured",
                  text_or_empty(json_text(row, "tres")));
    return partition;
}

json_t *slurm_rest_partitions(const json_t *rows)
{
    json_t *partitions = json_array();
    const json_t *row = NULL;
    size_t i = 0;

    json_array_foreach (rows, i, row)
        (void)json_array_append_new(partitions, partition_new(row));
    return partitions;
}
