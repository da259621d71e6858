/* auth.h - who asks: from a token, a client certificate or a uid to a user with roles and a host
 * uid */
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
    const char *ns; /* "*": every one */
};

struct signing_key;
struct store;

/* Lives as long as its arena. */
struct identity {
    const char *user;
    const char *const *groups;
    size_t n_groups;
    const struct grant *grants;
    size_t n_grants;
    bool is_admin;    /* group system:masters, or cluster-admin everywhere */
    const char *node; /* NAME of system:node:NAME in group system:nodes; NULL: no node */
    int64_t host_uid; /* as whom `host` containers run; -1: nobody */
    const char *uid;  /* of a service account; NULL: others have none */
    const char *pod;  /* that its token is bound to; NULL: none */
    const char *pod_uid;
};

/* The name of `uid` in /etc/passwd into `ret`; false where it has none. */
typedef bool (*user_name_fn)(void *arg, uint32_t uid, char *ret, size_t ret_size);

/* users.yaml, parsed: docs/users.md. */
struct users;
struct err *users_parse(const char *name, struct str text, struct users **ret) MUST_CHECK;
void users_free(struct users *u); /* accepts NULL */
size_t users_count(const struct users *u);

struct auth;

struct auth_options {
    struct loop *loop;
    const char
        *users_file; /* NULL or missing: nobody but the unix socket's users and certificates */
    user_name_fn user_name;
    void *arg;
    const char *node_tokens_file; /* of the same form, asked for tokens only; NULL: none */
    const struct signing_key
        *signing_key;          /* of service accounts' tokens; NULL: they are nobody's */
    const struct store *store; /* whether what a token is bound to is there */
};

/* Fails where the file is there and wrong. Later it is looked at every 2 s; a wrong one is logged
 * and not taken. */
struct err *auth_new(const struct auth_options *o, struct auth **ret) MUST_CHECK;
void auth_free(struct auth *a); /* accepts NULL */

/* Takes other users from now on. */
void auth_take_users(struct auth *a, struct users *taken);

/* Whose token it is. ERR_UNAUTHENTICATED for nobody's, and for one that is not for `audience`. */
struct err *auth_identify_token(const struct auth *a, struct arena *arena, const char *token,
                                const char *audience, struct identity *ret) MUST_CHECK;

/* What a user of that name, in these groups, would be; unknown ones have no rights. */
void auth_describe(const struct auth *a, struct arena *arena, const char *user,
                   const char *const *groups, size_t n_groups, struct identity *ret);

/* ERR_UNAUTHENTICATED for who is nobody. */
struct err *auth_identify(const struct auth *a, struct arena *arena, const struct api_request *r,
                          struct identity *ret) MUST_CHECK;
