/* slurm_conf_objects.c - makes partitions, nodes and settings of the lines of a slurm.conf */

#include "kinds/slurm/slurm_conf_objects.h"

#include <inttypes.h>
#include <strings.h>

#include "base/mem.h"
#include "kinds/slurm/slurm_conf_keys.h"
#include "kinds/slurm/slurm_gres.h"
#include "kinds/slurm/slurm_partition.h"
#include "model/hostlist.h"
#include "model/names.h"
#include "model/slurm_amount.h"
#include "model/slurm_priority.h"

/* Where the maker is. `made` is filled; the defaults are those of lines with the name DEFAULT. */
struct conf_maker {
    struct slurm_conf_objects *made;
    const struct slurm_conf *conf;
    json_t *partition_defaults;
    json_t *node_defaults;
    json_t *settings; /* of the config; borrowed */
    json_t *sets;     /* names of node sets to their hostlists */
};

void slurm_conf_note(struct slurm_conf_objects *made, const struct slurm_conf_line *line,
                     const char *key, const char *why)
{
    AUTO_FREE char *where = mem_format("%s:%" PRId64, line->file, line->number);
    json_t *note;
    size_t i;

    json_array_foreach (made->notes, i, note)
        if (text_equal(json_text(note, "key"), key) && text_equal(json_text(note, "why"), why))
            return;
    note = json_object();
    json_put_text(note, "where", where);
    json_put_text(note, "key", key);
    json_put_text(note, "why", why);
    (void)json_array_append_new(made->notes, note); /* fresh: cannot fail */
}

/* ---- nodes ---- */

static struct err *conf_expand(const struct slurm_conf_line *line, const char *key,
                               const char *text, struct hostlist *ret)
{
    struct err *e = hostlist_parse(str_of(text), HOSTLIST_MAX, ret);

    return e ? err_wrap(e, "%s:%" PRId64 ": %s", line->file, line->number, key) : NULL;
}

/* A feature is a label of nodes. */
static struct err *check_features(const struct slurm_conf_line *line, const json_t *node)
{
    const json_t *features = json_object_get(node, "features");

    for (size_t i = 0; i < json_array_size(features); i++) {
        struct err *e =
            name_check_label_value(text_or_empty(json_string_value(json_array_get(features, i))));

        if (e)
            return err_wrap(e, "%s:%" PRId64 ": Feature", line->file, line->number);
    }
    return NULL;
}

/* Leaves gpus, shards and mps in the node's list; others are noted. */
static struct err *check_gres(const struct conf_maker *m, const struct slurm_conf_line *line,
                              json_t *node)
{
    AUTO(slurm_gres_list_done) struct slurm_gres_list list = {0};
    AUTO(buf_done) struct buf kept = {.cap = 1 << 20};
    struct str rest = str_of(json_text(node, "gres"));
    struct err *e;

    while (rest.at) {
        struct str item = str_cut(&rest, ',');
        struct str name = item;
        AUTO_FREE char *text = NULL;

        name = str_cut(&name, ':');
        text = mem_strndup(name.at, name.size);
        if (slurm_gres_is_known(text))
            buf_printf(&kept, "%s" STR_FMT, kept.size > 0 ? "," : "", STR_ARG(item));
        else if (*text)
            slurm_conf_note(m->made, line, text, SLURM_GRES_UNKNOWN);
    }
    e = slurm_gres_parse((struct str){kept.at, kept.size}, NULL, &list);
    json_put_text(node, "gres", kept.size > 0 ? kept.at : NULL);
    return e ? err_wrap(e, "%s:%" PRId64 ": Gres", line->file, line->number) : NULL;
}

static struct err *make_node(struct conf_maker *m, const struct slurm_conf_line *line)
{
    const char *names = slurm_conf_get(line, "NodeName");
    bool is_default = strcasecmp(names, "DEFAULT") == 0;
    AUTO(json_freep)
    json_t *node = is_default ? json_incref(m->node_defaults) : json_deep_copy(m->node_defaults);
    AUTO(hostlist_done) struct hostlist hosts = {0};

    if (strcasecmp(names, "ALL") == 0)
        return slurm_conf_wrong(line, "NodeName=ALL: want the names of nodes");
    VEC_EACH (&line->pairs, pair) {
        const struct slurm_conf_key *key = slurm_conf_key_find(slurm_conf_node_keys, pair->key);

        if (strcasecmp(pair->key, "NodeName") == 0)
            continue;
        if (!key)
            return slurm_conf_wrong(line, "unknown key '%s' of a node", pair->key);
        if (key->why && key->type != CONF_REFUSED)
            slurm_conf_note(m->made, line, key->name, key->why);
        TRY(slurm_conf_key_read(line, key, pair->value, node));
    }
    if (is_default)
        return NULL;
    TRY(check_features(line, node));
    TRY(check_gres(m, line, node));
    TRY(conf_expand(line, "NodeName", names, &hosts));
    json_put_text(node, "names", names);
    (void)json_array_append(json_array_at(json_object_at(m->made->config, "spec"), "nodes"), node);
    return NULL;
}

/* ---- sets of nodes ---- */

static void conf_join(struct buf *list, const char *names)
{
    if (list->size > 0 && *names)
        buf_add_char(list, ',');
    buf_add_text(list, names);
}

/* The nodes with the feature. */
static void join_featured(const struct conf_maker *m, const char *feature, struct buf *list)
{
    const json_t *nodes = json_at(m->made->config, "spec", "nodes", NULL);
    const json_t *node;
    size_t i;

    json_array_foreach (nodes, i, node)
        if (json_has_text(json_object_get(node, "features"), feature))
            conf_join(list, text_or_empty(json_text(node, "names")));
}

static struct err *make_set(struct conf_maker *m, const struct slurm_conf_line *line)
{
    AUTO(buf_done) struct buf list = {.cap = 1 << 20};
    const char *name = slurm_conf_get(line, "NodeSet");
    AUTO(hostlist_done) struct hostlist hosts = {0};

    VEC_EACH (&line->pairs, pair) {
        if (strcasecmp(pair->key, "Nodes") == 0)
            conf_join(&list, pair->value);
        else if (strcasecmp(pair->key, "Feature") == 0)
            join_featured(m, pair->value, &list);
        else if (strcasecmp(pair->key, "NodeSet") != 0)
            return slurm_conf_wrong(line, "unknown key '%s' of a node set", pair->key);
    }
    TRY(conf_expand(line, "NodeSet", text_or_empty(list.at), &hosts));
    json_put_text(m->sets, name, text_or_empty(list.at));
    return NULL;
}

/* The end of the item at the start of a host list: its ',' outside of brackets, or its end. */
static size_t item_size(struct str list)
{
    int depth = 0;
    size_t n = 0;

    for (; n < list.size && (depth > 0 || list.at[n] != ','); n++)
        depth += (list.at[n] == '[') - (list.at[n] == ']');
    return n;
}

/* Puts the nodes of sets in place of their names. */
static struct err *put_nodes(const struct conf_maker *m, const struct slurm_conf_line *line,
                             json_t *spec)
{
    const char *nodes = text_or_empty(json_text(spec, "nodes"));
    struct str rest = str_of(nodes);
    AUTO(buf_done) struct buf list = {.cap = 1 << 20};
    AUTO(hostlist_done) struct hostlist hosts = {0};

    while (rest.size > 0) {
        size_t n = item_size(rest);
        AUTO_FREE char *item = mem_strndup(rest.at, n);
        const char *set = json_text(m->sets, item);

        if (strcasecmp(item, "ALL") == 0) {
            json_put_text(spec, "nodes", "ALL");
            return NULL;
        }
        conf_join(&list, set ? set : item);
        n += n < rest.size;
        rest = (struct str){rest.at + n, rest.size - n};
    }
    TRY(conf_expand(line, "Nodes", text_or_empty(list.at), &hosts));
    json_put_text(spec, "nodes", text_or_empty(list.at));
    return NULL;
}

/* ---- partitions ---- */

/* "DefCpuPerGPU=4,DefMemPerGPU=1024" */
static struct err *read_job_defaults(const struct slurm_conf_line *line, const char *value,
                                     json_t *spec)
{
    struct str rest = str_of(value);

    while (rest.at) {
        struct str number = str_cut(&rest, ',');
        struct str word = str_cut(&number, '=');
        AUTO_FREE char *name = mem_strndup(word.at, word.size);
        AUTO_FREE char *text = mem_strndup(text_or_empty(number.at), number.size);
        const struct slurm_conf_key *key = slurm_conf_key_find(slurm_conf_partition_keys, name);

        if (!text_starts_with(name, "Def") || !key || key->type == CONF_IGNORED)
            return slurm_conf_wrong(line, "JobDefaults=%s: want DefCpuPerGPU=N or DefMemPerGPU=N",
                                    value);
        TRY(slurm_conf_key_read(line, key, text, spec));
    }
    return NULL;
}

/* YES and FORCE let jobs share cpus. */
static bool is_shared(const char *value)
{
    return strncasecmp(value, "YES", 3) == 0 || strncasecmp(value, "FORCE", 5) == 0;
}

static struct err *read_partition_pair(struct conf_maker *m, const struct slurm_conf_line *line,
                                       const struct slurm_conf_pair *pair, json_t *spec)
{
    const struct slurm_conf_key *key = slurm_conf_key_find(slurm_conf_partition_keys, pair->key);

    if (strcasecmp(pair->key, "PartitionName") == 0)
        return NULL;
    if (strcasecmp(pair->key, "JobDefaults") == 0)
        return read_job_defaults(line, pair->value, spec);
    if (strcasecmp(pair->key, "Priority") == 0) { /* the older word for both */
        TRY(slurm_conf_key_read(line,
                                slurm_conf_key_find(slurm_conf_partition_keys, "PriorityTier"),
                                pair->value, spec));
        key = slurm_conf_key_find(slurm_conf_partition_keys, "PriorityJobFactor");
    }
    if (!key)
        return slurm_conf_wrong(line, "unknown key '%s' of a partition", pair->key);
    if (key->why && key->type != CONF_REFUSED)
        slurm_conf_note(m->made, line, key->name, key->why);
    if (text_equal(key->member, "overSubscribe") && is_shared(pair->value)) {
        slurm_conf_note(m->made, line, key->name, "no two jobs share cpus: NO holds");
        json_put_text(spec, key->member, "NO");
        return NULL;
    }
    return slurm_conf_key_read(line, key, pair->value, spec);
}

static bool has_partition(const struct conf_maker *m, const char *name)
{
    const json_t *partition;
    size_t i;

    json_array_foreach (m->made->partitions, i, partition)
        if (text_equal(json_text_at(partition, "metadata", "name", NULL), name))
            return true;
    return false;
}

static struct err *add_partition(struct conf_maker *m, const struct slurm_conf_line *line,
                                 const char *name, json_t *spec)
{
    struct err *e = slurm_partition_check_name(name);

    if (e)
        return err_wrap(e, "%s:%" PRId64 ": PartitionName=%s", line->file, line->number, name);
    if (has_partition(m, name))
        return slurm_conf_wrong(line, "PartitionName=%s: the partition is there twice", name);
    TRY(put_nodes(m, line, spec));
    if (json_int(spec, "defaultTimeMinutes", 0) > json_int(spec, "maxTimeMinutes", INT64_MAX))
        return slurm_conf_wrong(line, "DefaultTime is greater than MaxTime");
    json_put_int(spec, "order", (int64_t)json_array_size(m->made->partitions));
    if (json_bool(spec, "isDefault", false)) { /* the last one counts */
        json_t *other;
        size_t i;

        json_array_foreach (m->made->partitions, i, other)
            (void)json_object_del(json_object_get(other, "spec"), "isDefault");
    }
    (void)json_array_append_new(m->made->partitions,
                                json_pack("{s:{s:s},s:O}", "metadata", "name", name, "spec", spec));
    return NULL;
}

static struct err *make_partition(struct conf_maker *m, const struct slurm_conf_line *line)
{
    const char *name = slurm_conf_get(line, "PartitionName");
    bool is_default = strcasecmp(name, "DEFAULT") == 0;
    AUTO(json_freep)
    json_t *spec =
        is_default ? json_incref(m->partition_defaults) : json_deep_copy(m->partition_defaults);

    VEC_EACH (&line->pairs, pair)
        TRY(read_partition_pair(m, line, pair, spec));
    return is_default ? NULL : add_partition(m, line, name, spec);
}

/* ---- the rest ---- */

/* Parameters of priorities are checked by the policy that they set. */
static struct err *check_priority(const struct slurm_conf_line *line,
                                  const struct slurm_conf_pair *pair)
{
    struct slurm_priority_policy policy;
    struct err *e;

    slurm_priority_policy_default(&policy);
    e = slurm_priority_policy_set(&policy, pair->key, pair->value);
    slurm_priority_policy_done(&policy);
    return e ? err_wrap(e, "%s:%" PRId64 ": %s", line->file, line->number, pair->key) : NULL;
}

static struct err *make_settings(struct conf_maker *m, const struct slurm_conf_line *line)
{
    VEC_EACH (&line->pairs, pair) {
        const struct slurm_conf_key *key = slurm_conf_key_find(slurm_conf_globals, pair->key);

        if (!key)
            return slurm_conf_wrong(line, "unknown key '%s'", pair->key);
        if (key->why && key->type != CONF_REFUSED)
            slurm_conf_note(m->made, line, key->name, key->why);
        TRY(slurm_conf_key_read(line, key, pair->value, m->settings));
        TRY(check_priority(line, pair));
    }
    return NULL;
}

/* "DownNodes=n[1-2] State=DRAIN Reason=text" is a state of nodes. */
static struct err *make_down_nodes(struct conf_maker *m, const struct slurm_conf_line *line)
{
    AUTO(hostlist_done) struct hostlist hosts = {0};
    AUTO(json_freep)
    json_t *node = json_pack("{s:s,s:s}", "state", "DOWN", "reason", "DownNodes of slurm.conf");
    const char *names = slurm_conf_get(line, "DownNodes");

    VEC_EACH (&line->pairs, pair) {
        const struct slurm_conf_key *key = slurm_conf_key_find(slurm_conf_node_keys, pair->key);

        if (strcasecmp(pair->key, "DownNodes") == 0)
            continue;
        if (!text_equal(key ? key->member : NULL, "state") &&
            !text_equal(key ? key->member : NULL, "reason"))
            return slurm_conf_wrong(line, "unknown key '%s' of DownNodes", pair->key);
        TRY(slurm_conf_key_read(line, key, pair->value, node));
    }
    TRY(conf_expand(line, "DownNodes", names, &hosts));
    json_put_text(node, "names", names);
    (void)json_array_append(json_array_at(json_object_at(m->made->config, "spec"), "nodes"), node);
    return NULL;
}

/* What a line is about. */
enum conf_pass {
    CONF_PASS_REST,
    CONF_PASS_NODES,
    CONF_PASS_SETS,
    CONF_PASS_PARTITIONS
};

static struct err *make_line(struct conf_maker *m, const struct slurm_conf_line *line,
                             enum conf_pass pass)
{
    if (slurm_conf_get(line, "NodeName"))
        return pass == CONF_PASS_NODES ? make_node(m, line) : NULL;
    if (slurm_conf_get(line, "DownNodes"))
        return pass == CONF_PASS_NODES ? make_down_nodes(m, line) : NULL;
    if (slurm_conf_get(line, "NodeSet"))
        return pass == CONF_PASS_SETS ? make_set(m, line) : NULL;
    if (slurm_conf_get(line, "PartitionName"))
        return pass == CONF_PASS_PARTITIONS ? make_partition(m, line) : NULL;
    if (slurm_conf_get(line, "FrontendName"))
        return slurm_conf_wrong(line, "FrontendName: Mete has no front end nodes");
    return pass == CONF_PASS_REST ? make_settings(m, line) : NULL;
}

/* The name of a node or a set may come after its use: sorts of lines are read one by one. */
static struct err *make_all(struct conf_maker *m)
{
    for (int pass = CONF_PASS_REST; pass <= CONF_PASS_PARTITIONS; pass++) {
        if (pass == CONF_PASS_PARTITIONS &&
            text_equal(json_text(m->settings, "DisableRootJobs"), "YES"))
            json_put_bool(m->partition_defaults, "disableRootJobs", true);
        VEC_EACH (&m->conf->lines, line)
            TRY(make_line(m, line, (enum conf_pass)pass));
    }
    return NULL;
}

struct err *slurm_conf_objects_make(const struct slurm_conf *conf, struct slurm_conf_objects *ret)
{
    struct slurm_conf_objects made = {
        .config =
            json_pack("{s:{s:s},s:{s:{}}}", "metadata", "name", "default", "spec", "settings"),
        .partitions = json_array(),
        .notes = json_array(),
    };
    AUTO(json_freep) json_t *partition_defaults = json_object();
    AUTO(json_freep) json_t *node_defaults = json_object();
    AUTO(json_freep) json_t *sets = json_object();
    struct conf_maker m = {
        .made = &made,
        .conf = conf,
        .partition_defaults = partition_defaults,
        .node_defaults = node_defaults,
        .settings = json_at(made.config, "spec", "settings", NULL),
        .sets = sets,
    };
    struct err *e = make_all(&m);

    if (e) {
        slurm_conf_objects_done(&made);
        return e;
    }
    *ret = made;
    return NULL;
}

void slurm_conf_objects_done(struct slurm_conf_objects *o)
{
    json_decref(o->config);
    json_decref(o->partitions);
    json_decref(o->notes);
    *o = (struct slurm_conf_objects){0};
}
