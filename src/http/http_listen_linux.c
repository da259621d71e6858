/*
 * http_listen_linux.c - listening sockets
 *
 * A listener limits its connections, reads the peer's uid on a unix socket, and starts TLS.
 */

#include "http/http_listen_linux.h"

#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

enum {
    CONNECTIONS_MAX = 10000,  /* per listener */
    DESCRIPTORS_SPARED = 128, /* of RLIMIT_NOFILE, kept for the rest of the process */
};

struct listener {
    struct listener_options o;
    struct evconnlistener *ev;
    struct event *retry; /* accepts again after a failure */
    size_t n;            /* connections */
    size_t max;
};

static uint32_t peer_uid(int fd)
{
    struct ucred cred = {.uid = UINT32_MAX};
    socklen_t size = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) != 0)
        return UINT32_MAX; /* no user has this uid */
    return cred.uid;
}

/* Keep-alive probes notice a client whose machine lost its power. */
static void set_tcp_options(int fd)
{
    const int on = 1;
    const int idle_s = 60;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
}

static struct bufferevent *bufferevent_of(struct listener *l, int fd)
{
    struct bufferevent *bev;
    SSL *ssl;

    if (!l->o.is_unix)
        set_tcp_options(fd);
    if (!l->o.tls)
        return bufferevent_socket_new(l->o.base, fd, BEV_OPT_CLOSE_ON_FREE);
    ssl = SSL_new(l->o.tls);
    if (!ssl)
        return NULL;
    bev = bufferevent_openssl_socket_new(l->o.base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                         BEV_OPT_CLOSE_ON_FREE);
    if (!bev)
        SSL_free(ssl);
    else
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    return bev;
}

static void resume(struct listener *l)
{
    if (l->n < l->max)
        (void)evconnlistener_enable(l->ev);
}

void listener_release(struct listener *l)
{
    l->n--;
    resume(l);
}

SSL *listener_ssl(const struct listener *l, struct bufferevent *bev)
{
    return l->o.tls ? bufferevent_openssl_get_ssl(bev) : NULL;
}

/* Formats the address of a TCP client. */
static void peer_address(const struct sockaddr *address, int size, char ret[PEER_ADDRESS_SIZE])
{
    char host[NI_MAXHOST] = "";
    char port[NI_MAXSERV] = "";

    if (getnameinfo(address, (socklen_t)size, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        (void)snprintf(ret, PEER_ADDRESS_SIZE, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
                       port); /* scopes of link-local addresses may be cut */
}

static void on_accept(struct evconnlistener *ev, evutil_socket_t fd, struct sockaddr *address,
                      int size, void *arg)
{
    struct listener *l = arg;
    struct bufferevent *bev = bufferevent_of(l, fd);
    struct listener_peer peer = {.uid = l->o.is_unix ? peer_uid(fd) : UINT32_MAX};

    if (!bev) {
        (void)close(fd);
        return;
    }
    if (++l->n >= l->max)
        (void)evconnlistener_disable(ev); /* further connections wait in the backlog */
    if (!l->o.is_unix)
        peer_address(address, size, peer.address);
    l->o.on_connection(l->o.arg, l, bev, &peer);
}

static void on_error(struct evconnlistener *ev, void *arg)
{
    const struct timeval pause = {.tv_usec = 200000};
    struct listener *l = arg;

    LOG(WARN, "accept failed", S("why", evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR())));
    (void)evconnlistener_disable(ev);
    (void)event_add(l->retry, &pause);
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    resume(arg);
}

static size_t connections_max(void)
{
    struct rlimit limit = {.rlim_cur = 1024};
    size_t half;

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    half = limit.rlim_cur / 2 > DESCRIPTORS_SPARED ? (limit.rlim_cur - DESCRIPTORS_SPARED) / 2 : 64;
    return half < CONNECTIONS_MAX ? half : CONNECTIONS_MAX;
}

struct err *listener_new(const struct listener_options *o, struct listener **ret)
{
    struct listener *l = mem_alloc(sizeof(*l));

    l->o = *o;
    l->max = connections_max();
    if (evutil_make_socket_nonblocking(o->fd) == 0)
        l->ev = evconnlistener_new(o->base, on_accept, l, LEV_OPT_CLOSE_ON_EXEC, 0, o->fd);
    l->retry = event_new(o->base, -1, 0, on_retry, l);
    if (!l->ev || !l->retry) {
        l->o.tls = NULL; /* the caller still owns it */
        listener_free(l);
        return err_new(ERR_INTERNAL, "cannot wait for connections on socket %d", o->fd);
    }
    evconnlistener_set_error_cb(l->ev, on_error);
    *ret = l;
    return NULL;
}

void listener_free(struct listener *l)
{
    if (!l)
        return;
    if (l->ev)
        evconnlistener_free(l->ev);
    if (l->retry)
        event_free(l->retry);
    SSL_CTX_free(l->o.tls);
    free(l);
}
