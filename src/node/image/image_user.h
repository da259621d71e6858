/*
 * image_user.h - whom a container of an image runs as: its own /etc/passwd and /etc/group, read as
 * a container runtime reads them
 */
#pragma once

#include "base/str.h"
#include "node/host.h"

enum {
    IMAGE_PASSWD_MAX = 1 << 20,   /* bytes of each of the two files */
    IMAGE_ID_MAX = 65535,         /* in a user namespace */
    IMAGE_ID_MAX_HOST = INT32_MAX /* without one */
};

struct image_user {
    const char *user;      /* as the image says: "", "1000", "1000:1000", "name", "name:group" */
    int64_t uid;           /* runAsUser; -1: as the image says */
    int64_t gid;           /* runAsGroup; -1: as the image says */
    int64_t id_max;        /* the last id that there is */
    bool has_image_groups; /* supplementalGroupsPolicy Merge: also those of /etc/group */
};

/*
 * `passwd` and `group` may be empty. The home of a user without an entry is "/", its group 0.
 * ERR_INVALID: a name that has no entry, an id that is out of range.
 */
struct err *image_user_find(const struct image_user *u, struct str passwd, struct str group,
                            struct host_user *ret) MUST_CHECK;
