/*
 * mps_process.h - the process of an MPS control daemon, and how a later process finds it
 *
 * The file `daemon` of the daemon's folder has the pid, and the start of the process in clock
 * ticks, which tells it from a later process with the same pid.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "gpu/driver_root.h"

/* Notes the calling process as the daemon of the folder. */
struct err *mps_process_note(const char *dir) MUST_CHECK;

/* A pidfd of the daemon that the folder names, which the caller closes, and its pid; -1: it does
 * not run. */
int mps_process_find(const char *dir, int64_t *ret_pid);

struct mps_exec {
    const char *program; /* nvidia-cuda-mps-control, as a process below `root` sees it */
    const char *dir;     /* the daemon's folder, for this process */
    const char *root;    /* of the machine; "/": this process sees it */
    bool is_daemon;      /* with -f, the folder's `shm` as /dev/shm; else a command */
};

/*
 * Becomes the program: enters `root`, where it sees `dir` by the same path, also if the root is
 * mounted read-only. A daemon notes itself first. Returns only on failure.
 */
int mps_process_exec(const struct mps_exec *x);

/* The driver's program for processes below `machine_root` (NULL: "/"). NULL: none, or the driver
 * lies elsewhere: in a container. Borrowed. */
const char *mps_program_find(const struct driver_root *root, const char *machine_root);
