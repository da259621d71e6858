/* authz_private.h - shared by authz.c and authz_node.c */
#pragma once

#include "access/authz.h"

bool authz_node_allows(const struct store *s, const struct identity *who, const struct access *a);

/* Is `verb` among the space-separated `verbs`? */
bool authz_has_verb(const char *verbs, const char *verb);

struct rbac_ask;

/* May `who` do this, by users.yaml, by roles of the store, or as an administrator? Resources that
 * this server lacks are allowed by roles only. Rights of nodes do not count. */
bool authz_allows(const struct store *s, const struct identity *who, const struct rbac_ask *ask);
