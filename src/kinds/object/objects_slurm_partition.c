/*
 * objects_slurm_partition.c - the partitions of a new SlurmJob: which ones take it, and what it
 * leaves to them
 */

#include "base/mem.h"
#include "base/num.h"
#include "kinds/object/objects_private.h"
#include "kinds/object/tree_cache.h"
#include "kinds/slurm/slurm_accounts.h"
#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_job.h"
#include "kinds/slurm/slurm_partition.h"
#include "model/hostlist.h"
#include "model/index_set.h"

enum {
    PARTITIONS_MAX = 64 /* that a job names */
};

/* The partitions that take the job. References. */
struct taken_partitions {
    VEC(json_t *) objects;
};

static const char *name_of(const json_t *partition)
{
    return json_text_at(partition, "metadata", "name", NULL);
}

static struct err *slurm_object(const struct change *c, const char *plural, const char *name,
                                json_t **ret)
{
    const struct store_object *o =
        store_get_applied(c->objects->store, objects_key(kind_find("mete.dev", plural), "", name));

    return o ? tree_cache_get(c->objects->trees, o, ret) : NULL;
}

/* The default partition; NULL: there is none. `*ret_any`: is there any partition? */
static struct err *default_partition(const struct change *c, json_t **ret, bool *ret_any)
{
    const struct store_range range = {.group = "mete.dev", .resource = "slurmpartitions"};
    const struct store_object *o = NULL;

    while ((o = store_next_applied(c->objects->store, &range, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *partition = NULL;

        *ret_any = true;
        TRY(tree_cache_get(c->objects->trees, o, &partition));
        if (!*ret && json_bool_at(partition, "spec", "isDefault", NULL))
            *ret = json_incref(partition);
    }
    return NULL;
}

/* ---- access ---- */

struct member_question {
    const struct objects *objects;
    const char *user;
    int64_t gid;
};

static bool is_member(const void *arg, const char *group)
{
    const struct member_question *q = arg;

    return q->user && q->objects->is_member &&
           q->objects->is_member(q->objects->find_user_arg, q->user, q->gid, group);
}

/* A slurm_books.find. */
static json_t *find_book(void *arg, const char *plural, const char *name)
{
    json_t *tree = NULL;
    AUTO(err_freep) struct err *e = slurm_object(arg, plural, name, &tree);

    return e ? NULL : tree;
}

/* The account and the QOS that the job gets if it names none. The caller frees both. */
static void find_defaults(const struct change *c, char **ret_account, char **ret_qos)
{
    const json_t *spec = json_object_get(c->after, "spec");
    const struct slurm_books books = {find_book, (void *)(uintptr_t)c};
    const char *user = text_or_empty(json_text_at(spec, "user", "name", NULL));
    AUTO(json_freep) json_t *own = find_book((void *)(uintptr_t)c, "slurmusers", user);
    const char *account = json_text_filled(spec, "account");
    const char *qos = json_text_filled(spec, "qos");
    struct slurm_chain chain;

    if (!account)
        account = json_text_at(own, "spec", "defaultAccount", NULL);
    slurm_chain_find(&books, user, account, json_text(spec, "partition"), &chain);
    if (!qos)
        qos = json_string_value(slurm_chain_get(&chain, "defaultQos"));
    *ret_account = account ? mem_strdup(account) : NULL;
    *ret_qos = mem_strdup(qos ? qos : SLURM_QOS_DEFAULT);
    slurm_chain_done(&chain);
}

static struct err *admit(const struct change *c, const json_t *partition)
{
    const json_t *spec = json_object_get(c->after, "spec");
    const json_t *user = json_object_get(spec, "user");
    const struct member_question question = {
        .objects = c->objects, .user = json_text(user, "name"), .gid = json_int(user, "gid", -1)};
    AUTO_FREE char *account = NULL;
    AUTO_FREE char *qos = NULL;
    struct slurm_submitter by = {
        .user = json_text(user, "name"),
        .uid = json_int(user, "uid", -1),
        .is_admin = c->who.is_admin || c->who.is_system,
        .has_reservation = json_text_filled(spec, "reservation") != NULL,
        .is_member = is_member,
        .arg = &question,
    };

    find_defaults(c, &account, &qos);
    by.account = account;
    by.qos = qos;
    return slurm_partition_admit(json_object_get(partition, "spec"), &by);
}

static int64_t nodes_of(const json_t *spec)
{
    int64_t nodes = json_int(spec, "nodesMin", 1);

    return nodes > 1 ? nodes : 1;
}

/* With EnforcePartLimits a job beyond a limit is refused; else it waits. */
static struct err *check_limits(const struct change *c, const json_t *partition, bool is_enforced)
{
    const json_t *spec = json_object_get(c->after, "spec");
    const json_t *rules = json_object_get(partition, "spec");
    const char *why = slurm_partition_limit(
        rules, nodes_of(spec), json_int(spec, "timeLimitMinutes", slurm_partition_minutes(rules)));

    if (!is_enforced || !why)
        return NULL;
    return err_new(ERR_INVALID, text_equal(why, "PartitionTimeLimit")
                                    ? "Requested time limit is invalid (missing or exceeds some "
                                      "limit)"
                                    : "Node count specification invalid");
}

/* The partition of a name, or its alternate while it takes no jobs. */
static struct err *named_partition(const struct change *c, struct str word, json_t **ret)
{
    AUTO_FREE char *name = mem_strndup(word.at, word.size);
    AUTO(json_freep) json_t *partition = NULL;
    const char *state;
    const char *other;

    TRY(slurm_object(c, "slurmpartitions", name, &partition));
    state = json_text_at(partition, "spec", "state", NULL);
    other = json_text_at(partition, "spec", "alternate", NULL);
    if (other && (text_equal(state, "DRAIN") || text_equal(state, "INACTIVE"))) {
        json_decref(partition);
        partition = NULL;
        TRY(slurm_object(c, "slurmpartitions", other, &partition));
    }
    if (!partition)
        return err_new(ERR_INVALID, "Invalid partition name specified");
    *ret = TAKE(partition);
    return NULL;
}

/* Takes the partitions of the list that admit the job; none: the first one's error. With
 * EnforcePartLimits=ALL all must. */
static struct err *take_listed(const struct change *c, const char *list, const json_t *settings,
                               struct taken_partitions *taken)
{
    const char *enforced = text_or_empty(json_text(settings, "EnforcePartLimits"));
    bool is_enforced = *enforced && !text_equal(enforced, "NO");
    bool needs_all = text_equal(enforced, "ALL") || text_equal(enforced, "YES");
    struct str rest = str_of(list);
    AUTO(err_freep) struct err *first = NULL;

    while (rest.at) {
        json_t *partition = NULL;
        struct err *e = named_partition(c, str_cut(&rest, ','), &partition);

        if (e) /* an unknown name is refused, whatever the others are */
            return e;
        e = admit(c, partition);
        if (!e)
            e = check_limits(c, partition, is_enforced);
        if (!e && taken->objects.n < PARTITIONS_MAX) {
            vec_add(&taken->objects, partition);
            continue;
        }
        json_decref(partition);
        if (first)
            err_free(e);
        else
            first = e;
        if (needs_all)
            break;
    }
    return first && (needs_all || taken->objects.n == 0) ? TAKE(first) : NULL;
}

/* ---- nodes ---- */

json_t *slurm_partitions_nodes(const struct change *c)
{
    const char *list = json_text_filled(json_object_get(c->after, "spec"), "partition");
    struct str rest = str_of(list);
    AUTO(json_freep) json_t *all = list ? json_object() : NULL;

    while (rest.at) {
        AUTO(json_freep) json_t *partition = NULL;
        AUTO(err_freep) struct err *e = named_partition(c, str_cut(&rest, ','), &partition);
        AUTO(json_freep)
        json_t *nodes = e ? NULL : slurm_partition_nodes(json_object_get(partition, "spec"));

        if (!nodes) /* without partitions: SLURM_PARTITION */
            return NULL;
        (void)json_object_update(all, nodes);
    }
    return TAKE(all);
}

int64_t slurm_partitions_cpus(const struct change *c)
{
    struct str rest = str_of(json_text_filled(json_object_get(c->after, "spec"), "partition"));
    int64_t most = 0;

    while (rest.at) {
        AUTO(json_freep) json_t *partition = NULL;
        AUTO(err_freep) struct err *e = named_partition(c, str_cut(&rest, ','), &partition);
        int64_t here = e ? 0 : json_int_at(partition, "spec", "maxCpusPerNode", NULL);

        if (here == 0)
            return 0;
        most = here > most ? here : most;
    }
    return most;
}

static struct err *check_node_list(const struct change *c)
{
    const char *list = json_text_filled(json_object_get(c->after, "spec"), "nodeList");
    AUTO(json_freep) json_t *nodes = list ? slurm_partitions_nodes(c) : NULL;
    AUTO(hostlist_done) struct hostlist names = {0};
    AUTO(err_freep)
    struct err *e = list ? hostlist_parse(str_of(list), HOSTLIST_MAX, &names) : NULL;

    VEC_EACH (&names.names, name)
        if (nodes && !json_object_get(nodes, *name))
            return err_new(ERR_INVALID, "Requested node configuration is not available");
    return NULL;
}

/* ---- settings ---- */

static struct err *check_array(const struct change *c, const json_t *settings)
{
    const char *indexes = json_text_at(c->after, "spec", "array", "indexes", NULL);
    const char *max = json_text(settings, "MaxArraySize");
    AUTO(index_set_done) struct index_set set = {0};
    AUTO(err_freep) struct err *e = NULL;
    int64_t n = SLURM_ARRAY_MAX;

    if (max)
        err_free(num_parse_int64(str_of(max), 0, SLURM_ARRAY_MAX, &n)); /* larger: the bound */
    if (json_int_at(c->after, "spec", "array", "step", NULL) >= n)
        return err_new(ERR_INVALID, "Invalid job array specification");
    if (!indexes || !max)
        return NULL;
    e = index_set_parse(str_of(indexes), SLURM_ARRAY_MAX, &set);
    for (size_t i = (size_t)n; !e && i < set.n_words * 64; i++)
        if (index_set_has(&set, i))
            return err_new(ERR_INVALID, "Invalid job array specification");
    return NULL;
}

static void put_partitions(struct change *c, const struct taken_partitions *taken)
{
    struct buf list = {.cap = 1 << 16};

    VEC_EACH (&taken->objects, partition)
        buf_printf(&list, "%s%s", list.size > 0 ? "," : "", name_of(*partition));
    json_put_text(json_object_get(c->after, "spec"), "partition", list.at);
    buf_done(&list);
}

/* The greatest memory of one of the partitions must do. */
static struct err *check_memory(const struct change *c, const json_t *settings,
                                const struct taken_partitions *taken)
{
    struct slurm_ask ask;
    bool has_room;

    TRY(slurm_ask_read(json_object_get(c->after, "spec"), &ask));
    has_room = taken->objects.n == 0 && slurm_partition_has_room(NULL, settings, &ask);
    VEC_EACH (&taken->objects, partition)
        has_room = has_room ||
                   slurm_partition_has_room(json_object_get(*partition, "spec"), settings, &ask);
    return has_room ? NULL : err_new(ERR_INVALID, "Memory required by task is not available");
}

static struct err *take_partitions(struct change *c, const json_t *settings,
                                   struct taken_partitions *taken)
{
    json_t *spec = json_object_get(c->after, "spec");
    const char *list = json_text_filled(spec, "partition");
    AUTO(json_freep) json_t *fallback = NULL;
    struct str rest = str_of(list);
    bool has_any = false;

    TRY(default_partition(c, &fallback, &has_any));
    while (!has_any && rest.at)
        if (!str_equal(str_cut(&rest, ','), STR(SLURM_PARTITION)))
            return err_new(ERR_INVALID, "Invalid partition name specified");
    if (!has_any)
        return NULL;
    if (!list && !fallback)
        return err_new(ERR_INVALID, "No partition specified or system default partition");
    TRY(take_listed(c, list ? list : name_of(fallback), settings, taken));
    put_partitions(c, taken);
    return check_node_list(c);
}

/* A job that gives no time limit gets the shortest one, so that it may run in each partition. */
static void put_time_limit(json_t *spec, const struct taken_partitions *taken)
{
    int64_t shortest = 0;

    VEC_EACH (&taken->objects, partition) {
        int64_t minutes = slurm_partition_minutes(json_object_get(*partition, "spec"));

        if (minutes > 0 && (shortest == 0 || minutes < shortest))
            shortest = minutes;
    }
    if (shortest > 0 && !json_object_get(spec, "timeLimitMinutes"))
        json_put_int(spec, "timeLimitMinutes", shortest);
}

static struct err *apply_partitions(struct change *c, const json_t *settings,
                                    struct taken_partitions *taken)
{
    json_t *spec = json_object_get(c->after, "spec");

    TRY(check_array(c, settings));
    TRY(take_partitions(c, settings, taken));
    put_time_limit(spec, taken);
    slurm_partition_fill(taken->objects.n > 0 ? json_object_get(taken->objects.at[0], "spec")
                                              : NULL,
                         settings, spec);
    if (text_equal(json_text(settings, "JobRequeue"), "0") && !json_object_get(spec, "requeue"))
        json_put_bool(spec, "requeue", false);
    return check_memory(c, settings, taken);
}

struct err *slurm_partition_rules(struct change *c)
{
    struct taken_partitions taken = {0};
    AUTO(json_freep) json_t *config = NULL;
    struct err *e = slurm_object(c, "slurmconfigs", "default", &config);

    if (!e)
        e = apply_partitions(c, json_at(config, "spec", "settings", NULL), &taken);
    VEC_EACH (&taken.objects, partition)
        json_decref(*partition);
    vec_done(&taken.objects);
    return e;
}

/* ---- deletion ---- */

/* A partition whose jobs have not ended stays, unless the files that made it name it no more. */
struct err *slurm_partition_delete_rules(const struct change *c)
{
    const struct store_range range = {.group = "mete.dev", .resource = "slurmjobs"};
    const char *name = json_text_at(c->before, "metadata", "name", NULL);
    const struct store_object *o = NULL;

    if (!text_equal(c->kind->group, "mete.dev") ||
        !text_equal(c->kind->plural, "slurmpartitions") || c->who.is_system)
        return NULL;
    while ((o = store_next_applied(c->objects->store, &range, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *job = NULL;
        struct str rest;

        TRY(objects_decode_shared(c->objects, o, &job));
        rest = str_of(json_text_filled(json_object_get(job, "spec"), "partition"));
        while (!json_text_at(job, "status", "endTime", NULL) && rest.at)
            if (str_equal(str_cut(&rest, ','), str_of(name)))
                return err_new(ERR_CONFLICT, "Partition is in use");
    }
    return NULL;
}
