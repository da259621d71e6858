/* rbac_grant.h - nobody grants what they lack: the rule of roles and bindings that are written */
#pragma once

#include "access/auth.h"
#include "kinds/kind/kind.h"

struct store;

/*
 * Judges a write of a role or a binding; other kinds pass. `before` is NULL for a create. The
 * caller needs each right that `after` gives, or the verb `escalate` on the role, `bind` on the
 * role of a binding. ERR_FORBIDDEN names the missing rights. ERR_NOT_FOUND: a binding's role is not
 * there.
 */
struct err *rbac_check_grant(const struct store *s, const struct identity *who,
                             const struct kind *k, const json_t *before,
                             const json_t *after) MUST_CHECK;
