/* tls_pipe_linux.c - TLS by OpenSSL, between two buffers in memory */

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/mem.h"
#include "http/tls_pipe.h"

enum {
    READ_SIZE = 16384
};

struct tls_pipe {
    struct tls_pipe_options o;
    SSL *ssl;
    BIO *in;  /* the peer's bytes; the SSL's */
    BIO *out; /* bytes for the peer; the SSL's */
    struct buf waiting;
    bool is_ready; /* the handshake is over */
};

static struct err *pipe_error(const char *what)
{
    unsigned long code = ERR_get_error();
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    struct err *e =
        err_new(ERR_UNAVAILABLE, "TLS: %s: %s", what, reason ? reason : "the connection broke");

    ERR_clear_error();
    return e;
}

/* Carries what OpenSSL has written. */
static void pipe_flush(struct tls_pipe *p)
{
    char bytes[READ_SIZE];
    int n;

    while ((n = BIO_read(p->out, bytes, sizeof(bytes))) > 0)
        p->o.send(p->o.arg, (struct str){bytes, (size_t)n});
}

/* Writes to OpenSSL, whose buffer in memory takes all. */
static struct err *pipe_write(struct tls_pipe *p, struct str bytes)
{
    while (bytes.size > 0) {
        int size = bytes.size < READ_SIZE ? (int)bytes.size : READ_SIZE;
        int n = SSL_write(p->ssl, bytes.at, size);

        if (n <= 0)
            return pipe_error("cannot send");
        bytes = (struct str){bytes.at + n, bytes.size - (size_t)n};
    }
    return NULL;
}

/* Goes on with the handshake as far as the bytes reach. */
static struct err *pipe_shake(struct tls_pipe *p)
{
    int n = 0;

    if (p->is_ready)
        return NULL;
    n = SSL_do_handshake(p->ssl);
    if (n != 1) {
        int why = SSL_get_error(p->ssl, n);

        return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE
                   ? NULL
                   : pipe_error("no handshake");
    }
    p->is_ready = true;
    TRY(pipe_write(p, (struct str){p->waiting.at, p->waiting.size}));
    buf_done(&p->waiting);
    p->waiting = (struct buf){0};
    return NULL;
}

static struct err *pipe_read(struct tls_pipe *p)
{
    char bytes[READ_SIZE];
    int n = 0;
    int why;

    while (p->is_ready && (n = SSL_read(p->ssl, bytes, sizeof(bytes))) > 0)
        p->o.data(p->o.arg, (struct str){bytes, (size_t)n});
    if (!p->is_ready)
        return NULL;
    why = SSL_get_error(p->ssl, n);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE || why == SSL_ERROR_ZERO_RETURN)
        return NULL;
    return pipe_error("cannot read");
}

struct err *tls_pipe_take(struct tls_pipe *p, struct str bytes)
{
    struct err *e = NULL;

    ERR_clear_error();
    while (!e && bytes.size > 0) {
        int size = bytes.size < READ_SIZE ? (int)bytes.size : READ_SIZE;
        int n = BIO_write(p->in, bytes.at, size);

        if (n <= 0)
            return pipe_error("no memory");
        bytes = (struct str){bytes.at + n, bytes.size - (size_t)n};
        e = pipe_shake(p);
        if (!e)
            e = pipe_read(p);
    }
    pipe_flush(p); /* also the alert that tells the peer of a failure */
    return e;
}

struct err *tls_pipe_send(struct tls_pipe *p, struct str bytes)
{
    struct err *e = NULL;

    ERR_clear_error();
    if (!p->is_ready) {
        buf_add(&p->waiting, bytes.at, bytes.size);
        return NULL;
    }
    e = pipe_write(p, bytes);
    pipe_flush(p);
    return e;
}

struct err *tls_pipe_new(const struct tls_pipe_options *o, struct tls_pipe **ret)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    struct tls_pipe *p = mem_alloc(sizeof(*p));
    struct err *e = NULL;

    ERR_clear_error();
    p->o = *o;
    p->ssl = ctx ? SSL_new(ctx) : NULL; /* refers to the context */
    SSL_CTX_free(ctx);
    p->in = BIO_new(BIO_s_mem());
    p->out = BIO_new(BIO_s_mem());
    if (!p->ssl || !p->in || !p->out)
        abort(); /* out of memory */
    SSL_set_bio(p->ssl, p->in, p->out);
    SSL_set_connect_state(p->ssl);
    SSL_set_verify(p->ssl, SSL_VERIFY_NONE, NULL);
    e = pipe_shake(p);
    if (e) {
        tls_pipe_free(p);
        return e;
    }
    pipe_flush(p);
    *ret = p;
    return NULL;
}

void tls_pipe_free(struct tls_pipe *p)
{
    if (!p)
        return;
    SSL_free(p->ssl); /* with its buffers */
    buf_done(&p->waiting);
    free(p);
}
