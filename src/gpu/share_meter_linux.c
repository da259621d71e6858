/* share_meter_linux.c - the helper that measures shares: its input, the driver, the files */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/vec.h"
#include "gpu/share_meter.h"

enum {
    PERIOD_MS = 200,
    METER_GPUS_MAX = 64,
    CGROUP_CAP = 4096,
    INPUT_CAP = 1 << 20
};

struct metered_share {
    char *pod;
    char *dir;
    struct share_limits *limits;
    const struct share_state *state;
    struct share_surplus surplus[SHARE_GPUS_MAX];
    struct share_reading reading[SHARE_GPUS_MAX];
    uint64_t held[SHARE_GPUS_MAX];
    bool is_read[SHARE_GPUS_MAX];
    unsigned n_over[SHARE_GPUS_MAX];
    bool is_kept; /* of the list that came last */
};

struct share_meter {
    struct gpu_driver *driver;
    VEC(struct metered_share) shares;
    unsigned long long since_us[METER_GPUS_MAX];
    struct buf in;
};

static struct err *share_map(const char *dir, const char *name, size_t size, int protection,
                             void **ret)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO(fd_closep)
    int fd = open(path, ((protection & PROT_WRITE) ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW);
    struct stat st = {0};
    void *at;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_errno(errno, "open %s", path);
    if (st.st_size < (off_t)size)
        return err_new(ERR_INVALID, "%s: the file is too short", path);
    at = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return err_errno(errno, "map %s", path);
    *ret = at;
    return NULL;
}

static void metered_done(struct metered_share *s)
{
    if (s->limits)
        (void)munmap(s->limits, sizeof(*s->limits));
    if (s->state)
        (void)munmap((void *)(uintptr_t)s->state, sizeof(*s->state));
    free(s->pod);
    free(s->dir);
    *s = (struct metered_share){0};
}

static struct err *metered_open(const char *pod, const char *dir, struct metered_share *ret)
{
    void *limits = NULL;
    void *state = NULL;
    struct err *e;

    TRY(share_map(dir, "limits", sizeof(struct share_limits), PROT_READ | PROT_WRITE, &limits));
    e = share_map(dir, "state", sizeof(struct share_state), PROT_READ, &state);
    if (e) {
        (void)munmap(limits, sizeof(struct share_limits));
        return e;
    }
    *ret = (struct metered_share){.pod = mem_strdup(pod),
                                  .dir = mem_strdup(dir),
                                  .limits = limits,
                                  .state = state,
                                  .is_kept = true};
    return NULL;
}

static struct metered_share *meter_find(struct share_meter *m, const char *dir)
{
    VEC_EACH (&m->shares, s) {
        if (strcmp(s->dir, dir) == 0)
            return s;
    }
    return NULL;
}

/* A share whose files cannot be opened is not measured: its pod may have ended meanwhile. */
static void meter_add(struct share_meter *m, const json_t *entry)
{
    const char *pod = json_text(entry, "pod");
    const char *dir = json_text(entry, "dir");
    AUTO(err_freep) struct err *e = NULL;
    struct metered_share s = {0};

    if (!pod || !*pod || !dir)
        return;
    if (meter_find(m, dir)) {
        meter_find(m, dir)->is_kept = true;
        return;
    }
    e = metered_open(pod, dir, &s);
    if (e)
        (void)fprintf(stderr, "share meter: %s\n", err_message(e));
    else
        vec_add(&m->shares, s);
}

static void meter_take_list(struct share_meter *m, struct str line)
{
    AUTO(json_freep) json_t *message = NULL;
    AUTO(err_freep) struct err *e = json_parse(line, &message);
    const json_t *entry;
    size_t n = 0;
    size_t i;

    if (e) {
        (void)fprintf(stderr, "share meter: %s\n", err_message(e));
        return;
    }
    VEC_EACH (&m->shares, s) {
        s->is_kept = false;
    }
    json_array_foreach (json_object_get(message, "shares"), i, entry)
        meter_add(m, entry);
    for (i = 0; i < m->shares.n; i++) {
        if (m->shares.at[i].is_kept)
            m->shares.at[n++] = m->shares.at[i];
        else
            metered_done(&m->shares.at[i]);
    }
    m->shares.n = n;
}

/* The index of the gpu's limit, or -1. */
static int metered_gpu(const struct metered_share *s, const char *uuid)
{
    for (uint32_t i = 0; i < s->limits->n_gpus && i < SHARE_GPUS_MAX; i++)
        if (strcmp(s->limits->gpus[i].uuid, uuid) == 0)
            return (int)i;
    return -1;
}

/* The text of /proc/PID/cgroup; false: the process has ended. */
static bool cgroup_read(unsigned pid, struct buf *ret)
{
    AUTO_FREE char *path = mem_format("/proc/%u/cgroup", pid);
    AUTO(err_freep) struct err *e = file_read(path, CGROUP_CAP, ret);

    return e == NULL;
}

static void meter_count(struct share_meter *m, const struct gpu_process *p, const char *uuid)
{
    AUTO(buf_done) struct buf cgroup = {0};

    if (!cgroup_read(p->pid, &cgroup))
        return;
    VEC_EACH (&m->shares, s) {
        int gpu = metered_gpu(s, uuid);

        if (gpu < 0 || !share_meter_is_of(cgroup.at, s->pod))
            continue;
        s->reading[gpu].bytes += p->memory_bytes > 0 ? (uint64_t)p->memory_bytes : 0;
        s->reading[gpu].n_processes++;
        s->reading[gpu].sm_milli += p->sm_milli > 0 ? (unsigned)p->sm_milli : 0;
        s->reading[gpu].has_sm = s->reading[gpu].has_sm || p->sm_milli >= 0;
    }
}

static bool meter_wants(const struct share_meter *m, const char *uuid)
{
    VEC_EACH (&m->shares, s) {
        if (metered_gpu(s, uuid) >= 0)
            return true;
    }
    return false;
}

/* A gpu whose driver fails keeps its shares' last measurement. */
static void meter_read_gpu(struct share_meter *m, unsigned index)
{
    struct gpu_process list[GPU_PROCESSES_MAX];
    char uuid[GPU_TEXT_SIZE];
    size_t n = 0;
    struct err *e = gpu_driver_uuid(m->driver, index, uuid);

    if (!e && meter_wants(m, uuid))
        e = gpu_driver_processes(m->driver, index, &m->since_us[index], list, GPU_PROCESSES_MAX,
                                 &n);
    if (e) {
        err_free(e);
        return;
    }
    VEC_EACH (&m->shares, s) {
        int gpu = metered_gpu(s, uuid);

        if (gpu >= 0)
            s->is_read[gpu] = true;
    }
    for (size_t i = 0; i < n; i++)
        meter_count(m, &list[i], uuid);
}

static void metered_tell_over(const struct metered_share *s, uint32_t gpu)
{
    AUTO(json_freep) json_t *line = json_object();
    json_t *over = json_object_at(line, "over");
    AUTO_FREE char *text = NULL;

    json_put_text(over, "pod", s->pod);
    json_put_text(over, "gpu", s->limits->gpus[gpu].uuid);
    json_put_int(over, "bytes", (int64_t)s->reading[gpu].bytes);
    json_put_int(over, "limit", (int64_t)s->limits->gpus[gpu].memory_bytes);
    text = json_format(line);
    (void)printf("%s\n", text);
    (void)fflush(stdout); /* a parent that is gone closes our input, too */
}

static void metered_note(struct metered_share *s, uint32_t gpu)
{
    uint64_t after = share_meter_held(s->state, gpu);

    share_meter_note(&s->limits->gpus[gpu], &s->surplus[gpu], &s->reading[gpu],
                     after > s->held[gpu] ? after : s->held[gpu]);
    if (share_meter_is_over(&s->limits->gpus[gpu], &s->reading[gpu], &s->n_over[gpu]))
        metered_tell_over(s, gpu);
}

static void meter_tick(struct share_meter *m)
{
    unsigned n = 0;
    AUTO(err_freep) struct err *e = gpu_driver_count(m->driver, &n);

    VEC_EACH (&m->shares, s) {
        memset(s->reading, 0, sizeof(s->reading));
        memset(s->is_read, 0, sizeof(s->is_read));
        for (uint32_t i = 0; i < SHARE_GPUS_MAX; i++)
            s->held[i] = share_meter_held(s->state, i);
    }
    for (unsigned i = 0; i < n && i < METER_GPUS_MAX; i++)
        meter_read_gpu(m, i);
    VEC_EACH (&m->shares, s) {
        for (uint32_t i = 0; i < s->limits->n_gpus && i < SHARE_GPUS_MAX; i++)
            if (s->is_read[i])
                metered_note(s, i);
    }
}

/* Reads what has come. False: the input has ended. */
static bool meter_hear(struct share_meter *m)
{
    char bytes[4096];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
    const char *end;

    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == 0 || m->in.size > INPUT_CAP)
        return false;
    buf_add(&m->in, bytes, (size_t)n);
    while ((end = memchr(m->in.at, '\n', m->in.size))) {
        size_t size = (size_t)(end - m->in.at);

        meter_take_list(m, (struct str){m->in.at, size});
        memmove(m->in.at, end + 1, m->in.size - size - 1);
        m->in.size -= size + 1;
    }
    return true;
}

static int64_t meter_clock_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int share_meter_serve(struct gpu_driver *d)
{
    struct share_meter m = {.driver = d};
    int64_t next = meter_clock_ms();
    bool is_open = true;

    while (is_open) {
        struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
        int64_t left = next - meter_clock_ms();

        if (poll(&in, 1, left > 0 ? (int)left : 0) > 0)
            is_open = meter_hear(&m);
        if (meter_clock_ms() < next)
            continue;
        next = meter_clock_ms() + PERIOD_MS;
        meter_tick(&m);
    }
    VEC_EACH (&m.shares, s) {
        metered_done(s);
    }
    vec_done(&m.shares);
    buf_done(&m.in);
    return 0;
}
