/* pinger_linux.c - pings by libcurl */

#include <inttypes.h>
#include <strings.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/version.h"
#include "client/curl_linux.h"
#include "node/pod/pinger.h"

enum {
    HEAD_MAX = 64 << 10,
    BODY_MAX = 10 << 10,
    REDIRECTS_MAX = 10,
    GRPC_HEAD = 5, /* of a message: not compressed, and its size in four bytes */
    GRPC_ANSWER_MAX = 64,
    GRPC_UNIMPLEMENTED = 12
};

#define GRPC_CHECK "/grpc.health.v1.Health/Check"

struct crowd;

/*
 * One transfer. libcurl's callbacks only take notes; results are reported after libcurl has
 * returned.
 */
struct curl_ping {
    struct ping ping; /* first */
    struct crowd *crowd;
    CURL *easy;
    struct curl_slist *headers;
    char *url;   /* of the first request */
    char *shown; /* the same for display */
    char detail[CURL_ERROR_SIZE];
    bool is_http;
    bool is_grpc;
    struct buf asked;                      /* the message of a health check */
    unsigned char answer[GRPC_ANSWER_MAX]; /* its answer, as far as it fits */
    size_t answer_size;
    int grpc_status; /* -1: none */
    bool is_enough;  /* stop in the body: only the status counts */
    size_t head_size;
    size_t body_size;
    unsigned n_redirects;
    int64_t until_ns;
    ping_done_fn done;
    void *arg;
    struct err *refused; /* the transfer could not begin */
    bool is_over;
    bool is_dead;
    CURLcode result;
    struct curl_ping *prev;
    struct curl_ping *next;
};

struct crowd {
    struct pinger pinger; /* the caller's handle */
    struct loop *loop;
    struct curl_pump *pump;
    struct loop_timer *refusals;
    struct curl_ping *pings;
    bool is_busy;
};

static void ping_free(struct curl_ping *p)
{
    LIST_REMOVE(p->crowd->pings, p);
    (void)sym_curl_multi_remove_handle(curl_pump_multi(p->crowd->pump),
                                       p->easy); /* harmless if never added */
    sym_curl_easy_cleanup(p->easy);
    sym_curl_slist_free_all(p->headers);
    err_free(p->refused);
    buf_done(&p->asked);
    free(p->url);
    free(p->shown);
    free(p);
}

/* ---- libcurl's callbacks ---- */

/* Skips the body; an endless body runs into the timeout. */
/* NOLINTNEXTLINE(readability-non-const-parameter): libcurl's signature */
static size_t take_body(char *bytes, size_t size, size_t n, void *arg)
{
    struct curl_ping *p = arg;

    for (size_t i = 0; i < size * n && p->answer_size < sizeof(p->answer); i++)
        p->answer[p->answer_size++] = (unsigned char)bytes[i];
    p->body_size += size * n;
    p->is_enough = p->body_size > BODY_MAX;
    return p->is_enough ? 0 : size * n;
}

/* Also called for trailers, where gRPC has its status. */
/* NOLINTNEXTLINE(readability-non-const-parameter): libcurl's signature */
static size_t take_header(char *bytes, size_t size, size_t n, void *arg)
{
    static const char name[] = "grpc-status:";
    struct curl_ping *p = arg;
    struct str rest = {bytes, size * n};

    if (rest.size > sizeof(name) && strncasecmp(bytes, name, sizeof(name) - 1) == 0) {
        rest = (struct str){bytes + sizeof(name) - 1, rest.size - sizeof(name) + 1};
        p->grpc_status = 0;
        for (size_t i = 0; i < rest.size && p->grpc_status < 1000; i++)
            if (rest.at[i] >= '0' && rest.at[i] <= '9')
                p->grpc_status = p->grpc_status * 10 + (rest.at[i] - '0');
    }
    p->head_size += size * n;
    return p->head_size > HEAD_MAX ? 0 : size * n;
}

static long status_of(const struct curl_ping *p)
{
    long status = 0;

    (void)sym_curl_easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* The error in the kubelet's words. */
static struct err *failure_of(const struct curl_ping *p)
{
    const char *why = p->detail[0] ? p->detail : sym_curl_easy_strerror(p->result);
    const char *verb = p->is_http ? "Get " : "dial tcp ";
    const char *quote = p->is_http ? "\"" : "";
    long number = 0;

    if (p->refused)
        return err_new(err_code(p->refused), "%s", err_message(p->refused));
    if (p->result == CURLE_OK || (p->result == CURLE_WRITE_ERROR && p->is_enough))
        return NULL;
    if (p->result == CURLE_OPERATION_TIMEDOUT)
        return err_new(ERR_TIMEOUT, "%s%s%s%s: no answer in time", verb, quote, p->shown, quote);
    if (p->result == CURLE_WRITE_ERROR)
        return err_new(ERR_TOO_LARGE, "%s%s%s%s: the head of the answer has more than %d bytes",
                       verb, quote, p->shown, quote, (int)HEAD_MAX);
    (void)sym_curl_easy_getinfo(p->easy, CURLINFO_OS_ERRNO, &number); /* 0: unknown */
    if (p->result == CURLE_COULDNT_CONNECT && number != 0) {
        AUTO(err_freep)
        struct err *e = err_errno((int)number, "%s%s%s%s: connect", verb, quote, p->shown, quote);

        return err_new(ERR_UNAVAILABLE, "%s", err_message(e));
    }
    return err_new(ERR_UNAVAILABLE, "%s%s%s%s: %s", verb, quote, p->shown, quote, why);
}

/* ---- gRPC ---- */

/* HealthCheckRequest: the service is field 1. */
static void grpc_ask(struct buf *b, const char *service)
{
    size_t n = strlen(service);
    size_t size = n == 0 ? 0 : n + (n < 128 ? 2 : 3);
    const char head[GRPC_HEAD] = {0, 0, 0, (char)(size >> 8), (char)(size & 0xff)};
    const char low = (char)(n < 128 ? n : (n & 0x7f) | 0x80);
    const char high = (char)(n >> 7);

    buf_add(b, head, sizeof(head));
    if (n == 0)
        return;
    buf_add(b, "\x0a", 1);
    buf_add(b, &low, 1);
    if (n >= 128)
        buf_add(b, &high, 1);
    buf_add(b, service, n);
}

/* HealthCheckResponse: the status is field 1. An empty message is its first value. */
static struct err *grpc_failure(const struct curl_ping *p)
{
    static const char *const words[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
    bool has_value = p->answer_size >= GRPC_HEAD + 2 && p->answer[GRPC_HEAD] == 0x08;
    unsigned value = has_value ? p->answer[GRPC_HEAD + 1] : 0;

    if (p->grpc_status == GRPC_UNIMPLEMENTED)
        return err_new(ERR_UNAVAILABLE, "error: this server does not implement the grpc health "
                                        "protocol (grpc.health.v1.Health)");
    if (p->grpc_status > 0)
        return err_new(ERR_UNAVAILABLE, "error: health rpc probe failed: gRPC status %d",
                       p->grpc_status);
    if (p->grpc_status < 0 || p->answer_size < GRPC_HEAD || p->answer[0] != 0)
        return err_new(ERR_UNAVAILABLE, "error: %s gave no answer of gRPC", p->shown);
    if (value == 1)
        return NULL;
    return err_new(ERR_UNAVAILABLE, "service unhealthy (responded with \"%s\")",
                   value < COUNT(words) ? words[value] : "?");
}

/* ---- redirects ---- */

static bool same_part(CURLU *a, CURLU *b, CURLUPart part)
{
    char *left = NULL;
    char *right = NULL;
    bool is_same = sym_curl_url_get(a, part, &left, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                   sym_curl_url_get(b, part, &right, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                   strcasecmp(left, right) == 0;

    sym_curl_free(left);
    sym_curl_free(right);
    return is_same;
}

static bool same_host(const char *from, const char *to)
{
    CURLU *a = sym_curl_url();
    CURLU *b = sym_curl_url();
    bool is_same = a && b && sym_curl_url_set(a, CURLUPART_URL, from, 0) == CURLUE_OK &&
                   sym_curl_url_set(b, CURLUPART_URL, to, 0) == CURLUE_OK &&
                   same_part(a, b, CURLUPART_HOST);

    sym_curl_url_cleanup(a);
    sym_curl_url_cleanup(b);
    return is_same;
}

/* Follows a redirect. False: none, or to another host; the answer counts. */
static bool ping_follow(struct curl_ping *p)
{
    CURLM *multi = curl_pump_multi(p->crowd->pump);
    int64_t left_ms = (p->until_ns - loop_now_ns(p->crowd->loop)) / NS_PER_MS;
    char *to = NULL;

    if (!p->is_http || p->n_redirects >= REDIRECTS_MAX || left_ms <= 0)
        return false;
    (void)sym_curl_easy_getinfo(p->easy, CURLINFO_REDIRECT_URL, &to);
    if (!to || !same_host(p->url, to))
        return false;
    (void)sym_curl_multi_remove_handle(multi, p->easy);
    if (sym_curl_easy_setopt(p->easy, CURLOPT_URL, to) ||
        sym_curl_easy_setopt(p->easy, CURLOPT_TIMEOUT_MS, (long)left_ms) ||
        sym_curl_multi_add_handle(multi, p->easy))
        return false;
    p->n_redirects++;
    p->is_over = false;
    p->is_enough = false;
    p->body_size = 0;
    p->head_size = 0;
    return true;
}

/* ---- turns ---- */

static void collect_ends(struct crowd *c)
{
    CURLMsg *message = NULL;
    int left = 0;

    while ((message = sym_curl_multi_info_read(curl_pump_multi(c->pump), &left))) {
        struct curl_ping *p = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        (void)sym_curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &p);
        p->is_over = true;
        p->result = message->data.result;
    }
}

static void tell_end(struct curl_ping *p)
{
    AUTO(err_freep) struct err *e = failure_of(p);

    if (!e && ping_follow(p))
        return;
    if (!e && p->is_grpc)
        e = grpc_failure(p);
    p->is_dead = true; /* for the caller; a cancel does nothing more */
    p->done(p->arg, e, e || p->is_grpc ? 0 : (int)status_of(p));
}

static void crowd_turn(void *arg)
{
    struct crowd *c = arg;
    struct curl_ping *p = NULL;

    c->is_busy = true;
    collect_ends(c);
    for (p = c->pings; p; p = p->next) /* no ping is removed while busy */
        if (p->is_over && !p->is_dead)
            tell_end(p);
    c->is_busy = false;
    LIST_EACH (c->pings, p)
        if (p->is_dead)
            ping_free(p);
}

/* ---- begin and end ---- */

/* The URL of a question; an IPv6 address gets brackets. */
static char *make_url(const struct ping_question *q)
{
    bool is_bare6 = strchr(q->host, ':') != NULL && q->host[0] != '[';
    const char *path = q->service ? GRPC_CHECK : q->is_http && q->path ? q->path : "/";

    return mem_format(is_bare6 ? "%s://[%s]:%" PRId64 "%s%s" : "%s://%s:%" PRId64 "%s%s",
                      q->is_tls ? "https" : "http", q->host, q->port, path[0] == '/' ? "" : "/",
                      path);
}

static char *make_address(const struct ping_question *q)
{
    return mem_format("%s:%" PRId64, q->host, q->port);
}

static void add_headers(struct curl_ping *p, const json_t *headers)
{
    const json_t *item = NULL;
    size_t i = 0;

    p->headers = sym_curl_slist_append(NULL, "User-Agent: mete-probe/" METE_VERSION);
    p->headers = sym_curl_slist_append(p->headers, "Accept: */*");
    json_array_foreach (headers, i, item) {
        const char *name = json_text(item, "name");
        const char *value = json_text(item, "value");
        AUTO_FREE char *line = value && *value ? mem_format("%s: %s", name ? name : "", value)
                                               : mem_format("%s;", name ? name : "");

        if (name && !strpbrk(line, "\r\n"))
            p->headers = sym_curl_slist_append(p->headers, line);
    }
}

/* HTTP/2 from the first byte, as gRPC without TLS has it. */
static CURLcode ping_prepare_grpc(struct curl_ping *p, const char *service)
{
    CURLcode code = CURLE_OK;

    grpc_ask(&p->asked, service);
    code = sym_curl_easy_setopt(p->easy, CURLOPT_HTTP_VERSION,
                                (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
    if (!code)
        code = sym_curl_easy_setopt(p->easy, CURLOPT_POSTFIELDS, p->asked.at);
    if (!code)
        code = sym_curl_easy_setopt(p->easy, CURLOPT_POSTFIELDSIZE, (long)p->asked.size);
    return code;
}

#define SET(option, value)                                                 \
    do {                                                                   \
        code = code ? code : sym_curl_easy_setopt(p->easy, option, value); \
    } while (0)

static struct err *ping_prepare(struct curl_ping *p, const struct ping_question *q)
{
    CURLcode code = CURLE_OK;

    add_headers(p, q->headers);
    if (q->service) {
        p->headers = sym_curl_slist_append(p->headers, "Content-Type: application/grpc");
        p->headers = sym_curl_slist_append(p->headers, "TE: trailers");
    }
    SET(CURLOPT_URL, p->url);
    SET(CURLOPT_PRIVATE, p);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_SSL_VERIFYPEER, 0L); /* as in the kubelet: a probe checks life, not identity */
    SET(CURLOPT_SSL_VERIFYHOST, 0L);
    SET(CURLOPT_HTTPHEADER, p->headers);
    SET(CURLOPT_ERRORBUFFER, p->detail);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, p);
    SET(CURLOPT_HEADERFUNCTION, take_header);
    SET(CURLOPT_HEADERDATA, p);
    SET(CURLOPT_FRESH_CONNECT, 1L); /* no reuse: a closed listener must fail the probe */
    SET(CURLOPT_FORBID_REUSE, 1L);
    SET(CURLOPT_CONNECT_ONLY, q->is_http || q->service ? 0L : 1L);
    SET(CURLOPT_TIMEOUT_MS, (long)(q->timeout_ns / NS_PER_MS) + 1L);
    if (!code && q->service)
        code = ping_prepare_grpc(p, q->service);
    if (code)
        return err_new(ERR_INTERNAL, "prepare a request: %s", sym_curl_easy_strerror(code));
    return NULL;
}

#undef SET

static struct ping *crowd_start(void *self, const struct ping_question *q, ping_done_fn done,
                                void *arg);

static void crowd_cancel(struct ping *base)
{
    struct curl_ping *p = (struct curl_ping *)base;

    p->is_dead = true;
    if (!p->crowd->is_busy)
        ping_free(p);
}

static void crowd_free(void *self)
{
    struct crowd *c = self;
    struct curl_ping *p = NULL;

    LIST_EACH (c->pings, p)
        ping_free(p);
    curl_pump_free(c->pump);
    loop_timer_free(c->refusals);
    free(c);
}

static const struct ping_ops crowd_ops = {
    .start = crowd_start, .cancel = crowd_cancel, .free = crowd_free};

static struct ping *crowd_start(void *self, const struct ping_question *q, ping_done_fn done,
                                void *arg)
{
    struct crowd *c = self;
    struct curl_ping *p = mem_alloc(sizeof(*p));
    CURLMcode added = CURLM_OK;

    *p = (struct curl_ping){.ping.ops = &crowd_ops,
                            .crowd = c,
                            .url = make_url(q),
                            .shown = q->is_http ? make_url(q) : make_address(q),
                            .is_http = q->is_http,
                            .is_grpc = q->service != NULL,
                            .grpc_status = -1,
                            .until_ns = loop_now_ns(c->loop) + q->timeout_ns,
                            .done = done,
                            .arg = arg};
    p->easy = sym_curl_easy_init();
    if (!p->easy)
        abort(); /* out of memory */
    LIST_ADD(c->pings, p);
    p->refused = ping_prepare(p, q);
    if (!p->refused)
        added = sym_curl_multi_add_handle(curl_pump_multi(c->pump), p->easy);
    if (added)
        p->refused = err_new(ERR_INTERNAL, "begin a request: %s", sym_curl_multi_strerror(added));
    if (p->refused) {
        p->is_over = true;
        loop_timer_set(c->refusals, 0);
    }
    return &p->ping;
}

struct err *pinger_new(struct loop *l, struct pinger **ret)
{
    struct crowd *c = NULL;

    TRY(curl_load());
    c = mem_alloc(sizeof(*c));
    c->pinger = (struct pinger){.ops = &crowd_ops, .self = c};
    c->loop = l;
    c->pump = curl_pump_new(l, crowd_turn, c);
    c->refusals = loop_timer_new(l, crowd_turn, c);
    *ret = &c->pinger;
    return NULL;
}

void pinger_free(struct pinger *p)
{
    if (p)
        p->ops->free(p->self);
}
