/* http_linux.c - requests by libcurl */

#include <strings.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/client.h"
#include "client/curl_linux.h"
#include "client/stream_linux.h"
#include "client/unix_linux.h"

#define TIMEOUT_DEFAULT_NS (30 * NS_PER_SEC)
#define BODY_MAX           ((size_t)256 << 20)
#define WARNINGS_MAX       ((size_t)64 << 10)

struct http;

/*
 * A transfer. libcurl's write callback only stores bytes. The user's callback gets them after
 * libcurl has returned, and so may call any function. While callbacks run (`is_busy`) a cancelled
 * call is only marked, and freed later.
 */
struct http_call {
    struct client_call call; /* first */
    struct http *http;
    CURL *easy;
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    char *body;
    char detail[CURL_ERROR_SIZE];
    struct buf got;
    struct buf warnings;
    client_data_fn data;
    client_done_fn done;
    void *arg;
    struct err *refused; /* why the transfer could not begin */
    bool is_over;
    bool is_dead;
    CURLcode result;
    struct http_call *prev;
    struct http_call *next;
};

struct http {
    struct client client; /* the user's handle */
    struct client_options *options;
    struct curl_pump *pump;
    struct loop_timer *refusals;
    struct http_call *calls;
    bool is_busy;
    bool is_doomed;
};

static void call_free(struct http_call *call)
{
    LIST_REMOVE(call->http->calls, call);
    (void)sym_curl_multi_remove_handle(curl_pump_multi(call->http->pump),
                                       call->easy); /* also allowed if never added */
    sym_curl_easy_cleanup(call->easy);
    sym_curl_slist_free_all(call->headers);
    sym_curl_slist_free_all(call->connect_to);
    buf_done(&call->got);
    buf_done(&call->warnings);
    err_free(call->refused);
    free(call->body);
    free(call);
}

static void http_destroy(struct http *h)
{
    struct http_call *call;

    LIST_EACH (h->calls, call)
        call_free(call);
    curl_pump_free(h->pump);
    loop_timer_free(h->refusals);
    client_options_free(h->options);
    free(h);
}

static long status_of(const struct http_call *call)
{
    long status = 0;

    (void)sym_curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static void hand_out_data(struct http_call *call)
{
    struct buf piece = call->got;

    if (!call->data || piece.size == 0 || status_of(call) != 200)
        return;
    call->got = (struct buf){.cap = piece.cap};
    call->data(call->arg, (struct str){.at = piece.at, .size = piece.size});
    buf_done(&piece);
}

static struct err *failure_of(const struct http_call *call)
{
    if (call->refused)
        return err_new(err_code(call->refused), "%s", err_message(call->refused));
    if (call->got.overflow)
        return err_new(ERR_TOO_LARGE, "the answer has more than %zu bytes", call->got.cap);
    if (call->result)
        return curl_error(call->result, call->easy, call->detail, call->http->options);
    return NULL;
}

static void hand_out_end(struct http_call *call)
{
    AUTO(err_freep) struct err *e = failure_of(call);
    struct client_reply reply = {
        .status = (int)status_of(call),
        .body = {.at = call->got.at ? call->got.at : "", .size = call->got.size},
        .warning = call->warnings.size > 0 ? call->warnings.at : NULL,
    };

    call->is_dead = true; /* the user's cancel has no effect from here on */
    call->done(call->arg, e, e ? NULL : &reply);
}

static void collect_ends(struct http *h)
{
    CURLMsg *message;
    int left = 0;

    while ((message = sym_curl_multi_info_read(curl_pump_multi(h->pump), &left))) {
        struct http_call *call = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)sym_curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
        call->is_over = true;
        call->result = message->data.result;
    }
}

/* Hands all received data to the users. Calls that they start meanwhile wait for a later turn. */
static void http_turn(void *arg)
{
    struct http *h = arg;
    struct http_call *call;

    h->is_busy = true;
    collect_ends(h);
    for (call = h->calls; call; call = call->next) { /* no call is removed while busy */
        if (!call->is_dead)
            hand_out_data(call);
        if (!call->is_dead && call->is_over)
            hand_out_end(call);
    }
    h->is_busy = false;
    if (h->is_doomed) {
        /* The pump is on the stack: the timer frees it later. */
        loop_timer_set(h->refusals, 0);
        return;
    }
    LIST_EACH (h->calls, call)
        if (call->is_dead)
            call_free(call);
}

static void on_refusals(void *arg)
{
    struct http *h = arg;

    if (h->is_doomed)
        http_destroy(h);
    else
        http_turn(h);
}

static size_t take_body(char *bytes, size_t size, size_t n, void *arg)
{
    struct http_call *call = arg;

    buf_add(&call->got, bytes, size * n);
    return call->got.overflow ? 0 : size * n;
}

/* Takes the text of `Warning: 299 - "text"`, without its backslashes. */
/* NOLINTNEXTLINE(readability-non-const-parameter): libcurl's signature */
static size_t take_header(char *bytes, size_t size, size_t n, void *arg)
{
    struct http_call *call = arg;
    struct str line = {.at = bytes, .size = size * n};
    bool is_quoted = false;

    if (line.size < 8 || strncasecmp(line.at, "warning:", 8) != 0)
        return size * n;
    for (size_t i = 8; i < line.size; i++) {
        if (line.at[i] == '"') {
            if (is_quoted)
                break;
            is_quoted = true;
            if (call->warnings.size > 0)
                buf_add_char(&call->warnings, '\n');
            continue;
        }
        if (is_quoted && line.at[i] == '\\' && i + 1 < line.size)
            i++;
        if (is_quoted)
            buf_add_char(&call->warnings, line.at[i]);
    }
    return size * n;
}

static void add_header(struct http_call *call, const char *name, const char *value)
{
    AUTO_FREE char *line = value ? mem_format("%s: %s", name, value) : mem_format("%s:", name);

    call->headers = sym_curl_slist_append(call->headers, line);
}

static struct err *add_headers(struct http_call *call, const struct client_request *r)
{
    AUTO_FREE char *token = NULL;

    TRY(client_token(call->http->options, &token));
    add_header(call, "Accept", r->accept ? r->accept : "application/json");
    add_header(call, "Expect", NULL); /* no 100-continue: saves a round trip */
    if (r->body.size > 0 || r->content_type)
        add_header(call, "Content-Type", r->content_type ? r->content_type : "application/json");
    if (token) {
        AUTO_FREE char *bearer = mem_format("Bearer %s", token);

        add_header(call, "Authorization", bearer);
    }
    for (size_t i = 0; r->headers && r->headers[i]; i++)
        call->headers = sym_curl_slist_append(call->headers, r->headers[i]);
    return NULL;
}

#define SET(option, value)                                                    \
    do {                                                                      \
        code = code ? code : sym_curl_easy_setopt(call->easy, option, value); \
    } while (0)

static struct err *call_prepare(struct http_call *call, const struct client_request *r)
{
    int64_t timeout_ns = r->timeout_ns == 0 ? TIMEOUT_DEFAULT_NS : r->timeout_ns;
    CURLcode code = CURLE_OK;

    TRY(curl_setup(call->easy, call->http->options, r->path));
    TRY(add_headers(call, r));
    SET(CURLOPT_PRIVATE, call);
    SET(CURLOPT_ERRORBUFFER, call->detail);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, call);
    SET(CURLOPT_HEADERFUNCTION, take_header);
    SET(CURLOPT_HEADERDATA, call);
    SET(CURLOPT_HTTPHEADER, call->headers);
    SET(CURLOPT_TIMEOUT_MS, timeout_ns < 0 ? 0L : (long)(timeout_ns / NS_PER_MS) + 1L);
    if (r->body.size > 0 || text_equal(r->method, "POST") || text_equal(r->method, "PUT")) {
        call->body = mem_dup(r->body.at ? r->body.at : "", r->body.size);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.size);
        SET(CURLOPT_POSTFIELDS, call->body);
    }
    if (call->http->options->connect_to) {
        call->connect_to = sym_curl_slist_append(NULL, call->http->options->connect_to);
        SET(CURLOPT_CONNECT_TO, call->connect_to);
    }
    SET(CURLOPT_CUSTOMREQUEST, r->method);
    if (code)
        return err_new(ERR_INTERNAL, "prepare a request: %s", sym_curl_easy_strerror(code));
    return NULL;
}

#undef SET

static void http_cancel(struct client_call *base)
{
    struct http_call *call = (struct http_call *)base;

    call->is_dead = true;
    if (!call->http->is_busy)
        call_free(call);
}

static void http_free(void *self)
{
    struct http *h = self;
    struct http_call *call;

    if (!h->is_busy) {
        http_destroy(h);
        return;
    }
    h->is_doomed = true;
    for (call = h->calls; call; call = call->next)
        call->is_dead = true;
}

static struct client_call *http_start(void *self, const struct client_request *r,
                                      client_data_fn data, client_done_fn done, void *arg);

static struct err *http_upgrade(void *self, const struct stream_options *o, struct stream **ret)
{
    const struct http *h = self;

    return stream_linux_new(h->options, o, ret);
}

static const struct client_ops http_ops = {
    .start = http_start,
    .cancel = http_cancel,
    .upgrade = http_upgrade,
    .free = http_free,
};

static struct client_call *http_start(void *self, const struct client_request *r,
                                      client_data_fn data, client_done_fn done, void *arg)
{
    struct http *h = self;
    struct http_call *call = mem_alloc(sizeof(*call));
    CURLMcode added = CURLM_OK;

    call->call.ops = &http_ops;
    call->http = h;
    call->data = data;
    call->done = done;
    call->arg = arg;
    call->got.cap = h->options->body_max > 0 ? h->options->body_max : BODY_MAX;
    call->warnings.cap = WARNINGS_MAX;
    call->easy = sym_curl_easy_init();
    if (!call->easy)
        abort(); /* out of memory */
    LIST_ADD(h->calls, call);
    call->refused = call_prepare(call, r);
    if (!call->refused)
        added = sym_curl_multi_add_handle(curl_pump_multi(h->pump), call->easy);
    if (added)
        call->refused =
            err_new(ERR_INTERNAL, "begin a request: %s", sym_curl_multi_strerror(added));
    if (call->refused) {
        call->is_over = true;
        loop_timer_set(h->refusals, 0);
    }
    return &call->call;
}

struct err *client_new(const struct client_options *o, struct client **ret)
{
    struct http *h;

    if (o->unix_socket) {
        *ret = unix_client_new(o);
        return NULL;
    }
    TRY(curl_load());
    h = mem_alloc(sizeof(*h));
    h->client = (struct client){.ops = &http_ops, .self = h};
    h->options = client_options_copy(o);
    h->pump = curl_pump_new(o->loop, http_turn, h);
    h->refusals = loop_timer_new(o->loop, on_refusals, h);
    *ret = &h->client;
    return NULL;
}
