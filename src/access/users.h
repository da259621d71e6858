/* users.h - the users of users.yaml, for auth.c */
#pragma once

#include "access/auth.h"
#include "access/digest.h"

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
