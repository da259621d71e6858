/*
 * cgroup_freeze_linux.c - stops and continues all processes of a cgroup
 *
 * In v1 a process that is moved into a frozen cgroup stops at once. So a job has a cgroup in that
 * hierarchy only once it was suspended: the cgroup is frozen first, and then takes the processes,
 * again and again until it has all, also those that were forked meanwhile.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "node/runtime/cgroup_freeze.h"
#include "node/session/exec_cgroup_linux.h"

enum {
    ROUNDS_MAX = 64, /* the pids limit of the job stops a fork bomb earlier */
    MEMBERS_MAX = 1 << 20
};

static struct err *freeze_put(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text))
        return NULL;
    if (errno == ENOENT || errno == ENODEV || errno == ESRCH) /* the cgroup or process has ended */
        return NULL;
    return err_errno(errno, "write '%s' to %s", text, path);
}

static bool has_member(struct str procs, struct str pid)
{
    while (procs.at && procs.size > 0)
        if (str_equal(str_cut(&procs, '\n'), pid))
            return true;
    return false;
}

/* Moves the processes of `from` that are not in `to` yet. */
static struct err *freeze_take(const char *from, const char *to, size_t *n_moved)
{
    AUTO_FREE char *theirs = mem_format("%s/cgroup.procs", from);
    AUTO_FREE char *ours = mem_format("%s/cgroup.procs", to);
    AUTO(buf_done) struct buf all = {0};
    AUTO(buf_done) struct buf taken = {0};
    AUTO(err_freep) struct err *gone = file_read(theirs, MEMBERS_MAX, &all);
    struct str rest = {all.at, all.size};

    if (gone)
        return NULL;
    TRY(file_read(ours, MEMBERS_MAX, &taken));
    while (rest.at && rest.size > 0) {
        struct str pid = str_cut(&rest, '\n');
        AUTO_FREE char *text = mem_strndup(pid.at, pid.size);

        if (pid.size == 0 || has_member((struct str){taken.at, taken.size}, pid))
            continue;
        TRY(freeze_put(to, "cgroup.procs", text));
        (*n_moved)++;
    }
    return NULL;
}

/* Calls `fn` for the directory and those of commands below it. */
static struct err *freeze_each(const char *dir,
                               struct err *(*fn)(const char *dir, const char *to, size_t *n),
                               const char *to, size_t *n)
{
    char **names = NULL;
    size_t n_names = 0;
    struct err *e = fn(dir, to, n);

    err_free(dir_list(dir, &names, &n_names)); /* the cgroup may be gone */
    for (size_t i = 0; i < n_names; i++) {
        AUTO_FREE char *below = mem_format("%s/%s", dir, names[i]);

        if (!e && exec_cgroup_is_name(names[i]))
            e = fn(below, to, n);
    }
    names_free(names, n_names);
    return e;
}

static struct err *signal_stop(const char *dir, const char *to, size_t *n)
{
    (void)to;
    *n += exec_cgroup_signal(dir, SIGSTOP);
    return NULL;
}

static struct err *signal_go_on(const char *dir, const char *to, size_t *n)
{
    (void)to;
    *n += exec_cgroup_signal(dir, SIGCONT);
    return NULL;
}

static struct err *v1_freeze(const char *processes, const char *dir)
{
    AUTO_FREE char *parent = mem_strndup(dir, (size_t)(strrchr(dir, '/') - dir));
    size_t n_moved = 1;

    if ((mkdir(parent, 0755) < 0 && errno != EEXIST) || (mkdir(dir, 0755) < 0 && errno != EEXIST))
        return err_errno(errno, "make the cgroup %s", dir);
    TRY(freeze_put(dir, "freezer.state", "FROZEN"));
    for (int i = 0; i < ROUNDS_MAX && n_moved > 0; i++) {
        n_moved = 0;
        TRY(freeze_each(processes, freeze_take, dir, &n_moved));
    }
    return NULL;
}

struct err *cgroup_freeze(const char *root, const char *path, bool is_frozen)
{
    AUTO_FREE char *controllers = mem_format("%s/cgroup.controllers", root);
    AUTO_FREE char *unified = mem_format("%s%s", root, path);
    AUTO_FREE char *freezer = mem_format("%s/freezer", root);
    AUTO_FREE char *dir = mem_format("%s%s", freezer, path);
    AUTO_FREE char *processes = mem_format("%s/pids%s", root, path);
    size_t n = 0;

    if (file_exists(controllers))
        return freeze_put(unified, "cgroup.freeze", is_frozen ? "1" : "0");
    if (!file_exists(processes))
        return NULL;
    if (!file_exists(freezer))
        return freeze_each(processes, is_frozen ? signal_stop : signal_go_on, NULL, &n);
    return is_frozen ? v1_freeze(processes, dir) : freeze_put(dir, "freezer.state", "THAWED");
}
