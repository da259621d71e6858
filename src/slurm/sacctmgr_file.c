/* sacctmgr_file.c - the file of sacctmgr dump and load: a line for each account and user */

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"
#include "kinds/queue.h"
#include "kinds/slurm/slurm_accounts.h"
#include "slurm/sacctmgr_private.h"

#define SHARES_OF_PARENT "2147483647" /* in files */

/* ---- dump ---- */

static const struct {
    const char *member;
    const char *name;
} dumped[] = {
    {"grpTRESMins", "GrpTRESMins"},
    {"grpTRESRunMins", "GrpTRESRunMins"},
    {"grpTRES", "GrpTRES"},
    {"grpJobs", "GrpJobs"},
    {"grpJobsAccrue", "GrpJobsAccrue"},
    {"grpSubmitJobs", "GrpSubmitJobs"},
    {"grpWall", "GrpWall"},
    {"maxTRESMins", "MaxTRESMinsPerJob"},
    {"maxTRES", "MaxTRESPerJob"},
    {"maxTRESPerNode", "MaxTRESPerNode"},
    {"maxJobs", "MaxJobs"},
    {"maxJobsAccrue", "MaxJobsAccrue"},
    {"maxSubmitJobs", "MaxSubmitJobs"},
    {"maxWall", "MaxWallDurationPerJob"},
    {"minPrioThreshold", "MinPrioThresh"},
    {"priority", "Priority"},
    {"defaultQos", "DefaultQOS"},
};

/* Adds shares, limits and the QOS of an association. */
static void dump_part(const json_t *part, int64_t shares, struct buf *out)
{
    const json_t *qos = json_object_get(part, "qos");

    if (json_bool(part, "sharesOfParent", false))
        buf_add_text(out, ":Fairshare=" SHARES_OF_PARENT);
    else
        buf_printf(out, ":Fairshare=%" PRId64, shares);
    for (size_t i = 0; i < COUNT(dumped); i++) {
        const json_t *value = json_object_get(part, dumped[i].member);

        if (json_is_integer(value))
            buf_printf(out, ":%s=%" PRId64, dumped[i].name, (int64_t)json_integer_value(value));
        else if (json_is_string(value))
            buf_printf(out, ":%s=%s", dumped[i].name, json_string_value(value));
    }
    for (size_t i = 0; i < json_array_size(qos); i++)
        buf_printf(out, "%s%s", i > 0 ? "," : ":QOS='", json_string_value(json_array_get(qos, i)));
    if (json_array_size(qos) > 0)
        buf_add_char(out, '\'');
    buf_add_char(out, '\n');
}

static void dump_user(const json_t *user, const json_t *one, struct buf *out)
{
    const json_t *spec = json_object_get(user, "spec");
    const char *level = json_text(spec, "adminLevel");

    buf_printf(out, "User - '%s'", acct_name_of(user));
    if (json_text_filled(one, "partition"))
        buf_printf(out, ":Partition='%s'", json_text(one, "partition"));
    if (json_text_filled(spec, "defaultAccount"))
        buf_printf(out, ":DefaultAccount='%s'", json_text(spec, "defaultAccount"));
    if (level && !text_equal(level, "None"))
        buf_printf(out, ":AdminLevel='%s'", level);
    dump_part(one, json_int(one, "shares", 1), out);
}

static void dump_below(const struct acct_books *b, const char *account, unsigned depth,
                       struct buf *out)
{
    AUTO(buf_done) struct buf lines = {0};
    size_t n = 0;
    const char **below = acct_names_below(b, account, &n);

    for (size_t i = 0; i < json_array_size(b->users); i++) {
        const json_t *user = json_array_get(b->users, i);
        const json_t *list = json_at(user, "spec", "associations", NULL);

        for (size_t k = 0; k < json_array_size(list); k++)
            if (text_equal(json_text(json_array_get(list, k), "account"), account))
                dump_user(user, json_array_get(list, k), &lines);
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *spec = json_object_get(acct_find(b->queues, below[i]), "spec");
        const json_t *part = json_object_get(spec, "slurm");
        const char *description = json_text(part, "description");
        const char *organization = json_text(part, "organization");

        buf_printf(&lines, "Account - '%s':Description='%s':Organization='%s'", below[i],
                   description ? description : below[i], organization ? organization : below[i]);
        dump_part(part, json_int(spec, "weight", 1), &lines);
    }
    if (lines.size > 0)
        buf_printf(out, "Parent - '%s'\n%s", account, lines.at);
    for (size_t i = 0; i < n && depth < SLURM_ACCOUNTS_DEEP; i++)
        dump_below(b, below[i], depth + 1, out);
    free(below);
}

void acct_dump(const struct acct_books *b, struct buf *out)
{
    const json_t *root = json_at(acct_find(b->queues, QUEUE_ROOT), "spec", "slurm", NULL);

    buf_printf(out,
               "# A line for each account and user, as `sacctmgr load` reads them.\n"
               "Cluster - '%s'",
               b->cluster);
    dump_part(root, 1, out);
    dump_below(b, QUEUE_ROOT, 0, out);
}

/* ---- load ---- */

/* A line "KIND - 'NAME':KEY=VALUE:...". */
struct acct_line {
    struct str kind;
    char *name;
    struct acct_request request; /* `where`: the keys and values */
};

/* Cuts a part off, up to a ':' outside of quotes. */
static struct str cut_part(struct str *rest)
{
    struct str part = {rest->at, 0};
    char quote = 0;

    for (; part.size < rest->size; part.size++) {
        char c = rest->at[part.size];

        if (quote ? c == quote : c == '\'' || c == '"') {
            quote = quote ? 0 : c;
        } else if (c == ':' && !quote) {
            rest->at += part.size + 1;
            rest->size -= part.size + 1;
            return part;
        }
    }
    *rest = (struct str){0};
    return part;
}

static char *without_quotes(struct str text)
{
    while (text.size > 0 && strchr(" '\"", *text.at))
        text = (struct str){text.at + 1, text.size - 1};
    while (text.size > 0 && strchr(" '\"\r", text.at[text.size - 1]))
        text.size--;
    return mem_strndup(text.at, text.size);
}

static void add_term(struct acct_request *r, char *key, char *value)
{
    if (acct_is_word(key, "Fairshare", 2) && text_equal(value, SHARES_OF_PARENT)) {
        free(value);
        value = mem_strdup("parent");
    }
    vec_add(&r->where, (struct acct_term){key, value, '='});
}

static struct err *line_read(struct str line, struct acct_line *ret)
{
    struct str rest = line;
    struct str name = cut_part(&rest);

    ret->kind = str_cut(&name, ' ');
    if (!name.at || name.size < 2 || *name.at != '-')
        return err_new(ERR_INVALID, "want KIND - 'NAME':KEY=VALUE...");
    ret->name = without_quotes((struct str){name.at + 1, name.size - 1});
    while (rest.at) {
        struct str value = cut_part(&rest);
        struct str key = str_cut(&value, '=');

        if (!value.at)
            return err_new(ERR_INVALID, "want KEY=VALUE in place of " STR_FMT, STR_ARG(key));
        add_term(&ret->request, mem_strndup(key.at, key.size), without_quotes(value));
    }
    return NULL;
}

static void line_done(struct acct_line *l)
{
    free(l->name);
    acct_request_done(&l->request);
}

/* The root account's own: what a new one has is no change. */
static struct err *load_cluster(struct acct_line *l, const struct acct_books *b,
                                struct acct_plan *p)
{
    struct acct_request *r = &l->request;

    r->verb = ACCT_MODIFY;
    r->entity = ACCT_ACCOUNT;
    VEC_EACH (&r->where, t) {
        bool is_usual = (acct_is_word(t->key, "Fairshare", 2) && text_equal(t->value, "1")) ||
                        (acct_is_word(t->key, "QOS", 3) && text_equal(t->value, SLURM_QOS_DEFAULT));

        if (!is_usual)
            vec_add(&r->set, ((struct acct_term){mem_strdup(t->key), mem_strdup(t->value), '='}));
        free(t->key);
        free(t->value);
    }
    vec_clear(&r->where);
    if (r->set.n == 0)
        return NULL;
    add_term(r, mem_strdup("Names"), mem_strdup(QUEUE_ROOT));
    return acct_change(r, b, p);
}

static struct err *load_line(struct acct_line *l, const struct acct_books *b, char **parent,
                             struct acct_plan *p)
{
    struct acct_request *r = &l->request;

    if (str_equal(l->kind, STR("Parent"))) {
        free(*parent);
        *parent = mem_strdup(l->name);
        return NULL;
    }
    if (str_equal(l->kind, STR("Cluster")) || str_equal(l->kind, STR("Machine")))
        return load_cluster(l, b, p);
    r->verb = ACCT_ADD;
    r->is_load = true;
    add_term(r, mem_strdup("Names"), mem_strdup(l->name));
    if (str_equal(l->kind, STR("Account")) || str_equal(l->kind, STR("Project"))) {
        r->entity = ACCT_ACCOUNT;
        add_term(r, mem_strdup("Parent"), mem_strdup(*parent));
    } else if (str_equal(l->kind, STR("User"))) {
        r->entity = ACCT_USER;
        add_term(r, mem_strdup("Accounts"), mem_strdup(*parent));
    } else {
        return err_new(ERR_INVALID, "want Cluster, Parent, Account or User");
    }
    return acct_change(r, b, p);
}

/* A default account that none of the user's lines has becomes the first of the user's. */
static void settle_defaults(struct acct_plan *p)
{
    VEC_EACH (&p->writes, w) {
        json_t *spec = json_object_get(w->body, "spec");
        const json_t *list = json_object_get(spec, "associations");
        bool has = false;

        if (!text_equal(w->plural, "slurmusers"))
            continue;
        for (size_t i = 0; i < json_array_size(list); i++)
            has = has || text_equal(json_text(json_array_get(list, i), "account"),
                                    json_text(spec, "defaultAccount"));
        if (!has)
            json_put_text(spec, "defaultAccount", json_text(json_array_get(list, 0), "account"));
    }
}

struct err *acct_load(struct str text, const struct acct_books *b, struct acct_plan *ret)
{
    AUTO_FREE char *parent = mem_strdup(QUEUE_ROOT);
    struct str rest = text;
    bool is_nothing = true;
    size_t number = 0;

    while (rest.at) {
        struct str line = str_cut(&rest, '\n');
        struct acct_line l = {0};
        struct err *e = NULL;

        number++;
        if (line.size == 0 || *line.at == '#')
            continue;
        ret->is_nothing = true;
        e = line_read(line, &l);
        if (!e)
            e = load_line(&l, b, &parent, ret);
        line_done(&l);
        if (e) {
            acct_plan_done(ret);
            return err_wrap(e, "line %zu", number);
        }
        is_nothing = is_nothing && ret->is_nothing;
    }
    settle_defaults(ret);
    buf_clear(&ret->text);
    buf_printf(&ret->text, "For cluster %s\n%s", b->cluster,
               is_nothing ? " Nothing new added.\n" : "");
    ret->is_nothing = is_nothing;
    return NULL;
}
