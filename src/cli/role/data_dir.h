/*
 * data_dir.h - the data directory of a machine, made and held by `mete up` (data_dir_linux.c)
 *
 *   DIR/             root, 0711        lock, children, up.pid, room, mete.sock, kubeconfig (0600)
 *   DIR/server/      root:mete, 01770  state.db of user mete; node-tokens.yaml (0640); the sticky
 * bit keeps mete from replacing what root put there DIR/server/pki/  root:mete, 0750 certificates;
 * server.key readable by mete, ca.key and admin.key by root only DIR/node/        root, 0700 token
 * (0600), gpusim/
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct data_dir {
    char *path;
    char *server;
    char *pki;
    char *node;
    char *socket;
    uid_t uid; /* of `mete`, or 64321 where that user is missing */
    gid_t gid;
    int lock_fd;
    int children_fd; /* locked, and inherited: stays so until the last child is gone */
};

/*
 * Makes what is missing and takes the lock, then waits for the end of children that a killed
 * `mete up` has left. ERR_CONFLICT names the process that holds the lock; ERR_FORBIDDEN for who is
 * not root. The lock is held until data_dir_done or the end of the process.
 */
struct err *data_dir_open(const char *path, struct data_dir *ret) MUST_CHECK;
void data_dir_done(struct data_dir *d);

/* Certificates, the admin's kubeconfig for `port`, the node's token and its digest for the server.
 */
struct err *data_dir_identities(const struct data_dir *d, const char *host, unsigned port,
                                const char *node_name) MUST_CHECK;

/* The pid of the `mete up` that holds `path` now; 0: nobody does. */
struct err *data_dir_holder(const char *path, pid_t *ret) MUST_CHECK;

/* The name of this machine's node: its host name in lower case. The caller frees it. */
struct err *node_name_make(char **ret) MUST_CHECK;

/* Listening sockets, close-on-exec. Port 0 lets the kernel choose; `*ret_port` is what it became.
 */
struct err *listen_unix(const char *path, int *ret) MUST_CHECK;
struct err *listen_tcp(const char *host, unsigned port, int *ret, unsigned *ret_port) MUST_CHECK;

/* Whether `profile` can be emulated: ERR_INVALID, ERR_BAD_REQUEST or ERR_NOT_FOUND says why not. */
struct err *emulate_check(const char *profile) MUST_CHECK;

/*
 * Puts the emulated driver for `profile` ("8xH100" or a YAML file) into `dir`: libnvidia-ml.so.1,
 * nvidia-smi, machine.bin. The machine keeps its state and UUIDs when it is the same as before.
 * `self_path` finds the driver of a build tree.
 */
struct err *emulate_make(const char *dir, const char *profile, const char *self_path,
                         const char *seed) MUST_CHECK;
