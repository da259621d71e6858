/* selection.h - which objects a list or watch is about: label and field selectors, and for one
 * object its name */
#pragma once

#include "api/core.h"
#include "model/selector.h"

struct selection {
    const struct kind *kind;
    struct selector *labels; /* NULL: any */
    struct selector *fields; /* NULL: any */
    bool has_name;           /* metadata.name or .namespace is among the fields */
    bool needs_text;         /* more than those is looked at */
};

/* From labelSelector and fieldSelector. ERR_BAD_REQUEST for what cannot be selected. */
struct err *selection_parse(const struct call *c, struct selection *ret) MUST_CHECK;
void selection_done(struct selection *s);

static inline bool selection_is_all(const struct selection *s)
{
    return !s->labels && !s->fields;
}

/* `*ret_has_tree` (may be NULL): the object's tree had to be made, which takes ten times as long.
 */
bool selection_matches(const struct selection *s, struct core *core, const struct store_object *o,
                       bool *ret_has_tree);
bool selection_matches_tree(const struct selection *s, const json_t *tree);
