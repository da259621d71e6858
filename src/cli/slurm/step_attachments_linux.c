/*
 * step_attachments_linux.c - connections of sattach to the manager of a step
 *
 * The manager listens at an abstract address that has its pid and the time of its start. sattach
 * starts `mete step attach NUMBER` beside it in the job, which connects and passes bytes on. Each
 * side asks the kernel for the other's identity: an address says nothing about who listens.
 *
 * An attachment that does not read loses output and is told so: it never holds up the tasks.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/slurm/step_private.h"
#include "kinds/slurm/slurm_step.h"

enum {
    PIECE = 32768,
    ATTACHMENTS_MAX = 64,
    UNREAD_MAX = 4 << 20, /* bytes of output that an attachment does not read: more are lost */
    RECEIVED_MAX = STEP_FRAME_HEAD + STEP_FRAME_MAX + PIECE
};

struct step_attachment {
    struct step *step;
    int fd;
    struct loop_io *io;
    struct buf received;
    struct buf sent;     /* not written yet */
    uint64_t lost_bytes; /* of output, not told yet */
};

/* ---- the address ---- */

static struct err *attach_address(int64_t pid, struct sockaddr_un *ret, socklen_t *ret_size)
{
    int64_t begun_ticks = 0;
    int size;

    TRY(step_process_begun(pid, &begun_ticks));
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    size = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "mete-step.%" PRId64 ".%" PRId64,
                    pid, begun_ticks);
    *ret_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size);
    return NULL;
}

static bool is_peer(int fd, int64_t pid)
{
    struct ucred peer = {0};
    socklen_t size = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return false;
    return (peer.uid == getuid() || peer.uid == 0) && (pid == 0 || peer.pid == pid);
}

/* ---- the manager ---- */

static void attachment_end(struct step_attachment *a)
{
    struct step *s = a->step;

    for (size_t i = 0; i < s->attachments.n; i++)
        if (s->attachments.at[i] == a) {
            vec_remove(&s->attachments, i);
            break;
        }
    loop_io_free(a->io);
    fd_close(a->fd);
    buf_done(&a->received);
    buf_done(&a->sent);
    free(a);
}

static void attachment_want(const struct step_attachment *a)
{
    loop_io_want(a->io, !step_is_flooded(a->step), a->sent.size > 0);
}

static void attachment_add(struct step_attachment *a, char kind, uint32_t rank, struct str payload)
{
    step_frame_add(&a->sent, kind, rank, payload);
    attachment_want(a);
}

/* Writes what the socket takes. False: the peer is gone. */
static bool attachment_flush(struct step_attachment *a)
{
    while (a->sent.size > 0) {
        ssize_t n = send(a->fd, a->sent.at, a->sent.size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0 && errno != EINTR)
            return false;
        buf_consume(&a->sent, n > 0 ? (size_t)n : 0);
    }
    if (a->lost_bytes > 0 && a->sent.size == 0) {
        AUTO_FREE char *text =
            mem_format("%" PRIu64 " bytes of output are lost: sattach did not read them in time",
                       a->lost_bytes);

        a->lost_bytes = 0;
        attachment_add(a, STEP_WARNING, STEP_ALL_RANKS, str_of(text));
    }
    return true;
}

static struct err *attachment_take(void *arg, const struct step_frame *f)
{
    struct step_attachment *a = arg;

    if (f->kind != STEP_INPUT)
        return err_new(ERR_INVALID, "an attachment sends input only");
    if (f->payload.size > 0) /* its end is not that of the tasks' input */
        step_feed(a->step, f->rank, f->payload);
    return NULL;
}

/* False: the peer is gone, or sent what is no input. */
static bool attachment_read(struct step_attachment *a)
{
    char piece[PIECE];
    ssize_t n = recv(a->fd, piece, sizeof(piece), MSG_DONTWAIT);
    AUTO(err_freep) struct err *e = NULL;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n <= 0)
        return false;
    buf_add(&a->received, piece, (size_t)n);
    e = step_frames_take(&a->received, attachment_take, a);
    return !e;
}

static void attachment_on_ready(void *arg, int fd, bool readable, bool writable)
{
    struct step_attachment *a = arg;
    struct step *s = a->step;

    (void)fd;
    if ((readable && !attachment_read(a)) || (writable && !attachment_flush(a)))
        attachment_end(a);
    else
        attachment_want(a);
    step_attachments_changed(s);
}

/* What a late attachment has missed but for output: which tasks there are, and which are over. */
static void attachment_say_state(struct step_attachment *a)
{
    AUTO(json_freep) json_t *start = json_object();
    AUTO_FREE char *text = NULL;
    json_t *ranks = json_array_at(start, "ranks");

    VEC_EACH (&a->step->tasks, task)
        (void)json_array_append_new(ranks,
                                    json_integer((*task)->plan->rank)); /* fresh: cannot fail */
    text = json_format(start);
    attachment_add(a, STEP_START, STEP_ALL_RANKS, str_of(text));
    VEC_EACH (&a->step->tasks, task)
        if ((*task)->end)
            attachment_add(a, STEP_EXIT, (*task)->plan->rank, str_of((*task)->end));
}

static void attachments_on_connection(void *arg, int fd, bool readable, bool writable)
{
    struct step *s = arg;
    AUTO(fd_closep) int own = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct step_attachment *a;

    (void)readable;
    (void)writable;
    if (own < 0 || !is_peer(own, 0) || s->attachments.n == ATTACHMENTS_MAX)
        return;
    a = mem_alloc(sizeof(*a));
    *a = (struct step_attachment){.step = s, .fd = fd_take(&own), .received.cap = RECEIVED_MAX};
    a->io = loop_io_new(s->loop, a->fd, attachment_on_ready, a);
    vec_add(&s->attachments, a);
    attachment_say_state(a);
}

static struct err *attachments_listen(struct step *s)
{
    struct sockaddr_un address;
    socklen_t size = 0;

    TRY(attach_address(getpid(), &address, &size));
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->listener < 0 || bind(s->listener, (const struct sockaddr *)&address, size) < 0 ||
        listen(s->listener, ATTACHMENTS_MAX) < 0)
        return err_errno(errno, "listen for sattach");
    s->listener_io = loop_io_new(s->loop, s->listener, attachments_on_connection, s);
    loop_io_want(s->listener_io, true, false);
    return NULL;
}

void step_attachments_open(struct step *s)
{
    AUTO(err_freep) struct err *e = attachments_listen(s);

    if (e)
        step_say(s, STEP_WARNING, STEP_ALL_RANKS, str_of(err_message(e)));
}

void step_attachments_say(struct step *s, char kind, uint32_t rank, struct str payload)
{
    VEC_EACH (&s->attachments, one) {
        struct step_attachment *a = *one;

        if (kind != STEP_EXIT && a->sent.size > UNREAD_MAX)
            a->lost_bytes += payload.size;
        else
            attachment_add(a, kind, rank, payload);
    }
}

void step_attachments_resume(struct step *s)
{
    VEC_EACH (&s->attachments, a)
        attachment_want(*a);
}

bool step_attachments_have_unsent(const struct step *s)
{
    VEC_EACH (&s->attachments, a)
        if ((*a)->sent.size > 0)
            return true;
    return false;
}

void step_attachments_close(struct step *s)
{
    while (s->attachments.n > 0)
        attachment_end(s->attachments.at[0]);
    vec_done(&s->attachments);
    loop_io_free(s->listener_io);
    fd_close(fd_take(&s->listener));
}

/* ---- the command ---- */

/* Connects to the manager among the processes of the step that could be. */
static struct err *attach_connect(int64_t step, int *ret)
{
    struct step_numbers pids = {0};
    struct err *e = step_managers_find(step, &pids);

    for (size_t i = 0; !e && i < pids.n && *ret < 0; i++) {
        AUTO(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un address;
        socklen_t size = 0;
        AUTO(err_freep) struct err *gone = attach_address(pids.at[i], &address, &size);

        if (!gone && fd >= 0 && connect(fd, (const struct sockaddr *)&address, size) == 0 &&
            is_peer(fd, pids.at[i]))
            *ret = fd_take(&fd);
    }
    vec_done(&pids);
    if (!e && *ret < 0)
        e = err_new(ERR_NOT_FOUND, "no tasks of step %" PRId64 " run on this node", step);
    return e;
}

/* One direction between standard input or output and the socket. */
struct attach_stream {
    int from;
    int to;
    struct buf bytes;
    bool has_ended;
};

static void stream_move(struct attach_stream *t, short from_events, short to_events)
{
    char piece[PIECE];

    if (t->bytes.size == 0 && from_events != 0) {
        ssize_t n = read(t->from, piece, sizeof(piece));

        if (n > 0)
            buf_add(&t->bytes, piece, (size_t)n);
        else if (n == 0 || errno != EINTR)
            t->has_ended = true;
    } else if (t->bytes.size > 0 && to_events != 0) {
        ssize_t n = write(t->to, t->bytes.at, t->bytes.size);

        buf_consume(&t->bytes, n > 0 ? (size_t)n : 0);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            t->has_ended = true;
    }
}

/* Until the manager or sattach is gone. All signals stay blocked, as the node starts this process:
 * those for the tasks are sent to it, too. */
static struct err *attach_pass(int fd)
{
    struct attach_stream input = {.from = STDIN_FILENO, .to = fd};
    struct attach_stream output = {.from = fd, .to = STDOUT_FILENO};

    (void)fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    while (!input.has_ended && !(output.has_ended && output.bytes.size == 0)) {
        struct pollfd p[] = {
            {.fd = input.bytes.size == 0 ? STDIN_FILENO : -1, .events = POLLIN},
            {.fd = input.bytes.size > 0 ? fd : -1, .events = POLLOUT},
            {.fd = output.bytes.size == 0 ? fd : -1, .events = POLLIN},
            {.fd = output.bytes.size > 0 ? STDOUT_FILENO : -1, .events = POLLOUT},
        };

        if (poll(p, COUNT(p), -1) < 0)
            continue;
        stream_move(&input, p[0].revents, p[1].revents);
        stream_move(&output, p[2].revents, p[3].revents);
    }
    buf_done(&input.bytes);
    buf_done(&output.bytes);
    return NULL;
}

struct err *step_attach_run(const char *number)
{
    AUTO(fd_closep) int fd = -1;
    int64_t step = 0;

    TRY(num_parse_int64(str_of(number), 0, INT32_MAX, &step));
    TRY(attach_connect(step, &fd));
    return attach_pass(fd);
}
