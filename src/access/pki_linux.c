/*
 * pki_linux.c - the keys and certificates of an installation
 *
 * Keys are ECDSA P-256 but for the administrator's RSA key, which every client library reads.
 */

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <unistd.h>

#include "access/certificate_linux.h"
#include "access/node_ca.h"
#include "access/pki.h"
#include "base/file.h"
#include "base/mem.h"

enum {
    FILE_MAX = 64 << 10,
    CA_DAYS = 3650,
    LEAF_DAYS = 365,
    HOSTS_MAX = 32, /* names of the server's certificate */
};

static struct err *make_authority(const char *dir, const char *file, const char *name,
                                  struct pair *ret)
{
    const struct subject subject = {.name = name, .days = CA_DAYS};

    TRY(pair_load(dir, file, ret));
    if (ret->cert && ret->key && !certificate_ends_soon(ret->cert))
        return NULL;
    pair_done(ret);
    TRY(pair_make(NULL, &subject, ret));
    return pair_save(dir, file, ret);
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
    if (!p->cert || !p->key || certificate_ends_soon(p->cert) ||
        X509_verify(p->cert, ca->key) != 1) {
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

    TRY(pair_load(dir, file, &p));
    if (is_good(&p, ca, hosts, n) && EVP_PKEY_is_a(p.key, "RSA") == s->is_rsa)
        return NULL;
    pair_done(&p);
    TRY(pair_make(ca, s, &p));
    return pair_save(dir, file, &p);
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
    AUTO_FREE char *path = pair_path(dir, "sa", "key");
    AUTO(pair_done) struct pair p = {0};
    AUTO(bio_freep) BIO *bio = NULL;

    if (file_exists(path))
        return NULL;
    p.key = EVP_EC_gen("P-256");
    bio = BIO_new(BIO_s_mem());
    if (!p.key || !bio || !key_add(bio, p.key))
        return openssl_error("make a signing key");
    return bio_write(bio, path, 0600);
}

/* The names of the server's certificate; the members are owned. */
struct hosts {
    const char *at[HOSTS_MAX];
    size_t n;
};

static void hosts_add(struct hosts *h, const char *host)
{
    for (size_t i = 0; i < h->n; i++) {
        if (text_equal(h->at[i], host))
            return;
    }
    if (h->n < HOSTS_MAX)
        h->at[h->n++] = mem_strdup(host);
}

static void hosts_done(struct hosts *h)
{
    for (size_t i = 0; i < h->n; i++)
        free((char *)(uintptr_t)h->at[i]);
}

/* Adds the addresses of the machine, by which other nodes reach a server that listens on all. */
static void hosts_add_interfaces(struct hosts *h)
{
    struct ifaddrs *list = NULL;
    char text[INET6_ADDRSTRLEN];

    if (getifaddrs(&list) < 0)
        return; /* the certificate then has the host's name alone */
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)i->ifa_addr;
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)i->ifa_addr;

        if ((i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
             inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text))) ||
            (i->ifa_addr && i->ifa_addr->sa_family == AF_INET6 &&
             !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) &&
             inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text))))
            hosts_add(h, text);
    }
    freeifaddrs(list);
}

static void hosts_find(struct hosts *h, const char *listen_host)
{
    char own[256] = "";

    hosts_add(h, "localhost");
    hosts_add(h, "127.0.0.1");
    hosts_add(h, "::1");
    if (gethostname(own, sizeof(own) - 1) == 0 && *own)
        hosts_add(h, own);
    if (listen_host && *listen_host)
        hosts_add(h, listen_host);
    if (listen_host && (text_equal(listen_host, "0.0.0.0") || text_equal(listen_host, "::")))
        hosts_add_interfaces(h);
}

struct err *pki_make(const char *dir, const char *listen_host, const char *const *others)
{
    const struct subject admin = {.groups = {"system:masters"},
                                  .name = "admin",
                                  .usage = "clientAuth",
                                  .days = LEAF_DAYS,
                                  .is_rsa = true};
    AUTO(pair_done) struct pair ca = {0};
    AUTO(pair_done) struct pair nodes = {0};
    AUTO(hosts_done) struct hosts hosts = {0};

    hosts_find(&hosts, listen_host);
    for (; others && *others; others++)
        hosts_add(&hosts, *others);
    TRY(dir_make(dir, 0700));
    TRY(make_authority(dir, "ca", "mete-ca", &ca));
    TRY(make_authority(dir, "nodes", NODE_CA_NAME, &nodes));
    TRY(make_server(dir, &ca, hosts.at, hosts.n));
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

/* The certificate as PEM. The caller frees it. */
static struct err *certificate_text(X509 *cert, char **ret)
{
    AUTO(bio_freep) BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    long size;

    if (!bio || PEM_write_bio_X509(bio, cert) != 1)
        return openssl_error("format a certificate");
    size = BIO_get_mem_data(bio, &text);
    *ret = mem_strndup(text, (size_t)size);
    return NULL;
}

struct err *pki_make_service(const char *dir, const char *host, const char *client_ca,
                             char **ret_ca)
{
    AUTO_FREE char *alt = mem_format("DNS:%s", host);
    AUTO_FREE char *ca_path = pair_path(dir, "ca", "crt");
    const struct subject authority = {.name = "mete-service-ca", .days = CA_DAYS};
    const struct subject server = {
        .name = "mete-service", .alt = alt, .usage = "serverAuth", .days = CA_DAYS};
    AUTO(pair_done) struct pair ca = {0};
    AUTO(pair_done) struct pair p = {0};

    TRY(check_host(host));
    TRY(pair_make(NULL, &authority, &ca));
    TRY(pair_make(&ca, &server, &p));
    TRY(pair_save(dir, "server", &p));
    TRY(file_write(ca_path, 0600, str_of(client_ca)));
    return certificate_text(ca.cert, ret_ca);
}
