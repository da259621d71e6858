/*
 * oci.h - which OCI runtime runs containers, and whether it is one that may: crun or runc of at
 * least a version whose holes are known to be mended
 */
#pragma once

#include "base/err.h"

enum oci_kind {
    OCI_CRUN,
    OCI_RUNC,
    OCI_KINDS
};

enum {
    OCI_VERSION_SIZE = 64
};

const char *oci_name(enum oci_kind kind); /* "crun" */
/* "crun", "runc"; anything else and NULL: crun, as older intents do not say. */
enum oci_kind oci_kind_of(const char *name);

/*
 * `output` is what `RUNTIME --version` prints; `package` the version of Debian's package that the
 * program is of, "" if of none: distributions mend holes without a new upstream version.
 * ERR_UNAVAILABLE: too old, saying which version would do. `ret_version` has the upstream version.
 */
struct err *oci_check_version(enum oci_kind kind, const char *output, const char *package,
                              char ret_version[OCI_VERSION_SIZE]) MUST_CHECK;

struct oci {
    enum oci_kind kind; /* of new containers */
    char version[OCI_VERSION_SIZE];
    char *paths[OCI_KINDS]; /* NULL: not on this machine */
};

/*
 * Finds the runtimes (oci_linux.c). `asked` is "crun", "runc" or "auto" (NULL too): crun where it
 * is, else runc. Waits for `--version`, a few milliseconds: before there is a loop to run.
 * ERR_NOT_FOUND, ERR_UNAVAILABLE.
 */
struct err *oci_find(const char *asked, struct oci *ret) MUST_CHECK;
void oci_done(struct oci *o);
