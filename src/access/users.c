/*
 * users.c - a strict parser of users.yaml
 *
 * Unknown keys are errors: a misspelled key must not grant or revoke rights silently.
 */

#include "access/users.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "base/yaml.h"
#include "model/names.h"

static void user_done(struct user *u)
{
    free(u->name);
    for (size_t i = 0; i < u->n_groups; i++)
        free(u->groups[i]);
    free((void *)u->groups);
    for (size_t i = 0; i < u->n_grants; i++)
        free(u->grants[i].ns);
    free(u->grants);
}

void users_free(struct users *u)
{
    if (!u)
        return;
    for (size_t i = 0; i < u->n; i++)
        user_done(&u->at[i]);
    free(u->at);
    free(u);
}

static void users_freep(struct users **u)
{
    users_free(*u);
}

size_t users_count(const struct users *u)
{
    return u->n;
}

struct err *users_check_keys(const json_t *object, const char *const *known)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return err_new(ERR_INVALID, "want a mapping");
    json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
        size_t i = 0;

        while (known[i] && !text_equal(known[i], key))
            i++;
        if (!known[i])
            return err_new(ERR_INVALID, "unknown key '%.64s'", key);
    }
    return NULL;
}

static struct err *read_text(const json_t *value, const char *what, size_t size_max, char **ret)
{
    const char *text = json_string_value(value);

    if (!text || !*text || strlen(text) > size_max)
        return err_new(ERR_INVALID, "%s: want a text of 1 to %zu bytes", what, size_max);
    for (const char *at = text; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return err_new(ERR_INVALID, "%s: control bytes are not allowed", what);
    }
    *ret = mem_strdup(text);
    return NULL;
}

static struct err *read_groups(const json_t *list, struct user *u)
{
    size_t n = json_array_size(list);

    if (!list)
        return NULL;
    if (!json_is_array(list) || n > USER_GROUPS_MAX)
        return err_new(ERR_INVALID, "groups: want a list of at most %d", (int)USER_GROUPS_MAX);
    u->groups = mem_alloc(n * sizeof(*u->groups) + 1);
    for (size_t i = 0; i < n; i++) {
        TRY(read_text(json_array_get(list, i), "groups", USER_NAME_MAX, &u->groups[i]));
        u->n_groups++;
    }
    return NULL;
}

struct err *users_read_token(const json_t *value, struct user *u)
{
    const char *text = json_string_value(value);

    if (!value)
        return NULL;
    if (!text || strlen(text) != (size_t)2 * SHA256_SIZE ||
        strspn(text, "0123456789abcdef") != strlen(text))
        return err_new(ERR_INVALID, "tokenSha256: want 64 lower-case hexadecimal digits in quotes");
    for (size_t i = 0; i < SHA256_SIZE; i++)
        u->token[i] = (uint8_t)(num_hex_digit(text[2 * i]) * 16 + num_hex_digit(text[2 * i + 1]));
    u->has_token = true;
    return NULL;
}

struct err *users_read_expiry(const json_t *value, struct user *u)
{
    const char *text = json_string_value(value);

    if (!value)
        return NULL;
    if (!text)
        return err_new(ERR_INVALID, "tokenExpires: want a time such as \"2027-01-31T12:00:00Z\"");
    TRY(stamp_parse(str_of(text), &u->token_expires_ns));
    if (!u->has_token)
        return err_new(ERR_INVALID, "tokenExpires without tokenSha256");
    return NULL;
}

static struct err *read_uid(const json_t *value, const char *what, int64_t *ret)
{
    if (!value)
        return NULL;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) >= UINT32_MAX)
        return err_new(ERR_INVALID, "%s: want a uid from 0 to 4294967294", what);
    *ret = json_integer_value(value);
    return NULL;
}

static struct err *read_grant(const json_t *value, struct user_grant *ret)
{
    static const char *const known[] = {"role", "namespace", NULL};
    static const char *const roles[] = {
        [ROLE_VIEW] = "view", [ROLE_EDIT] = "edit", [ROLE_CLUSTER_ADMIN] = "cluster-admin"};
    const json_t *ns = json_object_get(value, "namespace");
    const char *role;
    size_t i = 0;

    TRY(users_check_keys(value, known));
    role = json_text(value, "role");
    while (i < COUNT(roles) && !text_equal(roles[i], role))
        i++;
    if (i == COUNT(roles))
        return err_new(ERR_INVALID, "role: want view, edit or cluster-admin");
    ret->role = (enum role)i;
    if (ret->role == ROLE_CLUSTER_ADMIN && ns)
        return err_new(ERR_INVALID, "role cluster-admin holds everywhere: leave out its namespace");
    if (ret->role != ROLE_CLUSTER_ADMIN && !ns)
        return err_new(ERR_INVALID, "role %s needs a namespace (\"*\": all)", role);
    if (!ns) {
        ret->ns = mem_strdup("*");
        return NULL;
    }
    TRY(read_text(ns, "namespace", 63, &ret->ns));
    return text_equal(ret->ns, "*") ? NULL : name_check_label(ret->ns);
}

static struct err *read_grants(const json_t *list, struct user *u)
{
    size_t n = json_array_size(list);

    if (!list)
        return NULL;
    if (!json_is_array(list) || n > USER_GRANTS_MAX)
        return err_new(ERR_INVALID, "roles: want a list of at most %d", (int)USER_GRANTS_MAX);
    u->grants = mem_alloc(n * sizeof(*u->grants) + 1);
    for (size_t i = 0; i < n; i++) {
        struct err *e = read_grant(json_array_get(list, i), &u->grants[u->n_grants++]);

        if (e)
            return err_wrap(e, "roles[%zu]", i);
    }
    return NULL;
}

static struct err *read_user(const json_t *value, struct user *u)
{
    static const char *const known[] = {"name", "groups",  "tokenSha256", "tokenExpires",
                                        "uid",  "hostUid", "roles",       NULL};

    u->uid = -1;
    u->host_uid = -1;
    TRY(users_check_keys(value, known));
    TRY(read_text(json_object_get(value, "name"), "name", USER_NAME_MAX, &u->name));
    TRY(read_groups(json_object_get(value, "groups"), u));
    TRY(users_read_token(json_object_get(value, "tokenSha256"), u));
    TRY(users_read_expiry(json_object_get(value, "tokenExpires"), u));
    TRY(read_uid(json_object_get(value, "uid"), "uid", &u->uid));
    TRY(read_uid(json_object_get(value, "hostUid"), "hostUid", &u->host_uid));
    return read_grants(json_object_get(value, "roles"), u);
}

/* Refuses a name or uid of two users: their order would decide. */
static struct err *check_unique(const struct users *u, const struct user *last)
{
    for (const struct user *other = u->at; other < last; other++) {
        if (text_equal(other->name, last->name))
            return err_new(ERR_INVALID, "duplicate name '%s'", last->name);
        if (last->uid >= 0 && other->uid == last->uid)
            return err_new(ERR_INVALID, "another user has the uid of '%s'", last->name);
    }
    return NULL;
}

static struct err *read_users(const json_t *list, struct users *u)
{
    size_t n = json_array_size(list);

    if (!json_is_array(list) || n > USERS_MAX)
        return err_new(ERR_INVALID, "users: want a list of at most %d", (int)USERS_MAX);
    u->at = mem_alloc(n * sizeof(*u->at) + 1);
    for (size_t i = 0; i < n; i++) {
        struct err *e = read_user(json_array_get(list, i), &u->at[u->n++]);

        if (!e)
            e = check_unique(u, &u->at[i]);
        if (e)
            return err_wrap(e, "users[%zu]", i);
    }
    return NULL;
}

struct err *users_parse(const char *name, struct str text, struct users **ret)
{
    static const char *const known[] = {"users", NULL};
    AUTO(json_freep) json_t *documents = NULL;
    AUTO(users_freep) struct users *users = mem_alloc(sizeof(*users));
    const json_t *root;
    const json_t *list;
    struct err *e;

    TRY(yaml_parse(name, text, &documents));
    if (json_array_size(documents) > 1)
        return err_new(ERR_INVALID, "%s: want one document", name);
    root = json_array_get(documents, 0);
    if (root && !json_is_null(root)) {
        e = users_check_keys(root, known);
        list = e ? NULL : json_object_get(root, "users");
        if (list && !json_is_null(list))
            e = read_users(list, users);
        if (e)
            return err_wrap(e, "%s", name);
    }
    *ret = TAKE(users);
    return NULL;
}
