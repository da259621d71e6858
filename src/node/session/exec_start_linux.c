/* exec_start_linux.c - starts a command with its pipes or its terminal, in a container by its
 * runtime */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/stamp.h"
#include "node/runtime/cgroup_stats.h"
#include "node/runtime/crun_attempt_linux.h"
#include "node/session/exec_cgroup_linux.h"
#include "node/session/exec_files_linux.h"
#include "node/session/exec_private_linux.h"

enum {
    CODE_OF_RUNTIME = 255, /* the runtime failed, or the command's own code */
    CODE_OF_CRUN = 1       /* crun failed early, or the command's own code */
};

static const int64_t ENTER_AGAIN_NS = 2 * NS_PER_MS;

/* ---- streams ---- */

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
struct err *exec_take_terminal(struct exec_child *c, int taken)
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

struct err *exec_start_with_pipes(struct exec_child *c,
                                  struct err *(*run)(struct exec_child *c, const int fds[3]))
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
    TRY(run(c, (const int[3]){in_theirs, out_theirs, error_theirs}));
    if (c->o.has_stdin && !c->feed.is_broken)
        feed_open(&c->feed, fd_take(&in));
    else
        feed_close(&c->feed);
    exec_source_open(&c->sources[0], fd_take(&out));
    exec_source_open(&c->sources[1], fd_take(&error));
    return NULL;
}

/* ---- commands in containers ---- */

static void on_console(void *arg, const struct err *e, int taken)
{
    struct exec_child *c = arg;
    AUTO(err_freep) struct err *failed = e ? NULL : exec_take_terminal(c, taken);

    console_free(TAKE(c->console));
    if (e || failed) {
        LOG(WARN, "terminal did not come from the runtime", E(e ? e : failed));
        feed_close(&c->feed);
        exec_kill_round(c);
        return;
    }
    exec_resize(&c->exec, c->o.columns, c->o.rows);
}

/* For runc: the command's processes are reparented to the container's first process once runc ends.
 */
static struct err *exec_make_cgroup(struct exec_child *c, char **ret_word)
{
    AUTO_FREE char *path = mem_format("/mete/%s", c->id);
    const struct exec_cgroup_options o = {.root = CGROUP_ROOT,
                                          .path = path,
                                          .prefix = EXEC_CGROUP_COMMAND,
                                          .number = c->number,
                                          .is_used = exec_has_cgroup,
                                          .arg = c->set};

    return exec_cgroup_make(&o, &c->cgroup, ret_word);
}

static struct err *exec_run(struct exec_child *c, const int fds[3])
{
    AUTO_FREE char *process = mem_format("%s/process.json", c->dir);
    AUTO_FREE char *log = mem_format("%s/log", c->dir);
    AUTO_FREE char *socket = mem_format("%s/console", c->dir);
    struct crun *r = c->runtime;
    const char *program = attempt_program(crun_find(r, c->id));
    const char *argv[16] = {program,        "--root", r->root, "--log",     log,
                            "--log-format", "json",   "exec",  "--process", process};
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
    TRY(proc_start(c->set->loop, &o, exec_on_end, c, &c->proc));
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
    return exec_take_terminal(c, fd_take(&master));
}

static struct err *start_with_console(struct exec_child *c)
{
    TRY(console_new(c->set->loop, c->dir, on_console, c, &c->console));
    return exec_run(c, (const int[3]){-1, -1, -1});
}

static struct err *exec_start(struct exec_child *c)
{
    if (!c->o.has_terminal)
        return exec_start_with_pipes(c, exec_run);
    return c->kind == OCI_RUNC ? start_with_pty(c) : start_with_console(c);
}

static struct err *exec_find_attempt(const struct exec_child *c, struct crun_attempt **ret)
{
    *ret = crun_find(c->runtime, c->id);
    if (!*ret || (*ret)->state != RUNTIME_RUNNING)
        return err_new(ERR_NOT_FOUND, "the container is not running");
    return NULL;
}

/* The runtime's own failure, from its log; NULL: the command ran. ERR_NOT_FOUND: the container
 * ended meanwhile. */
static struct err *runtime_failure(const struct exec_child *c, int code)
{
    AUTO_FREE char *message = NULL;
    struct crun_attempt *b = NULL;
    bool is_error = false;

    if (code != CODE_OF_RUNTIME && !(c->kind == OCI_CRUN && code == CODE_OF_CRUN))
        return NULL;
    message = exec_read_cause(c->dir, &is_error);
    if (!message)
        return NULL;
    if (code != CODE_OF_RUNTIME && !is_error)
        return NULL; /* only a warning: the code is the command's */
    TRY(exec_find_attempt(c, &b));
    return err_new(attempt_is_alive(b) ? ERR_INVALID : ERR_NOT_FOUND, "%s", message);
}

/*
 * Waits until the container's program runs: a released container is for a moment still the
 * runtime's process. crun joins its user namespace first, and then has no rights over a process
 * that runs a program of the host: the kernel refuses the other namespaces (ptrace(2), "access mode
 * checking").
 */
static struct err *crun_enter(struct exec_child *c)
{
    struct crun_attempt *b = NULL;

    TRY(exec_find_attempt(c, &b));
    c->is_waiting = !attempt_has_begun(b);
    if (c->is_waiting) {
        loop_timer_set(c->timer, ENTER_AGAIN_NS);
        return NULL;
    }
    c->kind = b->kind;
    return exec_start(c);
}

static struct err *crun_prepare(struct exec_child *c, const struct runtime_exec *e)
{
    const struct crun *r = c->runtime;
    struct crun_attempt *b = NULL;

    TRY(exec_find_attempt(c, &b));
    c->dir = mem_format("%s/exec/%" PRIu64, r->dir, c->number);
    return exec_write_process(c->dir, b, e);
}

struct exec *crun_exec(void *self, const struct runtime_exec *e)
{
    static const struct exec_backend backend = {
        .prepare = crun_prepare, .enter = crun_enter, .failure = runtime_failure};
    struct crun *r = self;

    return exec_new(&r->execs, &backend, r, e);
}
