/* token.c - continue tokens as base64url of JSON */

#include "api/token.h"

#include "base/json.h"
#include "base/mem.h"

enum {
    TOKEN_TEXT_MAX = 2048
};

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static char *base64url_encode(struct str bytes)
{
    AUTO(buf_done) struct buf b = {0};
    unsigned bits = 0;
    unsigned n_bits = 0;

    for (size_t i = 0; i < bytes.size; i++) {
        bits = (bits << 8 | (unsigned char)bytes.at[i]) & 0xffffu;
        n_bits += 8;
        while (n_bits >= 6) {
            n_bits -= 6;
            buf_add_char(&b, digits[bits >> n_bits & 63u]);
        }
    }
    if (n_bits > 0)
        buf_add_char(&b, digits[bits << (6 - n_bits) & 63u]);
    return buf_steal(&b);
}

static bool base64url_read(const char *text, struct buf *b)
{
    unsigned bits = 0;
    unsigned n_bits = 0;

    for (; *text; text++) {
        const char *digit = strchr(digits, *text);

        if (!digit)
            return false;
        bits = (bits << 6 | (unsigned)(digit - digits)) & 0xffffu;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            buf_add_char(b, (char)(bits >> n_bits & 255u));
        }
    }
    return true;
}

char *token_format(const struct token *t)
{
    AUTO(json_freep) json_t *json = json_object();
    AUTO_FREE char *text = NULL;

    json_put_int(json, "rv", t->revision);
    json_put_text(json, "ns", t->ns);
    json_put_text(json, "name", t->name);
    text = json_format(json);
    return base64url_encode(str_of(text));
}

struct err *token_parse(struct arena *a, const char *text, struct token *ret)
{
    AUTO(json_freep) json_t *json = NULL;
    AUTO(err_freep) struct err *e = NULL;
    AUTO(buf_done) struct buf b = {0};

    if (strlen(text) > TOKEN_TEXT_MAX || !base64url_read(text, &b))
        return err_new(ERR_BAD_REQUEST, "continue key is not valid");
    e = json_parse((struct str){.at = b.at ? b.at : "", .size = b.size}, &json);
    if (e || json_int(json, "rv", 0) <= 0 || !json_text(json, "ns") || !json_text(json, "name"))
        return err_new(ERR_BAD_REQUEST, "continue key is not valid");
    ret->revision = json_int(json, "rv", 0);
    ret->ns = arena_strdup(a, json_text(json, "ns"));
    ret->name = arena_strdup(a, json_text(json, "name"));
    return NULL;
}
