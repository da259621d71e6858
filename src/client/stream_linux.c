/*
 * stream_linux.c - upgraded connections over a unix socket or by libcurl
 *
 * For a unix socket we connect ourselves. For a URL libcurl connects (CURLOPT_CONNECT_ONLY, with
 * TLS and deadlines); afterwards we wait on the socket, and bytes pass through curl_easy_send and
 * curl_easy_recv. The easy handle stays in its multi handle, which owns the connection.
 */

#include "client/stream_linux.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "base/version.h"
#include "client/curl_linux.h"
#include "client/unix_linux.h"

#define CONNECT_AGAIN_NS (10 * NS_PER_MS)

enum {
    HEAD_MAX = 16384,
    PIECE_SIZE = 65536,
    RECORD_SIZE = 16384, /* the most that TLS sends at once */
    PIECES_AT_ONCE = 16,
    OPEN_DEADLINE_S = 15
};

enum stream_state {
    CONNECTING,
    UPGRADING,
    OPEN,
    CLOSED
};

struct upgraded {
    struct stream stream; /* the user's handle */
    struct client_options *server;
    struct stream_options options; /* texts are invalid after stream_linux_new */
    struct curl_pump *pump;        /* NULL: a unix socket */
    CURL *easy;                    /* NULL: a unix socket */
    int fd;                        /* of the unix socket, or -1 */
    struct loop *loop;
    struct loop_io *io;
    struct loop_timer *connect; /* next try to connect to the unix socket */
    struct loop_timer *later;   /* deadline of the opening; then work for a later turn */
    char detail[CURL_ERROR_SIZE];
    enum stream_state state;
    struct buf out; /* bytes to send, the request first */
    char *record;   /* the first of them: OpenSSL wants the same address when it tries again */
    size_t record_size;
    struct buf head; /* head of the answer, while UPGRADING */
    bool was_full;
    bool is_paused;
    bool is_busy;
    bool is_doomed;
};

static void upgraded_destroy(struct upgraded *u)
{
    loop_io_free(u->io);
    fd_close(u->fd);
    if (u->pump)
        (void)sym_curl_multi_remove_handle(curl_pump_multi(u->pump), u->easy);
    if (u->easy)
        sym_curl_easy_cleanup(u->easy);
    curl_pump_free(u->pump);
    loop_timer_free(u->later);
    loop_timer_free(u->connect);
    buf_done(&u->out);
    free(u->record);
    buf_done(&u->head);
    client_options_free(u->server);
    free(u);
}

/* Takes `e`. */
static void close_stream(struct upgraded *u, struct err *e)
{
    AUTO(err_freep) struct err *why = e;

    if (u->state == CLOSED || u->is_doomed)
        return;
    u->state = CLOSED;
    loop_io_free(TAKE(u->io));
    loop_timer_stop(u->later);
    loop_timer_stop(u->connect);
    buf_done(&u->out);
    u->options.on_close(u->options.arg, why);
}

/* The result of a system call on the unix socket; `*ret_again`: it would block. */
static struct err *unix_result(const struct upgraded *u, ssize_t n, bool *ret_again)
{
    int number = errno;
    AUTO(err_freep) struct err *e = NULL;

    *ret_again = n < 0 && (number == EAGAIN || number == EINTR);
    if (n >= 0 || *ret_again)
        return NULL;
    e = err_errno(number, "%s", u->server->unix_socket);
    return err_new(ERR_UNAVAILABLE, "%s", err_message(e));
}

static struct err *curl_result(struct upgraded *u, CURLcode code, bool *ret_again)
{
    *ret_again = code == CURLE_AGAIN;
    return code && !*ret_again ? curl_error(code, u->easy, u->detail, u->server) : NULL;
}

/* `out` moves when bytes are added while a record waits for room in the socket. */
static struct err *record_send(struct upgraded *u, size_t *ret_size, bool *ret_again)
{
    struct err *e;

    if (!u->record)
        u->record = mem_alloc(RECORD_SIZE);
    if (u->record_size == 0) {
        u->record_size = u->out.size < RECORD_SIZE ? u->out.size : RECORD_SIZE;
        memcpy(u->record, u->out.at, u->record_size);
    }
    e = curl_result(u, sym_curl_easy_send(u->easy, u->record, u->record_size, ret_size), ret_again);
    if (!e && !*ret_again)
        u->record_size = 0; /* the rest of it is still in `out` */
    return e;
}

static struct err *wire_send(struct upgraded *u, size_t *ret_size, bool *ret_again)
{
    ssize_t n;

    if (u->easy)
        return record_send(u, ret_size, ret_again);
    n = send(u->fd, u->out.at, u->out.size, MSG_NOSIGNAL);
    *ret_size = n > 0 ? (size_t)n : 0;
    return unix_result(u, n, ret_again);
}

/* Size 0 without `*ret_again`: the server closed the connection. */
static struct err *wire_receive(struct upgraded *u, char *piece, size_t *ret_size, bool *ret_again)
{
    ssize_t n;

    if (u->easy)
        return curl_result(u, sym_curl_easy_recv(u->easy, piece, PIECE_SIZE, ret_size), ret_again);
    n = recv(u->fd, piece, PIECE_SIZE, 0);
    *ret_size = n > 0 ? (size_t)n : 0;
    return unix_result(u, n, ret_again);
}

static void send_some(struct upgraded *u)
{
    while (u->state != CLOSED && u->out.size > 0) {
        size_t sent = 0;
        bool is_later = false;
        struct err *e = wire_send(u, &sent, &is_later);

        if (e) {
            close_stream(u, e);
            return;
        }
        if (is_later)
            break;
        buf_consume(&u->out, sent);
    }
    if (u->state == OPEN && u->was_full && u->out.size == 0) {
        u->was_full = false;
        if (u->options.on_drain)
            u->options.on_drain(u->options.arg);
    }
}

/* The size of the head with its empty line; 0: incomplete. */
static size_t head_size(const struct buf *b)
{
    const char *end = b->size > 0 ? memmem(b->at, b->size, "\r\n\r\n", 4) : NULL;

    return end ? (size_t)(end - b->at) + 4 : 0;
}

/* Reads the status of "HTTP/1.1 101 Switching Protocols". */
static int64_t status_of(struct str head)
{
    struct str rest = head;
    int64_t status = 0;
    AUTO(err_freep) struct err *e = NULL;

    (void)str_cut(&rest, ' ');
    if (!rest.at || !str_starts_with(head, STR("HTTP/1.")))
        return 0;
    e = num_parse_int64(str_cut(&rest, ' '), 100, 599, &status);
    return e ? 0 : status;
}

static struct err *stream_refusal(int64_t status, struct str body)
{
    struct client_reply reply = {.status = (int)status, .body = body};

    if (status == 0)
        return err_new(ERR_UNAVAILABLE, "the server does not speak HTTP");
    return client_reply_error(&reply);
}

static void take_head(struct upgraded *u)
{
    size_t size = head_size(&u->head);
    struct str rest;
    int64_t status;

    if (u->head.overflow || (size == 0 && u->head.size >= HEAD_MAX)) {
        close_stream(u, err_new(ERR_UNAVAILABLE, "the head of the server's answer is too long"));
        return;
    }
    if (size == 0)
        return;
    status = status_of((struct str){.at = u->head.at, .size = size});
    rest = (struct str){.at = u->head.at + size, .size = u->head.size - size};
    if (status != 101) {
        close_stream(u, stream_refusal(status, rest));
        return;
    }
    if (u->options.check) {
        struct err *e = u->options.check(u->options.arg, (struct str){u->head.at, size});

        if (e) {
            close_stream(u, e);
            return;
        }
    }
    u->state = OPEN;
    loop_timer_stop(u->later);
    if (u->options.on_open)
        u->options.on_open(u->options.arg);
    if (rest.size > 0 && u->state == OPEN && !u->is_doomed)
        u->options.on_data(u->options.arg, rest);
    if (!u->is_doomed)
        buf_done(&u->head);
}

static void take_bytes(struct upgraded *u, struct str bytes)
{
    if (u->state == OPEN) {
        u->options.on_data(u->options.arg, bytes);
        return;
    }
    buf_add(&u->head, bytes.at, bytes.size);
    take_head(u);
}

/* Bytes that TLS has already decrypted do not make the socket readable, so a timer resumes the rest
 * in a later turn. */
static void stream_receive(struct upgraded *u)
{
    AUTO_FREE char *piece = mem_alloc(PIECE_SIZE);

    for (int i = 0; u->state != CLOSED && !u->is_doomed; i++) {
        size_t n = 0;
        bool is_later = false;
        struct err *e;

        if (u->is_paused && u->state == OPEN)
            return;
        if (i == PIECES_AT_ONCE && u->state == OPEN) {
            loop_timer_set(u->later, 0);
            return;
        }
        e = wire_receive(u, piece, &n, &is_later);
        if (e) {
            close_stream(u, e);
            return;
        }
        if (is_later)
            return;
        if (n == 0) {
            close_stream(u, u->state == OPEN
                                ? NULL
                                : err_new(ERR_UNAVAILABLE, "the server closed the connection"));
            return;
        }
        take_bytes(u, (struct str){.at = piece, .size = n});
    }
}

static bool stream_reads(const struct upgraded *u)
{
    return !u->is_paused || u->state != OPEN;
}

static void stream_work(struct upgraded *u)
{
    u->is_busy = true;
    send_some(u);
    stream_receive(u);
    if (!u->is_doomed)
        send_some(u); /* send the answers of on_data */
    u->is_busy = false;
    if (u->is_doomed)
        upgraded_destroy(u);
    else if (u->state != CLOSED)
        loop_io_want(u->io, stream_reads(u), u->out.size > 0);
}

static void on_io(void *arg, int fd, bool readable, bool writable)
{
    (void)fd;
    (void)readable;
    (void)writable;
    stream_work(arg);
}

static void wire_ready(struct upgraded *u, int fd)
{
    u->state = UPGRADING;
    u->io = loop_io_new(u->loop, fd, on_io, u);
    loop_io_want(u->io, true, true);
}

static void stream_connected(struct upgraded *u, CURLcode result)
{
    curl_socket_t fd = CURL_SOCKET_BAD;

    if (!result)
        result = sym_curl_easy_getinfo(u->easy, CURLINFO_ACTIVESOCKET, &fd);
    if (result || fd == CURL_SOCKET_BAD) {
        close_stream(
            u, curl_error(result ? result : CURLE_COULDNT_CONNECT, u->easy, u->detail, u->server));
        return;
    }
    wire_ready(u, fd);
}

static void on_pump(void *arg)
{
    struct upgraded *u = arg;
    CURLMsg *message;
    int left = 0;

    u->is_busy = true;
    while ((message = sym_curl_multi_info_read(curl_pump_multi(u->pump), &left)))
        if (message->msg == CURLMSG_DONE && u->state == CONNECTING)
            stream_connected(u, message->data.result);
    u->is_busy = false;
    if (u->is_doomed)
        loop_timer_set(u->later, 0); /* the pump is still on the stack */
}

/* Tries again until the deadline of the opening while the server's backlog is full. */
static void on_connect(void *arg)
{
    struct upgraded *u = arg;
    struct err *e = unix_connect(u->server->unix_socket, &u->fd);

    u->is_busy = true;
    if (e)
        close_stream(u, e);
    else if (u->fd >= 0)
        wire_ready(u, u->fd);
    else
        loop_timer_set(u->connect, CONNECT_AGAIN_NS);
    u->is_busy = false;
    if (u->is_doomed)
        upgraded_destroy(u);
}

static void stream_on_later(void *arg)
{
    struct upgraded *u = arg;

    if (u->is_doomed) {
        upgraded_destroy(u);
        return;
    }
    if (u->state == OPEN) {
        stream_work(u);
        return;
    }
    u->is_busy = true;
    if (u->state == CONNECTING || u->state == UPGRADING)
        close_stream(
            u, err_new(ERR_TIMEOUT, "the server did not answer within %d s", (int)OPEN_DEADLINE_S));
    u->is_busy = false;
    if (u->is_doomed)
        upgraded_destroy(u);
}

static void upgraded_send(void *self, struct str bytes)
{
    struct upgraded *u = self;

    if (u->state == CLOSED)
        return;
    buf_add(&u->out, bytes.at, bytes.size);
    u->was_full = true;
    if (u->io)
        loop_io_want(u->io, stream_reads(u), true);
}

static size_t upgraded_backlog(const void *self)
{
    const struct upgraded *u = self;

    return u->out.size;
}

/* Bytes may wait behind TLS: a later turn reads on. */
static void upgraded_pause(void *self, bool is_paused)
{
    struct upgraded *u = self;

    if (u->is_paused == is_paused)
        return;
    u->is_paused = is_paused;
    if (u->state != OPEN)
        return;
    if (!is_paused)
        loop_timer_set(u->later, 0);
    loop_io_want(u->io, stream_reads(u), u->out.size > 0);
}

static void upgraded_free(void *self)
{
    struct upgraded *u = self;

    if (u->is_busy)
        u->is_doomed = true;
    else
        upgraded_destroy(u);
}

static const struct stream_ops upgraded_ops = {
    .send = upgraded_send,
    .backlog = upgraded_backlog,
    .pause = upgraded_pause,
    .free = upgraded_free,
};

/* Returns "127.0.0.1:7443" of "https://127.0.0.1:7443". */
static const char *host_of(const char *url)
{
    const char *host = strstr(url, "://");

    return host ? host + 3 : url;
}

static struct err *add_request(struct upgraded *u, const struct stream_options *o)
{
    AUTO_FREE char *token = NULL;

    TRY(client_token(u->server, &token));
    buf_printf(&u->out,
               "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: " METE_USER_AGENT
               "\r\nAccept: application/json\r\n",
               o->method ? o->method : "POST", o->path, host_of(u->server->url));
    buf_printf(&u->out, "Connection: Upgrade\r\nUpgrade: %s\r\nContent-Length: 0\r\n",
               o->protocol ? o->protocol : "mete-stream");
    buf_add_text(&u->out, o->headers ? o->headers : "");
    if (token)
        buf_printf(&u->out, "Authorization: Bearer %s\r\n", token);
    buf_add_text(&u->out, "\r\n");
    return NULL;
}

static struct err *curl_begin(struct upgraded *u)
{
    u->pump = curl_pump_new(u->loop, on_pump, u);
    u->easy = sym_curl_easy_init();
    if (!u->easy)
        abort(); /* out of memory */
    TRY(curl_setup(u->easy, u->server, "/"));
    if (sym_curl_easy_setopt(u->easy, CURLOPT_CONNECT_ONLY, 1L) ||
        sym_curl_easy_setopt(u->easy, CURLOPT_ERRORBUFFER, u->detail) ||
        sym_curl_multi_add_handle(curl_pump_multi(u->pump), u->easy))
        return err_new(ERR_INTERNAL, "begin a connection: libcurl refuses it");
    return NULL;
}

struct err *stream_linux_new(const struct client_options *server, const struct stream_options *o,
                             struct stream **ret)
{
    struct upgraded *u = mem_alloc(sizeof(*u));
    struct err *e;

    u->stream = (struct stream){.ops = &upgraded_ops, .self = u};
    u->server = client_options_copy(server);
    u->options = *o;
    u->loop = server->loop;
    u->fd = -1;
    u->head.cap = HEAD_MAX + PIECE_SIZE;
    u->later = loop_timer_new(u->loop, stream_on_later, u);
    u->connect = loop_timer_new(u->loop, on_connect, u);
    e = add_request(u, o);
    if (server->unix_socket)
        loop_timer_set(u->connect, 0);
    else if (!e)
        e = curl_begin(u);
    if (e) {
        upgraded_destroy(u);
        return e;
    }
    loop_timer_set(u->later, OPEN_DEADLINE_S * NS_PER_SEC);
    *ret = &u->stream;
    return NULL;
}
