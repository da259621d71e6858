/* gpu_watch_linux.c - questions to the helpers, one at a time, each with a deadline */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/retry.h"
#include "base/vec.h"
#include "gpu/gpu_watch.h"
#include "gpu/kernel_log.h"

enum {
    GPUS_MAX = 64,
    SUCCESSORS_MAX = 2,
    STALE_PERIODS = 10,
    LEAST_PAUSE_PART = 4,     /* of a period, between two rounds of samples */
    LINE_MAX_BYTES = 1 << 20, /* a driver root has some hundred files */
    NO_DRIVER = 404           /* the code of errors of the driver as a whole */
};

/* Delay before the restart of a helper that ended (did not hang): 1 s, 2 s ... */
#define RESTART_FIRST_NS (NS_1S)
#define NS_1S            INT64_C(1000000000)
#define RESTART_MOST_NS  (60 * NS_1S)
#define LIST_EVERY_NS    (60 * NS_1S)
#define LIST_SOON_NS     (5 * NS_1S) /* after a list with an unreadable gpu */

enum question {
    ASK_NOTHING,
    ASK_LIST,
    ASK_SAMPLE
};

struct helper_link {
    struct gpu_watch *watch;
    struct proc *proc;
    struct loop_io *io;
    int to_fd;
    int from_fd;
    struct buf in;
    bool is_events;
};

/* A helper that hangs in the driver. */
struct hung_helper {
    struct gpu_watch *watch;
    struct proc *proc; /* NULL: the slot is empty */
    unsigned index;    /* the gpu of the question */
};

/* Of the last sample of one gpu. */
struct gpu_details {
    VEC(struct gpu_sample) slices;
    VEC(struct gpu_use) uses;
};

struct gpu_watch {
    struct gpu_watch_options o;
    char root_env[4200];
    char machine_env[4200];
    char sys_env[4200];
    struct helper_link sampler;
    struct helper_link events;
    struct kernel_log *kernel_log; /* NULL: not followed yet */
    struct loop_timer *tick;
    struct loop_timer *deadline;
    struct loop_timer *restart;
    int64_t restart_ns;
    enum question question;
    unsigned asked; /* ASK_SAMPLE: the gpu; ASK_LIST: number of gpus read */
    struct hung_helper hung[SUCCESSORS_MAX + 1];
    unsigned abandoned; /* number of hung helpers */
    bool is_renewed;    /* restart the sampler, to skip fewer gpus */
    bool is_skipped[GPUS_MAX];
    bool is_paused;
    bool is_ready;
    bool is_driver_there;
    char problem[256];
    struct gpu_driver_info info;
    struct driver_root *root; /* NULL: not known yet */
    struct gpu gpus[GPUS_MAX];
    size_t n;
    struct gpu read[GPUS_MAX];   /* the gpus as in the driver's list */
    struct gpu listed[GPUS_MAX]; /* the list being received */
    size_t n_listed;
    int64_t listed_ns;
    int64_t round_ns; /* the beginning of the round of samples */
    uint64_t n_lists;
    bool is_list_partial; /* a gpu of it could not be read */
    struct gpu_conditions conditions;
    struct gpu_details details[GPUS_MAX]; /* by index in `gpus` */
};

static void start_helper(struct gpu_watch *w, struct helper_link *h);
static void watch_ask(struct gpu_watch *w, enum question question, unsigned index);

static void changed(struct gpu_watch *w)
{
    if (w->o.on_change)
        w->o.on_change(w->o.arg);
}

static void close_link(struct helper_link *h)
{
    loop_io_free(h->io);
    h->io = NULL;
    fd_close(h->to_fd);
    fd_close(h->from_fd);
    h->to_fd = -1;
    h->from_fd = -1;
    buf_done(&h->in);
    if (h->proc)
        proc_abandon(h->proc);
    h->proc = NULL;
}

/* Updates the health of gpu `i`. False: nothing changed. */
static bool gpu_judge(struct gpu_watch *w, size_t i)
{
    struct gpu *g = &w->gpus[i];
    const struct gpu_condition *c = gpu_condition_of(&w->conditions, g->uuid);
    const struct gpu before = *g;

    if (c)
        gpu_condition_apply(c, &w->read[i], g);
    return g->health != before.health || strcmp(g->health_reason, before.health_reason) != 0;
}

static void set_not_answering(struct gpu_watch *w, size_t i, const char *reason)
{
    struct gpu *both[] = {&w->gpus[i], &w->read[i]};

    for (size_t k = 0; k < 2; k++) {
        both[k]->health = GPU_NOT_ANSWERING;
        (void)snprintf(both[k]->health_reason, sizeof(both[k]->health_reason), "%s", reason);
    }
    changed(w);
}

static bool hangs_for(const struct gpu_watch *w, unsigned index)
{
    for (size_t i = 0; i < COUNT(w->hung); i++)
        if (w->hung[i].proc && w->hung[i].index == index)
            return true;
    return false;
}

/* The driver released a hung helper: sample its gpu again. */
static void on_hung_end(void *arg, const struct proc_end *end)
{
    struct hung_helper *h = arg;
    struct gpu_watch *w = h->watch;

    (void)end;
    h->proc = NULL;
    w->abandoned--;
    if (h->index < GPUS_MAX)
        w->is_skipped[h->index] = hangs_for(w, h->index);
    w->is_renewed = true;
    if (!w->sampler.proc)
        loop_timer_set(w->restart, w->restart_ns);
}

static void abandon_sampler(struct gpu_watch *w, unsigned index)
{
    struct hung_helper *h = w->hung;
    struct proc *proc = w->sampler.proc;

    while (h->proc)
        h++; /* there is a free slot: no helper starts while all slots are taken */
    *h = (struct hung_helper){.watch = w, .proc = proc, .index = index};
    w->sampler.proc = NULL;
    proc_hand_over(proc, on_hung_end, h);
    close_link(&w->sampler);
    w->abandoned++;
}

/* The helper hangs in the driver: abandon the helper, and skip its gpu from now on. */
static void gpu_watch_on_deadline(void *arg)
{
    struct gpu_watch *w = arg;
    unsigned index = w->asked;

    abandon_sampler(w, index);
    if (index < GPUS_MAX)
        w->is_skipped[index] = true;
    if (index < w->n)
        set_not_answering(w, index, "the driver does not answer for it");
    w->question = ASK_NOTHING;
    if (w->abandoned <= SUCCESSORS_MAX) {
        start_helper(w, &w->sampler);
        return;
    }
    (void)snprintf(w->problem, sizeof(w->problem),
                   "the driver does not answer: %u helpers hang in it", w->abandoned);
    w->is_ready = true;
    for (size_t i = 0; i < w->n; i++)
        set_not_answering(w, i, "the driver does not answer");
    changed(w);
}

static void on_restart(void *arg)
{
    struct gpu_watch *w = arg;

    if (w->is_paused)
        return;
    if (!w->sampler.proc && w->abandoned <= SUCCESSORS_MAX)
        start_helper(w, &w->sampler);
    if (!w->events.proc && w->is_driver_there)
        start_helper(w, &w->events);
}

static void gpu_watch_on_end(void *arg, const struct proc_end *end)
{
    struct helper_link *h = arg;
    struct gpu_watch *w = h->watch;

    (void)end;
    h->proc = NULL;
    close_link(h);
    if (!h->is_events) {
        w->question = ASK_NOTHING;
        loop_timer_stop(w->deadline);
    }
    loop_timer_set(w->restart, w->restart_ns);
    (void)retry_pause(&w->restart_ns, RESTART_FIRST_NS, RESTART_MOST_NS);
}

static bool is_listed(const struct gpu_watch *w, const char *uuid)
{
    for (size_t i = 0; i < w->n_listed; i++)
        if (strcmp(w->listed[i].uuid, uuid) == 0)
            return true;
    return false;
}

/* A gpu that could not be read has no UUID: assume the gpu that had this index before, unless the
 * list has that gpu at another index. */
static void gpu_recall(struct gpu_watch *w, size_t i)
{
    struct gpu *fresh = &w->listed[i];
    struct gpu known = {0};

    if (fresh->uuid[0] || i >= w->n || w->n != w->n_listed || is_listed(w, w->read[i].uuid))
        return;
    known = w->read[i];
    known.health = fresh->health;
    memcpy(known.health_reason, fresh->health_reason, sizeof(known.health_reason));
    *fresh = known;
}

static void watch_add_xid(struct gpu_watch *w, const struct gpu_xid *x)
{
    gpu_conditions_add_xid(&w->conditions, x);
    for (size_t i = 0; i < w->n; i++)
        (void)gpu_judge(w, i);
    changed(w);
}

static void on_kernel_xid(void *arg, const struct kernel_xid *k)
{
    struct gpu_watch *w = arg;
    struct gpu_xid x = {.xid = k->xid,
                        .instance = k->instance,
                        .kernel_seq = k->seq,
                        .is_decoded = k->is_decoded,
                        .action = k->action,
                        .at_ns = k->at_ns};

    for (size_t i = 0; i < w->n; i++) {
        if (!w->gpus[i].uuid[0] || !kernel_xid_is_of(k, w->gpus[i].pci))
            continue;
        memcpy(x.uuid, w->gpus[i].uuid, sizeof(x.uuid));
        watch_add_xid(w, &x);
        return;
    }
}

/* Follows the kernel's log, once the gpus are known. */
static void watch_kernel(struct gpu_watch *w)
{
    const char *slash = w->o.machine ? strrchr(w->o.machine, '/') : NULL;
    AUTO_FREE char *path =
        slash ? mem_format("%.*skmsg", (int)(slash + 1 - w->o.machine), w->o.machine)
              : mem_strdup("/dev/kmsg");

    if (!w->kernel_log)
        w->kernel_log = kernel_log_new(w->o.loop, path, w->o.machine != NULL, on_kernel_xid, w);
}

static void take_list(struct gpu_watch *w)
{
    w->is_list_partial = false;
    for (size_t i = 0; i < w->n_listed; i++) {
        w->is_list_partial |= w->listed[i].health != GPU_HEALTHY;
        gpu_recall(w, i);
    }
    w->n = w->n_listed;
    for (size_t i = 0; i < w->n; i++) {
        w->read[i] = w->listed[i];
        w->gpus[i] = w->listed[i];
        (void)gpu_judge(w, i);
    }
    w->listed_ns = loop_now_ns(w->o.loop);
    w->n_lists++;
    w->is_ready = true;
    w->is_driver_there = true;
    w->problem[0] = '\0';
    w->restart_ns = RESTART_FIRST_NS;
    if (!w->events.proc)
        start_helper(w, &w->events);
    watch_kernel(w);
    changed(w);
}

/* The first gpu from `index` on that may be sampled; GPUS_MAX: none. */
static unsigned next_gpu(const struct gpu_watch *w, unsigned index)
{
    for (; index < w->n; index++) {
        if (!w->is_skipped[index])
            return index;
    }
    return GPUS_MAX;
}

static void answered(struct gpu_watch *w)
{
    loop_timer_stop(w->deadline);
    w->question = ASK_NOTHING;
}

static void sample_from(struct gpu_watch *w, unsigned index)
{
    unsigned next = next_gpu(w, index);
    int64_t now_ns = loop_now_ns(w->o.loop);
    int64_t pause_ns;

    if (index == 0)
        w->round_ns = now_ns;
    if (next < GPUS_MAX) {
        watch_ask(w, ASK_SAMPLE, next);
        return;
    }
    pause_ns = w->round_ns + w->o.sample_every_ns - now_ns;
    if (pause_ns < w->o.sample_every_ns / LEAST_PAUSE_PART) /* a slow driver gets its rest */
        pause_ns = w->o.sample_every_ns / LEAST_PAUSE_PART;
    loop_timer_set(w->tick, pause_ns);
    if (w->o.on_round && w->n > 0)
        w->o.on_round(w->o.arg);
}

static void on_list_line(struct gpu_watch *w, const json_t *j)
{
    const json_t *gpu = json_object_get(j, "gpu");
    AUTO(err_freep) struct err *e = NULL;

    if (json_text(j, "driver")) {
        w->n_listed = 0;
        (void)snprintf(w->info.driver_version, sizeof(w->info.driver_version), "%s",
                       json_text(j, "driver"));
        (void)snprintf(w->info.cuda_version, sizeof(w->info.cuda_version), "%s",
                       json_text(j, "cuda") ? json_text(j, "cuda") : "");
        w->info.is_emulated = json_bool(j, "emulated", false);
    } else if (json_object_get(j, "read")) {
        w->asked = (unsigned)json_int(j, "read", 0) + 1;
        loop_timer_set(w->deadline, w->o.deadline_ns);
    } else if (gpu && w->n_listed < GPUS_MAX) {
        struct gpu *g = &w->listed[w->n_listed];

        e = gpu_parse_json(gpu, g);
        if (e)
            *g = (struct gpu){.index = (int)w->n_listed, .health = GPU_NOT_ANSWERING};
        w->n_listed++;
    } else if (json_bool(j, "end", false)) {
        answered(w);
        take_list(w);
        sample_from(w, 0);
    }
}

static void watch_take_details(struct gpu_watch *w, unsigned index, const json_t *j)
{
    const struct gpu *g = &w->gpus[index];
    struct gpu_details *d = &w->details[index];
    const json_t *one;
    size_t i;

    vec_clear(&d->slices);
    vec_clear(&d->uses);
    json_array_foreach (json_object_get(j, "slices"), i, one) {
        struct gpu_sample s = gpu_sample_parse_values(json_object_get(one, "sample"));
        const char *uuid = json_text(one, "uuid");

        s.at_ns = loop_now_ns(w->o.loop);
        (void)snprintf(s.uuid, sizeof(s.uuid), "%s", uuid ? uuid : "");
        memcpy(s.parent, g->uuid, sizeof(s.parent));
        vec_add(&d->slices, s);
    }
    json_array_foreach (json_object_get(j, "uses"), i, one)
        vec_add(&d->uses, gpu_use_parse_json(one));
}

static void on_sample_line(struct gpu_watch *w, const json_t *j)
{
    const json_t *sample = json_object_get(j, "sample");
    unsigned index = w->asked;
    struct gpu_condition *c = NULL;
    int64_t recovery = GPU_VALUE_UNKNOWN; /* the driver's recovery action before */
    bool has_changed = false;

    if (!sample || index >= w->n)
        return;
    c = gpu_condition_of(&w->conditions, w->gpus[index].uuid);
    if (c) {
        const struct gpu_sample s = gpu_sample_parse_values(sample);

        recovery = c->sample.at_ns ? c->sample.value[GPU_FIELD_RECOVERY_ACTION] : 0;
        has_changed = s.value[GPU_FIELD_RECOVERY_ACTION] != recovery;
        gpu_condition_sampled(c, &s, loop_now_ns(w->o.loop));
    }
    watch_take_details(w, index, j);
    if (gpu_judge(w, index) || has_changed)
        changed(w);
    answered(w);
    sample_from(w, index + 1);
}

/*
 * The driver does not work (any more): its gpus cannot be used until a new helper lists them. NVML
 * has to be opened anew after the driver was loaded or replaced, so the helper ends.
 */
static void driver_failed(struct gpu_watch *w, const char *why)
{
    (void)snprintf(w->problem, sizeof(w->problem), "%.250s", why);
    w->is_ready = true;
    w->is_driver_there = false;
    for (size_t i = 0; i < w->n; i++) {
        w->gpus[i].health = GPU_NOT_ANSWERING; /* pods may go on: the hardware is there */
        (void)snprintf(w->gpus[i].health_reason, sizeof(w->gpus[i].health_reason), "%.120s", why);
    }
    close_link(&w->sampler);
    close_link(&w->events);
    loop_timer_set(w->restart, w->restart_ns);
    (void)retry_pause(&w->restart_ns, RESTART_FIRST_NS, RESTART_MOST_NS);
    changed(w);
}

static void on_error_line(struct gpu_watch *w, const json_t *j)
{
    enum question question = w->question;
    unsigned index = w->asked;

    answered(w);
    if (question == ASK_SAMPLE && index < w->n && json_int(j, "code", 0) != NO_DRIVER) {
        struct gpu_condition *c = gpu_condition_of(&w->conditions, w->gpus[index].uuid);

        if (c)
            gpu_condition_failed(c, json_int(j, "code", 0) == 503, json_text(j, "error"));
        if (gpu_judge(w, index))
            changed(w);
        sample_from(w, index + 1);
        return;
    }
    driver_failed(w, json_text(j, "error"));
}

static void on_root_line(struct gpu_watch *w, const json_t *j)
{
    struct driver_root *root = NULL;
    AUTO(err_freep) struct err *e = driver_root_parse_json(j, &root);

    if (e)
        return;
    driver_root_free(w->root);
    w->root = root;
    changed(w);
}

static void on_event_line(struct gpu_watch *w, const json_t *event)
{
    const char *uuid = json_text(event, "uuid");
    struct gpu_xid x = {.xid = json_int(event, "xid", -1),
                        .instance = (int)json_int(event, "instance", -1),
                        .kernel_seq = -1};

    if (!uuid || strlen(uuid) >= sizeof(x.uuid))
        return;
    (void)snprintf(x.uuid, sizeof(x.uuid), "%s", uuid);
    watch_add_xid(w, &x);
}

static void gpu_watch_on_line(struct helper_link *h, struct str line)
{
    AUTO(json_freep) json_t *j = NULL;
    AUTO(err_freep) struct err *e = json_parse(line, &j);
    struct gpu_watch *w = h->watch;

    if (e)
        return;
    if (json_object_get(j, "event"))
        on_event_line(w, json_object_get(j, "event"));
    else if (h->is_events)
        return;
    else if (json_object_get(j, "root"))
        on_root_line(w, json_object_get(j, "root"));
    else if (json_text(j, "error"))
        on_error_line(w, j);
    else if (w->question == ASK_LIST)
        on_list_line(w, j);
    else if (w->question == ASK_SAMPLE)
        on_sample_line(w, j);
}

static void gpu_watch_on_readable(void *arg, int fd, bool readable, bool writable)
{
    struct helper_link *h = arg;
    char piece[4096];
    ssize_t n = read(fd, piece, sizeof(piece));

    (void)readable;
    (void)writable;
    if (n <= 0) {
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        loop_io_want(h->io, false, false); /* gpu_watch_on_end reports its end */
        return;
    }
    buf_add(&h->in, piece, (size_t)n);
    while (h->in.at && h->from_fd == fd) {
        const char *end = memchr(h->in.at, '\n', h->in.size);
        AUTO_FREE char *line = NULL;
        size_t size;

        if (!end)
            break;
        size = (size_t)(end - h->in.at);
        line = mem_strndup(h->in.at, size);
        buf_consume(&h->in, size + 1);
        gpu_watch_on_line(h, (struct str){.at = line, .size = size});
    }
}

static void watch_ask(struct gpu_watch *w, enum question question, unsigned index)
{
    char line[32] = "list\n";
    size_t size;

    if (question == ASK_SAMPLE)
        (void)snprintf(line, sizeof(line), "sample %u\n", index);
    size = strlen(line);
    w->question = question;
    w->asked = index;
    loop_timer_set(w->deadline, w->o.deadline_ns);
    /* A question fits the pipe's buffer; if it does not, the deadline handles the failure. */
    if (write(w->sampler.to_fd, line, size) != (ssize_t)size)
        loop_timer_set(w->deadline, 0);
}

static void on_tick(void *arg)
{
    struct gpu_watch *w = arg;

    if (!w->sampler.proc || w->question != ASK_NOTHING)
        return;
    if (w->is_renewed) {
        close_link(&w->sampler); /* the helper ends with its input */
        start_helper(w, &w->sampler);
        return;
    }
    if (loop_now_ns(w->o.loop) - w->listed_ns > (w->is_list_partial ? LIST_SOON_NS : LIST_EVERY_NS))
        watch_ask(w, ASK_LIST, 0);
    else
        sample_from(w, 0);
}

static struct err *helper_spawn(struct gpu_watch *w, struct helper_link *h)
{
    AUTO(fd_closep) int in_read = -1;
    AUTO(fd_closep) int out_write = -1;
    char numbers[GPUS_MAX][8];
    const char *argv[GPUS_MAX + 4] = {w->o.self_path, "gpu-helper",
                                      h->is_events ? "events" : "sample"};
    const char *env[] = {w->root_env, w->machine_env, w->sys_env, "METE_GPUSIM_ALL=1", NULL};
    size_t n = 3;
    int in[2];
    int out[2];
    struct err *e;

    for (unsigned i = 0; i < GPUS_MAX; i++) {
        if (!w->is_skipped[i])
            continue;
        (void)snprintf(numbers[i], sizeof(numbers[i]), "%u", i);
        argv[n++] = numbers[i];
    }
    if (pipe2(in, O_CLOEXEC) < 0)
        return err_errno(errno, "pipe to the gpu helper");
    in_read = in[0];
    h->to_fd = in[1];
    if (pipe2(out, O_CLOEXEC) < 0)
        return err_errno(errno, "pipe from the gpu helper");
    h->from_fd = out[0];
    out_write = out[1];
    if (fcntl(h->to_fd, F_SETFL, O_NONBLOCK) < 0 || fcntl(h->from_fd, F_SETFL, O_NONBLOCK) < 0)
        return err_errno(errno, "pipes of the gpu helper");
    e = proc_start(w->o.loop,
                   &(struct proc_options){
                       .argv = argv, .env = env, .fds = {in_read, out_write, 2}, .n_fds = 3},
                   gpu_watch_on_end, h, &h->proc);
    return e ? err_wrap(e, "start the gpu helper") : NULL;
}

static void start_helper(struct gpu_watch *w, struct helper_link *h)
{
    AUTO(err_freep) struct err *e = NULL;

    h->in = (struct buf){.cap = LINE_MAX_BYTES};
    w->is_renewed = w->is_renewed && h->is_events;
    e = helper_spawn(w, h);
    if (e) {
        close_link(h);
        (void)snprintf(w->problem, sizeof(w->problem), "%.250s", err_message(e));
        loop_timer_set(w->restart, w->restart_ns);
        return;
    }
    h->io = loop_io_new(w->o.loop, h->from_fd, gpu_watch_on_readable, h);
    loop_io_want(h->io, true, false);
    if (!h->is_events)
        watch_ask(w, ASK_LIST, 0);
}

uint64_t gpu_watch_list_number(const struct gpu_watch *w)
{
    return w->n_lists;
}

void gpu_watch_pause(struct gpu_watch *w)
{
    w->is_paused = true;
    w->question = ASK_NOTHING;
    loop_timer_stop(w->deadline);
    loop_timer_stop(w->tick);
    close_link(&w->sampler); /* the helpers end with their input */
    close_link(&w->events);
}

void gpu_watch_resume(struct gpu_watch *w)
{
    w->is_paused = false;
    loop_timer_set(w->restart, 0);
}

struct err *gpu_watch_new(const struct gpu_watch_options *o, struct gpu_watch **ret)
{
    struct gpu_watch *w = mem_alloc(sizeof(*w));

    w->o = *o;
    if (!w->o.sample_every_ns)
        w->o.sample_every_ns = NS_1S;
    if (!w->o.deadline_ns)
        w->o.deadline_ns = 10 * NS_1S;
    (void)snprintf(w->root_env, sizeof(w->root_env), "METE_DRIVER_ROOT=%s",
                   o->driver_root ? o->driver_root : "");
    (void)snprintf(w->machine_env, sizeof(w->machine_env), "METE_GPUSIM_MACHINE=%s",
                   o->machine ? o->machine : "");
    (void)snprintf(w->sys_env, sizeof(w->sys_env), "METE_SYSFS=%s",
                   o->sys       ? o->sys
                   : o->machine ? ""
                                : "/sys");
    w->restart_ns = RESTART_FIRST_NS;
    w->sampler = (struct helper_link){.watch = w, .to_fd = -1, .from_fd = -1};
    w->events = (struct helper_link){.watch = w, .to_fd = -1, .from_fd = -1, .is_events = true};
    w->tick = loop_timer_new(o->loop, on_tick, w);
    w->deadline = loop_timer_new(o->loop, gpu_watch_on_deadline, w);
    w->restart = loop_timer_new(o->loop, on_restart, w);
    start_helper(w, &w->sampler);
    *ret = w;
    return NULL;
}

void gpu_watch_free(struct gpu_watch *w)
{
    if (!w)
        return;
    close_link(&w->sampler);
    close_link(&w->events);
    kernel_log_free(w->kernel_log);
    for (size_t i = 0; i < COUNT(w->hung); i++)
        if (w->hung[i].proc)
            proc_abandon(w->hung[i].proc);
    loop_timer_free(w->tick);
    loop_timer_free(w->deadline);
    loop_timer_free(w->restart);
    driver_root_free(w->root);
    for (size_t i = 0; i < COUNT(w->details); i++) {
        vec_done(&w->details[i].slices);
        vec_done(&w->details[i].uses);
    }
    free(w);
}

bool gpu_watch_is_ready(const struct gpu_watch *w)
{
    return w->is_ready;
}

const struct gpu_driver_info *gpu_watch_info(const struct gpu_watch *w)
{
    return w->is_driver_there ? &w->info : NULL;
}

const struct driver_root *gpu_watch_root(const struct gpu_watch *w)
{
    return w->root;
}

const char *gpu_watch_problem(const struct gpu_watch *w)
{
    return w->problem;
}

const struct gpu *gpu_watch_list(const struct gpu_watch *w, size_t *ret_count)
{
    *ret_count = w->n;
    return w->gpus;
}

const struct gpu_sample *gpu_watch_sample(const struct gpu_watch *w, const char *uuid)
{
    int64_t now_ns = loop_now_ns(w->o.loop);

    for (size_t i = 0; i < w->conditions.n; i++) {
        const struct gpu_sample *s = &w->conditions.list[i].sample;

        if (strcmp(w->conditions.list[i].uuid, uuid) != 0)
            continue;
        return s->at_ns && now_ns - s->at_ns < STALE_PERIODS * w->o.sample_every_ns ? s : NULL;
    }
    return NULL;
}

const struct gpu_sample *gpu_watch_slices(const struct gpu_watch *w, size_t index,
                                          size_t *ret_count)
{
    *ret_count = w->details[index].slices.n;
    return w->details[index].slices.at;
}

const struct gpu_use *gpu_watch_uses(const struct gpu_watch *w, size_t index, size_t *ret_count)
{
    *ret_count = w->details[index].uses.n;
    return w->details[index].uses.at;
}

bool gpu_watch_next_xid(struct gpu_watch *w, struct gpu_xid *ret, uint64_t *ret_dropped)
{
    *ret_dropped = w->conditions.n_dropped;
    return gpu_conditions_next_xid(&w->conditions, ret);
}
