/*
 * node_credentials.h - nodes.yaml: the nodes that may connect, each with the digest of its token
 *
 *   nodes:
 *   - name: NODE
 *     tokenSha256: "64 hexadecimal digits"
 *     tokenExpires: "2027-01-31T12:00:00Z"   (optional)
 *
 * The file names nodes and nothing else: an entry gives the rights of authz_node.c, never a role.
 * A node without an entry may not connect: deleting an entry revokes its token.
 */
#pragma once

#include "access/users.h"

enum {
    NODES_MAX = 4096
};

/*
 * Reads nodes.yaml as users: system:node:NODE in the group system:nodes. An empty text has no
 * nodes. ERR_INVALID, ERR_BAD_REQUEST: malformed; the message begins with `name`.
 */
struct err *node_credentials_parse(const char *name, struct str text,
                                   struct users **ret) MUST_CHECK;

/* Gives `node` this digest, in place of an earlier one; the other entries stay. `*ret` is the new
 * text, which the caller frees; NULL: `text` has the entry already. */
struct err *node_credentials_set(const char *name, struct str text, const char *node,
                                 const uint8_t digest[SHA256_SIZE], char **ret) MUST_CHECK;
