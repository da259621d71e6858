/*
 * sinfo.c - options and tables of sinfo
 *
 * A line of the table is a group: nodes of one partition that have the same text in all columns of
 * the format but those that count or list nodes.
 */

#include "slurm/sinfo.h"

#include <inttypes.h>
#include <strings.h>

#include "base/mem.h"
#include "model/hostlist.h"
#include "model/slurm_time.h"
#include "slurm/cancel.h"
#include "slurm/cluster_json.h"
#include "slurm/node_state.h"
#include "slurm/query.h"

#define NO  SLURM_TAKES_NOTHING
#define YES SLURM_TAKES_VALUE

const struct slurm_option sinfo_options[] = {
    {"all", NULL, 'a', NO},
    {"clusters", NULL, 'M', YES},
    {"cluster", "clusters", 0, YES},
    {"dead", NULL, 'd', NO},
    {"exact", NULL, 'e', NO},
    {"federation", NULL, 0, NO},
    {"format", NULL, 'o', YES},
    {"Format", NULL, 'O', YES},
    {"help", NULL, 0, NO},
    {"hide", NULL, 0, NO},
    {"iterate", NULL, 'i', YES},
    {"json", NULL, 0, SLURM_TAKES_OPTIONAL},
    {"list-reasons", NULL, 'R', NO},
    {"local", NULL, 0, NO},
    {"long", NULL, 'l', NO},
    {"noconvert", NULL, 0, NO},
    {"Node", NULL, 'N', NO},
    {"nodes", NULL, 'n', YES},
    {"noheader", NULL, 'h', NO},
    {"partition", NULL, 'p', YES},
    {"reservation", NULL, 'T', NO},
    {"responding", NULL, 'r', NO},
    {"sort", NULL, 'S', YES},
    {"states", NULL, 't', YES},
    {"summarize", NULL, 's', NO},
    {"usage", "help", 0, NO},
    {"verbose", NULL, 'v', NO},
    {"version", NULL, 'V', NO},
    {"yaml", NULL, 0, SLURM_TAKES_OPTIONAL},
    {0},
};

const char sinfo_help[] =
    "Usage: sinfo [-n nodes] [-o format | -O format] [-p partitions] [-S fields] [-t states]\n"
    "             [-adehlNrRs] [--noconvert]\n";

/* ---- columns ---- */

static int64_t sum_of(const json_t *row, const char *key)
{
    return json_int_at(row, "sums", key, NULL);
}

static void column_partition(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_printf(out, "%s%s", text_or_empty(json_text(row, "partition")),
               json_bool(row, "isDefault", false) ? "*" : "");
}

static void column_limit(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    (void)v;
    if (json_int(row, "timeLimit", -1) < 0) {
        buf_add_text(out, "infinite");
        return;
    }
    slurm_elapsed_format_short(json_int(row, "timeLimit", 0) * 60, text);
    buf_add_text(out, text);
}

static void column_default_time(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    (void)v;
    if (!json_object_get(row, "defaultTime")) {
        buf_add_text(out, "n/a");
        return;
    }
    slurm_elapsed_format_short(json_int(row, "defaultTime", 0) * 60, text);
    buf_add_text(out, text);
}

static void column_state_short(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[NODE_STATE_SIZE];

    (void)v;
    slurm_node_state_format(row, true, text);
    buf_add_text(out, json_text(row, "name") ? text : "n/a");
}

static void column_state(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[NODE_STATE_SIZE];

    (void)v;
    slurm_node_state_format(row, false, text);
    buf_add_text(out, json_text(row, "name") ? text : "n/a");
}

static void column_count(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_printf(out, "%" PRId64, sum_of(row, "nodes"));
}

static void column_names(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    AUTO(hostlist_done) struct hostlist names = {0};
    AUTO_FREE char *text = NULL;
    const json_t *name;
    size_t i;

    (void)v;
    json_array_foreach (json_object_get(row, "names"), i, name)
        hostlist_add(&names, text_or_empty(json_string_value(name)));
    hostlist_sort(&names);
    text = hostlist_format(&names);
    buf_add_text(out, text);
}

static void column_nodes_ai(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_printf(out, "%" PRId64 "/%" PRId64, sum_of(row, "allocated"), sum_of(row, "idle"));
}

static void column_nodes_aiot(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    int64_t other = sum_of(row, "nodes") - sum_of(row, "allocated") - sum_of(row, "idle");

    column_nodes_ai(row, v, out);
    buf_printf(out, "/%" PRId64 "/%" PRId64, other, sum_of(row, "nodes"));
}

static void column_cpus_aiot(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_printf(out, "%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64, sum_of(row, "cpusAllocated"),
               sum_of(row, "cpus") - sum_of(row, "cpusAllocated") - sum_of(row, "cpusOther"),
               sum_of(row, "cpusOther"), sum_of(row, "cpus"));
}

static void column_load(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    int64_t load = json_int(row, "load", -1);

    (void)v;
    if (load < 0)
        buf_add_text(out, "N/A");
    else
        buf_printf(out, "%" PRId64 ".%02" PRId64, load / 100, load % 100);
}

static void column_shape(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_printf(out, "%" PRId64 ":%" PRId64 ":%" PRId64, json_int(row, "sockets", 1),
               json_int(row, "cores", 1), json_int(row, "threads", 1));
}

static void column_reason_time(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    slurm_stamp_format(json_int(row, "reasonTime", 0), v->zone, "Unknown", text);
    buf_add_text(out, text);
}

static void column_size(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    int64_t least = json_int(row, "nodesMin", 0);
    int64_t most = json_int(row, "nodesMax", -1);

    (void)v;
    least = least > 0 ? least : 1;
    if (most < 0)
        buf_printf(out, "%" PRId64 "-infinite", least);
    else if (most == least)
        buf_printf(out, "%" PRId64, least);
    else
        buf_printf(out, "%" PRId64 "-%" PRId64, least, most);
}

static void column_root(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    (void)v;
    buf_add_text(out, json_bool(row, "rootOnly", false) ? "yes" : "no");
}

static void column_up(const json_t *row, const struct slurm_view *v, struct buf *out)
{
    const char *state = json_text(row, "partitionState");

    (void)v;
    for (const char *c = state ? state : "UP"; *c; c++)
        buf_add_char(out, (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c));
}

#define FN(letter, name, header, fn)            \
    {                                           \
        letter, name, header, fn, NULL, NULL, 0 \
    }
#define KEY(letter, name, header, key, absent)     \
    {                                              \
        letter, name, header, NULL, key, absent, 0 \
    }

static const struct slurm_column sinfo_columns[] = {
    FN('a', "Available", "AVAIL", column_up),
    FN('A', "NodeAI", "NODES(A/I)", column_nodes_ai),
    KEY('b', "Features_act", "ACTIVE_FEATURES", "features", "(null)"),
    KEY('B', "MaxCPUsPerNode", "MAX_CPUS_PER_NODE", "maxCpus", "UNLIMITED"),
    KEY('c', "CPUs", "CPUS", "cpus", "0"),
    FN('C', "CPUsState", "CPUS(A/I/O/T)", column_cpus_aiot),
    KEY('d', "Disk", "TMP_DISK", "disk", "0"),
    FN('D', "Nodes", "NODES", column_count),
    KEY('e', "FreeMem", "FREE_MEM", "memoryFree", "N/A"),
    KEY('E', "Reason", "REASON", "reason", "none"),
    KEY('f', "Features", "AVAIL_FEATURES", "features", "(null)"),
    FN('F', "NodeAIOT", "NODES(A/I/O/T)", column_nodes_aiot),
    KEY('g', "Groups", "GROUPS", "allowGroups", "all"),
    KEY('G', "Gres", "GRES", "gres", "(null)"),
    KEY('h', "OverSubscribe", "OVERSUBSCRIBE", "oversubscribe", "NO"),
    FN('H', "Timestamp", "TIMESTAMP", column_reason_time),
    KEY('i', "Reservation", "RESERVATION", "reservation", ""),
    KEY('I', "PriorityJobFactor", "PRIO_JOB_FACTOR", "priorityFactor", "1"),
    FN('l', "Time", "TIMELIMIT", column_limit),
    FN('L', "DefaultTime", "DEFAULTTIME", column_default_time),
    KEY('m', "Memory", "MEMORY", "memory", "0"),
    KEY('M', "PreemptMode", "PREEMPT_MODE", "preemptMode", "OFF"),
    KEY('n', "NodeHost", "HOSTNAMES", "name", ""),
    FN('N', "NodeList", "NODELIST", column_names),
    KEY('o', "NodeAddr", "NODE_ADDR", "address", ""),
    FN('O', "CPUsLoad", "CPU_LOAD", column_load),
    KEY('p', "PriorityTier", "PRIO_TIER", "priorityTier", "1"),
    FN('P', "Partition", "PARTITION", column_partition),
    FN('r', "Root", "ROOT", column_root),
    KEY('R', "PartitionName", "PARTITION", "partition", ""),
    FN('s', "Size", "JOB_SIZE", column_size),
    KEY('S', "AllocNodes", "ALLOCNODES", "allocNodes", "all"),
    FN('t', "StateCompact", "STATE", column_state_short),
    FN('T', "StateLong", "STATE", column_state),
    KEY('u', "User", "USER", "reasonUser", "Unknown"),
    KEY('U', "UserLong", "USER", "reasonUser", "Unknown"),
    KEY('v', "Version", "VERSION", "version", ""),
    KEY('V', "Cluster", "CLUSTER", "cluster", "mete"),
    KEY('w', "Weight", "WEIGHT", "weight", "1"),
    KEY('X', "Sockets", "SOCKETS", "sockets", "1"),
    KEY('Y', "Cores", "CORES", "cores", "1"),
    KEY('Z', "Threads", "THREADS", "threads", "1"),
    FN('z', "SocketCoreThread", "S:C:T", column_shape),
    KEY(0, "GresUsed", "GRES_USED", "gresUsed", "(null)"),
    KEY(0, "AllocMem", "ALLOCMEM", "memoryAllocated", "0"),
    KEY(0, "Comment", "COMMENT", "comment", "(null)"),
    KEY(0, "Extra", "EXTRA", "extra", "(null)"),
    KEY(0, "Port", "PORT", "port", "0"),
    {0},
};

/* ---- options ---- */

/* The fields that tell the lines of a document apart. */
static const char all_letters[] = "%P %a %l %D %t %N %c %z %m %d %w %f %G %E %i";

static const char *sinfo_letters(const struct slurm_words *w, const char *(*find)(const char *))
{
    const char *given = slurm_words_value(w, "format");
    bool is_long = slurm_words_has(w, "long");

    if (slurm_words_has(w, "json") || slurm_words_has(w, "yaml"))
        return all_letters;
    if (given)
        return given;
    if (slurm_words_has(w, "list-reasons"))
        return is_long ? "%20E %12U %19H %6t %N" : "%20E %9u %19H %N";
    if (slurm_words_has(w, "summarize"))
        return "%#P %.5a %.10l %.16F  %N";
    if (slurm_words_has(w, "Node"))
        return is_long ? "%#N %.6D %#P %.11T %4c %8z %6m %8d %6w %8f %20E" : "%#N %.6D %#P %6t ";
    if (is_long)
        return "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N";
    given = find("SINFO_FORMAT");
    return given ? given : "%#P %.5a %.10l %.6D %.6t %N";
}

struct err *sinfo_read(const struct slurm_words *words, const char *(*find)(const char *name),
                       struct sinfo *ret)
{
    static const char *const refused[] = {"clusters", "iterate", "reservation"};
    struct sinfo s = {.words = words};
    bool is_document = slurm_words_has(words, "json") || slurm_words_has(words, "yaml");
    const char *names = is_document ? NULL : slurm_words_value(words, "Format");
    struct err *e;

    for (size_t i = 0; i < COUNT(refused); i++)
        if (slurm_words_has(words, refused[i]))
            return err_new(ERR_INVALID, "--%s is not available yet", refused[i]);
    if (words->arguments.n > 0)
        return err_new(ERR_INVALID, "Unrecognized option: %s", words->arguments.at[0]);
    s.is_by_node = slurm_words_has(words, "Node");
    s.is_long = slurm_words_has(words, "long");
    s.has_header = !slurm_words_has(words, "noheader");
    e = names ? slurm_format_parse_names(names, sinfo_columns, &s.format)
              : slurm_format_parse_letters(sinfo_letters(words, find), sinfo_columns, &s.format);
    if (e)
        return e;
    *ret = s;
    return NULL;
}

void sinfo_done(struct sinfo *s)
{
    slurm_format_done(&s->format);
    *s = (struct sinfo){0};
}

/* ---- rows ---- */

/* A column that counts or lists the nodes of its line. */
static bool is_sum(const struct slurm_column *c)
{
    return c->letter && strchr("ACDFN", c->letter);
}

/* Is the node in one of the states of -t? */
static bool sinfo_has_state(const json_t *node, const char *list)
{
    char words[2][NODE_STATE_SIZE];
    struct str rest = str_of(list);

    slurm_node_state_format(node, false, words[0]);
    slurm_node_state_format(node, true, words[1]);
    for (size_t i = 0; i < COUNT(words); i++)
        words[i][strcspn(words[i], "*")] = 0;
    while (rest.at) {
        struct str want = str_cut(&rest, ',');

        for (size_t i = 0; i < COUNT(words); i++)
            if (want.size == strlen(words[i]) && strncasecmp(want.at, words[i], want.size) == 0)
                return true;
        if (want.size == 5 && strncasecmp(want.at, "drain", 5) == 0 &&
            json_has_text(json_object_get(node, "flags"), "DRAIN"))
            return true;
    }
    return false;
}

static bool sinfo_wants(const struct sinfo *s, const json_t *node)
{
    const char *names = slurm_words_value(s->words, "nodes");
    const char *states = slurm_words_value(s->words, "states");
    bool is_silent = json_has_text(json_object_get(node, "flags"), "NOT_RESPONDING");

    if (names && !slurm_hosts_meet(names, json_text(node, "name")))
        return false;
    if (states && strcasecmp(states, "all") != 0 && !sinfo_has_state(node, states))
        return false;
    if (slurm_words_has(s->words, "list-reasons") && !json_text_filled(node, "reason"))
        return false;
    return !(slurm_words_has(s->words, "dead") && !is_silent) &&
           !(slurm_words_has(s->words, "responding") && is_silent);
}

static void sum_add(json_t *row, const char *key, int64_t n)
{
    json_t *sums = json_object_at(row, "sums");

    json_put_int(sums, key, json_int(sums, key, 0) + n);
}

/* Counts the node in the sums of its line. */
static void sinfo_count(json_t *row, const json_t *node)
{
    const char *state = json_text(node, "state");
    bool is_out = json_array_size(json_object_get(node, "flags")) > 0;
    bool is_busy = text_equal(state, "MIXED") || text_equal(state, "ALLOCATED");
    int64_t cpus = json_int(node, "cpus", 0);
    int64_t held = json_int(node, "cpusAllocated", 0);

    sum_add(row, "nodes", 1);
    sum_add(row, "allocated", is_busy);
    sum_add(row, "idle", text_equal(state, "IDLE") && !is_out);
    sum_add(row, "cpus", cpus);
    sum_add(row, "cpusAllocated", held);
    sum_add(row, "cpusOther", is_out || (!is_busy && !text_equal(state, "IDLE")) ? cpus - held : 0);
    json_array_append(json_array_at(row, "names"), json_object_get(node, "name"));
}

/* The texts of the columns by which nodes are grouped. The caller frees them. */
static char *sinfo_group_key(const struct sinfo *s, const json_t *row, const struct slurm_view *v)
{
    struct buf key = {0};

    buf_printf(&key, "%s\n%s\n", text_or_empty(json_text(row, "partition")),
               s->is_by_node ? text_or_empty(json_text(row, "name")) : "");
    for (size_t i = 0; i < s->format.cells.n; i++) {
        const struct slurm_column *c = s->format.cells.at[i].column;
        AUTO_FREE char *text = is_sum(c) ? mem_strdup("") : slurm_cell_text(c, row, v);

        buf_printf(&key, "%s\n", text);
    }
    return buf_steal(&key);
}

/* The node in a partition, as a row. New reference. */
static json_t *sinfo_row(const json_t *node, const json_t *partition)
{
    static const char *const kept[] = {
        "timeLimit",   "defaultTime", "priorityTier",   "isDefault", "allowGroups", "oversubscribe",
        "preemptMode", "maxCpus",     "priorityFactor", "nodesMin",  "nodesMax",    "rootOnly"};
    json_t *row = node ? json_copy((json_t *)(uintptr_t)node) : json_object();

    for (size_t i = 0; i < COUNT(kept); i++)
        if (json_object_get(partition, kept[i]))
            json_put(row, kept[i], json_incref(json_object_get(partition, kept[i])));
    json_put(row, "of", json_incref((json_t *)(uintptr_t)partition));
    json_put_text(row, "partition", json_text(partition, "name"));
    json_put_text(row, "partitionState", json_text(partition, "state"));
    return row;
}

/* Adds the node to the line of its group, or a new line. */
static void sinfo_add(const struct sinfo *s, json_t *rows, const json_t *node,
                      const json_t *partition, const struct slurm_view *v)
{
    json_t *row = sinfo_row(node, partition);
    AUTO_FREE char *key = sinfo_group_key(s, row, v);
    json_t *other;
    size_t i;

    json_array_foreach (rows, i, other)
        if (text_equal(json_text(other, "key"), key)) {
            sinfo_count(other, node);
            json_decref(row);
            return;
        }
    json_put_text(row, "key", key);
    if (node)
        sinfo_count(row, node);
    json_array_append_new(rows, row);
}

static bool sinfo_wants_partition(const struct sinfo *s, const json_t *partition)
{
    const char *wanted = slurm_words_value(s->words, "partition");

    if (wanted)
        return slurm_list_has(wanted, json_text(partition, "name"));
    return slurm_words_has(s->words, "all") || !json_bool(partition, "hidden", false);
}

/* Slurm's number of a state, by which lines are sorted: flags count more than states. */
static int state_rank(const json_t *row)
{
    static const char *const states[] = {"UNKNOWN", "DOWN", "IDLE", "ALLOCATED", "ERROR", "MIXED"};
    const char *state = json_text(row, "state");
    int rank = 0;

    for (size_t i = 0; i < COUNT(states); i++)
        if (text_equal(state, states[i]))
            rank = (int)i;
    if (json_has_text(json_object_get(row, "flags"), "DRAIN"))
        rank += 0x200;
    if (json_has_text(json_object_get(row, "flags"), "NOT_RESPONDING"))
        rank += 0x400;
    return rank;
}

/* Adds the lines of a partition, those of the greatest state first. */
static void sinfo_add_sorted(json_t *rows, json_t *lines)
{
    while (json_array_size(lines) > 0) {
        size_t best = 0;

        for (size_t i = 1; i < json_array_size(lines); i++)
            if (state_rank(json_array_get(lines, i)) > state_rank(json_array_get(lines, best)))
                best = i;
        (void)json_array_append(rows, json_array_get(lines, best));
        (void)json_array_remove(lines, best);
    }
}

static void sinfo_add_partition(const struct sinfo *s, json_t *rows, const json_t *nodes,
                                const json_t *partition, const struct slurm_view *v)
{
    AUTO(json_freep) json_t *lines = json_array();
    const char *name = json_text(partition, "name");
    bool is_empty = true;
    const json_t *node;
    size_t i;

    json_array_foreach (nodes, i, node) {
        if (!json_has_text(json_object_get(node, "partitions"), name))
            continue;
        is_empty = false;
        if (sinfo_wants(s, node))
            sinfo_add(s, lines, node, partition, v);
    }
    if (is_empty && !s->is_by_node && !slurm_words_has(s->words, "states") &&
        !slurm_words_has(s->words, "nodes") && !slurm_words_has(s->words, "list-reasons"))
        sinfo_add(s, lines, NULL, partition, v);
    sinfo_add_sorted(rows, lines);
}

struct err *sinfo_print(const struct sinfo *s, const json_t *nodes, const json_t *partitions,
                        const struct slurm_view *v, struct buf *out)
{
    AUTO(json_freep) json_t *rows = json_array();
    const char *sort = slurm_words_value(s->words, "sort");
    char now[SLURM_TIME_TEXT_SIZE];
    const json_t *partition;
    size_t i;

    if (!sort && s->is_by_node)
        sort = "N";
    json_array_foreach (partitions, i, partition)
        if (sinfo_wants_partition(s, partition))
            sinfo_add_partition(s, rows, nodes, partition, v);
    if (sort)
        TRY(slurm_rows_sort(rows, sort, sinfo_columns, v, NULL));
    if (slurm_words_has(s->words, "json") || slurm_words_has(s->words, "yaml")) {
        AUTO(json_freep)
        json_t *document = slurm_document_new("sinfo", slurm_sinfo_json(rows, v));

        slurm_document_add(document, slurm_words_has(s->words, "yaml"), out);
        return NULL;
    }
    if (s->is_long && s->has_header) {
        slurm_stamp_format(v->now_s, v->zone, "", now);
        buf_printf(out, "%s\n", now);
    }
    slurm_format_print(&s->format, rows, v, s->has_header, out);
    return NULL;
}
