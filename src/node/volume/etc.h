/*
 * etc.h - the files of /etc that every container of an image gets from its node: hosts, hostname
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
 * In the worker: DIR/etc with copies of this machine's own, for pods use its network; `hosts` is
 * added to the first. They belong to `uid`. One that is there already stays as it is.
 */
struct err *etc_make(const char *dir, const char *hosts, uint32_t uid) MUST_CHECK;
