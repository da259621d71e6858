/*
 * etc.h - the files of /etc that the node puts into every container of an image: hosts, hostname
 * and resolv.conf (etc_linux.c)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ETC_DIR "etc" /* below the pod's directory */

enum {
    ETC_NAMES = 3
};

extern const char *const etc_names[]; /* "hosts", "hostname", "resolv.conf", NULL */

struct etc_content {
    const char *hosts;    /* the last lines of /etc/hosts */
    const char *address;  /* of the pod; NULL: it uses this machine's network */
    const char *hostname; /* NULL: this machine's */
    const char *resolv;   /* resolv.conf; NULL: this machine's */
    bool is_resolv_more;  /* `resolv` comes after this machine's lines */
};

/*
 * In the worker: makes DIR/etc, owned by `uid`. A pod without an address gets copies of this
 * machine's files. Existing files stay unchanged.
 */
struct err *etc_make(const char *dir, const struct etc_content *c, uint32_t uid) MUST_CHECK;
