/*
 * spec.h - config.json of the OCI runtime, out of a pod's container and what the host knows
 *
 * Nothing here comes from the image or the user but what a container may say about itself: command,
 * variables, limits. Devices come from the ledger through CDI edits.
 */
#pragma once

#include "base/json.h"
#include "node/host.h"

enum {
    SPEC_PIDS_DEFAULT = 4096
};

struct spec_mount {
    char *source;      /* on the host */
    char *destination; /* in the container */
    bool is_read_only;
};

struct spec_input {
    const json_t *pod;
    const json_t *container;
    const struct host_user *user;
    const json_t *env; /* name → value, in order */
    const char *rootfs;
    const char *cgroup; /* absolute */
    const char *hostname;
    const struct spec_mount *mounts;
    size_t n_mounts;
    const json_t *edits; /* cdi.h */
};

/* ERR_INVALID: not the image `host`, so there is no root file system to run it in. The API refuses
 * such a pod already; a node does not take its word for it. */
struct err *spec_check_image(const json_t *container) MUST_CHECK;

/* The user a container runs as: its own or its pod's runAsUser. ERR_FORBIDDEN: nobody is named. */
struct err *spec_uid(const json_t *pod, const json_t *container, uid_t *ret) MUST_CHECK;

/* The variables that every container of the image `host` begins with. A new object. */
json_t *spec_base_env(const struct host_user *user, const char *hostname);

/* ERR_INVALID: the container cannot be made as it asks; the text says why. */
struct err *spec_build(const struct spec_input *in, json_t **ret) MUST_CHECK;

/* Whether a volume may be mounted there: absolute, plain, not over what the container stands on. */
struct err *spec_check_mount(const char *destination) MUST_CHECK;
