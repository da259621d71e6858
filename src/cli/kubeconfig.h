/* kubeconfig.h - the part of a kubeconfig that names the server and the user's credentials */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

/* A program that gives credentials (client/exec_client.h). */
struct kubeconfig_exec {
    char *api_version;
    char *
        *argv;  /* NULL-terminated; a relative path of the program starts at the file's directory */
    char **env; /* "NAME=VALUE", NULL-terminated */
    bool wants_cluster;
    bool needs_terminal; /* interactiveMode: Always */
    bool may_ask;        /* Always or IfAvailable */
    char *hint;          /* NULL: none */
};

/* PEM texts and paths are NULL if absent; a path is set if the file names a path instead of the
 * data. */
struct kubeconfig {
    char *server;
    char *ca, *ca_file;
    char *cert, *cert_file;
    char *key, *key_file;
    char *token, *token_file;
    struct kubeconfig_exec *exec; /* NULL: none */
    char *ns;                     /* namespace of the context */
};

/* One file of a list, as read. */
struct kubeconfig_file {
    const char *path; /* for messages; relative paths start at its directory */
    struct str text;
};

/*
 * Reads context `context` (NULL: the current context) from `n` files, merged as kubectl merges
 * them: the first file that defines a name, or a current-context, wins. ERR_BAD_REQUEST: a damaged
 * file, or a feature that is not supported (auth-provider, username,
 * insecure-skip-tls-verify, proxy-url; the message names the feature). The message begins with the
 * path of the file, or with all paths if no file has the context.
 */
struct err *kubeconfig_parse(const struct kubeconfig_file *files, size_t n, const char *context,
                             struct kubeconfig *ret) MUST_CHECK;
void kubeconfig_done(struct kubeconfig *k);
