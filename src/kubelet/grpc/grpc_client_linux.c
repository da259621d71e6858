/* grpc_client_linux.c - unary gRPC calls over a unix socket, by nghttp2 */

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "client/unix_linux.h"
#include "kubelet/grpc/grpc_client.h"
#include "kubelet/grpc/grpc_conn_linux.h"
#include "kubelet/grpc/grpc_text.h"

struct grpc_request {
    struct loop *loop;
    struct loop_timer *timer; /* the deadline, or a failure to be told */
    struct grpc_conn conn;
    bool is_connected;
    struct err *failure; /* of the connecting */
    struct buf out;
    struct buf in;
    int64_t status; /* grpc-status; -1: none yet */
    struct buf message;
    void (*done)(void *arg, const struct err *e, struct str message);
    void *arg;
};

void grpc_request_free(struct grpc_request *r)
{
    if (!r)
        return;
    loop_timer_free(r->timer);
    if (r->is_connected)
        grpc_conn_done(&r->conn);
    err_free(r->failure);
    buf_done(&r->out);
    buf_done(&r->in);
    buf_done(&r->message);
    free(r);
}

/* Tells the end; takes `e`. */
static void request_end(struct grpc_request *r, struct err *e)
{
    struct str answer = {0};
    size_t size = 0;

    if (!e && r->status > 0)
        e = grpc_status_error((int)r->status, text_or_empty(r->message.at));
    if (!e && r->in.overflow)
        e = err_new(ERR_TOO_LARGE, "answer: want at most %d bytes", GRPC_MESSAGE_MAX);
    if (!e)
        e = grpc_message_parse((struct str){.at = r->in.at, .size = r->in.size}, GRPC_MESSAGE_MAX,
                               &answer, &size);
    if (!e && (r->status < 0 || size == 0))
        e = err_new(ERR_UNAVAILABLE, "the server ended the call without an answer");
    loop_timer_stop(r->timer);
    r->done(r->arg, e, answer);
    err_free(e);
    grpc_request_free(r);
}

static void on_request_timer(void *arg)
{
    struct grpc_request *r = arg;

    request_end(r, r->failure ? TAKE(r->failure) : err_new(ERR_TIMEOUT, "no answer in time"));
}

static void on_request_end(void *arg, const struct err *e)
{
    request_end(arg, e ? err_new(ERR_UNAVAILABLE, "%s", err_message(e)) : NULL);
}

/* NOLINTNEXTLINE(readability-function-size): a type of nghttp2 */
static ssize_t on_request_data(nghttp2_session *session, int32_t stream, uint8_t *bytes,
                               size_t size, uint32_t *flags, nghttp2_data_source *source, void *arg)
{
    struct grpc_request *r = source->ptr;
    size_t n = r->out.size < size ? r->out.size : size;

    (void)session;
    (void)stream;
    (void)arg;
    memcpy(bytes, r->out.at, n);
    buf_consume(&r->out, n);
    if (r->out.size == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

/* NOLINTNEXTLINE(readability-function-size): a type of nghttp2 */
static int on_answer_header(nghttp2_session *session, const nghttp2_frame *frame,
                            const uint8_t *name, size_t name_size, const uint8_t *value,
                            size_t value_size, uint8_t flags, void *arg)
{
    struct grpc_request *r = arg;
    struct str key = {.at = (const char *)name, .size = name_size};
    struct str text = {.at = (const char *)value, .size = value_size};

    (void)session;
    (void)frame;
    (void)flags;
    if (str_equal(key, STR("grpc-status"))) {
        AUTO(err_freep) struct err *e = num_parse_int64(text, 0, 99, &r->status);

        return e ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
    }
    if (str_equal(key, STR("grpc-message"))) {
        buf_clear(&r->message);
        grpc_unescape(&r->message, text);
    }
    return 0;
}

static int on_answer_data(nghttp2_session *session, uint8_t flags, int32_t stream,
                          const uint8_t *bytes, size_t size, void *arg)
{
    struct grpc_request *r = arg;

    (void)session;
    (void)flags;
    (void)stream;
    buf_add(&r->in, bytes, size);
    return 0;
}

static int on_answer_close(nghttp2_session *session, int32_t stream, uint32_t code, void *arg)
{
    (void)stream;
    (void)code;
    (void)arg;
    return nghttp2_session_terminate_session(session, NGHTTP2_NO_ERROR);
}

static struct err *request_session(struct grpc_request *r, nghttp2_session **ret)
{
    nghttp2_session_callbacks *callbacks = NULL;
    int code = nghttp2_session_callbacks_new(&callbacks);

    if (code == 0) {
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_answer_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_answer_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_answer_close);
        code = nghttp2_session_client_new(ret, callbacks, r);
        nghttp2_session_callbacks_del(callbacks);
    }
    return code ? err_new(ERR_INTERNAL, "HTTP/2: %s", nghttp2_strerror(code)) : NULL;
}

static struct err *request_submit(struct grpc_request *r, nghttp2_session *session,
                                  const char *path)
{
    const nghttp2_nv headers[] = {
        grpc_header(":method", "POST"),
        grpc_header(":scheme", "http"),
        grpc_header(":path", path),
        grpc_header(":authority", "localhost"),
        grpc_header("te", "trailers"),
        grpc_header("content-type", "application/grpc"),
        grpc_header("user-agent", "grpc-mete"),
    };
    const nghttp2_data_provider data = {.source = {.ptr = r}, .read_callback = on_request_data};
    int32_t stream = nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);

    if (stream == 0)
        stream = nghttp2_submit_request(session, NULL, headers, COUNT(headers), &data, NULL);
    return stream < 0 ? err_new(ERR_INTERNAL, "HTTP/2: %s", nghttp2_strerror(stream)) : NULL;
}

static struct err *request_begin(struct grpc_request *r, const struct grpc_request_options *o)
{
    nghttp2_session *session = NULL;
    AUTO(fd_closep) int fd = -1;
    struct err *e = NULL;

    TRY(unix_connect(o->socket, &fd));
    if (fd < 0)
        return err_new(ERR_UNAVAILABLE, "%s: the server takes no more connections now", o->socket);
    e = request_session(r, &session);
    if (!e)
        e = request_submit(r, session, o->path);
    if (e) {
        nghttp2_session_del(session);
        return e;
    }
    r->conn = (struct grpc_conn){.on_end = on_request_end, .arg = r};
    grpc_conn_init(&r->conn, r->loop, fd_take(&fd), session);
    r->is_connected = true;
    grpc_conn_flush(&r->conn);
    return NULL;
}

struct grpc_request *grpc_request_new(const struct grpc_request_options *o)
{
    struct grpc_request *r = mem_alloc(sizeof(*r));

    *r = (struct grpc_request){
        .loop = o->loop,
        .in = {.cap = GRPC_MESSAGE_MAX + GRPC_HEAD_SIZE},
        .out = {.cap = GRPC_MESSAGE_MAX + GRPC_HEAD_SIZE},
        .message = {.cap = 4096},
        .status = -1,
        .done = o->done,
        .arg = o->arg,
    };
    r->timer = loop_timer_new(o->loop, on_request_timer, r);
    grpc_message_format(&r->out, o->message);
    r->failure = request_begin(r, o);
    loop_timer_set(r->timer, r->failure ? 0 : o->timeout_ns);
    return r;
}
