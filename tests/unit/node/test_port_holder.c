/* test_port_holder.c - sockets that listen, and a /proc and cgroups that the test made */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/session/port_holder.h"
#include "test.h"

#define HEAD "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
#define ROW(local, port, state, inode)                                                \
    "   0: " local ":" port " 00000000:0000 " state " 00000000:00000000 00:00000000 " \
    "00000000     0        0 " inode " 1 0000000000000000 100 0 0 10 0\n"

#define ANY6       "00000000000000000000000000000000"
#define LOOPBACK6  "00000000000000000000000001000000"
#define ELSEWHERE6 "B80D01200000000000000000EFBE0000"

struct stage {
    char dir[64];
    bool is_v1;
};

static void put(const struct stage *g, const char *path, const char *text)
{
    AUTO_FREE char *file = mem_format("%s/%s", g->dir, path);
    AUTO_FREE char *parent = mem_strdup(file);
    AUTO(err_freep) struct err *e = NULL;

    *strrchr(parent, '/') = '\0';
    e = dir_make(parent, 0755);
    if (!e)
        e = file_write(file, 0644, str_of(text));
    assert_null(e);
}

/* Process `pid` has the socket `inode` open. */
static void put_socket(const struct stage *g, const char *pid, const char *inode)
{
    AUTO_FREE char *dir = mem_format("%s/proc/%s/fd", g->dir, pid);
    AUTO_FREE char *path = mem_format("%s/%s", dir, inode);
    AUTO_FREE char *target = mem_format("socket:[%s]", inode);
    AUTO(err_freep) struct err *e = dir_make(dir, 0755);

    assert_null(e);
    assert_int_equal(symlink(target, path), 0);
}

static void stage_init(struct stage *g, bool is_v1)
{
    *g = (struct stage){.dir = "/tmp/test_port_holder.XXXXXX", .is_v1 = is_v1};
    assert_non_null(mkdtemp(g->dir));
    if (!is_v1)
        put(g, "cgroup/cgroup.controllers", "pids\n");
    put(g, is_v1 ? "cgroup/pids/mete/a/cgroup.procs" : "cgroup/mete/a/cgroup.procs", "100\n101\n");
    put(g, is_v1 ? "cgroup/pids/mete/b/cgroup.procs" : "cgroup/mete/b/cgroup.procs", "200\n");
    put(g, is_v1 ? "cgroup/pids/mete/b/exec-1/cgroup.procs" : "cgroup/mete/b/exec-1/cgroup.procs",
        "201\n");
    put_socket(g, "101", "5001");
    put_socket(g, "201", "6001");
}

static void stage_done(struct stage *g)
{
    AUTO(err_freep) struct err *e = dir_remove(g->dir);

    assert_null(e);
}

/* The family for port 8080; 0: no process of `cgroup` takes connections. */
static int ask(const struct stage *g, const char *cgroup)
{
    AUTO_FREE char *proc = mem_format("%s/proc", g->dir);
    AUTO_FREE char *root = mem_format("%s/cgroup", g->dir);
    const char *const cgroups[] = {"/mete/gone", cgroup, NULL};
    const struct port_question q = {
        .proc = proc, .cgroup_root = root, .cgroups = cgroups, .port = 8080};
    int family = 0;
    AUTO(err_freep) struct err *e = port_find_holder(&q, &family);

    if (e)
        assert_string_equal(err_message(e),
                            "no process of the pod listens on port 8080 of 127.0.0.1 or ::1");
    if (e)
        assert_int_equal(family, 0);
    return family;
}

static void finds_the_address_that_is_the_pods(void **state)
{
    static const struct {
        const char *tcp;
        const char *tcp6;
        int family; /* for the pod with the socket 5001 */
    } cases[] = {
        {ROW("0100007F", "1F90", "0A", "5001"), "", AF_INET},
        {ROW("00000000", "1F90", "0A", "5001"), "", AF_INET},
        {"", ROW(ANY6, "1F90", "0A", "5001"), AF_INET},
        {"", ROW(LOOPBACK6, "1F90", "0A", "5001"), AF_INET6},
        {"", ROW("0000000000000000FFFF00000100007F", "1F90", "0A", "5001"), AF_INET},
        {"", "", 0},
        {ROW("0100007F", "1F91", "0A", "5001"), "", 0}, /* another port */
        {ROW("0100007F", "1F90", "01", "5001"), "", 0}, /* a connection */
        {ROW("0100000A", "1F90", "0A", "5001"), "", 0}, /* 10.0.0.1 */
        {"", ROW(ELSEWHERE6, "1F90", "0A", "5001"), 0},
        {ROW("0100007F", "1F90", "0A", "7001"), "", 0}, /* the host's */
        {ROW("0100007F", "1F90", "0A", "6001"), "", 0}, /* another pod's */
        {ROW("0100007F", "1F90", "0A", "0"), "", 0},
        /* Two sockets for one address: both have to be the pod's. */
        {ROW("00000000", "1F90", "0A", "5001") ROW("0100007F", "1F90", "0A", "7001"), "", 0},
        {ROW("00000000", "1F90", "0A", "5001") ROW("00000000", "1F90", "0A", "7001"), "", 0},
        /* 0.0.0.0 is the host's, :: (or ::1) the pod's. */
        {ROW("00000000", "1F90", "0A", "7001"), ROW(ANY6, "1F90", "0A", "5001"), AF_INET6},
        {ROW("0100007F", "1F90", "0A", "7001"), ROW(LOOPBACK6, "1F90", "0A", "5001"), AF_INET6},
        {ROW("0100007F", "1F90", "0A", "5001"), ROW(LOOPBACK6, "1F90", "0A", "7001"), AF_INET},
        {ROW("0100007F", "1F90", "0A", "5001"), ROW(ANY6, "1F90", "0A", "7001"), 0},
        {"what no kernel says\n\n : : :\n", ":::\n", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct stage g;
        AUTO_FREE char *tcp = mem_format("%s%s", HEAD, cases[i].tcp);
        AUTO_FREE char *tcp6 = mem_format("%s%s", HEAD, cases[i].tcp6);
        int family;

        stage_init(&g, i % 2 == 1);
        put(&g, "proc/net/tcp", tcp);
        put(&g, "proc/net/tcp6", tcp6);
        family = ask(&g, "/mete/a");
        if (family != cases[i].family)
            fail_msg("case %zu: family %d, want %d", i, family, cases[i].family);
        stage_done(&g);
    }
}

static void a_command_of_the_pod_may_listen(void **state)
{
    struct stage g;

    (void)state;
    stage_init(&g, false);
    put(&g, "proc/net/tcp", HEAD ROW("0100007F", "1F90", "0A", "6001"));
    assert_int_equal(ask(&g, "/mete/b"), AF_INET);
    assert_int_equal(ask(&g, "/mete/a"), 0);
    stage_done(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_address_that_is_the_pods),
        cmocka_unit_test(a_command_of_the_pod_may_listen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
