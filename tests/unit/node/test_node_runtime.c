/*
 * test_node_runtime.c - tests of the runtime with the real crun and conmon, as root; skipped
 * without them
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/host.h"
#include "node/host_root.h"
#include "node/runtime/mount_ns.h"
#include "node/runtime/runtime.h"
#include "node/spec/spec.h"
#include "node/worker.h"
#include "test.h"

static const int64_t DEADLINE_NS = 20 * NS_PER_SEC;

struct machine {
    char dir[64];
    char *rootfs;
    struct host_info host;
    struct loop *loop;
    struct worker *worker;
    struct runtime *runtime;
    struct loop_timer *deadline;
    unsigned n; /* number of containers so far, for their ids */
    char *gate; /* a fifo from which the next container's program waits for a byte; NULL: none */

    bool is_answered;
    enum err_code code;
    char message[512];             /* of the last call; "": success */
    struct runtime_container last; /* from on_change or list */
    bool is_told;
    size_t n_listed;
};

static struct machine machine;
static bool is_able;

static void on_deadline(void *arg)
{
    (void)arg;
    fail_msg("nothing happened for 20 s");
}

static void on_change(void *arg, const struct runtime_container *c)
{
    (void)arg;
    machine.last = *c;
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
    machine.is_told = n > 0;
    if (n > 0)
        machine.last = all[n - 1];
    on_done(NULL, e);
}

static void until(const bool *is_so)
{
    loop_timer_set(machine.deadline, DEADLINE_NS);
    while (!*is_so)
        assert_null(loop_linux_run(machine.loop));
    loop_timer_stop(machine.deadline);
}

static void begin(void)
{
    const struct runtime_crun_options o = {.loop = machine.loop,
                                           .worker = machine.worker,
                                           .dir = machine.dir,
                                           .boot_id = machine.host.boot_id};

    assert_null(runtime_crun_new(&o, &machine.runtime));
    machine.runtime->on_change = on_change;
    machine.is_told = false;
    machine.is_answered = false;
    machine.runtime->ops->list(machine.runtime->self, on_list, NULL);
    until(&machine.is_answered);
}

/* The node process dies and comes back: its memory is lost, its containers are not. */
static void again(void)
{
    runtime_free(machine.runtime);
    begin();
}

static int setup(void **state)
{
    struct host_mounts mounts = {0};

    (void)state;
    log_setup("test", LOG_ERROR, false);
    (void)snprintf(machine.dir, sizeof(machine.dir), "/tmp/test_node_runtime.XXXXXX");
    is_able = geteuid() == 0;
    if (!is_able)
        return 0;
    assert_non_null(mkdtemp(machine.dir));
    mounts = (struct host_mounts){.dir = machine.dir, .mask_dir = machine.dir};
    assert_null(host_enter(&mounts, &machine.rootfs));
    assert_null(host_info_read(machine.dir, &machine.host));
    machine.loop = loop_linux_new();
    machine.deadline = loop_timer_new(machine.loop, on_deadline, NULL);
    assert_null(worker_new(machine.loop, &machine.worker));
    begin();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (!is_able)
        return 0;
    worker_free(machine.worker);
    runtime_free(machine.runtime);
    loop_timer_free(machine.deadline);
    loop_linux_free(machine.loop);
    assert_null(mount_ns_clear(machine.dir));
    err_free(dir_remove(machine.dir));
    free(machine.rootfs);
    return 0;
}

/* Adds an OCI hook that runs in the container after the release of its first process. The container
 * has a user namespace, as containers of images. */
static void shut_gate(json_t *config)
{
    /* crun writes the container's state to the hook's stdin, and fails if it is not read */
    AUTO_FREE char *script = mem_format("cat >/dev/null; read x <%s", machine.gate);

    assert_int_equal(json_object_set_new(config, "hooks",
                                         json_pack("{s:[{s:s, s:[s,s,s]}]}", "startContainer",
                                                   "path", "/bin/sh", "args", "sh", "-c", script)),
                     0);
}

static json_t *make_config(const char *id, const char *script, const char *memory)
{
    const struct host_user user = {.groups = {0}, .n_groups = 1};
    AUTO_FREE char *cgroup = mem_format("/mete-test/%d-%s", (int)getpid(), id);
    AUTO(json_freep) json_t *pod = json_object();
    AUTO(json_freep)
    json_t *container = json_pack("{s:s, s:[s,s,s], s:{s:{s:s}}}", "image", "host", "command", "sh",
                                  "-c", script, "resources", "limits", "memory", memory);
    AUTO(json_freep) json_t *env = spec_base_env(&user, "box");
    AUTO(json_freep) json_t *edits = json_object();
    const struct spec_input in = {.pod = pod,
                                  .container = container,
                                  .user = &user,
                                  .env = env,
                                  .rootfs = machine.rootfs,
                                  .cgroup = cgroup,
                                  .hostname = "box",
                                  .has_userns = machine.gate != NULL,
                                  .edits = edits};
    json_t *config = NULL;

    assert_null(spec_build(&in, &config));
    if (machine.gate)
        shut_gate(config);
    return config;
}

/* An id unique to this process, as all processes share LAST_DIR. */
static void make_id(unsigned number, char id[64])
{
    (void)snprintf(id, 64, "u%d-m-%u", (int)getpid(), number);
}

/* Writes the file of an intent. */
static void write_intent(const char *id, unsigned number, const char *boot_id)
{
    AUTO_FREE char *path = mem_format("%s/intents/%s.json", machine.dir, id);
    AUTO_FREE char *intent = mem_format("{\"uid\":\"u\",\"container\":\"m\",\"attempt\":%u,"
                                        "\"id\":\"%s\",\"boot\":\"%s\"}",
                                        number, id, boot_id);

    assert_null(file_write(path, 0600, str_of(intent)));
}

/* Creates a new attempt, and gives its id. */
static void create(const char *script, const char *memory, char id[64])
{
    AUTO(json_freep)
    json_t *intent =
        json_pack("{s:s, s:s, s:i}", "uid", "u", "container", "m", "attempt", (int)machine.n);
    AUTO(json_freep) json_t *config = NULL;
    AUTO_FREE char *log = NULL;
    struct runtime_create c = {.intent = intent};

    make_id(machine.n++, id);
    config = make_config(id, script, memory);
    log = mem_format("%s/log/%s.log", machine.dir, id);
    c.id = id;
    c.config = config;
    c.log_path = log;
    machine.is_answered = false;
    machine.is_told = false;
    machine.runtime->ops->create(machine.runtime->self, &c, on_done, NULL);
    until(&machine.is_answered);
}

static void start(const char *id)
{
    machine.is_answered = false;
    machine.runtime->ops->start(machine.runtime->self, id, on_done, NULL);
    until(&machine.is_answered);
}

static void remove_attempt(const char *id)
{
    machine.is_answered = false;
    machine.runtime->ops->remove(machine.runtime->self, id, on_done, NULL);
    until(&machine.is_answered);
    assert_string_equal(machine.message, "");
}

static char *read_log(const char *id)
{
    AUTO_FREE char *path = mem_format("%s/log/%s.log", machine.dir, id);
    struct buf text = {0};

    assert_null(file_read(path, 1 << 20, &text));
    return buf_steal(&text);
}

#define WANTS_A_MACHINE()     \
    do {                      \
        (void)state;          \
        if (!is_able)         \
            SKIP("not root"); \
    } while (0)

static void tells_the_exit_code(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("echo from inside; exit 7", "64Mi", id);
    assert_string_equal(machine.message, "");
    start(id);
    until(&machine.is_told);
    assert_int_equal(machine.last.state, RUNTIME_ENDED);
    assert_int_equal(machine.last.exit.code, 7);
    assert_true(machine.last.exit.was_started);
    assert_true(machine.last.exit.started_ns <= machine.last.exit.finished_ns + NS_PER_SEC);
    AUTO_FREE char *log = read_log(id);

    assert_non_null(strstr(log, " stdout F from inside\n"));
    remove_attempt(id);
}

static void runs_only_when_started(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("exit 0", "64Mi", id);
    again();
    assert_int_equal(machine.n_listed, 1);
    assert_int_equal(machine.last.state, RUNTIME_CREATED);
    machine.is_told = false;
    machine.is_answered = false;
    machine.runtime->ops->kill(machine.runtime->self, id, SIGKILL, on_done, NULL);
    until(&machine.is_told);
    assert_int_equal(machine.last.state, RUNTIME_ENDED);
    assert_false(machine.last.exit.was_started);
    until(&machine.is_answered);
    remove_attempt(id);
}

static void a_created_one_is_adopted_and_started_once(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("echo ran", "64Mi", id);
    again();
    assert_int_equal(machine.last.state, RUNTIME_CREATED);
    machine.is_told = false;
    start(id);
    assert_string_equal(machine.message, "");
    start(id);
    assert_int_equal(machine.code, ERR_CONFLICT);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 0);
    AUTO_FREE char *log = read_log(id);

    assert_ptr_equal(strstr(log, "ran"), strrchr(log, 'r'));
    remove_attempt(id);
}

static void a_running_one_goes_on_and_its_end_is_seen(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("trap 'exit 5' TERM; while :; do sleep 0.01; done", "64Mi", id);
    start(id);
    again();
    assert_int_equal(machine.n_listed, 1);
    assert_int_equal(machine.last.state, RUNTIME_RUNNING);
    assert_true(machine.last.exit.started_ns > 0);
    machine.is_told = false;
    machine.is_answered = false;
    machine.runtime->ops->kill(machine.runtime->self, id, SIGTERM, on_done, NULL);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 5);
    until(&machine.is_answered);
    remove_attempt(id);
}

static void one_that_cannot_hear_of_its_end_is_ended(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("exec sleep 1000", "64Mi", id);
    start(id);
    machine.is_told = false;
    machine.is_answered = false;
    machine.runtime->ops->kill(machine.runtime->self, id, SIGTERM, on_done, NULL);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 128 + SIGKILL);
    until(&machine.is_answered);
    remove_attempt(id);
}

static void an_end_while_nobody_looked_is_found(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("exit 3", "64Mi", id);
    start(id);
    until(&machine.is_told);
    again();
    assert_int_equal(machine.n_listed, 1);
    if (machine.last.state != RUNTIME_ENDED) {
        machine.is_told = false;
        until(&machine.is_told);
    }
    assert_int_equal(machine.last.state, RUNTIME_ENDED);
    assert_int_equal(machine.last.exit.code, 3);
    remove_attempt(id);
    again();
    assert_int_equal(machine.n_listed, 0);
}

static void tells_that_memory_ran_out(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create("exec head -c 200000000 /dev/zero | tail -c 200000000 >/dev/null", "24Mi", id);
    start(id);
    until(&machine.is_told);
    assert_true(machine.last.exit.is_oom);
    remove_attempt(id);
}

/* Fails to create attempt `number`, of a missing program. */
static void create_in_vain(unsigned number, char id[64])
{
    AUTO(json_freep) json_t *config = NULL;
    AUTO(json_freep)
    json_t *intent =
        json_pack("{s:s, s:s, s:i}", "uid", "u", "container", "m", "attempt", (int)number);
    struct runtime_create c = {.id = id, .intent = intent};
    AUTO_FREE char *log = NULL;

    make_id(number, id);
    config = make_config(id, "x", "64Mi");
    (void)json_array_set_new(json_at(config, "process", "args", NULL), 0, json_string("/no/such"));
    log = mem_format("%s/log/%s.log", machine.dir, id);
    c.config = config;
    c.log_path = log;
    machine.is_answered = false;
    machine.runtime->ops->create(machine.runtime->self, &c, on_done, NULL);
    until(&machine.is_answered);
}

static void says_why_a_program_cannot_run(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    create_in_vain(900, id);
    assert_int_equal(machine.code, ERR_INVALID);
    assert_non_null(strstr(machine.message, "/no/such"));
    remove_attempt(id);
}

static size_t count_descriptors(void)
{
    char **names = NULL;
    size_t n = 0;

    assert_null(dir_list("/proc/self/fd", &names, &n));
    names_free(names, n);
    return n;
}

static void a_creation_in_vain_leaves_no_descriptor_open(void **state)
{
    size_t before = 0;
    char id[64];

    WANTS_A_MACHINE();
    before = count_descriptors();
    for (int i = 0; i < 3; i++) {
        create_in_vain(903, id);
        assert_int_equal(machine.code, ERR_INVALID);
        assert_int_equal(count_descriptors(), before);
    }
    remove_attempt(id);
}

static void on_counted(void *arg, const struct err *e)
{
    int *n = arg;

    assert_null(e);
    machine.is_answered = ++*n == 3;
    loop_linux_stop(machine.loop);
}

static void each_of_several_removals_is_answered(void **state)
{
    struct runtime *r = NULL;
    int n = 0;
    char id[64];

    WANTS_A_MACHINE();
    create_in_vain(904, id);
    r = machine.runtime;
    machine.is_answered = false;
    for (int i = 0; i < 3; i++)
        r->ops->remove(r->self, id, on_counted, &n);
    until(&machine.is_answered);
    assert_int_equal(n, 3);
}

static void what_is_being_removed_is_not_created(void **state)
{
    char other[64];
    int n = 0;
    char id[64];

    WANTS_A_MACHINE();
    create_in_vain(905, id);
    machine.runtime->ops->remove(machine.runtime->self, id, on_counted, &n);
    create_in_vain(905, other);
    assert_int_equal(machine.code, ERR_CONFLICT);
    machine.is_answered = false;
    machine.runtime->ops->remove(machine.runtime->self, id, on_done, NULL);
    until(&machine.is_answered);
}

static void on_unexpected_list(void *arg, const struct err *e, const struct runtime_container *all,
                               size_t n)
{
    (void)arg;
    (void)e;
    (void)all;
    (void)n;
    fail_msg("a runtime that is gone answers");
}

static void a_list_ends_with_its_runtime(void **state)
{
    WANTS_A_MACHINE();
    machine.runtime->ops->list(machine.runtime->self, on_unexpected_list, NULL);
    again();
    assert_string_equal(machine.message, "");
}

static void a_list_that_failed_may_be_asked_for_again(void **state)
{
    AUTO_FREE char *path = NULL;
    char id[64];

    WANTS_A_MACHINE();
    make_id(906, id);
    write_intent(id, 906, machine.host.boot_id);
    path = mem_format("%s/intents/zz.json", machine.dir);
    assert_null(dir_make(path, 0700)); /* a directory: reading it fails */
    again();
    assert_non_null(strstr(machine.message, "zz.json"));
    assert_int_equal(machine.n_listed, 0);
    assert_null(dir_remove(path));
    machine.is_answered = false;
    machine.runtime->ops->list(machine.runtime->self, on_list, NULL);
    until(&machine.is_answered);
    assert_string_equal(machine.message, "");
    assert_int_equal(machine.n_listed, 1);
    remove_attempt(id);
}

static void an_attempt_of_an_earlier_boot_is_over(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    make_id(901, id);
    write_intent(id, 901, "another");
    again();
    assert_int_equal(machine.n_listed, 1);
    assert_int_equal(machine.last.state, RUNTIME_ENDED);
    assert_int_equal(machine.last.exit.code, RUNTIME_CODE_UNKNOWN);
    assert_true(machine.last.exit.was_started); /* it may have started */
    remove_attempt(id);
}

static void an_intent_alone_was_never_started(void **state)
{
    char id[64];

    WANTS_A_MACHINE();
    make_id(902, id);
    write_intent(id, 902, machine.host.boot_id);
    again();
    assert_int_equal(machine.last.state, RUNTIME_INTENDED);
    machine.n = 902;
    create("exit 0", "64Mi", id); /* the id can be created again */
    assert_string_equal(machine.message, "");
    start(id);
    until(&machine.is_told);
    assert_int_equal(machine.last.exit.code, 0);
    remove_attempt(id);
}

/* ---- commands ---- */

struct command {
    bool has_ended;
    enum err_code error; /* 0: none */
    char message[512];
    int code;
    struct buf output;
};

static void on_output(void *arg, int fd, struct str bytes)
{
    struct command *c = arg;

    (void)fd;
    buf_add(&c->output, bytes.at, bytes.size);
}

static void on_command_end(void *arg, const struct err *e, int code)
{
    struct command *c = arg;

    c->has_ended = true;
    c->error = e ? err_code(e) : 0;
    (void)snprintf(c->message, sizeof(c->message), "%s", e ? err_message(e) : "");
    c->code = code;
    loop_linux_stop(machine.loop);
}

static struct exec *run_command(const char *id, int64_t deadline_ns, struct command *c)
{
    AUTO(json_freep) json_t *process = json_pack("{s:[s,s,s]}", "args", "sh", "-c", "echo entered");
    const struct runtime_exec e = {.id = id,
                                   .process = process,
                                   .deadline_ns = deadline_ns,
                                   .output = on_output,
                                   .end = on_command_end,
                                   .arg = c};

    *c = (struct command){.output.cap = 4096};
    return machine.runtime->ops->exec(machine.runtime->self, &e);
}

/* Starts a container whose program begins once a byte is written to the returned descriptor. */
static int start_behind_gate(const char *script, char id[64])
{
    AUTO_FREE char *path = mem_format("%s.gate", machine.dir);
    int fd = -1;

    assert_int_equal(mkfifo(path, 0600), 0);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    machine.gate = path;
    create(script, "64Mi", id);
    machine.gate = NULL;
    assert_string_equal(machine.message, "");
    start(id);
    assert_string_equal(machine.message, "");
    return fd;
}

static void end_behind_gate(const char *id, int fd)
{
    AUTO_FREE char *path = mem_format("%s.gate", machine.dir);

    machine.is_answered = false;
    machine.runtime->ops->kill(machine.runtime->self, id, SIGKILL, on_done, NULL);
    until(&machine.is_answered);
    until(&machine.is_told);
    remove_attempt(id);
    assert_int_equal(unlink(path), 0);
    (void)close(fd);
}

static char *children(void)
{
    AUTO_FREE char *path = mem_format("/proc/self/task/%d/children", (int)getpid());
    struct buf text = {0};

    err_free(file_read(path, 4096, &text));
    return text.at ? buf_steal(&text) : mem_strdup("");
}

static void a_command_waits_for_the_containers_program(void **state)
{
    struct command c;
    char id[64];
    int fd = -1;

    WANTS_A_MACHINE();
    fd = start_behind_gate("exec sleep 1000", id);
    AUTO_FREE char *before = children();

    (void)run_command(id, 0, &c);
    AUTO_FREE char *after = children();

    assert_string_equal(after, before); /* the runtime was not called: the kernel would refuse it */
    assert_int_equal(write(fd, "\n", 1), 1);
    until(&c.has_ended);
    assert_string_equal(c.message, "");
    assert_int_equal(c.code, 0);
    assert_string_equal(c.output.at, "entered\n");
    buf_done(&c.output);
    end_behind_gate(id, fd);
}

static void a_command_that_waits_can_end(void **state)
{
    struct command c;
    struct command gone;
    struct exec *x = NULL;
    char id[64];
    int fd = -1;

    WANTS_A_MACHINE();
    fd = start_behind_gate("exec sleep 1000", id);
    x = run_command(id, 0, &gone);
    x->ops->cancel(x);
    (void)run_command(id, 1, &c);
    until(&c.has_ended);
    assert_int_equal(c.error, ERR_TIMEOUT);
    buf_done(&c.output);
    (void)run_command(id, 0, &c);
    end_behind_gate(id, fd);
    until(&c.has_ended);
    assert_int_equal(c.error, ERR_NOT_FOUND); /* the container has ended */
    buf_done(&c.output);
    assert_false(gone.has_ended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_the_exit_code),
        cmocka_unit_test(runs_only_when_started),
        cmocka_unit_test(a_created_one_is_adopted_and_started_once),
        cmocka_unit_test(a_running_one_goes_on_and_its_end_is_seen),
        cmocka_unit_test(one_that_cannot_hear_of_its_end_is_ended),
        cmocka_unit_test(an_end_while_nobody_looked_is_found),
        cmocka_unit_test(tells_that_memory_ran_out),
        cmocka_unit_test(says_why_a_program_cannot_run),
        cmocka_unit_test(a_creation_in_vain_leaves_no_descriptor_open),
        cmocka_unit_test(each_of_several_removals_is_answered),
        cmocka_unit_test(what_is_being_removed_is_not_created),
        cmocka_unit_test(a_list_ends_with_its_runtime),
        cmocka_unit_test(a_list_that_failed_may_be_asked_for_again),
        cmocka_unit_test(an_attempt_of_an_earlier_boot_is_over),
        cmocka_unit_test(an_intent_alone_was_never_started),
        cmocka_unit_test(a_command_waits_for_the_containers_program),
        cmocka_unit_test(a_command_that_waits_can_end),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
