/*
 * exec_client.h - a client whose credential comes from a program: the exec plugins of a kubeconfig
 * (client.authentication.k8s.io/v1 and v1beta1)
 *
 * The program prints an ExecCredential with a token, or a certificate and its key. It runs before
 * the first request, once the credential has expired, and after an answer 401, whose request is
 * then sent again, once. Requests wait meanwhile; they fail with ERR_UNAUTHENTICATED if the program
 * does. Connections that are open keep the credential that they began with.
 */
#pragma once

#include "client/client.h"

struct exec_plugin {
    const char *api_version; /* "client.authentication.k8s.io/v1" */
    const char *const *argv; /* NULL-terminated; argv[0] is searched in PATH */
    const char *const *env;  /* NULL-terminated, the whole environment; KUBERNETES_EXEC_INFO is
                                added */
    const json_t *cluster;   /* what the program is told of the cluster; NULL: nothing */
    bool is_interactive;     /* gets the terminal */
    const char *hint;        /* for users who lack the program; NULL: none */
};

/* Copies options and plugin. The members for credentials of `o` are NULL. */
struct err *exec_client_new(const struct client_options *o, const struct exec_plugin *plugin,
                            struct client **ret) MUST_CHECK;

/* `fn` hears of the first credential, or why there is none. Of a client of exec_client_new. */
typedef void (*exec_client_fn)(void *arg, const struct err *e);
void exec_client_begin(struct client *c, exec_client_fn fn, void *arg);
