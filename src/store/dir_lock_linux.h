/*
 * dir_lock_linux.h - flock of a directory for one process at a time; the kernel drops it with the
 * process
 */
#pragma once

#include "base/err.h"

/* Makes the directory if it is missing (0700) and locks it. ERR_CONFLICT names the process with the
 * lock. The descriptor is the lock: close it with fd_close. */
struct err *dir_lock(const char *path, int *ret_fd) MUST_CHECK;
