/*
 * host.h - this machine: what it is, who its users are, and the mounts that containers stand on
 * (host_linux.c)
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

/* Texts are "" where unknown. */
struct host_info {
    char hostname[HOST_TEXT_SIZE];
    char kernel[HOST_TEXT_SIZE];
    char os_image[HOST_TEXT_SIZE]; /* "Debian GNU/Linux 12 (bookworm)" */
    char arch[HOST_TEXT_SIZE];     /* as Kubernetes calls it: "amd64" */
    char boot_id[HOST_TEXT_SIZE];
    char machine_id[HOST_TEXT_SIZE];
    char address[HOST_TEXT_SIZE]; /* of the default route's side; "127.0.0.1" without one */
    int64_t cpus;
    int64_t memory_bytes;
    int64_t disk_bytes; /* of the file system that `dir` is on */
};

struct err *host_info_read(const char *dir, struct host_info *ret) MUST_CHECK;

/* A user of the host. A uid without an entry has the group nogroup (65534), no others, "/" as home.
 */
struct host_user {
    uid_t uid;
    gid_t gid;
    gid_t groups[HOST_GROUPS_MAX]; /* with gid */
    size_t n_groups;
    char name[HOST_TEXT_SIZE];
    char home[4096];
};

/* May wait for a directory service: called by a worker. */
struct err *host_user_read(uid_t uid, struct host_user *ret) MUST_CHECK;

/* Below DATA/node, made by host_enter: /sys without what is mounted below it, and a small tmpfs for
 * the nodes of devices that are bound into containers. */
#define HOST_SYS_DIR    "sys"
#define HOST_DEVICE_DIR "devices"

struct host_mounts {
    const char *dir;      /* DATA/node */
    const char *rootfs;   /* made: what containers of the image `host` see as / */
    const char *mask_dir; /* shows empty there */
    const char *gpu_dir;  /* NULL, or a directory that is made on the host as a mount target */
};

/*
 * Enters a mount namespace of our own (mount_ns.h), which gets mounts from the host but gives none
 * back, and makes the root of the image `host`: a small tmpfs with the host's top-level directories
 * bound into it, so that a mount target at the top is made there and never on the host. Called
 * once, before any thread.
 */
struct err *host_enter(const struct host_mounts *m) MUST_CHECK;

struct host_owner {
    uid_t uid;
    gid_t gid;
    mode_t mode;
};

/* A tmpfs at an existing directory; size 0: the kernel's default. */
struct err *host_mount_tmpfs(const char *path, int64_t size_bytes,
                             const struct host_owner *owner) MUST_CHECK;
/* All mounts at `path`; none is fine. */
struct err *host_unmount(const char *path) MUST_CHECK;
struct err *host_own(const char *path, const struct host_owner *owner) MUST_CHECK;
struct err *host_rename(const char *from, const char *to) MUST_CHECK;
/* Since 1970, for workers, which have no loop. */
int64_t host_wall_ns(void);

/* Whether something is mounted exactly at `path`. */
bool host_is_mount(const char *path);

enum host_path {
    HOST_ABSENT,
    HOST_DIR,
    HOST_OTHER
};
enum host_path host_path_type(const char *path);
