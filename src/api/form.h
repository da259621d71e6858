/* form.h - how objects are written into replies: as they are stored, as table rows, as metadata
 * only */
#pragma once

#include "api/core.h"

struct form {
    enum wants_as as;
    const struct kind *kind;
    char include[12]; /* includeObject of a table: None, Metadata, Object */
};

/* From Accept and includeObject. */
struct err *form_parse(const struct call *c, struct form *ret) MUST_CHECK;

/* One object by itself; `version` is its resourceVersion there (0: its own). */
void form_add_object(const struct form *f, struct core *core, const struct store_object *o,
                     int64_t version, struct buf *b);
void form_add_tree(const struct form *f, struct core *core, const json_t *tree, struct buf *b);

/* What a client that asks for metadata only gets of an object. New reference. */
json_t *form_metadata(const json_t *tree);

/* The rows of a table for `trees`, as a new array. */
json_t *form_rows(const struct form *f, struct core *core, const json_t *trees);
/* The columns of a table, as a new array. */
json_t *form_columns(const struct form *f, struct core *core);
