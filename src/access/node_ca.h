/*
 * node_ca.h - the certificates of nodes on other machines (node_ca_linux.c)
 *
 * A joined node proves itself by a certificate of the installation's second authority, whose key
 * the server holds. Such a certificate names one node and its registration (node_registry.h), and
 * gives no other right: the server takes no other name from this authority.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define NODE_CA_NAME      "mete-node-ca"       /* the authority's common name */
#define NODE_REGISTRATION "mete:registration:" /* prefix of the second O: the registration */
#define NODE_GROUP        "system:nodes"

enum {
    NODE_CERTIFICATE_DAYS = 90,
    CA_DIGEST_SIZE = 65 /* SHA-256 in hexadecimal digits, with the NUL */
};

struct node_ca;

/* Reads nodes.crt and nodes.key of `dir` (made by pki_make). */
struct err *node_ca_open(const char *dir, struct node_ca **ret) MUST_CHECK;
void node_ca_free(struct node_ca *ca); /* accepts NULL */

/*
 * Signs the key of a PKCS#10 request (PEM) for `node` under the registration `id`; the names in the
 * request are ignored. ERR_INVALID: no request, or not signed by its own key. `*ret` is the
 * certificate in PEM; the caller frees it.
 */
struct err *node_ca_sign(const struct node_ca *ca, const char *request, const char *node,
                         const char *id, char **ret) MUST_CHECK;

/* The digest by which a joining node knows the installation: of the first certificate in `pem`. */
struct err *ca_digest(const char *pem, char ret[CA_DIGEST_SIZE]) MUST_CHECK;

/* Makes DIR/node.key if it is missing, and a request for it. The caller frees `*ret`, PEM. */
struct err *node_request_make(const char *dir, char **ret) MUST_CHECK;

/* The seconds until the certificate DIR/node.crt should be renewed: a third of its life before its
 * end; negative: overdue. ERR_NOT_FOUND: the certificate is missing or damaged. */
struct err *node_certificate_left(const char *dir, int64_t *ret_s) MUST_CHECK;
