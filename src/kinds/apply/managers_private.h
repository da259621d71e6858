/* managers_private.h - shared by managers.c and managers_apply.c */
#pragma once

#include "kinds/apply/managers.h"

/* A new entry, {0}. Pointers to entries are valid until the next addition or removal. */
struct manager *managers_add(struct arena *a, struct managers *m);
void managers_remove(struct managers *m, size_t i);
/* An apply has one entry for all versions. */
bool manager_is_same(const struct manager *x, const struct manager *y);
struct manager *managers_find(const struct managers *m, const struct manager *like);

/* The fields without those that no manager owns: name, uid, resourceVersion ... */
const struct fieldset *managed_strip(struct arena *a, const struct fieldset *fields);
/* The changes of a write, without the fields that it cannot set. */
struct err *managed_compare(const struct managed_write *w, const json_t *before,
                            const json_t *after, struct comparison *ret) MUST_CHECK;
/* Takes the changed fields from entry `i`. */
void managers_lose(struct arena *a, struct managers *m, size_t i, const struct comparison *c);
void managers_drop_empty(struct managers *m);
