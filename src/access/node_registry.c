/* node_registry.c - one-time tokens of joining nodes, and their registrations */

#include "access/node_registry.h"

#include <inttypes.h>

#include "access/digest.h"
#include "base/file.h"
#include "base/mem.h"
#include "kinds/object/objects.h"

enum {
    SECRET_BYTES = 32,
    DIGEST_TEXT = 2 * SHA256_SIZE + 1
};

static struct store_key token_key(const char *digest)
{
    return (struct store_key){
        .group = "mete.dev", .resource = "nodetokens", .ns = "", .name = digest};
}

static struct store_key registration_key(const char *node)
{
    return (struct store_key){
        .group = "mete.dev", .resource = "noderegistrations", .ns = "", .name = node};
}

static void hex(const uint8_t *bytes, size_t n, char *ret)
{
    for (size_t i = 0; i < n; i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

static void digest_of(const char *secret, char ret[DIGEST_TEXT])
{
    uint8_t digest[SHA256_SIZE];

    digest_sha256(str_of(secret), digest);
    hex(digest, sizeof(digest), ret);
}

/* The tree of an internal object as applied; NULL: absent or damaged. New reference. */
static json_t *registry_tree(const struct store *s, struct store_key key, int64_t *ret_version)
{
    const struct store_object *o = store_get_applied(s, key);
    json_t *tree = NULL;
    AUTO(err_freep) struct err *e = o ? objects_decode(o, &tree) : NULL;

    *ret_version = o ? o->version : STORE_ABSENT;
    return e ? NULL : tree;
}

/* Adds the removal of expired tokens to `t`, and counts the others. */
static struct err *sweep_tokens(struct txn *t, const struct store *s, int64_t now_ns,
                                size_t *ret_count)
{
    const struct store_range range = {.group = "mete.dev", .resource = "nodetokens", .ns = ""};
    struct store_list list = {0};

    TRY(store_list(s, &range, NULL, NULL, 0, 0, &list));
    *ret_count = 0;
    for (size_t i = 0; i < list.n; i++) {
        AUTO(json_freep) json_t *tree = NULL;
        AUTO(err_freep) struct err *e = objects_decode(list.at[i], &tree);

        if (e || json_int(tree, "until", 0) <= now_ns)
            txn_delete(t, list.at[i]->key, list.at[i]->version);
        else
            ++*ret_count;
    }
    store_list_done(&list);
    return NULL;
}

struct err *node_token_make(struct txn *t, const struct store *s, const struct node_token *o,
                            char ret[NODE_SECRET_SIZE])
{
    AUTO(json_freep) json_t *token = json_object();
    uint8_t bytes[SECRET_BYTES];
    char digest[DIGEST_TEXT];
    size_t n = 0;

    TRY(sweep_tokens(t, s, o->now_ns, &n));
    if (n >= NODE_TOKENS_MAX)
        return err_new(ERR_OVER_QUOTA, "%d tokens of nodes wait already: each ends by itself",
                       NODE_TOKENS_MAX);
    random_bytes(bytes, sizeof(bytes));
    hex(bytes, sizeof(bytes), ret);
    /* NOLINTNEXTLINE(readability-suspicious-call-argument): the caller's `ret` is the secret */
    digest_of(ret, digest);
    json_put_int(token, "until", o->until_ns);
    json_put_text(token, "by", o->by);
    if (o->node)
        json_put_text(token, "node", o->node);
    txn_put(t, token_key(digest), token, STORE_ABSENT);
    return NULL;
}

/* May the token's node be `node`, which has the registration `had` (NULL: none)? */
static struct err *check_name(const struct store *s, const json_t *token, const char *node,
                              const json_t *had)
{
    const struct store_key own = {.group = "", .resource = "nodes", .ns = "", .name = node};
    const char *named = json_text(token, "node");

    if (named && !text_equal(named, node))
        return err_new(ERR_UNAUTHENTICATED, "the token is for node %s, not for %s", named, node);
    if (!named && (had || store_get_applied(s, own)))
        return err_new(ERR_CONFLICT,
                       "node %s exists: give this machine another --name, or, if it is that node, "
                       "a token of mete token node --name %s",
                       node, node);
    return NULL;
}

struct err *node_join(struct txn *t, const struct store *s, const char *secret, const char *node,
                      int64_t now_ns, char ret_id[NODE_REGISTRATION_SIZE])
{
    AUTO(json_freep) json_t *registration = json_object();
    AUTO(json_freep) json_t *token = NULL;
    AUTO(json_freep) json_t *had = NULL;
    char digest[DIGEST_TEXT];
    int64_t token_version = 0;
    int64_t version = 0;

    digest_of(secret, digest);
    token = registry_tree(s, token_key(digest), &token_version);
    if (!token || json_int(token, "until", 0) <= now_ns)
        return err_new(ERR_UNAUTHENTICATED,
                       "the token is unknown, was used, or has expired: mete token node makes one");
    had = registry_tree(s, registration_key(node), &version);
    TRY(check_name(s, token, node, had));
    uuid_make(ret_id);
    json_put_text(registration, "id", ret_id);
    json_put_text(registration, "by", json_text(token, "by"));
    json_put_int(registration, "at", now_ns);
    txn_delete(t, token_key(digest), token_version);
    txn_put(t, registration_key(node), registration, version);
    return NULL;
}

struct err *node_revoke(struct txn *t, const struct store *s, const char *node)
{
    int64_t version = 0;
    AUTO(json_freep) json_t *had = registry_tree(s, registration_key(node), &version);

    if (!had)
        return err_new(ERR_NOT_FOUND, "node %s has not joined by a token", node);
    txn_delete(t, registration_key(node), version);
    return NULL;
}

void node_registration(const struct store *s, const char *node, char ret[NODE_REGISTRATION_SIZE])
{
    int64_t version = 0;
    AUTO(json_freep) json_t *had = registry_tree(s, registration_key(node), &version);
    const char *id = had ? json_text(had, "id") : NULL;

    (void)snprintf(ret, NODE_REGISTRATION_SIZE, "%s", id ? id : "");
}

bool node_is_registered(const struct store *s, const char *node, const char *id)
{
    char had[NODE_REGISTRATION_SIZE];

    node_registration(s, node, had);
    return *had && text_equal(had, id);
}
