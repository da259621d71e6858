/*
 * tls_pipe.h - the client's side of TLS over bytes that the caller carries
 *
 * For answers of pods: the peer's certificate is not verified, as kube-apiserver does not verify
 * those of pods behind its proxy. The bytes between the two come from the node's own stream.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

struct tls_pipe;

/* No callback may free the pipe. */
struct tls_pipe_options {
    void (*send)(void *arg, struct str bytes); /* carries bytes to the peer */
    void (*data)(void *arg, struct str bytes); /* the peer's bytes, decrypted */
    void *arg;
};

/* Begins the handshake. */
struct err *tls_pipe_new(const struct tls_pipe_options *o, struct tls_pipe **ret) MUST_CHECK;
void tls_pipe_free(struct tls_pipe *p); /* accepts NULL; sends nothing */

/* Takes the peer's bytes. ERR_UNAVAILABLE: they break the protocol, or the peer refuses. */
struct err *tls_pipe_take(struct tls_pipe *p, struct str bytes) MUST_CHECK;

/* Encrypts and sends; before the handshake's end the bytes wait. ERR_UNAVAILABLE: after a failure.
 */
struct err *tls_pipe_send(struct tls_pipe *p, struct str bytes) MUST_CHECK;
