/*
 * launch_child_linux.c - the first process of a native attempt, from the fork to its program
 *
 * All that the user names is used with the user's rights: the working directory, the files of input
 * and output, and the program. Before, the process takes nothing from the user but numbers.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/runtime/launch_waiter_linux.h"

enum {
    REPORT_FD = 3, /* closed by exec */
    CAPABILITIES_MAX = 64
};

static _Noreturn void launch_child_fail(int report_fd, enum launch_step step)
{
    struct launch_failure f = {.step = step, .number = errno};

    if (write(report_fd, &f, sizeof(f)) < 0)
        _exit(126);
    _exit(127);
}

/* The waiter blocks all signals. */
void launch_reset_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, &action, NULL); /* fails for SIGKILL, SIGSTOP and libc's own signals */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

bool launch_has_oom_score(void)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read("/proc/self/oom_score_adj", 64, &text);

    return !e && text.size > 0 && text.at[0] != '0';
}

void launch_reset_oom_score(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!write(fd, "0", 1); /* without /proc the job would be protected: harmless */
        (void)close(fd);
    }
}

/* The session keyring of the node does not reach the job. */
bool launch_become(const struct native_plan *p)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct sets[2] = {
        {.effective = (uint32_t)p->permitted, .permitted = (uint32_t)p->permitted},
        {.effective = (uint32_t)(p->permitted >> 32), .permitted = (uint32_t)(p->permitted >> 32)}};

    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
        return false;
    for (unsigned long cap = 0; cap < CAPABILITIES_MAX; cap++) {
        if (p->bounding & (UINT64_C(1) << cap) || prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
            continue;
        if (errno != EINVAL)
            return false;
        break; /* past the last capability of this kernel */
    }
    (void)umask(p->umask);
    return syscall(SYS_setgroups, p->n_groups, p->groups) == 0 &&
           syscall(SYS_setresgid, p->gid, p->gid, p->gid) == 0 &&
           syscall(SYS_setresuid, p->uid, p->uid, p->uid) == 0 &&
           syscall(SYS_capset, &header, sets) == 0 &&
           (!p->has_no_new_privileges || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
}

/* Leaves the job's user no descriptor of ours: paths as /proc/self/fd/4 would open it anew. */
static bool drop_descriptors(int report_fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0)
        return false;
    for (int fd = 0; fd < REPORT_FD; fd++)
        if (dup2(null, fd) != fd)
            return false;
    if (report_fd != REPORT_FD && dup3(report_fd, REPORT_FD, O_CLOEXEC) < 0)
        return false;
    return syscall(SYS_close_range, REPORT_FD + 1, ~0U, 0) == 0;
}

static bool open_as(const char *path, int flags, int target)
{
    int fd = open(path ? path : "/dev/null", flags | O_NOCTTY | O_CLOEXEC, 0666);

    return fd >= 0 && dup2(fd, target) == target;
}

static void open_streams(const struct native_plan *p)
{
    const int flags = O_WRONLY | O_CREAT | (p->is_append ? O_APPEND : O_TRUNC);
    bool is_one = !p->errors || (p->output && strcmp(p->errors, p->output) == 0);

    if (!open_as(p->input, O_RDONLY, 0))
        launch_child_fail(REPORT_FD, LAUNCH_INPUT);
    if (!open_as(p->output, flags, 1))
        launch_child_fail(REPORT_FD, LAUNCH_OUTPUT);
    if (is_one ? dup2(1, 2) != 2 : !open_as(p->errors, flags, 2))
        launch_child_fail(REPORT_FD, LAUNCH_ERRORS);
}

static const char *path_of(const char *const *env)
{
    for (; *env; env++)
        if (strncmp(*env, "PATH=", strlen("PATH=")) == 0)
            return *env + strlen("PATH=");
    return "/usr/local/bin:/usr/bin:/bin";
}

/* Runs the first program of that name in the PATH of the job, as execvpe(3) does; leaves errno. */
static void exec_searched(char *const *args, char *const *env)
{
    const char *path = path_of((const char *const *)env);
    int number = ENOENT;

    for (const char *end = path; path; path = *end ? end + 1 : NULL) {
        char file[PATH_MAX];

        end = strchrnul(path, ':');
        if (snprintf(file, sizeof(file), "%.*s/%s", (int)(end - path), path, args[0]) >=
            (int)sizeof(file))
            continue;
        (void)execve(file, args, env);
        if (errno == EACCES)
            number = EACCES;
        else if (errno != ENOENT && errno != ENOTDIR)
            return;
    }
    errno = number;
}

void launch_run(char *const *args, const char *const *env)
{
    char *const *variables = (char *const *)(uintptr_t)env; /* exec does not write to them */

    if (strchr(args[0], '/'))
        (void)execve(args[0], args, variables);
    else
        exec_searched(args, variables);
}

_Noreturn void launch_child(const struct launch_task *t, const struct native_plan *p,
                            const struct launch_cgroup *c, int report_fd)
{
    char *const *args = (char *const *)(uintptr_t)p->args; /* exec does not write to them */

    launch_reset_signals();
    (void)setsid(); /* a forked child leads no group: cannot fail */
    if (!launch_cgroup_join(c))
        launch_child_fail(report_fd, LAUNCH_CGROUP);
    if (t->is_oom_score_reset)
        launch_reset_oom_score();
    if (!drop_descriptors(report_fd))
        launch_child_fail(report_fd, LAUNCH_FDS);
    if (!launch_become(p))
        launch_child_fail(REPORT_FD, LAUNCH_IDENTITY);
    if (chdir(p->cwd) != 0)
        launch_child_fail(REPORT_FD, LAUNCH_DIRECTORY);
    open_streams(p);
    launch_run(args, p->env); /* a script's path is args[0] */
    launch_child_fail(REPORT_FD, LAUNCH_EXEC);
}
