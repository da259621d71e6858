/* auth.h - authentication: from a token, a client certificate or a uid to a user with roles and a
 * host uid */
#pragma once

#include "base/arena.h"
#include "base/loop.h"
#include "http/request.h"

enum role {
    ROLE_VIEW,
    ROLE_EDIT,
    ROLE_CLUSTER_ADMIN
};

struct grant {
    enum role role;
    const char *ns; /* "*": all namespaces */
};

struct rbac;
struct signing_key;
struct store;

/* An authenticated caller. Lives as long as its arena. */
struct identity {
    const char *user;
    const char *const *groups;
    size_t n_groups;
    const struct grant *grants;
    size_t n_grants;
    const char *impersonator; /* the user who acts as `user`; NULL: nobody */
    bool is_admin;            /* group system:masters, or cluster-admin everywhere */
    const char *node;         /* NAME of system:node:NAME in group system:nodes; NULL: not a node */
    const struct rbac *rbac;  /* roles and bindings; NULL: none */
    int64_t host_uid;         /* uid of the caller's `host` containers; -1: none */
    const char *uid;          /* uid of a service account; NULL: not a service account */
    const char *pod;          /* pod that the token is bound to; NULL: none */
    const char *pod_uid;
    /* Identify the proof, for token_revoked_fn; 0: another proof. */
    /* a token of users.yaml or nodes.yaml, the pod of a token, or the registration of a node */
    uint64_t credential;
    uint64_t account_credential; /* the service account of a token */
};

/* Writes the name of `uid` in /etc/passwd to `ret`. False: the uid has no name. */
typedef bool (*user_name_fn)(void *arg, uint32_t uid, char *ret, size_t ret_size);

/* The uid of the user of that name in /etc/passwd. False: there is none. */
typedef bool (*user_uid_fn)(void *arg, const char *name, uint32_t *ret);

/* users.yaml, parsed: docs/users.md. */
struct users;
struct err *users_parse(const char *name, struct str text, struct users **ret) MUST_CHECK;
void users_free(struct users *u); /* accepts NULL */
size_t users_count(const struct users *u);

struct auth;

/* A token of users.yaml or nodes.yaml was revoked, or replaced by another; or the pod or the
 * service account of tokens is gone. */
typedef void (*token_revoked_fn)(void *arg, uint64_t credential);

struct auth_options {
    struct loop *loop;
    const char *users_file; /* NULL or missing: no tokens */
    user_name_fn user_name;
    user_uid_fn user_uid; /* NULL: users of users.yaml alone have names */
    void *arg;
    const char *nodes_file;         /* node_credentials.h; NULL: none */
    token_revoked_fn token_revoked; /* NULL: not called */
    void *revoked_arg;
    const struct signing_key
        *signing_key;    /* verifies service accounts' tokens; NULL: refuse them */
    struct store *store; /* has the objects that tokens are bound to */
};

/* Fails if a file exists and is malformed. Later the files are checked every 2 s; a malformed
 * change is logged and ignored. */
struct err *auth_new(const struct auth_options *o, struct auth **ret) MUST_CHECK;
void auth_free(struct auth *a); /* accepts NULL */

/* The registration of a node has ended: tells token_revoked. */
void auth_end_registration(const struct auth *a, const char *id);

/* Replaces the users. */
void auth_take_users(struct auth *a, struct users *taken);

/* Identifies the owner of a token. ERR_UNAUTHENTICATED: unknown token, or not for `audience`. */
struct err *auth_identify_token(const struct auth *a, struct arena *arena, const char *token,
                                const char *audience, struct identity *ret) MUST_CHECK;

/* Is the user of this uid an administrator? */
bool auth_uid_is_admin(const struct auth *a, struct arena *arena, uint32_t uid);

/* Is there a user of that name, in users.yaml, else on this machine? `*ret_uid`: on the unix
 * socket; -1: none. */
bool auth_find_user(const struct auth *a, const char *name, int64_t *ret_uid);

/* Describes the identity of a user with this name in these groups; unknown users have no rights. */
void auth_describe(const struct auth *a, struct arena *arena, const char *user,
                   const char *const *groups, size_t n_groups, struct identity *ret);

/* Identifies the caller of a request. ERR_UNAUTHENTICATED: unknown caller. */
struct err *auth_identify(const struct auth *a, struct arena *arena, const struct api_request *r,
                          struct identity *ret) MUST_CHECK;
