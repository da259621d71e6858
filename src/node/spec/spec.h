/*
 * spec.h - config.json of the OCI runtime, out of a pod's container and what the host knows
 *
 * Nothing here comes from the image or the user but what a container may say about itself: command,
 * variables, user, limits. Devices come from the ledger through CDI edits. What a container may do:
 * spec_rights.c, and docs/security.md.
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
    bool is_ours; /* not a volume's: may be below /dev */
};

struct spec_input {
    const json_t *pod;
    const json_t *container;
    const struct image *image; /* NULL: the image `host` */
    /* Whom it runs as: of the host, or of the image, with that one's groups. */
    const struct host_user *user;
    const json_t *env;     /* name → value, in order */
    const json_t *own_env; /* those of the manifest, which $(NAME) stands for; NULL: `env` */
    const char *rootfs;
    const char *cgroup; /* absolute */
    const char *hostname;
    const struct spec_mount *mounts;
    size_t n_mounts;
    const json_t *edits; /* cdi.h */
    bool has_userns;     /* uid 0 inside is `uid_base` */
    uint32_t uid_base;
    const char *sys_dir;    /* for images: what is bound at /sys */
    const char *device_dir; /* where nodes of devices are (root.h) */
};

/* The user a container of the image `host` runs as: its own or its pod's runAsUser. ERR_FORBIDDEN:
 * nobody is named. */
struct err *spec_uid(const json_t *pod, const json_t *container, uid_t *ret) MUST_CHECK;

/* Whom the manifest wants a container of an image to be. Its `user` is left NULL. */
struct image_user spec_user_asked(const json_t *pod, const json_t *container, bool has_userns);

/* ERR_FORBIDDEN, in the kubelet's words: runAsNonRoot, and it would run as root or as somebody of
 * whom that is not known. `image_user` is the image's own word, NULL without one. */
struct err *spec_check_non_root(const json_t *pod, const json_t *container,
                                const char *image_user) MUST_CHECK;

/* The variables that a container begins with: of the image `host`, and of another image, without
 * those that would ask for devices. A new object. */
json_t *spec_base_env(const struct host_user *user, const char *hostname);
json_t *spec_image_env(const struct image *image, const struct host_user *user,
                       const char *hostname);

/* A signal by its name or number, as images and Docker say it; SIGTERM for what is none. */
int spec_stop_signal(const char *text);

/* The lines that hostAliases add to /etc/hosts. The caller frees. */
char *spec_hosts(const json_t *pod);

/* ERR_INVALID: the container cannot be made as it asks; the text says why. */
struct err *spec_build(const struct spec_input *in, json_t **ret) MUST_CHECK;

/* Whether a volume may be mounted there: absolute, plain, not over what the container stands on. */
struct err *spec_check_mount(const char *destination) MUST_CHECK;
/* Whether `path` is `dir` or below it. */
bool spec_is_below(const char *path, const char *dir);
