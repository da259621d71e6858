/* mps_process_linux.c - becomes an MPS control daemon, finds one again */

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/proc_stat.h"
#include "gpu/mps_process.h"

enum {
    NOTE_MAX = 64 /* bytes of the file `daemon` */
};

#define MPS_PROGRAM "nvidia-cuda-mps-control"

/* The start of a process; -1: there is no such process. */
static int64_t process_started(int64_t pid)
{
    struct proc_stat stat;

    return proc_stat_read(pid, &stat) ? stat.start : -1;
}

struct err *mps_process_note(const char *dir)
{
    AUTO_FREE char *path = mem_format("%s/daemon", dir);
    int64_t pid = getpid();
    AUTO_FREE char *text = mem_format("%" PRId64 " %" PRId64 "\n", pid, process_started(pid));

    return file_write(path, 0600, str_of(text));
}

int mps_process_find(const char *dir, int64_t *ret_pid)
{
    AUTO_FREE char *path = mem_format("%s/daemon", dir);
    AUTO(buf_done) struct buf b = {.cap = NOTE_MAX};
    AUTO(err_freep) struct err *e = file_read(path, NOTE_MAX, &b);
    struct str rest = e ? (struct str){0} : (struct str){b.at, b.size};
    int64_t pid = 0;
    int64_t started = 0;
    int pidfd;

    if (!e)
        e = num_parse_int64(str_cut(&rest, ' '), 1, INT32_MAX, &pid);
    if (!e)
        e = num_parse_int64(str_cut(&rest, '\n'), 0, INT64_MAX, &started);
    if (e)
        return -1;
    pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (pidfd >= 0 && process_started(pid) != started) {
        fd_close(pidfd);
        return -1;
    }
    *ret_pid = pid;
    return pidfd;
}

/* Gives the process its view of the machine. */
static struct err *enter_root(const struct mps_exec *x)
{
    const char *root = text_equal(x->root, "/") ? "" : x->root;
    AUTO_FREE char *shm = mem_format("%s/shm", x->dir);
    AUTO_FREE char *at_shm = mem_format("%s/dev/shm", root);
    AUTO_FREE char *at_dir = mem_format("%s%s", root, x->dir);

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return err_errno(errno, "mounts of its own");
    if (root[0] && mount(x->dir, at_dir, NULL, MS_BIND, NULL) < 0)
        return err_errno(errno, "%s as %s", x->dir, at_dir);
    if (x->is_daemon && mount(shm, at_shm, NULL, MS_BIND, NULL) < 0)
        return err_errno(errno, "%s as %s", shm, at_shm);
    if (root[0] && (chroot(root) < 0 || chdir("/") < 0))
        return err_errno(errno, "enter %s", root);
    return NULL;
}

int mps_process_exec(const struct mps_exec *x)
{
    const char *const argv[] = {x->program, x->is_daemon ? "-f" : NULL, NULL};
    AUTO(err_freep) struct err *e = x->is_daemon ? mps_process_note(x->dir) : NULL;

    if (!e)
        e = enter_root(x);
    if (!e) {
        (void)execv(x->program, (char *const *)(uintptr_t)argv);
        e = err_errno(errno, "%s", x->program);
    }
    (void)fprintf(stderr, "mete: %s\n", err_message(e));
    return 1;
}

const char *mps_program_find(const struct driver_root *root, const char *machine_root)
{
    const char *want = machine_root ? machine_root : "/";
    size_t below = machine_root ? strlen(machine_root) : 0;

    if (!root || (!root->is_emulated && !text_equal(root->dir, want)))
        return NULL;
    VEC_EACH (&root->files, file) {
        if (file->kind != DRIVER_PROGRAM || !text_equal(file->name, MPS_PROGRAM))
            continue;
        return root->is_emulated ? file->path : file->path + below;
    }
    return NULL;
}
