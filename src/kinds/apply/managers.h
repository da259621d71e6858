/*
 * managers.h - metadata.managedFields: who owns which fields, and what writes change of that
 *
 * An apply owns the fields of its configuration; other writes own what they changed. The rules,
 * names and texts are Kubernetes' (apimachinery/pkg/util/managedfields).
 */
#pragma once

#include "kinds/apply/structure.h"

/* An entry of managedFields. Texts are borrowed. */
struct manager {
    const char *name;
    bool is_apply; /* the operation: Apply, else Update */
    const char *api_version;
    const char *subresource; /* "": the object itself */
    const char *time;        /* RFC 3339; NULL: unknown */
    const struct fieldset *fields;
};

struct managers {
    struct manager *at;
    size_t n;
    size_t room;
};

/* A write that changes who owns fields. */
struct managed_write {
    struct arena *arena;
    struct shape shape;
    const char *manager;            /* its name */
    const char *api_version;        /* of the trees */
    const char *subresource;        /* "": the object itself */
    const char *now;                /* RFC 3339 */
    const struct fieldset *ignored; /* fields that the write cannot set, with all below them */
    const json_t *zero;             /* the object before its first write */
};

/* Reads managedFields; NULL is empty. ERR_INVALID: malformed. Texts of `list` are borrowed. */
struct err *managers_parse(struct arena *a, const json_t *list, struct managers *ret) MUST_CHECK;
/* In Kubernetes' order. A new reference; NULL: no entries. */
json_t *managers_format(const struct managers *m);

/* Does the client ask to forget all managers: [] or [{}]? */
bool managers_is_reset(const json_t *list);
/* Are the lists equal but for their times? */
bool managers_equal(const json_t *x, const json_t *y);

/* A write other than an apply has replaced `before` by `after`. Old Update entries over a limit are
 * joined. ERR_INVALID: structure_compare's. */
struct err *managers_update(const struct managed_write *w, struct managers *m, const json_t *before,
                            const json_t *after) MUST_CHECK;

/*
 * Applies `config` to `live`. Fields that the manager applied before, and has no longer, are
 * removed unless others own them. ERR_CONFLICT unless `force`: others own fields with other values;
 * details name them. `*ret` is a new tree that shares parts with both: copy it before changing it.
 * Entries borrow from both trees.
 */
struct err *managers_apply(const struct managed_write *w, struct managers *m, const json_t *live,
                           const json_t *config, bool force, json_t **ret) MUST_CHECK;
