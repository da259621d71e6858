/* remote.c - exec and attach over a WebSocket */

#include "client/remote.h"

#include "base/mem.h"
#include "base/num.h"
#include "client/stream.h"
#include "client/websocket.h"

enum {
    CHANNEL_STDIN = 0,
    CHANNEL_STDOUT = 1,
    CHANNEL_STDERR = 2,
    CHANNEL_STATUS = 3,
    CHANNEL_RESIZE = 4,
    CHANNEL_CLOSE = 255,
    STATUS_MAX = 65536,
    CODE_UNKNOWN = 255, /* the command failed without an exit code */
};

struct remote {
    struct remote_options o;
    struct stream *stream;
    struct websocket *socket;
    char accept[WEBSOCKET_ACCEPT_SIZE]; /* the expected answer of the server */
    struct buf early;                   /* frames to send once the stream is open */
    bool is_open;
    bool has_status;
    struct err *failed;
    int code;
};

/* ---- the end ---- */

static int read_code(const json_t *status)
{
    const json_t *causes = json_at(status, "details", "causes", NULL);
    json_t *cause = NULL;
    size_t i = 0;

    json_array_foreach (causes, i, cause) {
        const char *text = json_text(cause, "message");
        int64_t code = CODE_UNKNOWN;

        if (!text || !text_equal(json_text(cause, "reason"), "ExitCode"))
            continue;
        err_free(num_parse_int64(str_of(text), 0, CODE_UNKNOWN, &code)); /* else unknown */
        return (int)code;
    }
    return CODE_UNKNOWN;
}

static void take_status(struct remote *r, struct str text)
{
    AUTO(json_freep) json_t *status = NULL;
    struct err *e = text.size > STATUS_MAX ? err_new(ERR_TOO_LARGE, "the status is too long")
                                           : json_parse(text, &status);
    const char *message = json_text(status, "message");

    if (r->has_status) {
        err_free(e);
        return;
    }
    r->has_status = true;
    if (e)
        r->failed = err_wrap(e, "the server's final status");
    else if (text_equal(json_text(status, "status"), "Success"))
        r->code = 0;
    else if (text_equal(json_text(status, "reason"), "NonZeroExitCode"))
        r->code = read_code(status);
    else
        r->failed = err_new(ERR_INTERNAL, "%s", message ? message : "the command failed");
}

/* The user may free `r` here. */
static void remote_end(struct remote *r, struct err *taken)
{
    AUTO(err_freep) struct err *e = taken;
    void (*on_end)(void *arg, const struct err *e, int code) = r->o.on_end;

    r->o.on_end = NULL;
    if (on_end)
        on_end(r->o.arg, e, r->code);
}

/* ---- in ---- */

static void remote_on_message(void *arg, struct str bytes)
{
    struct remote *r = arg;
    struct str rest = {bytes.at + 1, bytes.size > 0 ? bytes.size - 1 : 0};
    unsigned channel = bytes.size > 0 ? (unsigned char)bytes.at[0] : CHANNEL_CLOSE;

    if (channel == CHANNEL_STATUS)
        take_status(r, rest);
    else if ((channel == CHANNEL_STDOUT || channel == CHANNEL_STDERR) && rest.size > 0)
        r->o.on_output(r->o.arg, channel == CHANNEL_STDOUT ? 1 : 2, rest);
}

static void remote_on_data(void *arg, struct str piece)
{
    struct remote *r = arg;
    AUTO(err_freep) struct err *e = websocket_take(r->socket, piece);

    if (r->has_status)
        remote_end(r, TAKE(r->failed));
    else if (e)
        remote_end(r, err_wrap(TAKE(e), "from the server"));
    else if (websocket_is_closed(r->socket))
        remote_end(r, err_new(ERR_UNAVAILABLE, "the server ended the session"));
}

static void on_close(void *arg, const struct err *e)
{
    remote_end(arg, e ? err_new(err_code(e), "%s", err_message(e))
                      : err_new(ERR_UNAVAILABLE, "the connection was closed"));
}

static void on_drain(void *arg)
{
    struct remote *r = arg;

    if (r->o.on_drain && r->is_open && r->o.on_end)
        r->o.on_drain(r->o.arg);
}

/* Checks "Sec-WebSocket-Accept: ..." in the answer's head: the proof that the server speaks
 * WebSocket. */
static struct err *check_head(void *arg, struct str head)
{
    static const char name[] = "sec-websocket-accept:";
    const struct remote *r = arg;
    struct str rest = head;

    while (rest.at) {
        struct str line = str_cut(&rest, '\n');

        if (line.size < sizeof(name) || strncasecmp(line.at, name, sizeof(name) - 1) != 0)
            continue;
        line = (struct str){line.at + sizeof(name) - 1, line.size - sizeof(name) + 1};
        while (line.size > 0 && *line.at == ' ')
            line = (struct str){line.at + 1, line.size - 1};
        while (line.size > 0 && (line.at[line.size - 1] == '\r' || line.at[line.size - 1] == ' '))
            line.size--;
        if (str_equal(line, str_of(r->accept)))
            return NULL;
    }
    return err_new(ERR_UNAVAILABLE, "the server does not speak WebSocket");
}

static void remote_on_open(void *arg)
{
    struct remote *r = arg;

    r->is_open = true;
    stream_send(r->stream, (struct str){r->early.at, r->early.size});
    buf_done(&r->early);
    if (r->o.on_open)
        r->o.on_open(r->o.arg);
}

/* ---- out ---- */

static void remote_on_send(void *arg, struct str bytes)
{
    struct remote *r = arg;

    if (r->is_open)
        stream_send(r->stream, bytes);
    else
        buf_add(&r->early, bytes.at, bytes.size);
}

void remote_send(struct remote *r, struct str bytes)
{
    if (bytes.size > 0)
        websocket_send(r->socket, CHANNEL_STDIN, bytes);
}

void remote_send_end(struct remote *r)
{
    websocket_send(r->socket, CHANNEL_CLOSE, (struct str){"\0", 1});
}

void remote_resize(struct remote *r, uint16_t columns, uint16_t rows)
{
    AUTO_FREE char *text =
        mem_format("{\"Width\":%u,\"Height\":%u}\n", (unsigned)columns, (unsigned)rows);

    websocket_send(r->socket, CHANNEL_RESIZE, str_of(text));
}

size_t remote_backlog(const struct remote *r)
{
    return r->early.size + stream_backlog(r->stream);
}

struct err *remote_open(struct client *c, const struct remote_options *o, struct remote **ret)
{
    char key[WEBSOCKET_KEY_SIZE];
    struct remote *r = mem_alloc(sizeof(*r));
    const struct websocket_options w = {
        .is_client = true, .send = remote_on_send, .message = remote_on_message, .arg = r};
    AUTO_FREE char *headers = NULL;
    struct err *e = NULL;

    r->o = *o;
    r->code = CODE_UNKNOWN;
    r->socket = websocket_new(&w);
    websocket_key_make(key);
    (void)websocket_accept_make(key, r->accept); /* our own key is well-formed */
    headers = mem_format("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n"
                         "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n",
                         key);
    e = client_upgrade(c,
                       &(struct stream_options){.method = "GET",
                                                .path = o->path,
                                                .protocol = "websocket",
                                                .headers = headers,
                                                .check = check_head,
                                                .on_open = remote_on_open,
                                                .on_data = remote_on_data,
                                                .on_drain = on_drain,
                                                .on_close = on_close,
                                                .arg = r},
                       &r->stream);
    if (e) {
        remote_free(r);
        return e;
    }
    *ret = r;
    return NULL;
}

void remote_free(struct remote *r)
{
    if (!r)
        return;
    stream_free(r->stream);
    websocket_free(r->socket);
    buf_done(&r->early);
    err_free(r->failed);
    free(r);
}
