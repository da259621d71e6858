/*
 * launch.c - the cost of an attempt of `true` in each runtime: create, start, end and remove
 *
 *     launch [ATTEMPTS [PARALLEL]]
 *
 * As root, in a namespace of its own. Runs ATTEMPTS (200) of them, PARALLEL (8) at a time: first by
 * a plain fork and exec (the job itself), then as host processes, then under crun and conmon.
 * Prints one line of JSON for each. CPU is that of all processes but the kernel's threads; less
 * that of the plain run, it is what the runtime costs.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "node/host.h"
#include "node/host_root.h"
#include "node/runtime/launch_helper.h"
#include "node/runtime/mount_ns.h"
#include "node/runtime/runtime.h"
#include "node/spec/spec.h"
#include "node/worker.h"

enum {
    USER = 54321
};

struct launch_bench {
    char dir[64];
    char *rootfs;
    struct host_info host;
    struct loop *loop;
    struct worker *worker;
    struct runtime *runtime;
    bool is_native;
    int64_t attempts;
    int64_t parallel;
    int64_t begun;
    int64_t ended;
    bool is_listed;
};

struct slot {
    struct launch_bench *b;
    char id[64];
};

static void must(struct err *e)
{
    if (!e)
        return;
    (void)fprintf(stderr, "launch: %s\n", err_message(e));
    abort();
}

static void must_not(const struct err *e)
{
    if (!e)
        return;
    (void)fprintf(stderr, "launch: %s\n", err_message(e));
    abort();
}

/* ---- CPU ---- */

static int64_t usage_us(int who)
{
    struct rusage u = {0};

    (void)getrusage(who, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec +
           u.ru_stime.tv_usec;
}

/* The CPU of our running children, with all that they have reaped, in ticks. */
static int64_t child_us(struct str pid)
{
    AUTO_FREE char *path = mem_format("/proc/" STR_FMT "/stat", STR_ARG(pid));
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, 4096, &text);
    struct str rest = str_of(e ? NULL : strrchr(text.at, ')'));
    int64_t ticks = 0;

    for (int i = 0; rest.at && i < 16; i++) { /* ") S ..." to cstime, the 17th field */
        int64_t n = 0;
        struct str word = str_cut(&rest, ' ');

        if (i < 12)
            continue;
        err_free(num_parse_int64(word, 0, INT64_MAX, &n));
        ticks += n;
    }
    return ticks * 1000000 / sysconf(_SC_CLK_TCK);
}

static int64_t children_us(void)
{
    AUTO_FREE char *path = mem_format("/proc/self/task/%d/children", (int)getpid());
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, 65536, &text);
    struct str rest = {text.at, text.size};
    int64_t us = 0;

    while (!e && rest.at && rest.size > 1)
        us += child_us(str_cut(&rest, ' '));
    return us;
}

static int64_t all_us(void)
{
    return usage_us(RUSAGE_SELF) + usage_us(RUSAGE_CHILDREN) + children_us();
}

static void print(const char *name, int64_t n, int64_t wall_ns, int64_t own_us, int64_t us)
{
    (void)printf("{\"bench\":\"launch\",\"runtime\":\"%s\",\"attempts\":%" PRId64
                 ",\"per_s\":%.1f,\"cpu_ms\":%.3f,\"node_cpu_ms\":%.3f}\n",
                 name, n, (double)n * 1e9 / (double)wall_ns, (double)us / (double)n / 1e3,
                 (double)own_us / (double)n / 1e3);
    (void)fflush(stdout);
}

/* ---- plain ---- */

static void run_plain(const struct launch_bench *b)
{
    int64_t began_ns = loop_now_ns(b->loop);
    int64_t began_us = all_us();
    int64_t running = 0;

    for (int64_t i = 0; i < b->attempts; i++) {
        if (running == b->parallel)
            (void)wait(NULL);
        else
            running++;
        /* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): the cheapest start there is */
        if (vfork() == 0) {
            (void)execl("/bin/true", "true", NULL);
            _exit(127);
        }
    }
    while (wait(NULL) > 0)
        ;
    print("none", b->attempts, loop_now_ns(b->loop) - began_ns, 0, all_us() - began_us);
}

/* ---- a runtime ---- */

static json_t *config_of(const struct launch_bench *b, const char *id)
{
    const struct host_user user = {.uid = USER, .gid = USER, .groups = {USER}, .n_groups = 1};
    AUTO_FREE char *cgroup = mem_format("/mete/%s", id);
    AUTO(json_freep) json_t *pod = json_object();
    AUTO(json_freep)
    json_t *container = json_pack("{s:s, s:[s], s:{s:{s:s, s:s}}}", "image", "host", "command",
                                  "/bin/true", "resources", "limits", "memory", "64Mi", "cpu", "1");
    AUTO(json_freep) json_t *env = spec_base_env(&user, "box");
    AUTO(json_freep) json_t *edits = json_object();
    const struct spec_input in = {.pod = pod,
                                  .container = container,
                                  .user = &user,
                                  .env = env,
                                  .rootfs = b->rootfs,
                                  .cgroup = cgroup,
                                  .hostname = "box",
                                  .edits = edits};
    json_t *config = NULL;

    must(spec_build(&in, &config));
    return config;
}

static void on_started(void *arg, const struct err *e)
{
    (void)arg;
    must_not(e);
}

static void on_created(void *arg, const struct err *e)
{
    const struct slot *s = arg;
    struct runtime *r = s->b->runtime;

    must_not(e);
    r->ops->start(r->self, s->id, on_started, NULL);
}

static void slot_begin(struct slot *s)
{
    struct launch_bench *b = s->b;
    AUTO(json_freep) json_t *intent = NULL;
    AUTO(json_freep) json_t *config = NULL;
    AUTO(json_freep) json_t *host = json_object();
    AUTO_FREE char *log = NULL;
    struct runtime_create c = {.id = s->id};

    if (b->begun == b->attempts)
        return;
    (void)snprintf(s->id, sizeof(s->id), "b%d-m-%" PRId64, (int)getpid(), b->begun++);
    intent = json_pack("{s:s, s:s, s:i, s:I}", "uid", "b", "container", "m", "attempt",
                       (int)b->begun, "slot", (json_int_t)(intptr_t)s);
    config = config_of(b, s->id);
    log = mem_format("%s/log/%s.log", b->dir, s->id);
    c.intent = intent;
    c.config = config;
    c.log_path = log;
    c.host = b->is_native ? host : NULL;
    b->runtime->ops->create(b->runtime->self, &c, on_created, s);
}

static void on_removed(void *arg, const struct err *e)
{
    struct slot *s = arg;

    must_not(e);
    if (++s->b->ended == s->b->attempts)
        loop_linux_stop(s->b->loop);
    else
        slot_begin(s);
}

static void on_change(void *arg, const struct runtime_container *c)
{
    struct launch_bench *b = arg;
    struct slot *s = (struct slot *)(intptr_t)json_int(c->intent, "slot", 0);

    if (c->state != RUNTIME_ENDED)
        return;
    if (c->exit.code != 0) {
        (void)fprintf(stderr, "launch: code %d %s\n", c->exit.code,
                      c->exit.message ? c->exit.message : "");
        abort();
    }
    b->runtime->ops->remove(b->runtime->self, s->id, on_removed, s);
}

static void on_list(void *arg, const struct err *e, const struct runtime_container *found, size_t n)
{
    struct launch_bench *b = arg;

    (void)found;
    (void)n;
    must_not(e);
    loop_linux_stop(b->loop);
}

static void run(struct launch_bench *b, struct runtime *r, const char *name)
{
    AUTO_FREE struct slot *slots = mem_alloc((size_t)b->parallel * sizeof(*slots));
    int64_t began_ns;
    int64_t began_us;
    int64_t own_us;

    b->runtime = r;
    b->begun = 0;
    b->ended = 0;
    r->on_change = on_change;
    r->arg = b;
    r->ops->list(r->self, on_list, b);
    must(loop_linux_run(b->loop));
    began_ns = loop_now_ns(b->loop);
    began_us = all_us();
    own_us = usage_us(RUSAGE_SELF);
    for (int64_t i = 0; i < b->parallel; i++) {
        slots[i].b = b;
        slot_begin(&slots[i]);
    }
    must(loop_linux_run(b->loop));
    print(name, b->attempts, loop_now_ns(b->loop) - began_ns, usage_us(RUSAGE_SELF) - own_us,
          all_us() - began_us);
}

static void run_both(struct launch_bench *b)
{
    const struct runtime_native_options no = {
        .loop = b->loop, .dir = b->dir, .mask_dir = b->dir, .boot_id = b->host.boot_id};
    const struct runtime_crun_options co = {
        .loop = b->loop, .worker = b->worker, .dir = b->dir, .boot_id = b->host.boot_id};
    struct runtime *native = NULL;
    struct runtime *crun = NULL;

    must(runtime_native_new(&no, &native));
    must(runtime_crun_new(&co, &crun));
    b->is_native = true;
    run(b, native, "host");
    b->is_native = false;
    run(b, crun, "crun");
    worker_free(b->worker);
    runtime_free(native);
    runtime_free(crun);
}

int main(int argc, char **argv)
{
    struct launch_bench b = {.dir = "/tmp/bench_launch.XXXXXX", .attempts = 200, .parallel = 8};
    struct host_mounts mounts = {0};

    if (argc > 1 && text_equal(argv[1], LAUNCH_ROLE))
        return launch_helper_main(argc - 1, argv + 1);
    if (argc > 1)
        must(num_parse_int64(str_of(argv[1]), 1, 1000000, &b.attempts));
    if (argc > 2)
        must(num_parse_int64(str_of(argv[2]), 1, 1000, &b.parallel));
    log_setup("launch", LOG_ERROR, false);
    if (!mkdtemp(b.dir))
        return 1;
    mounts = (struct host_mounts){.dir = b.dir, .mask_dir = b.dir};
    must(host_enter(&mounts, &b.rootfs));
    must(host_info_read(b.dir, &b.host));
    b.loop = loop_linux_new();
    must(worker_new(b.loop, &b.worker));
    run_plain(&b);
    run_both(&b);
    loop_linux_free(b.loop);
    must(mount_ns_clear(b.dir));
    must(dir_remove(b.dir));
    free(b.rootfs);
    return 0;
}
