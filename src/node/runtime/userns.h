/*
 * userns.h - user namespaces of pods: each pod gets 65536 host ids of its own
 *
 * Containers of images run in a user namespace by default (hostUsers false or absent); containers
 * of the image `host` never do. The pod's range is kept in DATA/node/pods/UID/userns, so that it
 * outlives the node process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum {
    USERNS_FIRST = 1879113728, /* 0x70010000: right after IMAGE_UID_BASE's range */
    USERNS_SIZE = 65536,
    USERNS_RANGES = 4096
};

struct userns_ranges;

struct userns_ranges *userns_new(void);
void userns_free(struct userns_ranges *r);

/* Gives the pod a free range, unless it has one already; `*ret_base` is its first host id.
 * ERR_UNAVAILABLE: all ranges are taken. */
struct err *userns_take(struct userns_ranges *r, const char *pod_uid,
                        uint32_t *ret_base) MUST_CHECK;
/* Enters a range found after a restart. ERR_CONFLICT: another pod has it. */
struct err *userns_adopt(struct userns_ranges *r, const char *pod_uid, uint32_t base) MUST_CHECK;
void userns_release(struct userns_ranges *r, const char *pod_uid);

/* From now on all pods share the range at IMAGE_UID_BASE: the file system of this machine has no
 * idmapped mounts. */
void userns_share(struct userns_ranges *r);

/* ---- userns_linux.c; these functions block: for the worker ---- */

struct userns_map {
    uint32_t inside;
    uint32_t outside;
    uint32_t count;
};

/* Makes a user namespace with `map` as its uid and gid map. The caller closes the descriptor. */
struct err *userns_open(const struct userns_map *map, int *ret_fd) MUST_CHECK;

/*
 * Bind-mounts `source` (without its submounts) at `target`, with owners shifted by the namespace:
 * `inside` + n on disk appears as `outside` + n. One mount of a directory serves everything in it.
 * ERR_UNAVAILABLE: the file system does not support idmapped mounts.
 */
struct err *userns_mount(int userns_fd, const char *source, const char *target) MUST_CHECK;

/* Does userns_open and userns_mount in one: the owner `disk_base` + n appears as `host_base` + n,
 * for n below `count`. */
struct err *userns_mount_idmapped(const char *source, const char *target, uint32_t disk_base,
                                  uint32_t host_base, uint32_t count) MUST_CHECK;

/* Does the file system of `dir` support idmapped mounts? */
bool userns_can_idmap(const char *dir);
