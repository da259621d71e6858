/* join_linux.h - the namespaces of a running container, for another container to join */
#pragma once

#include <sys/types.h>

#include "base/json.h"

enum {
    JOIN_KINDS = 3 /* pid, ipc, user */
};

/* Open namespaces; join_done closes them. */
struct join {
    int fds[JOIN_KINDS];
};

#define JOIN_NONE             \
    {                         \
        .fds = { -1, -1, -1 } \
    }

/*
 * Opens the namespaces of the process `pid`, which is in the cgroup `/mete/ID`. ERR_UNAVAILABLE: it
 * is not, or not any more.
 */
struct err *join_open(pid_t pid, const char *id, struct join *ret) MUST_CHECK;
void join_done(struct join *j);

/* Puts the namespaces into config.json: of each kind that it lists. The paths are those of this
 * process's descriptors, so the runtime must open them before join_done. runc wants the mappings of
 * a user namespace that it joins, crun must not have them. */
void join_put(const struct join *j, bool keeps_mappings, json_t *config);
