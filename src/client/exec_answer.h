/* exec_answer.h - what a credential plugin prints: an ExecCredential */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Texts are NULL where absent; there is a token, or a certificate with its key, or both. */
struct exec_answer {
    char *token;
    char *cert, *key;   /* PEM */
    int64_t expires_ns; /* realtime; INT64_MAX: never */
};

/* ERR_UNAUTHENTICATED: no ExecCredential of this version, or without a credential. */
struct err *exec_answer_parse(struct str text, const char *api_version,
                              struct exec_answer *ret) MUST_CHECK;
void exec_answer_done(struct exec_answer *a);
