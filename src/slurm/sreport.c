/* sreport.c - words, sums and tables of sreport */

#include "slurm/sreport.h"

#include <inttypes.h>
#include <strings.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "model/slurm_time.h"
#include "slurm/query.h"

#define NO  SLURM_TAKES_NOTHING
#define YES SLURM_TAKES_VALUE

const struct slurm_option sreport_options[] = {
    {"all_clusters", NULL, 'a', NO},
    {"federation", NULL, 0, NO},
    {"help", NULL, 'h', NO},
    {"local", NULL, 0, NO},
    {"noheader", NULL, 'n', NO},
    {"parsable", NULL, 'p', NO},
    {"parsable2", NULL, 'P', NO},
    {"quiet", NULL, 'Q', NO},
    {"time", NULL, 't', YES},
    {"tres", NULL, 'T', YES},
    {"verbose", NULL, 'v', NO},
    {"version", NULL, 'V', NO},
    {0},
};

const char sreport_help[] =
    "Usage: sreport [-n] [-p | -P] [-t format] [-T tres] REPORT [start=TIME] [end=TIME]\n"
    "               [accounts=LIST] [users=LIST] [format=FIELDS] [tree] [group] [topcount=N]\n"
    "  REPORT: cluster Utilization | AccountUtilizationByUser | UserUtilizationByAccount,\n"
    "          user TopUsage\n"
    "  format: Seconds, Minutes, Hours, Percent, SecPer, MinPer, HourPer\n"
    "  tres:   cpu, mem, node, billing, gres/gpu, energy, ALL\n";

enum {
    HOUR_S = 3600,
    WIDTH_USED = 8,
    WIDTH_PERCENT = 17, /* of a number with its percentage */
    TOP_DEFAULT = 10
};

/* ---- what is counted ---- */

struct sreport_tres {
    const char *name;
    const char *key;  /* of rows and capacity */
    const char *down; /* of the capacity; NULL: there is no capacity */
    int64_t unit;     /* of a resource x second */
};

static const struct sreport_tres tres_all[] = {
    {"cpu", "cpuMs", "cpuDownMs", 1000},
    {"mem", "memoryMibMs", "memoryDownMibMs", 1000},
    {"energy", "energyMicrojoules", NULL, 1000000}, /* joules */
    {"node", "nodeMs", "nodeDownMs", 1000},
    {"billing", "cpuMs", "cpuDownMs", 1000},
    {"gres/gpu", "gpuMs", "gpuDownMs", 1000},
};
enum {
    TRES_CPU = 0,
    TRES_ENERGY = 2
};

static const struct {
    const char *word; /* a prefix suffices, of at least: */
    size_t least;
    const char *title; /* behind "CPU " or "TRES "; NULL: a percentage alone */
    int64_t seconds;
    bool has_percent;
} times[] = {
    {"secper", 4, "Seconds/Percentage of Total", 1, true},
    {"minper", 4, "Minutes/Percentage of Total", 60, true},
    {"hourper", 5, "Hours/Percentage of Total", 3600, true},
    {"seconds", 1, "Seconds", 1, false},
    {"minutes", 1, "Minutes", 60, false},
    {"hours", 1, "Hours", 3600, false},
    {"percent", 1, NULL, 1, true},
};
enum {
    TIME_MINUTES = 4
};

/* ---- words ---- */

static bool is_prefix_of(struct str word, const char *whole, size_t least)
{
    return word.size >= least && word.size <= strlen(whole) &&
           strncasecmp(word.at, whole, word.size) == 0;
}

static struct err *sreport_read_kind(struct sreport *s, size_t *ret_n)
{
    static const struct {
        const char *group;
        const char *report;
        int kind; /* -1: known by name */
    } known[] = {
        {"cluster", "Utilization", SREPORT_UTILIZATION},
        {"cluster", "AccountUtilizationByUser", SREPORT_ACCOUNTS},
        {"cluster", "UserUtilizationByAccount", SREPORT_USERS},
        {"cluster", "UserUtilizationByWckey", -1},
        {"cluster", "WCKeyUtilizationByUser", -1},
        {"user", "TopUsage", SREPORT_TOP},
        {"job", "SizesByAccount", -1},
        {"job", "SizesByAccountAndWckey", -1},
        {"job", "SizesByWckey", -1},
        {"reservation", "Utilization", -1},
    };
    const char *const *at = s->words->arguments.at;
    bool has_group = false;

    if (s->words->arguments.n == 0)
        return err_new(ERR_INVALID, "want a report: sreport --help");
    for (size_t i = 0; i < COUNT(known); i++) {
        if (!is_prefix_of(str_of(at[0]), known[i].group, 1))
            continue;
        has_group = true;
        /* The prefix of UserUtilizationBy... that fits two reports means the first. */
        if (s->words->arguments.n < 2 || !is_prefix_of(str_of(at[1]), known[i].report, 1))
            continue;
        if (known[i].kind < 0)
            return err_new(ERR_INVALID, "%s %s is not available yet: docs/slurm.md", known[i].group,
                           known[i].report);
        s->kind = (enum sreport_kind)known[i].kind;
        *ret_n = 2;
        return NULL;
    }
    if (!has_group)
        return err_new(ERR_INVALID, "invalid keyword: %s", at[0]);
    if (s->words->arguments.n < 2)
        return err_new(ERR_INVALID, "too few arguments for keyword:%s", at[0]);
    return err_new(ERR_INVALID, "Not valid report %s", at[1]);
}

static struct err *sreport_read_moment(struct str text, const struct slurm_view *v, int64_t *ret)
{
    AUTO(err_freep) struct err *e = slurm_moment_parse(text, v->now_s, v->zone, false, ret);

    if (!e)
        return NULL;
    return err_new(ERR_INVALID, "Invalid time specification (pos=0): " STR_FMT, STR_ARG(text));
}

/* Reads "start=TIME" and the like. */
static struct err *sreport_read_condition(struct sreport *s, const char *word,
                                          const struct slurm_view *v)
{
    struct str value = str_of(word);
    struct str key = str_cut(&value, '=');

    if (!value.at && is_prefix_of(key, "tree", 4) && s->kind == SREPORT_ACCOUNTS)
        s->is_tree = true;
    else if (!value.at && is_prefix_of(key, "group", 1) && s->kind == SREPORT_TOP)
        s->is_grouped = true;
    else if (!value.at && is_prefix_of(key, "all_clusters", 1))
        return NULL; /* there is one */
    else if (value.at && is_prefix_of(key, "start", 1))
        return sreport_read_moment(value, v, &s->from_s);
    else if (value.at && is_prefix_of(key, "end", 1))
        return sreport_read_moment(value, v, &s->to_s);
    else if (value.at && is_prefix_of(key, "format", 1))
        s->fields = value.at;
    else if (value.at && is_prefix_of(key, "accounts", 2) && s->kind != SREPORT_UTILIZATION)
        s->accounts = value.at;
    else if (value.at && is_prefix_of(key, "users", 1) && s->kind != SREPORT_UTILIZATION)
        s->users = value.at;
    else if (value.at && is_prefix_of(key, "topcount", 2) && s->kind == SREPORT_TOP)
        return num_parse_int64(value, 1, INT32_MAX, &s->top);
    else
        return err_new(ERR_INVALID, " Unknown condition: %s", word);
    return NULL;
}

static struct err *sreport_read_time(struct sreport *s)
{
    const char *text = slurm_words_value(s->words, "time");

    s->time = TIME_MINUTES;
    for (unsigned i = 0; text && i < COUNT(times); i++)
        if (is_prefix_of(str_of(text), times[i].word, times[i].least)) {
            s->time = i;
            return NULL;
        }
    return text ? err_new(ERR_INVALID, "unknown time format %s", text) : NULL;
}

static struct err *sreport_read_tres(struct sreport *s)
{
    const char *list = slurm_words_value(s->words, "tres");
    bool is_all = list && strcasecmp(list, "ALL") == 0;

    s->has_tres = list != NULL;
    for (unsigned i = 0; i < COUNT(tres_all); i++)
        if (list ? is_all || slurm_list_has(list, tres_all[i].name) : i == TRES_CPU)
            s->tres |= 1U << i;
    return s->tres == 0 ? err_new(ERR_INVALID, "No valid TRES given") : NULL;
}

/* Hours begin full. Without times the period is yesterday. */
static struct err *sreport_read_period(struct sreport *s, const struct slurm_view *v)
{
    int64_t today_s = 0;

    TRY(slurm_moment_parse(STR("today"), v->now_s, v->zone, false, &today_s));
    if (s->from_s < 0)
        TRY(slurm_moment_parse(STR("today"), today_s - 12 * HOUR_S, v->zone, false, &s->from_s));
    if (s->to_s < 0)
        s->to_s = today_s;
    s->from_s -= s->from_s % HOUR_S;
    s->to_s = (s->to_s + HOUR_S - 1) / HOUR_S * HOUR_S;
    if (s->to_s <= s->from_s)
        s->to_s = s->from_s + HOUR_S;
    return NULL;
}

struct err *sreport_read(const struct slurm_words *words, const struct slurm_view *v,
                         struct sreport *ret)
{
    struct sreport s = {.words = words, .from_s = -1, .to_s = -1, .top = TOP_DEFAULT};
    size_t n = 0;

    TRY(sreport_read_kind(&s, &n));
    for (size_t i = n; i < words->arguments.n; i++)
        TRY(sreport_read_condition(&s, words->arguments.at[i], v));
    TRY(sreport_read_time(&s));
    TRY(sreport_read_tres(&s));
    TRY(sreport_read_period(&s, v));
    *ret = s;
    return NULL;
}

/* ---- numbers ---- */

static int64_t rounded(__int128 n, int64_t by)
{
    return by > 0 ? (int64_t)((2 * n + by) / (2 * (__int128)by)) : 0;
}

/* The capacity of the cluster in a tres over the period, in resource x seconds. */
static int64_t sreport_total(const struct sreport_data *data, const struct sreport_tres *t)
{
    const json_t *capacity = json_object_get(data->rollup, "capacity");

    return t->down ? rounded(json_int(capacity, t->key, 0), t->unit) : 0;
}

/* "720", "50.00%", "720(50.00%)". The caller frees it. */
static char *sreport_number(const struct sreport *s, int64_t seconds, int64_t total, bool is_joules)
{
    int64_t percent = total > 0 ? rounded((__int128)seconds * 10000, total) : 0;
    int64_t n = is_joules ? seconds : rounded(seconds, times[s->time].seconds);

    if (!times[s->time].has_percent)
        return mem_format("%" PRId64, n);
    if (!times[s->time].title)
        return mem_format("%" PRId64 ".%02" PRId64 "%%", percent / 100, percent % 100);
    return mem_format("%" PRId64 "(%" PRId64 ".%02" PRId64 "%%)", n, percent / 100, percent % 100);
}

/* ---- rows ---- */

/* The rows of a table, which lists each tres that is asked for. */
struct sreport_table {
    const struct sreport *s;
    const struct sreport_data *data;
    json_t *rows;
    int64_t largest; /* of all numbers, in resource x seconds */
};

static void table_put(struct sreport_table *t, json_t *row, const char *member, int64_t seconds,
                      const struct sreport_tres *tres)
{
    AUTO_FREE char *text =
        sreport_number(t->s, seconds, sreport_total(t->data, tres), tres == &tres_all[TRES_ENERGY]);

    json_put_text(row, member, text);
    t->largest = seconds > t->largest ? seconds : t->largest;
}

/* Adds a row for each tres; `sums` has its members. */
static void table_add(struct sreport_table *t, const char *account, const char *user,
                      const json_t *sums)
{
    AUTO_FREE char *proper = user ? t->data->name_of(user) : NULL;
    const struct sreport_tres *energy = &tres_all[TRES_ENERGY];

    for (unsigned i = 0; i < COUNT(tres_all); i++) {
        json_t *row = NULL;

        if (!(t->s->tres & (1U << i)))
            continue;
        row = json_object();
        json_put_text(row, "account", account);
        json_put_text(row, "login", user);
        json_put_text(row, "proper", proper);
        json_put_text(row, "tres", tres_all[i].name);
        json_put_int(row, "seconds", rounded(json_int(sums, tres_all[i].key, 0), tres_all[i].unit));
        table_put(t, row, "used", json_int(row, "seconds", 0), &tres_all[i]);
        table_put(t, row, "energy", rounded(json_int(sums, energy->key, 0), energy->unit), energy);
        (void)json_array_append_new(t->rows, row); /* fresh: cannot fail */
    }
}

/* Adds each member once: several tres have the same one. */
static void sums_add(json_t *to, const json_t *from)
{
    static const char *const keys[] = {"cpuMs", "memoryMibMs", "nodeMs", "gpuMs",
                                       "energyMicrojoules"};

    for (size_t i = 0; to && i < COUNT(keys); i++)
        json_put_int(to, keys[i], json_int(to, keys[i], 0) + json_int(from, keys[i], 0));
}

static bool sums_have_any(const json_t *sums)
{
    for (unsigned i = 0; i < COUNT(tres_all); i++)
        if (json_int(sums, tres_all[i].key, 0) > 0)
            return true;
    return false;
}

/* {ACCOUNT: {USER: sums}}, over the namespaces. New reference. */
static json_t *sreport_by_account(const struct sreport_data *data)
{
    json_t *all = json_object();
    const json_t *row = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(data->rollup, "rows"), i, row)
        sums_add(json_object_at(json_object_at(all, text_or_empty(json_text(row, "account"))),
                                text_or_empty(json_text(row, "user"))),
                 row);
    return all;
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The keys of an object in order; the caller frees the array. */
static const char **sorted_keys(const json_t *object)
{
    const char **keys = mem_alloc((json_object_size(object) + 1) * sizeof(char *));
    const char *key;
    json_t *value;
    size_t n = 0;

    json_object_foreach ((json_t *)(uintptr_t)object, key, value)
        keys[n++] = key;
    qsort(keys, n, sizeof(char *), compare_texts);
    return keys;
}

static bool is_listed(const char *list, const char *word)
{
    return !list || slurm_list_has(list, word);
}

/* ---- cluster AccountUtilizationByUser ---- */

static void table_add_account(struct sreport_table *t, const char *account, int depth,
                              const json_t *sums, const json_t *users)
{
    AUTO_FREE const char **names = sorted_keys(users);
    AUTO_FREE char *shown = mem_format("%*s%s", t->s->is_tree ? depth : 0, "", account);
    AUTO_FREE char *below = mem_format("%*s%s", t->s->is_tree ? depth + 1 : 0, "", account);

    if (!is_listed(t->s->accounts, account) || !sums_have_any(sums))
        return;
    if (!t->s->users)
        table_add(t, shown, NULL, sums);
    for (size_t i = 0; names[i]; i++)
        if (is_listed(t->s->users, names[i]))
            table_add(t, below, names[i], json_object_get(users, names[i]));
}

/* Adds what users of the account used to it and to all accounts above. */
static void sums_add_users(json_t *const above[], int depth, const json_t *users)
{
    const char *name;
    json_t *sums;

    json_object_foreach ((json_t *)(uintptr_t)users, name, sums)
        for (int i = 0; i <= depth; i++)
            sums_add(above[i], sums);
}

enum {
    DEPTH_MAX = 64 /* of accounts */
};

/* The sums of accounts with those below them, {ACCOUNT: sums}. Accounts that are gone count for the
 * root alone. New reference. */
static json_t *sreport_account_sums(const struct sreport_data *data, const json_t *by_account)
{
    json_t *all = json_object();
    json_t *above[DEPTH_MAX + 1] = {0};
    json_t *known = json_object();
    const json_t *share = NULL;
    const char *name;
    json_t *users;
    size_t i = 0;

    json_array_foreach (data->shares, i, share) {
        int64_t depth = json_int(share, "depth", 0);
        const char *account = text_or_empty(json_text(share, "account"));

        if (json_text(share, "user") || depth < 0 || depth > DEPTH_MAX)
            continue;
        above[depth] = json_object_at(all, account);
        json_put_bool(known, account, true);
        sums_add_users(above, (int)depth, json_object_get(by_account, account));
    }
    json_object_foreach ((json_t *)(uintptr_t)by_account, name, users)
        if (!json_object_get(known, name)) {
            json_t *alone[2] = {json_object_at(all, name), above[0]};

            sums_add_users(alone, 1, users);
        }
    json_decref(known);
    return all;
}

/* Adds the accounts that are left in `sums`, in the order of their names. */
static void table_add_left(struct sreport_table *t, const json_t *sums, const json_t *by_account)
{
    AUTO_FREE const char **left = sorted_keys(sums);
    AUTO(json_freep) json_t *none = json_object();

    for (size_t i = 0; left[i]; i++) {
        const json_t *users = json_object_get(by_account, left[i]);

        table_add_account(t, left[i], 1, json_object_get(sums, left[i]), users ? users : none);
    }
}

/* Accounts are in the order of the tree; a list of users has the order of names. */
static void table_add_accounts(struct sreport_table *t)
{
    AUTO(json_freep) json_t *by_account = sreport_by_account(t->data);
    AUTO(json_freep) json_t *sums = sreport_account_sums(t->data, by_account);
    AUTO(json_freep) json_t *none = json_object();
    const json_t *share = NULL;
    size_t i = 0;

    json_array_foreach (t->data->shares, i, share) {
        const char *account = text_or_empty(json_text(share, "account"));
        const json_t *users = json_object_get(by_account, account);

        if (json_text(share, "user") || t->s->users)
            continue;
        table_add_account(t, account, (int)json_int(share, "depth", 0),
                          json_object_get(sums, account), users ? users : none);
        (void)json_object_del(sums, account); /* what is left is gone from the tree */
    }
    table_add_left(t, sums, by_account);
}

/* ---- users ---- */

static int compare_rows(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left;
    const json_t *b = *(json_t *const *)right;
    int64_t x = json_int(a, "cpuMs", 0);
    int64_t y = json_int(b, "cpuMs", 0);
    int order;

    if (json_int(a, "whole", 0) != json_int(b, "whole", 0))
        return json_int(a, "whole", 0) > json_int(b, "whole", 0) ? -1 : 1;
    order = strcmp(text_or_empty(json_text(a, "user")), text_or_empty(json_text(b, "user")));
    if (order != 0)
        return order;
    if (x != y)
        return x > y ? -1 : 1;
    return strcmp(text_or_empty(json_text(a, "account")), text_or_empty(json_text(b, "account")));
}

/* Pairs of user and account, or users, as rows with sums; `whole` is what the user used. */
static json_t *sreport_pairs(const struct sreport *s, const json_t *by_account)
{
    AUTO(json_freep) json_t *wholes = json_object();
    AUTO_FREE const char **accounts = sorted_keys(by_account);
    json_t *pairs = json_array();
    json_t *pair = NULL;
    const char *user;
    json_t *sums;
    size_t k = 0;

    for (size_t i = 0; accounts[i]; i++) {
        json_object_foreach (json_object_get(by_account, accounts[i]), user, sums) {
            json_t *whole = json_object_at(wholes, user);
            const char *before = json_text(whole, "account");
            AUTO_FREE char *list = before && s->is_grouped
                                       ? mem_format("%s, %s", before, accounts[i])
                                       : mem_strdup(accounts[i]);

            if (!is_listed(s->users, user) || !is_listed(s->accounts, accounts[i]) ||
                !sums_have_any(sums))
                continue;
            sums_add(whole, sums);
            json_put_text(whole, "account", list);
            json_put_text(whole, "user", user);
            pair = s->is_grouped ? json_incref(whole) : json_copy(sums);
            json_put_text(pair, "account", list);
            json_put_text(pair, "user", user);
            if (!s->is_grouped || !before)
                (void)json_array_append(pairs, pair); /* cannot fail */
            json_decref(pair);
        }
    }
    json_array_foreach (pairs, k, pair)
        json_put_int(
            pair, "whole",
            json_int(json_object_get(wholes, text_or_empty(json_text(pair, "user"))), "cpuMs", 0));
    return pairs;
}

/* The users who used most come first; a user's accounts by what was used. */
static void table_add_users(struct sreport_table *t)
{
    AUTO(json_freep) json_t *by_account = sreport_by_account(t->data);
    AUTO(json_freep) json_t *pairs = sreport_pairs(t->s, by_account);
    size_t n = json_array_size(pairs);
    AUTO_FREE json_t **sorted = mem_alloc((n + 1) * sizeof(json_t *));
    size_t most = t->s->kind == SREPORT_TOP ? (size_t)t->s->top : n;

    for (size_t i = 0; i < n; i++)
        sorted[i] = json_array_get(pairs, i);
    qsort(sorted, n, sizeof(json_t *), compare_rows);
    for (size_t i = 0; i < n && i < most; i++)
        table_add(t, json_text(sorted[i], "account"), json_text(sorted[i], "user"), sorted[i]);
}

/* ---- cluster utilization ---- */

static int64_t sum_of_rows(const struct sreport_data *data, const struct sreport_tres *tres)
{
    const json_t *row = NULL;
    int64_t sum = 0;
    size_t i = 0;

    json_array_foreach (json_object_get(data->rollup, "rows"), i, row)
        sum += json_int(row, tres->key, 0);
    return rounded(sum, tres->unit);
}

/* Time of which Mete knows nothing counts nowhere: what was allocated then, too, is left out. */
static void table_add_utilization(struct sreport_table *t)
{
    const json_t *capacity = json_object_get(t->data->rollup, "capacity");

    for (unsigned i = 0; i < COUNT(tres_all); i++) {
        const struct sreport_tres *tres = &tres_all[i];
        int64_t total = sreport_total(t->data, tres);
        int64_t allocated = sum_of_rows(t->data, tres);
        int64_t down = tres->down ? rounded(json_int(capacity, tres->down, 0), tres->unit) : 0;
        json_t *row = NULL;

        if (!(t->s->tres & (1U << i)) || total == 0)
            continue;
        allocated = allocated < total ? allocated : total;
        down = down < total - allocated ? down : total - allocated;
        row = json_object();
        json_put_text(row, "tres", tres->name);
        table_put(t, row, "allocated", allocated, tres);
        table_put(t, row, "down", down, tres);
        table_put(t, row, "plannedDown", 0, tres);
        table_put(t, row, "idle", total - allocated - down, tres);
        table_put(t, row, "planned", 0, tres);
        table_put(t, row, "reported", total, tres);
        (void)json_array_append_new(t->rows, row); /* fresh: cannot fail */
    }
}

/* ---- table ---- */

#define KEY(name, header, key, other, width)     \
    {                                            \
        0, name, header, NULL, key, other, width \
    }

static const struct slurm_column columns[] = {
    KEY("Accounts", "Account", "account", "", 15),
    KEY("Allocated", "Allocated", "allocated", "", 0),
    KEY("Cluster", "Cluster", "cluster", "mete", 9),
    KEY("Down", "Down", "down", "", 0),
    KEY("Energy", "Energy", "energy", "", 0),
    KEY("Idle", "Idle", "idle", "", 0),
    KEY("Login", "Login", "login", "", 9),
    KEY("Planned", "Planned", "planned", "", 0), /* before the next: a prefix of it */
    KEY("PlannedDown", "PLND Down", "plannedDown", "", 0),
    KEY("Proper", "Proper Name", "proper", "", 15),
    KEY("Reported", "Reported", "reported", "", 0),
    KEY("TresName", "TRES Name", "tres", "", 14),
    KEY("Used", "Used", "used", "", 0),
    {0},
};

static const char *sreport_fields(const struct sreport *s)
{
    static const char *const plain[] = {"Cluster,Allocated,Down,PlannedDown,Idle,Planned,Reported",
                                        "Cluster,Accounts,Login,Proper,Used,Energy",
                                        "Cluster,Login,Proper,Accounts,Used,Energy",
                                        "Cluster,Login,Proper,Accounts,Used,Energy"};
    static const char *const with_tres[] = {
        "Cluster,TresName,Allocated,Down,PlannedDown,Idle,Planned,Reported",
        "Cluster,Accounts,Login,Proper,TresName,Used",
        "Cluster,Login,Proper,Accounts,TresName,Used",
        "Cluster,Login,Proper,Accounts,TresName,Used"};

    return s->fields ? s->fields : s->has_tres ? with_tres[s->kind] : plain[s->kind];
}

/* Numbers have room for the largest in seconds. */
static int number_width(const struct sreport_table *t)
{
    AUTO_FREE char *text = mem_format("%" PRId64, t->largest);
    int width = (int)strlen(text) > WIDTH_USED ? (int)strlen(text) : WIDTH_USED;

    return times[t->s->time].has_percent && times[t->s->time].title && width < WIDTH_PERCENT
               ? WIDTH_PERCENT
               : width;
}

static const struct slurm_column *column_of(struct str name)
{
    for (const struct slurm_column *c = columns; c->header; c++)
        if (is_prefix_of(name, c->name, name.size > 1 ? 1 : 2))
            return c;
    return NULL;
}

static struct err *sreport_add_field(const struct sreport_table *t, struct str item,
                                     struct slurm_format *f)
{
    bool is_parsable =
        slurm_words_has(t->s->words, "parsable") || slurm_words_has(t->s->words, "parsable2");
    struct str width = item;
    struct str name = str_cut(&width, '%');
    struct slurm_cell cell = {.column = column_of(name), .is_right = true};
    int64_t n = 0;

    if (!cell.column)
        return err_new(ERR_INVALID, " Unknown field '" STR_FMT "'", STR_ARG(name));
    n = cell.column->width > 0 ? cell.column->width : number_width(t);
    if (t->s->is_tree && text_equal(cell.column->key, "account")) {
        n = 20;
        cell.is_right = false;
    }
    if (width.at)
        TRY(num_parse_int64(width, -SLURM_WIDTH_LARGEST, SLURM_WIDTH_LARGEST, &n));
    cell.is_right = cell.is_right && n > 0;
    cell.width = is_parsable ? 0 : (int)(n < 0 ? -n : n);
    cell.suffix = mem_strdup(is_parsable ? "|" : " ");
    vec_add(&f->cells, cell);
    return NULL;
}

static struct err *sreport_read_format(const struct sreport_table *t, struct slurm_format *f)
{
    struct str rest = str_of(sreport_fields(t->s));

    while (rest.at) {
        struct str item = str_cut(&rest, ',');

        if (item.size > 0)
            TRY(sreport_add_field(t, item, f));
    }
    if (slurm_words_has(t->s->words, "parsable2") && f->cells.n > 0) {
        free(f->cells.at[f->cells.n - 1].suffix);
        f->cells.at[f->cells.n - 1].suffix = NULL;
    }
    return NULL;
}

static void sreport_add_title(const struct sreport *s, const struct slurm_view *v, struct buf *out)
{
    static const char *const titles[] = {"Cluster Utilization", "Cluster/Account/User Utilization",
                                         "Cluster/User/Account Utilization", NULL};
    static const char line[] =
        "--------------------------------------------------------------------------------\n";
    char from[SLURM_TIME_TEXT_SIZE];
    char to[SLURM_TIME_TEXT_SIZE];

    slurm_stamp_format(s->from_s, v->zone, "", from);
    slurm_stamp_format(s->to_s - 1, v->zone, "", to);
    buf_add_text(out, line);
    if (titles[s->kind])
        buf_add_text(out, titles[s->kind]);
    else
        buf_printf(out, "Top %" PRId64 " Users", s->top);
    buf_printf(out, " %s - %s", from, to);
    if (s->kind != SREPORT_UTILIZATION)
        buf_printf(out, " (%" PRId64 " secs)", s->to_s - s->from_s);
    if (times[s->time].title)
        buf_printf(out, "\nUsage reported in %s %s\n", s->has_tres ? "TRES" : "CPU",
                   times[s->time].title);
    else
        buf_add_text(out, "\nUsage reported in Percentage of Total\n");
    buf_add_text(out, line);
}

static void sreport_add_dashes(const struct slurm_format *f, struct buf *out)
{
    if (f->cells.n == 0 || f->cells.at[0].width == 0)
        return;
    VEC_EACH (&f->cells, cell) {
        for (int k = 0; k < cell->width; k++)
            buf_add_char(out, '-');
        buf_add_char(out, ' ');
    }
    buf_add_char(out, '\n');
}

struct err *sreport_print(const struct sreport *s, const struct sreport_data *data,
                          const struct slurm_view *v, struct buf *out)
{
    AUTO(json_freep) json_t *rows = json_array();
    AUTO(json_freep) json_t *none = json_array();
    struct sreport_table t = {.s = s, .data = data, .rows = rows};
    struct slurm_format f = {0};
    struct err *e;

    if (s->kind == SREPORT_UTILIZATION)
        table_add_utilization(&t);
    else if (s->kind == SREPORT_ACCOUNTS)
        table_add_accounts(&t);
    else
        table_add_users(&t);
    e = sreport_read_format(&t, &f);
    if (!e && !slurm_words_has(s->words, "noheader")) {
        sreport_add_title(s, v, out);
        slurm_format_print(&f, none, v, true, out);
        sreport_add_dashes(&f, out);
    }
    if (!e)
        slurm_format_print(&f, rows, v, false, out);
    slurm_format_done(&f);
    return e;
}
