/* launch_helper_linux.c - the launcher: takes attempts from the node, forks a waiter for each */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "node/host_root.h"
#include "node/runtime/launch_helper.h"
#include "node/runtime/launch_waiter_linux.h"

struct launch_child_of {
    struct map_handle handle;
    pid_t pid;
    char *id;
};

struct launcher {
    const char *cgroup_root;
    struct launch_child_of *waiters;
    int signal_fd;
    bool is_oom_score_reset;
};

/* ---- the namespace ---- */

/* The scripts' own small file system: a job that writes to its script cannot fill /run. */
static struct err *mount_jobs(void)
{
    TRY(dir_make(LAUNCH_JOBS_DIR, 0711));
    if (mount("tmpfs", LAUNCH_JOBS_DIR, "tmpfs", MS_NOSUID | MS_NODEV,
              "size=256m,nr_inodes=256k,mode=0711") < 0)
        return err_errno(errno, "mount a tmpfs at %s", LAUNCH_JOBS_DIR);
    return NULL;
}

/* A job reads the driver there, and notes its memory and work in the file of the machine. */
static struct err *bind_gpusim(const char *dir)
{
    if (!file_exists(dir))
        return NULL;
    TRY(dir_make(LAUNCH_GPUSIM_DIR, 0755));
    if (mount(dir, LAUNCH_GPUSIM_DIR, NULL, MS_BIND, NULL) < 0)
        return err_errno(errno, "bind %s at " LAUNCH_GPUSIM_DIR, dir);
    return NULL;
}

/* Lets jobs reach the server as their users do outside: DIR/mete.sock, and nothing else of DIR. */
static struct err *bind_door(const char *masked, int door)
{
    AUTO_FREE char *from = mem_format("/proc/self/fd/%d", door);
    AUTO_FREE char *to = mem_format("%s/door", masked);
    AUTO_FREE char *name = mem_format("%s/mete.sock", masked);
    const unsigned long flags = MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC;

    if (mount(NULL, masked, NULL, flags, "nr_inodes=8") < 0 || mkdir(to, 0755) < 0 ||
        symlink("door/mete.sock", name) < 0 || mount(from, to, NULL, MS_BIND, NULL) < 0 ||
        mount(NULL, to, NULL, flags | MS_BIND | MS_RDONLY, NULL) < 0 ||
        mount(NULL, masked, NULL, flags | MS_RDONLY, NULL) < 0)
        return err_errno(errno, "show the server's socket to jobs");
    return NULL;
}

static struct err *mask_data(const char *masked)
{
    AUTO_FREE char *real = realpath(masked, NULL);
    AUTO_FREE char *path = mem_format("%s/door", masked);
    AUTO(fd_closep) int door = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    TRY(host_mask("", masked));
    return door < 0 || !real ? NULL : bind_door(real, door); /* a node elsewhere has no socket */
}

static struct err *enter_namespace(const char *masked, const char *gpusim)
{
    if (unshare(CLONE_NEWNS) < 0)
        return err_errno(errno, "make a mount namespace");
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return err_errno(errno, "detach our mounts from the node's");
    TRY(mount_jobs());
    TRY(bind_gpusim(gpusim));
    return mask_data(masked);
}

/* ---- waiters ---- */

/* Tells the node that the attempt has no waiter. */
static void launcher_report(const char *id)
{
    AUTO_FREE char *line = mem_format("%s\n", id);

    (void)!write(LAUNCH_REPORT_FD, line, strlen(line)); /* the node may be gone */
}

static void child_free(struct launcher *l, struct launch_child_of *w)
{
    map_remove(handle, l->waiters, w); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
    free(w->id);
    free(w);
}

static void launcher_forget(struct launcher *l, pid_t pid, int status)
{
    struct launch_child_of *w = NULL;

    map_find(handle, l->waiters, &pid, sizeof(pid), w);
    if (!w)
        return;
    if (status != 0)
        launcher_report(w->id);
    child_free(l, w);
}

static void launcher_reap(struct launcher *l)
{
    struct signalfd_siginfo info;
    int status = 0;
    pid_t pid;

    (void)!read(l->signal_fd, &info, sizeof(info)); /* signals of many children are one */
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        launcher_forget(l, pid, status);
}

/* In the forked waiter: keeps the standard descriptors, the report and the attempt's file. */
static _Noreturn void waiter_run(const struct launcher *l, const char *id, int fd)
{
    const struct launch_task task = {.id = id,
                                     .cgroup_root = l->cgroup_root,
                                     .fd = LAUNCH_REPORT_FD + 1,
                                     .is_oom_score_reset = l->is_oom_score_reset};

    if (fd != task.fd && dup3(fd, task.fd, O_CLOEXEC) < 0)
        _exit(1);
    (void)close(LAUNCH_SOCKET_FD);
    (void)syscall(SYS_close_range, task.fd + 1, ~0U, 0); /* since Linux 5.9 */
    _exit(launch_wait(&task));
}

/* Without a process the file's lock goes, and the node sees that no waiter began. */
static void launcher_fork(struct launcher *l, const char *id, int fd)
{
    struct launch_child_of *w = mem_alloc(sizeof(*w));
    pid_t pid = fork();

    if (pid == 0)
        waiter_run(l, id, fd);
    (void)close(fd);
    w->id = mem_strdup(id);
    w->pid = pid;
    if (pid > 0) {
        map_add(handle, l->waiters, &w->pid, sizeof(w->pid), w);
        return;
    }
    launcher_report(id);
    free(w->id);
    free(w);
}

/* ---- packets ---- */

/* Takes the descriptors of a packet. Returns their number. */
static size_t packet_fds(struct msghdr *m, int fds[LAUNCH_BATCH_MAX])
{
    size_t n = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(c), n * sizeof(int));
    }
    return n;
}

/* False: the node is gone. */
static bool launcher_receive(struct launcher *l)
{
    static char bytes[LAUNCH_PACKET_MAX];
    union {
        char bytes[CMSG_SPACE(sizeof(int) * LAUNCH_BATCH_MAX)];
        struct cmsghdr align;
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes) - 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    int fds[LAUNCH_BATCH_MAX];
    ssize_t size = recvmsg(LAUNCH_SOCKET_FD, &m, MSG_CMSG_CLOEXEC);
    const char *id = bytes;
    size_t n;

    if (size <= 0)
        return size < 0 && errno == EINTR;
    bytes[size] = '\0';
    n = packet_fds(&m, fds);
    for (size_t i = 0; i < n; i++) {
        launcher_fork(l, id, fds[i]);
        id += strlen(id) + (id < bytes + size ? 1 : 0);
    }
    return true;
}

static void launcher_loop(struct launcher *l)
{
    struct pollfd polled[2] = {{.fd = LAUNCH_SOCKET_FD, .events = POLLIN},
                               {.fd = l->signal_fd, .events = POLLIN}};

    for (;;) {
        if (poll(polled, 2, -1) < 0 && errno != EINTR)
            return;
        if (polled[1].revents)
            launcher_reap(l);
        if (polled[0].revents && !launcher_receive(l))
            return;
    }
}

static struct err *launcher_begin(struct launcher *l, const char *masked, const char *gpusim)
{
    sigset_t set;

    (void)prctl(PR_SET_NAME, "mete-launch", 0, 0, 0);
    (void)signal(SIGPIPE, SIG_IGN); /* the node may be gone when a waiter reports */
    l->is_oom_score_reset = launch_has_oom_score();
    TRY(enter_namespace(masked, gpusim));
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return l->signal_fd < 0 ? err_errno(errno, "watch the waiters") : NULL;
}

static void launcher_done(struct launcher *l)
{
    struct launch_child_of *w = NULL;
    struct launch_child_of *next = NULL;

    map_each (handle, l->waiters, w, next)
        child_free(l, w);
    fd_close(l->signal_fd);
}

int launch_helper_main(int argc, char **argv)
{
    AUTO(launcher_done) struct launcher l = {.signal_fd = -1};
    AUTO(err_freep) struct err *e = NULL;

    if (argc != 4) {
        (void)fprintf(stderr, "mete " LAUNCH_ROLE " is started by the node\n");
        return 2;
    }
    l.cgroup_root = argv[2];
    e = launcher_begin(&l, argv[1], argv[3]);
    if (e) {
        (void)fprintf(stderr, "mete " LAUNCH_ROLE ": %s\n", err_message(e));
        return 1;
    }
    launcher_loop(&l);
    return 0;
}
