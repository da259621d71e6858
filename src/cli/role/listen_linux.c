/* listen_linux.c - listening sockets */

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/role/data_dir.h"

enum {
    BACKLOG = 4096
};

/* All users may connect: the kernel identifies the peer, and the server authorizes requests. */
struct err *listen_unix(const char *path, int *ret)
{
    AUTO(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (fd < 0)
        return err_errno(errno, "create a unix socket");
    if (strlen(path) >= sizeof(address.sun_path))
        return err_new(ERR_INVALID, "%s: too long for a unix socket", path);
    memcpy(address.sun_path, path, strlen(path));
    if (unlink(path) < 0 && errno != ENOENT)
        return err_errno(errno, "remove the old %s", path);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return err_errno(errno, "bind %s", path);
    if (chmod(path, 0666) < 0)
        return err_errno(errno, "set the mode of %s", path);
    if (listen(fd, BACKLOG) < 0)
        return err_errno(errno, "listen on %s", path);
    *ret = fd;
    fd = -1;
    return NULL;
}

struct err *listen_link(const char *path, const char *dir)
{
    AUTO_FREE char *to = mem_format("%s/mete.sock", dir);

    TRY(dir_make(dir, 0755));
    if (unlink(to) < 0 && errno != ENOENT)
        return err_errno(errno, "remove the old %s", to);
    return link(path, to) < 0 ? err_errno(errno, "link %s", to) : NULL;
}

static struct err *bound_port(int fd, unsigned *ret)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.v6 = {0}};
    socklen_t size = sizeof(address);

    if (getsockname(fd, &address.any, &size) < 0)
        return err_errno(errno, "read the socket's port");
    *ret = ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
    return NULL;
}

static struct err *listen_at(const struct addrinfo *at, const char *host, unsigned port,
                             bool is_ahead, int *ret)
{
    AUTO(fd_closep) int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;

    if (fd < 0)
        return err_errno(errno, "create a socket");
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
        return err_errno(errno, "prepare a socket");
    if (is_ahead && setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on)) < 0)
        return err_errno(errno, "prepare a socket");
    if (bind(fd, at->ai_addr, at->ai_addrlen) < 0)
        return errno == EADDRINUSE
                   ? err_new(ERR_CONFLICT, "%s:%u is in use by another program", host, port)
                   : err_errno(errno, "bind %s:%u", host, port);
    if (listen(fd, BACKLOG) < 0)
        return err_errno(errno, "listen on %s:%u", host, port);
    *ret = fd;
    fd = -1;
    return NULL;
}

static struct err *listen_found(const char *host, unsigned port, bool is_ahead, int *ret)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char service[16];
    struct err *e;
    int failed;

    (void)snprintf(service, sizeof(service), "%u", port);
    failed = getaddrinfo(host, service, &hints, &found);
    if (failed)
        return err_new(ERR_INVALID, "listen on \"%s\": %s", host, gai_strerror(failed));
    e = listen_at(found, host, port, is_ahead, ret);
    freeaddrinfo(found);
    return e;
}

struct err *listen_tcp_ahead(const char *host, unsigned port, int *ret)
{
    return listen_found(host, port, true, ret);
}

struct err *listen_tcp(const char *host, unsigned port, int *ret, unsigned *ret_port)
{
    TRY(listen_found(host, port, false, ret));
    return bound_port(*ret, ret_port);
}
