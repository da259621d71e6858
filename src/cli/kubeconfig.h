/* kubeconfig.h - the part of a kubeconfig that says where a server is and who we are */
#pragma once

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

/*
 * Reads the current context. `path` is for messages, and its directory the base of relative paths.
 * ERR_BAD_REQUEST for a damaged file, and by name for what is not supported: exec, auth-provider,
 * username, insecure-skip-tls-verify, proxy-url.
 */
struct err *kubeconfig_parse(const char *path, struct str text, struct kubeconfig *ret) MUST_CHECK;
void kubeconfig_done(struct kubeconfig *k);
