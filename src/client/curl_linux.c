/* curl_linux.c - libcurl's sockets and timeouts on the event loop */

#include "client/curl_linux.h"

#include "base/library_linux.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "base/version.h"

enum {
    CONNECT_TIMEOUT_MS = 10000
};

#define X(name) __typeof__(name) *sym_##name;
CURL_CALLS(X)
#undef X

struct err *curl_load(void)
{
    static const struct library_symbol symbols[] = {
#define X(name) {#name, &sym_##name},
        CURL_CALLS(X)
#undef X
    };
    static struct library library = {.file = "libcurl.so.4",
                                     .symbols = symbols,
                                     .n_symbols = COUNT(symbols),
                                     .mutex = PTHREAD_MUTEX_INITIALIZER};

    TRY(library_load(&library));
    if (sym_curl_global_init(CURL_GLOBAL_DEFAULT))
        return err_new(ERR_INTERNAL, "libcurl cannot start");
    return NULL;
}

/* A socket that libcurl waits for. */
struct curl_io {
    struct curl_pump *pump;
    struct loop_io *io;
    struct curl_io *prev;
    struct curl_io *next;
};

struct curl_pump {
    struct loop *loop;
    CURLM *multi;
    struct loop_timer *timer;
    struct curl_io *ios;
    curl_pump_fn fn;
    void *arg;
};

static void pump_act(struct curl_pump *p, curl_socket_t fd, int events)
{
    int running = 0;

    (void)sym_curl_multi_socket_action(p->multi, fd, events,
                                       &running); /* results come as messages */
    p->fn(p->arg);
}

static void on_io(void *arg, int fd, bool readable, bool writable)
{
    struct curl_io *io = arg;

    pump_act(io->pump, fd, (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0));
}

static void on_timer(void *arg)
{
    pump_act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void io_free(struct curl_io *io)
{
    loop_io_free(io->io);
    LIST_REMOVE(io->pump->ios, io);
    free(io);
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
    struct curl_pump *p = arg;
    struct curl_io *io = socket_arg;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (io)
            io_free(io);
        (void)sym_curl_multi_assign(p->multi, fd, NULL); /* fails only for a closed socket */
        return 0;
    }
    if (!io) {
        io = mem_alloc(sizeof(*io));
        io->pump = p;
        io->io = loop_io_new(p->loop, fd, on_io, io);
        LIST_ADD(p->ios, io);
        (void)sym_curl_multi_assign(p->multi, fd, io); /* the socket is libcurl's own */
    }
    loop_io_want(io->io, (what & CURL_POLL_IN) != 0, (what & CURL_POLL_OUT) != 0);
    return 0;
}

static int want_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct curl_pump *p = arg;

    (void)multi;
    if (timeout_ms < 0)
        loop_timer_stop(p->timer);
    else
        loop_timer_set(p->timer, timeout_ms * NS_PER_MS);
    return 0;
}

struct curl_pump *curl_pump_new(struct loop *l, curl_pump_fn fn, void *arg)
{
    struct curl_pump *p = mem_alloc(sizeof(*p));

    p->loop = l;
    p->fn = fn;
    p->arg = arg;
    p->timer = loop_timer_new(l, on_timer, p);
    p->multi = sym_curl_multi_init();
    if (!p->multi)
        abort(); /* out of memory */
    (void)sym_curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
    (void)sym_curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p);
    (void)sym_curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, want_timer);
    (void)sym_curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
    return p;
}

void curl_pump_free(struct curl_pump *p)
{
    struct curl_io *io;

    if (!p)
        return;
    (void)sym_curl_multi_cleanup(p->multi);
    LIST_EACH (p->ios, io)
        io_free(io);
    loop_timer_free(p->timer);
    free(p);
}

CURLM *curl_pump_multi(const struct curl_pump *p)
{
    return p->multi;
}

#define SET(option, value)                                              \
    do {                                                                \
        code = code ? code : sym_curl_easy_setopt(easy, option, value); \
    } while (0)

struct err *curl_setup(CURL *easy, const struct client_options *o, const char *path)
{
    AUTO_FREE char *url = mem_format("%s%s", o->url, path);
    CURLcode code = CURLE_OK;

    SET(CURLOPT_URL, url);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    SET(CURLOPT_PROXY, ""); /* API servers are reached directly; ignore the environment's proxy */
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_USERAGENT, METE_USER_AGENT);
    if (o->ca_file)
        SET(CURLOPT_CAINFO, o->ca_file);
    if (o->ca_text) {
        struct curl_blob blob = {.data = (void *)(uintptr_t)o->ca_text, /* copied */
                                 .len = strlen(o->ca_text),
                                 .flags = CURL_BLOB_COPY};

        SET(CURLOPT_CAINFO_BLOB, &blob);
    }
    if (o->is_unverified) {
        SET(CURLOPT_SSL_VERIFYPEER, 0L);
        SET(CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (o->cert_file)
        SET(CURLOPT_SSLCERT, o->cert_file);
    if (o->key_file)
        SET(CURLOPT_SSLKEY, o->key_file);
    if (code)
        return err_new(ERR_INTERNAL, "prepare a request: %s", sym_curl_easy_strerror(code));
    return NULL;
}

struct err *curl_error(CURLcode code, CURL *easy, const char *detail,
                       const struct client_options *o)
{
    const char *where = o->url;
    const char *why = detail && detail[0] ? detail : sym_curl_easy_strerror(code);
    long number = 0;

    if (code == CURLE_OPERATION_TIMEDOUT)
        return err_new(ERR_TIMEOUT, "%s: no answer in time", where);
    (void)sym_curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number); /* 0: unknown to libcurl */
    if (code == CURLE_COULDNT_CONNECT && number != 0) {
        AUTO(err_freep) struct err *e = err_errno((int)number, "%s", where);

        return err_new(ERR_UNAVAILABLE, "%s", err_message(e)); /* also if the file is missing */
    }
    return err_new(ERR_UNAVAILABLE, "%s: %s", where, why);
}
