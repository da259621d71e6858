/* node_ca_linux.c - the certificates of nodes on other machines, by OpenSSL */

#include <inttypes.h>
#include <openssl/ec.h>
#include <openssl/err.h>

#include "access/certificate_linux.h"
#include "access/digest.h"
#include "access/node_ca.h"
#include "base/file.h"
#include "base/mem.h"

struct node_ca {
    struct pair pair;
};

static void request_freep(X509_REQ **r)
{
    X509_REQ_free(*r);
}

static void certificate_freep(X509 **c)
{
    X509_free(*c);
}

static void key_freep(EVP_PKEY **k)
{
    EVP_PKEY_free(*k);
}

struct err *node_ca_open(const char *dir, struct node_ca **ret)
{
    struct node_ca *ca = mem_alloc(sizeof(*ca));
    struct err *e = pair_load(dir, "nodes", &ca->pair);

    if (!e && (!ca->pair.cert || !ca->pair.key))
        e = err_new(ERR_NOT_FOUND, "%s/nodes.crt or nodes.key is missing or damaged", dir);
    if (e) {
        node_ca_free(ca);
        return e;
    }
    *ret = ca;
    return NULL;
}

void node_ca_free(struct node_ca *ca)
{
    if (!ca)
        return;
    pair_done(&ca->pair);
    free(ca);
}

/* The text in a memory BIO. */
static char *bio_text(BIO *bio)
{
    char *at = NULL;
    long size = BIO_get_mem_data(bio, &at);

    return mem_strndup(size > 0 ? at : "", size > 0 ? (size_t)size : 0);
}

struct err *node_ca_sign(const struct node_ca *ca, const char *request, const char *node,
                         const char *id, char **ret)
{
    AUTO_FREE char *user = mem_format("system:node:%s", node);
    AUTO_FREE char *registration = mem_format(NODE_REGISTRATION "%s", id);
    const struct subject subject = {.groups = {NODE_GROUP, registration},
                                    .name = user,
                                    .usage = "clientAuth",
                                    .days = NODE_CERTIFICATE_DAYS};
    AUTO(bio_freep) BIO *in = BIO_new_mem_buf(request, -1);
    AUTO(bio_freep) BIO *out = BIO_new(BIO_s_mem());
    AUTO(request_freep) X509_REQ *r = in ? PEM_read_bio_X509_REQ(in, NULL, NULL, NULL) : NULL;
    AUTO(certificate_freep) X509 *cert = NULL;
    EVP_PKEY *key = r ? X509_REQ_get0_pubkey(r) : NULL;

    if (!key || !EVP_PKEY_is_a(key, "EC") || X509_REQ_verify(r, key) != 1) {
        ERR_clear_error();
        return err_new(ERR_INVALID, "want a certificate request (PKCS#10, PEM) of an EC key, "
                                    "signed by this key");
    }
    TRY(certificate_make(&ca->pair, &subject, key, &cert));
    if (!out || PEM_write_bio_X509(out, cert) != 1)
        return openssl_error("write a certificate");
    *ret = bio_text(out);
    return NULL;
}

struct err *ca_digest(const char *pem, char ret[CA_DIGEST_SIZE])
{
    AUTO(bio_freep) BIO *in = BIO_new_mem_buf(pem, -1);
    AUTO(certificate_freep) X509 *cert = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;
    uint8_t digest[SHA256_SIZE];
    unsigned size = sizeof(digest);

    if (!cert || X509_digest(cert, EVP_sha256(), digest, &size) != 1) {
        ERR_clear_error();
        return err_new(ERR_INVALID, "want a certificate (PEM)");
    }
    for (size_t i = 0; i < sizeof(digest); i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", digest[i]);
    return NULL;
}

/* Loads DIR/node.key, or makes it. */
static struct err *node_key(const char *dir, EVP_PKEY **ret)
{
    AUTO_FREE char *path = pair_path(dir, "node", "key");
    AUTO(bio_freep) BIO *bio = BIO_new(BIO_s_mem());
    struct pair had = {0};
    EVP_PKEY *key;

    TRY(pair_load(dir, "node", &had));
    if (had.key) {
        X509_free(had.cert);
        *ret = had.key;
        return NULL;
    }
    pair_done(&had);
    key = EVP_EC_gen("P-256");
    if (!key || !bio || !key_add(bio, key)) {
        EVP_PKEY_free(key);
        return openssl_error("make a key");
    }
    *ret = key;
    return bio_write(bio, path, 0600);
}

struct err *node_request_make(const char *dir, char **ret)
{
    AUTO(request_freep) X509_REQ *r = X509_REQ_new();
    AUTO(bio_freep) BIO *out = BIO_new(BIO_s_mem());
    AUTO(key_freep) EVP_PKEY *key = NULL;

    TRY(node_key(dir, &key));
    if (!r || !out || X509_REQ_set_version(r, 0) != 1 || X509_REQ_set_pubkey(r, key) != 1 ||
        X509_REQ_sign(r, key, EVP_sha256()) <= 0 || PEM_write_bio_X509_REQ(out, r) != 1)
        return openssl_error("make a certificate request");
    *ret = bio_text(out);
    return NULL;
}

struct err *node_certificate_left(const char *dir, int64_t *ret_s)
{
    AUTO(pair_done) struct pair p = {0};
    int life_days = 0;
    int left_days = 0;
    int left_s = 0;
    int rest = 0;

    TRY(pair_load(dir, "node", &p));
    if (!p.cert)
        return err_new(ERR_NOT_FOUND, "%s/node.crt is missing or damaged", dir);
    if (ASN1_TIME_diff(&life_days, &rest, X509_get0_notBefore(p.cert),
                       X509_get0_notAfter(p.cert)) != 1 ||
        ASN1_TIME_diff(&left_days, &left_s, NULL, X509_get0_notAfter(p.cert)) != 1)
        return openssl_error("read a certificate's times");
    *ret_s = ((int64_t)left_days - life_days / 3) * 86400 + left_s;
    return NULL;
}
