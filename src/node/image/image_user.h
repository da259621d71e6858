/*
 * image_user.h - the user of a container, looked up in the image's own /etc/passwd and /etc/group
 * by the rules of container runtimes
 */
#pragma once

#include "base/str.h"
#include "node/host.h"

enum {
    IMAGE_PASSWD_MAX = 1 << 20,   /* bytes of each of the two files */
    IMAGE_ID_MAX = 65535,         /* with a user namespace */
    IMAGE_ID_MAX_HOST = INT32_MAX /* without one */
};

struct image_user {
    const char *user;      /* of the image config: "", "1000", "1000:1000", "name", "name:group" */
    int64_t uid;           /* runAsUser; -1: the image's */
    int64_t gid;           /* runAsGroup; -1: the image's */
    int64_t id_max;        /* largest valid id */
    bool has_image_groups; /* supplementalGroupsPolicy Merge: add the groups of /etc/group */
};

/*
 * `passwd` and `group` may be empty. A user without an entry has the home "/" and the group 0.
 * ERR_INVALID: a name without an entry, or an id out of range.
 */
struct err *image_user_find(const struct image_user *u, struct str passwd, struct str group,
                            struct host_user *ret) MUST_CHECK;
