/* exec_linux.c - commands in running attempts: their output, input and end */

#include "node/session/exec_linux.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/runtime/proc_tree_linux.h"
#include "node/session/exec_cgroup_linux.h"
#include "node/session/exec_private_linux.h"

enum {
    PIECE = 32768,
    LEFT_MAX = 1 << 20, /* largest pipe: bytes read after the command's end */
    KILL_ROUNDS = 50,   /* then kill the runtime process itself */
};

static const int64_t KILL_AGAIN_NS = 20 * NS_PER_MS;

/* ---- end ---- */

static void source_close(struct source *s)
{
    loop_io_free(s->io);
    s->io = NULL;
    fd_close(s->fd);
    s->fd = -1;
}

static void child_free(struct exec_child *c)
{
    LIST_REMOVE(c->set->all, c);
    feed_close(&c->feed);
    buf_done(&c->feed.waiting);
    source_close(&c->sources[0]);
    source_close(&c->sources[1]);
    console_free(c->console);
    fd_close(c->terminal);
    loop_timer_free(c->deadline);
    loop_timer_free(c->timer);
    err_free(c->failed);
    if (c->dir)
        err_free(dir_remove(c->dir)); /* else exec_sweep does it */
    if (c->cgroup && (c->is_cancelled || c->is_timed_out || c->is_ended_all))
        (void)exec_cgroup_kill(c->cgroup);
    if (c->cgroup)
        exec_cgroup_remove(c->cgroup);
    json_decref(c->args);
    fd_close(c->failure_fd);
    free(c->cgroup);
    free(c->dir);
    free(c->id);
    free(c);
}

static void child_end(struct exec_child *c)
{
    struct runtime_exec o = c->o;
    int code = WIFEXITED(c->status) ? WEXITSTATUS(c->status) : 128 + WTERMSIG(c->status);
    AUTO(err_freep) struct err *e = TAKE(c->failed);

    if (!e && c->is_timed_out)
        e = err_new(ERR_TIMEOUT, "the command did not end within %" PRId64 " ms",
                    o.deadline_ns / NS_PER_MS);
    if (!e)
        e = c->backend->failure(c, code);
    child_free(c);
    o.end(o.arg, e, e ? 0 : code);
}

/* From the loop: ends the command if all its conditions are met. */
static void child_look(struct exec_child *c)
{
    if (c->proc || (!c->has_exited && !c->failed && !c->is_cancelled))
        return;
    if (c->is_cancelled)
        child_free(c);
    else if (c->failed || (c->sources[0].fd < 0 && c->sources[1].fd < 0))
        child_end(c);
}

static struct exec_child *child_find(struct exec_set *set, uint64_t number)
{
    struct exec_child *c = NULL;

    LIST_EACH (set->all, c) {
        if (c->number == number && c->proc)
            return c;
    }
    return NULL;
}

static void on_exec_walked(struct exec_set *set, uint64_t number, size_t n_killed)
{
    struct exec_child *c = child_find(set, number);

    if (!c)
        return;
    c->is_being_killed = false;
    c->kill_rounds++;
    if (c->backend->is_direct || c->kill_rounds >= KILL_ROUNDS ||
        (n_killed == 0 && c->kill_rounds > KILL_ROUNDS / 2))
        proc_kill(c->proc, SIGKILL);
    loop_timer_set(c->timer, KILL_AGAIN_NS);
}

void exec_kill_round(struct exec_child *c)
{
    if (c->is_being_killed)
        return;
    c->is_being_killed = true;
    exec_walk(c->set, c->number, c->root, c->cgroup, on_exec_walked);
}

static void exec_on_deadline(void *arg)
{
    struct exec_child *c = arg;

    c->is_timed_out = true;
    if (c->proc) {
        exec_kill_round(c);
        return;
    }
    c->has_exited = true;
    loop_timer_set(c->timer, 0);
}

/* ---- output ---- */

/* Reads once. False: the output has ended. */
static bool source_read(struct source *s)
{
    struct exec_child *c = s->child;
    char piece[PIECE];
    ssize_t n = read(s->fd, piece, sizeof(piece));

    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && errno == EAGAIN)
        return !c->has_exited; /* a process left behind may hold the other end */
    if (n <= 0)
        return false; /* EIO: no process has the terminal open */
    c->o.output(c->o.arg, s->number, (struct str){piece, (size_t)n});
    if (!c->has_exited)
        return true;
    s->left -= (size_t)n < s->left ? (size_t)n : s->left;
    return s->left > 0;
}

static void on_source(void *arg, int fd, bool readable, bool writable)
{
    struct source *s = arg;
    struct exec_child *c = s->child;
    bool goes_on = source_read(s);

    (void)fd;
    (void)readable;
    (void)writable;
    if (s->fd >= 0 && !goes_on)
        source_close(s);
    child_look(c);
}

void exec_source_open(struct source *s, int fd)
{
    s->fd = fd;
    s->io = loop_io_new(s->child->set->loop, fd, on_source, s);
    loop_io_want(s->io, !s->child->is_paused, false);
}

/*
 * After the command's end, reads its pipes until they are empty. Needs no event: none would come
 * from an empty pipe that a process left behind keeps open.
 */
static void exec_drain(struct exec_child *c)
{
    for (size_t i = 0; i < 2; i++)
        while (c->sources[i].fd >= 0 && !c->is_paused && !c->is_cancelled)
            if (!source_read(&c->sources[i]) && c->sources[i].fd >= 0)
                source_close(&c->sources[i]);
}

void exec_on_end(void *arg, const struct proc_end *end)
{
    struct exec_child *c = arg;

    c->proc = NULL;
    c->has_exited = true;
    c->status = end->status;
    c->sources[0].left = LEFT_MAX;
    c->sources[1].left = LEFT_MAX;
    loop_timer_stop(c->timer);
    if (c->deadline)
        loop_timer_stop(c->deadline);
    if (c->console) { /* the terminal never came */
        console_free(TAKE(c->console));
        feed_close(&c->feed);
    }
    exec_drain(c);
    child_look(c);
}

/* ---- operations ---- */

static struct exec_child *child_of(struct exec *x)
{
    return (struct exec_child *)(void *)x;
}

static void exec_input(struct exec *x, struct str bytes)
{
    feed_add(&child_of(x)->feed, bytes);
}

static size_t exec_backlog(const struct exec *x)
{
    return feed_backlog(&((const struct exec_child *)(const void *)x)->feed);
}

/* On a terminal only a typed end of file ends the input. */
static void exec_input_end(struct exec *x)
{
    struct exec_child *c = child_of(x);

    if (!c->o.has_terminal && !c->feed.is_ended)
        feed_end(&c->feed);
}

static void on_input_ended(void *arg)
{
    struct exec_child *c = arg;

    feed_close(&c->feed);
}

static void on_input_drained(void *arg)
{
    struct exec_child *c = arg;

    if (c->o.drained && !c->is_cancelled)
        c->o.drained(c->o.arg);
}

void exec_resize(struct exec *x, uint16_t columns, uint16_t rows)
{
    struct exec_child *c = child_of(x);
    const struct winsize size = {.ws_row = rows, .ws_col = columns};

    c->o.columns = columns;
    c->o.rows = rows;
    if (c->terminal >= 0)
        (void)ioctl(c->terminal, TIOCSWINSZ, &size); /* fails on a closing terminal */
    if (c->is_relayed && c->proc)
        proc_kill(c->proc, SIGWINCH);
}

static void exec_pause(struct exec *x, bool is_paused)
{
    struct exec_child *c = child_of(x);

    if (c->is_paused == is_paused)
        return;
    c->is_paused = is_paused;
    for (size_t i = 0; i < 2; i++)
        if (c->sources[i].io)
            loop_io_want(c->sources[i].io, !is_paused, false);
    if (c->has_exited && !is_paused)
        loop_timer_set(c->timer, 0);
}

static void exec_cancel(struct exec *x)
{
    struct exec_child *c = child_of(x);

    c->is_cancelled = true;
    feed_close(&c->feed);
    source_close(&c->sources[0]);
    source_close(&c->sources[1]);
    console_free(TAKE(c->console));
    if (c->deadline)
        loop_timer_stop(c->deadline);
    loop_timer_set(c->timer, 0);
}

static const struct exec_ops child_ops = {.input = exec_input,
                                          .backlog = exec_backlog,
                                          .input_end = exec_input_end,
                                          .resize = exec_resize,
                                          .pause = exec_pause,
                                          .cancel = exec_cancel};

/* ---- begin ---- */

static void on_exec_timer(void *arg)
{
    struct exec_child *c = arg;

    if (c->proc) {
        exec_kill_round(c);
        return;
    }
    if (c->is_waiting && !c->is_cancelled && !c->is_timed_out)
        c->failed = c->backend->enter(c);
    if (c->has_exited)
        exec_drain(c);
    child_look(c);
}

static struct err *exec_begin(struct exec_child *c, const struct runtime_exec *e)
{
    TRY(c->backend->prepare(c, e));
    TRY(c->backend->enter(c));
    if (e->deadline_ns > 0) {
        c->deadline = loop_timer_new(c->set->loop, exec_on_deadline, c);
        loop_timer_set(c->deadline, e->deadline_ns);
    }
    return NULL;
}

struct exec *exec_new(struct exec_set *set, const struct exec_backend *backend, void *runtime,
                      const struct runtime_exec *e)
{
    struct exec_child *c = mem_alloc(sizeof(*c));

    *c = (struct exec_child){.exec.ops = &child_ops,
                             .set = set,
                             .backend = backend,
                             .runtime = runtime,
                             .o = *e,
                             .terminal = -1,
                             .failure_fd = -1};
    c->id = mem_strdup(e->id);
    c->number = set->n++;
    c->begun_ns = loop_now_ns(set->loop);
    c->o.id = NULL;
    c->o.process = NULL;
    for (int i = 0; i < 2; i++)
        c->sources[i] = (struct source){.child = c, .number = i + 1, .fd = -1};
    c->feed = (struct feed){
        .loop = set->loop, .drained = on_input_drained, .ended = on_input_ended, .arg = c};
    feed_init(&c->feed);
    c->timer = loop_timer_new(set->loop, on_exec_timer, c);
    LIST_ADD(set->all, c);
    c->failed = exec_begin(c, e);
    if (c->failed)
        loop_timer_set(c->timer, 0);
    return &c->exec;
}

/* ---- all commands ---- */

bool exec_has_cgroup(void *set, const char *dir)
{
    struct exec_set *all = set;
    struct exec_child *c = NULL;

    LIST_EACH (all->all, c) {
        if (c->cgroup && text_equal(c->cgroup, dir))
            return true;
    }
    return false;
}

void exec_end_all(struct exec_set *set)
{
    struct exec_child *c = NULL;

    LIST_EACH (set->all, c) {
        if (c->proc) {
            if (c->root.pid > 0)
                (void)proc_tree_kill(c->root); /* in the loop, as the process is about to end */
            (void)exec_cgroup_kill(c->cgroup);
            proc_kill(c->proc, SIGKILL);
            proc_abandon(c->proc);
        }
        child_free(c);
    }
}
