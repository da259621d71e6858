/*
 * pki_linux.c - keys and certificates by OpenSSL
 *
 * Keys are ECDSA P-256 but for the administrator's RSA key, which every client library reads. Each
 * pair is made in memory and written durably, the key before its certificate: a crash may leave a
 * key without certificate, which is replaced, but never a certificate without its key.
 */

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include "access/pki.h"
#include "base/file.h"
#include "base/mem.h"

enum {
    FILE_MAX = 64 << 10,
    DAY_S = 24 * 3600,
    CA_DAYS = 3650,
    LEAF_DAYS = 365,
    RENEW_DAYS = 30,
    SERIAL_BITS = 127,
    RSA_BITS = 2048,
};

struct pair {
    X509 *cert;
    EVP_PKEY *key;
};

struct subject {
    const char *group; /* NULL: none */
    const char *name;
    const char *alt;   /* subjectAltName; NULL: none */
    const char *usage; /* extendedKeyUsage; NULL: an authority */
    long days;
    bool is_rsa; /* else ECDSA P-256 */
};

static void pair_done(struct pair *p)
{
    X509_free(p->cert);
    EVP_PKEY_free(p->key);
    *p = (struct pair){0};
}

static void bio_freep(BIO **b)
{
    (void)BIO_free(*b);
}

static struct err *openssl_error(const char *what)
{
    char text[256] = "no reason given";
    unsigned long code = ERR_get_error();

    if (code)
        ERR_error_string_n(code, text, sizeof(text));
    ERR_clear_error();
    return err_new(ERR_INTERNAL, "%s: %s", what, text);
}

static char *path_of(const char *dir, const char *name, const char *suffix)
{
    return mem_format("%s/%s.%s", dir, name, suffix);
}

/* Reads a PEM file into a memory BIO; NULL: the file is missing. */
static struct err *read_bio(const char *path, struct buf *bytes, BIO **ret)
{
    struct err *e = file_read(path, FILE_MAX, bytes);

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
static struct err *load_pair(const char *dir, const char *name, struct pair *ret)
{
    AUTO_FREE char *cert_path = path_of(dir, name, "crt");
    AUTO_FREE char *key_path = path_of(dir, name, "key");
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

static bool ends_soon(const X509 *cert)
{
    int days = 0;
    int seconds = 0;

    if (ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(cert)) != 1)
        return true;
    return days < RENEW_DAYS;
}

static struct err *write_bio(BIO *bio, const char *path, mode_t mode)
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
static bool add_key(BIO *bio, const EVP_PKEY *key)
{
    return PEM_write_bio_PrivateKey_traditional(bio, (EVP_PKEY *)(uintptr_t)key, NULL, NULL, 0,
                                                NULL, NULL) == 1;
}

static struct err *save_pair(const char *dir, const char *name, const struct pair *p)
{
    AUTO_FREE char *cert_path = path_of(dir, name, "crt");
    AUTO_FREE char *key_path = path_of(dir, name, "key");
    AUTO(bio_freep) BIO *cert = BIO_new(BIO_s_mem());
    AUTO(bio_freep) BIO *key = BIO_new(BIO_s_mem());

    if (!cert || !key || PEM_write_bio_X509(cert, p->cert) != 1 || !add_key(key, p->key))
        return openssl_error("write PEM");
    TRY(write_bio(key, key_path, 0600));
    return write_bio(cert, cert_path, 0644);
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

static bool build_cert(struct pair *p, const struct pair *issuer, const struct subject *s)
{
    X509_NAME *name = X509_get_subject_name(p->cert);

    return X509_set_version(p->cert, 2) == 1 && set_serial(p->cert) &&
           set_validity(p->cert, s->days) && add_name(name, "O", s->group) &&
           add_name(name, "CN", s->name) &&
           X509_set_issuer_name(p->cert, X509_get_subject_name(issuer->cert)) == 1 &&
           X509_set_pubkey(p->cert, p->key) == 1 && add_extensions(p->cert, issuer->cert, s) &&
           X509_sign(p->cert, issuer->key, EVP_sha256()) > 0;
}

/* Makes a key and its certificate; `issuer` NULL: self-signed. */
static struct err *make_pair(const struct pair *issuer, const struct subject *s, struct pair *ret)
{
    struct pair p = {.cert = X509_new(),
                     .key = s->is_rsa ? EVP_RSA_gen(RSA_BITS) : EVP_EC_gen("P-256")};

    if (!p.cert || !p.key || !build_cert(&p, issuer ? issuer : &p, s)) {
        pair_done(&p);
        return openssl_error("make certificate");
    }
    *ret = p;
    return NULL;
}

static struct err *make_authority(const char *dir, struct pair *ret)
{
    const struct subject subject = {.name = "mete-ca", .days = CA_DAYS};

    TRY(load_pair(dir, "ca", ret));
    if (ret->cert && ret->key && !ends_soon(ret->cert))
        return NULL;
    pair_done(ret);
    TRY(make_pair(NULL, &subject, ret));
    return save_pair(dir, "ca", ret);
}

static bool is_ip(const char *host)
{
    ASN1_OCTET_STRING *ip = a2i_IPADDRESS(host);
    bool is = ip != NULL;

    ASN1_OCTET_STRING_free(ip);
    ERR_clear_error();
    return is;
}

/* Does a server certificate name `host`? */
static bool names_host(X509 *cert, const char *host)
{
    return is_ip(host) ? X509_check_ip_asc(cert, host, 0) == 1
                       : X509_check_host(cert, host, 0, 0, NULL) == 1;
}

static bool is_good(const struct pair *p, const struct pair *ca, const char *const *hosts, size_t n)
{
    if (!p->cert || !p->key || ends_soon(p->cert) || X509_verify(p->cert, ca->key) != 1) {
        ERR_clear_error();
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!names_host(p->cert, hosts[i]))
            return false;
    }
    return true;
}

static struct err *make_leaf(const char *dir, const char *file, const struct pair *ca,
                             const struct subject *s, const char *const *hosts, size_t n)
{
    AUTO(pair_done) struct pair p = {0};

    TRY(load_pair(dir, file, &p));
    if (is_good(&p, ca, hosts, n) && EVP_PKEY_is_a(p.key, "RSA") == s->is_rsa)
        return NULL;
    pair_done(&p);
    TRY(make_pair(ca, s, &p));
    return save_pair(dir, file, &p);
}

/* Refuses characters that could change the meaning of an OpenSSL configuration value. */
static struct err *check_host(const char *host)
{
    if (*host && strlen(host) <= 253 &&
        strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-_") ==
            strlen(host))
        return NULL;
    return err_new(ERR_INVALID, "host name '%.64s' cannot stand in a certificate", host);
}

static struct err *make_server(const char *dir, const struct pair *ca, const char *const *hosts,
                               size_t n)
{
    AUTO(buf_done) struct buf alt = {0};
    const struct subject subject = {
        .name = "mete-server", .usage = "serverAuth", .days = LEAF_DAYS};
    struct subject named = subject;

    for (size_t i = 0; i < n; i++) {
        TRY(check_host(hosts[i]));
        buf_printf(&alt, "%s%s:%s", i > 0 ? "," : "", is_ip(hosts[i]) ? "IP" : "DNS", hosts[i]);
    }
    named.alt = alt.at;
    return make_leaf(dir, "server", ca, &named, hosts, n);
}

/* Makes a key without certificate: only Mete verifies its signatures. */
static struct err *make_signing_key(const char *dir)
{
    AUTO_FREE char *path = path_of(dir, "sa", "key");
    AUTO(pair_done) struct pair p = {0};
    AUTO(bio_freep) BIO *bio = NULL;

    if (file_exists(path))
        return NULL;
    p.key = EVP_EC_gen("P-256");
    bio = BIO_new(BIO_s_mem());
    if (!p.key || !bio || !add_key(bio, p.key))
        return openssl_error("make a signing key");
    return write_bio(bio, path, 0600);
}

struct err *pki_make(const char *dir, const char *extra_host)
{
    const struct subject admin = {.group = "system:masters",
                                  .name = "admin",
                                  .usage = "clientAuth",
                                  .days = LEAF_DAYS,
                                  .is_rsa = true};
    const char *hosts[5] = {"localhost", "127.0.0.1", "::1"};
    AUTO(pair_done) struct pair ca = {0};
    char own[256] = "";
    size_t n = 3;

    if (gethostname(own, sizeof(own) - 1) == 0 && *own)
        hosts[n++] = own;
    if (extra_host && *extra_host)
        hosts[n++] = extra_host;
    TRY(dir_make(dir, 0700));
    TRY(make_authority(dir, &ca));
    TRY(make_server(dir, &ca, hosts, n));
    TRY(make_signing_key(dir));
    return make_leaf(dir, "admin", &ca, &admin, NULL, 0);
}

static struct err *read_base64(const char *dir, const char *name, char **ret)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO(buf_done) struct buf bytes = {0};
    char *text;

    TRY(file_read(path, FILE_MAX, &bytes));
    text = mem_alloc((bytes.size + 2) / 3 * 4 + 1);
    (void)EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)bytes.at, (int)bytes.size);
    *ret = text;
    return NULL;
}

struct err *pki_kubeconfig(const char *dir, const char *url, char **ret)
{
    AUTO_FREE char *ca = NULL;
    AUTO_FREE char *cert = NULL;
    AUTO_FREE char *key = NULL;

    TRY(read_base64(dir, "ca.crt", &ca));
    TRY(read_base64(dir, "admin.crt", &cert));
    TRY(read_base64(dir, "admin.key", &key));
    *ret = mem_format("apiVersion: v1\n"
                      "kind: Config\n"
                      "clusters:\n"
                      "- name: mete\n"
                      "  cluster:\n"
                      "    server: %s\n"
                      "    certificate-authority-data: %s\n"
                      "users:\n"
                      "- name: admin\n"
                      "  user:\n"
                      "    client-certificate-data: %s\n"
                      "    client-key-data: %s\n"
                      "contexts:\n"
                      "- name: mete\n"
                      "  context:\n"
                      "    cluster: mete\n"
                      "    user: admin\n"
                      "current-context: mete\n",
                      url, ca, cert, key);
    return NULL;
}
