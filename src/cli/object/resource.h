/* resource.h - which kind of objects a word means, and where they are: our own tables first, then
 * the server's discovery */
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
    const struct kind *known; /* NULL: a kind that is not ours */
};

void resource_done(struct resource *r);

/* "pods", "pod", "po", "Pod", "queues.mete.dev". ERR_INVALID when nothing is meant. */
struct err *resource_find(struct session *s, const char *word, struct resource *ret) MUST_CHECK;

/* The same for a word that was typed: exit code 2 and what to try. */
struct err *resource_ask(struct cli *c, struct session *s, const char *word,
                         struct resource *ret) MUST_CHECK;

/* By an object's own apiVersion and kind. */
struct err *resource_of(struct session *s, const json_t *object, struct resource *ret) MUST_CHECK;

/* The collection in `ns` (NULL: everywhere), or one object of it (`name` not NULL). The caller
 * frees it. */
char *resource_path(const struct resource *r, const char *ns, const char *name);

/* "pod/x", "pod/x in namespace y" */
char *resource_title(const struct resource *r, const char *ns, const char *name);
