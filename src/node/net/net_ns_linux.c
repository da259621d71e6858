/* net_ns_linux.c - network namespaces of pods */

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "node/net/net_ns.h"

#define OWN_NS "/proc/thread-self/ns/net"

struct sysctl {
    const char *path;
    const char *value;
};

/* Containers have no capabilities over the namespace: the machine's root owns it. */
static const struct sysctl sysctls[] = {
    {"/proc/sys/net/ipv4/ip_unprivileged_port_start", "0"},
    {"/proc/sys/net/ipv4/ping_group_range", "0 2147483647"},
};

static struct err *write_sysctl(const struct sysctl *s)
{
    AUTO(fd_closep) int fd = open(s->path, O_WRONLY | O_CLOEXEC);
    size_t size = strlen(s->value);

    if (fd < 0 || write(fd, s->value, size) != (ssize_t)size)
        return err_errno(errno, "set %s", s->path);
    return NULL;
}

static struct err *raise_interface(int fd, const char *name)
{
    struct ifreq r = {0};

    (void)snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
    if (ioctl(fd, SIOCGIFFLAGS, &r) < 0)
        return err_errno(errno, "read the flags of %s", name);
    r.ifr_flags = (short)(r.ifr_flags | IFF_UP);
    if (ioctl(fd, SIOCSIFFLAGS, &r) < 0)
        return err_errno(errno, "set up %s", name);
    return NULL;
}

/* In the new namespace. */
static struct err *furnish(const char *path)
{
    AUTO(fd_closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return err_errno(errno, "make a socket");
    TRY(raise_interface(fd, "lo"));
    for (size_t i = 0; i < COUNT(sysctls); i++)
        TRY(write_sysctl(&sysctls[i]));
    if (mount(OWN_NS, path, NULL, MS_BIND, NULL) < 0)
        return err_errno(errno, "mount a network namespace at %s", path);
    return NULL;
}

/* A thread in a foreign namespace must not go on. */
static struct err *go_home(int home, struct err *e)
{
    int status = setns(home, CLONE_NEWNET);

    assert(status == 0);
    (void)status;
    return e;
}

static struct err *open_home(int *ret)
{
    int fd = open(OWN_NS, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_errno(errno, "open %s", OWN_NS);
    *ret = fd;
    return NULL;
}

static struct err *make_point(const char *path)
{
    int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_errno(errno, "make %s", path);
    fd_close(fd);
    return NULL;
}

struct err *net_ns_make(const char *path)
{
    AUTO(fd_closep) int home = -1;

    TRY(net_ns_remove(path));
    TRY(make_point(path));
    TRY(open_home(&home));
    if (unshare(CLONE_NEWNET) < 0)
        return err_errno(errno, "make a network namespace");
    return go_home(home, furnish(path));
}

struct err *net_ns_remove(const char *path)
{
    while (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        ;
    if (errno != EINVAL && errno != ENOENT)
        return err_errno(errno, "unmount %s", path);
    if (unlink(path) < 0 && errno != ENOENT)
        return err_errno(errno, "remove %s", path);
    return NULL;
}

bool net_ns_is_there(const char *path)
{
    struct statfs s;

    return statfs(path, &s) == 0 && s.f_type == NSFS_MAGIC;
}

static struct err *dial(int family, uint16_t port, int *ret)
{
    const struct sockaddr_in v4 = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const void *address = family == AF_INET ? (const void *)&v4 : (const void *)&v6;
    socklen_t size = family == AF_INET ? sizeof(v4) : sizeof(v6);
    AUTO(fd_closep) int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int one = 1;

    if (fd < 0)
        return err_errno(errno, "make a socket");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* only for speed */
    if (connect(fd, address, size) < 0)
        return errno == ECONNREFUSED
                   ? err_new(ERR_NOT_FOUND, "no process of the pod listens on port %u",
                             (unsigned)port)
                   : err_errno(errno, "connect to port %u", (unsigned)port);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return err_errno(errno, "connect to port %u", (unsigned)port);
    *ret = fd_take(&fd);
    return NULL;
}

static struct err *dial_either(uint16_t port, int *ret)
{
    struct err *e = dial(AF_INET, port, ret);
    struct err *six = NULL;

    if (!e || err_code(e) != ERR_NOT_FOUND)
        return e;
    six = dial(AF_INET6, port, ret);
    if (six) {
        err_free(six);
        return e;
    }
    err_free(e);
    return NULL;
}

struct err *net_ns_connect(const char *path, uint16_t port, int *ret)
{
    AUTO(fd_closep) int home = -1;
    AUTO(fd_closep) int there = open(path, O_RDONLY | O_CLOEXEC);

    if (there < 0)
        return err_errno(errno, "open %s", path);
    TRY(open_home(&home));
    if (setns(there, CLONE_NEWNET) < 0)
        return err_errno(errno, "enter %s", path);
    return go_home(home, dial_either(port, ret));
}

struct err *net_port_check(const char *protocol, uint16_t port)
{
    bool is_udp = text_equal(protocol, "UDP");
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
    AUTO(fd_closep)
    int fd = socket(AF_INET, (is_udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
    const int one = 1;

    if (fd < 0)
        return err_errno(errno, "make a socket");
    if (!is_udp) /* connections that wait for their last packets do not count */
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (const struct sockaddr *)(const void *)&any, sizeof(any)) == 0)
        return NULL;
    if (errno == EADDRINUSE)
        return err_new(ERR_CONFLICT, "hostPort %u/%s: a process of the machine has this port",
                       (unsigned)port, protocol);
    return err_errno(errno, "check port %u", (unsigned)port);
}

/* A request of rtnetlink(7) for an IPv4 address. */
struct address_request {
    struct nlmsghdr header;
    struct ifaddrmsg message;
    struct rtattr attribute;
    uint32_t address; /* in network byte order */
};

static struct err *ask_kernel(int fd, const struct address_request *r)
{
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        char rest[256];
    } answer = {0};

    if (send(fd, r, sizeof(*r), 0) != (ssize_t)sizeof(*r) ||
        recv(fd, &answer, sizeof(answer), 0) < (ssize_t)NLMSG_LENGTH(sizeof(answer.error)))
        return err_errno(errno, "speak to the kernel about addresses");
    if (answer.error.error != 0)
        return err_errno(-answer.error.error, "give the loopback the gateway's address");
    return NULL;
}

struct err *net_gateway_make(uint32_t address)
{
    AUTO(fd_closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    const struct address_request r = {
        .header = {.nlmsg_len = sizeof(r),
                   .nlmsg_type = RTM_NEWADDR,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE},
        .message = {.ifa_family = AF_INET,
                    .ifa_prefixlen = 32,
                    .ifa_scope = RT_SCOPE_UNIVERSE,
                    .ifa_index = if_nametoindex("lo")},
        .attribute = {.rta_len = RTA_LENGTH(sizeof(address)), .rta_type = IFA_LOCAL},
        .address = htonl(address)};

    if (fd < 0)
        return err_errno(errno, "speak to the kernel about addresses");
    return ask_kernel(fd, &r);
}
