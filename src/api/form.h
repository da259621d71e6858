/* form.h - the form of objects in replies: as stored, as table rows, or only metadata */
#pragma once

#include "api/core.h"

struct form {
    enum wants_as as;
    const struct kind *kind;
    char include[12]; /* includeObject of a table: None, Metadata, Object */
    char *reader;     /* user from whom others' Slurm jobs are hidden; NULL: nothing is */
};

/* Reads the form from Accept and includeObject, and whose eyes it is for. */
struct err *form_parse(const struct call *c, struct form *ret) MUST_CHECK;
void form_done(struct form *f);

/* Adds a single object; `version` replaces its resourceVersion (0: keep). */
void form_add_object(const struct form *f, struct core *core, const struct store_object *o,
                     int64_t version, struct buf *b);
void form_add_tree(const struct form *f, struct core *core, const json_t *tree, struct buf *b);

/* The PartialObjectMetadata of an object. New reference. */
json_t *form_metadata(const json_t *tree);

/* The rows of a table for `trees`, as a new array. */
json_t *form_rows(const struct form *f, struct core *core, const json_t *trees);
/* The columns of a table, as a new array. */
json_t *form_columns(const struct form *f, struct core *core);
