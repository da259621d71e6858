/*
 * node_registry.h - the nodes of other machines: one-time tokens by which they join, registrations
 *
 * Internal objects of group "mete.dev", never served:
 *
 *   nodetokens//DIGEST          {"until": ns since 1970, "node": NAME or absent, "by": USER}
 *   noderegistrations//NODE     {"id": TEXT, "by": USER, "at": ns}
 *
 * The digest is the SHA-256 of the token's secret, which nobody stores. A token joins one node
 * once: the transaction that registers the node removes the token. A certificate (node_ca.h) names
 * its registration, and is good while the node has this registration: a new one, or none, ends it.
 */
#pragma once

#include "kinds/object/txn.h"

enum {
    NODE_SECRET_SIZE = 65,       /* 64 hexadecimal digits, with the NUL */
    NODE_REGISTRATION_SIZE = 37, /* a UUID, with the NUL */
    NODE_TOKENS_MAX = 1000       /* that wait for their nodes */
};

struct node_token {
    const char *node; /* NULL: any node that is not registered */
    const char *by;   /* the user who made it */
    int64_t now_ns;   /* real time */
    int64_t until_ns;
};

/* Adds a token to `t`, and removes expired ones. `ret` is its secret. ERR_OVER_QUOTA: too many
 * wait. */
struct err *node_token_make(struct txn *t, const struct store *s, const struct node_token *o,
                            char ret[NODE_SECRET_SIZE]) MUST_CHECK;

/*
 * Adds the use of a token to `t`: removes it and registers `node`. `ret_id` is the registration.
 * ERR_UNAUTHENTICATED: the token is unknown, expired or of another node. ERR_CONFLICT: another
 * machine is this node.
 */
struct err *node_join(struct txn *t, const struct store *s, const char *secret, const char *node,
                      int64_t now_ns, char ret_id[NODE_REGISTRATION_SIZE]) MUST_CHECK;

/* Adds the end of a registration. ERR_NOT_FOUND: the node is not registered. */
struct err *node_revoke(struct txn *t, const struct store *s, const char *node) MUST_CHECK;

/* The registration of `node` as applied; "": none. */
void node_registration(const struct store *s, const char *node, char ret[NODE_REGISTRATION_SIZE]);

/* Is `id` the registration of `node`? */
bool node_is_registered(const struct store *s, const char *node, const char *id);
