/* test_node_exec_cgroup.c - tests of the cgroups of commands */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/runtime/cgroup_freeze.h"
#include "node/runtime/cgroup_remove_linux.h"
#include "node/session/exec_cgroup_linux.h"
#include "test.h"

static char dir[64];

static int make_root(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/mete-test-exec-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    assert_null(dir_remove(dir));
    return 0;
}

static void put_dir(const char *below)
{
    AUTO_FREE char *path = mem_format("%s%s", dir, below);

    assert_null(dir_make(path, 0755));
}

static bool is_that(void *arg, const char *made)
{
    return text_equal(made, arg);
}

/* `used` (NULL: none): the cgroup of a command that has not joined it yet. */
static struct err *make(const char *path, uint64_t number, char *used, char **ret_dir,
                        char **ret_word)
{
    const struct exec_cgroup_options o = {.root = dir,
                                          .path = path,
                                          .prefix = EXEC_CGROUP_COMMAND,
                                          .number = number,
                                          .is_used = used ? is_that : NULL,
                                          .arg = used};

    return exec_cgroup_make(&o, ret_dir, ret_word);
}

static void each_layout_has_its_word(void **state)
{
    AUTO_FREE char *made = NULL;
    AUTO_FREE char *word = NULL;
    AUTO_FREE char *want = mem_format("%s/pids/mete/x/exec-%d-7", dir, (int)getpid());
    AUTO_FREE char *want_word = mem_format("pids:exec-%d-7", (int)getpid());
    AUTO_FREE char *controllers = mem_format("%s/cgroup.controllers", dir);

    (void)state;
    put_dir("/pids/mete/x");
    assert_null(make("/mete/x", 7, NULL, &made, &word));
    assert_string_equal(made, want);
    assert_string_equal(word, want_word);
    assert_true(file_exists(made));
    free(TAKE(made));
    free(TAKE(word));
    put_dir("/mete/x");
    assert_null(file_write(controllers, 0644, STR("cpu memory pids\n")));
    assert_null(make("/mete/x", 7, NULL, &made, &word));
    assert_string_equal(word, want_word + strlen("pids:"));
}

static void all_hierarchies_lose_what_the_runtime_forgot(void **state)
{
    AUTO_FREE char *mine = mem_format("%s/pids/mete/x", dir);
    AUTO_FREE char *other = mem_format("%s/memory/mete/y", dir);
    AUTO_FREE char *unified = mem_format("%s/unified/mete/x", dir);

    (void)state;
    put_dir("/pids/mete/x/exec-1/deep");
    put_dir("/memory/mete/y");
    put_dir("/unified/mete/x");
    assert_true(cgroup_remove(dir, "/mete/x"));
    assert_false(file_exists(mine) || file_exists(unified));
    assert_true(file_exists(other));
    assert_true(cgroup_remove(dir, "/mete/x"));
}

/* A new command may not have joined its cgroup yet. */
static void what_is_used_stays_though_it_is_empty(void **state)
{
    AUTO_FREE char *first = NULL;
    AUTO_FREE char *second = NULL;
    AUTO_FREE char *third = NULL;
    char *words[3] = {NULL};

    (void)state;
    put_dir("/pids/mete/x");
    assert_null(make("/mete/x", 1, NULL, &first, &words[0]));
    assert_null(make("/mete/x", 2, first, &second, &words[1]));
    assert_true(file_exists(first) && file_exists(second));
    assert_null(make("/mete/x", 3, first, &third, &words[2]));
    assert_true(file_exists(first) && !file_exists(second) && file_exists(third));
    for (size_t i = 0; i < 3; i++)
        free(words[i]);
}

static void what_is_empty_goes_with_the_next(void **state)
{
    AUTO_FREE char *first = NULL;
    AUTO_FREE char *second = NULL;
    AUTO_FREE char *word = NULL;
    AUTO_FREE char *again = NULL;
    AUTO_FREE char *other = mem_format("%s/pids/mete/x/mine", dir);

    (void)state;
    put_dir("/pids/mete/x/mine");
    assert_null(make("/mete/x", 1, NULL, &first, &word));
    assert_null(make("/mete/x", 2, NULL, &second, &again));
    assert_false(file_exists(first));
    assert_true(file_exists(second) && file_exists(other));
    exec_cgroup_remove(second);
    assert_false(file_exists(second));
}

static void a_container_without_cgroup_is_an_error(void **state)
{
    char *made = NULL;
    char *word = NULL;
    AUTO(err_freep)
    struct err *e = make("/mete/gone", 1, NULL, &made, &word);

    (void)state;
    assert_non_null(e);
    assert_true(!made && !word);
}

static pid_t sleeper(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

/* cgroup.procs is a plain file here and never gets shorter: each round finds dead processes,
 * without harm. */
static void all_in_it_are_killed_and_nobody_else(void **state)
{
    pid_t in = sleeper();
    pid_t out = sleeper();
    AUTO_FREE char *group = mem_format("%s/pids/mete/x/exec-1", dir);
    AUTO_FREE char *procs = mem_format("%s/cgroup.procs", group);
    AUTO_FREE char *text = mem_format("%d\n", (int)in);
    int status = 0;

    (void)state;
    put_dir("/pids/mete/x/exec-1");
    assert_null(file_write(procs, 0644, str_of(text)));
    assert_int_equal(exec_cgroup_kill(group), 1);
    assert_int_equal(waitpid(in, &status, 0), in);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(waitpid(out, &status, WNOHANG), 0);
    assert_int_equal(kill(out, SIGKILL), 0);
    assert_int_equal(waitpid(out, &status, 0), out);
    assert_int_equal(exec_cgroup_kill(NULL), 0);
}

static bool is_stopped(pid_t pid)
{
    AUTO_FREE char *path = mem_format("/proc/%d/stat", (int)pid);
    AUTO(buf_done) struct buf text = {0};

    assert_null(file_read(path, 4096, &text));
    return memmem(text.at, text.size, ") T ", 4) != NULL;
}

/* The second way of v1, on a machine without a freezer. */
static void without_a_freezer_processes_are_stopped_by_signals(void **state)
{
    AUTO_FREE char *procs = mem_format("%s/pids/mete/x/step-1/cgroup.procs", dir);
    AUTO_FREE char *line = NULL;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        for (;;)
            (void)pause();
    line = mem_format("%d\n", (int)pid);
    put_dir("/pids/mete/x/step-1");
    assert_null(file_write(procs, 0644, str_of(line)));
    assert_null(cgroup_freeze(dir, "/mete/x", true));
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
    assert_true(is_stopped(pid));
    assert_null(cgroup_freeze(dir, "/mete/x", false));
    assert_int_equal(waitpid(pid, NULL, WCONTINUED), pid);
    assert_false(is_stopped(pid));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_null(cgroup_freeze(dir, "/mete/none", true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_layout_has_its_word, make_root, remove_root),
        cmocka_unit_test_setup_teardown(all_hierarchies_lose_what_the_runtime_forgot, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(what_is_used_stays_though_it_is_empty, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(what_is_empty_goes_with_the_next, make_root, remove_root),
        cmocka_unit_test_setup_teardown(a_container_without_cgroup_is_an_error, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(all_in_it_are_killed_and_nobody_else, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(without_a_freezer_processes_are_stopped_by_signals,
                                        make_root, remove_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
