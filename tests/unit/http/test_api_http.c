/* test_api_http.c - the HTTP server over real sockets and the real loop */

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "http/http.h"
#include "test.h"

static const int64_t deadline_ns = 20 * NS_PER_SEC;

struct world {
    struct loop *loop;
    struct http_server *server;
    struct loop_timer *deadline;
    struct loop_timer *later;
    char *dir;
    char *path;
    int listen_fd;
    struct exchange *waiting; /* the exchange that /later and /stream answer */
    struct channel *channel;
    size_t n_requests;
    size_t n_closed;
    size_t n_drained;
    size_t last_body;
};

struct peer {
    struct world *w;
    struct loop_io *io;
    int fd;
    struct buf in;
    struct buf out;
    bool is_over;            /* the server closed */
    bool is_writing_stopped; /* the server stopped reading */
};

static void on_deadline(void *arg)
{
    (void)arg;
    fail_msg("nothing happened for 20 s");
}

static void reply_text(struct exchange *x, int status, const char *text)
{
    const struct api_reply r = {
        .status = status, .content_type = "text/plain", .body = str_of(text)};

    x->ops->reply(x, &r);
}

static void answer_later(void *arg)
{
    struct world *w = arg;
    struct exchange *x = TAKE(w->waiting);

    reply_text(x, 200, "later");
}

static void on_client_gone(void *arg)
{
    struct world *w = arg;

    w->waiting = NULL;
    w->n_closed++;
    loop_linux_stop(w->loop);
}

static void on_drained(void *arg)
{
    struct world *w = arg;

    w->n_drained++;
}

static void on_channel_data(void *arg, struct str bytes)
{
    struct world *w = arg;

    w->channel->ops->write(w->channel, bytes);
    if (memchr(bytes.at, '!', bytes.size))
        w->channel->ops->close(w->channel);
}

static void on_channel_close(void *arg)
{
    on_client_gone(arg);
}

static void begin_stream(struct world *w, struct exchange *x)
{
    const struct api_reply head = {.status = 200, .content_type = "text/plain"};

    x->arg = w;
    x->on_close = on_client_gone;
    x->on_drain = on_drained;
    w->waiting = x;
    x->ops->begin(x, &head);
    x->ops->piece(x, STR("one"));
}

static void upgrade(struct world *w, struct exchange *x)
{
    w->channel = x->ops->upgrade(x, &(struct upgrade){.protocol = "mete-stream"});
    w->channel->on_data = on_channel_data;
    w->channel->on_close = on_channel_close;
    w->channel->arg = w;
}

static void handle(void *arg, struct exchange *x)
{
    const char *path = x->request.path;
    struct world *w = arg;

    w->n_requests++;
    w->last_body = x->request.body.size;
    x->credentials[0] = text_equal(x->request.query, "mine") ? 7 : 8;
    if (text_equal(path, "/later")) {
        x->arg = w;
        x->on_close = on_client_gone;
        w->waiting = x;
        loop_timer_set(w->later, 0);
    } else if (text_equal(path, "/stream")) {
        begin_stream(w, x);
    } else if (text_equal(path, "/whole-stream")) {
        begin_stream(w, x);
        x->ops->piece(x, STR("two"));
        x->ops->end(x);
        w->waiting = NULL;
    } else if (text_equal(path, "/upgrade")) {
        upgrade(w, x);
    } else {
        AUTO_FREE char *text = mem_format("%s %s %u %zu", x->request.method, path,
                                          (unsigned)x->request.peer.uid, x->request.body.size);

        reply_text(x, 200, text);
    }
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 128), 0);
    return fd;
}

static int set_up(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    char dir[] = "/tmp/mete-http-XXXXXX";
    struct http_options o = {.tls_fd = -1, .handle = handle, .arg = w};

    w->loop = loop_linux_new();
    w->dir = mem_strdup(mkdtemp(dir));
    w->path = mem_format("%s/sock", w->dir);
    w->listen_fd = listen_at(w->path);
    w->deadline = loop_timer_new(w->loop, on_deadline, w);
    w->later = loop_timer_new(w->loop, answer_later, w);
    o.loop = w->loop;
    o.unix_fd = w->listen_fd;
    assert_null(http_server_new(&o, &w->server));
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    struct err *e;

    http_server_free(w->server);
    loop_timer_free(w->deadline);
    loop_timer_free(w->later);
    fd_close(w->listen_fd);
    loop_linux_free(w->loop);
    e = dir_remove(w->dir);
    err_free(e);
    free(w->dir);
    free(w->path);
    free(w);
    return 0;
}

static void on_io(void *arg, int fd, bool readable, bool writable)
{
    struct peer *p = arg;
    char bytes[65536];

    if (writable && p->out.size > 0) {
        ssize_t n = send(fd, p->out.at, p->out.size, MSG_NOSIGNAL);

        if (n > 0)
            buf_consume(&p->out, (size_t)n);
        else {
            p->is_writing_stopped = true;
            buf_clear(&p->out);
        }
    }
    if (readable) {
        ssize_t n = read(fd, bytes, sizeof(bytes));

        p->is_over = n <= 0;
        if (n > 0)
            buf_add(&p->in, bytes, (size_t)n);
    }
    loop_io_want(p->io, !p->is_over, p->out.size > 0);
    loop_linux_stop(p->w->loop);
}

static struct peer *peer_new(struct world *w)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct peer *p = mem_alloc(sizeof(*p));

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", w->path);
    p->w = w;
    p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(p->fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(p->fd, F_SETFL, O_NONBLOCK), 0);
    p->io = loop_io_new(w->loop, p->fd, on_io, p);
    loop_io_want(p->io, true, false);
    return p;
}

static void peer_free(struct peer *p)
{
    loop_io_free(p->io);
    fd_close(p->fd);
    buf_done(&p->in);
    buf_done(&p->out);
    free(p);
}

static void peer_freep(struct peer **p)
{
    if (*p)
        peer_free(*p);
}

static void peer_send(struct peer *p, const char *bytes, size_t size)
{
    buf_add(&p->out, bytes, size);
    loop_io_want(p->io, !p->is_over, true);
}

static void peer_send_text(struct peer *p, const char *text)
{
    peer_send(p, text, strlen(text));
}

/* Lets the loop run once more, with a deadline. */
static void turn(struct world *w)
{
    loop_timer_set(w->deadline, deadline_ns);
    assert_null(loop_linux_run(w->loop));
    loop_timer_stop(w->deadline);
}

static void wait_over(struct peer *p)
{
    while (!p->is_over)
        turn(p->w);
}

/* Runs the loop until the reply contains `text` `n` times. */
static void wait_text(struct peer *p, const char *text, size_t n)
{
    for (;;) {
        size_t found = 0;

        for (const char *at = p->in.at; at && (at = strstr(at, text)); at++)
            found++;
        if (found >= n)
            return;
        assert_false(p->is_over);
        turn(p->w);
    }
}

static void hostile_requests_get_a_clear_status(void **state)
{
#define GET  "GET / HTTP/1.1\r\nHost: x\r\n"
#define POST "POST / HTTP/1.1\r\nHost: x\r\n"
    static const struct {
        const char *text;
        size_t size; /* 0: size of the text */
        int status;
        const char *says;
    } cases[] = {
        {"\x16\x03\x01\x02\r\n\r\n", 0, 400, "control byte"},
        {"hello\r\n\r\n", 0, 400, "malformed request line"},
        {"GET\r\n\r\n", 0, 400, "malformed request line"},
        {"PRI * HTTP/2.0\r\n\r\n", 0, 400, "protocol version is not supported"},
        {"GET / HTTP/3\r\n\r\n", 0, 400, "protocol version is not supported"},
        {"GET * HTTP/1.1\r\nHost: x\r\n\r\n", 0, 400, "does not begin with '/'"},
        {"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", 0, 400, "does not begin with '/'"},
        {"GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 0, 400, "does not begin with '/'"},
        {"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", 0, 400, "byte 0xff in the request target"},
        {"GET / HTTP/1.1\r\n\r\n", 0, 400, "header 'host' is missing"},
        {GET "Host: y\r\n\r\n", 0, 400, "header 'host' is given twice"},
        {GET "a: \0b\r\n\r\n", sizeof(GET "a: \0b\r\n\r\n") - 1, 400, "control byte 0x00"},
        {GET "a: \x1b[2J\r\n\r\n", 0, 400, "control byte 0x1b"},
        {GET "a b: c\r\n\r\n", 0, 400, "in a header's name"},
        {GET "a : c\r\n\r\n", 0, 400, "in a header's name"},
        {GET " a: c\r\n\r\n", 0, 400, "folded header lines"},
        {GET "a: b\r\n\tc\r\n\r\n", 0, 400, "folded header lines"},
        {POST "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 0, 400, "given twice"},
        {POST "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0, 400,
         "exclude each other"},
        {POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", 0, 400,
         "given twice"},
        {POST "Transfer-Encoding: identity\r\n\r\n", 0, 400, "other than 'chunked'"},
        {POST "Transfer-Encoding: chunked, chunked\r\n\r\n", 0, 400, "other than 'chunked'"},
        {POST "Content-Length: -1\r\n\r\n", 0, 400, "not a decimal number"},
        {POST "Content-Length: 18446744073709551616\r\n\r\n", 0, 400, "not a decimal number"},
        {POST "Content-Length: 3145729\r\n\r\n", 0, 413, "larger than 3145728 bytes"},
        {POST "Content-Length: 999999999999\r\nExpect: 100-continue\r\n\r\n", 0, 413,
         "larger than 3145728 bytes"},
        {POST "Transfer-Encoding: chunked\r\n\r\nx\r\n", 0, 400, "malformed chunk size"},
        {POST "Transfer-Encoding: chunked\r\n\r\n-1\r\n", 0, 400, "malformed chunk size"},
        {POST "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 0, 413,
         "chunk is too large"},
        {POST "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 0, 400, "chunk is longer"},
        {POST "Transfer-Encoding: chunked\r\n\r\n1\nabc\n", 0, 400, "end in CR LF"},
        {POST "Expect: something\r\n\r\n", 0, 400, "header 'expect'"},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 0, 400, "other than 'chunked'"},
    };
#undef GET
#undef POST
    struct world *w = *state;

    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(peer_freep) struct peer *p = peer_new(w);
        AUTO_FREE char *line = mem_format("HTTP/1.1 %d ", cases[i].status);

        peer_send(p, cases[i].text, cases[i].size ? cases[i].size : strlen(cases[i].text));
        wait_over(p);
        if (!p->in.at || strncmp(p->in.at, line, strlen(line)) != 0 ||
            !strstr(p->in.at, cases[i].says) || !strstr(p->in.at, "\"kind\":\"Status\"") ||
            !strstr(p->in.at, "\"details\":") || !strstr(p->in.at, "Connection: close\r\n"))
            fail_msg("case %zu: %s", i, p->in.at ? p->in.at : "nothing came");
    }
    assert_int_equal(w->n_requests, 0);
}

static void a_head_is_capped(void **state)
{
    struct world *w = *state;
    AUTO(peer_freep) struct peer *p = peer_new(w);
    AUTO_FREE char *filler = mem_alloc(70001);

    (void)memset(filler, 'a', 70000);
    peer_send_text(p, "GET / HTTP/1.1\r\nX: ");
    peer_send(p, filler, 70000);
    wait_over(p);
    assert_non_null(strstr(p->in.at, "HTTP/1.1 431 "));
    assert_int_equal(w->n_requests, 0);
}

static void a_chunked_body_is_capped(void **state)
{
    struct world *w = *state;
    AUTO(peer_freep) struct peer *p = peer_new(w);
    AUTO(buf_done) struct buf chunk = {0};

    buf_printf(&chunk, "10000\r\n%065536d\r\n", 0);
    peer_send_text(p, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 60; i++)
        peer_send(p, chunk.at, chunk.size);
    wait_over(p);
    assert_non_null(strstr(p->in.at, "HTTP/1.1 413 "));
    assert_int_equal(w->n_requests, 0);
}

static void requests_may_arrive_in_any_pieces(void **state)
{
    static const char text[] =
        "\r\nPOST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
        "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    struct world *w = *state;
    AUTO(peer_freep) struct peer *p = peer_new(w);

    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        peer_send(p, text + i, 1);
        while (p->out.size > 0)
            turn(w);
    }
    wait_text(p, "POST /b", 1);
    assert_int_equal(w->n_requests, 2);
    assert_int_equal(w->last_body, 2);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    static const char text[] =
        "GET /later HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n"
        "HEAD /c HTTP/1.1\r\nHost: x\r\n\r\nGET /whole-stream HTTP/1.1\r\nHost: x\r\n\r\n"
        "GET /e HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /f HTTP/1.1\r\n";
    struct world *w = *state;
    AUTO(peer_freep) struct peer *p = peer_new(w);
    AUTO_FREE char *uid = mem_format("GET /e %u 0", (unsigned)getuid());
    const char *later;
    const char *b;
    const char *stream;

    peer_send(p, text, sizeof(text) - 1);
    wait_over(p);
    later = strstr(p->in.at, "later");
    b = strstr(p->in.at, "GET /b");
    stream = strstr(p->in.at, "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
    assert_non_null(later);
    assert_true(b > later);
    assert_null(strstr(p->in.at, "GET /c")); /* a HEAD has no body */
    assert_non_null(strstr(b, "Content-Length: "));
    assert_true(stream > b);
    assert_non_null(strstr(stream, uid));
    assert_int_equal(w->n_requests, 5);
}

static void http_1_0_gets_no_chunks(void **state)
{
    struct world *w = *state;
    AUTO(peer_freep) struct peer *p = peer_new(w);

    peer_send_text(p, "GET /whole-stream HTTP/1.0\r\n\r\n");
    wait_over(p);
    assert_true(text_ends_with(p->in.at, "\r\n\r\nonetwo"));
    assert_null(strstr(p->in.at, "chunked"));
}

static void a_client_is_told_to_go_on(void **state)
{
    static const char head[] =
        "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
    struct world *w = *state;
    AUTO(peer_freep) struct peer *p = peer_new(w);

    peer_send(p, head, sizeof(head) - 1);
    wait_text(p, "HTTP/1.1 100 Continue\r\n\r\n", 1);
    assert_int_equal(w->n_requests, 0);
    peer_send_text(p, "hello");
    wait_text(p, "POST /x", 1);
    assert_int_equal(w->last_body, 5);
}

static void a_watcher_that_leaves_is_noticed_without_a_write(void **state)
{
    struct world *w = *state;
    struct peer *p = peer_new(w);

    peer_send_text(p, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_text(p, "one", 1);
    assert_non_null(w->waiting);
    assert_int_equal(w->waiting->ops->backlog(w->waiting), 0);
    assert_int_equal(w->n_drained, 1);
    peer_free(p);
    while (w->n_closed == 0)
        turn(w);
    assert_null(w->waiting);
}

static void a_slow_reader_shows_in_the_backlog_and_can_be_cut(void **state)
{
    struct world *w = *state;
    AUTO(peer_freep) struct peer *p = peer_new(w);
    AUTO_FREE char *filler = mem_alloc(1 << 20);
    struct exchange *x;

    peer_send_text(p, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_text(p, "one", 1);
    loop_io_want(p->io, false, false); /* stops reading */
    x = TAKE(w->waiting);
    for (int i = 0; i < 8; i++)
        x->ops->piece(x, (struct str){filler, 1 << 20});
    assert_true(x->ops->backlog(x) > API_BACKLOG_MAX);
    x->ops->cut(x);
    loop_io_want(p->io, true, false);
    wait_over(p);
    assert_int_equal(w->n_closed, 0); /* a cut calls no on_close */
    assert_false(text_ends_with(p->in.at, "0\r\n\r\n"));
}

static void who_talks_into_a_stream_is_cut(void **state)
{
    struct world *w = *state;
    AUTO(peer_freep) struct peer *p = peer_new(w);
    AUTO_FREE char *filler = mem_alloc(1 << 20);

    peer_send_text(p, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_text(p, "one", 1);
    peer_send(p, filler, 1 << 20);
    while (w->n_closed == 0)
        turn(w);
}

static void an_upgraded_connection_carries_bytes_both_ways(void **state)
{
    struct world *w = *state;
    AUTO(peer_freep) struct peer *p = peer_new(w);

    peer_send_text(p, "GET /upgrade HTTP/1.1\r\nHost: x\r\nUpgrade: mete-stream\r\nConnection: "
                      "Upgrade\r\n\r\nearly");
    wait_text(p, "\r\n\r\nearly", 1);
    assert_non_null(strstr(p->in.at, "HTTP/1.1 101 "));
    peer_send_text(p, "more");
    wait_text(p, "more", 1);
    peer_send_text(p, "end!"); /* the logic closes */
    wait_over(p);
    assert_int_equal(w->n_closed, 0);
}

static void a_credential_is_cut_wherever_it_is_used(void **state)
{
    static const char *const paths[] = {"/stream", "/upgrade", "/whole-stream"};
    struct world *w = *state;

    for (size_t i = 0; i < COUNT(paths); i++) {
        AUTO(peer_freep) struct peer *mine = peer_new(w);
        AUTO(peer_freep) struct peer *other = peer_new(w);
        AUTO_FREE char *text = mem_format("GET %s?mine HTTP/1.1\r\nHost: x\r\n\r\n", paths[i]);

        peer_send_text(other, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_text(other, "GET / ", 1);
        peer_send_text(mine, text);
        wait_text(mine, "\r\n\r\n", 1);
        w->n_closed = 0;
        http_server_cut(w->server, 7);
        wait_over(mine);
        assert_int_equal(w->n_closed, i < 2); /* the last reply was complete */
        peer_send_text(other, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_text(other, "GET / ", 2);
    }
}

/* 40 clients send nearly 3 MiB each, incomplete: more than the limit of all bodies. The server
 * refuses some clients at once. */
static void all_bodies_together_are_capped(void **state)
{
    enum {
        CLIENTS = 40,
        BODY = 3000000
    };
    static const char head[] = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000001\r\n\r\n";
    struct world *w = *state;
    struct peer *peers[CLIENTS];
    AUTO_FREE char *filler = mem_alloc(BODY);
    size_t n_refused = 0;
    size_t n_busy;

    for (size_t i = 0; i < CLIENTS; i++) {
        peers[i] = peer_new(w);
        peer_send(peers[i], head, sizeof(head) - 1);
        peer_send(peers[i], filler, BODY);
    }
    do {
        n_busy = 0;
        n_refused = 0;
        for (size_t i = 0; i < CLIENTS; i++) {
            n_refused += peers[i]->in.at && strstr(peers[i]->in.at, "HTTP/1.1 503 ");
            n_busy += peers[i]->out.size > 0 && !peers[i]->is_over;
        }
        if (n_busy > 0)
            turn(w);
    } while (n_busy > 0);
    assert_true(n_refused >= 10 && n_refused < CLIENTS);
    for (size_t i = 0; i < CLIENTS; i++)
        peer_free(peers[i]);
    assert_int_equal(w->n_requests, 0);
}

int main(void)
{
#define HTTP_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        HTTP_TEST(hostile_requests_get_a_clear_status),
        HTTP_TEST(a_head_is_capped),
        HTTP_TEST(a_chunked_body_is_capped),
        HTTP_TEST(requests_may_arrive_in_any_pieces),
        HTTP_TEST(pipelined_requests_are_answered_in_order),
        HTTP_TEST(http_1_0_gets_no_chunks),
        HTTP_TEST(a_client_is_told_to_go_on),
        HTTP_TEST(a_watcher_that_leaves_is_noticed_without_a_write),
        HTTP_TEST(a_slow_reader_shows_in_the_backlog_and_can_be_cut),
        HTTP_TEST(who_talks_into_a_stream_is_cut),
        HTTP_TEST(an_upgraded_connection_carries_bytes_both_ways),
        HTTP_TEST(a_credential_is_cut_wherever_it_is_used),
        HTTP_TEST(all_bodies_together_are_capped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
