/* pki.h - the installation's own certificate authority (pki_linux.c) */
#pragma once

#include "base/err.h"

/*
 * Makes the missing files in `dir`, durably: ca.crt, ca.key, nodes.crt, nodes.key (the authority of
 * joined nodes, node_ca.h), server.crt, server.key (localhost, 127.0.0.1, ::1, the host's name,
 * `others`, NULL-terminated, which may be NULL, and `listen_host`, which may be NULL; if it means
 * all addresses, these), admin.crt, admin.key
 * (O=system:masters, CN=admin), sa.key (signs service accounts' tokens). Renews certificates that
 * expire within 30 days, and replaces an admin key that is not RSA (made by older builds).
 * Certificates issued before stay valid. Keys 0600, ECDSA P-256 (SEC1) but for the RSA admin.key
 * (PKCS#1).
 */
struct err *pki_make(const char *dir, const char *listen_host,
                     const char *const *others) MUST_CHECK;

/* The text of an admin kubeconfig for `url`, certificates inside. The caller frees it. */
struct err *pki_kubeconfig(const char *dir, const char *url, char **ret) MUST_CHECK;

/*
 * Makes what tls_context_new reads in `dir`, for a service of a cluster with the DNS name `host`:
 * server.crt and server.key, signed by a new authority whose key is kept nowhere, and ca.crt with
 * `client_ca`, the authority of the clients (PEM). `*ret_ca` is the new authority's certificate in
 * PEM; the caller frees it.
 */
struct err *pki_make_service(const char *dir, const char *host, const char *client_ca,
                             char **ret_ca) MUST_CHECK;
