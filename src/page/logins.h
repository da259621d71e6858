/*
 * logins.h - one-time links, and the sessions of browsers that they become; in memory only
 *
 * A link acts for the caller who asked for it, and so does the session. A session keeps the
 * caller's credential (uid, certificate's names or token), which is checked again at each request:
 * a user who loses a right loses it in open sessions, too. A restart of the server ends all
 * sessions.
 *
 * Times are monotonic.
 */
#pragma once

#include "base/stamp.h"
#include "http/request.h"

enum {
    LOGINS_MAX = 1024, /* the oldest one gives way */
    LOGIN_LINKS_MAX = 64,
    LOGIN_KEY_SIZE = 33 /* 32 hexadecimal digits and NUL */
};

#define LOGIN_LINK_NS (INT64_C(600) * NS_PER_SEC)
#define LOGIN_LIFE_NS (INT64_C(12) * 3600 * NS_PER_SEC)

/* The proof of who a caller is. */
struct credential {
    bool is_unix;
    uint32_t uid;
    char *cert_user; /* NULL: none */
    char **cert_groups;
    size_t n_cert_groups;
    char *authorization; /* value of the header; NULL: none */
    char *user;          /* name, for people */
};

void credential_copy(struct credential *ret, const struct credential *from);
void credential_done(struct credential *c);

struct login {
    uint64_t id; /* never used twice */
    struct credential who;
    int64_t until_ns;
};

typedef void (*logins_random_fn)(void *arg, void *ret, size_t size);

struct logins;
struct logins *logins_new(logins_random_fn random, void *arg);
void logins_free(struct logins *s); /* accepts NULL */

/* Makes a link's key for the caller of `r`, whose name is `user`. */
void logins_make_link(struct logins *s, const struct api_request *r, const char *user,
                      int64_t now_ns, char ret_key[LOGIN_KEY_SIZE]);

/* Makes a session of a link, which is used up. `ret_cookie` is its secret. ERR_FORBIDDEN: the link
 * was used, has expired, or never was. */
struct err *logins_open(struct logins *s, const char *key, int64_t now_ns,
                        char ret_cookie[LOGIN_KEY_SIZE]) MUST_CHECK;

/* NULL: there is no such session, or it has expired. Borrowed until another call changes `s`. */
const struct login *logins_find(struct logins *s, struct str cookie, int64_t now_ns);
const struct login *logins_find_id(struct logins *s, uint64_t id, int64_t now_ns);

void logins_close(struct logins *s, uint64_t id);
