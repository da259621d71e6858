/* sacctmgr_list.c - the tables of sacctmgr list, and the tree of associations */

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"
#include "kinds/queue.h"
#include "kinds/slurm/slurm_accounts.h"
#include "model/slurm_time.h"
#include "model/slurm_tres.h"
#include "slurm/columns.h"
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

/* ---- columns ---- */

enum cell_type {
    CELL_TEXT,
    CELL_INT,
    CELL_MINUTES,
    CELL_SECONDS,
    CELL_NAMES,
    CELL_FACTOR,
    CELL_SHARES,
    CELL_CLUSTER
};

struct acct_column {
    const char *name; /* in format=; may be shortened to `least` bytes */
    const char *header;
    int width;
    enum cell_type type;
    const char *key;
    size_t least;
    const char *resource; /* the count of this resource in the list of member `key`; NULL: all */
};

#define COLUMN_CLUSTER                                        \
    {                                                         \
        "Cluster", "Cluster", 10, CELL_CLUSTER, NULL, 2, NULL \
    }
#define COLUMNS_GROUP_MORE                                                               \
    {"GrpJobsAccrue", "GrpJobsAccrue", 13, CELL_INT, "grpJobsAccrue", 8, NULL},          \
        {"GrpTRESRunMins", "GrpTRESRunMins", 13, CELL_TEXT, "grpTRESRunMins", 8, NULL},  \
        {"MaxTRESMinsPerJob", "MaxTRESMins", 13, CELL_TEXT, "maxTRESMins", 8, NULL},     \
        {"MaxTRESPerNode", "MaxTRESPerNode", 14, CELL_TEXT, "maxTRESPerNode", 11, NULL}, \
        {"MaxTRESPN", "MaxTRESPerNode", 14, CELL_TEXT, "maxTRESPerNode", 9, NULL},       \
        {"MaxTRESPerJob", "MaxTRES", 13, CELL_TEXT, "maxTRES", 7, NULL},                 \
        {"MaxWallDurationPerJob", "MaxWall", 11, CELL_MINUTES, "maxWall", 4, NULL},      \
    {                                                                                    \
        "MinPrioThreshold", "MinPrioThres", 12, CELL_INT, "minPrioThreshold", 4, NULL    \
    }

static const struct acct_column association_columns[] = {
    COLUMN_CLUSTER,
    {"Account", "Account", 10, CELL_TEXT, "account", 2, NULL},
    {"User", "User", 10, CELL_TEXT, "user", 1, NULL},
    {"Partition", "Partition", 10, CELL_TEXT, "partition", 4, NULL},
    {"Share", "Share", 9, CELL_SHARES, "shares", 1, NULL},
    {"Fairshare", "Share", 9, CELL_SHARES, "shares", 1, NULL},
    {"Priority", "Priority", 10, CELL_INT, "priority", 3, NULL},
    {"GrpJobs", "GrpJobs", 7, CELL_INT, "grpJobs", 4, NULL},
    {"GrpTRES", "GrpTRES", 13, CELL_TEXT, "grpTRES", 7, NULL},
    {"GrpSubmitJobs", "GrpSubmit", 9, CELL_INT, "grpSubmitJobs", 4, NULL},
    {"GrpWall", "GrpWall", 11, CELL_MINUTES, "grpWall", 4, NULL},
    {"GrpTRESMins", "GrpTRESMins", 13, CELL_TEXT, "grpTRESMins", 8, NULL},
    {"MaxJobs", "MaxJobs", 7, CELL_INT, "maxJobs", 4, NULL},
    {"MaxJobsAccrue", "MaxJobsAccrue", 13, CELL_INT, "maxJobsAccrue", 8, NULL},
    {"MaxSubmitJobs", "MaxSubmit", 9, CELL_INT, "maxSubmitJobs", 4, NULL},
    {"QOSLevel", "QOS", 20, CELL_NAMES, "qos", 1, NULL},
    {"DefaultQOS", "Def QOS", 9, CELL_TEXT, "defaultQos", 8, NULL},
    {"DefQOS", "Def QOS", 9, CELL_TEXT, "defaultQos", 4, NULL},
    {"ParentName", "ParentName", 10, CELL_TEXT, "parent", 4, NULL},
    {"DefaultAccount", "Def Acct", 10, CELL_TEXT, "defaultAccount", 8, NULL},
    {"AdminLevel", "Admin", 9, CELL_TEXT, "adminLevel", 2, NULL},
    {"Description", "Descr", 20, CELL_TEXT, "description", 1, NULL},
    {"Organization", "Org", 20, CELL_TEXT, "organization", 1, NULL},
    {"GrpCPUMins", "GrpCPUMins", 11, CELL_TEXT, "grpTRESMins", 7, "cpu"},
    {"GrpCPUs", "GrpCPUs", 8, CELL_TEXT, "grpTRES", 7, "cpu"},
    {"GrpMemory", "GrpMem", 7, CELL_TEXT, "grpTRES", 4, "mem"},
    {"GrpNodes", "GrpNodes", 8, CELL_TEXT, "grpTRES", 4, "node"},
    {"MaxCPUMinsPerJob", "MaxCPUMins", 11, CELL_TEXT, "maxTRESMins", 7, "cpu"},
    {"MaxCPUsPerJob", "MaxCPUs", 8, CELL_TEXT, "maxTRES", 7, "cpu"},
    {"MaxNodesPerJob", "MaxNodes", 8, CELL_TEXT, "maxTRES", 4, "node"},
    COLUMNS_GROUP_MORE,
    {0},
};

static const struct acct_column qos_columns[] = {
    {"Name", "Name", 10, CELL_TEXT, "name", 1, NULL},
    {"Priority", "Priority", 10, CELL_INT, "priority", 3, NULL},
    {"GraceTime", "GraceTime", 10, CELL_SECONDS, "graceTime", 3, NULL},
    {"Preempt", "Preempt", 10, CELL_NAMES, "preempt", 7, NULL},
    {"PreemptExemptTime", "PreemptExemptTime", 19, CELL_SECONDS, "preemptExemptTime", 8, NULL},
    {"PreemptMode", "PreemptMode", 11, CELL_TEXT, "preemptMode", 8, NULL},
    {"Flags", "Flags", 40, CELL_NAMES, "flags", 1, NULL},
    {"UsageThreshold", "UsageThres", 10, CELL_FACTOR, "usageThreshold", 6, NULL},
    {"UsageFactor", "UsageFactor", 11, CELL_FACTOR, "usageFactor", 6, NULL},
    {"LimitFactor", "LimitFactor", 11, CELL_FACTOR, "limitFactor", 6, NULL},
    {"GrpTRES", "GrpTRES", 13, CELL_TEXT, "grpTRES", 7, NULL},
    {"GrpTRESMins", "GrpTRESMins", 13, CELL_TEXT, "grpTRESMins", 8, NULL},
    {"GrpJobs", "GrpJobs", 7, CELL_INT, "grpJobs", 4, NULL},
    {"GrpSubmitJobs", "GrpSubmit", 9, CELL_INT, "grpSubmitJobs", 4, NULL},
    {"GrpWall", "GrpWall", 11, CELL_MINUTES, "grpWall", 4, NULL},
    {"MaxTRESPerUser", "MaxTRESPU", 13, CELL_TEXT, "maxTRESPerUser", 11, NULL},
    {"MaxTRESPU", "MaxTRESPU", 13, CELL_TEXT, "maxTRESPerUser", 9, NULL},
    {"MaxTRESPerAccount", "MaxTRESPA", 13, CELL_TEXT, "maxTRESPerAccount", 11, NULL},
    {"MaxTRESPA", "MaxTRESPA", 13, CELL_TEXT, "maxTRESPerAccount", 9, NULL},
    {"MaxJobsPerUser", "MaxJobsPU", 9, CELL_INT, "maxJobsPerUser", 4, NULL},
    {"MaxJobsPU", "MaxJobsPU", 9, CELL_INT, "maxJobsPerUser", 9, NULL},
    {"MaxJobsPerAccount", "MaxJobsPA", 9, CELL_INT, "maxJobsPerAccount", 11, NULL},
    {"MaxJobsPA", "MaxJobsPA", 9, CELL_INT, "maxJobsPerAccount", 9, NULL},
    {"MaxSubmitJobsPerUser", "MaxSubmitPU", 11, CELL_INT, "maxSubmitJobsPerUser", 4, NULL},
    {"MaxSubmitPU", "MaxSubmitPU", 11, CELL_INT, "maxSubmitJobsPerUser", 11, NULL},
    {"MaxSubmitJobsPerAccount", "MaxSubmitPA", 11, CELL_INT, "maxSubmitJobsPerAccount", 17, NULL},
    {"MaxSubmitPA", "MaxSubmitPA", 11, CELL_INT, "maxSubmitJobsPerAccount", 11, NULL},
    {"MinTRESPerJob", "MinTRES", 13, CELL_TEXT, "minTRES", 7, NULL},
    {"Description", "Descr", 20, CELL_TEXT, "description", 1, NULL},
    COLUMNS_GROUP_MORE,
    {0},
};

static const struct acct_column cluster_columns[] = {
    COLUMN_CLUSTER,
    {"ControlHost", "ControlHost", 15, CELL_TEXT, "controlHost", 8, NULL},
    {"ControlPort", "ControlPort", 12, CELL_INT, "controlPort", 8, NULL},
    {"RPC", "RPC", 5, CELL_INT, "rpc", 3, NULL},
    {"Share", "Share", 9, CELL_SHARES, "shares", 1, NULL},
    {"QOSLevel", "QOS", 20, CELL_NAMES, "qos", 1, NULL},
    {"DefaultQOS", "Def QOS", 9, CELL_TEXT, "defaultQos", 8, NULL},
    {"GrpJobs", "GrpJobs", 7, CELL_INT, "grpJobs", 4, NULL},
    {"GrpTRES", "GrpTRES", 13, CELL_TEXT, "grpTRES", 7, NULL},
    {"GrpSubmitJobs", "GrpSubmit", 9, CELL_INT, "grpSubmitJobs", 4, NULL},
    {"MaxJobs", "MaxJobs", 7, CELL_INT, "maxJobs", 4, NULL},
    {"MaxTRES", "MaxTRES", 13, CELL_TEXT, "maxTRES", 7, NULL},
    {"MaxSubmitJobs", "MaxSubmit", 9, CELL_INT, "maxSubmitJobs", 4, NULL},
    {"MaxWall", "MaxWall", 11, CELL_MINUTES, "maxWall", 4, NULL},
    {0},
};

static const struct acct_column tres_columns[] = {
    {"Type", "Type", 8, CELL_TEXT, "type", 1, NULL},
    {"Name", "Name", 15, CELL_TEXT, "name", 1, NULL},
    {"ID", "ID", 6, CELL_INT, "id", 1, NULL},
    {0},
};

static const char user_fields[] = "User,DefaultAccount,AdminLevel";
static const char account_fields[] = "Account,Description,Organization";
static const char association_fields[] =
    "Cluster,Account,User,Partition,Share,Priority,GrpJobs,GrpTRES,GrpSubmit,GrpWall,GrpTRESMins,"
    "MaxJobs,MaxTRES,MaxTRESPerNode,MaxSubmit,MaxWall,MaxTRESMins,QOS,DefaultQOS,GrpTRESRunMins";
static const char of_user_fields[] =
    "User,DefaultAccount,AdminLevel,Cluster,Account,Partition,Share,Priority,MaxJobs,MaxNodes,"
    "MaxCPUs,MaxSubmit,MaxWall,MaxCPUMins,QOS,DefaultQOS";
static const char of_account_fields[] =
    "Account,Description,Organization,Cluster,ParentName,User,Share,Priority,GrpJobs,GrpNodes,"
    "GrpCPUs,GrpMem,GrpSubmit,GrpWall,GrpCPUMins,MaxJobs,MaxNodes,MaxCPUs,MaxSubmit,MaxWall,"
    "MaxCPUMins,QOS,DefaultQOS";
static const char qos_fields[] =
    "Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags,UsageThreshold,"
    "UsageFactor,GrpTRES,GrpTRESMins,GrpTRESRunMins,GrpJobs,GrpSubmit,GrpWall,MaxTRES,"
    "MaxTRESPerNode,MaxTRESMins,MaxWall,MaxTRESPU,MaxJobsPU,MaxSubmitPU,MaxTRESPA,MaxJobsPA,"
    "MaxSubmitPA,MinTRES";
static const char cluster_fields[] =
    "Cluster,ControlHost,ControlPort,RPC,Share,GrpJobs,GrpTRES,GrpSubmit,MaxJobs,MaxTRES,MaxSubmit,"
    "MaxWall,QOS,DefaultQOS";
static const char tres_fields[] = "Type,Name,ID";

struct acct_cell {
    const struct acct_column *column;
    int width;
};

struct acct_view {
    const struct acct_books *books;
    const struct acct_table *table;
    VEC(struct acct_cell) cells;
};

/* The names in order. */
static void add_names(const json_t *list, struct buf *out)
{
    size_t n = json_array_size(list);
    AUTO_FREE const char **names = mem_alloc((n + 1) * sizeof(*names));

    for (size_t i = 0; i < n; i++)
        names[i] = json_string_value(json_array_get(list, i));
    qsort(names, n, sizeof(*names), compare_texts);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%s", i > 0 ? "," : "", names[i]);
}

static void add_number(const struct acct_column *c, const json_t *value, struct buf *out)
{
    char text[SLURM_TIME_TEXT_SIZE];

    if (!json_is_integer(value))
        return;
    slurm_minutes_format(json_integer_value(value), text);
    if (c->type == CELL_SECONDS)
        slurm_elapsed_format(json_integer_value(value), text);
    if (c->type == CELL_INT || c->type == CELL_SHARES)
        buf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        buf_add_text(out, text);
}

/* "0.500000" */
static void add_factor(const char *text, struct buf *out)
{
    int64_t micro = 0;

    err_free(slurm_factor_parse(text, &micro)); /* was checked when it was written */
    buf_printf(out, "%" PRId64 ".%06" PRId64, micro / 1000000, micro % 1000000);
}

/* The count of one resource in a list; nothing if the list does not have it. */
static void add_count(const json_t *list, const char *resource, struct buf *out)
{
    struct slurm_tres tres = {0};
    int64_t count;

    err_free(slurm_tres_parse(str_of(text_or_empty(json_string_value(list))), &tres));
    count = slurm_tres_get(&tres, resource, -1);
    if (count >= 0)
        buf_printf(out, "%" PRId64, count);
    slurm_tres_done(&tres);
}

static char *cell_of(const struct acct_view *v, const struct acct_column *c, const json_t *row)
{
    const json_t *value = c->key ? json_object_get(row, c->key) : NULL;
    struct buf out = {0};

    if (c->resource)
        add_count(value, c->resource, &out);
    else if (c->type == CELL_CLUSTER)
        buf_add_text(&out, v->books->cluster);
    else if (c->type == CELL_SHARES && json_bool(row, "sharesOfParent", false))
        buf_add_text(&out, "parent");
    else if (c->type == CELL_NAMES)
        add_names(value, &out);
    else if (c->type == CELL_FACTOR && json_is_string(value))
        add_factor(json_string_value(value), &out);
    else if (json_is_string(value))
        buf_add_text(&out, json_string_value(value));
    else
        add_number(c, value, &out);
    return buf_steal(&out);
}

/* ---- the table ---- */

static struct err *view_add(struct acct_view *v, const struct acct_column *columns, struct str item)
{
    struct acct_cell cell = {0};
    struct str name = slurm_field_cut(item, &cell.width);
    AUTO_FREE char *word = mem_strndup(name.at, name.size);

    for (const struct acct_column *c = columns; c->name && !cell.column; c++)
        if (strcasecmp(word, c->name) == 0)
            cell.column = c;
    for (const struct acct_column *c = columns; c->name && !cell.column; c++)
        if (acct_is_word(word, c->name, c->least))
            cell.column = c;
    if (!cell.column)
        return err_new(ERR_INVALID, "Unknown field '%s'", word);
    cell.width = cell.width != 0 ? cell.width : cell.column->width;
    vec_add(&v->cells, cell);
    return NULL;
}

/* Right-justified unless the width is negative; values that are cut end with '+', headers do not.
 */
static void add_cell(const struct acct_view *v, const struct acct_cell *cell, const char *text,
                     bool is_header, bool is_last, struct buf *out)
{
    int width = cell->width < 0 ? -cell->width : cell->width;
    bool is_cut = (int)strlen(text) > width && !is_header && width > 0;

    if (v->table->is_parsable) {
        buf_printf(out, "%s%s", text, is_last && !v->table->ends_with_delimiter ? "" : "|");
        return;
    }
    if (is_cut)
        buf_printf(out, "%.*s+ ", width - 1, text);
    else if (cell->width < 0)
        buf_printf(out, "%-*.*s ", width, width, text);
    else
        buf_printf(out, "%*.*s ", width, width, text);
}

static void add_header(const struct acct_view *v, struct buf *out)
{
    for (size_t i = 0; i < v->cells.n; i++)
        add_cell(v, &v->cells.at[i], v->cells.at[i].column->header, true, i + 1 == v->cells.n, out);
    buf_add_char(out, '\n');
    for (size_t i = 0; i < v->cells.n && !v->table->is_parsable; i++) {
        for (int k = 0; k < abs(v->cells.at[i].width); k++)
            buf_add_char(out, '-');
        buf_add_char(out, ' ');
    }
    if (!v->table->is_parsable)
        buf_add_char(out, '\n');
}

static struct err *print_table(struct acct_view *v, const struct acct_column *columns,
                               const char *fields, const json_t *rows, struct buf *out)
{
    struct str rest = str_of(fields);

    while (rest.at) {
        struct str item = str_cut(&rest, ',');

        if (item.size > 0)
            TRY(view_add(v, columns, item));
    }
    if (v->table->has_header)
        add_header(v, out);
    for (size_t row = 0; row < json_array_size(rows); row++) {
        for (size_t i = 0; i < v->cells.n; i++) {
            AUTO_FREE char *text = cell_of(v, v->cells.at[i].column, json_array_get(rows, row));

            add_cell(v, &v->cells.at[i], text, false, i + 1 == v->cells.n, out);
        }
        buf_add_char(out, '\n');
    }
    return NULL;
}

/* ---- lists ---- */

/* What a condition is about: the member of rows that it names. */
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

/* The rows of the entity, its columns, and the default fields. */
static json_t *list_rows(const struct acct_request *r, const struct acct_books *b,
                         const struct acct_column **ret_columns, const char **ret_fields)
{
    bool is_of_users = r->entity == ACCT_USER;
    AUTO(json_freep) json_t *tree = NULL;
    json_t *rows;

    *ret_columns = r->entity == ACCT_QOS       ? qos_columns
                   : r->entity == ACCT_CLUSTER ? cluster_columns
                   : r->entity == ACCT_TRES    ? tres_columns
                                               : association_columns;
    *ret_fields = r->entity == ACCT_QOS           ? qos_fields
                  : r->entity == ACCT_CLUSTER     ? cluster_fields
                  : r->entity == ACCT_TRES        ? tres_fields
                  : r->entity == ACCT_ASSOCIATION ? association_fields
                  : r->has_associations ? (is_of_users ? of_user_fields : of_account_fields)
                                        : (is_of_users ? user_fields : account_fields);
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

struct err *acct_list(const struct acct_request *r, const struct acct_books *b,
                      const struct acct_table *t, struct buf *out)
{
    struct acct_view view = {.books = b, .table = t};
    const struct acct_column *columns;
    const char *fields;
    AUTO(json_freep) json_t *rows = NULL;
    AUTO(json_freep) json_t *selected = NULL;
    struct err *e;

    TRY(check_conditions(r));
    rows = list_rows(r, b, &columns, &fields);
    selected = select_rows(r, b, rows);
    e = print_table(&view, columns, r->format ? r->format : fields, selected, out);
    vec_done(&view.cells);
    return e;
}
