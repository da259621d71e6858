/* sshare.c - sshare: options, fields and the table of shares */

#include "slurm/sshare.h"

#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"
#include "slurm/columns.h"
#include "slurm/query.h"

#define NO  SLURM_TAKES_NOTHING
#define YES SLURM_TAKES_VALUE

const struct slurm_option sshare_options[] = {
    {"accounts", NULL, 'A', YES},
    {"all", NULL, 'a', NO},
    {"format", NULL, 'o', YES},
    {"help", NULL, 'h', NO},
    {"helpformat", NULL, 'e', NO},
    {"long", NULL, 'l', NO},
    {"noheader", NULL, 'n', NO},
    {"parsable", NULL, 'p', NO},
    {"parsable2", NULL, 'P', NO},
    {"partition", NULL, 'm', NO},
    {"uid", "users", 0, YES},
    {"usage", "help", 0, NO},
    {"users", NULL, 'u', YES},
    {"Users", NULL, 'U', NO},
    {"verbose", NULL, 'v', NO},
    {"version", NULL, 'V', NO},
    {0},
};

const char sshare_help[] =
    "Usage: sshare [-A accounts] [-a] [-l] [-m] [-n] [-o fields] [-p | -P] [-u users] [-U]\n";

static const struct slurm_column columns[] = {
    {0, "Account", "Account", NULL, "account", NULL, -20},
    {0, "User", "User", NULL, "user", NULL, 10},
    {0, "RawShares", "RawShares", NULL, "rawShares", NULL, 10},
    {0, "NormShares", "NormShares", NULL, "normShares", NULL, 11},
    {0, "RawUsage", "RawUsage", NULL, "rawUsage", NULL, 11},
    {0, "NormUsage", "NormUsage", NULL, "normUsage", NULL, 11},
    {0, "EffectvUsage", "EffectvUsage", NULL, "effectiveUsage", NULL, 13},
    {0, "FairShare", "FairShare", NULL, "fairShare", NULL, 10},
    {0, "LevelFS", "LevelFS", NULL, "levelFs", NULL, 10},
    {0, "GrpTRESMins", "GrpTRESMins", NULL, "grpTRESMins", NULL, 30},
    {0, "TRESRunMins", "TRESRunMins", NULL, "tresRunMins", NULL, 30},
    {0, "Cluster", "Cluster", NULL, "cluster", NULL, 10},
    {0, "Partition", "Partition", NULL, "partition", NULL, 12},
    {0},
};

static const char default_fields[] =
    "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare";
static const char long_fields[] = "Account,User,RawShares,NormShares,RawUsage,NormUsage,"
                                  "EffectvUsage,FairShare,LevelFS,GrpTRESMins,TRESRunMins";
static const char classic_fields[] = "Account,User,RawShares,NormShares,RawUsage,NormUsage,"
                                     "EffectvUsage,FairShare,GrpTRESMins,TRESRunMins";
static const char partition_fields[] =
    "Account,User,Partition,RawShares,NormShares,RawUsage,EffectvUsage,FairShare";

void sshare_help_format(struct buf *out)
{
    size_t n = 0;

    for (const struct slurm_column *c = columns; c->header; c++, n++)
        buf_printf(out, "%-17s%s", c->name, n % 4 == 3 ? "\n" : " ");
    buf_add_char(out, '\n');
}

/* Has the tree levels? The classic algorithm has none. */
static bool is_tree(const json_t *rows)
{
    return json_object_get(json_array_get(rows, 0), "isTree") != NULL;
}

static const char *fields_of(const struct slurm_words *words, const json_t *rows)
{
    const char *said = slurm_words_value(words, "format");

    return said                                  ? said
           : slurm_words_has(words, "long")      ? (is_tree(rows) ? long_fields : classic_fields)
           : slurm_words_has(words, "partition") ? partition_fields
                                                 : default_fields;
}

static struct err *read_format(const struct slurm_words *words, const json_t *rows,
                               struct slurm_format *f)
{
    bool is_ended = slurm_words_has(words, "parsable");
    bool is_parsable = is_ended || slurm_words_has(words, "parsable2");

    return slurm_format_parse_fields(fields_of(words, rows), columns, is_parsable ? "|" : NULL,
                                     is_ended, f);
}

/* Users by -u and -U, else of the caller; accounts by -A. With -U accounts have no lines. */
static bool is_shown(const struct slurm_words *words, const json_t *row, const char *user)
{
    const char *accounts = slurm_words_value(words, "accounts");
    const char *users = slurm_words_value(words, "users");
    const char *of = json_text(row, "user");

    if (accounts && !slurm_list_has(accounts, text_or_empty(json_text(row, "account"))))
        return false;
    if (!of)
        return !slurm_words_has(words, "Users");
    if (users)
        return slurm_list_has(users, of);
    return slurm_words_has(words, "all") || accounts || text_equal(of, user);
}

/* The rows that are shown; accounts are indented by their depth. */
static json_t *select_rows(const struct slurm_words *words, const json_t *rows, const char *user)
{
    json_t *selected = json_array();

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        json_t *copy;
        AUTO_FREE char *name = NULL;

        if (!is_shown(words, row, user))
            continue;
        copy = json_copy((json_t *)(uintptr_t)row);
        name = mem_format("%*s%s",
                          slurm_words_has(words, "Users") ? 0 : (int)json_int(row, "depth", 0), "",
                          text_or_empty(json_text(row, "account")));
        json_put_text(copy, "account", name);
        (void)json_array_append_new(selected, copy);
    }
    return selected;
}

struct err *sshare_print(const struct slurm_words *words, const json_t *rows, const char *user,
                         struct buf *out)
{
    const struct slurm_view view = {0};
    AUTO(json_freep) json_t *selected = NULL;
    AUTO(json_freep) json_t *none = json_array();
    struct slurm_format f = {0};
    struct err *e = read_format(words, rows, &f);

    if (!e) {
        selected = select_rows(words, rows, user);
        if (!slurm_words_has(words, "noheader")) {
            slurm_format_print(&f, none, &view, true, out);
            if (f.cells.n > 0 && f.cells.at[0].width > 0)
                slurm_format_add_dashes(&f, out);
        }
        slurm_format_print(&f, selected, &view, false, out);
    }
    slurm_format_done(&f);
    return e;
}
