/* exec_cgroup_linux.c - cgroups of commands */

#include "node/session/exec_cgroup_linux.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"

enum {
    PROCS_MAX = 1 << 20,
    KILLS_MAX = 16, /* rounds of one call; the pids limit stops a fork bomb earlier */
};

/* One v1 hierarchy is enough to find the processes. The pids limit also holds for child cgroups. */
static const char V1_CONTROLLER[] = "pids";

bool exec_cgroup_is_name(const char *name)
{
    return text_starts_with(name, EXEC_CGROUP_COMMAND) || text_starts_with(name, EXEC_CGROUP_STEP);
}

static void remove_empty(const char *parent, const struct exec_cgroup_options *o)
{
    char **names = NULL;
    size_t n = 0;
    AUTO(err_freep) struct err *e = dir_list(parent, &names, &n);

    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *dir = mem_format("%s/%s", parent, names[i]);

        if (exec_cgroup_is_name(names[i]) && !(o->is_used && o->is_used(o->arg, dir)))
            exec_cgroup_remove(dir);
        free(names[i]);
    }
    free(names);
}

struct err *exec_cgroup_make(const struct exec_cgroup_options *o, char **ret_dir, char **ret_word)
{
    AUTO_FREE char *controllers = mem_format("%s/cgroup.controllers", o->root);
    bool is_v2 = file_exists(controllers);
    AUTO_FREE char *parent = is_v2 ? mem_format("%s%s", o->root, o->path)
                                   : mem_format("%s/%s%s", o->root, V1_CONTROLLER, o->path);
    AUTO_FREE char *name = mem_format("%s%d-%" PRIu64, o->prefix, (int)getpid(), o->number);
    AUTO_FREE char *dir = mem_format("%s/%s", parent, name);

    remove_empty(parent, o);
    if (mkdir(dir, 0755) < 0)
        return err_errno(errno, "make the cgroup %s", dir);
    *ret_dir = TAKE(dir);
    *ret_word = is_v2 ? TAKE(name) : mem_format("%s:%s", V1_CONTROLLER, name);
    return NULL;
}

static bool is_in(const char *procs, pid_t pid)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(procs, PROCS_MAX, &text);
    AUTO_FREE char *line = mem_format("%d", (int)pid);
    struct str rest = {text.at, text.size};

    while (!e && rest.at && rest.size > 0)
        if (str_equal(str_cut(&rest, '\n'), str_of(line)))
            return true;
    return false;
}

/* Signals the process only while it is in the cgroup: its pid may be reused. */
static void signal_member(const char *procs, pid_t pid, int signal)
{
    AUTO(fd_closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd >= 0 && is_in(procs, pid))
        (void)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0); /* fails if it has ended */
}

static size_t signal_once(const char *procs, int signal)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(procs, PROCS_MAX, &text);
    struct str rest = {text.at, text.size};
    size_t n = 0;

    while (!e && rest.at && rest.size > 0) {
        int64_t pid = 0;

        e = num_parse_int64(str_cut(&rest, '\n'), 1, INT32_MAX, &pid);
        if (e)
            break;
        if (signal != 0)
            signal_member(procs, (pid_t)pid, signal);
        n++;
    }
    return n;
}

size_t exec_cgroup_kill(const char *dir)
{
    AUTO_FREE char *procs = dir ? mem_format("%s/cgroup.procs", dir) : NULL;
    size_t n = procs ? signal_once(procs, SIGKILL) : 0;
    size_t left = n;

    for (int i = 1; i < KILLS_MAX && left > 0; i++)
        left = signal_once(procs, SIGKILL);
    return n;
}

size_t exec_cgroup_signal(const char *dir, int signal)
{
    AUTO_FREE char *procs = mem_format("%s/cgroup.procs", dir);

    return signal_once(procs, signal);
}

void exec_cgroup_remove(const char *dir)
{
    if (rmdir(dir) < 0 && errno != EBUSY && errno != ENOENT)
        LOG(WARN, "cgroup of a command cannot be removed", S("dir", dir));
}
