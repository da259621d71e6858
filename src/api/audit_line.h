/* audit_line.h - the members of an audit line */
#pragma once

#include "api/core.h"

/* Adds what is known of a call before it runs: time, user, origin, verb and object, up to the
 * object's namespace; without a comma at the end. */
void audit_add_call(struct buf *b, const struct call *c, int64_t now_ns);

/* The verb of a line: that of the route; "import", "pull", "gc" or "delete" for images of nodes. */
const char *audit_verb(const struct call *c);

/* Is the call about images of a node? */
bool audit_is_images(const struct call *c);

/* Adds the names of the members that a patch sets, or that differ, as a JSON array. At most `depth`
 * names are joined by dots. */
void audit_add_patch_names(struct buf *b, const json_t *patch, size_t depth);
void audit_add_changed_names(struct buf *b, const json_t *before, const json_t *after,
                             size_t depth);
