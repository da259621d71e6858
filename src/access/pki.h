/* pki.h - our own certificate authority, made once, files durable (pki_linux.c) */
#pragma once

#include "base/err.h"

/*
 * Makes what is missing in `dir`: ca.crt, ca.key, server.crt, server.key (localhost, 127.0.0.1,
 * ::1, the host's name and `extra_host` where not NULL), admin.crt, admin.key (O=system:masters,
 * CN=admin), sa.key (signs service accounts' tokens). Renews a certificate that ends within 30
 * days, and an admin key that is not RSA, as older builds made it: certificates given out before
 * stay valid. Keys 0600, ECDSA P-256 (SEC1) but for the RSA admin.key (PKCS#1).
 */
struct err *pki_make(const char *dir, const char *extra_host) MUST_CHECK;

/* The text of an admin kubeconfig for `url`, certificates inside. The caller frees it. */
struct err *pki_kubeconfig(const char *dir, const char *url, char **ret) MUST_CHECK;
