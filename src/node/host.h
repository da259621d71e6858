/*
 * host.h - this machine: its facts, its users, and the mounts that containers use (host_linux.c)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum {
    HOST_TEXT_SIZE = 128,
    HOST_GROUPS_MAX = 256
};

/* Unknown texts are "". */
struct host_info {
    char hostname[HOST_TEXT_SIZE];
    char kernel[HOST_TEXT_SIZE];
    char os_image[HOST_TEXT_SIZE]; /* "Debian GNU/Linux 12 (bookworm)" */
    char arch[HOST_TEXT_SIZE];     /* as Kubernetes calls it: "amd64" */
    char boot_id[HOST_TEXT_SIZE];
    char machine_id[HOST_TEXT_SIZE];
    char machine[HOST_TEXT_SIZE]; /* the firmware's product name: "DGXH100" */
    char address[HOST_TEXT_SIZE]; /* of the default route's interface; "127.0.0.1" without a default
                                     route */
    int64_t cpus;
    int64_t memory_bytes;
    int64_t disk_bytes; /* of the file system with `dir` */
};

struct err *host_info_read(const char *dir, struct host_info *ret) MUST_CHECK;

/* A user of the host. A uid without a passwd entry has the group nogroup (65534), no others, and
 * "/" as home. */
struct host_user {
    uid_t uid;
    gid_t gid;
    gid_t groups[HOST_GROUPS_MAX]; /* of a uid with an entry: including gid */
    size_t n_groups;
    bool has_entry; /* in passwd */
    char name[HOST_TEXT_SIZE];
    char home[4096];
};

/* Looks a user up. Blocks on a directory service: for a worker. */
struct err *host_user_read(uid_t uid, struct host_user *ret) MUST_CHECK;

struct host_owner {
    uid_t uid;
    gid_t gid;
    mode_t mode;
};

/* Mounts a tmpfs at an existing directory; size 0: the kernel's default. */
struct err *host_mount_tmpfs(const char *path, int64_t size_bytes,
                             const struct host_owner *owner) MUST_CHECK;
/* Unmounts all mounts at `path`, if any. */
struct err *host_unmount(const char *path) MUST_CHECK;
struct err *host_own(const char *path, const struct host_owner *owner) MUST_CHECK;
struct err *host_rename(const char *from, const char *to) MUST_CHECK;
/* Realtime in ns since 1970, for workers, which have no loop. */
int64_t host_wall_ns(void);

/* Is there a mount exactly at `path`? */
bool host_is_mount(const char *path);

enum host_path {
    HOST_ABSENT,
    HOST_DIR,
    HOST_OTHER
};
enum host_path host_path_type(const char *path);
