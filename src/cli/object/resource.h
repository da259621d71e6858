/* resource.h - the kind that a word names, and its API path: from our own tables, then from the
 * server's discovery */
#pragma once

#include "cli/session.h"
#include "kinds/kind/kind.h"

struct resource {
    char *group; /* "" for core */
    char *version;
    char *kind;
    char *plural;
    char *singular;
    bool is_namespaced;
    const struct kind *known; /* NULL: a kind that only the server knows */
};

void resource_done(struct resource *r);

/* Finds the kind of "pods", "pod", "po", "Pod", "queues.mete.dev". ERR_INVALID: no such kind. */
struct err *resource_find(struct session *s, const char *word, struct resource *ret) MUST_CHECK;

/* As resource_find for a user's word: exit code 2 and a line to try. */
struct err *resource_ask(struct cli *c, struct session *s, const char *word,
                         struct resource *ret) MUST_CHECK;

/* Finds the kind of an object by its apiVersion and kind. */
struct err *resource_of(struct session *s, const json_t *object, struct resource *ret) MUST_CHECK;

/* Path of the collection in `ns` (NULL: all namespaces), or of one object (`name` not NULL). The
 * caller frees it. */
char *resource_path(const struct resource *r, const char *ns, const char *name);

/* "pod/x", "pod/x in namespace y" */
char *resource_title(const struct resource *r, const char *ns, const char *name);
