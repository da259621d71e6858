/* authz.h - who may do what: cluster-admin, edit, view, and the nodes' own rules */
#pragma once

#include "access/auth.h"
#include "kinds/kind/kind.h"
#include "store/store.h"

struct access {
    const char *verb; /* "get", "list", "watch", "create", ... as Kubernetes */
    const struct kind *kind;
    const char *subresource;    /* NULL: the object itself */
    const char *ns;             /* NULL: every namespace, or a kind that has none */
    const char *name;           /* NULL: a collection, or a create */
    const char *field_selector; /* of a list or watch; NULL: none */
};

/* NULL, or ERR_FORBIDDEN in Kubernetes' words. The store says what is bound to a node. */
struct err *authz_check(const struct store *s, const struct identity *who,
                        const struct access *a) MUST_CHECK;

/*
 * Calls `fn` for each rule that holds for `who` in `ns`; `kind` NULL and "*" for all there is. A
 * node's rules follow its pods and are not among them.
 */
void authz_each_rule(const struct identity *who, const char *ns,
                     void (*fn)(void *arg, const struct kind *k, const char *resource,
                                const char *verbs),
                     void *arg);

enum authz_images {
    AUTHZ_IMAGES_LIST,  /* whoever has a role anywhere, as for nodes */
    AUTHZ_IMAGES_PULL,  /* who may make pods somewhere: a pod pulls as well */
    AUTHZ_IMAGES_CHANGE /* administrators */
};

/* What `who` may do with the images of nodes. */
struct err *authz_check_images(const struct identity *who, enum authz_images right) MUST_CHECK;

/* Whether `who` may open the reverse stream of node `name`: that node itself only. */
struct err *authz_check_stream(const struct identity *who, const char *name) MUST_CHECK;

/*
 * The part of a node's rules that needs the body: a node makes and writes only its own Node and
 * Lease, and cannot make pods. `name` is the object's own metadata.name.
 */
struct err *authz_check_node_create(const struct identity *who, const struct access *a,
                                    const char *name) MUST_CHECK;
