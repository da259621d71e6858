/* selection.h - the objects of a list or watch, by label and field selectors */
#pragma once

#include "api/core.h"
#include "model/selector.h"

struct selection {
    const struct kind *kind;
    struct selector *labels; /* NULL: any */
    struct selector *fields; /* NULL: any */
    bool has_name;           /* the fields include metadata.name or .namespace */
    bool needs_text;         /* the selectors need the object's text */
};

/* Parses labelSelector and fieldSelector. ERR_BAD_REQUEST: malformed, or an unsupported field. */
struct err *selection_parse(const struct call *c, struct selection *ret) MUST_CHECK;
void selection_done(struct selection *s);

static inline bool selection_is_all(const struct selection *s)
{
    return !s->labels && !s->fields;
}

/* `*ret_has_tree` (may be NULL): the check needed the object's tree, which takes ten times as
 * long. */
bool selection_matches(const struct selection *s, struct core *core, const struct store_object *o,
                       bool *ret_has_tree);
bool selection_matches_tree(const struct selection *s, const json_t *tree);
