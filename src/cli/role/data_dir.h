/*
 * data_dir.h - the data directory of a machine, created and locked by `mete up` (data_dir_linux.c)
 *
 *   DIR/             root, 0711        lock, children, up.pid, room, mete.sock, kubeconfig (0600),
 *                                      nodes.yaml (root:mete, 0640: mete only reads it)
 *   DIR/server/      root:mete, 01770  state.db of user mete; with the
 *                                      sticky bit mete cannot replace files of root
 *   DIR/server/pki/  root:mete, 0750   certificates; server.key and nodes.key readable by mete,
 *                                      ca.key and admin.key by root only
 *   DIR/node/        root, 0700        token (0600), gpusim/
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* The addresses by which clients reach the API. */
struct data_dir_address {
    const char *host;
    unsigned port;
    const char *const *others; /* more names of the server, NULL-terminated; NULL: none */
};

struct data_dir {
    char *path;
    char *server;
    char *pki;
    char *node;
    char *socket;
    uid_t uid; /* of user `mete`, or 64321 if the user does not exist */
    gid_t gid;
    int lock_fd;
    int children_fd; /* inherited lock: locked until the last child has ended */
};

/*
 * Creates what is missing and takes the lock, then waits for the end of children that a killed
 * `mete up` left. ERR_CONFLICT names the process that holds the lock; ERR_FORBIDDEN: the caller is
 * not root. The lock is held until data_dir_done or the end of the process.
 */
struct err *data_dir_open(const char *path, struct data_dir *ret) MUST_CHECK;
void data_dir_done(struct data_dir *d);

/* Creates certificates, the administrator's kubeconfig for `port`, the node's token, and the
 * token's digest in nodes.yaml, where the entries of other nodes stay. */
struct err *data_dir_identities(const struct data_dir *d, const struct data_dir_address *at,
                                const char *node_name) MUST_CHECK;

/* Finds the pid of the `mete up` that holds `path`; 0: none. */
struct err *data_dir_holder(const char *path, pid_t *ret) MUST_CHECK;

/* Makes the name of this machine's node: the host name in lower case. The caller frees it. */
struct err *node_name_make(char **ret) MUST_CHECK;

/* Creates listening sockets, close-on-exec. With port 0 the kernel chooses; `*ret_port` is the
 * port. */
struct err *listen_unix(const char *path, int *ret) MUST_CHECK;
/* Makes the socket appear in the directory `dir`, too, which stays the same over restarts: a mount
 * of it leads to the present socket. */
struct err *listen_link(const char *path, const char *dir) MUST_CHECK;
struct err *listen_tcp(const char *host, unsigned port, int *ret, unsigned *ret_port) MUST_CHECK;
/* The same at an address that this machine need not have yet. */
struct err *listen_tcp_ahead(const char *host, unsigned port, int *ret) MUST_CHECK;

/* Can `profile` be emulated? If not, ERR_INVALID, ERR_BAD_REQUEST or ERR_NOT_FOUND. */
struct err *emulate_check(const char *profile) MUST_CHECK;

/*
 * Puts the emulated driver for `profile` ("8xH100" or a YAML file) into `dir`: libnvidia-ml.so.1,
 * libcuda.so.1, nvidia-smi, machine.bin. A machine with the same profile as before keeps its state
 * and UUIDs. `self_path` locates the driver in a build tree.
 */
struct err *emulate_make(const char *dir, const char *profile, const char *self_path,
                         const char *seed) MUST_CHECK;
