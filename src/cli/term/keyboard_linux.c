/* keyboard_linux.c - the keyboard of a session */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/term/keyboard.h"

enum {
    PIECE = 16384,
    BACKLOG_MAX = 256 << 10,
    KEY_P = 0x10, /* Ctrl-P, Ctrl-Q */
    KEY_Q = 0x11,
};

struct keyboard {
    struct keyboard_options o;
    struct termios former;
    bool is_changed; /* the terminal's mode was changed */
    struct loop_io *io;
    struct loop_timer *timer; /* for descriptors that cannot be polled: plain files, /dev/null */
    bool is_paused;
    bool has_ended;
    bool was_p; /* the last key was Ctrl-P, which is held back until the next key */
};

static void keyboard_want(struct keyboard *k)
{
    bool wants = k->o.reads_input && !k->has_ended && !k->is_paused;

    if (k->io)
        loop_io_want(k->io, wants, false);
    else if (wants)
        loop_timer_set(k->timer, 0);
}

/* Passes on the keys, except Ctrl-P Ctrl-Q. */
static void take_keys(struct keyboard *k, struct str bytes)
{
    AUTO(buf_done) struct buf keys = {0};

    if (!k->o.can_detach) {
        k->o.input(k->o.arg, bytes);
        return;
    }
    for (size_t i = 0; i < bytes.size; i++) {
        char key = bytes.at[i];

        if (k->was_p && key == KEY_Q) {
            k->has_ended = true;
            k->o.detached(k->o.arg);
            return;
        }
        if (k->was_p)
            buf_add_char(&keys, KEY_P);
        k->was_p = key == KEY_P; /* the next key decides */
        if (!k->was_p)
            buf_add_char(&keys, key);
    }
    k->o.input(k->o.arg, (struct str){keys.at, keys.size});
}

static void read_some(struct keyboard *k)
{
    char piece[PIECE];
    ssize_t n = read(k->o.fd, piece, sizeof(piece));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) { /* EIO: the terminal is gone, or this process is in the background */
        k->has_ended = true;
        if (k->o.end)
            k->o.end(k->o.arg);
        return;
    }
    take_keys(k, (struct str){piece, (size_t)n});
    k->is_paused = k->o.backlog(k->o.arg) > BACKLOG_MAX;
}

static void keyboard_on_readable(void *arg, int fd, bool readable, bool writable)
{
    struct keyboard *k = arg;

    (void)fd;
    (void)readable;
    (void)writable;
    read_some(k);
    keyboard_want(k);
}

static void on_timer(void *arg)
{
    struct keyboard *k = arg;

    read_some(k);
    keyboard_want(k);
}

void keyboard_resume(struct keyboard *k)
{
    if (!k->is_paused || k->o.backlog(k->o.arg) > BACKLOG_MAX)
        return;
    k->is_paused = false;
    keyboard_want(k);
}

static void on_resize(void *arg)
{
    struct keyboard *k = arg;
    struct winsize size = {0};

    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
        k->o.resized(k->o.arg, size.ws_col, size.ws_row);
}

static void on_signal(void *arg)
{
    struct keyboard *k = arg;

    k->has_ended = true;
    k->o.detached(k->o.arg);
}

static struct err *make_raw(struct keyboard *k)
{
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &k->former) < 0)
        return err_errno(errno, "read the terminal's mode");
    raw = k->former;
    cfmakeraw(&raw);
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
        return err_errno(errno, "set the terminal's mode");
    k->is_changed = true;
    return NULL;
}

struct err *keyboard_new(const struct keyboard_options *o, struct keyboard **ret)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct keyboard *k = mem_alloc(sizeof(*k));
    struct stat st = {0};
    bool can_wait = fstat(o->fd, &st) == 0 &&
                    (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(o->fd) == 1);
    struct err *e = NULL;

    k->o = *o;
    if (o->is_raw)
        e = make_raw(k);
    if (e) {
        keyboard_free(k);
        return e;
    }
    if (can_wait)
        k->io = loop_io_new(session_loop(o->session), o->fd, keyboard_on_readable, k);
    k->timer = loop_timer_new(session_loop(o->session), on_timer, k);
    for (size_t i = 0; i < COUNT(signals) && !o->has_signals; i++)
        session_on_signal(o->session, signals[i], on_signal, k);
    if (o->is_raw) {
        session_on_signal(o->session, SIGWINCH, on_resize, k);
        on_resize(k);
    }
    keyboard_want(k);
    *ret = k;
    return NULL;
}

void keyboard_free(struct keyboard *k)
{
    if (!k)
        return;
    if (k->is_changed)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN,
                        &k->former); /* a terminal that is gone needs no reset */
    loop_io_free(k->io);
    loop_timer_free(k->timer);
    free(k);
}

struct err *pipe_write(int fd, struct str bytes)
{
    size_t done = 0;

    while (done < bytes.size) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        ssize_t n = write(fd, bytes.at + done, bytes.size - done);

        if (n < 0 && errno == EAGAIN)
            (void)poll(&p, 1, -1); /* another process made the descriptor non-blocking */
        else if (n < 0 && errno != EINTR)
            return err_errno(errno, "write output");
        done += n > 0 ? (size_t)n : 0;
    }
    return NULL;
}
