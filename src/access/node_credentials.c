/* node_credentials.c - a strict parser and writer of nodes.yaml */

#include "access/node_credentials.h"

#include "base/mem.h"
#include "base/yaml.h"
#include "model/names.h"

static struct err *credential_read(const json_t *value, struct user *u)
{
    static const char *const known[] = {"name", "tokenSha256", "tokenExpires", NULL};
    const char *name;

    u->uid = -1;
    u->host_uid = -1;
    TRY(users_check_keys(value, known));
    name = json_text(value, "name");
    TRY(name_check_subdomain(name ? name : ""));
    u->name = mem_format(NODE_USER_PREFIX "%s", name);
    u->groups = mem_alloc(sizeof(*u->groups));
    u->groups[0] = mem_strdup("system:nodes");
    u->n_groups = 1;
    TRY(users_read_token(json_object_get(value, "tokenSha256"), u));
    TRY(users_read_expiry(json_object_get(value, "tokenExpires"), u));
    if (!u->has_token)
        return err_new(ERR_INVALID, "tokenSha256 is missing");
    return NULL;
}

static struct err *credentials_read(const json_t *list, struct users *u)
{
    size_t n = json_array_size(list);

    if (!json_is_array(list) || n > NODES_MAX)
        return err_new(ERR_INVALID, "nodes: want a list of at most %d", (int)NODES_MAX);
    u->at = mem_alloc(n * sizeof(*u->at) + 1);
    for (size_t i = 0; i < n; i++) {
        struct err *e = credential_read(json_array_get(list, i), &u->at[u->n++]);

        for (size_t k = 0; !e && k < i; k++)
            if (text_equal(u->at[k].name, u->at[i].name))
                e = err_new(ERR_INVALID, "a node has two entries");
        if (e)
            return err_wrap(e, "nodes[%zu]", i);
    }
    return NULL;
}

/* The only document of the file, a mapping; a new reference. */
static struct err *credentials_root(const char *name, struct str text, json_t **ret)
{
    static const char *const known[] = {"nodes", NULL};
    AUTO(json_freep) json_t *documents = NULL;
    const json_t *root;
    struct err *e;

    TRY(yaml_parse(name, text, &documents));
    if (json_array_size(documents) > 1)
        return err_new(ERR_INVALID, "%s: want one document", name);
    root = json_array_get(documents, 0);
    if (!root || json_is_null(root)) {
        *ret = json_object();
        return NULL;
    }
    e = users_check_keys(root, known);
    if (e)
        return err_wrap(e, "%s", name);
    *ret = json_deep_copy(root);
    return NULL;
}

struct err *node_credentials_parse(const char *name, struct str text, struct users **ret)
{
    AUTO(json_freep) json_t *root = NULL;
    const json_t *list;
    struct users *users;
    struct err *e;

    TRY(credentials_root(name, text, &root));
    users = mem_alloc(sizeof(*users));
    list = json_object_get(root, "nodes");
    e = list && !json_is_null(list) ? credentials_read(list, users) : NULL;
    if (e) {
        users_free(users);
        return err_wrap(e, "%s", name);
    }
    *ret = users;
    return NULL;
}

static json_t *credential_of(json_t *list, const char *node)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *entry = json_array_get(list, i);

        if (text_equal(json_text(entry, "name"), node))
            return entry;
    }
    return NULL;
}

struct err *node_credentials_set(const char *name, struct str text, const char *node,
                                 const uint8_t digest[SHA256_SIZE], char **ret)
{
    AUTO(json_freep) json_t *root = NULL;
    AUTO(buf_done) struct buf hex = {0};
    AUTO_FREE char *yaml = NULL;
    struct users *users = NULL;
    json_t *entry;

    TRY(node_credentials_parse(name, text, &users)); /* what is not understood is not rewritten */
    users_free(users);
    TRY(credentials_root(name, text, &root));
    for (size_t i = 0; i < SHA256_SIZE; i++)
        buf_printf(&hex, "%02x", digest[i]);
    if (!json_is_array(json_object_get(root, "nodes")))
        json_put(root, "nodes", json_array());
    entry = credential_of(json_object_get(root, "nodes"), node);
    *ret = NULL;
    if (text_equal(json_text(entry, "tokenSha256"), hex.at))
        return NULL;
    if (!entry) {
        entry = json_object();
        json_put_text(entry, "name", node);
        (void)json_array_append_new(json_object_get(root, "nodes"), entry); /* cannot fail */
    }
    json_put_text(entry, "tokenSha256", hex.at);
    yaml = yaml_format(root);
    *ret = mem_format("# Nodes that may connect (docs/users.md). Delete an entry to revoke its "
                      "token.\n%s",
                      yaml);
    return NULL;
}
