/*
 * certificate_linux.c - pairs of a key and its certificate, by OpenSSL
 *
 * A pair is made in memory and written durably, the key before its certificate: a crash may leave a
 * key without certificate, which is replaced, but never a certificate without its key.
 */

#include "access/certificate_linux.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>

#include "base/file.h"
#include "base/mem.h"

enum {
    PEM_FILE_MAX = 64 << 10,
    DAY_S = 24 * 3600,
    RENEW_DAYS = 30,
    SERIAL_BITS = 127,
    RSA_BITS = 2048,
};

void pair_done(struct pair *p)
{
    X509_free(p->cert);
    EVP_PKEY_free(p->key);
    *p = (struct pair){0};
}

void bio_freep(BIO **b)
{
    (void)BIO_free(*b);
}

struct err *openssl_error(const char *what)
{
    char text[256] = "no reason given";
    unsigned long code = ERR_get_error();

    if (code)
        ERR_error_string_n(code, text, sizeof(text));
    ERR_clear_error();
    return err_new(ERR_INTERNAL, "%s: %s", what, text);
}

char *pair_path(const char *dir, const char *name, const char *suffix)
{
    return mem_format("%s/%s.%s", dir, name, suffix);
}

/* Reads a PEM file into a memory BIO; NULL: the file is missing. */
static struct err *read_bio(const char *path, struct buf *bytes, BIO **ret)
{
    struct err *e = file_read(path, PEM_FILE_MAX, bytes);

    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    if (e)
        return e;
    *ret = BIO_new_mem_buf(bytes->at ? bytes->at : "", (int)bytes->size);
    return *ret ? NULL : openssl_error("read PEM");
}

/* Loads a key and its certificate; a missing or damaged pair has NULL members. */
struct err *pair_load(const char *dir, const char *name, struct pair *ret)
{
    AUTO_FREE char *cert_path = pair_path(dir, name, "crt");
    AUTO_FREE char *key_path = pair_path(dir, name, "key");
    AUTO(buf_done) struct buf cert = {0};
    AUTO(buf_done) struct buf key = {0};
    AUTO(bio_freep) BIO *cert_bio = NULL;
    AUTO(bio_freep) BIO *key_bio = NULL;

    TRY(read_bio(cert_path, &cert, &cert_bio));
    TRY(read_bio(key_path, &key, &key_bio));
    ret->cert = cert_bio ? PEM_read_bio_X509(cert_bio, NULL, NULL, NULL) : NULL;
    ret->key = key_bio ? PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL) : NULL;
    if (ret->cert && ret->key && X509_check_private_key(ret->cert, ret->key) != 1)
        pair_done(ret);
    ERR_clear_error();
    return NULL;
}

bool certificate_ends_soon(const X509 *cert)
{
    int days = 0;
    int seconds = 0;

    if (ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(cert)) != 1)
        return true;
    return days < RENEW_DAYS;
}

struct err *bio_write(BIO *bio, const char *path, mode_t mode)
{
    char *at = NULL;
    long size = BIO_get_mem_data(bio, &at);

    if (size <= 0)
        return openssl_error("write PEM");
    return file_write_durable(path, mode, (struct str){.at = at, .size = (size_t)size});
}

/*
 * The traditional PEM forms: "RSA PRIVATE KEY" (PKCS#1) and "EC PRIVATE KEY" (SEC1). Java's fabric8
 * client guesses the algorithm from these words, and takes any other key for RSA.
 */
bool key_add(BIO *bio, const EVP_PKEY *key)
{
    return PEM_write_bio_PrivateKey_traditional(bio, (EVP_PKEY *)(uintptr_t)key, NULL, NULL, 0,
                                                NULL, NULL) == 1;
}

struct err *pair_save(const char *dir, const char *name, const struct pair *p)
{
    AUTO_FREE char *cert_path = pair_path(dir, name, "crt");
    AUTO_FREE char *key_path = pair_path(dir, name, "key");
    AUTO(bio_freep) BIO *cert = BIO_new(BIO_s_mem());
    AUTO(bio_freep) BIO *key = BIO_new(BIO_s_mem());

    if (!cert || !key || PEM_write_bio_X509(cert, p->cert) != 1 || !key_add(key, p->key))
        return openssl_error("write PEM");
    TRY(bio_write(key, key_path, 0600));
    return bio_write(cert, cert_path, 0644);
}

static bool add_extension(X509 *cert, const X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx = {0};
    X509_EXTENSION *extension;
    bool done;

    X509V3_set_ctx(&ctx, (X509 *)(uintptr_t)issuer, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    done = extension && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return done;
}

static bool add_name(X509_NAME *name, const char *field, const char *text)
{
    return !text || X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                               (const unsigned char *)text, -1, -1, 0) == 1;
}

static bool set_serial(X509 *cert)
{
    BIGNUM *number = BN_new();
    bool done = number && BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
                BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;

    BN_free(number);
    return done;
}

/* Valid from an hour ago: another machine's clock may be behind. */
static bool set_validity(X509 *cert, long days)
{
    return X509_gmtime_adj(X509_getm_notBefore(cert), -3600) &&
           X509_gmtime_adj(X509_getm_notAfter(cert), days * DAY_S);
}

static bool add_extensions(X509 *cert, const X509 *issuer, const struct subject *s)
{
    bool is_ca = s->usage == NULL;

    return add_extension(cert, issuer, NID_basic_constraints,
                         is_ca ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE") &&
           add_extension(cert, issuer, NID_key_usage,
                         is_ca ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") &&
           add_extension(cert, issuer, NID_subject_key_identifier, "hash") &&
           add_extension(cert, issuer, NID_authority_key_identifier, "keyid") &&
           (is_ca || add_extension(cert, issuer, NID_ext_key_usage, s->usage)) &&
           (!s->alt || add_extension(cert, issuer, NID_subject_alt_name, s->alt));
}

static bool certificate_fill(X509 *cert, const struct pair *issuer, const struct subject *s,
                             EVP_PKEY *key)
{
    X509_NAME *name = X509_get_subject_name(cert);

    return X509_set_version(cert, 2) == 1 && set_serial(cert) && set_validity(cert, s->days) &&
           add_name(name, "O", s->groups[0]) && add_name(name, "O", s->groups[1]) &&
           add_name(name, "CN", s->name) &&
           X509_set_issuer_name(cert, X509_get_subject_name(issuer->cert)) == 1 &&
           X509_set_pubkey(cert, key) == 1 && add_extensions(cert, issuer->cert, s) &&
           X509_sign(cert, issuer->key, EVP_sha256()) > 0;
}

struct err *certificate_make(const struct pair *issuer, const struct subject *s, EVP_PKEY *key,
                             X509 **ret)
{
    X509 *cert = X509_new();
    const struct pair own = {.cert = cert, .key = key};

    if (!cert || !certificate_fill(cert, issuer ? issuer : &own, s, key)) {
        X509_free(cert);
        return openssl_error("make a certificate");
    }
    *ret = cert;
    return NULL;
}

struct err *pair_make(const struct pair *issuer, const struct subject *s, struct pair *ret)
{
    struct pair p = {.key = s->is_rsa ? EVP_RSA_gen(RSA_BITS) : EVP_EC_gen("P-256")};
    struct err *e;

    if (!p.key)
        return openssl_error("make a key");
    e = certificate_make(issuer, s, p.key, &p.cert);
    if (e) {
        pair_done(&p);
        return e;
    }
    *ret = p;
    return NULL;
}
