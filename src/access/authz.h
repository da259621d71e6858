/* authz.h - authorization: the roles of users.yaml, those of the store (rbac.h), and the rules of
 * nodes */
#pragma once

#include "access/auth.h"
#include "kinds/kind/kind.h"
#include "store/store.h"

struct access {
    const char *verb; /* "get", "list", "watch", "create", ... as in Kubernetes */
    const struct kind *kind;
    const char *subresource;    /* NULL: the object itself */
    const char *ns;             /* NULL: all namespaces, or a kind without namespaces */
    const char *name;           /* NULL: a collection, or a create */
    const char *field_selector; /* of a list or watch; NULL: none */
};

/* May `who` do this? NULL, or ERR_FORBIDDEN in Kubernetes' words. A node's rights follow from the
 * pods that the store has bound to it. */
struct err *authz_check(const struct store *s, const struct identity *who,
                        const struct access *a) MUST_CHECK;

/* Calls `fn` for each rule of `who` in `ns`; `kind` NULL and "*" stand for all resources. A node's
 * rules depend on its pods and are not included. */
void authz_each_rule(const struct identity *who, const char *ns,
                     void (*fn)(void *arg, const struct kind *k, const char *resource,
                                const char *verbs),
                     void *arg);

/* The rules of a role of users.yaml in the form of a ClusterRole: those of its namespaces, or what
 * each user with a role reads in the whole cluster. A new array. */
json_t *authz_role_rules(enum role role);
json_t *authz_reader_rules(void);

/* May `who` get this path, which is no resource, with this verb? */
bool authz_allows_path(const struct identity *who, const char *verb, const char *path);
/* The same as authz_check for a resource that this server may lack. */
bool authz_allows_resource(const struct identity *who, const struct access *a, const char *group,
                           const char *resource);

enum authz_images {
    AUTHZ_IMAGES_LIST,  /* callers with a role in any namespace, as for nodes */
    AUTHZ_IMAGES_PULL,  /* callers that may create pods in some namespace: a pod pulls, too */
    AUTHZ_IMAGES_CHANGE /* administrators */
};

/* May `who` do this with the images of nodes? */
struct err *authz_check_images(const struct identity *who, enum authz_images right) MUST_CHECK;

/* May `who` open the reverse stream of node `name`? Only that node itself may. */
struct err *authz_check_stream(const struct identity *who, const char *name) MUST_CHECK;

/* The node rules that need the body: a node creates only its own Node and Lease, and no pods.
 * `name` is the object's metadata.name. */
struct err *authz_check_node_create(const struct identity *who, const struct access *a,
                                    const char *name) MUST_CHECK;
