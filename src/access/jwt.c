/* jwt.c - JSON web tokens: base64url, the signature, the claims */

#include "access/jwt.h"

#include <string.h>

#include "base/mem.h"
#include "kinds/kind/value.h"

static const char header_text[] = "{\"alg\":\"ES256\",\"typ\":\"JWT\"}";

/* ---- base64url, RFC 4648 section 5, without padding ---- */

static void base64url_encode(struct str bytes, struct buf *out)
{
    size_t begin = out->size;

    base64_encode(bytes, out);
    while (out->size > begin && out->at[out->size - 1] == '=')
        out->size--;
    for (size_t i = begin; i < out->size; i++) {
        if (out->at[i] == '+')
            out->at[i] = '-';
        else if (out->at[i] == '/')
            out->at[i] = '_';
    }
}

/* False: malformed. */
static bool base64url_decode(struct str text, struct buf *out)
{
    AUTO(buf_done) struct buf standard = {0};
    size_t bad = 0;

    for (size_t i = 0; i < text.size; i++) {
        char c = text.at[i];

        if (c == '+' || c == '/' || c == '=')
            return false;
        c = (char)(c == '-' ? '+' : c == '_' ? '/' : c);
        buf_add(&standard, &c, 1);
    }
    while (standard.size % 4 != 0)
        buf_add_text(&standard, "=");
    if (standard.size == 0 || !base64_check((struct str){standard.at, standard.size}, &bad))
        return false;
    base64_decode((struct str){standard.at, standard.size}, out);
    return true;
}

/* ---- tokens ---- */

struct err *jwt_make(const struct signing_key *k, const json_t *claims, char **ret)
{
    AUTO_FREE char *text = json_format(claims);
    AUTO(buf_done) struct buf token = {0};
    uint8_t signature[SIGNATURE_SIZE];

    base64url_encode(str_of(header_text), &token);
    buf_add_text(&token, ".");
    base64url_encode(str_of(text), &token);
    TRY(signing_sign(k, (struct str){token.at, token.size}, signature));
    buf_add_text(&token, ".");
    base64url_encode((struct str){(const char *)signature, sizeof(signature)}, &token);
    *ret = mem_strndup(token.at, token.size);
    return NULL;
}

bool jwt_is(const char *token)
{
    const char *first = strchr(token, '.');
    const char *second = first ? strchr(first + 1, '.') : NULL;

    return second && !strchr(second + 1, '.');
}

/* Verifies the signature, then reads the claims. Unsigned claims are not parsed. */
struct err *jwt_open(const struct signing_key *k, const char *token, json_t **ret)
{
    AUTO(buf_done) struct buf header = {0};
    AUTO(buf_done) struct buf claims = {0};
    AUTO(buf_done) struct buf signature = {0};
    struct str rest = str_of(token);
    struct str first = str_cut(&rest, '.');
    struct str second = str_cut(&rest, '.');
    const struct str signed_part = {token, first.size + 1 + second.size};
    AUTO(err_freep) struct err *e = NULL;

    if (strlen(token) > JWT_MAX || !base64url_decode(first, &header) ||
        !base64url_decode(second, &claims) || !base64url_decode(rest, &signature) ||
        signature.size != SIGNATURE_SIZE ||
        !str_equal((struct str){header.at, header.size}, str_of(header_text)) ||
        !signing_verify(k, signed_part, (const uint8_t *)signature.at))
        return err_new(ERR_UNAUTHENTICATED, "Unauthorized: the token is not one of ours");
    e = json_parse((struct str){claims.at, claims.size}, ret);
    return e ? err_new(ERR_UNAUTHENTICATED, "Unauthorized: the token is damaged") : NULL;
}
