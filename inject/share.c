/* share.c - the limits and the state of a share, mapped from files */

#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc_old.h"

static struct {
    pthread_mutex_t mutex;
    const struct share_limits *limits;
    struct share_state *state;
    int fd; /* of the state: its locks are ours while no descriptor of the file is closed */
    struct file_id id;
    pid_t pid;
    int slot;                      /* -1: none */
    uint64_t held[SHARE_GPUS_MAX]; /* by this process; its slot says so to the others */
    bool is_broken;
    bool is_forked;
} share = {.mutex = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .slot = -1};

static const char *share_dir(void)
{
#ifdef SHARE_TEST_DIR
    const char *dir = getenv(SHARE_TEST_DIR);

    if (dir)
        return dir;
#endif
    return SHARE_DIR;
}

static bool share_break(const char *file, const char *what)
{
    if (!share.is_broken)
        (void)fprintf(stderr, "mete: the share of the gpu cannot be used: %s/%s: %s\n", share_dir(),
                      file, what);
    share.is_broken = true;
    return false;
}

/* Maps a file whole; `*ret_fd` stays open. NULL: errno says why, 0: the file is too short. */
static void *file_map(const char *name, size_t size, bool is_writable, int *ret_fd)
{
    char path[4096];
    void *at;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", share_dir(), name);
    fd = open(path, (is_writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (lseek(fd, 0, SEEK_END) < (off_t)size) {
        (void)close(fd);
        errno = 0;
        return NULL;
    }
    at = mmap(NULL, size, is_writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        int number = errno;

        (void)close(fd);
        errno = number;
        return NULL;
    }
    *ret_fd = fd;
    return at;
}

static const char *map_error(void)
{
    return errno ? strerror(errno) : "the file is too short";
}

static bool limits_open(void)
{
    const struct share_limits *limits;
    int fd = -1;

    limits = file_map("limits", sizeof(*limits), false, &fd);
    if (!limits)
        return share_break("limits", map_error());
    (void)close(fd);
    if (limits->magic != SHARE_LIMITS_MAGIC || limits->version != SHARE_VERSION ||
        limits->n_gpus > SHARE_GPUS_MAX)
        return share_break("limits", "the file has another version");
    share.limits = limits;
    return true;
}

/*
 * The program may have closed our descriptor, and even have opened another file under its number.
 * The closing dropped our locks.
 */
static bool state_is_open(void)
{
    struct file_id id;

    return share.fd >= 0 && file_identify(share.fd, &id) && id.device == share.id.device &&
           id.inode == share.id.inode;
}

static bool state_open(void)
{
    struct share_state *state;
    int fd = -1;

    if (state_is_open())
        return true;
    share.slot = -1;
    share.fd = -1;
    state = file_map("state", sizeof(*state), true, &fd);
    if (!state)
        return share_break("state", map_error());
    if (state->magic != SHARE_STATE_MAGIC || state->version != SHARE_VERSION)
        return share_break("state", "the file has another version");
    if (share.state)
        (void)munmap(share.state, sizeof(*state));
    share.state = state;
    share.fd = fd;
    return file_identify(fd, &share.id) || share_break("state", strerror(errno));
}

static bool byte_lock(int type, int byte, bool is_waiting)
{
    struct flock lock = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int result;

    do
        result = file_lock(share.fd, is_waiting ? F_SETLKW : F_SETLK, &lock);
    while (result < 0 && errno == EINTR);
    return result == 0;
}

/* Does another process hold the slot? A lock of our own is not seen. */
static bool slot_is_alive(int slot)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1};

    return slot == share.slot || file_lock(share.fd, F_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

/* With the lock of the sums. The slot of a process that ended counts as free. */
static bool slot_take(void)
{
    if (share.slot >= 0)
        return true;
    for (int i = 0; i < SHARE_SLOTS_MAX; i++) {
        struct share_slot *slot = &share.state->slots[i];

        if ((slot->is_taken && slot_is_alive(i)) || !byte_lock(F_WRLCK, i, false))
            continue;
        memcpy(slot->bytes, share.held, sizeof(slot->bytes));
        slot->is_taken = 1;
        if (share.state->n_slots <= (uint32_t)i)
            share.state->n_slots = (uint32_t)i + 1;
        share.slot = i;
        return true;
    }
    return share_break("state", "too many processes use the share");
}

/* A child of a fork has its parent's memory, but neither its locks nor its devices. */
static void share_notice_fork(void)
{
    pid_t pid = getpid();

    if (share.pid == pid)
        return;
    if (share.pid != 0) {
        share.is_forked = true;
        share.slot = -1;
        memset(share.held, 0, sizeof(share.held));
    }
    share.pid = pid;
}

/* Takes the mutex and the lock of the sums; false: the share is broken, and nothing is taken. */
static bool share_enter(void)
{
    (void)pthread_mutex_lock(&share.mutex);
    share_notice_fork();
    if ((share.limits || limits_open()) && state_open() &&
        byte_lock(F_WRLCK, SHARE_SLOTS_MAX, true)) {
        if (slot_take())
            return true;
        (void)byte_lock(F_UNLCK, SHARE_SLOTS_MAX, false);
    }
    (void)pthread_mutex_unlock(&share.mutex);
    return false;
}

static void share_leave(void)
{
    (void)byte_lock(F_UNLCK, SHARE_SLOTS_MAX, false);
    (void)pthread_mutex_unlock(&share.mutex);
}

bool share_open(void)
{
    if (!share_enter())
        return false;
    share_leave();
    return true;
}

bool share_is_forked(void)
{
    bool is_forked;

    (void)pthread_mutex_lock(&share.mutex);
    share_notice_fork();
    is_forked = share.is_forked;
    share.is_forked = false;
    (void)pthread_mutex_unlock(&share.mutex);
    return is_forked;
}

int share_find(const char *id)
{
    if (!share.limits && !share_open())
        return SHARE_NONE;
    for (uint32_t i = 0; i < share.limits->n_gpus; i++) {
        const char *dash = strchr(share.limits->gpus[i].uuid, '-');

        if (dash && strcmp(dash + 1, id) == 0)
            return (int)i;
    }
    return SHARE_NONE;
}

bool share_has_compute(void)
{
    if (!share.limits)
        return false;
    for (uint32_t i = 0; i < share.limits->n_gpus; i++)
        if (share.limits->gpus[i].gpu_milli < 1000)
            return true;
    return false;
}

uint64_t share_memory_bytes(int gpu)
{
    return share.limits->gpus[gpu].memory_bytes;
}

/* With the lock of the sums, as what follows. */
static uint64_t share_sum(int gpu)
{
    uint64_t sum = __atomic_load_n(&share.limits->gpus[gpu].other_bytes, __ATOMIC_RELAXED);

    for (uint32_t i = 0; i < share.state->n_slots && i < SHARE_SLOTS_MAX; i++)
        if (share.state->slots[i].is_taken)
            sum += share.state->slots[i].bytes[gpu];
    return sum;
}

/* Frees the slots of processes that ended without giving their memory back. */
static void slots_reap(void)
{
    for (uint32_t i = 0; i < share.state->n_slots && i < SHARE_SLOTS_MAX; i++)
        if (share.state->slots[i].is_taken && !slot_is_alive((int)i))
            share.state->slots[i] = (struct share_slot){0};
}

uint64_t share_used_bytes(int gpu)
{
    uint64_t sum;

    if (!share_enter())
        return UINT64_MAX;
    slots_reap();
    sum = share_sum(gpu);
    share_leave();
    return sum;
}

static bool share_fits(int gpu, uint64_t bytes)
{
    uint64_t limit = share.limits->gpus[gpu].memory_bytes;
    uint64_t sum = share_sum(gpu);

    return bytes <= limit && sum <= limit - bytes;
}

static void share_hold(int gpu, uint64_t bytes)
{
    share.held[gpu] = bytes;
    share.state->slots[share.slot].bytes[gpu] = bytes;
}

bool share_charge(int gpu, uint64_t bytes)
{
    bool fits;

    if (!share_enter())
        return false;
    fits = share_fits(gpu, bytes);
    if (!fits) {
        slots_reap();
        fits = share_fits(gpu, bytes);
    }
    if (fits)
        share_hold(gpu, share.held[gpu] + bytes);
    share_leave();
    return fits;
}

void share_charge_anyway(int gpu, uint64_t bytes)
{
    if (!share_enter())
        return;
    share_hold(gpu, share.held[gpu] + bytes);
    share_leave();
}

void share_release(int gpu, uint64_t bytes)
{
    if (!share_enter())
        return;
    share_hold(gpu, share.held[gpu] > bytes ? share.held[gpu] - bytes : 0);
    share_leave();
}

/* ---- compute ---- */

#define NS_PER_SEC INT64_C(1000000000)

enum {
    BURST_PART = 10,   /* at most 1/10 s of tokens are saved up */
    REFILL_NS = 200000 /* shortest time between two refills */
};

static int64_t clock_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

static void clock_sleep(int64_t ns)
{
    const struct timespec pause = {.tv_sec = ns / NS_PER_SEC, .tv_nsec = ns % NS_PER_SEC};

    (void)nanosleep(&pause, NULL);
}

/* a * b / c without overflow of the product; saturates. */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t c)
{
    unsigned __int128 product = (unsigned __int128)a * b / c;

    return product > INT64_MAX ? INT64_MAX : (uint64_t)product;
}

uint64_t share_rate(const struct share_limit *limit, uint64_t rate, uint64_t spent, int64_t ns)
{
    uint64_t per_sec = scale(spent, (uint64_t)NS_PER_SEC, (uint64_t)ns);
    uint64_t right = scale(per_sec, limit->gpu_milli, limit->used_milli);

    if (rate != 0 && right > 2 * rate)
        right = 2 * rate;
    if (right < rate / 2)
        right = rate / 2;
    right = rate == 0 ? right : rate / 2 + right / 2;
    return right == 0 ? 1 : right;
}

/* Takes a new measurement of the node into the rate: one process of the share does so. */
static void bucket_look(struct share_bucket *b, const struct share_limit *limit, int64_t now)
{
    uint64_t sample = __atomic_load_n(&limit->sample, __ATOMIC_ACQUIRE);
    uint64_t seen = __atomic_load_n(&b->sample, __ATOMIC_RELAXED);
    uint64_t spent = __atomic_load_n(&b->spent, __ATOMIC_RELAXED);
    int64_t ns = now - b->sample_ns;

    if (sample == seen || !__atomic_compare_exchange_n(&b->sample, &seen, sample, false,
                                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    if (b->sample_ns != 0 && ns > 0 && spent > b->sample_spent && limit->used_milli > 0)
        __atomic_store_n(&b->rate,
                         share_rate(limit, __atomic_load_n(&b->rate, __ATOMIC_RELAXED),
                                    spent - b->sample_spent, ns),
                         __ATOMIC_RELAXED);
    b->sample_spent = spent;
    b->sample_ns = now;
}

/* Whole tokens only: the time of the rest counts for the next refill. */
static void bucket_refill(struct share_bucket *b, uint64_t rate, int64_t now)
{
    int64_t last = __atomic_load_n(&b->refilled_ns, __ATOMIC_RELAXED);
    int64_t since = now - last > NS_PER_SEC ? now - NS_PER_SEC : last;
    int64_t most = (int64_t)(rate / BURST_PART) + 1;
    int64_t more = (int64_t)scale(rate, (uint64_t)(now - since), (uint64_t)NS_PER_SEC);
    int64_t until = since + (int64_t)scale((uint64_t)more, (uint64_t)NS_PER_SEC, rate);
    int64_t tokens;

    if (more == 0 || now - last < REFILL_NS ||
        !__atomic_compare_exchange_n(&b->refilled_ns, &last, until, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    tokens = __atomic_load_n(&b->tokens, __ATOMIC_RELAXED);
    while (tokens < most && !__atomic_compare_exchange_n(
                                &b->tokens, &tokens, tokens + more > most ? most : tokens + more,
                                false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
}

/* The time until a debt is paid, within bounds in which a new rate is noticed. */
static int64_t bucket_pause_ns(int64_t debt, uint64_t rate)
{
    uint64_t ns = scale((uint64_t)debt + 1, (uint64_t)NS_PER_SEC, rate);

    if (ns < REFILL_NS)
        return REFILL_NS;
    return ns > 10000000 ? 10000000 : (int64_t)ns;
}

void share_launch(int gpu, uint64_t threads)
{
    const struct share_limit *limit = &share.limits->gpus[gpu];
    struct share_bucket *b;
    uint64_t rate;

    if (limit->gpu_milli >= 1000 || !share.state)
        return;
    b = &share.state->buckets[gpu];
    for (;;) {
        int64_t now = clock_ns();
        int64_t tokens;

        bucket_look(b, limit, now);
        rate = __atomic_load_n(&b->rate, __ATOMIC_RELAXED);
        if (rate == 0)
            break;
        bucket_refill(b, rate, now);
        tokens = __atomic_load_n(&b->tokens, __ATOMIC_RELAXED);
        if (tokens > 0)
            break;
        clock_sleep(bucket_pause_ns(-tokens, rate));
    }
    if (rate != 0)
        (void)__atomic_sub_fetch(&b->tokens, (int64_t)threads, __ATOMIC_RELAXED);
    (void)__atomic_add_fetch(&b->spent, threads, __ATOMIC_RELAXED);
}
