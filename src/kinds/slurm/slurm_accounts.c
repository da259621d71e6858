/* slurm_accounts.c - associations and qualities of service of jobs, and limits of a job alone */

#include "kinds/slurm/slurm_accounts.h"

#include "base/mem.h"
#include "kinds/queue.h"
#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_qos.h"
#include "model/slurm_tres.h"

struct slurm_enforce slurm_enforce_read(const json_t *parameters)
{
    struct str rest = str_of(json_text(parameters, "AccountingStorageEnforce"));
    struct slurm_enforce e = {0};

    while (rest.at) {
        struct str word = str_cut(&rest, ',');
        bool is_all = str_equal(word, STR("all"));

        e.limits =
            e.limits || is_all || str_equal(word, STR("limits")) || str_equal(word, STR("safe"));
        e.qos = e.qos || is_all || str_equal(word, STR("qos"));
        e.associations = e.associations || str_equal(word, STR("associations"));
    }
    e.associations = e.associations || e.limits || e.qos;
    return e;
}

/* ---- chains ---- */

const json_t *slurm_association_of(const json_t *user, const char *account, const char *partition)
{
    const json_t *list = json_at(user, "spec", "associations", NULL);
    const json_t *found = NULL;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *of = json_text_filled(one, "partition");

        if (!text_equal(json_text(one, "account"), account))
            continue;
        if (of && text_equal(of, partition))
            return one;
        if (!of)
            found = one;
    }
    return found;
}

static void chain_add(struct slurm_chain *c, const char *name, const json_t *part)
{
    c->names[c->n] = name;
    c->at[c->n++] = part;
}

/* The accounts from `account` up to the root. */
static void chain_add_accounts(const struct slurm_books *b, const char *account,
                               struct slurm_chain *c)
{
    const char *name = account;

    for (unsigned depth = 0; name && depth < SLURM_ACCOUNTS_DEEP; depth++) {
        bool is_root = text_equal(name, QUEUE_ROOT);
        json_t *queue = b->find(b->arg, "queues", name);
        const char *parent = json_text_filled(json_object_get(queue, "spec"), "parent");

        if (queue) {
            c->objects[c->n_objects++] = queue;
            chain_add(c, json_text_at(queue, "metadata", "name", NULL),
                      json_at(queue, "spec", "slurm", NULL));
        }
        name = is_root ? NULL : parent ? parent : QUEUE_ROOT;
    }
}

void slurm_chain_find(const struct slurm_books *b, const char *user, const char *account,
                      const char *partition, struct slurm_chain *ret)
{
    json_t *object = user ? b->find(b->arg, "slurmusers", user) : NULL;
    const json_t *association = slurm_association_of(object, account, partition);

    *ret = (struct slurm_chain){.has_association = association != NULL};
    if (object)
        ret->objects[ret->n_objects++] = object;
    if (association)
        chain_add(ret, NULL, association);
    chain_add_accounts(b, account, ret);
}

void slurm_chain_done(struct slurm_chain *c)
{
    for (size_t i = 0; i < c->n_objects; i++)
        json_decref(c->objects[i]);
    *c = (struct slurm_chain){0};
}

const json_t *slurm_chain_get(const struct slurm_chain *c, const char *key)
{
    for (size_t i = 0; i < c->n; i++)
        if (json_object_get(c->at[i], key))
            return json_object_get(c->at[i], key);
    return NULL;
}

/* ---- admission ---- */

static const char *default_account(const struct slurm_books *b, const char *user, json_t **ret_held)
{
    *ret_held = user ? b->find(b->arg, "slurmusers", user) : NULL;
    return json_text_filled(json_object_get(*ret_held, "spec"), "defaultAccount");
}

/* Is the quality of service in the list of the association or of an account above it? */
static bool may_have_qos(const struct slurm_chain *c, const char *qos)
{
    const json_t *list = slurm_chain_get(c, "qos");

    return list ? json_has_text(list, qos) : text_equal(qos, SLURM_QOS_DEFAULT);
}

static struct err *admit_qos(const struct slurm_books *b, const struct slurm_chain *c,
                             const struct slurm_enforce *enforce, json_t *spec, json_t **ret)
{
    const char *said = json_text_filled(spec, "qos");
    const json_t *fallback = slurm_chain_get(c, "defaultQos");
    const char *qos = said ? said : json_string_value(fallback);

    if (!qos)
        qos = SLURM_QOS_DEFAULT;
    *ret = b->find(b->arg, "slurmqoses", qos);
    if (!*ret && !text_equal(qos, SLURM_QOS_DEFAULT))
        return err_new(ERR_INVALID, "Invalid qos specification");
    if (enforce->qos && c->has_association && !may_have_qos(c, qos))
        return err_new(ERR_INVALID, "Invalid qos specification");
    if (json_has_text(json_at(*ret, "spec", "flags", NULL), "RequiresReservation") &&
        !json_text_filled(spec, "reservation"))
        return err_new(ERR_INVALID, "Invalid qos specification");
    if (!said && !text_equal(qos, SLURM_QOS_DEFAULT))
        json_put_text(spec, "qos", qos);
    return NULL;
}

static struct err *admit_limits(const struct slurm_books *b, const struct slurm_chain *c,
                                const json_t *spec)
{
    struct slurm_ask ask;
    struct slurm_size size;
    struct slurm_qos_limits qos;
    AUTO_FREE char *reason = NULL;
    bool denies = false;

    TRY(slurm_ask_read(spec, &ask));
    size = slurm_size_of(&ask, spec);
    slurm_qos_find(b, json_text(spec, "qos"), json_text(spec, "partition"), &qos);
    reason = slurm_qos_exceeds(&qos, c, &size, &denies);
    slurm_qos_done(&qos);
    if (reason && denies)
        return err_new(ERR_INVALID,
                       "%s\nJob violates accounting/QOS policy (job submit limit, user's size "
                       "and/or time limits)",
                       reason);
    return NULL;
}

static struct err *admit_chain(const struct slurm_books *b, const struct slurm_chain *c,
                               json_t *spec)
{
    AUTO(json_freep) json_t *config = b->find(b->arg, "slurmconfigs", "default");
    struct slurm_enforce enforce = slurm_enforce_read(json_at(config, "spec", "settings", NULL));
    AUTO(json_freep) json_t *qos = NULL;

    if (enforce.associations && !c->has_association)
        return err_new(ERR_INVALID, "Invalid account or account/partition combination specified");
    TRY(admit_qos(b, c, &enforce, spec, &qos));
    return enforce.limits ? admit_limits(b, c, spec) : NULL;
}

struct err *slurm_accounts_admit(const struct slurm_books *b, json_t *spec)
{
    const char *user = json_text_at(spec, "user", "name", NULL);
    struct slurm_chain chain;
    struct err *e;

    if (!json_text_filled(spec, "account")) {
        AUTO(json_freep) json_t *held = NULL;
        const char *account = default_account(b, user, &held);

        if (account)
            json_put_text(spec, "account", account);
    }
    slurm_chain_find(b, user, json_text_filled(spec, "account"), json_text(spec, "partition"),
                     &chain);
    e = admit_chain(b, &chain, spec);
    slurm_chain_done(&chain);
    return e;
}

/* ---- limits of a job alone ---- */

struct slurm_size slurm_size_of(const struct slurm_ask *ask, const json_t *spec)
{
    return (struct slurm_size){
        .cpus = ask->cpus * ask->nodes,
        .memory_mib = (ask->memory_bytes >> 20) * ask->nodes,
        .gpus = ask->gpus.count * ask->nodes,
        .nodes = ask->nodes,
        .minutes = json_int(spec, "timeLimitMinutes", 0),
        .model = ask->model,
    };
}

int64_t slurm_size_get(const struct slurm_size *s, const char *resource)
{
    static const char gpu[] = "gres/gpu";

    if (text_equal(resource, "cpu"))
        return s->cpus;
    if (text_equal(resource, "mem"))
        return s->memory_mib;
    if (text_equal(resource, "node"))
        return s->nodes;
    if (text_equal(resource, "billing"))
        return s->billing;
    if (!text_starts_with(resource, gpu))
        return 0;
    resource += sizeof(gpu) - 1;
    return !*resource || (*resource == ':' && text_equal(resource + 1, s->model)) ? s->gpus : 0;
}

const char *slurm_resource_word(const char *resource)
{
    return text_equal(resource, "cpu")             ? "Cpu"
           : text_equal(resource, "mem")           ? "Mem"
           : text_equal(resource, "node")          ? "Node"
           : text_equal(resource, "billing")       ? "Billing"
           : text_starts_with(resource, "license") ? "License"
                                                   : "GRES";
}

/* A limit by resource; its reason is prefix, resource, suffix. */
struct tres_rule {
    const char *key;
    const char *prefix;
    const char *suffix;
    const char *cpu_suffix;  /* of cpu */
    const char *node_suffix; /* of node */
    const char *memory;      /* "Mem" or "Memory" */
    const char *memory_suffix;
    bool is_least;
    const char *cpu; /* the word for cpus */
};

static const struct tres_rule association_rules[] = {
    {"grpTRES", "AssocGrp", "", "Limit", "Limit", "Mem", "Limit", false, "Cpu"},
    {"maxTRES", "AssocMax", "PerJob", "PerJobLimit", "PerJobLimit", "Mem", "PerJob", false, "Cpu"},
    {"maxTRESPerNode", "AssocMax", "PerNode", "PerNode", "PerNode", "Mem", "PerNode", false, "Cpu"},
};
static const struct tres_rule qos_rules[] = {
    {"grpTRES", "QOSGrp", "", "Limit", "Limit", "Mem", "Limit", false, "Cpu"},
    {"maxTRES", "QOSMax", "PerJob", "PerJobLimit", "PerJobLimit", "Memory", "PerJob", false, "Cpu"},
    {"maxTRESPerNode", "QOSMax", "PerNode", "PerNode", "PerNode", "Memory", "PerNode", false,
     "Cpu"},
    {"maxTRESPerUser", "QOSMax", "PerUser", "PerUserLimit", "PerUserLimit", "Memory", "PerUser",
     false, "Cpu"},
    {"maxTRESPerAccount", "Max", "PerAccount", "PerAccount", "PerAccount", "Memory", "PerAccount",
     false, "Cpu"},
    {"minTRES", "QOSMin", "", "NotSatisfied", "", "Memory", "", true, "Cpu"},
};

/* Resources x minutes that running jobs may still take. */
#define RUN_MINUTES(key, prefix, memory)                                                         \
    {                                                                                            \
        key, prefix, "RunMinutes", "RunMinutesLimit", "RunMinutes", memory, "RunMinutes", false, \
            "CPU"                                                                                \
    }
/* Resources x minutes that jobs have used. */
#define USED_MINUTES(prefix, memory)                                                           \
    {                                                                                          \
        "grpTRESMins", prefix, "Minutes", "MinutesLimit", "Minutes", memory, "Minutes", false, \
            "CPU"                                                                              \
    }
static const struct tres_rule association_minutes[] = {
    USED_MINUTES("AssocGrp", "Mem"),
    RUN_MINUTES("grpTRESRunMins", "AssocGrp", "Mem"),
};
static const struct tres_rule qos_minutes[] = {
    USED_MINUTES("QOSGrp", "Memory"),
    RUN_MINUTES("grpTRESRunMins", "QOSGrp", "Memory"),
    RUN_MINUTES("maxTRESRunMinsPerUser", "QOSGrp", "Memory"),
    RUN_MINUTES("maxTRESRunMinsPerAccount", "QOSGrp", "Memory"),
};

static char *reason_of(const struct tres_rule *rule, const char *resource)
{
    bool is_memory = text_equal(resource, "mem");
    bool is_cpu = text_equal(resource, "cpu");
    const char *word = is_memory ? rule->memory
                       : is_cpu  ? rule->cpu
                                 : slurm_resource_word(resource);
    const char *suffix = is_memory                      ? rule->memory_suffix
                         : is_cpu                       ? rule->cpu_suffix
                         : text_equal(resource, "node") ? rule->node_suffix
                                                        : rule->suffix;

    return mem_format("%s%s%s", rule->prefix, word, suffix);
}

/* The reason of the first resource of the rule's list that the job exceeds, beside what is held
 * (NULL: nothing); NULL: none. */
static char *find_tres(const struct tres_rule *rule, const json_t *spec, const struct slurm_size *s,
                       const struct slurm_size *held)
{
    const char *text = json_text_filled(spec, rule->key);
    struct slurm_tres tres = {0};
    char *reason = NULL;
    int64_t divisor = text_equal(rule->key, "maxTRESPerNode") && s->nodes > 0 ? s->nodes : 1;

    if (!text)
        return NULL;
    err_free(slurm_tres_parse(str_of(text), &tres)); /* was checked when it was written */
    VEC_EACH (&tres.items, item) {
        int64_t own = slurm_size_get(s, item->name) / divisor;
        int64_t asked = own + (held && own > 0 ? slurm_size_get(held, item->name) : 0);
        bool breaks = rule->is_least ? asked < item->count : asked > item->count;

        if (breaks && item->count >= 0 && !reason)
            reason = reason_of(rule, item->name);
    }
    slurm_tres_done(&tres);
    return reason;
}

/* Rules by key. */
struct tres_rules {
    const struct tres_rule *at;
    size_t n;
};

char *slurm_limits_with(const json_t *part, const char *key, bool is_of_qos,
                        const struct slurm_size *s, const struct slurm_size *held)
{
    const struct tres_rules of_association[] = {
        {association_rules, COUNT(association_rules)},
        {association_minutes, COUNT(association_minutes)},
    };
    const struct tres_rules of_qos[] = {
        {qos_rules, COUNT(qos_rules)},
        {qos_minutes, COUNT(qos_minutes)},
    };
    const struct tres_rules *rules = is_of_qos ? of_qos : of_association;

    for (size_t i = 0; i < COUNT(of_qos); i++)
        for (size_t k = 0; k < rules[i].n; k++)
            if (text_equal(rules[i].at[k].key, key))
                return find_tres(&rules[i].at[k], part, s, held);
    return NULL;
}

#define AMOUNT_MAX (INT64_MAX / 2) /* greater amounts of a size count as this one */

static int64_t amount_times(int64_t amount, int64_t factor)
{
    int64_t product = 0;

    return __builtin_mul_overflow(amount, factor, &product) || product > AMOUNT_MAX ? AMOUNT_MAX
                                                                                    : product;
}

static int64_t amount_plus(int64_t amount, int64_t more)
{
    return amount > AMOUNT_MAX - more ? AMOUNT_MAX : amount + more;
}

struct slurm_size slurm_size_minutes(const struct slurm_size *s, int64_t minutes)
{
    return (struct slurm_size){.cpus = amount_times(s->cpus, minutes),
                               .memory_mib = amount_times(s->memory_mib, minutes),
                               .gpus = amount_times(s->gpus, minutes),
                               .nodes = amount_times(s->nodes, minutes),
                               .model = s->model};
}

void slurm_size_add(struct slurm_size *to, const struct slurm_size *more)
{
    to->cpus = amount_plus(to->cpus, more->cpus);
    to->memory_mib = amount_plus(to->memory_mib, more->memory_mib);
    to->gpus = amount_plus(to->gpus, more->gpus);
    to->nodes = amount_plus(to->nodes, more->nodes);
}

/* Minutes x resource of a job. */
static bool exceeds_minutes(const json_t *spec, const struct slurm_size *s)
{
    const char *text = json_text_filled(spec, "maxTRESMins");
    struct slurm_tres tres = {0};
    bool exceeds = false;

    if (!text || s->minutes == 0)
        return false;
    err_free(slurm_tres_parse(str_of(text), &tres)); /* was checked when it was written */
    VEC_EACH (&tres.items, item)
        exceeds = exceeds ||
                  (item->count >= 0 && slurm_size_get(s, item->name) > item->count / s->minutes);
    slurm_tres_done(&tres);
    return exceeds;
}

static char *find_in(const json_t *spec, const struct tres_rule *rules, size_t n,
                     const char *prefix, const struct slurm_size *s)
{
    int64_t wall = json_int(spec, "maxWall", -1);
    char *reason = NULL;

    for (size_t i = 0; i < n && !reason; i++)
        reason = find_tres(&rules[i], spec, s, NULL);
    if (!reason && wall >= 0 && (s->minutes == 0 || s->minutes > wall))
        reason = mem_format("%sMaxWallDurationPerJobLimit", prefix);
    if (!reason && exceeds_minutes(spec, s))
        reason = mem_format("%sMaxCpuMinutesPerJobLimit", prefix);
    return reason;
}

char *slurm_limits_find(const struct slurm_chain *c, const json_t *qos, const struct slurm_size *s,
                        bool *ret_denies)
{
    char *reason = find_in(qos, qos_rules, COUNT(qos_rules), "QOS", s);

    *ret_denies = json_has_text(json_object_get(qos, "flags"), "DenyOnLimit");
    for (size_t i = 0; i < c->n && !reason; i++)
        reason = find_in(c->at[i], association_rules, COUNT(association_rules), "Assoc", s);
    return reason;
}
