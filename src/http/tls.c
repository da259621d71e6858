/* tls.c - the TLS context and the client's certificate */

#include "http/tls.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "base/file.h"
#include "base/mem.h"

static struct err *tls_error(const char *what, const char *path)
{
    char text[256] = "";

    ERR_error_string_n(ERR_get_error(), text, sizeof(text));
    ERR_clear_error();
    return err_new(ERR_INTERNAL, "%s '%s': %s", what, path, text);
}

/* Picks http/1.1; refuses a client that offers ALPN without it. */
static int select_protocol(SSL *ssl, const unsigned char **ret, unsigned char *ret_size,
                           const unsigned char *offered, unsigned offered_size, void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *out = NULL;

    (void)ssl;
    (void)arg;
    if (SSL_select_next_proto(&out, ret_size, ours, sizeof(ours) - 1, offered, offered_size) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *ret = out;
    return SSL_TLSEXT_ERR_OK;
}

/* Adds an authority of client certificates; its name goes to `names`, a hint for clients. */
static struct err *load_authority(SSL_CTX *ctx, const char *path, STACK_OF(X509_NAME) * names)
{
    if (SSL_CTX_load_verify_file(ctx, path) != 1 ||
        SSL_add_file_cert_subjects_to_stack(names, path) != 1)
        return tls_error("cannot use certificate authority", path);
    return NULL;
}

/* Authorities of client certificates: `ca`, and `more` where it exists (may be NULL). */
static struct err *load_authorities(SSL_CTX *ctx, const char *ca, const char *more)
{
    STACK_OF(X509_NAME) *names = sk_X509_NAME_new_null();
    struct err *e = load_authority(ctx, ca, names);

    if (!e && more && file_exists(more))
        e = load_authority(ctx, more, names);
    SSL_CTX_set_client_CA_list(ctx, names);
    return e;
}

static struct err *load_pair(SSL_CTX *ctx, const char *cert, const char *key)
{
    if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
        return tls_error("cannot use certificate", cert);
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
        return tls_error("cannot use key", key);
    if (SSL_CTX_check_private_key(ctx) != 1)
        return tls_error("certificate and key do not belong together:", key);
    return NULL;
}

static struct err *context_begin(const char *cert, const char *key, SSL_CTX **ret)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    struct err *e = NULL;

    if (!ctx)
        return tls_error("cannot set up TLS for", cert);
    e = load_pair(ctx, cert, key);
    if (!e && SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1)
        e = tls_error("cannot set up TLS for", cert);
    if (e) {
        SSL_CTX_free(ctx);
        return e;
    }
    (void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    /* No resumption: every connection proves its certificate. */
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                       SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    (void)SSL_CTX_set_num_tickets(ctx, 0);
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_verify_depth(ctx, 2);
    SSL_CTX_set_purpose(ctx, X509_PURPOSE_SSL_CLIENT);
    SSL_CTX_set_alpn_select_cb(ctx, select_protocol, NULL);
    *ret = ctx;
    return NULL;
}

/* Gives `ctx` away, or frees it if `e`. */
static struct err *context_end(SSL_CTX *ctx, struct err *e, SSL_CTX **ret)
{
    if (e)
        SSL_CTX_free(ctx);
    else
        *ret = ctx;
    return e;
}

struct err *tls_context_new(const char *dir, SSL_CTX **ret)
{
    AUTO_FREE char *cert = mem_format("%s/server.crt", dir);
    AUTO_FREE char *key = mem_format("%s/server.key", dir);
    AUTO_FREE char *ca = mem_format("%s/ca.crt", dir);
    AUTO_FREE char *nodes = mem_format("%s/nodes.crt", dir);
    SSL_CTX *ctx = NULL;

    TRY(context_begin(cert, key, &ctx));
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    return context_end(ctx, load_authorities(ctx, ca, nodes), ret);
}

struct err *tls_context_new_files(const struct tls_files *files, SSL_CTX **ret)
{
    SSL_CTX *ctx = NULL;

    TRY(context_begin(files->cert, files->key, &ctx));
    if (!files->client_ca)
        return context_end(ctx, NULL, ret);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return context_end(ctx, load_authorities(ctx, files->client_ca, NULL), ret);
}

/* The text of a name entry. NULL: too long, or contains a NUL. */
static char *entry_text(const X509_NAME_ENTRY *entry)
{
    enum {
        TEXT_MAX = 256
    };
    unsigned char *utf8 = NULL;
    int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));
    char *text = NULL;

    if (size > 0 && size <= TEXT_MAX && !memchr(utf8, '\0', (size_t)size))
        text = mem_strndup((const char *)utf8, (size_t)size);
    OPENSSL_free(utf8);
    return text;
}

static struct err *take_entry(const X509_NAME_ENTRY *entry, struct tls_peer *peer)
{
    int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    char *text;

    if (nid != NID_commonName && nid != NID_organizationName)
        return NULL;
    text = entry_text(entry);
    if (!text)
        return err_new(ERR_UNAUTHENTICATED, "client certificate: its subject has an unusable name");
    if (nid == NID_commonName && !peer->user)
        peer->user = text;
    else if (nid == NID_organizationName && peer->n_groups < TLS_GROUPS_MAX)
        peer->groups[peer->n_groups++] = text;
    else {
        free(text);
        return err_new(ERR_UNAUTHENTICATED, "client certificate: too many names in its subject");
    }
    return NULL;
}

/* The common name of the authority that signed a verified certificate; NULL: it has none. */
static char *issuer_name(const X509 *cert)
{
    const X509_NAME *issuer = X509_get_issuer_name(cert);
    int at = X509_NAME_get_index_by_NID(issuer, NID_commonName, -1);

    return at < 0 ? NULL : entry_text(X509_NAME_get_entry(issuer, at));
}

struct err *tls_peer_read(SSL *ssl, struct tls_peer *ret)
{
    X509 *cert = SSL_get1_peer_certificate(ssl);
    struct tls_peer peer = {0};
    struct err *e = NULL;
    X509_NAME *name;

    if (!cert)
        return NULL;
    name = X509_get_subject_name(cert);
    for (int i = 0; !e && i < X509_NAME_entry_count(name); i++)
        e = take_entry(X509_NAME_get_entry(name, i), &peer);
    if (!e && !peer.user)
        e = err_new(ERR_UNAUTHENTICATED, "client certificate: its subject has no common name");
    peer.issuer = issuer_name(cert);
    X509_free(cert);
    if (e)
        tls_peer_done(&peer);
    else
        *ret = peer;
    return e;
}

void tls_peer_done(struct tls_peer *p)
{
    free(p->user);
    free(p->issuer);
    for (size_t i = 0; i < p->n_groups; i++)
        free(p->groups[i]);
    *p = (struct tls_peer){0};
}
