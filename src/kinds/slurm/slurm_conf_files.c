/* slurm_conf_files.c - reads gres.conf, cgroup.conf and topology.conf beside slurm.conf */

#include "kinds/slurm/slurm_conf_files.h"

#include <inttypes.h>
#include <strings.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_conf_keys.h"
#include "kinds/slurm/slurm_gres.h"
#include "model/hostlist.h"
#include "model/index_set.h"
#include "model/names.h"
#include "model/slurm_amount.h"

enum {
    GPUS_OF_NODE_MAX = 1024,
    SWITCHES_MAX = 4096,
    SWITCH_DEPTH_MAX = 8
};

#define FINDS "Mete finds gpus by itself, with their cpus and links: docs/gpus.md"

static const struct slurm_conf_key gres_keys[] = {
    {.name = "AutoDetect",
     .type = CONF_WORD,
     .words = "nvml,nvidia,nrt,rsmi,oneapi,off",
     .why = FINDS},
    {.name = "Cores", .type = CONF_TEXT, .why = FINDS},
    {.name = "CPUs", .type = CONF_TEXT, .why = FINDS},
    {.name = "Count", .type = CONF_TEXT},
    {.name = "File", .type = CONF_TEXT},
    {.name = "Flags", .type = CONF_TEXT, .why = "jobs have the variables of their gpus' vendor"},
    {.name = "Links", .type = CONF_TEXT, .why = FINDS},
    {.name = "MultipleFiles", .type = CONF_TEXT},
    {.name = "Name", .type = CONF_TEXT},
    {.name = "NodeName", .type = CONF_TEXT},
    {.name = "Type", .type = CONF_TEXT},
    {.name = NULL},
};

/* Reads all pairs of a line into `to`, as members with the keys' names. */
static struct err *files_read_pairs(const struct slurm_conf_line *line,
                                    const struct slurm_conf_key *keys,
                                    struct slurm_conf_objects *made, json_t *to)
{
    VEC_EACH (&line->pairs, pair) {
        const struct slurm_conf_key *key = slurm_conf_key_find(keys, pair->key);

        if (!key)
            return slurm_conf_wrong(line, "unknown key '%s'", pair->key);
        if (key->why)
            slurm_conf_note(made, line, key->name, key->why);
        TRY(slurm_conf_key_read(line, key, pair->value, to));
    }
    return NULL;
}

static json_t *files_list(struct slurm_conf_objects *to, const char *member)
{
    return json_array_at(json_object_at(to->config, "spec"), member);
}

static struct err *files_check_nodes(const struct slurm_conf_line *line, const char *key,
                                     const char *names)
{
    AUTO(hostlist_done) struct hostlist hosts = {0};
    struct err *e = names ? hostlist_parse(str_of(names), HOSTLIST_MAX, &hosts) : NULL;

    return e ? err_wrap(e, "%s:%" PRId64 ": %s", line->file, line->number, key) : NULL;
}

/* ---- gres.conf ---- */

/* The number of the gpu "/dev/nvidia3"; -1: another file. */
static int64_t gres_gpu_of(const char *path)
{
    static const char prefix[] = "/dev/nvidia";
    int64_t n = -1;

    if (!text_starts_with(path, prefix))
        return -1;
    err_free(num_parse_int64(str_of(path + sizeof(prefix) - 1), 0, GPUS_OF_NODE_MAX - 1, &n));
    return n;
}

/* Reads a list of device files; `*ret_gpus` gets the gpus among them. */
static struct err *gres_read_files(const struct slurm_conf_line *line, const char *text,
                                   struct index_set *ret_gpus, int64_t *ret_count)
{
    AUTO(hostlist_done) struct hostlist files = {0};
    struct err *e = hostlist_parse(str_of(text), GPUS_OF_NODE_MAX, &files);

    if (e)
        return err_wrap(e, "%s:%" PRId64 ": File", line->file, line->number);
    VEC_EACH (&files.names, file) {
        int64_t gpu = gres_gpu_of(*file);

        if (**file != '/')
            return slurm_conf_wrong(line, "File=%s: want the path of a device", *file);
        if (gpu >= 0)
            (void)index_set_add(ret_gpus, (size_t)gpu);
    }
    *ret_count = (int64_t)files.names.n;
    return NULL;
}

/* "4", "4K". */
static struct err *gres_read_count(const struct slurm_conf_line *line, const char *text,
                                   int64_t *ret)
{
    AUTO_FREE char *item = mem_format("x:%s", text);
    AUTO(slurm_gres_list_done) struct slurm_gres_list list = {0};
    AUTO(err_freep) struct err *e = slurm_gres_parse(str_of(item), NULL, &list);

    if (e || list.items.n != 1 || list.items.at[0].type)
        return slurm_conf_wrong(line, "Count=%s: want a number", text);
    *ret = list.items.at[0].count;
    return NULL;
}

/* A type of gpus is a MIG profile, a name for the gpus of the nodes, or both. */
static struct err *gres_check_type(const struct slurm_conf_line *line, const char *type,
                                   bool is_part)
{
    struct slurm_gpu_type t;
    struct err *e;

    if (!slurm_gpu_type_read(str_of(type), &t))
        return slurm_conf_wrong(line, "Type=%s: want a model or the name of a MIG profile", type);
    if (is_part && !*t.profile)
        return slurm_conf_wrong(line,
                                "Type=%s: want the name of a MIG profile (1g.10gb, a100_1g.5gb), "
                                "since a gpu has several such files",
                                type);
    e = *t.model ? name_check_label_value(t.model) : NULL;
    return e ? err_wrap(e, "%s:%" PRId64 ": Type", line->file, line->number) : NULL;
}

/* Is the file one of a MIG instance? */
static bool gres_is_part(const char *files)
{
    return files && strstr(files, "/nvidia-caps/");
}

/* Reads the devices of a line: the number of them, and their gpus. */
static struct err *gres_read_devices(const struct slurm_conf_line *line, const json_t *from,
                                     json_t *to)
{
    const char *file = json_text(from, "File");
    const char *files = json_text(from, "MultipleFiles");
    const char *text = json_text(from, "Count");
    bool is_gpu = text_equal(json_text(to, "name"), "gpu");
    AUTO(index_set_done) struct index_set gpus = {0};
    AUTO_FREE char *list = NULL;
    int64_t n_files = 0;
    int64_t count = 0;

    if (file && files)
        return slurm_conf_wrong(line, "File and MultipleFiles exclude each other");
    if (file || files)
        TRY(gres_read_files(line, file ? file : files, &gpus, &n_files));
    if (files)
        n_files = 1; /* they are one device together */
    if (text)
        TRY(gres_read_count(line, text, &count));
    else
        count = n_files;
    if (is_gpu && n_files > 0 && count != n_files)
        return slurm_conf_wrong(line, "Count=%s: the line has files of %" PRId64 " gpus",
                                text_or_empty(text), n_files);
    if (is_gpu && count > GPUS_OF_NODE_MAX)
        return slurm_conf_wrong(line, "Count=%s: want at most %d gpus", text, GPUS_OF_NODE_MAX);
    if (!is_gpu && !text)
        return slurm_conf_wrong(line, "Name=%s: want Count=", json_text(to, "name"));
    json_put_int(to, "count", count);
    list = index_set_format(&gpus);
    if (gpus.count > 0)
        json_put_text(to, "gpus", list);
    return NULL;
}

/* Adds the line of one resource. */
static struct err *gres_add_line(const struct slurm_conf_line *line,
                                 struct slurm_conf_objects *made)
{
    AUTO(json_freep) json_t *from = json_object();
    AUTO(json_freep) json_t *to = json_object();
    const char *name;
    const char *type;
    bool is_gpu;

    TRY(files_read_pairs(line, gres_keys, made, from));
    name = json_text(from, "Name");
    type = json_text(from, "Type");
    is_gpu = text_equal(name, "gpu");
    TRY(files_check_nodes(line, "NodeName", json_text(from, "NodeName")));
    if (!name && (type || json_text(from, "File") || json_text(from, "MultipleFiles") ||
                  json_text(from, "Count")))
        return slurm_conf_wrong(line, "want Name=gpu, Name=shard or Name=mps");
    if (!name)
        return NULL;
    if (!slurm_gres_is_known(name)) {
        slurm_conf_note(made, line, name, SLURM_GRES_UNKNOWN);
        return NULL;
    }
    if (is_gpu && type)
        TRY(gres_check_type(line, type, gres_is_part(json_text(from, "MultipleFiles"))));
    json_put_text(to, "names", json_text(from, "NodeName"));
    json_put_text(to, "name", name);
    json_put_text(to, "type", is_gpu ? type : NULL);
    TRY(gres_read_devices(line, from, to));
    (void)json_array_append(files_list(made, "gres"), to);
    return NULL;
}

static struct err *gres_add(const struct slurm_conf *conf, struct slurm_conf_objects *to)
{
    VEC_EACH (&conf->lines, line)
        TRY(gres_add_line(line, to));
    return NULL;
}

/* ---- cgroup.conf ---- */

#define HELD  "jobs are always held to their cpus, memory and devices"
#define SWAP  "swap is not limited"
#define ASKED "jobs have the memory that they ask for; RealMemory of a node bounds all of them"
#define TREE  "Mete makes cgroups by its own means"
#define CGROUP_IGNORED(key, text)                           \
    {                                                       \
        .name = (key), .type = CONF_IGNORED, .why = (text), \
    }

/* "yes" of the first three is what holds. */
static const struct slurm_conf_key cgroup_keys[] = {
    {.name = "ConstrainCores", .type = CONF_BOOL},
    {.name = "ConstrainDevices", .type = CONF_BOOL},
    {.name = "ConstrainRAMSpace", .type = CONF_BOOL},
    CGROUP_IGNORED("AllowedDevicesFile", HELD),
    CGROUP_IGNORED("AllowedKmemSpace", ASKED),
    CGROUP_IGNORED("AllowedRAMSpace", ASKED),
    CGROUP_IGNORED("AllowedSwapSpace", SWAP),
    CGROUP_IGNORED("CgroupAutomount", TREE),
    CGROUP_IGNORED("CgroupMountpoint", TREE),
    CGROUP_IGNORED("CgroupPlugin", TREE),
    CGROUP_IGNORED("CgroupReleaseAgentDir", TREE),
    CGROUP_IGNORED("CgroupSlice", TREE),
    CGROUP_IGNORED("ConstrainKmemSpace", ASKED),
    CGROUP_IGNORED("ConstrainSwapSpace", SWAP),
    CGROUP_IGNORED("EnableControllers", TREE),
    CGROUP_IGNORED("EnableExtraControllers", TREE),
    CGROUP_IGNORED("IgnoreSystemd", TREE),
    CGROUP_IGNORED("IgnoreSystemdOnFailure", TREE),
    CGROUP_IGNORED("MaxKmemPercent", ASKED),
    CGROUP_IGNORED("MaxRAMPercent", ASKED),
    CGROUP_IGNORED("MaxSwapPercent", SWAP),
    CGROUP_IGNORED("MemorySwappiness", SWAP),
    CGROUP_IGNORED("MinKmemSpace", ASKED),
    CGROUP_IGNORED("MinRAMSpace", ASKED),
    CGROUP_IGNORED("SignalChildrenProcesses", "signals reach the processes of steps"),
    CGROUP_IGNORED("SystemdTimeout", TREE),
    CGROUP_IGNORED("TaskAffinity", "tasks are not bound to cores"),
    {.name = NULL},
};

static struct err *cgroup_add(const struct slurm_conf *conf, struct slurm_conf_objects *to)
{
    VEC_EACH (&conf->lines, line) {
        AUTO(json_freep) json_t *values = json_object();
        const char *key;
        json_t *value;

        TRY(files_read_pairs(line, cgroup_keys, to, values));
        json_object_foreach (values, key, value)
            if (text_equal(json_string_value(value), "NO"))
                slurm_conf_note(to, line, key, HELD);
    }
    return NULL;
}

/* ---- topology.conf ---- */

static const struct slurm_conf_key topology_keys[] = {
    {.name = "BlockName", .type = CONF_TEXT},
    {.name = "BlockSizes",
     .type = CONF_TEXT,
     .why = "nodes of one block are preferred, blocks are not cut"},
    {.name = "LinkSpeed", .type = CONF_TEXT, .why = "links of switches are taken as equal"},
    {.name = "Nodes", .type = CONF_TEXT},
    {.name = "SwitchName", .type = CONF_TEXT},
    {.name = "Switches", .type = CONF_TEXT},
    {.name = NULL},
};

/* A switch or a block. Texts are borrowed. */
struct conf_switch {
    struct map_handle handle; /* by name */
    const char *name;
    const char *nodes;    /* NULL: none */
    const char *switches; /* below it; NULL: none */
    const struct slurm_conf_line *line;
    struct conf_switch *parent; /* NULL: a root */
    struct conf_switch *next;   /* in the order of the file */
};

/* The switches of the file, by name and in its order. */
struct conf_switches {
    struct conf_switch *by_name;
    struct conf_switch *first;
    struct conf_switch *last;
};

static void switches_done(struct conf_switches *s)
{
    struct conf_switch *one;
    struct conf_switch *tmp;

    map_each (handle, s->by_name, one, tmp) {
        map_remove(handle, s->by_name, one); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        free(one);
    }
    *s = (struct conf_switches){0};
}

static struct err *switch_read(const struct slurm_conf_line *line, struct slurm_conf_objects *made,
                               struct conf_switches *to)
{
    AUTO(json_freep) json_t *values = json_object();
    const char *name = slurm_conf_get(line, "SwitchName");
    const char *block = slurm_conf_get(line, "BlockName");
    struct conf_switch *one = NULL;
    struct err *e;

    TRY(files_read_pairs(line, topology_keys, made, values));
    if (!name && !block)
        return json_text(values, "Nodes") || json_text(values, "Switches")
                   ? slurm_conf_wrong(line, "want SwitchName= or BlockName=")
                   : NULL;
    if (name && block)
        return slurm_conf_wrong(line, "SwitchName and BlockName exclude each other");
    name = name ? name : block;
    e = *name ? name_check_label_value(name) : err_new(ERR_INVALID, "want a name");
    if (e)
        return err_wrap(e, "%s:%" PRId64 ": %s", line->file, line->number,
                        block ? "BlockName" : "SwitchName");
    map_find_text(handle, to->by_name, name, one);
    if (one)
        return slurm_conf_wrong(line, "SwitchName=%s: the switch is there twice", name);
    if (map_count(handle, to->by_name) == SWITCHES_MAX)
        return slurm_conf_wrong(line, "more than %d switches", SWITCHES_MAX);
    TRY(files_check_nodes(line, "Nodes", slurm_conf_get(line, "Nodes")));
    one = mem_alloc(sizeof(*one));
    *one = (struct conf_switch){.name = name,
                                .nodes = slurm_conf_get(line, "Nodes"),
                                .switches = slurm_conf_get(line, "Switches"),
                                .line = line};
    map_add(handle, to->by_name, one->name, strlen(one->name), one);
    if (to->last)
        to->last->next = one;
    else
        to->first = one;
    to->last = one;
    if (!one->nodes == !one->switches)
        return slurm_conf_wrong(
            line, "%s=%s: want Nodes= or Switches=", block ? "BlockName" : "SwitchName", name);
    return NULL;
}

/* Sets the parent of the switches below. */
static struct err *switch_join(const struct conf_switches *s, struct conf_switch *parent)
{
    AUTO(hostlist_done) struct hostlist below = {0};
    struct err *e = hostlist_parse(str_of(parent->switches), SWITCHES_MAX, &below);

    if (e)
        return err_wrap(e, "%s:%" PRId64 ": Switches", parent->line->file, parent->line->number);
    VEC_EACH (&below.names, name) {
        struct conf_switch *child = NULL;

        map_find_text(handle, s->by_name, *name, child);
        if (!child)
            return slurm_conf_wrong(parent->line, "Switches: there is no switch '%s'", *name);
        if (child->parent)
            return slurm_conf_wrong(parent->line, "Switches: '%s' is below '%s', too", *name,
                                    child->parent->name);
        child->parent = parent;
    }
    return NULL;
}

/* "core.rack1": the switches above the nodes, the widest first. ERR_INVALID: too many, or a loop.
 */
static struct err *switch_path(const struct conf_switch *leaf, char **ret)
{
    const struct conf_switch *chain[SWITCH_DEPTH_MAX];
    struct buf path = {.cap = 4096};
    size_t n = 0;

    for (const struct conf_switch *at = leaf; at; at = at->parent) {
        if (n == SWITCH_DEPTH_MAX)
            return slurm_conf_wrong(leaf->line, "more than %d switches above each other",
                                    SWITCH_DEPTH_MAX);
        chain[n++] = at;
    }
    for (size_t i = n; i > 0; i--)
        buf_printf(&path, "%s%s", i < n ? "/" : "", chain[i - 1]->name);
    *ret = buf_steal(&path);
    return NULL;
}

static struct err *switches_add(const struct conf_switches *s, struct slurm_conf_objects *to)
{
    for (struct conf_switch *one = s->first; one; one = one->next)
        if (one->switches)
            TRY(switch_join(s, one));
    for (const struct conf_switch *one = s->first; one; one = one->next) {
        AUTO_FREE char *path = NULL;

        TRY(switch_path(one, &path)); /* also where nodes are missing: a loop is an error */
        if (one->nodes)
            (void)json_array_append_new(
                files_list(to, "nodes"),
                json_pack("{s:s,s:s}", "names", one->nodes, "switches", path));
    }
    return NULL;
}

static struct err *topology_add(const struct slurm_conf *conf, struct slurm_conf_objects *to)
{
    struct conf_switches s = {0};
    struct err *e = NULL;

    for (size_t i = 0; i < conf->lines.n && !e; i++)
        e = switch_read(&conf->lines.at[i], to, &s);
    if (!e)
        e = switches_add(&s, to);
    switches_done(&s);
    return e;
}

const struct slurm_conf_file slurm_conf_files[] = {
    {"gres.conf", gres_add},
    {"cgroup.conf", cgroup_add},
    {"topology.conf", topology_add},
    {NULL, NULL},
};
