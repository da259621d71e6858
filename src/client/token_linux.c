/* token_linux.c - the bearer token of a client's requests */

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "client/client.h"

enum {
    TOKEN_MAX = 1 << 20
};

struct err *client_token(const struct client_options *o, char **ret)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = NULL;

    *ret = o->token ? mem_strdup(o->token) : NULL;
    if (o->token || !o->token_file)
        return NULL;
    e = file_read(o->token_file, TOKEN_MAX, &text);
    if (e)
        return err_new(ERR_UNAVAILABLE, "the token: %s", err_message(e));
    *ret = mem_strndup(text.at ? text.at : "", strcspn(text.at ? text.at : "", "\r\n"));
    return NULL;
}
