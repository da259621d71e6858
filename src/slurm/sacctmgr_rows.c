/* sacctmgr_rows.c - the rows of sacctmgr list: the tree of associations, accounts, users, QOS */

#include <stdlib.h>

#include "base/mem.h"
#include "kinds/queue.h"
#include "kinds/slurm/slurm_accounts.h"
#include "slurm/sacctmgr_private.h"

/* ---- the tree ---- */

/* Limits that associations have from the accounts above them unless they have their own. */
static const char *const inherited[] = {"maxJobs",     "maxJobsAccrue", "maxSubmitJobs",
                                        "maxTRES",     "maxWall",       "maxTRESPerNode",
                                        "maxTRESMins", "qos",           "defaultQos"};

static void put_inherited(json_t *row, const json_t *above)
{
    for (size_t i = 0; i < COUNT(inherited); i++)
        if (!json_object_get(row, inherited[i]) && json_object_get(above, inherited[i]))
            json_put(row, inherited[i], json_incref(json_object_get(above, inherited[i])));
}

static json_t *account_row(const struct acct_books *b, const char *name, const char *parent,
                           const json_t *above)
{
    const json_t *queue = acct_find(b->queues, name);
    json_t *own = json_at(queue, "spec", "slurm", NULL);
    json_t *row = own ? json_copy(own) : json_object();

    json_put_text(row, "account", name);
    json_put_text(row, "parent", parent);
    json_put_int(row, "shares", json_int(json_object_get(queue, "spec"), "weight", 1));
    put_inherited(row, above);
    if (!above && !json_object_get(row, "qos"))
        json_put(row, "qos", json_pack("[s]", SLURM_QOS_DEFAULT));
    return row;
}

static json_t *user_row(const json_t *association, const char *user, const json_t *above)
{
    json_t *row = json_copy((json_t *)(uintptr_t)association);

    json_put_text(row, "user", user);
    json_put_int(row, "shares", json_int(association, "shares", 1));
    put_inherited(row, above);
    return row;
}

static const char *parent_of(const json_t *queue)
{
    const char *parent = json_text_filled(json_object_get(queue, "spec"), "parent");

    return parent ? parent : QUEUE_ROOT;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char **acct_names_below(const struct acct_books *b, const char *account, size_t *ret_n)
{
    size_t all = json_array_size(b->queues);
    const char **names = mem_alloc((all + 1) * sizeof(*names));
    size_t n = 0;

    for (size_t i = 0; i < all; i++) {
        const json_t *queue = json_array_get(b->queues, i);

        if (!text_equal(acct_name_of(queue), QUEUE_ROOT) && text_equal(parent_of(queue), account))
            names[n++] = acct_name_of(queue);
    }
    qsort(names, n, sizeof(*names), compare_texts);
    *ret_n = n;
    return names;
}

/* The associations of users by account: an object of arrays of rows without what they inherit. */
static json_t *users_by_account(const struct acct_books *b)
{
    json_t *map = json_object();

    for (size_t i = 0; i < json_array_size(b->users); i++) {
        const json_t *user = json_array_get(b->users, i);
        const json_t *list = json_at(user, "spec", "associations", NULL);

        for (size_t k = 0; k < json_array_size(list); k++) {
            const json_t *one = json_array_get(list, k);
            const char *account = text_or_empty(json_text(one, "account"));

            (void)json_array_append_new(json_array_at(map, account),
                                        json_pack("[s,O]", acct_name_of(user), one));
        }
    }
    return map;
}

static void add_account(const struct acct_books *b, const json_t *users, const char *name,
                        const char *parent, const json_t *above, unsigned depth, json_t *rows)
{
    json_t *row = account_row(b, name, parent, above);
    const json_t *own = json_object_get(users, name);
    const char **below;
    size_t n = 0;

    (void)json_array_append_new(rows, row); /* fresh: cannot fail */
    for (size_t i = 0; i < json_array_size(own); i++) {
        const json_t *pair = json_array_get(own, i);

        (void)json_array_append_new(
            rows,
            user_row(json_array_get(pair, 1), json_string_value(json_array_get(pair, 0)), row));
    }
    below = acct_names_below(b, name, &n);
    for (size_t i = 0; i < n && depth < SLURM_ACCOUNTS_DEEP; i++)
        add_account(b, users, below[i], name, row, depth + 1, rows);
    free(below);
}

json_t *acct_associations(const struct acct_books *b)
{
    AUTO(json_freep) json_t *users = users_by_account(b);
    json_t *rows = json_array();

    add_account(b, users, QUEUE_ROOT, NULL, NULL, 0, rows);
    return rows;
}

/* ---- conditions ---- */

/* The member of rows that a condition names. */
static const struct {
    const char *name;
    const char *key;
    size_t least;
} conditions[] = {
    {"Accounts", "account", 2},
    {"Clusters", "cluster", 1},
    {"DefaultAccount", "defaultAccount", 8},
    {"Descriptions", "description", 1},
    {"Organizations", "organization", 1},
    {"Parent", "parent", 4},
    {"Partitions", "partition", 3},
    {"QosLevel", "qos", 1},
    {"Users", "user", 1},
    {"AdminLevel", "adminLevel", 2},
};

static const char *own_key(enum acct_entity entity)
{
    return entity == ACCT_USER      ? "user"
           : entity == ACCT_ACCOUNT ? "account"
           : entity == ACCT_QOS     ? "name"
                                    : "cluster";
}

/* The member that a term is about; NULL: unknown. "names=" and words alone are of the entity. */
static const char *condition_key(const struct acct_request *r, const struct acct_term *t)
{
    if (!t->value || acct_is_word(t->key, "Names", 1))
        return own_key(r->entity);
    for (size_t i = 0; i < COUNT(conditions); i++)
        if (acct_is_word(t->key, conditions[i].name, conditions[i].least))
            return conditions[i].key;
    return NULL;
}

/* Words that change what is listed, and that make no difference here. */
static bool is_flag(const char *word)
{
    static const char *const known[] = {"withcoordinators", "withdeleted", "tree",        "wopinfo",
                                        "woplimits",        "withrawqos",  "onlydefaults"};

    for (size_t i = 0; i < COUNT(known); i++)
        if (acct_is_word(word, known[i], 4))
            return true;
    return false;
}

static bool row_meets(const struct acct_request *r, const struct acct_books *b, const json_t *row)
{
    for (size_t i = 0; i < r->where.n; i++) {
        const struct acct_term *t = &r->where.at[i];
        const char *wanted = t->value ? t->value : t->key;
        const char *key = condition_key(r, t);
        const json_t *value = json_object_get(row, key);
        bool meets = acct_in_list(wanted, text_equal(key, "cluster")
                                              ? b->cluster
                                              : text_or_empty(json_string_value(value)));

        if (!t->value && is_flag(t->key))
            continue;
        for (size_t k = 0; k < json_array_size(value); k++)
            meets = meets || acct_in_list(wanted, json_string_value(json_array_get(value, k)));
        if (!meets)
            return false;
    }
    return true;
}

static struct err *check_conditions(const struct acct_request *r)
{
    for (size_t i = 0; i < r->where.n; i++)
        if (!condition_key(r, &r->where.at[i]))
            return err_new(ERR_INVALID, " Unknown condition: %s=%s", r->where.at[i].key,
                           r->where.at[i].value);
    return NULL;
}

static json_t *select_rows(const struct acct_request *r, const struct acct_books *b,
                           const json_t *rows)
{
    json_t *selected = json_array();

    for (size_t i = 0; i < json_array_size(rows); i++)
        if (row_meets(r, b, json_array_get(rows, i)))
            (void)json_array_append(selected, json_array_get(rows, i));
    return selected;
}

static void put_of_user(const struct acct_books *b, json_t *row)
{
    const json_t *spec = json_object_get(acct_find(b->users, json_text(row, "user")), "spec");
    const char *level = json_text(spec, "adminLevel");

    json_put_text(row, "defaultAccount", json_text(spec, "defaultAccount"));
    json_put_text(row, "adminLevel", level ? level : "None");
}

static void put_of_account(const struct acct_books *b, json_t *row)
{
    const char *account = json_text(row, "account");
    const json_t *spec = json_at(acct_find(b->queues, account), "spec", "slurm", NULL);
    const char *description = json_text(spec, "description");
    const char *organization = json_text(spec, "organization");

    json_put_text(row, "organization", organization ? organization : account);
    if (!description)
        description = text_equal(account, QUEUE_ROOT) ? "default root account" : account;
    json_put_text(row, "description", description);
}

/* Adds what users or accounts have besides their associations. */
static void put_facts(const struct acct_books *b, bool is_of_users, json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (is_of_users)
            put_of_user(b, json_array_get(rows, i));
        else
            put_of_account(b, json_array_get(rows, i));
}

/* Rows of users, or of accounts, in the order of their names. */
static json_t *rows_of(const struct acct_books *b, const json_t *rows, bool is_of_users,
                       bool has_associations)
{
    const char *key = is_of_users ? "user" : "account";
    json_t *list = json_array();
    json_t *seen = json_object();

    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        const char *name = json_text(row, key);

        if (!name || (!has_associations && json_object_get(seen, name)) ||
            (!is_of_users && !has_associations && json_text(row, "user")))
            continue;
        json_put_bool(seen, name, true);
        (void)json_array_append(list, row);
    }
    json_decref(seen);
    for (size_t i = 0; is_of_users && !has_associations && i < json_array_size(b->users); i++) {
        const json_t *user = json_array_get(b->users, i); /* users without associations */

        if (json_array_size(json_at(user, "spec", "associations", NULL)) == 0)
            (void)json_array_append_new(list, json_pack("{s:s}", "user", acct_name_of(user)));
    }
    return list;
}

static int compare_rows(const void *left, const void *right, void *key)
{
    const json_t *const *a = left;
    const json_t *const *b = right;

    return strcmp(text_or_empty(json_text(*a, key)), text_or_empty(json_text(*b, key)));
}

static void sort_by(json_t *rows, const char *key)
{
    size_t n = json_array_size(rows);
    json_t **all = mem_alloc((n + 1) * sizeof(*all));

    for (size_t i = 0; i < n; i++)
        all[i] = json_incref(json_array_get(rows, i));
    qsort_r(all, n, sizeof(*all), compare_rows, (void *)(uintptr_t)key);
    json_array_clear(rows);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(rows, all[i]);
    free(all);
}

static json_t *qos_rows(const struct acct_books *b)
{
    json_t *rows = json_array();
    const json_t *normal = acct_find(b->qoses, SLURM_QOS_DEFAULT);

    for (size_t i = 0; i < json_array_size(b->qoses) + !normal; i++) {
        const json_t *qos = normal  ? json_array_get(b->qoses, i)
                            : i > 0 ? json_array_get(b->qoses, i - 1)
                                    : NULL;
        json_t *spec = json_object_get(qos, "spec");
        json_t *row = spec ? json_copy(spec) : json_object();

        json_put_text(row, "name", qos ? acct_name_of(qos) : SLURM_QOS_DEFAULT);
        json_put_int(row, "priority", json_int(spec, "priority", 0));
        json_put_int(row, "graceTime", json_int(spec, "graceTime", 0));
        if (!json_text(row, "preemptMode"))
            json_put_text(row, "preemptMode", "cluster");
        if (!json_text(row, "usageFactor"))
            json_put_text(row, "usageFactor", "1");
        (void)json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *tres_rows(void)
{
    return json_pack("[{s:s,s:i},{s:s,s:i},{s:s,s:i},{s:s,s:i},{s:s,s:i},{s:s,s:s,s:i},{s:s,s:i},"
                     "{s:s,s:i},{s:s,s:s,s:i}]",
                     "type", "cpu", "id", 1, "type", "mem", "id", 2, "type", "energy", "id", 3,
                     "type", "node", "id", 4, "type", "billing", "id", 5, "type", "fs", "name",
                     "disk", "id", 6, "type", "vmem", "id", 7, "type", "pages", "id", 8, "type",
                     "gres", "name", "gpu", "id", 1001);
}

static json_t *rows_make(const struct acct_request *r, const struct acct_books *b)
{
    bool is_of_users = r->entity == ACCT_USER;
    AUTO(json_freep) json_t *tree = NULL;
    json_t *rows;

    if (r->entity == ACCT_QOS)
        return qos_rows(b);
    if (r->entity == ACCT_TRES)
        return tres_rows();
    tree = acct_associations(b);
    if (r->entity == ACCT_CLUSTER)
        return json_pack("[O]", json_array_get(tree, 0));
    if (r->entity == ACCT_ASSOCIATION)
        return TAKE(tree);
    rows = rows_of(b, tree, is_of_users, r->has_associations);
    put_facts(b, is_of_users, rows);
    sort_by(rows, is_of_users ? "user" : "account");
    return rows;
}

struct err *acct_rows(const struct acct_request *r, const struct acct_books *b, json_t **ret)
{
    AUTO(json_freep) json_t *rows = NULL;

    TRY(check_conditions(r));
    rows = rows_make(r, b);
    *ret = select_rows(r, b, rows);
    return NULL;
}
