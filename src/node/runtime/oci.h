/*
 * oci.h - chooses the OCI runtime for containers: crun or runc, of a version without known
 * vulnerabilities
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
/* "crun" or "runc"; other texts and NULL: crun, as older intents name no runtime. */
enum oci_kind oci_kind_of(const char *name);

/*
 * Checks the version in `output`, the text of `RUNTIME --version`. `package` is the version of the
 * program's Debian package ("": none), since distributions fix vulnerabilities without a new
 * upstream version. ERR_UNAVAILABLE: too old; the message names the oldest good version.
 * `ret_version` gets the upstream version.
 */
struct err *oci_check_version(enum oci_kind kind, const char *output, const char *package,
                              char ret_version[OCI_VERSION_SIZE]) MUST_CHECK;

struct oci {
    enum oci_kind kind; /* of new containers */
    char version[OCI_VERSION_SIZE];
    char *paths[OCI_KINDS]; /* NULL: not installed */
};

/*
 * Finds the installed runtimes (oci_linux.c). `asked` is "crun", "runc" or "auto" (also NULL): crun
 * if installed, else runc. Blocks on `--version` for a few milliseconds: call before the loop runs.
 * ERR_NOT_FOUND, ERR_UNAVAILABLE.
 */
struct err *oci_find(const char *asked, struct oci *ret) MUST_CHECK;
void oci_done(struct oci *o);
