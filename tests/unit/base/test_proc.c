/* test_proc.c - real child processes: descriptors, identity, output, deadlines */

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/stamp.h"
#include "test.h"

struct result {
    struct loop *loop;
    pid_t pid;
    int status;
    bool timed_out;
    char *output;
};

static void keep_end(void *arg, const struct proc_end *end)
{
    struct result *r = arg;

    r->pid = end->pid;
    r->status = end->status;
    r->timed_out = end->timed_out;
    r->output = mem_strndup(end->output.at, end->output.size);
    loop_linux_stop(r->loop);
}

static void stop(void *arg)
{
    loop_linux_stop(arg);
}

/* Runs a child to its end. The caller frees the output. */
static struct result run(struct proc_options options)
{
    struct result r = {.loop = loop_linux_new()};
    struct proc *p = NULL;

    assert_null(proc_start(r.loop, &options, keep_end, &r, &p));
    assert_true(proc_pid(p) > 0);
    assert_null(loop_linux_run(r.loop));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* all children are reaped */
    loop_linux_free(r.loop);
    return r;
}

#define SH(script) ((const char *const[]){"sh", "-c", (script), NULL})

static void collects_output_and_status(void **state)
{
    struct result r = run(
        (struct proc_options){.argv = SH("echo out; echo err >&2; exit 3"), .has_output = true});
    AUTO_FREE char *text = proc_format_status(r.status);

    (void)state;
    assert_string_equal(r.output, "out\nerr\n");
    assert_string_equal(text, "exited with 3");
    assert_false(r.timed_out);
    free(r.output);
}

static void gives_only_the_named_descriptors(void **state)
{
    int fds[2];
    int extra = open("/dev/null", O_RDONLY); /* without CLOEXEC: would leak if it were not closed */
    char text[256] = "";
    struct result r;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    r = run((struct proc_options){
        .argv = SH("ls /proc/self/fd | tr '\\n' ' '; readlink /proc/self/fd/0"),
        .fds = {-1, fds[1], 2, -1, fds[0]},
        .n_fds = 5});
    fd_close(fds[1]);
    assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
    /* ls itself opened 3 */
    assert_string_equal(text, "0 1 2 3 4 /dev/null\n");
    fd_close(fds[0]);
    fd_close(extra);
    free(r.output);
}

static void descriptors_may_change_places(void **state)
{
    int a[2];
    int b[2];
    char first[8] = "";
    char second[8] = "";
    int fds[8] = {-1, 1, 2, -1, -1, -1, -1, -1};
    struct proc_options options = {.n_fds = 8};
    struct result r;

    (void)state;
    assert_int_equal(pipe(a), 0);
    assert_int_equal(pipe(b), 0);
    assert_true(a[1] < 8 && b[1] < 8);
    fds[a[1]] = b[1]; /* swaps two descriptors */
    fds[b[1]] = a[1];
    memcpy(options.fds, fds, sizeof(fds));
    {
        AUTO_FREE char *script = mem_format("echo A >&%d; echo B >&%d", a[1], b[1]);

        options.argv = SH(script);
        r = run(options);
    }
    assert_int_equal(read(a[0], first, sizeof(first)), 2);
    assert_int_equal(read(b[0], second, sizeof(second)), 2);
    assert_string_equal(first, "B\n");
    assert_string_equal(second, "A\n");
    for (int i = 0; i < 2; i++) {
        fd_close(a[i]);
        fd_close(b[i]);
    }
    free(r.output);
}

static void says_what_kept_it_from_running(void **state)
{
    static const struct {
        const char *program;
        const char *cwd;
        enum err_code code;
        const char *message;
    } cases[] = {
        {"no-such-program", NULL, ERR_NOT_FOUND, "run no-such-program: no such program in PATH"},
        {"/no/such", NULL, ERR_NOT_FOUND, "run /no/such: no such file or directory"},
        {"/dev/null", NULL, ERR_FORBIDDEN, "run /dev/null: permission denied"},
        {"/bin/sh", "/no/dir", ERR_NOT_FOUND,
         "run /bin/sh: enter directory /no/dir: no such file or directory"},
    };
    struct loop *l = loop_linux_new();

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const argv[] = {cases[i].program, NULL};
        struct proc_options options = {.argv = argv, .cwd = cases[i].cwd, .has_output = true};
        AUTO(err_freep) struct err *e = proc_start(l, &options, NULL, NULL, NULL);

        assert_non_null(e);
        assert_string_equal(err_message(e), cases[i].message);
        assert_int_equal(err_code(e), cases[i].code);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    loop_linux_free(l);
}

static void kills_what_is_late(void **state)
{
    int fds[2] = {-1, -1};
    AUTO_FREE char *text = NULL;
    struct result r;
    char byte;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    /* The grandchild keeps the output open; the child's end decides. */
    r = run((struct proc_options){.argv = SH("echo begun; sleep 100 & sleep 100"),
                                  .fds = {-1, -1, -1, fds[1]},
                                  .n_fds = 4,
                                  .has_output = true,
                                  .is_session = true,
                                  .deadline_ns = 100 * NS_PER_MS});
    text = proc_format_status(r.status);
    assert_true(r.timed_out);
    assert_string_equal(text, "killed by SIGKILL");
    assert_string_equal(r.output, "begun\n");
    fd_close(fds[1]);
    assert_int_equal(read(fds[0], &byte, 1), 0); /* the whole group has ended */
    fd_close(fds[0]);
    free(r.output);
}

static void keeps_only_so_much_output(void **state)
{
    struct result r =
        run((struct proc_options){.argv = SH("yes | head -c 1000000; exit 5"), .has_output = true});

    (void)state;
    assert_int_equal(strlen(r.output), 64 << 10);
    assert_int_equal(WEXITSTATUS(r.status), 5);
    free(r.output);
}

static void starts_with_clean_signals_and_the_named_environment(void **state)
{
    static const char *const env[] = {"A=1", "PATH=/usr/bin:/bin", NULL};
    struct result r;
    sigset_t blocked;

    (void)state;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &blocked, NULL);
    r = run((struct proc_options){
        .argv = SH("sed -n '/^Sig[BIC]/p' /proc/self/status | tr -d '\\n\\t'; "
                   "echo \"$A$HOME\"; pwd"),
        .env = env,
        .cwd = "/",
        .has_output = true});
    (void)sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    assert_string_equal(r.output, "SigBlk:0000000000000000SigIgn:0000000000000000"
                                  "SigCgt:00000000000000001\n/\n");
    free(r.output);
}

static void drops_all_that_root_has(void **state)
{
    struct result r;

    (void)state;
    if (geteuid() != 0)
        SKIP("not root");
    r = run((struct proc_options){
        .argv = SH("id -u; id -G; grep -E '^(Cap|NoNewPrivs)' /proc/self/status | tr -d '\\n\\t'"),
        .uid = 54321,
        .gid = 54322,
        .has_output = true});
    assert_string_equal(r.output, "54321\n54322\n"
                                  "CapInh:0000000000000000CapPrm:0000000000000000"
                                  "CapEff:0000000000000000CapBnd:0000000000000000"
                                  "CapAmb:0000000000000000NoNewPrivs:1");
    free(r.output);
}

/* A program below /root must work like one in /usr/bin. */
static void runs_a_file_where_the_new_user_may_not_enter(void **state)
{
    char dir[] = "/tmp/mete-test-proc-XXXXXX";
    AUTO_FREE char *program = NULL;
    struct buf bytes = {0};
    struct result r;

    (void)state;
    if (geteuid() != 0)
        SKIP("not root");
    assert_non_null(mkdtemp(dir)); /* 0700, root's */
    program = mem_format("%s/id", dir);
    assert_null(file_read("/usr/bin/id", 1 << 20, &bytes));
    assert_null(file_write(program, 0755, (struct str){.at = bytes.at, .size = bytes.size}));
    buf_done(&bytes);
    {
        const char *const argv[] = {program, "-u", NULL};

        r = run((struct proc_options){
            .argv = argv, .uid = 54321, .gid = 54322, .cwd = "/", .has_output = true});
    }
    assert_string_equal(r.output, "54321\n");
    free(r.output);
    assert_null(dir_remove(dir));
}

/* In the child: reports its program and its name. */
static int say_self(const char *name)
{
    char self[PATH_MAX] = {0};

    return readlink("/proc/self/exe", self, sizeof(self) - 1) > 0 &&
                   printf("%s as %s", self, name) > 0
               ? 0
               : 1;
}

static void runs_its_own_program_by_any_name(void **state)
{
    const char *const argv[] = {"/no/such/file", "say-self", NULL};
    char self[PATH_MAX] = {0};
    AUTO_FREE char *want = NULL;
    struct result r;

    (void)state;
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    want = mem_format("%s as /no/such/file", self);
    r = run((struct proc_options){.argv = argv, .is_self = true, .has_output = true});
    assert_string_equal(r.output, want);
    assert_int_equal(r.status, 0);
    free(r.output);
}

static void an_abandoned_child_is_reaped_in_silence(void **state)
{
    struct loop *l = loop_linux_new();
    struct result r = {.loop = l};
    struct proc_options options = {.argv = SH("exit 0")};
    struct loop_timer *t = loop_timer_new(l, stop, l);
    struct proc *p = NULL;
    pid_t pid;

    (void)state;
    assert_null(proc_start(l, &options, keep_end, &r, &p));
    pid = proc_pid(p);
    proc_abandon(p);
    while (kill(pid, 0) == 0) {
        loop_timer_set(t, NS_PER_MS);
        assert_null(loop_linux_run(l));
    }
    assert_int_equal(r.pid, 0);
    loop_timer_free(t);
    loop_linux_free(l);
}

static void a_signal_reaches_it(void **state)
{
    struct result r = {.loop = loop_linux_new()};
    struct proc_options options = {.argv = SH("exec sleep 100")};
    AUTO_FREE char *text = NULL;
    struct proc *p = NULL;

    (void)state;
    assert_null(proc_start(r.loop, &options, keep_end, &r, &p));
    proc_kill(p, SIGTERM);
    assert_null(loop_linux_run(r.loop));
    text = proc_format_status(r.status);
    assert_string_equal(text, "killed by SIGTERM");
    free(r.output);
    loop_linux_free(r.loop);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collects_output_and_status),
        cmocka_unit_test(gives_only_the_named_descriptors),
        cmocka_unit_test(descriptors_may_change_places),
        cmocka_unit_test(says_what_kept_it_from_running),
        cmocka_unit_test(kills_what_is_late),
        cmocka_unit_test(keeps_only_so_much_output),
        cmocka_unit_test(starts_with_clean_signals_and_the_named_environment),
        cmocka_unit_test(drops_all_that_root_has),
        cmocka_unit_test(runs_a_file_where_the_new_user_may_not_enter),
        cmocka_unit_test(runs_its_own_program_by_any_name),
        cmocka_unit_test(an_abandoned_child_is_reaped_in_silence),
        cmocka_unit_test(a_signal_reaches_it),
    };

    if (argc == 2 && strcmp(argv[1], "say-self") == 0)
        return say_self(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
