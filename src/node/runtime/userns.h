/*
 * userns.h - the user namespaces of pods: each gets 65536 ids of the host that no other pod here
 * has
 *
 * Containers of images run in one by default (hostUsers false or not said); containers of the image
 * `host` never do. The range of a pod is kept in DATA/node/pods/UID/userns, so that it outlives us.
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

/* The first host id of the pod's range: the one it has, or a free one. ERR_UNAVAILABLE when all are
 * taken. */
struct err *userns_take(struct userns_ranges *r, const char *pod_uid,
                        uint32_t *ret_base) MUST_CHECK;
/* One found after a restart. ERR_CONFLICT where another pod has it. */
struct err *userns_adopt(struct userns_ranges *r, const char *pod_uid, uint32_t base) MUST_CHECK;
void userns_release(struct userns_ranges *r, const char *pod_uid);

/* From now on all pods have IMAGE_UID_BASE itself: this machine's file system cannot shift owners.
 */
void userns_share(struct userns_ranges *r);

/* ---- userns_linux.c; these block: for the worker ---- */

struct userns_map {
    uint32_t inside;
    uint32_t outside;
    uint32_t count;
};

/* A user namespace with that one line as its uid and gid map. The caller closes it. */
struct err *userns_open(const struct userns_map *map, int *ret_fd) MUST_CHECK;

/*
 * A bind mount of `source` (not what is mounted below it) at `target` on which owners shift by the
 * namespace: on disk `inside` + n, seen as `outside` + n. One mount of a directory serves all that
 * lies in it. ERR_UNAVAILABLE where the file system cannot do it.
 */
struct err *userns_mount(int userns_fd, const char *source, const char *target) MUST_CHECK;

/* Both at once: the owner `disk_base` + n shows as `host_base` + n for n below `count`. */
struct err *userns_mount_idmapped(const char *source, const char *target, uint32_t disk_base,
                                  uint32_t host_base, uint32_t count) MUST_CHECK;

/* Whether the file system of that directory can. */
bool userns_can_idmap(const char *dir);
