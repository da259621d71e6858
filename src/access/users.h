/* users.h - the users of users.yaml, for auth.c, and the parts of its parser */
#pragma once

#include "access/auth.h"
#include "access/digest.h"
#include "base/json.h"

#define NODE_USER_PREFIX "system:node:"

enum {
    USERS_MAX = 1024,
    USER_GROUPS_MAX = 32,
    USER_GRANTS_MAX = 64,
    USER_NAME_MAX = 253
};

struct user_grant {
    enum role role;
    char *ns;
};

struct user {
    char *name;
    char **groups;
    size_t n_groups;
    struct user_grant *grants;
    size_t n_grants;
    uint8_t token[SHA256_SIZE];
    bool has_token;
    int64_t token_expires_ns; /* 0: never */
    int64_t uid;              /* uid on the unix socket; -1: none */
    int64_t host_uid;         /* -1: none */
};

struct users {
    struct user *at;
    size_t n;
};

/* Refuses keys other than `known` (NULL at the end). */
struct err *users_check_keys(const json_t *object, const char *const *known) MUST_CHECK;
/* Read tokenSha256, then tokenExpires, into `u`; NULL: absent. */
struct err *users_read_token(const json_t *value, struct user *u) MUST_CHECK;
struct err *users_read_expiry(const json_t *value, struct user *u) MUST_CHECK;
