/*
 * launch_exec_linux.c - a command in a native attempt, from its start by the node to its program
 *
 * The process joins the attempt's cgroups and mount namespace and takes its identity, in this
 * order, and then is the command: nothing of ours stays. The word LAUNCH_STEP_WORD stands for our
 * own program, which is opened before the identity changes: its path may be out of the user's
 * reach.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/runtime/launch_helper.h"
#include "node/runtime/launch_waiter_linux.h"
#include "node/runtime/native_file_linux.h"

enum {
    FAILURE_FD = 3,
    WORDS_AT = 6 /* of the role's arguments */
};

struct launch_exec {
    const char *path; /* of the attempt's file */
    const char *cgroup_root;
    const char *cgroup; /* name below the attempt's */
    bool has_terminal;
    char **args;
    int self_fd; /* our own program; -1: the command is another */
    struct native_plan plan;
};

static struct err *exec_gone(void)
{
    return err_new(ERR_NOT_FOUND, "the job has ended");
}

/* ---- the attempt ---- */

static struct err *exec_read_plan(struct launch_exec *x, struct native_record *ret)
{
    TRY(native_file_read(x->path, true, ret));
    if (ret->end || ret->waiter <= 0)
        return exec_gone();
    return native_plan_read(ret->document, &x->plan);
}

/* The waiter lives in the namespace of its job. As the file is locked afterwards, the pid was not
 * reused. */
static struct err *exec_enter_namespace(const struct launch_exec *x, pid_t waiter)
{
    AUTO(fd_closep) int fd = (int)syscall(SYS_pidfd_open, waiter, 0);

    if (fd < 0 || !native_file_is_held(x->path))
        return exec_gone();
    if (setns(fd, CLONE_NEWNS) < 0)
        return err_errno(errno, "enter the mount namespace of the job");
    return NULL;
}

/* ---- the program ---- */

/* The user may open its terminal and its pipes by name, too: /dev/tty, /dev/stdout. */
static struct err *exec_take_streams(const struct launch_exec *x)
{
    for (int fd = 0; fd < 3; fd++) {
        struct stat st = {0};

        if (fstat(fd, &st) == 0 && (x->has_terminal || S_ISFIFO(st.st_mode)) &&
            fchown(fd, x->plan.uid, (gid_t)-1) < 0)
            return err_errno(errno, "give a stream to uid %u", x->plan.uid);
    }
    if (x->has_terminal && ioctl(0, TIOCSCTTY, 0) < 0)
        return err_errno(errno, "take the terminal");
    return NULL;
}

/* With a terminal, programs look for its type. */
static void exec_add_term(struct launch_exec *x)
{
    size_t n = 0;

    for (; x->plan.env[n]; n++)
        if (strncmp(x->plan.env[n], "TERM=", strlen("TERM=")) == 0)
            return;
    x->plan.env = mem_realloc(x->plan.env, (n + 2) * sizeof(*x->plan.env));
    x->plan.env[n] = "TERM=xterm";
    x->plan.env[n + 1] = NULL;
}

/* A step's manager begins with all signals blocked: none may end it before it handles them. A third
 * word of the command ("use") goes before the number of the step. */
static void exec_self(const struct launch_exec *x)
{
    static char name[] = "mete";
    static char word[] = "step";
    char *number = x->args[1];
    char *verb = number ? x->args[2] : NULL;
    char *const args[] = {name, word, verb, verb ? number : NULL, NULL};
    sigset_t all;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)syscall(SYS_execveat, x->self_fd, "", args, x->plan.env, AT_EMPTY_PATH);
}

static struct err *exec_become(struct launch_exec *x)
{
    if (launch_has_oom_score())
        launch_reset_oom_score();
    TRY(exec_take_streams(x));
    if (!launch_become(&x->plan))
        return err_errno(errno, "become uid %u", x->plan.uid);
    if (chdir(x->plan.cwd) != 0)
        return err_errno(errno, "enter %s as uid %u", x->plan.cwd, x->plan.uid);
    if (x->has_terminal)
        exec_add_term(x);
    if (x->self_fd >= 0)
        exec_self(x);
    else
        launch_run(x->args, x->plan.env);
    return errno == ENOENT ? err_new(ERR_INVALID, "executable file '%s' not found", x->args[0])
                           : err_errno(errno, "run %s", x->args[0]);
}

static struct err *exec_all(struct launch_exec *x, struct native_record *r)
{
    if (strcmp(x->args[0], LAUNCH_STEP_WORD) == 0) {
        x->self_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        if (x->self_fd < 0)
            return err_errno(errno, "open our own program");
    }
    TRY(exec_read_plan(x, r));
    TRY(launch_cgroup_enter(x->cgroup_root, x->plan.cgroup, x->cgroup));
    TRY(exec_enter_namespace(x, r->waiter));
    return exec_become(x);
}

/* Descriptors 0 to 2 are the command's, FAILURE_FD tells why it cannot run. */
int launch_exec_main(int argc, char **argv)
{
    struct launch_exec x = {.self_fd = -1};
    struct native_record r = {0};
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *text = NULL;

    if (argc <= WORDS_AT || fcntl(FAILURE_FD, F_SETFD, FD_CLOEXEC) < 0) {
        (void)fprintf(stderr, "mete " LAUNCH_EXEC_ROLE " is started by the node\n");
        return 2;
    }
    x.path = argv[1];
    x.cgroup_root = argv[2];
    x.cgroup = argv[3];
    x.has_terminal = strcmp(argv[4], "tty") == 0;
    x.args = argv + WORDS_AT;
    e = exec_all(&x, &r);
    text =
        mem_format("%s %s", err_code(e) == ERR_NOT_FOUND ? LAUNCH_EXEC_GONE : LAUNCH_EXEC_REFUSED,
                   err_message(e));
    (void)!write(FAILURE_FD, text, strlen(text)); /* the node may be gone */
    native_plan_done(&x.plan);
    native_record_done(&r);
    fd_close(x.self_fd);
    return 127;
}
