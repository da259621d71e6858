/* share_watch_linux.c - starts the helper that measures shares, and tells it the shares */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/retry.h"
#include "gpu/share_watch.h"

enum {
    LIST_MAX_BYTES = 1 << 20, /* the largest pipe that every user may have */
    LINE_MAX_BYTES = 4096
};

struct share_watch {
    struct share_watch_options o;
    char *root_env;
    char *machine_env;
    struct proc *proc; /* NULL: none runs */
    int to_fd;
    int from_fd;
    struct loop_io *io;
    struct buf in;
    void (*on_over)(void *arg, const struct share_over *over);
    void *on_over_arg;
    struct loop_timer *restart;
    struct retry retry;
    int64_t started_ns; /* monotonic; of the helper */
    json_t *list;
    bool is_paused;
};

static void share_watch_close(struct share_watch *w)
{
    loop_io_free(w->io);
    w->io = NULL;
    fd_close(w->to_fd); /* the helper ends with its input */
    fd_close(w->from_fd);
    w->to_fd = -1;
    w->from_fd = -1;
    buf_done(&w->in);
    if (w->proc)
        proc_abandon(w->proc);
    w->proc = NULL;
}

static void on_share_helper_end(void *arg, const struct proc_end *end)
{
    struct share_watch *w = arg;
    AUTO_FREE char *how = proc_format_status(end->status);
    int64_t now = loop_now_ns(w->o.loop);

    w->proc = NULL;
    share_watch_close(w);
    LOG(WARN, "the helper that measures shares ended", S("how", how));
    retry_went_well(&w->retry, now - w->started_ns);
    loop_timer_set(w->restart, retry_failed(&w->retry, now));
}

static void share_watch_hear(struct share_watch *w, struct str line)
{
    AUTO(json_freep) json_t *message = NULL;
    AUTO(err_freep) struct err *e = json_parse(line, &message);
    const json_t *over = json_object_get(message, "over");
    const struct share_over said = {.pod = json_text(over, "pod"),
                                    .gpu = json_text(over, "gpu"),
                                    .bytes = json_int(over, "bytes", 0),
                                    .limit_bytes = json_int(over, "limit", 0)};

    if (!e && said.pod && said.gpu && w->on_over)
        w->on_over(w->on_over_arg, &said);
}

static void share_watch_on_readable(void *arg, int fd, bool readable, bool writable)
{
    struct share_watch *w = arg;
    char piece[LINE_MAX_BYTES];
    ssize_t n = read(fd, piece, sizeof(piece));
    const char *end;

    (void)readable;
    (void)writable;
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            loop_io_want(w->io, false, false); /* on_share_helper_end reports its end */
        return;
    }
    buf_add(&w->in, piece, (size_t)n);
    while (w->in.at && (end = memchr(w->in.at, '\n', w->in.size))) {
        size_t size = (size_t)(end - w->in.at);

        share_watch_hear(w, (struct str){w->in.at, size});
        buf_consume(&w->in, size + 1);
    }
}

static struct err *share_helper_start(struct share_watch *w)
{
    const char *argv[] = {w->o.self_path, "gpu-helper", "shares", NULL};
    const char *env[] = {w->root_env, w->machine_env, "METE_GPUSIM_ALL=1", NULL};
    AUTO(fd_closep) int input = -1;
    AUTO(fd_closep) int output = -1;
    int ends[2];
    struct err *e;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_errno(errno, "pipe to the helper that measures shares");
    input = ends[0];
    w->to_fd = ends[1];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_errno(errno, "pipe from the helper that measures shares");
    w->from_fd = ends[0];
    output = ends[1];
    if (fcntl(w->to_fd, F_SETPIPE_SZ, LIST_MAX_BYTES) < 0 ||
        fcntl(w->to_fd, F_SETFL, O_NONBLOCK) < 0 || fcntl(w->from_fd, F_SETFL, O_NONBLOCK) < 0)
        return err_errno(errno, "pipes of the helper that measures shares");
    e = proc_start(
        w->o.loop,
        &(struct proc_options){
            .argv = argv, .is_self = true, .env = env, .fds = {input, output, 2}, .n_fds = 3},
        on_share_helper_end, w, &w->proc);
    if (e)
        return e;
    w->started_ns = loop_now_ns(w->o.loop);
    w->in = (struct buf){.cap = (size_t)2 * LINE_MAX_BYTES};
    w->io = loop_io_new(w->o.loop, w->from_fd, share_watch_on_readable, w);
    loop_io_want(w->io, true, false);
    return NULL;
}

/* False: the helper does not read. */
static bool share_helper_tell(struct share_watch *w)
{
    AUTO(json_freep) json_t *message = json_object();
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *line = NULL;

    json_put(message, "shares", json_incref(w->list));
    text = json_format(message);
    line = mem_format("%s\n", text);
    return write(w->to_fd, line, strlen(line)) == (ssize_t)strlen(line);
}

static void share_helper_begin(struct share_watch *w)
{
    AUTO(err_freep) struct err *e = share_helper_start(w);

    if (!e && share_helper_tell(w))
        return;
    if (e)
        LOG(WARN, "shares are not measured", E(e));
    share_watch_close(w);
    loop_timer_set(w->restart, retry_failed(&w->retry, loop_now_ns(w->o.loop)));
}

static void on_share_restart(void *arg)
{
    struct share_watch *w = arg;

    if (!w->proc && !w->is_paused && json_array_size(w->list) > 0)
        share_helper_begin(w);
}

struct share_watch *share_watch_new(const struct share_watch_options *o)
{
    struct share_watch *w = mem_alloc(sizeof(*w));

    w->o = *o;
    w->to_fd = -1;
    w->from_fd = -1;
    w->list = json_array();
    w->root_env = mem_format("METE_DRIVER_ROOT=%s", o->driver_root ? o->driver_root : "");
    w->machine_env = mem_format("METE_GPUSIM_MACHINE=%s", o->machine ? o->machine : "");
    w->restart = loop_timer_new(o->loop, on_share_restart, w);
    return w;
}

void share_watch_free(struct share_watch *w)
{
    if (!w)
        return;
    share_watch_close(w);
    loop_timer_free(w->restart);
    json_decref(w->list);
    free(w->root_env);
    free(w->machine_env);
    free(w);
}

void share_watch_listen(struct share_watch *w, void (*fn)(void *arg, const struct share_over *over),
                        void *arg)
{
    w->on_over = fn;
    w->on_over_arg = arg;
}

void share_watch_pause(struct share_watch *w)
{
    w->is_paused = true;
    share_watch_close(w);
}

void share_watch_resume(struct share_watch *w)
{
    w->is_paused = false;
    loop_timer_set(w->restart, 0);
}

void share_watch_set(struct share_watch *w, json_t *list)
{
    if (json_equal(list, w->list)) {
        json_decref(list);
        return;
    }
    json_decref(w->list);
    w->list = list;
    if (json_array_size(list) == 0) {
        share_watch_close(w);
        return;
    }
    if (w->is_paused || (w->proc && share_helper_tell(w)))
        return;
    share_watch_close(w);
    share_helper_begin(w);
}
