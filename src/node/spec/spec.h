/*
 * spec.h - config.json for the OCI runtime, from a pod's container and facts of the host
 *
 * The image and the user decide only what a container may choose: command, variables, user, limits.
 * Devices come from the ledger, through CDI edits. The rights of a container: spec_rights.c and
 * docs/security.md.
 */
#pragma once

#include "base/json.h"
#include "node/host.h"
#include "node/image/image_user.h"
#include "node/image/images.h"

enum {
    SPEC_PIDS_DEFAULT = 4096
};

struct spec_mount {
    char *source;      /* on the host */
    char *destination; /* in the container */
    bool is_read_only;
    bool is_ours; /* the node's own, not a volume: may be below /dev */
};

struct spec_input {
    const json_t *pod;
    const json_t *container;
    const json_t *sizes;       /* the container whose `resources` hold; NULL: `container` */
    const struct image *image; /* NULL: the image `host` */
    /* The user that the container runs as, with groups: of the host or of the image. */
    const struct host_user *user;
    const json_t *env;     /* name → value, in order */
    const json_t *own_env; /* variables of the manifest, for $(NAME); NULL: `env` */
    const char *rootfs;
    const char *cgroup; /* absolute */
    const char *hostname;
    const char *netns; /* the path of its network namespace; NULL: the machine's network */
    const struct spec_mount *mounts;
    size_t n_mounts;
    const json_t *edits; /* cdi.h */
    bool is_script;      /* `command` are the arguments of a script, perhaps none, as they are */
    bool has_userns;     /* uid 0 inside is `uid_base` */
    uint32_t uid_base;
    const char *sys_dir;    /* for images: the directory bound at /sys */
    const char *device_dir; /* directory of device nodes (root.h) */
};

/* The user that a container of the image `host` runs as: runAsUser of the container or its pod.
 * ERR_FORBIDDEN: no runAsUser. */
struct err *spec_uid(const json_t *pod, const json_t *container, uid_t *ret) MUST_CHECK;

/* The user that the manifest asks for in a container of an image. Leaves `user` NULL. */
struct image_user spec_user_asked(const json_t *pod, const json_t *container, bool has_userns);

/* Checks runAsNonRoot. ERR_FORBIDDEN, in the kubelet's words: the container would run as root, or
 * as a user whose uid is unknown. `image_user` is the image's user, NULL without an image. */
struct err *spec_check_non_root(const json_t *pod, const json_t *container,
                                const char *image_user) MUST_CHECK;

/* The variables that a container begins with: of the image `host`; of another image, without
 * variables that ask for devices. A new object. */
json_t *spec_base_env(const struct host_user *user, const char *hostname);
json_t *spec_image_env(const struct image *image, const struct host_user *user,
                       const char *hostname);

/* A signal by name or number, as in images and Docker; SIGTERM if `text` is no signal. */
int spec_stop_signal(const char *text);

/* The lines that hostAliases add to /etc/hosts. The caller frees them. */
char *spec_hosts(const json_t *pod);

/* Builds config.json. ERR_INVALID: the manifest asks for something impossible; the message says
 * what. */
struct err *spec_build(const struct spec_input *in, json_t **ret) MUST_CHECK;

/* Checks that a volume may be mounted at `destination`: an absolute plain path, not in /proc, /sys
 * or /dev (but /dev/shm). */
struct err *spec_check_mount(const char *destination) MUST_CHECK;
/* Is `path` equal to `dir` or below it? */
bool spec_is_below(const char *path, const char *dir);
