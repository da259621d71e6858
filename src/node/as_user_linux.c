/* as_user_linux.c - acts as a user on files, and opens the streams of a program as that user */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/as_user.h"

enum {
    MODE_NEW = 0666,
    NULL_MAJOR = 1, /* of /dev/null */
    NULL_MINOR = 3
};

/*
 * The raw system calls change only the calling thread, and an fsuid other than 0 removes the file
 * capabilities. setfsuid reports no errors, so the ids are read back.
 */
struct err *as_user_begin(const struct host_user *user)
{
    if (syscall(SYS_setgroups, user->n_groups, user->groups) < 0)
        return err_errno(errno, "take the groups of %s", user->name);
    (void)setfsgid(user->gid);
    (void)setfsuid(user->uid);
    if ((uid_t)setfsuid((uid_t)-1) != user->uid || (gid_t)setfsgid((gid_t)-1) != user->gid)
        return err_new(ERR_INTERNAL, "files cannot be opened as %s", user->name);
    return NULL;
}

void as_user_end(void)
{
    (void)setfsuid(0);
    (void)setfsgid(0);
    if (setfsuid((uid_t)-1) != 0 || setfsgid((gid_t)-1) != 0 ||
        syscall(SYS_setgroups, (size_t)0, NULL) < 0)
        abort();
}

/* ---- streams ---- */

/* The program's file blocks as any other: only the open itself must not. */
static bool streams_unblock(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

static struct err *streams_failed(const char *what, const char *path)
{
    return err_new(ERR_INVALID, "the %s '%s' cannot be opened: %s", what, path, strerror(errno));
}

/*
 * OCI runtimes give the files of streams to the program's user, with the rights of root: so an
 * input, which may be anybody's, is opened through a read-only mount of its own.
 */
static struct err *streams_read(const struct host_user *user, const char *path, int *ret)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE};
    AUTO(fd_closep) int found = open(path, O_PATH | O_CLOEXEC);
    AUTO(fd_closep) int tree = -1;
    AUTO(fd_closep) int fd = -1;
    AUTO_FREE char *of_tree = NULL;

    if (found < 0)
        return streams_failed("input", path);
    as_user_end(); /* only root mounts */
    tree = open_tree(found, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
        return streams_failed("input", path);
    of_tree = mem_format("/proc/self/fd/%d", tree);
    TRY(as_user_begin(user));
    fd = open(of_tree, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || !streams_unblock(fd))
        return streams_failed("input", path);
    *ret = fd_take(&fd);
    return NULL;
}

/* For the same reason an output is a file of the user's, or /dev/null, which each container has. */
static bool is_own(int fd, uid_t uid)
{
    struct stat is = {0};

    if (fstat(fd, &is) < 0)
        return false;
    return S_ISCHR(is.st_mode) ? is.st_rdev == makedev(NULL_MAJOR, NULL_MINOR) : is.st_uid == uid;
}

/* A new file has the mode of the user's umask: the process has one umask for all of its threads. */
static struct err *streams_write(const struct host_user *user, const struct user_streams *s,
                                 const char *what, const char *path, int *ret)
{
    const int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    AUTO(fd_closep) int fd = open(path, flags | O_CREAT | O_EXCL | O_APPEND, 0600);

    if (fd >= 0) {
        if (fchmod(fd, (mode_t)(MODE_NEW & ~s->umask)) < 0)
            return streams_failed(what, path);
    } else {
        fd = open(path, flags | (s->is_append ? O_APPEND : 0));
    }
    if (fd < 0)
        return streams_failed(what, path);
    if (!is_own(fd, user->uid))
        return err_new(ERR_INVALID, "the %s '%s' belongs to another user", what, path);
    if (!s->is_append && ftruncate(fd, 0) < 0 && errno != EINVAL) /* EINVAL: no regular file */
        return streams_failed(what, path);
    if (!streams_unblock(fd))
        return streams_failed(what, path);
    *ret = fd_take(&fd);
    return NULL;
}

static struct err *streams_open(const struct host_user *user, const struct user_streams *s,
                                int ret[3])
{
    const char *output = s->output ? s->output : "/dev/null";

    TRY(streams_read(user, s->input ? s->input : "/dev/null", &ret[0]));
    TRY(streams_write(user, s, "output", output, &ret[1]));
    if (s->errors && strcmp(s->errors, output) != 0)
        return streams_write(user, s, "file of errors", s->errors, &ret[2]);
    ret[2] = fcntl(ret[1], F_DUPFD_CLOEXEC, 3);
    return ret[2] < 0 ? streams_failed("file of errors", output) : NULL;
}

struct err *as_user_open(const struct host_user *user, const struct user_streams *s, int ret_fds[3])
{
    int fds[3] = {-1, -1, -1};
    struct err *e = as_user_begin(user);

    if (!e)
        e = streams_open(user, s, fds);
    as_user_end();
    for (size_t i = 0; i < 3; i++) {
        if (e)
            fd_close(fds[i]);
        ret_fds[i] = e ? -1 : fds[i];
    }
    return e;
}
