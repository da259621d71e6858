/* client.c - the calls of client.h over their ops; errors from replies */

#include "client/client.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "client/stream.h"

void client_free(struct client *c)
{
    if (c)
        c->ops->free(c->self);
}

static void start(struct client *c, const struct client_request *r, client_data_fn data,
                  client_done_fn done, void *arg, struct client_call **ret_call)
{
    struct client_call *call = c->ops->start(c->self, r, data, done, arg);

    if (ret_call)
        *ret_call = call;
}

void client_send(struct client *c, const struct client_request *r, client_done_fn done, void *arg,
                 struct client_call **ret_call)
{
    start(c, r, NULL, done, arg, ret_call);
}

void client_stream(struct client *c, const struct client_request *r, client_data_fn data,
                   client_done_fn done, void *arg, struct client_call **ret_call)
{
    start(c, r, data, done, arg, ret_call);
}

void client_cancel(struct client_call *call)
{
    if (call)
        call->ops->cancel(call);
}

struct err *client_upgrade(struct client *c, const struct stream_options *o, struct stream **ret)
{
    return c->ops->upgrade(c->self, o, ret);
}

void stream_send(struct stream *s, struct str bytes)
{
    s->ops->send(s->self, bytes);
}

size_t stream_backlog(const struct stream *s)
{
    return s->ops->backlog(s->self);
}

void stream_pause(struct stream *s, bool is_paused)
{
    s->ops->pause(s->self, is_paused);
}

void stream_free(struct stream *s)
{
    if (s)
        s->ops->free(s->self);
}

static const char *option_copy(const char *text)
{
    return text ? mem_strdup(text) : NULL;
}

struct client_options *client_options_copy(const struct client_options *o)
{
    struct client_options *mine = mem_alloc(sizeof(*mine));

    mine->loop = o->loop;
    mine->unix_socket = option_copy(o->unix_socket);
    mine->url = option_copy(o->url ? o->url : "http://mete");
    mine->ca_file = option_copy(o->ca_file);
    mine->cert_file = option_copy(o->cert_file);
    mine->key_file = option_copy(o->key_file);
    mine->token = option_copy(o->token);
    mine->token_file = option_copy(o->token_file);
    mine->is_unverified = o->is_unverified;
    mine->ca_text = option_copy(o->ca_text);
    mine->connect_to = option_copy(o->connect_to);
    mine->body_max = o->body_max;
    return mine;
}

static void option_drop(const char *text)
{
    free((void *)(uintptr_t)text);
}

void client_options_free(struct client_options *o)
{
    if (!o)
        return;
    option_drop(o->unix_socket);
    option_drop(o->url);
    option_drop(o->ca_file);
    option_drop(o->cert_file);
    option_drop(o->key_file);
    option_drop(o->token);
    option_drop(o->token_file);
    option_drop(o->ca_text);
    option_drop(o->connect_to);
    free(o);
}

struct status_code {
    const char *reason;
    int http;
    enum err_code code;
};

/* Returns the code with this status and reason; without such a code the first code with the
 * status. */
static enum err_code code_of(int http, const char *reason)
{
    static const struct status_code codes[] = {
#define X(name, http, reason, grpc) {reason, http, ERR_##name},
        ERR_CODES(X)
#undef X
    };
    const size_t n = COUNT(codes);

    for (size_t i = 0; reason && i < n; i++)
        if (codes[i].http == http && text_equal(codes[i].reason, reason))
            return codes[i].code;
    for (size_t i = 0; i < n; i++)
        if (codes[i].http == http)
            return codes[i].code;
    return http >= 500 ? ERR_UNAVAILABLE : ERR_BAD_REQUEST;
}

struct err *client_reply_error(const struct client_reply *reply)
{
    AUTO(json_freep) json_t *status = NULL;
    AUTO(err_freep) struct err *ignored = json_parse(reply->body, &status);
    const char *message = json_text(status, "message");
    enum err_code code = code_of(reply->status, json_text(status, "reason"));

    /* API servers tell a full quota from a missing right by the message alone. */
    if (code == ERR_FORBIDDEN && message && strstr(message, "exceeded quota: "))
        code = ERR_OVER_QUOTA;
    if (message && message[0])
        return err_new(code, "%s", message);
    return err_new(code, "the server answered %d without a reason", reply->status);
}

struct err *client_error(const struct err *e, const struct client_reply *reply)
{
    if (e)
        return err_new(err_code(e), "%s", err_message(e));
    if (reply->status >= 200 && reply->status < 300)
        return NULL;
    return client_reply_error(reply);
}

void client_add_escaped(struct buf *b, struct str text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.at[i];

        if (isalnum(c) || c == '-' || c == '_' || c == '.' || c == '~')
            buf_add_char(b, (char)c);
        else
            buf_printf(b, "%%%02X", c);
    }
}
