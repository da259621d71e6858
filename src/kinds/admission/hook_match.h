/* hook_match.h - a request as admission sees it, and the rules and selectors that choose requests
 */
#pragma once

#include "kinds/kind/kind.h"
#include "model/selector.h"
#include "store/store.h"

/* A write. Borrows all. */
struct admission_ask {
    const struct store *store;
    const struct kind *kind;  /* in whose form the objects are */
    const struct kind *asked; /* the version of the request's path */
    const char *ns;           /* "": cluster-wide */
    const char *name;         /* "": not known yet */
    const char *subresource;  /* NULL: none */
    const char *operation;    /* CREATE, UPDATE, DELETE */
    const json_t *object;     /* NULL: a deletion */
    const json_t *before;     /* NULL: a creation */
    const json_t *user;       /* UserInfo */
    const char *manager;      /* fieldManager; NULL: none */
    bool is_dry_run;
};

struct hook_match {
    const json_t *rules;
    const json_t *excluded; /* NULL: none */
    bool is_exact;
    struct selector *namespaces;
    struct selector *objects;
};

/* Borrows the trees; reads namespaceSelector, objectSelector and matchPolicy of `source`. */
void hook_match_init(struct hook_match *m, const json_t *source, const json_t *rules,
                     const json_t *excluded);
void hook_match_done(struct hook_match *m);

/* The kind in whose version the request matches; NULL: it does not. */
const struct kind *hook_match_find(const struct hook_match *m, const struct admission_ask *ask);

/* Do both selectors choose the request? */
bool hook_match_selects(const struct hook_match *m, const struct admission_ask *ask);

/* A request about the configuration of admission itself, which nobody is asked about. */
bool admission_is_exempt(const struct kind *k);
