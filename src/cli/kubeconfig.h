/* kubeconfig.h - the part of a kubeconfig that says where a server is and who we are */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

/* PEM texts and paths are NULL where absent; a path is given where the file names one instead of
 * carrying the data. */
struct kubeconfig {
    char *server;
    char *ca, *ca_file;
    char *cert, *cert_file;
    char *key, *key_file;
    char *token, *token_file;
    char *ns; /* of the context */
};

/* One file of a list, as it was read. */
struct kubeconfig_file {
    const char *path; /* for messages; its directory is the base of relative paths */
    struct str text;
};

/*
 * Reads context `context`, or the current one where that is NULL, out of `n` files merged as
 * kubectl merges them: the first file that has a name, or a current-context, wins. ERR_BAD_REQUEST
 * for a damaged file, and by name for what is not supported: exec, auth-provider, username,
 * insecure-skip-tls-verify, proxy-url. The message begins with the file's path, with the paths of
 * all files where none of them has the context.
 */
struct err *kubeconfig_parse(const struct kubeconfig_file *files, size_t n, const char *context,
                             struct kubeconfig *ret) MUST_CHECK;
void kubeconfig_done(struct kubeconfig *k);
