/* authz_private.h - shared by authz.c and authz_node.c */
#pragma once

#include "access/authz.h"

bool authz_node_allows(const struct store *s, const struct identity *who, const struct access *a);

/* Is `verb` among the space-separated `verbs`? */
bool authz_has_verb(const char *verbs, const char *verb);
