/*
 * test_client.c - the real client on the real loop
 *
 * The server is a few lines on a unix socket, in the same loop.
 */

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/client.h"
#include "client/stream.h"
#include "test.h"

/* The server answers each connection's first bytes with `answer`, then closes, waits, or echoes. */
enum after {
    CLOSE,
    HOLD,
    ECHO
};

struct server {
    struct loop *loop;
    char path[64];
    int fd;
    int conn;
    struct loop_io *accept_io;
    struct loop_io *conn_io;
    struct buf got;
    const char *answer;
    enum after after;
    bool is_answered;
};

struct world {
    struct loop *loop;
    struct server server;
    struct client *client;
    struct loop_timer *deadline;
    struct loop_timer *turn;
    struct buf heard; /* pieces, then the end */
    unsigned n_done;
    struct client_call *call;
    struct stream *stream;
    bool is_stream_open;
    struct str to_send;
    bool frees_client;
    bool cancels;
};

static void drop_conn(struct server *s)
{
    loop_io_free(TAKE(s->conn_io));
    fd_close(s->conn);
    s->conn = -1;
}

static void say(const struct server *s, const char *at, size_t size)
{
    ssize_t n = send(s->conn, at, size, MSG_NOSIGNAL);

    assert_true(n == (ssize_t)size || errno == EPIPE); /* the client may be freed */
}

static void on_conn(void *arg, int fd, bool readable, bool writable)
{
    struct server *s = arg;
    char piece[4096];
    ssize_t n = read(fd, piece, sizeof(piece));

    (void)readable;
    (void)writable;
    if (n <= 0) {
        drop_conn(s);
        return;
    }
    if (s->is_answered && s->after == ECHO) {
        say(s, piece, (size_t)n);
        return;
    }
    buf_add(&s->got, piece, (size_t)n);
    if (s->is_answered || !strstr(s->got.at, "\r\n\r\n"))
        return;
    s->is_answered = true;
    say(s, s->answer, strlen(s->answer));
    if (s->after == CLOSE)
        drop_conn(s);
}

static void on_accept(void *arg, int fd, bool readable, bool writable)
{
    struct server *s = arg;

    (void)readable;
    (void)writable;
    if (s->conn >= 0)
        drop_conn(s);
    s->conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(s->conn >= 0);
    s->is_answered = false;
    buf_clear(&s->got);
    s->conn_io = loop_io_new(s->loop, s->conn, on_conn, s);
    loop_io_want(s->conn_io, true, false);
}

static void server_start(struct server *s, struct loop *l)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char dir[] = "/tmp/mete-test-client-XXXXXX";

    assert_non_null(mkdtemp(dir));
    (void)snprintf(s->path, sizeof(s->path), "%s/s", dir);
    memcpy(address.sun_path, s->path, strlen(s->path));
    s->loop = l;
    s->conn = -1;
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->fd >= 0);
    assert_int_equal(bind(s->fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(s->fd, 8), 0);
    s->accept_io = loop_io_new(l, s->fd, on_accept, s);
    loop_io_want(s->accept_io, true, false);
}

static void server_stop(struct server *s)
{
    char *slash = strrchr(s->path, '/');

    if (s->conn >= 0)
        drop_conn(s);
    loop_io_free(s->accept_io);
    fd_close(s->fd);
    assert_int_equal(unlink(s->path), 0);
    *slash = '\0';
    assert_int_equal(rmdir(s->path), 0);
    buf_done(&s->got);
}

static void on_deadline(void *arg)
{
    (void)arg;
    fail_msg("%s", "not within 10 s");
}

static void on_turn(void *arg)
{
    struct world *w = arg;

    loop_linux_stop(w->loop);
}

static int setup(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    struct client_options o = {.token = "secret"};

    w->loop = loop_linux_new();
    server_start(&w->server, w->loop);
    o.loop = w->loop;
    o.unix_socket = w->server.path;
    assert_null(client_new(&o, &w->client));
    w->deadline = loop_timer_new(w->loop, on_deadline, w);
    w->turn = loop_timer_new(w->loop, on_turn, w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    stream_free(w->stream);
    client_free(w->client);
    server_stop(&w->server);
    loop_timer_free(w->deadline);
    loop_timer_free(w->turn);
    loop_linux_free(w->loop);
    buf_done(&w->heard);
    free(w);
    return 0;
}

static void run(struct world *w)
{
    loop_timer_set(w->deadline, 10 * NS_PER_SEC);
    assert_null(loop_linux_run(w->loop));
}

static void on_data(void *arg, struct str piece)
{
    struct world *w = arg;

    buf_add(&w->heard, piece.at, piece.size);
    if (w->cancels) {
        client_cancel(w->call);
        loop_linux_stop(w->loop);
    }
}

static void on_done(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct world *w = arg;

    w->n_done++;
    if (e)
        buf_printf(&w->heard, "<%d>", err_http(e));
    else
        buf_printf(&w->heard, "[%d " STR_FMT " %s]", reply->status, STR_ARG(reply->body),
                   reply->warning ? reply->warning : "");
    if (w->frees_client) {
        client_free(w->client);
        w->client = NULL;
    }
    loop_linux_stop(w->loop);
}

static void heard(struct world *w, const char *want)
{
    assert_string_equal(w->heard.at ? w->heard.at : "", want);
    buf_clear(&w->heard);
}

static void sends_a_request_and_brings_the_reply_with_its_warnings(void **state)
{
    struct world *w = *state;
    const struct client_request r = {
        .method = "PATCH", .path = "/x?a=%2F", .body = STR("{\"a\":1}"), .content_type = "a/b"};

    w->server.answer =
        "HTTP/1.1 201 Created\r\nContent-Length: 2\r\nWarning: 299 - \"one \\\"two\\\"\"\r\n"
        "warning: 299 - \"three\"\r\n\r\nok";
    client_send(w->client, &r, on_done, w, &w->call);
    run(w);
    heard(w, "[201 ok one \"two\"\nthree]");
    assert_non_null(strstr(w->server.got.at, "PATCH /x?a=%2F HTTP/1.1\r\n"));
    assert_non_null(strstr(w->server.got.at, "Authorization: Bearer secret\r\n"));
    assert_non_null(strstr(w->server.got.at, "Content-Type: a/b\r\n"));
    assert_null(strstr(w->server.got.at, "Expect"));
}

static void streams_pieces_of_200_and_gives_other_bodies_whole(void **state)
{
    struct world *w = *state;
    const struct client_request r = {.method = "GET", .path = "/", .timeout_ns = -1};

    w->server.answer =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    client_stream(w->client, &r, on_data, on_done, w, NULL);
    run(w);
    heard(w, "abcde[200  ]");
    w->server.answer = "HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\nlate";
    client_stream(w->client, &r, on_data, on_done, w, NULL);
    run(w);
    heard(w, "[410 late ]");
}

static void a_stream_that_is_cut_is_an_error(void **state)
{
    struct world *w = *state;
    const struct client_request r = {.method = "GET", .path = "/", .timeout_ns = -1};

    w->server.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    client_stream(w->client, &r, on_data, on_done, w, NULL);
    run(w);
    heard(w, "abc<503>");
}

static void a_cancelled_call_is_silent_also_from_its_own_data(void **state)
{
    struct world *w = *state;
    const struct client_request r = {.method = "GET", .path = "/", .timeout_ns = -1};

    w->server.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    w->server.after = HOLD;
    w->cancels = true;
    client_stream(w->client, &r, on_data, on_done, w, &w->call);
    run(w);
    heard(w, "abc");
    assert_int_equal(w->n_done, 0);
}

static void the_client_may_be_freed_by_the_callback(void **state)
{
    struct world *w = *state;
    const struct client_request r = {.method = "GET", .path = "/"};

    w->server.answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    w->frees_client = true;
    client_send(w->client, &r, on_done, w, NULL);
    client_send(w->client, &r, on_done, w, NULL);
    run(w);
    assert_int_equal(w->n_done, 1);
    /* One more turn frees the rest of the client. */
    loop_timer_set(w->turn, 0);
    run(w);
}

static void silence_times_out_and_nobody_is_unavailable(void **state)
{
    struct world *w = *state;
    const struct client_request r = {.method = "GET", .path = "/", .timeout_ns = 20 * NS_PER_MS};
    struct client_options nobody = {.loop = w->loop, .unix_socket = "/nonexistent/sock"};

    w->server.answer = "";
    w->server.after = HOLD;
    client_send(w->client, &r, on_done, w, NULL);
    run(w);
    heard(w, "<504>");
    client_free(w->client);
    assert_null(client_new(&nobody, &w->client));
    client_send(w->client, &r, on_done, w, NULL);
    run(w);
    heard(w, "<503>");
}

static void on_open(void *arg)
{
    struct world *w = arg;

    w->is_stream_open = true;
    stream_send(w->stream, w->to_send);
    assert_int_equal(stream_backlog(w->stream), w->to_send.size);
}

static void on_stream_data(void *arg, struct str piece)
{
    struct world *w = arg;

    buf_add(&w->heard, piece.at, piece.size);
    if (w->heard.size == 300000 + 5)
        drop_conn(&w->server);
}

static void on_close(void *arg, const struct err *e)
{
    struct world *w = arg;

    if (e)
        buf_printf(&w->heard, "<%d %s>", err_http(e), err_message(e));
    stream_free(TAKE(w->stream));
    loop_linux_stop(w->loop);
}

static const struct stream_options *stream_options(struct world *w, struct stream_options *o)
{
    *o = (struct stream_options){.path = "/s",
                                 .on_open = on_open,
                                 .on_data = on_stream_data,
                                 .on_close = on_close,
                                 .arg = w};
    return o;
}

static void an_upgraded_connection_carries_bytes_both_ways(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *large = mem_alloc(300000);
    struct stream_options o;

    memset(large, 'x', 300000);
    w->server.answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: mete-stream\r\n\r\nfirst";
    w->server.after = ECHO;
    assert_null(client_upgrade(w->client, stream_options(w, &o), &w->stream));
    w->to_send = (struct str){.at = large, .size = 300000};
    run(w);
    assert_true(w->is_stream_open);
    assert_int_equal(w->heard.size, 300005);
    assert_memory_equal(w->heard.at, "firstxxx", 8);
    assert_non_null(strstr(w->server.got.at, "POST /s HTTP/1.1\r\n"));
    assert_non_null(strstr(w->server.got.at, "Upgrade: mete-stream\r\n"));
}

static void a_refused_upgrade_says_why(void **state)
{
    struct world *w = *state;
    struct stream_options o;

    w->server.answer = "HTTP/1.1 403 Forbidden\r\nContent-Length: 47\r\n\r\n{\"message\":\"no such "
                       "node\",\"reason\":\"Forbidden\"}";
    assert_null(client_upgrade(w->client, stream_options(w, &o), &w->stream));
    run(w);
    heard(w, "<403 no such node>");
}

static void a_status_becomes_its_error(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum err_code code;
        const char *message;
    } cases[] = {
        {404, "{\"reason\":\"NotFound\",\"message\":\"pods \\\"x\\\" not found\"}", ERR_NOT_FOUND,
         "pods \"x\" not found"},
        {403, "{\"reason\":\"Forbidden\",\"message\":\"no right\"}", ERR_FORBIDDEN, "no right"},
        {403, "{\"reason\":\"Forbidden\",\"message\":\"p: exceeded quota: q, requested: a=1\"}",
         ERR_OVER_QUOTA, "p: exceeded quota: q, requested: a=1"},
        {409, "{\"reason\":\"Conflict\",\"message\":\"m\"}", ERR_CONFLICT, "m"},
        {409, "{\"reason\":\"AlreadyExists\",\"message\":\"m\"}", ERR_EXISTS, "m"},
        {502, "<html>", ERR_UNAVAILABLE, "the server answered 502 without a reason"},
        {418, "", ERR_BAD_REQUEST, "the server answered 418 without a reason"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct client_reply reply = {.status = cases[i].status,
                                           .body = str_of(cases[i].body)};
        AUTO(err_freep) struct err *e = client_reply_error(&reply);

        assert_int_equal(err_code(e), cases[i].code);
        assert_string_equal(err_message(e), cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sends_a_request_and_brings_the_reply_with_its_warnings,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(streams_pieces_of_200_and_gives_other_bodies_whole, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_stream_that_is_cut_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_call_is_silent_also_from_its_own_data, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_client_may_be_freed_by_the_callback, setup, teardown),
        cmocka_unit_test_setup_teardown(silence_times_out_and_nobody_is_unavailable, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_upgraded_connection_carries_bytes_both_ways, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_refused_upgrade_says_why, setup, teardown),
        cmocka_unit_test(a_status_becomes_its_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
