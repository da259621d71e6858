/* resource.h - which kind of objects a word means, and where they are: our own tables first, then
 * the server's discovery */
#pragma once

#include "cli/session.h"
#include "kinds/kind.h"

struct resource {
    char *group; /* "" for core */
    char *version;
    char *kind;
    char *plural;
    char *singular;
    bool is_namespaced;
    const struct kind *known; /* NULL: a kind that is not ours */
};

void resource_done(struct resource *r);

/* "pods", "pod", "po", "Pod", "queues.mete.dev". ERR_BAD_REQUEST when nothing is meant, with the
 * nearest. */
struct err *resource_find(struct session *s, const char *word, struct resource *ret) MUST_CHECK;

/* By an object's own apiVersion and kind. */
struct err *resource_of(struct session *s, const json_t *object, struct resource *ret) MUST_CHECK;

/* The collection in `ns` (NULL: everywhere), or one object of it (`name` not NULL). The caller
 * frees it. */
char *resource_path(const struct resource *r, const char *ns, const char *name);

/* "pod/x", "pod/x in namespace y" */
char *resource_title(const struct resource *r, const char *ns, const char *name);
