/* exec_answer.c - what a credential plugin prints: an ExecCredential */

#include "client/exec_answer.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/stamp.h"

static char *answer_text(const json_t *status, const char *key)
{
    const char *text = json_text(status, key);

    return text && text[0] ? mem_strdup(text) : NULL;
}

/* A header line has the token: no control characters. */
static bool is_token(const char *token)
{
    for (; token && *token; token++)
        if ((unsigned char)*token <= ' ' || (unsigned char)*token >= 127)
            return false;
    return true;
}

static struct err *answer_read(const json_t *status, struct exec_answer *a)
{
    const char *until = json_text(status, "expirationTimestamp");

    *a = (struct exec_answer){.token = answer_text(status, "token"),
                              .cert = answer_text(status, "clientCertificateData"),
                              .key = answer_text(status, "clientKeyData"),
                              .expires_ns = INT64_MAX};
    if (!a->token && !a->cert && !a->key)
        return err_new(ERR_UNAUTHENTICATED,
                       "status: want a token, or clientCertificateData and clientKeyData");
    if (!a->cert != !a->key)
        return err_new(ERR_UNAUTHENTICATED,
                       "status: clientCertificateData and clientKeyData need each other");
    if (!is_token(a->token))
        return err_new(ERR_UNAUTHENTICATED, "status.token has a space or a control character");
    return until ? stamp_parse(str_of(until), &a->expires_ns) : NULL;
}

struct err *exec_answer_parse(struct str text, const char *api_version, struct exec_answer *ret)
{
    AUTO(json_freep) json_t *root = NULL;
    struct exec_answer a = {0};
    const char *version;
    struct err *e = json_parse(text, &root);

    if (e) {
        err_free(e); /* its text might show a part of a credential */
        return err_new(ERR_UNAUTHENTICATED, "its output is no JSON");
    }
    version = json_text(root, "apiVersion");
    if (!text_equal(json_text(root, "kind"), "ExecCredential") || !text_equal(version, api_version))
        return err_new(ERR_UNAUTHENTICATED,
                       "its output: want kind ExecCredential of %s, not %s of %s", api_version,
                       json_text(root, "kind") ? json_text(root, "kind") : "no kind",
                       version ? version : "no apiVersion");
    e = answer_read(json_object_get(root, "status"), &a);
    if (e) {
        exec_answer_done(&a);
        return err_wrap(e, "its output");
    }
    *ret = a;
    return NULL;
}

void exec_answer_done(struct exec_answer *a)
{
    free(a->token);
    free(a->cert);
    free(a->key);
    *a = (struct exec_answer){0};
}
