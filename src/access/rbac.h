/*
 * rbac.h - the roles and bindings of the store, and what they allow
 *
 * Objects are decoded once a version, as they become durable: a decision that follows the answer to
 * a write knows it. A decision looks up the bindings of the user and of each group.
 */
#pragma once

#include "access/auth.h"
#include "base/json.h"
#include "store/store.h"

struct rbac;

/* Reads all roles and bindings, and follows them. */
struct err *rbac_new(struct store *s, struct rbac **ret) MUST_CHECK;
void rbac_free(struct rbac *r); /* accepts NULL */

struct rbac_ask {
    const char *verb;
    const char *group;
    const char *resource;    /* "pods"; NULL: a path */
    const char *subresource; /* NULL: none */
    const char *name;        /* NULL: a collection, or a create */
    const char *ns;          /* NULL: the whole cluster */
    const char *path;        /* of no resource; NULL: a resource */
};

/* Do the roles bound to `who` allow this? `r` may be NULL: no. */
bool rbac_allows(const struct rbac *r, const struct identity *who, const struct rbac_ask *ask);

/* Calls `fn` for each rule that holds for `who` in `ns` (NULL: the whole cluster). */
void rbac_each_rule(const struct rbac *r, const struct identity *who, const char *ns,
                    void (*fn)(void *arg, const json_t *rule), void *arg);

/* The rules of a role in the form of the API, as a new reference to an array that stays unchanged;
 * of a ClusterRole with `ns` NULL. Aggregated rules are included. NULL: no such role. */
json_t *rbac_rules_of(const struct rbac *r, const char *ns, const char *name);

/* Does one rule allow this? */
bool rbac_rule_allows(const json_t *rule, const struct rbac_ask *ask);
