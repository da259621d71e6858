/* sacctmgr_list.c - the tables of sacctmgr list */

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"
#include "model/slurm_time.h"
#include "model/slurm_tres.h"
#include "slurm/columns.h"
#include "slurm/sacctmgr_private.h"

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

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

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

static const struct acct_column *columns_of(enum acct_entity entity)
{
    return entity == ACCT_QOS       ? qos_columns
           : entity == ACCT_CLUSTER ? cluster_columns
           : entity == ACCT_TRES    ? tres_columns
                                    : association_columns;
}

static const char *fields_of(const struct acct_request *r)
{
    bool is_of_users = r->entity == ACCT_USER;

    return r->format                       ? r->format
           : r->entity == ACCT_QOS         ? qos_fields
           : r->entity == ACCT_CLUSTER     ? cluster_fields
           : r->entity == ACCT_TRES        ? tres_fields
           : r->entity == ACCT_ASSOCIATION ? association_fields
           : r->has_associations           ? (is_of_users ? of_user_fields : of_account_fields)
                                           : (is_of_users ? user_fields : account_fields);
}

struct err *acct_list(const struct acct_request *r, const struct acct_books *b,
                      const struct acct_table *t, struct buf *out)
{
    struct acct_view view = {.books = b, .table = t};
    AUTO(json_freep) json_t *rows = NULL;
    struct err *e;

    TRY(acct_rows(r, b, &rows));
    e = print_table(&view, columns_of(r->entity), fields_of(r), rows, out);
    vec_done(&view.cells);
    return e;
}
