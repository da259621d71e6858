/*
 * storage_sqlite_linux.c - storage on SQLite, written by a thread of its own
 *
 * The loop's side and the thread's side share one slot: an eventfd hands the batch to the thread,
 * another one hands the result back. One batch is under way at a time, so that the sides own the
 * slot in turn; `turn` names the owner and orders the memory. The thread touches nothing else but
 * the file.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "store/dir_lock_linux.h"
#include "store/sqlite_file_linux.h"
#include "store/storage.h"

enum turn {
    TURN_LOOP,
    TURN_THREAD,
    TURN_END
};

struct sqlite_storage {
    struct storage storage;
    struct loop *loop;
    struct sqlite_file *file; /* the thread's, once the thread runs */
    int lock_fd;

    bool is_threaded;
    bool has_thread;
    pthread_t thread;
    int to_thread; /* eventfds */
    int to_loop;
    struct loop_io *io;          /* watches to_loop */
    struct loop_timer *run_soon; /* without a thread */

    _Atomic int turn; /* enum turn */
    _Atomic bool is_reseal_asked;
    const struct storage_batch *batch;
    enum storage_result result;
    char why[SQLITE_FILE_WHY_SIZE];

    bool is_busy; /* the loop's own: `done` is still to be called */
    storage_done_fn done;
    void *arg;
};

static void eventfd_wake(int fd)
{
    const uint64_t one = 1;
    ssize_t n;

    do
        n = write(fd, &one, sizeof(one));
    while (n < 0 && errno == EINTR);
    assert(n == sizeof(one)); /* at most one wake-up is under way: the counter cannot be full */
}

/* Takes a wake-up from `fd`; waits for it if `fd` blocks. False: `fd` does not block, and no
 * wake-up is there. */
static bool wait_wake(int fd)
{
    uint64_t count = 0;
    ssize_t n;

    do
        n = read(fd, &count, sizeof(count));
    while (n < 0 && errno == EINTR);
    assert(n == sizeof(count) || errno == EAGAIN);
    return n == sizeof(count);
}

/* Seals rows until a wake-up is there. */
static void storage_reseal_some(struct sqlite_storage *s)
{
    struct pollfd p = {.fd = s->to_thread, .events = POLLIN};

    if (atomic_exchange(&s->is_reseal_asked, false))
        sqlite_file_reseal(s->file);
    while (sqlite_file_reseal_more(s->file) && poll(&p, 1, 0) <= 0)
        ;
}

/* One wake-up may stand for a batch and for a wish to seal. */
static void *run_thread(void *arg)
{
    struct sqlite_storage *s = arg;

    for (;;) {
        int turn;

        storage_reseal_some(s);
        (void)wait_wake(s->to_thread);
        turn = atomic_load_explicit(&s->turn, memory_order_acquire);
        if (turn == TURN_END)
            return NULL;
        if (turn == TURN_LOOP)
            continue;
        s->result = sqlite_file_write(s->file, s->batch, s->why);
        atomic_store_explicit(&s->turn, TURN_LOOP, memory_order_release);
        eventfd_wake(s->to_loop);
        sqlite_file_checkpoint(s->file);
    }
}

static void wait_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    (void)poll(&p, 1, -1); /* interrupted: the caller checks again */
}

/* Passes the result on. The callback may commit the next batch, into the same slot. */
static void batch_finish(struct sqlite_storage *s)
{
    char why[SQLITE_FILE_WHY_SIZE];

    memcpy(why, s->why, sizeof(why));
    s->is_busy = false;
    s->done(s->arg, s->result, why);
}

static void on_result(void *arg, int fd, bool readable, bool writable)
{
    struct sqlite_storage *s = arg;

    (void)readable;
    (void)writable;
    if (!wait_wake(fd) || !s->is_busy)
        return;
    assert(atomic_load_explicit(&s->turn, memory_order_acquire) == TURN_LOOP);
    batch_finish(s);
}

static void write_here(struct sqlite_storage *s)
{
    s->result = sqlite_file_write(s->file, s->batch, s->why);
    sqlite_file_checkpoint(s->file);
}

static void on_run_soon(void *arg)
{
    struct sqlite_storage *s = arg;

    write_here(s);
    batch_finish(s);
}

static struct err *storage_load(void *self, storage_load_fn fn, void *arg, int64_t *ret_revision,
                                int64_t *ret_compacted)
{
    struct sqlite_storage *s = self;

    assert(!s->is_busy);
    return sqlite_file_load(s->file, fn, arg, ret_revision, ret_compacted);
}

static void storage_commit(void *self, const struct storage_batch *batch, storage_done_fn done,
                           void *arg)
{
    struct sqlite_storage *s = self;

    assert(!s->is_busy);
    s->is_busy = true;
    s->batch = batch;
    s->done = done;
    s->arg = arg;
    if (!s->is_threaded) {
        loop_timer_set(s->run_soon, 0);
        return;
    }
    atomic_store_explicit(&s->turn, TURN_THREAD, memory_order_release);
    eventfd_wake(s->to_thread);
}

static void storage_reseal_sqlite(void *self)
{
    struct sqlite_storage *s = self;

    if (s->is_threaded) {
        atomic_store(&s->is_reseal_asked, true);
        eventfd_wake(s->to_thread);
        return;
    }
    sqlite_file_reseal(s->file);
    while (sqlite_file_reseal_more(s->file))
        ;
}

static enum storage_result storage_finish(void *self)
{
    struct sqlite_storage *s = self;

    if (!s->is_busy)
        return STORAGE_DURABLE;
    s->is_busy = false;
    if (!s->is_threaded) {
        loop_timer_stop(s->run_soon);
        write_here(s);
        return s->result;
    }
    while (!wait_wake(s->to_loop))
        wait_readable(s->to_loop);
    assert(atomic_load_explicit(&s->turn, memory_order_acquire) == TURN_LOOP);
    return s->result;
}

static void stop_thread(struct sqlite_storage *s)
{
    if (!s->has_thread)
        return;
    atomic_store_explicit(&s->turn, TURN_END, memory_order_release);
    eventfd_wake(s->to_thread);
    (void)pthread_join(s->thread, NULL); /* a joinable thread other than this one: cannot fail */
}

static void storage_free_sqlite(void *self)
{
    struct sqlite_storage *s = self;

    (void)storage_finish(s);
    stop_thread(s);
    loop_io_free(s->io);
    loop_timer_free(s->run_soon);
    fd_close(s->to_thread);
    fd_close(s->to_loop);
    sqlite_file_close(s->file);
    fd_close(s->lock_fd);
    free(s);
}

static const struct storage_ops sqlite_ops = {
    .load = storage_load,
    .commit = storage_commit,
    .reseal = storage_reseal_sqlite,
    .finish = storage_finish,
    .free = storage_free_sqlite,
};

/* Starts the thread with all signals blocked: the loop handles signals. */
static struct err *start_thread(struct sqlite_storage *s)
{
    sigset_t all;
    sigset_t before;
    int rc;

    s->to_thread = eventfd(0, EFD_CLOEXEC);
    s->to_loop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->to_thread < 0 || s->to_loop < 0)
        return err_errno(errno, "make an eventfd");
    s->io = loop_io_new(s->loop, s->to_loop, on_result, s);
    loop_io_want(s->io, true, false);
    (void)sigfillset(&all); /* cannot fail */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&s->thread, NULL, run_thread, s);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return err_errno(rc, "start the storage thread");
    s->has_thread = true;
    return NULL;
}

/*
 * Creates the file with mode 0600, for it holds secrets: SQLite would create it readable for all.
 */
static struct err *make_private(const char *path)
{
    AUTO(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    return fd < 0 ? err_errno(errno, "open '%s'", path) : NULL;
}

static struct err *storage_open_file(struct sqlite_storage *s,
                                     const struct storage_sqlite_options *options)
{
    AUTO_FREE char *path = mem_format("%s/state.db", options->dir);

    if (!options->vfs) {
        TRY(dir_lock(options->dir, &s->lock_fd));
        TRY(make_private(path));
        if (fsync(s->lock_fd) != 0)
            return err_errno(errno, "sync directory '%s'", options->dir);
    }
    return sqlite_file_open(path, options, &s->file);
}

struct err *storage_sqlite_new(const struct storage_sqlite_options *options, struct storage **ret)
{
    struct sqlite_storage *s = mem_alloc(sizeof(*s));
    struct err *e;

    s->storage = (struct storage){.ops = &sqlite_ops, .self = s};
    s->loop = options->loop;
    s->is_threaded = options->is_threaded;
    s->lock_fd = -1;
    s->to_thread = -1;
    s->to_loop = -1;
    atomic_init(&s->turn, TURN_LOOP);
    e = storage_open_file(s, options);
    if (!e && s->is_threaded)
        e = start_thread(s);
    else if (!e)
        s->run_soon = loop_timer_new(s->loop, on_run_soon, s);
    if (e) {
        storage_free_sqlite(s);
        return e;
    }
    *ret = &s->storage;
    return NULL;
}

void storage_reseal(struct storage *s)
{
    s->ops->reseal(s->self);
}

void storage_free(struct storage *s)
{
    if (s)
        s->ops->free(s->self);
}
