/* sacctmgr_change.c - sacctmgr add, modify and delete as writes of objects */

#include <stdlib.h>
#include <strings.h>

#include "base/mem.h"
#include "kinds/queue.h"
#include "kinds/slurm/slurm_accounts.h"
#include "model/slurm_time.h"
#include "slurm/sacctmgr_private.h"

/* Objects in change: later changes of a plan see those before. */
struct acct_edit {
    const struct acct_books *books;
    const struct acct_request *request;
    struct acct_plan *plan;
};

void acct_plan_done(struct acct_plan *p)
{
    VEC_EACH (&p->writes, w) {
        free(w->name);
        json_decref(w->body);
    }
    vec_done(&p->writes);
    buf_done(&p->text);
    *p = (struct acct_plan){0};
}

static const char *kind_of(const char *plural)
{
    return text_equal(plural, "queues")       ? "Queue"
           : text_equal(plural, "slurmusers") ? "SlurmUser"
                                              : "SlurmQos";
}

static const json_t *objects_of(const struct acct_books *b, const char *plural)
{
    return text_equal(plural, "queues")       ? b->queues
           : text_equal(plural, "slurmusers") ? b->users
                                              : b->qoses;
}

static struct acct_write *find_write(const struct acct_plan *p, const char *plural,
                                     const char *name)
{
    VEC_EACH (&p->writes, w)
        if (text_equal(w->plural, plural) && text_equal(w->name, name))
            return w;
    return NULL;
}

/* The object as the plan has it, or as it exists. Borrowed; NULL: none. */
static const json_t *edit_see(const struct acct_edit *e, const char *plural, const char *name)
{
    const struct acct_write *w = find_write(e->plan, plural, name);

    return w ? w->body : acct_find(objects_of(e->books, plural), name);
}

/* The object that the plan writes: a copy of the one that exists, or a new one. Borrowed. */
static json_t *edit_object(struct acct_edit *e, const char *plural, const char *name)
{
    struct acct_write *w = find_write(e->plan, plural, name);
    const json_t *is = w ? NULL : acct_find(objects_of(e->books, plural), name);
    json_t *body;

    if (w && w->body)
        return w->body;
    body = is ? json_deep_copy(is)
              : json_pack("{s:s,s:s,s:{s:s},s:{}}", "apiVersion", "mete.dev/v1", "kind",
                          kind_of(plural), "metadata", "name", name, "spec");
    (void)json_object_del(body, "status");
    if (w) {
        w->body = body;
        w->method = "PUT";
        return body;
    }
    vec_add(&e->plan->writes,
            (struct acct_write){is ? "PUT" : "POST", plural, mem_strdup(name), body});
    return body;
}

static void edit_delete(struct acct_edit *e, const char *plural, const char *name)
{
    struct acct_write *w = find_write(e->plan, plural, name);

    if (!w) {
        vec_add(&e->plan->writes, (struct acct_write){"DELETE", plural, mem_strdup(name), NULL});
        return;
    }
    json_decref(w->body);
    w->body = NULL;
    w->method = "DELETE";
}

static json_t *account_part(struct acct_edit *e, const char *account)
{
    return json_object_at(json_object_at(edit_object(e, "queues", account), "spec"), "slurm");
}

/* ---- terms ---- */

static const char *where_value(const struct acct_edit *e, const char *name, size_t least)
{
    return acct_term_value(e->request->where.at, e->request->where.n, name, least);
}

/* The names: words alone, and those of "names=", "account=", "user=" or "name=". The caller frees.
 */
static char *names_of(const struct acct_edit *e, const char *key, size_t least)
{
    struct buf out = {0};

    for (size_t i = 0; i < e->request->where.n; i++) {
        const struct acct_term *t = &e->request->where.at[i];
        bool is_name = !t->value || acct_is_word(t->key, "Names", 1) ||
                       (key && acct_is_word(t->key, key, least));

        if (is_name)
            buf_printf(&out, "%s%s", out.size > 0 ? "," : "", t->value ? t->value : t->key);
    }
    return buf_steal(&out);
}

static bool is_selector(const struct acct_edit *e, const struct acct_term *t)
{
    static const char *const common[] = {"Names", "Clusters"};

    if (!t->value)
        return true;
    for (size_t i = 0; i < COUNT(common); i++)
        if (acct_is_word(t->key, common[i], 1))
            return true;
    if (acct_is_word(t->key, "Parent", 3) && !acct_is_word(t->key, "Partitions", 3))
        return e->request->entity == ACCT_ACCOUNT;
    return acct_is_word(t->key, "Accounts", 2) || acct_is_word(t->key, "Users", 1) ||
           acct_is_word(t->key, "Partitions", 4);
}

/* Puts the terms that belong to the parts `of`. */
static struct err *put_terms(const struct acct_term *terms, size_t n, unsigned of, json_t *to)
{
    for (size_t i = 0; i < n; i++) {
        const struct acct_key *k = terms[i].value ? acct_key_find(terms[i].key, of) : NULL;

        if (k)
            TRY(acct_key_put(k, &terms[i], to));
    }
    return NULL;
}

/* Every term is a selector of the entity or a key of the parts `of`. */
static struct err *check_terms(const struct acct_edit *e, const struct acct_term *terms, size_t n,
                               bool may_select, unsigned of)
{
    for (size_t i = 0; i < n; i++) {
        if (may_select && is_selector(e, &terms[i]))
            continue;
        if (!terms[i].value || !acct_key_find(terms[i].key, of))
            return err_new(ERR_INVALID, " Unknown option: %s%s%s%s", terms[i].key,
                           terms[i].value ? "=" : "", text_or_empty(terms[i].value),
                           may_select ? "\n Use keyword 'set' to modify value"
                                      : "\n Use keyword 'where' to modify condition");
    }
    return NULL;
}

/* Qualities of service that a part names must exist. */
static struct err *check_qos(const struct acct_edit *e, const json_t *part)
{
    const json_t *list = json_object_get(part, "qos");
    const char *fallback = json_text(part, "defaultQos");

    for (size_t i = 0; i <= json_array_size(list); i++) {
        const char *name =
            i < json_array_size(list) ? json_string_value(json_array_get(list, i)) : fallback;

        if (name && !text_equal(name, SLURM_QOS_DEFAULT) && !edit_see(e, "slurmqoses", name))
            return err_new(ERR_INVALID, " You gave a bad qos '%s'.", name);
    }
    return NULL;
}

/* Accounts are in lower case. The caller frees it. */
static char *account_name(struct str name)
{
    char *text = mem_strndup(name.at, name.size);

    for (char *at = text; *at; at++)
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
    return text;
}

struct setting {
    const char *member;
    const char *name;
};

static const struct setting association_settings[] = {
    {"shares", "Fairshare     "},         {"grpJobs", "GrpJobs       "},
    {"grpJobsAccrue", "GrpJobsAccrue "},  {"grpSubmitJobs", "GrpSubmitJobs "},
    {"grpTRES", "GrpTRES       "},        {"grpTRESMins", "GrpTRESMins   "},
    {"grpTRESRunMins", "GrpTRESRunMins"}, {"grpWall", "GrpWall       "},
    {"maxJobs", "MaxJobs       "},        {"maxJobsAccrue", "MaxJobsAccrue "},
    {"maxSubmitJobs", "MaxSubmitJobs "},  {"maxTRES", "MaxTRESPerJob "},
    {"maxTRESPerNode", "MaxTRESPerNode"}, {"maxTRESMins", "MaxTRESMins   "},
    {"maxWall", "MaxWall       "},        {"priority", "Priority      "},
    {"defaultQos", "DefQOS        "},
};

/* Adds "  NAME = VALUE" for members of an association, but its shares of 1. */
static void say_settings(const json_t *part, struct buf *out)
{
    char time[SLURM_TIME_TEXT_SIZE];

    for (size_t i = 0; i < COUNT(association_settings); i++) {
        const struct setting *s = &association_settings[i];
        const json_t *value = json_object_get(part, s->member);

        if (json_is_string(value))
            buf_printf(out, "  %s= %s\n", s->name, json_string_value(value));
        if (!json_is_integer(value))
            continue;
        slurm_minutes_format(json_integer_value(value), time);
        if (strstr(s->member, "Wall"))
            buf_printf(out, "  %s= %s\n", s->name, time);
        else
            buf_printf(out, "  %s= %" JSON_INTEGER_FORMAT "\n", s->name, json_integer_value(value));
    }
}

/* The list that an association has from the account or one above it. Borrowed. */
static const json_t *inherited_qos(const struct acct_edit *e, const char *account)
{
    for (unsigned depth = 0; account && depth < SLURM_ACCOUNTS_DEEP; depth++) {
        const json_t *spec = json_object_get(edit_see(e, "queues", account), "spec");
        const json_t *list = json_at(spec, "slurm", "qos", NULL);
        const char *parent = json_text_filled(spec, "parent");

        if (list)
            return list;
        account = text_equal(account, QUEUE_ROOT) ? NULL : parent ? parent : QUEUE_ROOT;
    }
    return NULL;
}

static bool is_change_of_qos(const struct acct_term *t)
{
    const struct acct_key *k = t->value ? acct_key_find(t->key, ACCT_OF_ASSOCIATION) : NULL;

    return k && text_equal(k->member, "qos") &&
           (t->operation != '=' || (*t->value && strchr("+-", *t->value)));
}

/* Changes with += and -= begin with what the association has from above. */
static void begin_qos(const struct acct_edit *e, const char *account, json_t *part)
{
    const json_t *list = inherited_qos(e, account);
    bool is_change = false;

    for (size_t i = 0; i < e->request->set.n; i++)
        is_change = is_change || is_change_of_qos(&e->request->set.at[i]);
    for (size_t i = 0; i < e->request->where.n; i++)
        is_change = is_change || is_change_of_qos(&e->request->where.at[i]);
    if (is_change && !json_object_get(part, "qos"))
        json_put(part, "qos", list ? json_deep_copy(list) : json_pack("[s]", SLURM_QOS_DEFAULT));
}

/* ---- add ---- */

/* Adds the account, and the lines about its association to `said`. */
static struct err *add_account(struct acct_edit *e, const char *name, const char *parent,
                               struct buf *said)
{
    const struct acct_request *r = e->request;
    json_t *queue = edit_object(e, "queues", name);
    json_t *spec = json_object_at(queue, "spec");
    json_t *part = json_object_at(spec, "slurm");

    if (!text_equal(parent, QUEUE_ROOT))
        json_put_text(spec, "parent", parent);
    TRY(put_terms(r->where.at, r->where.n, ACCT_OF_ACCOUNT | ACCT_OF_ASSOCIATION, part));
    buf_clear(said);
    say_settings(part, said);
    if (!json_text_filled(part, "description"))
        json_put_text(part, "description", name);
    if (!json_text_filled(part, "organization"))
        json_put_text(part, "organization", text_equal(parent, QUEUE_ROOT) ? name : parent);
    if (json_object_get(part, "shares"))
        json_put(spec, "weight", json_incref(json_object_get(part, "shares")));
    (void)json_object_del(part, "shares");
    return check_qos(e, part);
}

static void say_accounts(const struct acct_edit *e, const struct buf *added,
                         const struct buf *associations, const struct buf *settings,
                         const char *parent)
{
    const char *description = where_value(e, "Description", 1);
    const char *organization = where_value(e, "Organization", 1);
    struct buf *out = &e->plan->text;

    buf_printf(out,
               " Adding Account(s)\n%s Settings\n  Description     = %s\n"
               "  Organization    = %s\n Associations\n%s",
               added->at, description ? description : "Account Name",
               organization ? organization : "Parent/Account Name", associations->at);
    if (settings->size > 0 || parent)
        buf_printf(out, " Settings\n%s", text_or_empty(settings->at));
    if (settings->size > 0 || parent)
        buf_printf(out, "  Parent        = %s\n", parent ? parent : QUEUE_ROOT);
}

static struct err *add_accounts(struct acct_edit *e)
{
    AUTO_FREE char *names = names_of(e, "Accounts", 2);
    const char *said = where_value(e, "Parent", 3);
    AUTO_FREE char *parent = account_name(str_of(said ? said : QUEUE_ROOT));
    struct str rest = str_of(names);
    AUTO(buf_done) struct buf added = {0};
    AUTO(buf_done) struct buf associations = {0};
    AUTO(buf_done) struct buf settings = {0};

    TRY(check_terms(e, e->request->where.at, e->request->where.n, true,
                    ACCT_OF_ACCOUNT | ACCT_OF_ASSOCIATION));
    if (!*text_or_empty(names))
        return err_new(ERR_INVALID, " Need name of account to add.");
    if (!text_equal(parent, QUEUE_ROOT) && !edit_see(e, "queues", parent))
        return err_new(ERR_INVALID,
                       " Parent account '%s' doesn't exist on cluster %s\n        Contact your "
                       "admin to add this account.\n No associations created.",
                       parent, e->books->cluster);
    while (rest.at) {
        AUTO_FREE char *name = account_name(str_cut(&rest, ','));

        if (!*name || text_equal(name, QUEUE_ROOT) || edit_see(e, "queues", name))
            continue;
        TRY(add_account(e, name, parent, &settings));
        buf_printf(&added, "  %s\n", name);
        buf_printf(&associations, "  A = %-10.10s C = %-10.10s\n", name, e->books->cluster);
    }
    e->plan->is_nothing = added.size == 0;
    if (added.size == 0)
        buf_add_text(&e->plan->text, " Nothing new added.\n");
    else
        say_accounts(e, &added, &associations, &settings, said ? parent : NULL);
    return NULL;
}

static json_t *find_association(json_t *user, const char *account, const char *partition)
{
    json_t *list = json_array_at(json_object_at(user, "spec"), "associations");

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i);

        if (text_equal(json_text(one, "account"), account) &&
            text_equal(text_or_empty(json_text(one, "partition")), text_or_empty(partition)))
            return one;
    }
    return NULL;
}

static struct err *add_association(struct acct_edit *e, const char *user, const char *account,
                                   const char *partition, struct buf *said)
{
    const struct acct_request *r = e->request;
    json_t *object = edit_object(e, "slurmusers", user);
    json_t *one;

    if (find_association(object, account, partition))
        return NULL;
    one = json_object();
    json_put_text(one, "account", account);
    json_put_text(one, "partition", partition);
    (void)json_array_append_new(json_array_at(json_object_at(object, "spec"), "associations"), one);
    begin_qos(e, account, one);
    TRY(put_terms(r->where.at, r->where.n, ACCT_OF_ASSOCIATION, one));
    buf_printf(said, "  U = %-9.9s A = %-10.10s C = %-10.10s", user, account, e->books->cluster);
    if (partition)
        buf_printf(said, " P = %-10.10s", partition);
    buf_add_char(said, '\n');
    return check_qos(e, one);
}

/* All accounts and partitions of one new or known user. */
static struct err *add_user(struct acct_edit *e, const char *user, const char *accounts,
                            struct buf *said)
{
    const struct acct_request *r = e->request;
    const char *partitions = where_value(e, "Partitions", 4);
    json_t *spec = json_object_at(edit_object(e, "slurmusers", user), "spec");
    struct str rest = str_of(accounts);

    TRY(put_terms(r->where.at, r->where.n, ACCT_OF_USER, spec));
    while (rest.at) {
        AUTO_FREE char *account = account_name(str_cut(&rest, ','));
        struct str parts = str_of(partitions ? partitions : "");

        if (!*account)
            continue;
        if (!text_equal(account, QUEUE_ROOT) && !edit_see(e, "queues", account))
            return err_new(ERR_INVALID,
                           " This account '%s' doesn't exist.\n        Contact your admin to add "
                           "this account.\n No associations or wckeys created.",
                           account);
        if (!json_text_filled(spec, "defaultAccount"))
            json_put_text(spec, "defaultAccount", account);
        while (parts.at) {
            struct str part = str_cut(&parts, ',');
            AUTO_FREE char *partition = part.size > 0 ? mem_strndup(part.at, part.size) : NULL;

            TRY(add_association(e, user, account, partition, said));
        }
    }
    return NULL;
}

/* A user whose default account is none of the user's is refused. */
static struct err *check_default(const json_t *user)
{
    const char *account = json_text_at(user, "spec", "defaultAccount", NULL);
    const json_t *list = json_at(user, "spec", "associations", NULL);

    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_text(json_array_get(list, i), "account"), account))
            return NULL;
    return account ? err_new(ERR_INVALID,
                             " User '%s' has no association with the default account '%s'.",
                             acct_name_of(user), account)
                   : NULL;
}

static struct err *add_users(struct acct_edit *e)
{
    AUTO_FREE char *names = names_of(e, "Users", 1);
    const char *accounts = where_value(e, "Accounts", 2);
    const char *fallback = where_value(e, "DefaultAccount", 8);
    AUTO(buf_done) struct buf added = {0};
    AUTO(buf_done) struct buf said = {0};
    AUTO(json_freep) json_t *settings = json_object();
    struct str rest = str_of(names);

    TRY(check_terms(e, e->request->where.at, e->request->where.n, true,
                    ACCT_OF_USER | ACCT_OF_ASSOCIATION));
    if (!*text_or_empty(names))
        return err_new(ERR_INVALID, " Need name of user to add.");
    accounts = accounts ? accounts : fallback;
    if (!accounts)
        return err_new(ERR_INVALID, " Need name of account to add user to.");
    while (rest.at) {
        struct str part = str_cut(&rest, ',');
        AUTO_FREE char *name = mem_strndup(part.at, part.size);
        bool is_known = edit_see(e, "slurmusers", name) != NULL;

        if (!*name)
            continue;
        TRY(add_user(e, name, accounts, &said));
        if (!e->request->is_load)
            TRY(check_default(edit_see(e, "slurmusers", name)));
        if (!is_known)
            buf_printf(&added, "  %s\n", name);
    }
    e->plan->is_nothing = said.size == 0;
    if (said.size == 0) {
        buf_add_text(&e->plan->text, " Nothing new added.\n");
        return NULL;
    }
    if (added.size > 0)
        buf_printf(&e->plan->text, " Adding User(s)\n%s", added.at);
    if (fallback)
        buf_printf(&e->plan->text, " Settings =\n  Default Account = %s\n", fallback);
    buf_printf(&e->plan->text, " Associations =\n%s Non Default Settings\n", said.at);
    TRY(put_terms(e->request->where.at, e->request->where.n, ACCT_OF_ASSOCIATION, settings));
    say_settings(settings, &e->plan->text);
    return NULL;
}

/* The terms as they were given; real names of Slurm's settings are those of the keys. */
static void say_qos(const struct acct_edit *e, const char *added)
{
    const struct acct_request *r = e->request;
    AUTO_FREE char *names = names_of(e, "QosLevel", 1);
    const char *description = where_value(e, "Description", 2);
    struct buf *out = &e->plan->text;

    buf_printf(out, " Adding QOS(s)\n%s Settings\n  Description    = %s\n", added,
               description ? description : names);
    for (size_t i = 0; i < r->where.n; i++) {
        const struct acct_term *t = &r->where.at[i];
        const struct acct_key *k = t->value ? acct_key_find(t->key, ACCT_OF_QOS) : NULL;

        if (k && !text_equal(k->member, "description"))
            buf_printf(out, "  %-25s= %s\n", k->name, t->value);
    }
}

static struct err *add_qos(struct acct_edit *e)
{
    const struct acct_request *r = e->request;
    AUTO_FREE char *names = names_of(e, "QosLevel", 1);
    struct str rest = str_of(names);
    AUTO(buf_done) struct buf added = {0};

    TRY(check_terms(e, r->where.at, r->where.n, true, ACCT_OF_QOS));
    while (rest.at) {
        AUTO_FREE char *name = account_name(str_cut(&rest, ','));
        json_t *spec;

        if (!*name || text_equal(name, SLURM_QOS_DEFAULT) || edit_see(e, "slurmqoses", name))
            continue;
        spec = json_object_at(edit_object(e, "slurmqoses", name), "spec");
        json_put_text(spec, "description", name);
        TRY(put_terms(r->where.at, r->where.n, ACCT_OF_QOS, spec));
        buf_printf(&added, "  %s\n", name);
    }
    e->plan->is_nothing = added.size == 0;
    if (added.size == 0)
        buf_add_text(&e->plan->text, " Nothing new added.\n");
    else
        say_qos(e, added.at);
    return NULL;
}

/* ---- modify and delete ---- */

/* Is the association meant by account=, user=, partition= and the names? */
static bool is_meant(const struct acct_edit *e, const char *names, const char *user,
                     const json_t *one)
{
    const char *accounts = where_value(e, "Accounts", 2);
    const char *partitions = where_value(e, "Partitions", 4);

    return acct_in_list(*text_or_empty(names) ? names : NULL, user) &&
           acct_in_list(accounts, text_or_empty(json_text(one, "account"))) &&
           acct_in_list(partitions, text_or_empty(json_text(one, "partition")));
}

static struct err *modify_user(struct acct_edit *e, const char *names, const char *user,
                               bool sets_associations, struct buf *said)
{
    const struct acct_request *r = e->request;
    const json_t *list = json_at(acct_find(e->books->users, user), "spec", "associations", NULL);
    bool is_changed = false;

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *own;

        if (!is_meant(e, names, user, json_array_get(list, i)))
            continue;
        is_changed = true;
        if (!sets_associations)
            continue;
        own = json_array_get(
            json_at(edit_object(e, "slurmusers", user), "spec", "associations", NULL), i);
        begin_qos(e, json_text(own, "account"), own);
        TRY(put_terms(r->set.at, r->set.n, ACCT_OF_ASSOCIATION, own));
        TRY(check_qos(e, own));
        buf_printf(said, "  C = %-10.10s A = %-20.20s U = %-9.9s\n", e->books->cluster,
                   text_or_empty(json_text(own, "account")), user);
    }
    if (is_changed && !sets_associations)
        buf_printf(said, "  %s\n", user);
    return is_changed ? put_terms(r->set.at, r->set.n, ACCT_OF_USER,
                                  json_object_at(edit_object(e, "slurmusers", user), "spec"))
                      : NULL;
}

static struct err *modify_users(struct acct_edit *e)
{
    const struct acct_request *r = e->request;
    AUTO_FREE char *names = names_of(e, "Users", 1);
    AUTO(buf_done) struct buf said = {0};
    bool sets_associations = false;

    TRY(check_terms(e, r->where.at, r->where.n, true, 0));
    TRY(check_terms(e, r->set.at, r->set.n, false, ACCT_OF_USER | ACCT_OF_ASSOCIATION));
    for (size_t i = 0; i < r->set.n; i++)
        sets_associations =
            sets_associations || acct_key_find(r->set.at[i].key, ACCT_OF_ASSOCIATION);
    for (size_t i = 0; i < json_array_size(e->books->users); i++) {
        const char *user = acct_name_of(json_array_get(e->books->users, i));

        TRY(modify_user(e, names, user, sets_associations, &said));
        if (edit_see(e, "slurmusers", user))
            TRY(check_default(edit_see(e, "slurmusers", user)));
    }
    e->plan->is_nothing = said.size == 0;
    if (said.size == 0)
        buf_add_text(&e->plan->text, " Nothing modified\n");
    else
        buf_printf(&e->plan->text, " Modified %s...\n%s",
                   sets_associations ? "user associations" : "users", said.at);
    return NULL;
}

static struct err *modify_account(struct acct_edit *e, const char *name, struct buf *said)
{
    const struct acct_request *r = e->request;
    const char *parent = acct_term_value(r->set.at, r->set.n, "Parent", 3);
    json_t *spec = json_object_at(edit_object(e, "queues", name), "spec");
    json_t *part = account_part(e, name);

    begin_qos(e, json_text_filled(spec, "parent") ? json_text(spec, "parent") : QUEUE_ROOT, part);
    TRY(put_terms(r->set.at, r->set.n, ACCT_OF_ACCOUNT | ACCT_OF_ASSOCIATION, part));
    if (json_object_get(part, "shares") && !text_equal(name, QUEUE_ROOT))
        json_put(spec, "weight", json_incref(json_object_get(part, "shares")));
    (void)json_object_del(part, "shares");
    if (parent && !text_equal(parent, QUEUE_ROOT) && !edit_see(e, "queues", parent))
        return err_new(ERR_INVALID, " Parent account '%s' doesn't exist.", parent);
    if (parent)
        json_put_text(spec, "parent", text_equal(parent, QUEUE_ROOT) ? NULL : parent);
    buf_printf(said, "  C = %-10.10s A = %s of %s\n", e->books->cluster, name,
               json_text_filled(spec, "parent") ? json_text(spec, "parent") : QUEUE_ROOT);
    return check_qos(e, part);
}

static struct err *modify_accounts(struct acct_edit *e)
{
    const struct acct_request *r = e->request;
    AUTO_FREE char *names = names_of(e, "Accounts", 2);
    AUTO(buf_done) struct buf said = {0};

    TRY(check_terms(e, r->where.at, r->where.n, true, 0));
    for (size_t i = 0; i < r->set.n; i++)
        if (!acct_is_word(r->set.at[i].key, "Parent", 3))
            TRY(check_terms(e, &r->set.at[i], 1, false, ACCT_OF_ACCOUNT | ACCT_OF_ASSOCIATION));
    if (!*text_or_empty(names))
        return err_new(ERR_INVALID, " Need name of account to modify.");
    for (size_t i = 0; i < json_array_size(e->books->queues); i++) {
        const char *name = acct_name_of(json_array_get(e->books->queues, i));

        if (acct_in_list(names, name))
            TRY(modify_account(e, name, &said));
    }
    if (acct_in_list(names, QUEUE_ROOT) && !edit_see(e, "queues", QUEUE_ROOT))
        TRY(modify_account(e, QUEUE_ROOT, &said));
    e->plan->is_nothing = said.size == 0;
    if (said.size == 0)
        buf_add_text(&e->plan->text, " Nothing modified\n");
    else
        buf_printf(&e->plan->text, " Modified account associations...\n%s", said.at);
    return NULL;
}

static struct err *modify_qos(struct acct_edit *e)
{
    const struct acct_request *r = e->request;
    AUTO_FREE char *names = names_of(e, "QosLevel", 1);
    AUTO(buf_done) struct buf said = {0};
    struct str rest = str_of(names);

    TRY(check_terms(e, r->where.at, r->where.n, true, 0));
    TRY(check_terms(e, r->set.at, r->set.n, false, ACCT_OF_QOS));
    while (rest.at) {
        AUTO_FREE char *name = account_name(str_cut(&rest, ','));

        if (!edit_see(e, "slurmqoses", name) && !text_equal(name, SLURM_QOS_DEFAULT))
            continue;
        TRY(put_terms(r->set.at, r->set.n, ACCT_OF_QOS,
                      json_object_at(edit_object(e, "slurmqoses", name), "spec")));
        buf_printf(&said, "  %s\n", name);
    }
    e->plan->is_nothing = said.size == 0;
    if (said.size == 0)
        buf_add_text(&e->plan->text, " Nothing modified\n");
    else
        buf_printf(&e->plan->text, " Modified qos...\n%s", said.at);
    return NULL;
}

/* Takes the associations out that are meant; a user without any goes, too. */
static void delete_of_user(struct acct_edit *e, const char *names, const char *user,
                           struct buf *said)
{
    const json_t *list = json_at(acct_find(e->books->users, user), "spec", "associations", NULL);
    AUTO(json_freep) json_t *left = json_array();
    bool is_changed = false;
    json_t *spec;

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i);

        if (!is_meant(e, names, user, one)) {
            (void)json_array_append(left, one);
            continue;
        }
        is_changed = true;
        if (where_value(e, "Accounts", 2))
            buf_printf(said, "  C = %-10.10s A = %-20.20s U = %-9.9s\n", e->books->cluster,
                       text_or_empty(json_text(one, "account")), user);
    }
    if (!is_changed &&
        (json_array_size(list) > 0 || !*text_or_empty(names) || !acct_in_list(names, user)))
        return;
    if (!where_value(e, "Accounts", 2))
        buf_printf(said, "  %s\n", user);
    if (json_array_size(left) == 0) {
        edit_delete(e, "slurmusers", user);
        return;
    }
    spec = json_object_at(edit_object(e, "slurmusers", user), "spec");
    json_put(spec, "associations", json_incref(left));
    if (check_default(edit_see(e, "slurmusers", user))) /* the default account went */
        json_put_text(spec, "defaultAccount", json_text(json_array_get(left, 0), "account"));
}

static struct err *delete_users(struct acct_edit *e)
{
    const struct acct_request *r = e->request;
    AUTO_FREE char *names = names_of(e, "Users", 1);
    AUTO(buf_done) struct buf said = {0};

    TRY(check_terms(e, r->where.at, r->where.n, true, 0));
    if (r->where.n == 0)
        return err_new(ERR_INVALID, " No conditions given to remove, not executing.");
    for (size_t i = 0; i < json_array_size(e->books->users); i++)
        delete_of_user(e, names, acct_name_of(json_array_get(e->books->users, i)), &said);
    e->plan->is_nothing = said.size == 0;
    if (said.size == 0)
        buf_add_text(&e->plan->text, " Nothing deleted\n");
    else
        buf_printf(&e->plan->text, " Deleting user%s...\n%s",
                   where_value(e, "Accounts", 2) ? " associations" : "s", said.at);
    return NULL;
}

static bool has_accounts_below(const struct acct_edit *e, const char *name)
{
    for (size_t i = 0; i < json_array_size(e->books->queues); i++) {
        const json_t *queue = json_array_get(e->books->queues, i);

        if (text_equal(json_text_at(queue, "spec", "parent", NULL), name) &&
            edit_see(e, "queues", acct_name_of(queue)))
            return true;
    }
    return false;
}

/* An account goes with the associations of its users. */
static void delete_account(struct acct_edit *e, const char *name, struct buf *said)
{
    for (size_t i = 0; i < json_array_size(e->books->users); i++) {
        const json_t *user = json_array_get(e->books->users, i);
        const json_t *spec = json_object_get(edit_see(e, "slurmusers", acct_name_of(user)), "spec");
        AUTO(json_freep) json_t *left = json_array();
        const json_t *list = json_object_get(spec, "associations");
        json_t *own;

        for (size_t k = 0; k < json_array_size(list); k++)
            if (!text_equal(json_text(json_array_get(list, k), "account"), name))
                (void)json_array_append(left, json_array_get(list, k));
        if (json_array_size(left) == json_array_size(list))
            continue;
        if (json_array_size(left) == 0) {
            edit_delete(e, "slurmusers", acct_name_of(user));
            continue;
        }
        own = json_object_at(edit_object(e, "slurmusers", acct_name_of(user)), "spec");
        json_put(own, "associations", json_incref(left));
        if (text_equal(json_text(own, "defaultAccount"), name))
            json_put_text(own, "defaultAccount", json_text(json_array_get(left, 0), "account"));
    }
    edit_delete(e, "queues", name);
    buf_printf(said, "  %s\n", name);
}

static struct err *delete_accounts(struct acct_edit *e)
{
    const struct acct_request *r = e->request;
    AUTO_FREE char *names = names_of(e, "Accounts", 2);
    AUTO(buf_done) struct buf said = {0};
    struct str rest = str_of(names);

    TRY(check_terms(e, r->where.at, r->where.n, true, 0));
    if (!*text_or_empty(names))
        return err_new(ERR_INVALID, " No conditions given to remove, not executing.");
    while (rest.at) {
        AUTO_FREE char *name = account_name(str_cut(&rest, ','));

        if (!*name || !edit_see(e, "queues", name))
            continue;
        if (text_equal(name, QUEUE_ROOT) || text_equal(name, QUEUE_DEFAULT))
            return err_new(ERR_INVALID, " The account %s stays.", name);
        if (has_accounts_below(e, name))
            return err_new(ERR_INVALID,
                           " The account %s has accounts below it: delete these "
                           "first.",
                           name);
        delete_account(e, name, &said);
    }
    e->plan->is_nothing = said.size == 0;
    if (said.size == 0)
        buf_add_text(&e->plan->text, " Nothing deleted\n");
    else
        buf_printf(&e->plan->text, " Deleting accounts...\n%s", said.at);
    return NULL;
}

static struct err *delete_qos(struct acct_edit *e)
{
    const struct acct_request *r = e->request;
    AUTO_FREE char *names = names_of(e, "QosLevel", 1);
    AUTO(buf_done) struct buf said = {0};
    struct str rest = str_of(names);

    TRY(check_terms(e, r->where.at, r->where.n, true, 0));
    while (rest.at) {
        AUTO_FREE char *name = account_name(str_cut(&rest, ','));

        if (!*name || !edit_see(e, "slurmqoses", name))
            continue;
        edit_delete(e, "slurmqoses", name);
        buf_printf(&said, "  %s\n", name);
    }
    e->plan->is_nothing = said.size == 0;
    if (said.size == 0)
        buf_add_text(&e->plan->text, " Nothing deleted\n");
    else
        buf_printf(&e->plan->text, " Deleting QOS(s)...\n%s", said.at);
    return NULL;
}

static struct err *change_entity(struct acct_edit *e)
{
    const struct acct_request *r = e->request;
    static struct err *(*const steps[][3])(struct acct_edit *) = {
        [ACCT_ACCOUNT] = {add_accounts, modify_accounts, delete_accounts},
        [ACCT_ASSOCIATION] = {NULL, NULL, NULL},
        [ACCT_CLUSTER] = {NULL, NULL, NULL},
        [ACCT_QOS] = {add_qos, modify_qos, delete_qos},
        [ACCT_TRES] = {NULL, NULL, NULL},
        [ACCT_USER] = {add_users, modify_users, delete_users},
    };
    size_t which = r->verb == ACCT_ADD ? 0 : r->verb == ACCT_MODIFY ? 1 : 2;

    if (!steps[r->entity][which])
        return err_new(ERR_INVALID, "only accounts, users and qos can be changed");
    if (r->verb == ACCT_MODIFY && r->set.n == 0)
        return err_new(ERR_INVALID, " You didn't give me anything to set");
    return steps[r->entity][which](e);
}

struct err *acct_change(const struct acct_request *r, const struct acct_books *b,
                        struct acct_plan *ret)
{
    struct acct_edit edit = {.books = b, .request = r, .plan = ret};
    struct err *e = change_entity(&edit);

    if (e)
        acct_plan_done(ret);
    return e;
}
