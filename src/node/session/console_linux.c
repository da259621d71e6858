/* console_linux.c - a terminal received from the runtime, or a pty pair */

#include "node/session/console_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

struct console {
    struct loop *loop;
    console_fn fn;
    void *arg;
    int listening; /* replaced by: */
    int peer;
    struct loop_io *io;
};

void console_free(struct console *c)
{
    if (!c)
        return;
    loop_io_free(c->io);
    fd_close(c->listening);
    fd_close(c->peer);
    free(c);
}

/* Receives a message, returns its first descriptor, and closes all others. */
static struct err *console_receive(int fd, int *ret)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control = {0};
    char text[256];
    struct iovec part = {.iov_base = text, .iov_len = sizeof(text)};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    AUTO(fd_closep) int first = -1;

    if (recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) < 0)
        return err_errno(errno, "receive a terminal");
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
        size_t n = h->cmsg_type == SCM_RIGHTS ? (h->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

        for (size_t i = 0; h->cmsg_level == SOL_SOCKET && i < n; i++) {
            int found = -1;

            memcpy(&found, CMSG_DATA(h) + i * sizeof(int), sizeof(int));
            if (first < 0)
                first = found;
            else
                fd_close(found);
        }
    }
    if (first < 0 || !isatty(first))
        return err_new(ERR_INTERNAL, "the runtime sent no terminal");
    if (fcntl(first, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
        return err_errno(errno, "prepare a terminal");
    *ret = fd_take(&first);
    return NULL;
}

static void console_on_io(void *arg, int fd, bool readable, bool writable)
{
    struct console *c = arg;
    AUTO(err_freep) struct err *e = NULL;
    int terminal = -1;

    (void)fd;
    (void)readable;
    (void)writable;
    if (c->peer < 0) {
        c->peer = accept4(c->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (c->peer < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
            return;        /* the peer is gone again */
        if (c->peer < 0) { /* out of descriptors: the socket would stay readable for ever */
            e = err_errno(errno, "accept the runtime's connection");
            loop_io_want(c->io, false, false);
            c->fn(c->arg, e, -1);
            return;
        }
        loop_io_free(c->io);
        c->io = loop_io_new(c->loop, c->peer, console_on_io, c);
        loop_io_want(c->io, true, false);
        return;
    }
    loop_io_want(c->io, false, false);
    e = console_receive(c->peer, &terminal);
    c->fn(c->arg, e, terminal);
}

/* Binds through the directory's descriptor, as a socket's path must be short. */
static struct err *listen_in(int dir, const char *path, int *ret)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    AUTO(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return err_errno(errno, "make a socket");
    (void)snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/console", dir);
    if (bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 1) < 0)
        return err_errno(errno, "listen at %s/console", path);
    *ret = fd_take(&fd);
    return NULL;
}

struct err *console_new(struct loop *l, const char *dir, console_fn fn, void *arg,
                        struct console **ret)
{
    AUTO(fd_closep) int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct console *c = NULL;
    int fd = -1;

    if (dir_fd < 0)
        return err_errno(errno, "open %s", dir);
    TRY(listen_in(dir_fd, dir, &fd));
    c = mem_alloc(sizeof(*c));
    *c = (struct console){.loop = l, .fn = fn, .arg = arg, .listening = fd, .peer = -1};
    c->io = loop_io_new(l, fd, console_on_io, c);
    loop_io_want(c->io, true, false);
    *ret = c;
    return NULL;
}

struct err *pty_open_cooked(uint16_t columns, uint16_t rows, int *ret_master, int *ret_slave)
{
    const struct winsize size = {.ws_row = rows, .ws_col = columns};
    AUTO(fd_closep) int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    AUTO(fd_closep) int slave = -1;
    int unlocked = 0;

    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
        return err_errno(errno, "make a terminal");
    slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        return err_errno(errno, "make a terminal");
    if (ioctl(slave, TIOCSWINSZ, &size) < 0)
        return err_errno(errno, "prepare a terminal");
    *ret_master = fd_take(&master);
    *ret_slave = fd_take(&slave);
    return NULL;
}

struct err *pty_open(uint16_t columns, uint16_t rows, int *ret_master, int *ret_slave)
{
    AUTO(fd_closep) int master = -1;
    AUTO(fd_closep) int slave = -1;
    struct termios mode;

    TRY(pty_open_cooked(columns, rows, &master, &slave));
    if (tcgetattr(slave, &mode) < 0)
        return err_errno(errno, "read the mode of a terminal");
    cfmakeraw(&mode);
    if (tcsetattr(slave, TCSANOW, &mode) < 0)
        return err_errno(errno, "prepare a terminal");
    *ret_master = fd_take(&master);
    *ret_slave = fd_take(&slave);
    return NULL;
}
