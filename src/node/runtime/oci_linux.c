/* oci_linux.c - a search for installed OCI runtimes */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/runtime/oci.h"
#include "node/runtime/program.h"

enum {
    OUTPUT_MAX = 65536,
    PATIENCE_MS = 10000
};

static int64_t now_ms(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / NS_PER_MS;
}

/* Reads to the end, or until the time limit. */
static void read_output(int fd, struct buf *ret)
{
    int64_t until_ms = now_ms() + PATIENCE_MS;
    char bytes[4096];
    ssize_t n = 1;

    while (n > 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left_ms = until_ms - now_ms();

        if (left_ms <= 0 || poll(&p, 1, (int)left_ms) <= 0)
            return;
        n = read(fd, bytes, sizeof(bytes));
        if (n > 0)
            buf_add(ret, bytes, (size_t)n);
    }
}

static int oci_spawn(const char *path, const char *const *argv, int out, pid_t *ret)
{
    static const char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL};
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);

    if (r != 0)
        return r;
    r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, out, 1);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (r == 0)
        r = posix_spawn(ret, path, &actions, NULL, (char *const *)(uintptr_t)argv,
                        (char *const *)(uintptr_t)env);
    (void)posix_spawn_file_actions_destroy(&actions);
    return r;
}

/* Runs a program and returns its output; an exit code other than 0 is an error. */
static struct err *oci_ask(const char *path, const char *const *argv, struct buf *ret)
{
    int ends[2] = {-1, -1};
    pid_t pid = 0;
    int status = 0;
    int r = 0;

    ret->cap = OUTPUT_MAX;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_errno(errno, "pipe");
    r = oci_spawn(path, argv, ends[1], &pid);
    fd_close(ends[1]);
    if (r == 0) {
        read_output(ends[0], ret);
        (void)kill(pid, SIGKILL); /* has ended, or hangs */
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    fd_close(ends[0]);
    if (r != 0)
        return err_errno(r, "start %s", path);
    if (ret->size == 0)
        return err_new(ERR_UNAVAILABLE, "%s printed nothing", path);
    buf_add_char(ret, '\0');
    return NULL;
}

/* The version of the Debian package that owns the program; "": none (as in /usr/local), or unknown.
 */
static char *package_version(const char *name, const char *path)
{
    static const char query[] = "/usr/bin/dpkg-query";
    const char *const argv[] = {query, "-W", "-f", "${Version}", name, NULL};
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (text_starts_with(path, "/usr/local/") || !file_exists(query))
        return mem_strdup("");
    e = oci_ask(query, argv, &text);
    return mem_strdup(e ? "" : text.at);
}

static struct err *oci_check(struct oci *o)
{
    const char *path = o->paths[o->kind];
    const char *const argv[] = {path, "--version", NULL};
    AUTO(buf_done) struct buf text = {0};
    AUTO_FREE char *package = NULL;

    TRY(oci_ask(path, argv, &text));
    package = package_version(oci_name(o->kind), path);
    return oci_check_version(o->kind, text.at, package, o->version);
}

struct err *oci_find(const char *asked, struct oci *ret)
{
    AUTO(oci_done) struct oci o = {0};
    bool is_any = !asked || text_equal(asked, "auto");

    for (size_t i = 0; i < OCI_KINDS; i++) {
        AUTO(err_freep) struct err *e = program_find(oci_name((enum oci_kind)i), &o.paths[i]);

        (void)e; /* a missing runtime matters only below */
    }
    o.kind =
        is_any ? o.paths[OCI_CRUN] || !o.paths[OCI_RUNC] ? OCI_CRUN : OCI_RUNC : oci_kind_of(asked);
    if (!o.paths[o.kind])
        return program_find(oci_name(o.kind), &o.paths[o.kind]);
    TRY(oci_check(&o));
    *ret = o;
    o = (struct oci){0};
    return NULL;
}
