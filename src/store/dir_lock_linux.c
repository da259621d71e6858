/* dir_lock_linux.c - flock of a directory, with the name of the process that has it */

#include "store/dir_lock_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "base/mem.h"

enum {
    LOCKS_BYTES_MAX = 1 << 20
};

/* Does a line of /proc/locks tell of a lock on `dir`? "1: FLOCK  ADVISORY  WRITE 4711 fd:00:9437185
 * 0 EOF" (proc(5)). */
static bool is_holder(struct str line, const struct stat *dir, int *ret_pid)
{
    AUTO_FREE char *text = mem_strndup(line.at, line.size);
    unsigned device_major = 0;
    unsigned device_minor = 0;
    uint64_t inode = 0;
    int pid = 0;

    /* The kernel wrote the line. sscanf does not report overflow; then the holder stays unnamed. */
    /* NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(text, "%*d: FLOCK %*s %*s %d %x:%x:%" SCNu64, &pid, &device_major, &device_minor,
               &inode) != 4)
        return false;
    if (inode != dir->st_ino || device_major != major(dir->st_dev) ||
        device_minor != minor(dir->st_dev))
        return false;
    *ret_pid = pid;
    return true;
}

static int find_holder(int fd)
{
    AUTO(buf_done) struct buf locks = {0};
    AUTO(err_freep) struct err *e = file_read("/proc/locks", LOCKS_BYTES_MAX, &locks);
    struct str rest = {.at = locks.at, .size = locks.size};
    struct stat dir = {0};
    int pid = 0;

    if (e || fstat(fd, &dir) != 0)
        return 0;
    while (rest.at) {
        if (is_holder(str_cut(&rest, '\n'), &dir, &pid))
            return pid;
    }
    return 0;
}

static char *holder_describe(int pid)
{
    AUTO(buf_done) struct buf name = {0};
    AUTO_FREE char *path = mem_format("/proc/%d/comm", pid);
    AUTO(err_freep) struct err *e = file_read(path, 64, &name);
    struct str rest;
    struct str line;

    if (e || name.size == 0)
        return mem_format("process %d", pid);
    rest = (struct str){.at = name.at, .size = name.size};
    line = str_cut(&rest, '\n');
    return mem_format("process %d ('" STR_FMT "')", pid, STR_ARG(line));
}

static struct err *held(const char *path, int fd)
{
    int pid = find_holder(fd);
    AUTO_FREE char *holder = pid > 0 ? holder_describe(pid) : mem_strdup("another process");

    return err_new(ERR_CONFLICT, "directory '%s' is in use by %s", path, holder);
}

struct err *dir_lock(const char *path, int *ret_fd)
{
    AUTO(fd_closep) int fd = -1;

    TRY(dir_make(path, 0700));
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(errno, "open directory '%s'", path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? held(path, fd)
                                    : err_errno(errno, "lock directory '%s'", path);
    *ret_fd = fd;
    fd = -1;
    return NULL;
}
