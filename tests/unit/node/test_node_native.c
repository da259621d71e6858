/*
 * test_node_native.c - tests of the runtime of host processes with a real launcher and real
 * cgroups, as root; skipped without
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
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
#include "node/runtime/native_file_linux.h"
#include "node/runtime/runtime.h"
#include "node/spec/spec.h"
#include "test.h"

enum {
    USER = 54321, /* a uid without an entry */
    STEP_CODE = 9,
    STEP_CODE_TERM = 10
};

static const int64_t DEADLINE_NS = 20 * NS_PER_SEC;

struct machine {
    char dir[64];
    char open_dir[64]; /* of USER */
    char *rootfs;
    struct host_info host;
    struct loop *loop;
    struct runtime *runtime;
    struct loop_timer *deadline;
    struct loop_timer *look;
    unsigned n; /* number of attempts so far, for their ids */

    bool is_v2;
    bool is_answered;
    enum err_code code;
    char message[512]; /* of the last call; "": success */
    struct runtime_container last;
    char why[512]; /* of the last end */
    bool is_told;
    size_t n_listed;
};

static struct machine machine;
static bool is_able;

/* ---- the loop ---- */

static void on_deadline(void *arg)
{
    (void)arg;
    fail_msg("nothing happened for 20 s");
}

static void on_change(void *arg, const struct runtime_container *c)
{
    (void)arg;
    machine.last = *c;
    (void)snprintf(machine.why, sizeof(machine.why), "%s", text_or_empty(c->exit.message));
    machine.is_told = true;
    loop_linux_stop(machine.loop);
}

static void on_done(void *arg, const struct err *e)
{
    (void)arg;
    machine.is_answered = true;
    machine.code = e ? err_code(e) : 0;
    (void)snprintf(machine.message, sizeof(machine.message), "%s", e ? err_message(e) : "");
    loop_linux_stop(machine.loop);
}

static void on_list(void *arg, const struct err *e, const struct runtime_container *all, size_t n)
{
    (void)arg;
    machine.n_listed = n;
    if (n > 0)
        machine.last = all[n - 1];
    on_done(NULL, e);
}

static void on_look(void *arg)
{
    (void)arg;
    loop_linux_stop(machine.loop);
}

static void until(const bool *is_so)
{
    loop_timer_set(machine.deadline, DEADLINE_NS);
    while (!*is_so)
        assert_null(loop_linux_run(machine.loop));
    loop_timer_stop(machine.deadline);
}

/* Runs the loop until `is_so(arg)`, with a look each 10 ms. */
static void until_seen(bool (*is_so)(const char *arg), const char *arg)
{
    loop_timer_set(machine.deadline, DEADLINE_NS);
    while (!is_so(arg)) {
        loop_timer_set(machine.look, 10 * NS_PER_MS);
        assert_null(loop_linux_run(machine.loop));
    }
    loop_timer_stop(machine.look);
    loop_timer_stop(machine.deadline);
}

/* Launchers end when the runtime has gone, and the loop reaps them. */
static bool has_no_child(const char *arg)
{
    siginfo_t info;

    (void)arg;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

/* ---- the runtime ---- */

/* The mount of cgroup v2 in a hybrid layout; NULL: none. */
static const char *v2_root(void)
{
    static const char root[] = "/sys/fs/cgroup/unified";

    return file_exists("/sys/fs/cgroup/unified/cgroup.controllers") ? root : NULL;
}

static void begin(void)
{
    const struct runtime_native_options o = {.loop = machine.loop,
                                             .cgroup_root = machine.is_v2 ? v2_root() : NULL,
                                             .dir = machine.dir,
                                             .mask_dir = machine.dir,
                                             .boot_id = machine.host.boot_id};

    assert_null(runtime_native_new(&o, &machine.runtime));
    machine.runtime->on_change = on_change;
    machine.is_told = false;
    machine.is_answered = false;
    machine.runtime->ops->list(machine.runtime->self, on_list, NULL);
    until(&machine.is_answered);
    assert_string_equal(machine.message, "");
}

/* The node process dies and comes back: its memory is lost, its attempts are not. */
static void again(void)
{
    runtime_free(machine.runtime);
    begin();
}

static int setup(void **state)
{
    struct host_mounts mounts = {0};

    (void)state;
    log_setup("test", LOG_ERROR + 1, false);
    (void)snprintf(machine.dir, sizeof(machine.dir), "/tmp/test_node_native.XXXXXX");
    (void)snprintf(machine.open_dir, sizeof(machine.open_dir), "/tmp/test_node_native_u.XXXXXX");
    is_able = geteuid() == 0;
    if (!is_able)
        return 0;
    assert_non_null(mkdtemp(machine.dir));
    assert_int_equal(chmod(machine.dir, 0711), 0);
    assert_non_null(mkdtemp(machine.open_dir));
    assert_int_equal(chown(machine.open_dir, USER, USER), 0);
    mounts = (struct host_mounts){.dir = machine.dir, .mask_dir = machine.dir};
    assert_null(host_enter(&mounts, &machine.rootfs));
    assert_null(host_info_read(machine.dir, &machine.host));
    machine.loop = loop_linux_new();
    machine.deadline = loop_timer_new(machine.loop, on_deadline, NULL);
    machine.look = loop_timer_new(machine.loop, on_look, NULL);
    begin();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (!is_able)
        return 0;
    runtime_free(machine.runtime);
    until_seen(has_no_child, NULL);
    loop_timer_free(machine.deadline);
    loop_timer_free(machine.look);
    loop_linux_free(machine.loop);
    assert_null(mount_ns_clear(machine.dir));
    err_free(dir_remove(machine.dir));
    err_free(dir_remove(machine.open_dir));
    free(machine.rootfs);
    return 0;
}

static json_t *make_config(const char *id, const char *script)
{
    static const char *const limits[] = {"cpu", "memory", "pids"}; /* without controllers: none */
    const struct host_user user = {.uid = USER, .gid = USER, .groups = {USER}, .n_groups = 1};
    AUTO_FREE char *cgroup = mem_format("/mete/%s", id);
    AUTO(json_freep) json_t *pod = json_object();
    AUTO(json_freep)
    json_t *container =
        json_pack("{s:s, s:[s,s,s], s:s, s:{s:{s:s}}}", "image", "host", "command", "sh", "-c",
                  script, "workingDir", machine.open_dir, "resources", "limits", "memory", "64Mi");
    AUTO(json_freep) json_t *env = spec_base_env(&user, "box");
    AUTO(json_freep) json_t *edits = json_object();
    const struct spec_input in = {.pod = pod,
                                  .container = container,
                                  .user = &user,
                                  .env = env,
                                  .rootfs = machine.rootfs,
                                  .cgroup = cgroup,
                                  .hostname = "box",
                                  .edits = edits};
    json_t *config = NULL;
    json_t *resources = NULL;

    assert_null(spec_build(&in, &config));
    resources = json_at(config, "linux", "resources", NULL);
    for (size_t i = 0; machine.is_v2 && i < COUNT(limits); i++)
        (void)json_object_del(resources, limits[i]);
    return config;
}

/* Creates an attempt with `host` (JSON text; takes no ownership), and gives its id. */
static void create_with(const char *script, const char *host, char id[64])
{
    AUTO(json_freep)
    json_t *intent =
        json_pack("{s:s, s:s, s:i}", "uid", "u", "container", "m", "attempt", (int)machine.n);
    AUTO(json_freep) json_t *config = NULL;
    AUTO(json_freep) json_t *how = NULL;
    struct runtime_create c = {.intent = intent, .id = id};

    (void)snprintf(id, 64, "n%d-m-%u", (int)getpid(), machine.n++);
    assert_null(json_parse(str_of(host), &how));
    config = make_config(id, script);
    c.config = config;
    c.host = how;
    machine.is_answered = false;
    machine.is_told = false;
    machine.runtime->ops->create(machine.runtime->self, &c, on_done, NULL);
    until(&machine.is_answered);
}

static char *user_path(const char *id)
{
    return mem_format("%s/%s.out", machine.open_dir, id);
}

/* The same with an output file of the user. */
static void create(const char *script, char id[64])
{
    AUTO_FREE char *host = NULL;

    (void)snprintf(id, 64, "n%d-m-%u", (int)getpid(), machine.n);
    AUTO_FREE char *path = user_path(id);

    host = mem_format("{\"stdout\":\"%s\"}", path);
    create_with(script, host, id);
    assert_string_equal(machine.message, "");
}

static void start(const char *id)
{
    machine.is_answered = false;
    machine.runtime->ops->start(machine.runtime->self, id, on_done, NULL);
    until(&machine.is_answered);
}

static void kill_attempt(const char *id, int signal)
{
    machine.is_answered = false;
    machine.runtime->ops->kill(machine.runtime->self, id, signal, on_done, NULL);
    until(&machine.is_answered);
    assert_string_equal(machine.message, "");
}

static void remove_attempt(const char *id)
{
    machine.is_answered = false;
    machine.runtime->ops->remove(machine.runtime->self, id, on_done, NULL);
    until(&machine.is_answered);
    assert_string_equal(machine.message, "");
}

static char *read_text(const char *path)
{
    struct buf text = {0};

    assert_null(file_read(path, 1 << 20, &text));
    return buf_steal(&text);
}

static char *read_output(const char *id)
{
    AUTO_FREE char *path = user_path(id);

    return read_text(path);
}

/* ---- the processes ---- */

static bool has_output(const char *id)
{
    AUTO_FREE char *path = user_path(id);
    struct stat st = {0};

    return stat(path, &st) == 0 && st.st_size > 0;
}

static void read_record(const char *id, struct native_record *ret)
{
    AUTO_FREE char *path = mem_format("%s/native/%s", machine.dir, id);

    assert_null(native_file_read(path, false, ret));
}

static pid_t waiter_of(const char *id)
{
    struct native_record r = {0};
    pid_t pid;

    read_record(id, &r);
    pid = r.waiter;
    native_record_done(&r);
    return pid;
}

static bool has_end(const char *id)
{
    struct native_record r = {0};
    bool is_so;

    read_record(id, &r);
    is_so = r.end != NULL;
    native_record_done(&r);
    return is_so;
}

static bool has_cgroup(const char *id)
{
    AUTO_FREE char *dir = mem_format("/sys/fs/cgroup/pids/mete/%s", id);

    return file_exists(dir);
}

/* The parent of the waiter. */
static pid_t launcher_of(const char *id)
{
    AUTO_FREE char *path = mem_format("/proc/%d/stat", (int)waiter_of(id));
    AUTO_FREE char *text = read_text(path);
    struct str rest = str_of(strrchr(text, ')') + 4); /* ") S PARENT ..." */
    int64_t pid = 0;

    assert_null(num_parse_int64(str_cut(&rest, ' '), 1, INT32_MAX, &pid));
    return (pid_t)pid;
}

#define WANTS_A_MACHINE()     \
    do {                      \
        (void)state;          \
        if (!is_able)         \
            SKIP("not root"); \
    } while (0)

/* ---- tests ---- */

static void tells_the_exit_code(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("echo from inside; exit 7", id);
    start(id);
    assert_string_equal(machine.message, "");
    until(&machine.is_told);
    assert_int_equal(machine.last.state, RUNTIME_ENDED);
    assert_int_equal(machine.last.exit.code, 7);
    assert_int_equal(machine.last.exit.signal, 0);
    assert_true(machine.last.exit.was_started);
    assert_true(machine.last.exit.started_ns <= machine.last.exit.finished_ns);
    assert_true(machine.last.exit.has_usage);
    assert_true(machine.last.exit.usage.cpu_ns > 0);
    AUTO_FREE char *output = read_output(id);

    assert_string_equal(output, "from inside\n");
    assert_false(has_cgroup(id));
    remove_attempt(id);
}

static void tells_the_signal(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("kill -USR1 $$$$", id); /* $$ is $, as in Kubernetes */
    start(id);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 128 + SIGUSR1);
    assert_int_equal(machine.last.exit.signal, SIGUSR1);
    remove_attempt(id);
}

/* The identity, the descriptors and the directory of a job: what it sees of itself. */
static void is_the_user_and_has_nothing_of_metes(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("pwd; id -u; id -g; id -G; umask; ls /proc/self/fd | tr '\\n' ' '; echo; "
           "grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|SigBlk|SigIgn)' /proc/self/status | "
           "tr -d '\\t\\n'; echo; cat /proc/self/oom_score_adj",
           id);
    start(id);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 0);
    AUTO_FREE char *output = read_output(id);
    AUTO_FREE char *wanted =
        mem_format("%s\n%d\n%d\n%d\n0022\n0 1 2 3 \n" /* 3: of ls itself */
                   "SigBlk:0000000000000000SigIgn:0000000000000000"
                   "CapInh:0000000000000000CapPrm:0000000000000000CapEff:0000000000000000"
                   "CapBnd:0000000000000000CapAmb:0000000000000000NoNewPrivs:1\n0\n",
                   machine.open_dir, USER, USER, USER);

    assert_string_equal(output, wanted);
    remove_attempt(id);
}

static void sees_no_data_of_mete(void **state)
{
    AUTO_FREE char *script = NULL;
    char id[64];

    WANTS_A_MACHINE();
    script = mem_format("stat -c %%F %s; ls %s/native", machine.dir, machine.dir);
    create(script, id);
    start(id);
    until(&machine.is_told);
    AUTO_FREE char *output = read_output(id);
    AUTO_FREE char *wanted = mem_format(
        "directory\nls: cannot access '%s/native': No such file or directory\n", machine.dir);

    assert_string_equal(output, wanted);
    remove_attempt(id);
}

static void reaches_no_other_devices(void **state)
{
    AUTO_FREE char *node = NULL;
    AUTO_FREE char *script = NULL;
    char id[64];

    WANTS_A_MACHINE();
    node = mem_format("%s/zero", machine.open_dir);
    assert_int_equal(mknod(node, S_IFCHR | 0666, (dev_t)((10 << 8) | 229)), 0); /* fuse */
    assert_int_equal(chmod(node, 0666), 0);
    script =
        mem_format("head -c1 /dev/zero | wc -c; (: <%s) 2>&1 | grep -o 'Operation not.*'", node);
    create(script, id);
    start(id);
    until(&machine.is_told);
    AUTO_FREE char *output = read_output(id);

    assert_string_equal(output, "1\nOperation not permitted\n");
    remove_attempt(id);
}

/* root could write there, the user cannot. */
static void opens_files_as_the_user(void **state)
{
    AUTO_FREE char *host = NULL;
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *wanted = NULL;
    char id[64];

    WANTS_A_MACHINE();
    path = mem_format("/root/test_node_native.%d", (int)getpid());
    host = mem_format("{\"stdout\":\"%s\"}", path);
    create_with("echo ran", host, id);
    start(id);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 128);
    wanted = mem_format("open %s as uid %d: permission denied", path, USER);
    assert_string_equal(machine.why, wanted);
    assert_false(file_exists(path));
    assert_false(has_cgroup(id));
    remove_attempt(id);
}

static void says_why_a_program_cannot_run(void **state)
{
    AUTO(json_freep) json_t *args = NULL;
    AUTO(json_freep) json_t *config = NULL;
    AUTO(json_freep) json_t *host = json_object();
    AUTO(json_freep) json_t *intent = NULL;
    struct runtime_create c = {.id = "n-missing-program", .host = host};

    WANTS_A_MACHINE();
    config = make_config(c.id, "true");
    args = json_pack("[s]", "no-such-program");
    json_put(json_object_at(config, "process"), "args", json_incref(args));
    intent = json_object();
    c.config = config;
    c.intent = intent;
    machine.is_answered = false;
    machine.is_told = false;
    machine.runtime->ops->create(machine.runtime->self, &c, on_done, NULL);
    until(&machine.is_answered);
    start(c.id);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 128);
    assert_string_equal(machine.why, "run no-such-program: no such file or directory");
    remove_attempt(c.id);
}

static void runs_a_script_of_the_user(void **state)
{
    AUTO_FREE char *host = NULL;
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *wanted = NULL;
    char id[64];

    WANTS_A_MACHINE();
    path = mem_format("%s/script.out", machine.open_dir);
    host = mem_format("{\"stdout\":\"%s\", \"umask\":63, \"script\":\"#!/bin/sh\\n"
                      "echo \\\"$0 $*\\\"; stat -c '%%u %%a' \\\"$0\\\"; umask; "
                      "echo error >&2; sh -c 'test -r '$0\"}",
                      path);
    create_with("ignored", host, id);
    start(id);
    until(&machine.is_told);
    assert_string_equal(machine.why, "");
    assert_int_equal(machine.last.exit.code, 0);
    AUTO_FREE char *output = read_text(path);

    wanted =
        mem_format(LAUNCH_JOBS_DIR "/%s/script sh -c ignored\n%d 500\n0077\nerror\n", id, USER);
    assert_string_equal(output, wanted);
    remove_attempt(id);
}

/* Also one that has ended and that init has not reaped yet. */
static bool is_gone(const char *arg)
{
    AUTO_FREE char *path = mem_format("/proc/%s/status", arg);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, 65536, &text);

    return e || memmem(text.at, text.size, "State:\tZ", 8);
}

/* As in Slurm: what the first process leaves behind ends with it. */
static void the_end_of_the_first_process_ends_the_others(void **state)
{
    AUTO_FREE char *text = NULL;
    char id[64];

    WANTS_A_MACHINE();
    create("setsid sh -c 'trap \"\" TERM HUP; sleep 1000 & echo $!; wait' & while ! test -s "
           "\"/proc/self/fd/1\"; do sleep 0.01; done",
           id);
    start(id);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 0);
    assert_false(has_cgroup(id));
    text = read_output(id);
    text[strcspn(text, "\n")] = '\0';
    assert_true(is_gone(text));
    remove_attempt(id);
}

static void tells_that_memory_ran_out(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("exec tail /dev/zero", id);
    start(id);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 137);
    assert_true(machine.last.exit.is_oom);
    remove_attempt(id);
}

static void runs_only_when_started(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("echo ran", id);
    again();
    assert_int_equal(machine.n_listed, 1);
    assert_int_equal(machine.last.state, RUNTIME_INTENDED);
    assert_false(has_output(id));
    remove_attempt(id);
    create("echo ran", id);
    kill_attempt(id, SIGKILL);
    assert_true(machine.is_told);
    assert_int_equal(machine.last.state, RUNTIME_ENDED);
    assert_false(machine.last.exit.was_started);
    remove_attempt(id);
}

/* The next start of the node is after a boot. */
static void boot(void)
{
    static unsigned n_boots;

    (void)snprintf(machine.host.boot_id, sizeof(machine.host.boot_id), "boot-%u", ++n_boots);
    again();
}

/* A power failure takes the mark, which is not synced. */
static void an_attempt_of_an_earlier_boot_never_runs_again(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("echo ran", id);
    boot();
    assert_int_equal(machine.n_listed, 1);
    assert_int_equal(machine.last.state, RUNTIME_ENDED);
    assert_int_equal(machine.last.exit.code, RUNTIME_CODE_UNKNOWN);
    assert_true(machine.last.exit.was_started);
    start(id);
    assert_int_equal(machine.code, ERR_CONFLICT);
    assert_false(has_output(id));
    remove_attempt(id);
}

static void an_end_before_the_boot_is_found(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("exit 3", id);
    start(id);
    until_seen(has_end, id);
    boot();
    assert_int_equal(machine.last.state, RUNTIME_ENDED);
    assert_int_equal(machine.last.exit.code, 3);
    remove_attempt(id);
}

static void a_second_start_does_nothing(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("echo ran", id);
    start(id);
    start(id);
    assert_int_equal(machine.code, ERR_CONFLICT);
    until(&machine.is_told);
    AUTO_FREE char *output = read_output(id);

    assert_string_equal(output, "ran\n");
    remove_attempt(id);
}

static void a_running_one_goes_on_and_its_end_is_seen(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done", id);
    start(id);
    until_seen(has_output, id);
    again();
    assert_int_equal(machine.n_listed, 1);
    assert_int_equal(machine.last.state, RUNTIME_RUNNING);
    assert_true(machine.last.exit.started_ns > 0);
    kill_attempt(id, SIGTERM);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 5);
    remove_attempt(id);
}

static void an_end_while_nobody_looked_is_found(void **state)
{
    AUTO_FREE char *gate = NULL;
    char id[64];
    int fd;

    WANTS_A_MACHINE();
    gate = mem_format("%s/gate", machine.open_dir);
    assert_int_equal(mkfifo(gate, 0600), 0);
    assert_int_equal(chown(gate, USER, USER), 0);
    create("echo ready; read x <gate; exit 3", id);
    start(id);
    until_seen(has_output, id);
    runtime_free(machine.runtime);
    fd = open(gate, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "x\n", 2), 2);
    assert_int_equal(close(fd), 0);
    begin();
    if (machine.last.state != RUNTIME_ENDED)
        until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 3);
    remove_attempt(id);
}

static void an_end_before_the_restart_is_found(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("exit 3", id);
    start(id);
    until_seen(has_end, id);
    again();
    assert_int_equal(machine.last.state, RUNTIME_ENDED);
    assert_int_equal(machine.last.exit.code, 3);
    remove_attempt(id);
}

static void a_killed_launcher_takes_no_job_with_it(void **state)
{
    char id[64];
    char next[64];

    WANTS_A_MACHINE();
    create("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done", id);
    start(id);
    until_seen(has_output, id);
    assert_int_equal(kill(launcher_of(id), SIGKILL), 0);
    create("exit 6", next);
    start(next);
    until(&machine.is_told);
    while (machine.last.state == RUNTIME_INTENDED) { /* the launcher took the start with it */
        machine.n--;                                 /* the same attempt, as the node makes it */
        create("exit 6", next);
        start(next);
        until(&machine.is_told);
    }
    assert_string_equal(machine.last.id, next);
    assert_int_equal(machine.last.exit.code, 6);
    remove_attempt(next);
    machine.is_told = false;
    kill_attempt(id, SIGTERM);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 5);
    remove_attempt(id);
}

/* Without its waiter nothing tells the exit code, but the processes are proven gone. */
static void a_killed_waiter_ends_the_job(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("trap '' TERM; echo ready; while :; do sleep 0.01; done", id);
    start(id);
    until_seen(has_output, id);
    assert_int_equal(kill(waiter_of(id), SIGKILL), 0);
    until(&machine.is_told);
    assert_int_equal(machine.last.state, RUNTIME_ENDED);
    assert_int_equal(machine.last.exit.code, RUNTIME_CODE_UNKNOWN);
    assert_true(machine.last.exit.was_started);
    assert_false(has_cgroup(id));
    remove_attempt(id);
}

static void a_waiter_killed_while_nobody_looked_ends_the_job(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("echo ready; sleep 1000", id);
    start(id);
    until_seen(has_output, id);
    runtime_free(machine.runtime);
    assert_int_equal(kill(waiter_of(id), SIGKILL), 0);
    begin();
    if (machine.last.state != RUNTIME_ENDED)
        until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, RUNTIME_CODE_UNKNOWN);
    assert_false(has_cgroup(id));
    remove_attempt(id);
}

/* SIGKILL also reaches what left the group of the first process. */
static void a_kill_ends_all(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("setsid sleep 1000 & trap '' TERM; echo ready; while :; do sleep 0.01; done", id);
    start(id);
    until_seen(has_output, id);
    kill_attempt(id, SIGTERM);
    assert_false(machine.is_told);
    kill_attempt(id, SIGKILL);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 137);
    assert_int_equal(machine.last.exit.signal, SIGKILL);
    remove_attempt(id);
}

/* In a hybrid layout v2 has no controllers, but device lists, and the first process is cloned into
 * it. */
static void holds_in_v2(void **state)
{
    AUTO_FREE char *node = NULL;
    AUTO_FREE char *script = NULL;
    AUTO_FREE char *wanted = NULL;
    AUTO_FREE char *dir = NULL;
    char id[64];

    WANTS_A_MACHINE();
    if (!v2_root())
        SKIP("no hybrid layout of cgroups");
    machine.is_v2 = true;
    again();
    node = mem_format("%s/other", machine.open_dir);
    assert_int_equal(mknod(node, S_IFCHR | 0666, (dev_t)((10 << 8) | 229)), 0); /* fuse */
    assert_int_equal(chmod(node, 0666), 0);
    script = mem_format("grep ^0: /proc/self/cgroup; head -c1 /dev/zero | wc -c; "
                        "(: <%s) 2>&1 | grep -o 'Operation not.*'; setsid sleep 1000 & exit 3",
                        node);
    create(script, id);
    start(id);
    until(&machine.is_told);
    assert_string_equal(machine.why, "");
    assert_int_equal(machine.last.exit.code, 3);
    AUTO_FREE char *output = read_output(id);

    wanted = mem_format("0::/mete/%s\n1\nOperation not permitted\n", id);
    assert_string_equal(output, wanted);
    dir = mem_format("%s/mete/%s", v2_root(), id);
    assert_false(file_exists(dir));
    remove_attempt(id);
    machine.is_v2 = false;
    again();
}

static void what_needs_a_container_is_refused_by_name(void **state)
{
    static const struct {
        const char *config;
        const char *host;
        const char *message;
    } cases[] = {
        {"{\"mounts\":[{\"type\":\"bind\",\"destination\":\"/data\"}]}", "{}",
         "a host process sees the files of the machine: nothing can be mounted at '/data'"},
        {"{\"hooks\":{}}", "{}", "a host process cannot have hooks of the driver"},
        {"{}", "{\"stdout\":\"relative\"}", "stdout 'relative' is not an absolute path"},
        {"{}", "{\"umask\":512}", "umask 512 is not one of 0 to 0777"},
        {"{}", "{\"openMode\":\"x\"}", "openMode 'x' is not one of append, truncate"},
    };

    WANTS_A_MACHINE();
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(json_freep) json_t *config = make_config("n-refused", "true");
        AUTO(json_freep) json_t *more = NULL;
        AUTO(json_freep) json_t *host = NULL;
        AUTO(json_freep) json_t *intent = json_object();
        struct runtime_create c = {.id = "n-refused", .intent = intent, .config = config};

        assert_null(json_parse(str_of(cases[i].config), &more));
        assert_null(json_parse(str_of(cases[i].host), &host));
        (void)json_object_update(config, more);
        c.host = host;
        machine.is_answered = false;
        machine.runtime->ops->create(machine.runtime->self, &c, on_done, NULL);
        until(&machine.is_answered);
        assert_int_equal(machine.code, ERR_INVALID);
        assert_string_equal(machine.message, cases[i].message);
    }
}

/* ---- commands ---- */

struct command_run {
    struct exec *exec;
    struct buf output[2];
    bool is_ended;
    int code;
    char message[512];
};

static void on_command_output(void *arg, int fd, struct str bytes)
{
    struct command_run *r = arg;

    buf_add(&r->output[fd - 1], bytes.at, bytes.size);
}

static void on_command_end(void *arg, const struct err *e, int code)
{
    struct command_run *r = arg;

    r->is_ended = true;
    r->code = code;
    (void)snprintf(r->message, sizeof(r->message), "%s", e ? err_message(e) : "");
    loop_linux_stop(machine.loop);
}

static void run_command(struct command_run *r, const char *id, const char *program,
                        const char *script, bool has_terminal)
{
    AUTO(json_freep)
    json_t *process = script ? json_pack("{s:[s,s,s]}", "args", program, "-c", script)
                             : json_pack("{s:[s]}", "args", program);
    const struct runtime_exec e = {.id = id,
                                   .process = process,
                                   .has_stdin = true,
                                   .has_terminal = has_terminal,
                                   .columns = 77,
                                   .rows = 33,
                                   .output = on_command_output,
                                   .end = on_command_end,
                                   .arg = r};

    *r = (struct command_run){0};
    r->exec = machine.runtime->ops->exec(machine.runtime->self, &e);
}

static void command_done(struct command_run *r)
{
    buf_done(&r->output[0]);
    buf_done(&r->output[1]);
}

static bool has_line(const char *arg)
{
    const struct command_run *r = (const struct command_run *)(const void *)arg;

    return r->output[0].size > 0 && memchr(r->output[0].at, '\n', r->output[0].size);
}

static int64_t first_number(const struct command_run *r)
{
    struct str rest = {r->output[0].at, r->output[0].size};
    int64_t n = 0;

    assert_null(num_parse_int64(str_cut(&rest, '\n'), 1, INT32_MAX, &n));
    return n;
}

/* A job that runs until its end by a signal. */
static void start_sleeper(char id[64])
{
    create("echo here; exec sleep 1000", id);
    start(id);
    until_seen(has_output, id);
}

static void end_sleeper(const char *id)
{
    machine.is_told = false;
    kill_attempt(id, SIGKILL);
    until(&machine.is_told);
    assert_false(has_cgroup(id));
    remove_attempt(id);
}

static void a_command_is_the_user_in_the_job(void **state)
{
    struct command_run r;
    AUTO_FREE char *wanted = NULL;
    char id[64];

    WANTS_A_MACHINE();
    start_sleeper(id);
    run_command(&r, id, "sh",
                "id -u; id -g; id -G; pwd; umask; ls /proc/self/fd | wc -l; grep -E "
                "'CapEff|NoNew|SigBlk' /proc/self/status; sed -n 's/.*:pids:\\(.*\\)exec-.*/\\1/p' "
                "/proc/self/cgroup; echo wrong >/dev/stderr; exit 5",
                false);
    until(&r.is_ended);
    assert_string_equal(r.message, "");
    assert_int_equal(r.code, 5);
    wanted = mem_format("%d\n%d\n%d\n%s\n0022\n4\nSigBlk:\t0000000000000000\nCapEff:\t"
                        "0000000000000000\nNoNewPrivs:\t1\n/mete/%s/\n",
                        USER, USER, USER, machine.open_dir, id);
    buf_add_char(&r.output[0], '\0');
    assert_string_equal(r.output[0].at, wanted);
    assert_int_equal(r.output[1].size, strlen("wrong\n"));
    command_done(&r);
    end_sleeper(id);
}

static void a_command_has_its_terminal(void **state)
{
    struct command_run r;
    char id[64];

    WANTS_A_MACHINE();
    start_sleeper(id);
    run_command(&r, id, "sh", "stty size </dev/tty; echo $TERM; test -t 2 && test -w $(tty)", true);
    until(&r.is_ended);
    assert_int_equal(r.code, 0);
    buf_add_char(&r.output[0], '\0');
    assert_string_equal(r.output[0].at, "33 77\r\nxterm\r\n");
    command_done(&r);
    end_sleeper(id);
}

static void says_why_a_command_cannot_run(void **state)
{
    struct command_run r;
    char id[64];

    WANTS_A_MACHINE();
    start_sleeper(id);
    run_command(&r, id, "no-such-program", NULL, false);
    until(&r.is_ended);
    assert_string_equal(r.message, "executable file 'no-such-program' not found");
    command_done(&r);
    run_command(&r, id, "/etc/passwd", NULL, false);
    until(&r.is_ended);
    assert_string_equal(r.message, "run /etc/passwd: permission denied");
    command_done(&r);
    end_sleeper(id);
    run_command(&r, id, "true", NULL, false);
    until(&r.is_ended);
    assert_string_equal(r.message, "the container is not running");
    command_done(&r);
}

static void a_cancelled_command_ends_with_all_that_it_started(void **state)
{
    struct command_run r;
    AUTO_FREE char *child = NULL;
    char id[64];

    WANTS_A_MACHINE();
    start_sleeper(id);
    run_command(&r, id, "sh", "setsid sleep 1000 & echo $!; trap '' TERM HUP; wait", false);
    until_seen(has_line, (const char *)&r);
    child = mem_format("%d", (int)first_number(&r));
    r.exec->ops->cancel(r.exec);
    until_seen(is_gone, child);
    assert_false(r.is_ended);
    command_done(&r);
    assert_false(has_end(id));
    end_sleeper(id);
}

static void the_end_of_the_job_ends_its_commands(void **state)
{
    struct command_run r;
    char id[64];

    WANTS_A_MACHINE();
    start_sleeper(id);
    run_command(&r, id, "sh", "echo here; trap '' TERM HUP; while :; do sleep 1; done", false);
    until_seen(has_line, (const char *)&r);
    machine.is_told = false;
    kill_attempt(id, SIGTERM);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.signal, SIGTERM);
    assert_false(has_cgroup(id));
    until(&r.is_ended);
    assert_int_equal(r.code, 128 + SIGKILL);
    command_done(&r);
    remove_attempt(id);
}

static void a_new_node_ends_the_commands_of_the_old_one(void **state)
{
    struct command_run r;
    AUTO_FREE char *child = NULL;
    AUTO_FREE char *dir = NULL;
    char id[64];

    WANTS_A_MACHINE();
    start_sleeper(id);
    dir = mem_format("/sys/fs/cgroup/pids/mete/%s/exec-1-1", id);
    run_command(&r, id, "sh", "setsid sleep 1000 & echo $!; exit 0", false);
    until(&r.is_ended); /* what a command leaves behind stays until the job ends */
    child = mem_format("%d", (int)first_number(&r));
    assert_false(is_gone(child));
    command_done(&r);
    again();
    until_seen(is_gone, child);
    assert_int_equal(machine.last.state, RUNTIME_RUNNING);
    assert_false(file_exists(dir));
    end_sleeper(id);
}

/* Our program lies where the user cannot reach it. */
static void a_step_is_our_own_program(void **state)
{
    struct command_run r;
    char id[64];

    WANTS_A_MACHINE();
    start_sleeper(id);
    run_command(&r, id, "mete-step", NULL, false);
    until(&r.is_ended);
    assert_string_equal(r.message, "");
    assert_int_equal(r.code, STEP_CODE);
    command_done(&r);
    end_sleeper(id);
}

static void a_command_joins_the_job_in_v2(void **state)
{
    struct command_run r;
    AUTO_FREE char *wanted = NULL;
    char id[64];

    WANTS_A_MACHINE();
    if (!v2_root())
        SKIP("no cgroup v2");
    machine.is_v2 = true;
    again();
    start_sleeper(id);
    run_command(
        &r, id, "sh",
        "sed -n 's/^0::\\(.*\\)exec-.*/\\1/p' /proc/self/cgroup; setsid sleep 1000 & exit 6",
        false);
    until(&r.is_ended);
    assert_string_equal(r.message, "");
    assert_int_equal(r.code, 6);
    wanted = mem_format("/mete/%s/\n", id);
    buf_add_char(&r.output[0], '\0');
    assert_string_equal(r.output[0].at, wanted);
    command_done(&r);
    end_sleeper(id);
    machine.is_v2 = false;
    again();
}

/* Of two steps, the one that is named has the signal. */
static void a_signal_reaches_one_step(void **state)
{
    static const char *const numbers[] = {"3", "33"};
    struct runtime_signal signal = {.number = SIGTERM, .is_for_steps = true, .step = "3"};
    struct command_run r[2] = {0};
    char id[64];

    WANTS_A_MACHINE();
    start_sleeper(id);
    for (size_t i = 0; i < 2; i++) {
        AUTO(json_freep)
        json_t *process = json_pack("{s:[s,s]}", "args", LAUNCH_STEP_WORD, numbers[i]);
        const struct runtime_exec e = {.id = id,
                                       .process = process,
                                       .has_terminal = true,
                                       .output = on_command_output,
                                       .end = on_command_end,
                                       .arg = &r[i]};

        r[i].exec = machine.runtime->ops->exec(machine.runtime->self, &e);
        until_seen(has_line, (const char *)&r[i]);
    }
    machine.runtime->ops->signal(machine.runtime->self, id, &signal);
    until(&r[0].is_ended);
    assert_int_equal(r[0].code, STEP_CODE_TERM);
    assert_false(r[1].is_ended);
    signal = (struct runtime_signal){.number = SIGTERM, .is_for_first = true};
    machine.is_told = false;
    machine.runtime->ops->signal(machine.runtime->self, id, &signal);
    until(&machine.is_told); /* the first process alone had it; its end ends the step */
    until(&r[1].is_ended);
    assert_int_equal(r[1].code, 128 + SIGKILL);
    for (size_t i = 0; i < 2; i++)
        command_done(&r[i]);
    remove_attempt(id);
}

/* The text of a file of the attempt's cgroup in a hierarchy ("": v2), without the line end. */
static bool has_state(const char *arg)
{
    AUTO_FREE char *text = NULL;
    const char *want = strchr(arg, ' ') + 1;
    AUTO_FREE char *path = mem_strndup(arg, (size_t)(want - arg - 1));

    if (!file_exists(path))
        return false;
    text = read_text(path);
    return text_starts_with(text, want);
}

static void suspend(const char *id, bool is_suspended)
{
    machine.runtime->ops->suspend(machine.runtime->self, id, is_suspended);
}

/* The job's process and the command, both of which the freezer took. */
static bool has_two_members(const char *id)
{
    AUTO_FREE char *path = mem_format("/sys/fs/cgroup/freezer/mete/%s/cgroup.procs", id);
    AUTO_FREE char *text = read_text(path);
    size_t n = 0;

    for (const char *at = text; (at = strchr(at, '\n')); at++)
        n++;
    return n >= 2;
}

/* A frozen process in v1 does not end before it is let go on. */
static void a_suspended_job_stands(void **state)
{
    struct command_run r;
    AUTO_FREE char *frozen = NULL;
    AUTO_FREE char *thawed = NULL;
    char id[64];

    WANTS_A_MACHINE();
    if (!file_exists("/sys/fs/cgroup/freezer"))
        SKIP("no freezer of cgroup v1");
    start_sleeper(id);
    run_command(&r, id, "sh", "echo here; while :; do sleep 1; done", false);
    until_seen(has_line, (const char *)&r);
    frozen = mem_format("/sys/fs/cgroup/freezer/mete/%s/freezer.state FROZEN", id);
    thawed = mem_format("/sys/fs/cgroup/freezer/mete/%s/freezer.state THAWED", id);
    suspend(id, true);
    until_seen(has_state, frozen);
    until_seen(has_two_members, id);
    suspend(id, false);
    until_seen(has_state, thawed);
    suspend(id, true);
    until_seen(has_state, frozen);
    machine.is_told = false;
    kill_attempt(id, SIGKILL);
    suspend(id, false);
    until(&machine.is_told);
    until(&r.is_ended);
    command_done(&r);
    assert_false(has_state(thawed) || has_cgroup(id));
    remove_attempt(id);
}

static void a_suspended_job_stands_in_v2(void **state)
{
    AUTO_FREE char *frozen = NULL;
    char id[64];

    WANTS_A_MACHINE();
    if (!v2_root())
        SKIP("no cgroup v2");
    machine.is_v2 = true;
    again();
    start_sleeper(id);
    frozen = mem_format("%s/mete/%s/cgroup.events populated 1\nfrozen 1", v2_root(), id);
    suspend(id, true);
    until_seen(has_state, frozen);
    end_sleeper(id); /* SIGKILL ends what is frozen */
    machine.is_v2 = false;
    again();
}

static void start_hold(char id[64])
{
    create_with("true", "{\"hold\":true}", id);
    assert_string_equal(machine.message, "");
    start(id);
    assert_string_equal(machine.message, "");
}

static void an_allocation_lasts_until_its_signal(void **state)
{
    struct command_run r;
    char id[64];

    WANTS_A_MACHINE();
    start_hold(id);
    run_command(&r, id, "id", NULL, false);
    until(&r.is_ended);
    assert_int_equal(r.code, 0);
    command_done(&r);
    kill_attempt(id, SIGUSR1);
    assert_false(has_end(id));
    kill_attempt(id, SIGTERM);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 128 + SIGTERM);
    assert_string_equal(machine.why, "");
    assert_false(has_cgroup(id));
    remove_attempt(id);
}

/* A step under way is asked to end; other commands are not waited for. */
static void an_allocation_waits_for_its_steps(void **state)
{
    struct command_run r;
    struct command_run step;
    char id[64];

    WANTS_A_MACHINE();
    start_hold(id);
    run_command(&r, id, "sh", "echo here; trap '' TERM HUP; while :; do sleep 1; done", false);
    until_seen(has_line, (const char *)&r);
    run_command(&step, id, "mete-step", NULL, true);
    until_seen(has_line, (const char *)&step);
    kill_attempt(id, SIGTERM);
    until(&step.is_ended);
    assert_int_equal(step.code, STEP_CODE_TERM);
    until(&machine.is_told);
    until(&r.is_ended);
    assert_int_equal(r.code, 128 + SIGKILL);
    command_done(&r);
    command_done(&step);
    remove_attempt(id);
}

/* Stands for a step's manager: with a terminal it waits for SIGTERM. */
static int act_as_step(void)
{
    sigset_t awaited;
    int signal = 0;

    (void)sigemptyset(&awaited);
    (void)sigaddset(&awaited, SIGTERM);
    if (!isatty(1))
        return STEP_CODE;
    (void)puts("here");
    (void)fflush(stdout);
    return sigwait(&awaited, &signal) == 0 ? STEP_CODE_TERM : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_the_exit_code),
        cmocka_unit_test(tells_the_signal),
        cmocka_unit_test(is_the_user_and_has_nothing_of_metes),
        cmocka_unit_test(sees_no_data_of_mete),
        cmocka_unit_test(reaches_no_other_devices),
        cmocka_unit_test(opens_files_as_the_user),
        cmocka_unit_test(says_why_a_program_cannot_run),
        cmocka_unit_test(runs_a_script_of_the_user),
        cmocka_unit_test(the_end_of_the_first_process_ends_the_others),
        cmocka_unit_test(tells_that_memory_ran_out),
        cmocka_unit_test(runs_only_when_started),
        cmocka_unit_test(an_attempt_of_an_earlier_boot_never_runs_again),
        cmocka_unit_test(an_end_before_the_boot_is_found),
        cmocka_unit_test(a_second_start_does_nothing),
        cmocka_unit_test(a_running_one_goes_on_and_its_end_is_seen),
        cmocka_unit_test(an_end_while_nobody_looked_is_found),
        cmocka_unit_test(an_end_before_the_restart_is_found),
        cmocka_unit_test(a_killed_launcher_takes_no_job_with_it),
        cmocka_unit_test(a_killed_waiter_ends_the_job),
        cmocka_unit_test(a_waiter_killed_while_nobody_looked_ends_the_job),
        cmocka_unit_test(a_kill_ends_all),
        cmocka_unit_test(holds_in_v2),
        cmocka_unit_test(what_needs_a_container_is_refused_by_name),
        cmocka_unit_test(a_command_is_the_user_in_the_job),
        cmocka_unit_test(a_command_has_its_terminal),
        cmocka_unit_test(says_why_a_command_cannot_run),
        cmocka_unit_test(a_cancelled_command_ends_with_all_that_it_started),
        cmocka_unit_test(the_end_of_the_job_ends_its_commands),
        cmocka_unit_test(a_new_node_ends_the_commands_of_the_old_one),
        cmocka_unit_test(a_step_is_our_own_program),
        cmocka_unit_test(a_command_joins_the_job_in_v2),
        cmocka_unit_test(a_signal_reaches_one_step),
        cmocka_unit_test(a_suspended_job_stands),
        cmocka_unit_test(a_suspended_job_stands_in_v2),
        cmocka_unit_test(an_allocation_lasts_until_its_signal),
        cmocka_unit_test(an_allocation_waits_for_its_steps),
    };

    if (argc > 1 && text_equal(argv[1], LAUNCH_EXEC_ROLE))
        return launch_exec_main(argc - 1, argv + 1);
    if (argc > 1 && text_equal(argv[1], "step"))
        return act_as_step();
    if (argc > 1 && text_equal(argv[1], LAUNCH_ROLE)) /* the launcher of the runtime under test */
        return launch_helper_main(argc - 1, argv + 1);
    return cmocka_run_group_tests(tests, setup, teardown);
}
