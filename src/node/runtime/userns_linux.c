/* userns_linux.c - user namespaces and idmapped mounts */

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/runtime/userns.h"

/* A process that keeps a user namespace alive until `pipe` closes. */
struct holder {
    pid_t pid;
    int pipe; /* the write end */
};

static void holder_end(const struct holder *h)
{
    siginfo_t info = {0};
    int rc = 0;

    fd_close(h->pipe);
    do
        rc = waitid(P_PID, (id_t)h->pid, &info, WEXITED | __WALL);
    while (rc < 0 && errno == EINTR);
}

static struct err *holder_start(struct holder *ret)
{
    /* No exit signal, so that a wait for other children does not see this child. */
    struct clone_args args = {.flags = CLONE_NEWUSER};
    int ends[2] = {-1, -1};
    char byte = 0;
    ssize_t got = 0;
    long pid = 0;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_errno(errno, "pipe");
    pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0) {
        /* The child must not keep the parent's descriptors open. */
        (void)syscall(SYS_close_range, ends[0] + 1, ~0U, 0);
        if (ends[0] > 0)
            (void)syscall(SYS_close_range, 0, ends[0] - 1, 0);
        do /* end of file, also at the parent's death */
            got = syscall(SYS_read, ends[0], &byte, 1);
        while (got < 0);
        (void)syscall(SYS_exit_group, 0);
    }
    fd_close(ends[0]);
    if (pid < 0) {
        int number = errno;

        fd_close(ends[1]);
        return err_errno(number, "make a user namespace");
    }
    *ret = (struct holder){.pid = (pid_t)pid, .pipe = ends[1]};
    return NULL;
}

static struct err *write_map(pid_t pid, const char *which, const struct userns_map *map)
{
    AUTO_FREE char *path = mem_format("/proc/%d/%s", (int)pid, which);
    AUTO_FREE char *text = mem_format("%u %u %u", map->inside, map->outside, map->count);
    AUTO(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return err_errno(errno, "open %s", path);
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        return err_errno(errno, "write '%s' to %s", text, path);
    return NULL;
}

static struct err *open_of_holder(pid_t pid, const struct userns_map *map, int *ret_fd)
{
    AUTO_FREE char *path = mem_format("/proc/%d/ns/user", (int)pid);
    int fd = -1;

    TRY(write_map(pid, "uid_map", map));
    TRY(write_map(pid, "gid_map", map));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(errno, "open %s", path);
    *ret_fd = fd;
    return NULL;
}

struct err *userns_open(const struct userns_map *map, int *ret_fd)
{
    struct holder h = {0};
    struct err *e = holder_start(&h);

    if (e)
        return e;
    e = open_of_holder(h.pid, map, ret_fd);
    holder_end(&h);
    return e;
}

struct err *userns_mount(int userns_fd, const char *source, const char *target)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (unsigned)userns_fd};
    AUTO(fd_closep)
    int tree =
        open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);

    if (tree < 0)
        return err_errno(errno, "open the tree %s", source);
    if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
        return errno == EINVAL || errno == ENOSYS || errno == EPERM
                   ? err_new(ERR_UNAVAILABLE, "the file system of %s cannot shift owners", source)
                   : err_errno(errno, "shift the owners of %s", source);
    if (move_mount(tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return err_errno(errno, "mount %s at %s", source, target);
    return NULL;
}

struct err *userns_mount_idmapped(const char *source, const char *target, uint32_t disk_base,
                                  uint32_t host_base, uint32_t count)
{
    const struct userns_map map = {.inside = disk_base, .outside = host_base, .count = count};
    AUTO(fd_closep) int fd = -1;

    TRY(userns_open(&map, &fd));
    return userns_mount(fd, source, target);
}

bool userns_can_idmap(const char *dir)
{
    const struct userns_map map = {
        .inside = 0, .outside = (uint32_t)USERNS_FIRST, .count = (uint32_t)USERNS_SIZE};
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP};
    AUTO(fd_closep) int tree = open_tree(AT_FDCWD, dir, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    AUTO(fd_closep) int fd = -1;
    AUTO(err_freep) struct err *e = tree < 0 ? NULL : userns_open(&map, &fd);

    if (tree < 0 || e)
        return false;
    attr.userns_fd = (unsigned)fd;
    return mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0;
}
