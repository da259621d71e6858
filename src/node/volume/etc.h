/*
 * etc.h - the files of /etc that the node puts into every container of an image: hosts, hostname
 * and resolv.conf (etc_linux.c)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ETC_DIR "etc" /* below the pod's directory */

enum {
    ETC_NAMES = 3
};

extern const char *const etc_names[]; /* "hosts", "hostname", "resolv.conf", NULL */

/*
 * In the worker: makes DIR/etc with copies of this machine's files, since pods use its network,
 * owned by `uid`. Appends `hosts` to the file hosts. Existing files stay unchanged.
 */
struct err *etc_make(const char *dir, const char *hosts, uint32_t uid) MUST_CHECK;
