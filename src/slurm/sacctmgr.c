/* sacctmgr.c - the words of sacctmgr: verbs, entities, and keys of what they list and change */

#include "slurm/sacctmgr.h"

#include <ctype.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"
#include "model/slurm_time.h"
#include "model/slurm_tres.h"
#include "slurm/sacctmgr_private.h"

#define NO SLURM_TAKES_NOTHING

const struct slurm_option sacctmgr_options[] = {
    {"associations", NULL, 's', NO},
    {"help", NULL, 'h', NO},
    {"immediate", NULL, 'i', NO},
    {"json", NULL, 0, SLURM_TAKES_OPTIONAL},
    {"noheader", NULL, 'n', NO},
    {"oneliner", NULL, 'o', NO},
    {"parsable", NULL, 'p', NO},
    {"parsable2", NULL, 'P', NO},
    {"quiet", NULL, 'Q', NO},
    {"readonly", NULL, 'r', NO},
    {"verbose", NULL, 'v', NO},
    {"version", NULL, 'V', NO},
    {"usage", "help", 0, NO},
    {"yaml", NULL, 0, SLURM_TAKES_OPTIONAL},
    {0},
};

const char sacctmgr_help[] =
    "Usage: sacctmgr [-i] [-n] [-p | -P] [-Q] [-s] [--json] COMMAND ENTITY [KEY=VALUE...]\n"
    "  add ENTITY NAME KEY=VALUE...\n"
    "  modify ENTITY where KEY=VALUE... set KEY=VALUE...\n"
    "  delete ENTITY where KEY=VALUE...\n"
    "  list ENTITY [KEY=VALUE...] [format=FIELD[%WIDTH],...] [withassoc]\n"
    "  dump [CLUSTER] [file=FILE]\n"
    "  load FILE\n"
    "ENTITY: account, association, cluster, qos, tres, user\n";

bool acct_is_word(const char *word, const char *name, size_t least)
{
    size_t size = strlen(word);

    return size >= least && size <= strlen(name) && strncasecmp(word, name, size) == 0;
}

/* ---- keys ---- */

#define GROUP (ACCT_OF_ASSOCIATION | ACCT_OF_QOS)

static const struct acct_key acct_keys[] = {
    {"AdminLevel", "adminLevel", ACCT_LEVEL, ACCT_OF_USER, 2, NULL},
    {"DefaultAccount", "defaultAccount", ACCT_TEXT, ACCT_OF_USER, 8, NULL},
    {"DefaultQOS", "defaultQos", ACCT_TEXT, ACCT_OF_ASSOCIATION, 8, NULL},
    {"Description", "description", ACCT_TEXT, ACCT_OF_ACCOUNT | ACCT_OF_QOS, 2, NULL},
    {"Fairshare", "shares", ACCT_SHARES, ACCT_OF_ASSOCIATION, 1, NULL},
    {"Flags", "flags", ACCT_NAMES, ACCT_OF_QOS, 2, NULL},
    {"GraceTime", "graceTime", ACCT_SECONDS, ACCT_OF_QOS, 3, NULL},
    {"GrpCPUMins", "grpTRESMins", ACCT_TRES_OF, GROUP, 7, "cpu"},
    {"GrpCPURunMins", "grpTRESRunMins", ACCT_TRES_OF, GROUP, 7, "cpu"},
    {"GrpCPUs", "grpTRES", ACCT_TRES_OF, GROUP, 7, "cpu"},
    {"GrpJobs", "grpJobs", ACCT_NUMBER, GROUP, 4, NULL},
    {"GrpJobsAccrue", "grpJobsAccrue", ACCT_NUMBER, GROUP, 8, NULL},
    {"GrpMemory", "grpTRES", ACCT_TRES_OF, GROUP, 4, "mem"},
    {"GrpNodes", "grpTRES", ACCT_TRES_OF, GROUP, 4, "node"},
    {"GrpSubmitJobs", "grpSubmitJobs", ACCT_NUMBER, GROUP, 4, NULL},
    {"GrpTRES", "grpTRES", ACCT_TRES_LIST, GROUP, 7, NULL},
    {"GrpTRESMins", "grpTRESMins", ACCT_TRES_LIST, GROUP, 8, NULL},
    {"GrpTRESRunMins", "grpTRESRunMins", ACCT_TRES_LIST, GROUP, 8, NULL},
    {"GrpWall", "grpWall", ACCT_MINUTES, GROUP, 4, NULL},
    {"LimitFactor", "limitFactor", ACCT_FACTOR, ACCT_OF_QOS, 6, NULL},
    {"MaxCPUMinsPerJob", "maxTRESMins", ACCT_TRES_OF, GROUP, 7, "cpu"},
    {"MaxCPUsPerJob", "maxTRES", ACCT_TRES_OF, GROUP, 7, "cpu"},
    {"MaxCPUsPerUser", "maxTRESPerUser", ACCT_TRES_OF, ACCT_OF_QOS, 11, "cpu"},
    {"MaxJobs", "maxJobs", ACCT_NUMBER, ACCT_OF_ASSOCIATION, 4, NULL},
    {"MaxJobsAccrue", "maxJobsAccrue", ACCT_NUMBER, ACCT_OF_ASSOCIATION, 8, NULL},
    {"MaxJobsPerUser", "maxJobsPerUser", ACCT_NUMBER, ACCT_OF_QOS, 4, NULL},
    {"MaxJobsPU", "maxJobsPerUser", ACCT_NUMBER, ACCT_OF_QOS, 9, NULL},
    {"MaxJobsPerAccount", "maxJobsPerAccount", ACCT_NUMBER, ACCT_OF_QOS, 11, NULL},
    {"MaxJobsPA", "maxJobsPerAccount", ACCT_NUMBER, ACCT_OF_QOS, 9, NULL},
    {"MaxJobsAccruePerUser", "maxJobsAccruePerUser", ACCT_NUMBER, ACCT_OF_QOS, 8, NULL},
    {"MaxJobsAccruePU", "maxJobsAccruePerUser", ACCT_NUMBER, ACCT_OF_QOS, 15, NULL},
    {"MaxJobsAccruePerAccount", "maxJobsAccruePerAccount", ACCT_NUMBER, ACCT_OF_QOS, 17, NULL},
    {"MaxJobsAccruePA", "maxJobsAccruePerAccount", ACCT_NUMBER, ACCT_OF_QOS, 15, NULL},
    {"MaxNodesPerJob", "maxTRES", ACCT_TRES_OF, GROUP, 4, "node"},
    {"MaxNodesPerUser", "maxTRESPerUser", ACCT_TRES_OF, ACCT_OF_QOS, 12, "node"},
    {"MaxSubmitJobs", "maxSubmitJobs", ACCT_NUMBER, ACCT_OF_ASSOCIATION, 4, NULL},
    {"MaxSubmitJobsPerUser", "maxSubmitJobsPerUser", ACCT_NUMBER, ACCT_OF_QOS, 4, NULL},
    {"MaxSubmitJobsPU", "maxSubmitJobsPerUser", ACCT_NUMBER, ACCT_OF_QOS, 15, NULL},
    {"MaxSubmitPU", "maxSubmitJobsPerUser", ACCT_NUMBER, ACCT_OF_QOS, 11, NULL},
    {"MaxSubmitJobsPerAccount", "maxSubmitJobsPerAccount", ACCT_NUMBER, ACCT_OF_QOS, 17, NULL},
    {"MaxSubmitJobsPA", "maxSubmitJobsPerAccount", ACCT_NUMBER, ACCT_OF_QOS, 15, NULL},
    {"MaxSubmitPA", "maxSubmitJobsPerAccount", ACCT_NUMBER, ACCT_OF_QOS, 11, NULL},
    {"MaxTRES", "maxTRES", ACCT_TRES_LIST, GROUP, 7, NULL},
    {"MaxTRESPerJob", "maxTRES", ACCT_TRES_LIST, GROUP, 11, NULL},
    {"MaxTRESPJ", "maxTRES", ACCT_TRES_LIST, GROUP, 9, NULL},
    {"MaxTRESPerNode", "maxTRESPerNode", ACCT_TRES_LIST, GROUP, 11, NULL},
    {"MaxTRESPN", "maxTRESPerNode", ACCT_TRES_LIST, GROUP, 9, NULL},
    {"MaxTRESMinsPerJob", "maxTRESMins", ACCT_TRES_LIST, GROUP, 8, NULL},
    {"MaxTRESMinsPJ", "maxTRESMins", ACCT_TRES_LIST, GROUP, 13, NULL},
    {"MaxTRESPerUser", "maxTRESPerUser", ACCT_TRES_LIST, ACCT_OF_QOS, 11, NULL},
    {"MaxTRESPU", "maxTRESPerUser", ACCT_TRES_LIST, ACCT_OF_QOS, 9, NULL},
    {"MaxTRESPerAccount", "maxTRESPerAccount", ACCT_TRES_LIST, ACCT_OF_QOS, 11, NULL},
    {"MaxTRESPA", "maxTRESPerAccount", ACCT_TRES_LIST, ACCT_OF_QOS, 9, NULL},
    {"MaxTRESRunMinsPerUser", "maxTRESRunMinsPerUser", ACCT_TRES_LIST, ACCT_OF_QOS, 15, NULL},
    {"MaxTRESRunMinsPU", "maxTRESRunMinsPerUser", ACCT_TRES_LIST, ACCT_OF_QOS, 16, NULL},
    {"MaxTRESRunMinsPerAccount", "maxTRESRunMinsPerAccount", ACCT_TRES_LIST, ACCT_OF_QOS, 18, NULL},
    {"MaxTRESRunMinsPA", "maxTRESRunMinsPerAccount", ACCT_TRES_LIST, ACCT_OF_QOS, 16, NULL},
    {"MaxWallDurationPerJob", "maxWall", ACCT_MINUTES, GROUP, 4, NULL},
    {"MinPrioThreshold", "minPrioThreshold", ACCT_NUMBER, GROUP, 4, NULL},
    {"MinCPUsPerJob", "minTRES", ACCT_TRES_OF, ACCT_OF_QOS, 6, "cpu"},
    {"MinTRESPerJob", "minTRES", ACCT_TRES_LIST, ACCT_OF_QOS, 7, NULL},
    {"Organization", "organization", ACCT_TEXT, ACCT_OF_ACCOUNT, 1, NULL},
    {"Preempt", "preempt", ACCT_NAMES, ACCT_OF_QOS, 7, NULL},
    {"PreemptExemptTime", "preemptExemptTime", ACCT_SECONDS, ACCT_OF_QOS, 8, NULL},
    {"PreemptMode", "preemptMode", ACCT_TEXT, ACCT_OF_QOS, 8, NULL},
    {"Priority", "priority", ACCT_NUMBER, GROUP, 3, NULL},
    {"QosLevel", "qos", ACCT_NAMES, ACCT_OF_ASSOCIATION, 1, NULL},
    {"Shares", "shares", ACCT_SHARES, ACCT_OF_ASSOCIATION, 1, NULL},
    {"UsageFactor", "usageFactor", ACCT_FACTOR, ACCT_OF_QOS, 6, NULL},
    {"UsageThreshold", "usageThreshold", ACCT_FACTOR, ACCT_OF_QOS, 6, NULL},
};

const struct acct_key *acct_key_find(const char *word, unsigned of)
{
    for (size_t i = 0; i < COUNT(acct_keys); i++)
        if ((acct_keys[i].of & of) && acct_is_word(word, acct_keys[i].name, acct_keys[i].least))
            return &acct_keys[i];
    return NULL;
}

/* "-1" and "" take a limit away. */
static bool is_none(const char *value)
{
    return !*value || text_equal(value, "-1");
}

static struct err *put_tres(const struct acct_key *k, const char *value, json_t *to)
{
    AUTO_FREE char *changes =
        k->resource ? mem_format("%s=%s", k->resource, *value ? value : "-1") : mem_strdup(value);
    AUTO_FREE char *text = NULL;

    if (!k->resource && is_none(value)) {
        (void)json_object_del(to, k->member);
        return NULL;
    }
    TRY(slurm_tres_change(json_text(to, k->member), changes, &text));
    json_put_text(to, k->member, *text ? text : NULL);
    return NULL;
}

static void names_remove(json_t *list, struct str name)
{
    for (size_t i = json_array_size(list); i > 0; i--)
        if (str_equal(name, str_of(json_string_value(json_array_get(list, i - 1)))))
            (void)json_array_remove(list, i - 1);
}

/* "a,b", "+a", "-b" with the operators = += -=. An empty list takes the member away. */
static void put_names(const struct acct_key *k, const struct acct_term *t, json_t *to)
{
    AUTO(json_freep) json_t *list = json_deep_copy(json_object_get(to, k->member));
    struct str rest = str_of(t->value);

    if (!list || (t->operation == '=' && (!*t->value || !strchr("+-", *t->value)))) {
        json_decref(list);
        list = json_array();
    }
    while (rest.at) {
        struct str name = str_cut(&rest, ',');
        char how = t->operation;

        if (name.size > 0 && (*name.at == '+' || *name.at == '-')) {
            how = *name.at;
            name = (struct str){name.at + 1, name.size - 1};
        }
        if (name.size == 0 || str_equal(name, STR("1")))
            continue; /* "-1": none */
        names_remove(list, name);
        if (how != '-')
            (void)json_array_append_new(list, json_stringn(name.at, name.size));
    }
    (void)json_object_del(to, k->member);
    if (json_array_size(list) > 0)
        json_put(to, k->member, json_incref(list));
}

static struct err *put_number(const struct acct_key *k, const char *value, json_t *to)
{
    int64_t n = 0;

    if (is_none(value)) {
        (void)json_object_del(to, k->member);
        return NULL;
    }
    if (k->type == ACCT_MINUTES)
        TRY(slurm_minutes_parse(str_of(value), &n));
    else
        TRY(num_parse_int64(str_of(value), 0, INT32_MAX, &n));
    json_put_int(to, k->member, n);
    return NULL;
}

/* Seconds alone, or as a time. */
static struct err *put_seconds(const struct acct_key *k, const char *value, json_t *to)
{
    struct str rest = str_of(value);
    int64_t seconds = 0;

    if (is_none(value)) {
        (void)json_object_del(to, k->member);
        return NULL;
    }
    while (rest.at) {
        int64_t part = 0;

        TRY(num_parse_int64(str_cut(&rest, ':'), 0, INT32_MAX / 3600, &part));
        seconds = seconds * 60 + part;
    }
    json_put_int(to, k->member, seconds);
    return NULL;
}

static struct err *put_shares(const char *value, json_t *to)
{
    bool is_of_parent = strcasecmp(value, "parent") == 0;
    int64_t n = 1;

    if (!is_of_parent && !is_none(value))
        TRY(num_parse_int64(str_of(value), 0, INT32_MAX - 1, &n));
    json_put_int(to, "shares", n);
    (void)json_object_del(to, "sharesOfParent");
    if (is_of_parent)
        json_put_bool(to, "sharesOfParent", true);
    return NULL;
}

static struct err *put_level(const char *value, json_t *to)
{
    static const char *const levels[] = {"None", "Operator", "Administrator"};

    for (size_t i = 0; i < COUNT(levels); i++)
        if (acct_is_word(value, levels[i], 1)) {
            json_put_text(to, "adminLevel", levels[i]);
            return NULL;
        }
    return err_new(ERR_INVALID, "want None, Operator or Admin");
}

struct err *acct_key_put(const struct acct_key *k, const struct acct_term *t, json_t *to)
{
    struct err *e = NULL;

    switch (k->type) {
    case ACCT_TEXT:
    case ACCT_FACTOR:
        json_put_text(to, k->member, is_none(t->value) ? NULL : t->value);
        break;
    case ACCT_TRES_LIST:
    case ACCT_TRES_OF:
        e = put_tres(k, t->value, to);
        break;
    case ACCT_NAMES:
        put_names(k, t, to);
        break;
    case ACCT_NUMBER:
    case ACCT_MINUTES:
        e = put_number(k, t->value, to);
        break;
    case ACCT_SECONDS:
        e = put_seconds(k, t->value, to);
        break;
    case ACCT_SHARES:
        e = put_shares(t->value, to);
        break;
    case ACCT_LEVEL:
        e = put_level(t->value, to);
        break;
    }
    return e ? err_wrap(e, " Bad %s value: %s", k->name, t->value) : NULL;
}

/* ---- requests ---- */

static const struct {
    const char *name;
    enum acct_verb verb;
    size_t least;
} verbs[] = {
    {"add", ACCT_ADD, 2},       {"create", ACCT_ADD, 1},      {"delete", ACCT_DELETE, 2},
    {"remove", ACCT_DELETE, 1}, {"dump", ACCT_DUMP, 2},       {"list", ACCT_LIST, 2},
    {"show", ACCT_LIST, 2},     {"load", ACCT_LOAD, 2},       {"modify", ACCT_MODIFY, 1},
    {"update", ACCT_MODIFY, 1}, {"version", ACCT_VERSION, 4},
};

static const struct {
    const char *name;
    enum acct_entity entity;
    size_t least;
} entities[] = {
    {"accounts", ACCT_ACCOUNT, 2}, {"associations", ACCT_ASSOCIATION, 2},
    {"clusters", ACCT_CLUSTER, 2}, {"qos", ACCT_QOS, 1},
    {"tres", ACCT_TRES, 2},        {"users", ACCT_USER, 1},
};

static const char *const absent_entities[] = {
    "archive",      "configuration", "coordinators", "events", "federations",  "problem",
    "reservations", "resources",     "runawayjobs",  "stats",  "transactions", "wckeys",
};

static struct err *read_entity(const char *verb, const char *word, enum acct_entity *ret)
{
    for (size_t i = 0; i < COUNT(entities); i++)
        if (acct_is_word(word, entities[i].name, entities[i].least)) {
            *ret = entities[i].entity;
            return NULL;
        }
    for (size_t i = 0; i < COUNT(absent_entities); i++)
        if (acct_is_word(word, absent_entities[i], 2))
            return err_new(ERR_INVALID, "%s are not available: docs/slurm.md", absent_entities[i]);
    return err_new(ERR_INVALID,
                   "No valid entity in %s command\nInput line must include \"Account\", "
                   "\"Association\", \"Cluster\", \"QOS\", \"TRES\", or \"User\"",
                   verb);
}

/* The text without the quotes around it. */
static char *unquote(const char *text)
{
    size_t size = strlen(text);

    if (size >= 2 && (*text == '\'' || *text == '"') && text[size - 1] == *text)
        return mem_strndup(text + 1, size - 2);
    return mem_strdup(text);
}

static struct acct_term read_term(const char *word)
{
    const char *equals = strchr(word, '=');
    size_t size = equals ? (size_t)(equals - word) : strlen(word);
    struct acct_term t = {.operation = '='};

    if (equals && size > 0 && (word[size - 1] == '+' || word[size - 1] == '-')) {
        t.operation = word[size - 1];
        size--;
    }
    t.key = mem_strndup(word, size);
    t.value = equals ? unquote(equals + 1) : NULL;
    return t;
}

static void read_words(size_t n, const char *const *words, struct acct_request *r)
{
    bool is_set = false;

    for (size_t i = 0; i < n; i++) {
        if (strcasecmp(words[i], "set") == 0 || strcasecmp(words[i], "where") == 0) {
            is_set = strcasecmp(words[i], "set") == 0;
        } else if (acct_is_word(words[i], "withassoc", 6)) {
            r->has_associations = true;
        } else if (strncasecmp(words[i], "format=", 7) == 0) {
            free(r->format);
            r->format = unquote(words[i] + 7);
        } else if (is_set) {
            vec_add(&r->set, read_term(words[i]));
        } else {
            vec_add(&r->where, read_term(words[i]));
        }
    }
}

static struct err *request_read(size_t n, const char *const *words, struct acct_request *r)
{
    size_t first = 1;
    size_t verb = 0;

    if (n == 0)
        return err_new(ERR_INVALID, "no command given: interactive use is not available");
    while (verb < COUNT(verbs) && !acct_is_word(words[0], verbs[verb].name, verbs[verb].least))
        verb++;
    if (verb == COUNT(verbs))
        return err_new(ERR_INVALID, "invalid keyword: %s", words[0]);
    r->verb = verbs[verb].verb;
    if (r->verb == ACCT_VERSION)
        return NULL;
    if (r->verb != ACCT_DUMP && r->verb != ACCT_LOAD) {
        if (n == 1)
            return err_new(ERR_INVALID, "too few arguments for keyword:%s", words[0]);
        TRY(read_entity(verbs[verb].name, words[1], &r->entity));
        first = 2;
    }
    read_words(n - first, words + first, r);
    return NULL;
}

struct err *acct_request_read(size_t n, const char *const *words, struct acct_request *ret)
{
    struct acct_request r = {0};
    struct err *e = request_read(n, words, &r);

    if (e) {
        acct_request_done(&r);
        return e;
    }
    *ret = r;
    return NULL;
}

static void terms_done(struct acct_term *terms, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(terms[i].key);
        free(terms[i].value);
    }
}

void acct_request_done(struct acct_request *r)
{
    terms_done(r->where.at, r->where.n);
    terms_done(r->set.at, r->set.n);
    vec_done(&r->where);
    vec_done(&r->set);
    free(r->format);
    *r = (struct acct_request){0};
}

const char *acct_term_value(const struct acct_term *terms, size_t n, const char *name, size_t least)
{
    const char *value = NULL;

    for (size_t i = 0; i < n; i++)
        if (terms[i].value && acct_is_word(terms[i].key, name, least))
            value = terms[i].value;
    return value;
}

bool acct_in_list(const char *list, const char *name)
{
    struct str rest = str_of(list);
    size_t size = strlen(name);

    if (!list)
        return true;
    while (rest.at) {
        struct str item = str_cut(&rest, ',');

        if (item.size == size && strncasecmp(item.at, name, size) == 0)
            return true;
    }
    return false;
}

const char *acct_name_of(const json_t *object)
{
    return text_or_empty(json_text_at(object, "metadata", "name", NULL));
}

const json_t *acct_find(const json_t *objects, const char *name)
{
    for (size_t i = 0; i < json_array_size(objects); i++)
        if (text_equal(acct_name_of(json_array_get(objects, i)), name))
            return json_array_get(objects, i);
    return NULL;
}
