/*
 * userns.h - the user namespaces of pods: each gets 65536 ids of the host that no other pod here
 * has
 *
 * Containers of images run in one by default (hostUsers false or not said); containers of the image
 * `host` never do. The range of a pod is kept in DATA/node/pods/UID/userns, so that it outlives us.
 */
#pragma once

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

/*
 * In the worker (userns_linux.c): a bind mount of `source` at `target` on which the owner
 * `disk_base` + n shows as `host_base` + n for n below `count`. ERR_UNAVAILABLE where the file
 * system cannot do it.
 */
struct err *userns_mount_idmapped(const char *source, const char *target, uint32_t disk_base,
                                  uint32_t host_base, uint32_t count) MUST_CHECK;
