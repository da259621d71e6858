/* image_child_linux.c - the pipes of a child process */

#include "node/image/image_child_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

enum {
    ERRORS_MAX = 16 << 10,
    LINE_MAX_BYTES = 32 << 20, /* the last line contains the image's config */
    PIPE_BYTES = 1 << 20
};

/* A pipe from the child. */
struct inlet {
    struct image_child *child;
    int fd; /* -1: ended */
    struct loop_io *io;
    struct buf text;
};

struct image_child {
    struct image_child_options o;
    struct proc *proc;
    struct inlet out;
    struct inlet errors;
    int in; /* -1: closed */
    struct loop_io *in_io;
    struct buf queue;
    bool is_closing;
    bool has_ended;
    bool was_told;
    struct image_child_end end;
};

static void inlet_done(struct inlet *i)
{
    loop_io_free(i->io);
    fd_close(i->fd);
    i->io = NULL;
    i->fd = -1;
}

static void input_done(struct image_child *c)
{
    loop_io_free(c->in_io);
    fd_close(c->in);
    c->in_io = NULL;
    c->in = -1;
}

/* May free the child. */
static void image_child_finish(struct image_child *c)
{
    if (!c->has_ended || c->out.fd >= 0 || c->errors.fd >= 0 || c->was_told)
        return;
    c->was_told = true;
    input_done(c);
    c->end.output = (struct str){c->out.text.at ? c->out.text.at : "", c->out.text.size};
    c->end.errors = (struct str){c->errors.text.at ? c->errors.text.at : "", c->errors.text.size};
    c->o.end(c->o.arg, &c->end);
}

/* ---- output ---- */

static void take_lines(struct image_child *c)
{
    struct buf *text = &c->out.text;
    const char *end;

    while (text->size > 0 && (end = memchr(text->at, '\n', text->size))) {
        c->o.line(c->o.arg, (struct str){text->at, (size_t)(end - text->at)});
        buf_consume(text, (size_t)(end - text->at) + 1);
    }
}

/* Keeps the end of stderr, which has the cause. */
static void keep_tail(struct buf *text)
{
    if (text->size > ERRORS_MAX)
        buf_consume(text, text->size - ERRORS_MAX);
}

static void image_child_on_readable(void *arg, int fd, bool readable, bool writable)
{
    struct inlet *i = arg;
    struct image_child *c = i->child;
    char part[65536];
    ssize_t n = read(fd, part, sizeof(part));

    (void)readable;
    (void)writable;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        inlet_done(i);
        image_child_finish(c);
        return;
    }
    buf_add(&i->text, part, (size_t)n); /* more than the cap is dropped */
    if (i == &c->errors)
        keep_tail(&i->text);
    else if (c->o.line)
        take_lines(c);
}

/* ---- input ---- */

static void on_writable(void *arg, int fd, bool readable, bool writable)
{
    struct image_child *c = arg;
    ssize_t n = c->queue.size > 0 ? write(fd, c->queue.at, c->queue.size) : 0;

    (void)readable;
    (void)writable;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0)
        buf_clear(&c->queue); /* the child reads no more; its end tells why */
    else
        buf_consume(&c->queue, (size_t)n);
    if (n < 0 || (c->queue.size == 0 && c->is_closing))
        input_done(c);
    else if (c->queue.size == 0)
        loop_io_want(c->in_io, false, false);
    if (c->o.drained)
        c->o.drained(c->o.arg);
}

void image_child_send(struct image_child *c, struct str bytes)
{
    if (c->in < 0 || c->is_closing)
        return;
    buf_add(&c->queue, bytes.at, bytes.size);
    loop_io_want(c->in_io, false, true);
}

size_t image_child_backlog(const struct image_child *c)
{
    return c->queue.size;
}

void image_child_close(struct image_child *c)
{
    c->is_closing = true;
    if (c->in >= 0 && c->queue.size == 0)
        input_done(c);
}

/* ---- start and end ---- */

static void on_image_child_end(void *arg, const struct proc_end *end)
{
    struct image_child *c = arg;

    c->proc = NULL;
    c->has_ended = true;
    c->end.status = end->status;
    c->end.timed_out = end->timed_out;
    image_child_finish(c);
}

static void inlet_init(struct inlet *i, struct image_child *c, int fd, size_t cap)
{
    i->child = c;
    i->fd = fd;
    i->text.cap = cap;
    i->io = loop_io_new(c->o.loop, fd, image_child_on_readable, i);
    loop_io_want(i->io, true, false);
}

/* Our end is non-blocking; the child's blocks, as programs expect. */
static struct err *image_child_make_pipe(int *ret_ours, int *ret_theirs, bool is_theirs_read)
{
    int ends[2] = {-1, -1};

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_errno(errno, "create a pipe");
    *ret_ours = ends[is_theirs_read ? 1 : 0];
    *ret_theirs = ends[is_theirs_read ? 0 : 1];
    (void)fcntl(*ret_ours, F_SETFL, O_NONBLOCK);      /* a fresh pipe: cannot fail */
    (void)fcntl(*ret_ours, F_SETPIPE_SZ, PIPE_BYTES); /* for fewer wake-ups only */
    return NULL;
}

struct err *image_child_new(const struct image_child_options *o, struct image_child **ret)
{
    AUTO(fd_closep) int in = -1;
    AUTO(fd_closep) int out = -1;
    AUTO(fd_closep) int errors = -1;
    AUTO(fd_closep) int in_theirs = -1;
    AUTO(fd_closep) int out_theirs = -1;
    AUTO(fd_closep) int errors_theirs = -1;
    struct proc_options po = {.argv = o->argv, .n_fds = 3, .deadline_ns = o->deadline_ns};
    struct proc *proc = NULL;
    struct image_child *c = NULL;

    TRY(image_child_make_pipe(&in, &in_theirs, true));
    TRY(image_child_make_pipe(&out, &out_theirs, false));
    TRY(image_child_make_pipe(&errors, &errors_theirs, false));
    po.fds[0] = in_theirs;
    po.fds[1] = out_theirs;
    po.fds[2] = errors_theirs;
    c = mem_alloc(sizeof(*c));
    c->o = *o;
    {
        struct err *e = proc_start(o->loop, &po, on_image_child_end, c, &proc);

        if (e) {
            free(c);
            return e;
        }
    }
    c->proc = proc;
    c->in = fd_take(&in);
    c->in_io = loop_io_new(o->loop, c->in, on_writable, c);
    inlet_init(&c->out, c, fd_take(&out), o->line ? LINE_MAX_BYTES : IMAGE_OUTPUT_MAX);
    inlet_init(&c->errors, c, fd_take(&errors), 2 * ERRORS_MAX + 65536);
    *ret = c;
    return NULL;
}

void image_child_free(struct image_child *c)
{
    if (!c)
        return;
    if (c->proc) {
        proc_kill(c->proc, SIGKILL);
        proc_abandon(c->proc);
    }
    input_done(c);
    inlet_done(&c->out);
    inlet_done(&c->errors);
    buf_done(&c->queue);
    buf_done(&c->out.text);
    buf_done(&c->errors.text);
    free(c);
}
