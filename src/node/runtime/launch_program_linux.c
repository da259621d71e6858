/* launch_program_linux.c - runs Slurm's Prolog and Epilog */

#include "node/runtime/launch_program_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "node/runtime/launch_waiter_linux.h"

/* Variables of the job by which the node says what gpus it gave: not taken from others. */
static const char *const gpu_names[] = {"SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES",
                                        "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
                                        "GPU_DEVICE_ORDINAL"};

struct program_env {
    const char **all; /* NULL-terminated */
    size_t n;
    char *context;
};

static void env_put(struct program_env *e, const char *variable)
{
    e->all = mem_realloc(e->all, (e->n + 2) * sizeof(*e->all));
    e->all[e->n++] = variable;
    e->all[e->n] = NULL;
}

static bool is_gpu_variable(const char *variable)
{
    for (size_t i = 0; i < COUNT(gpu_names); i++)
        if (text_starts_with(variable, gpu_names[i]) && variable[strlen(gpu_names[i])] == '=')
            return true;
    return false;
}

static void env_make(const struct native_plan *p, const char *context, struct program_env *ret)
{
    *ret = (struct program_env){.context = mem_format("SLURM_SCRIPT_CONTEXT=%s_slurmd", context)};
    env_put(ret, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    env_put(ret, ret->context);
    for (size_t i = 0; i < json_array_size(p->variables); i++)
        if (json_is_string(json_array_get(p->variables, i)))
            env_put(ret, json_string_value(json_array_get(p->variables, i)));
    for (size_t i = 0; p->has_gpus && p->env[i]; i++)
        if (is_gpu_variable(p->env[i]))
            env_put(ret, p->env[i]);
}

static void env_done(struct program_env *e)
{
    free(e->all);
    free(e->context);
}

/* Only root could have written it. */
static struct err *program_check(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return err_errno(errno, "find %s", path);
    if (!S_ISREG(st.st_mode) || !(st.st_mode & S_IXUSR))
        return err_new(ERR_INVALID, "%s is not a program", path);
    if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return err_new(ERR_INVALID, "%s must belong to root, who alone may write it", path);
    return NULL;
}

static _Noreturn void program_become(const char *path, const struct program_env *e)
{
    char *const args[] = {(char *)(uintptr_t)path, NULL}; /* exec does not write to them */
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    launch_reset_signals();
    (void)setsid();
    for (int fd = 0; fd < 3; fd++)
        if (null < 0 || dup2(null, fd) != fd)
            _exit(126);
    if (syscall(SYS_close_range, 3, ~0U, 0) != 0 || chdir("/") != 0)
        _exit(126);
    launch_run(args, e->all);
    _exit(127);
}

static int64_t clock_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
    return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

/* False: it did not end in time, and was killed. */
static bool program_wait(pid_t pid, int64_t timeout_s, int *ret_status)
{
    int64_t until_ns = timeout_s > 0 ? clock_ns() + timeout_s * NS_PER_SEC : INT64_MAX;
    bool is_in_time = true;
    sigset_t child;

    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    while (waitpid(pid, ret_status, WNOHANG) != pid) {
        const struct timespec second = {.tv_sec = 1};

        if (clock_ns() >= until_ns) {
            is_in_time = false;
            (void)kill(-pid, SIGKILL);
            (void)kill(pid, SIGKILL); /* before it leads its group */
        }
        (void)sigtimedwait(&child, NULL, &second);
    }
    (void)kill(-pid, SIGKILL); /* what it left behind, as Slurm */
    return is_in_time;
}

static struct err *program_run(const struct native_plan *p, const char *path,
                               const struct program_env *e)
{
    int status = 0;
    pid_t pid;

    TRY(program_check(path));
    pid = fork();
    if (pid < 0)
        return err_errno(errno, "fork");
    if (pid == 0)
        program_become(path, e);
    if (!program_wait(pid, p->program_timeout_s, &status))
        return err_new(ERR_INVALID, "%s did not end within %lld s", path,
                       (long long)p->program_timeout_s);
    if (WIFSIGNALED(status))
        return err_new(ERR_INVALID, "%s was ended by signal %d", path, WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return err_new(ERR_INVALID, "%s ended with code %d", path, WEXITSTATUS(status));
    return NULL;
}

struct err *launch_programs_run(const struct native_plan *p, const char *pattern,
                                const char *context)
{
    struct program_env env;
    glob_t found = {0};
    struct err *e = NULL;

    /* A pattern without a match stays as it is: the error names it. */
    if (glob(pattern, GLOB_NOCHECK, NULL, &found) != 0)
        return err_new(ERR_INVALID, "%s cannot be read", pattern);
    env_make(p, context, &env);
    for (size_t i = found.gl_pathc; i-- > 0 && !e;)
        e = program_run(p, found.gl_pathv[i], &env);
    env_done(&env);
    globfree(&found);
    return e ? err_wrap(e, "%s", context) : NULL;
}
