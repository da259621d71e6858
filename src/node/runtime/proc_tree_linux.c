/* proc_tree_linux.c - walks /proc to find and kill the descendants of a process */

#include "node/runtime/proc_tree_linux.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/proc_stat.h"
#include "base/vec.h"

enum {
    ARGUMENTS_MAX = 1 << 17,
};

struct process {
    pid_t pid;
    pid_t parent;
    pid_t session;
    int64_t start; /* with the pid, the identity of the process */
    bool is_dead;
    bool is_ours;
};

struct processes {
    VEC(struct process) list;
};

static bool read_process(pid_t pid, struct process *ret)
{
    struct proc_stat stat;

    if (!proc_stat_read(pid, &stat))
        return false;
    *ret = (struct process){.pid = pid,
                            .parent = (pid_t)stat.parent,
                            .session = (pid_t)stat.session,
                            .start = stat.start,
                            .is_dead = stat.is_dead};
    return true;
}

static void processes_read(struct processes *all)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry = NULL;

    while (dir && (entry = readdir(dir))) {
        int64_t pid = 0;
        AUTO(err_freep)
        struct err *e = num_parse_int64(str_of(entry->d_name), 1, INT32_MAX, &pid);
        struct process p = {0};

        if (!e && read_process((pid_t)pid, &p))
            vec_add(&all->list, p);
    }
    if (dir)
        (void)closedir(dir);
}

static bool is_related(const struct processes *all, const struct process *p, pid_t root)
{
    if (p->parent == root || p->session == root)
        return true;
    for (size_t i = 0; i < all->list.n; i++)
        if (all->list.at[i].is_ours &&
            (p->parent == all->list.at[i].pid || p->session == all->list.at[i].pid))
            return true;
    return false;
}

static void processes_mark(struct processes *all, pid_t root)
{
    bool is_changed = true;

    while (is_changed) {
        is_changed = false;
        for (size_t i = 0; i < all->list.n; i++) {
            struct process *p = &all->list.at[i];

            if (p->is_ours || p->pid == root || p->pid == 1 || !is_related(all, p, root))
                continue;
            p->is_ours = true;
            is_changed = true;
        }
    }
}

/* Kills only the process that was read, not one that reuses its pid. */
static void kill_exactly(const struct process *p)
{
    AUTO(fd_closep) int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    struct process now = {0};

    if (fd >= 0 && read_process(p->pid, &now) && now.start == p->start)
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0); /* fails if it has ended */
}

struct proc_root proc_root_of(pid_t pid)
{
    struct process p = {0};

    if (!read_process(pid, &p))
        return (struct proc_root){0};
    return (struct proc_root){.pid = pid, .start = p.start};
}

static bool proc_root_is_there(struct proc_root root)
{
    struct process now = {0};

    return root.pid > 0 && read_process(root.pid, &now) && now.start == root.start;
}

size_t proc_tree_kill(struct proc_root root)
{
    struct processes all = {0};
    size_t n = 0;

    processes_read(&all);
    if (proc_root_is_there(root)) /* after the walk, so that the pid was not reused in it */
        processes_mark(&all, root.pid);
    for (size_t i = 0; i < all.list.n; i++)
        if (all.list.at[i].is_ours && !all.list.at[i].is_dead) {
            kill_exactly(&all.list.at[i]);
            n++;
        }
    vec_done(&all.list);
    return n;
}

static bool has_argument(pid_t pid, struct str words)
{
    AUTO_FREE char *path = mem_format("/proc/%d/cmdline", (int)pid);
    AUTO(buf_done) struct buf text = {0};
    AUTO(err_freep) struct err *e = file_read(path, ARGUMENTS_MAX, &text);
    struct stat st = {0};

    return !e && text.size > 0 && stat(path, &st) == 0 && st.st_uid == 0 &&
           memmem(text.at, text.size, words.at, words.size);
}

void proc_tree_sweep(struct str words)
{
    struct processes all = {0};
    pid_t self = getpid();

    processes_read(&all);
    for (size_t i = 0; i < all.list.n; i++) {
        const struct process *p = &all.list.at[i];
        const struct proc_root root = {.pid = p->pid, .start = p->start};

        if (p->pid == self || !has_argument(p->pid, words))
            continue;
        for (int k = 0; k < 8 && proc_tree_kill(root) > 0; k++)
            continue;
        kill_exactly(p);
    }
    vec_done(&all.list);
}
