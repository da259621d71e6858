/* exec_start_linux.c - starts the runtime process of a command with its pipes or its terminal */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "node/runtime/cgroup_stats.h"
#include "node/runtime/crun_attempt_linux.h"
#include "node/session/exec_cgroup_linux.h"
#include "node/session/exec_private_linux.h"

static struct err *exec_make_pipe(int *ret_ours, int *ret_theirs, bool is_input)
{
    int fds[2] = {-1, -1};
    int ours = is_input ? 1 : 0;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_errno(errno, "make a pipe");
    *ret_ours = fds[ours];
    *ret_theirs = fds[1 - ours];
    if (fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0)
        return err_errno(errno, "make a pipe non-blocking");
    return NULL;
}

/* Duplicates the terminal: one descriptor each for output, input and size. */
static struct err *take_terminal(struct exec_child *c, int taken)
{
    AUTO(fd_closep) int fd = taken;
    AUTO(fd_closep) int in = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    c->terminal = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (in < 0 || c->terminal < 0)
        return err_errno(errno, "open a terminal once more");
    exec_source_open(&c->sources[0], fd_take(&fd));
    feed_open(&c->feed, fd_take(&in));
    return NULL;
}

static void on_console(void *arg, const struct err *e, int taken)
{
    struct exec_child *c = arg;
    AUTO(err_freep) struct err *failed = e ? NULL : take_terminal(c, taken);

    console_free(TAKE(c->console));
    if (e || failed) {
        LOG(WARN, "terminal did not come from the runtime", E(e ? e : failed));
        feed_close(&c->feed);
        exec_kill_round(c);
        return;
    }
    exec_resize(&c->exec, c->o.columns, c->o.rows);
}

static bool is_of_command(void *arg, const char *dir)
{
    struct crun *r = arg;
    struct exec_child *c = NULL;

    LIST_EACH (r->execs, c) {
        if (c->cgroup && text_equal(c->cgroup, dir))
            return true;
    }
    return false;
}

/* For runc: the command's processes are reparented to the container's first process once runc ends.
 */
static struct err *exec_make_cgroup(struct exec_child *c, char **ret_word)
{
    AUTO_FREE char *path = mem_format("/mete/%s", c->id);
    const struct exec_cgroup_users users = {is_of_command, c->r};

    return exec_cgroup_make(CGROUP_ROOT, path, c->number, &users, &c->cgroup, ret_word);
}

static struct err *exec_run(struct exec_child *c, const int fds[3])
{
    AUTO_FREE char *process = mem_format("%s/process.json", c->dir);
    AUTO_FREE char *log = mem_format("%s/log", c->dir);
    AUTO_FREE char *socket = mem_format("%s/console", c->dir);
    const char *program = attempt_program(crun_find(c->r, c->id));
    const char *argv[16] = {program,        "--root", c->r->root, "--log",     log,
                            "--log-format", "json",   "exec",     "--process", process};
    const char *env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    struct proc_options o = {.argv = argv, .env = env, .cwd = "/", .n_fds = 3, .is_session = true};
    size_t n = 10;
    AUTO_FREE char *cgroup = NULL;

    if (c->kind == OCI_RUNC)
        TRY(exec_make_cgroup(c, &cgroup));
    if (cgroup) {
        argv[n++] = "--cgroup";
        argv[n++] = cgroup;
    }
    if (c->o.has_terminal)
        argv[n++] = "--tty";
    if (c->console) {
        argv[n++] = "--console-socket";
        argv[n++] = socket;
    }
    argv[n] = c->id;
    memcpy(o.fds, fds, 3 * sizeof(fds[0]));
    TRY(proc_start(c->r->o.loop, &o, exec_on_end, c, &c->proc));
    c->root = proc_root_of(proc_pid(c->proc));
    return NULL;
}

/* runc passes a terminal only if it detaches; so it relays between our pty and its own. */
static struct err *start_with_pty(struct exec_child *c)
{
    AUTO(fd_closep) int master = -1;
    AUTO(fd_closep) int slave = -1;

    c->is_relayed = true;
    TRY(pty_open(c->o.columns, c->o.rows, &master, &slave));
    TRY(exec_run(c, (const int[3]){slave, slave, slave}));
    return take_terminal(c, fd_take(&master));
}

static struct err *start_with_console(struct exec_child *c)
{
    TRY(console_new(c->r->o.loop, c->dir, on_console, c, &c->console));
    return exec_run(c, (const int[3]){-1, -1, -1});
}

static struct err *start_with_pipes(struct exec_child *c)
{
    AUTO(fd_closep) int in = -1;
    AUTO(fd_closep) int out = -1;
    AUTO(fd_closep) int error = -1;
    AUTO(fd_closep) int in_theirs = -1;
    AUTO(fd_closep) int out_theirs = -1;
    AUTO(fd_closep) int error_theirs = -1;

    if (c->o.has_stdin)
        TRY(exec_make_pipe(&in, &in_theirs, true));
    TRY(exec_make_pipe(&out, &out_theirs, false));
    TRY(exec_make_pipe(&error, &error_theirs, false));
    TRY(exec_run(c, (const int[3]){in_theirs, out_theirs, error_theirs}));
    if (c->o.has_stdin && !c->feed.is_broken)
        feed_open(&c->feed, fd_take(&in));
    else
        feed_close(&c->feed);
    exec_source_open(&c->sources[0], fd_take(&out));
    exec_source_open(&c->sources[1], fd_take(&error));
    return NULL;
}

struct err *exec_start(struct exec_child *c)
{
    if (!c->o.has_terminal)
        return start_with_pipes(c);
    return c->kind == OCI_RUNC ? start_with_pty(c) : start_with_console(c);
}
