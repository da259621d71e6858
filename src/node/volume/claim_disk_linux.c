/* claim_disk_linux.c - file systems in files, through loop devices */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/volume/claim_disk.h"

enum {
    SIZE_MIN = 2 << 20, /* an ext4 file system with room for files */
    LOOP_TRIES = 64,
    LOOP_PATH_SIZE = 32,
    OWNER_MODE = 0777 /* as other provisioners have it: users differ from pod to pod */
};

char *claim_disk_dir(const char *node_dir, const char *volume)
{
    return mem_format("%s/volumes/%s", node_dir, volume);
}

char *claim_disk_path(const char *dir)
{
    return mem_format("%s/mount/volume", dir);
}

/* ---- the file ---- */

/* Runs mkfs.ext4 on the file. */
static struct err *make_file_system(const char *path)
{
    static const char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", NULL};
    const char *const argv[] = {
        "mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=1,nodiscard", path, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int status = 0;
    int r = posix_spawn_file_actions_init(&actions);

    for (int i = 0; r == 0 && i < 3; i++)
        r = posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (r == 0)
        r = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv,
                         (char *const *)(uintptr_t)env);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (r == ENOENT)
        return err_new(ERR_UNAVAILABLE, "mkfs.ext4 is not installed: it is in package e2fsprogs");
    if (r != 0)
        return err_errno(r, "start mkfs.ext4");
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_new(ERR_UNAVAILABLE, "mkfs.ext4 failed with status %d", status);
    return NULL;
}

static struct err *allocate(const char *path, int64_t bytes)
{
    AUTO(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_errno(errno, "make %s", path);
    if (fallocate(fd, 0, 0, bytes) == 0)
        return NULL;
    if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)
        return err_new(ERR_UNAVAILABLE, "the disk of %s has no room for %" PRId64 " bytes", path,
                       bytes);
    return err_errno(errno, "allocate %" PRId64 " bytes for %s", bytes, path);
}

static struct err *flush(const char *path)
{
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return err_errno(errno, "sync %s", path);
    return NULL;
}

/* The file gets its name once it is complete. */
static struct err *make_disk(const char *dir, const char *disk, int64_t bytes)
{
    AUTO_FREE char *beside = mem_format("%s.new", disk);
    struct err *e;

    TRY(dir_make(dir, 0700));
    e = allocate(beside, bytes < SIZE_MIN ? SIZE_MIN : bytes);
    if (!e)
        e = make_file_system(beside);
    if (!e)
        e = flush(beside);
    if (e) {
        (void)unlink(beside); /* the next try truncates it */
        return e;
    }
    if (rename(beside, disk) < 0)
        return err_errno(errno, "rename %s", beside);
    return flush(dir);
}

/* ---- the loop device ---- */

static bool has_file(int loop, const struct stat *file)
{
    struct loop_info64 info = {0};

    return ioctl(loop, LOOP_GET_STATUS64, &info) == 0 && info.lo_inode == file->st_ino &&
           info.lo_device == file->st_dev;
}

/* A device that has the file already: two devices of one file would ruin it. -1: none. */
static int find_loop(const struct stat *file, char path[LOOP_PATH_SIZE])
{
    char **names = NULL;
    size_t n = 0;
    int found = -1;
    AUTO(err_freep) struct err *e = dir_list("/sys/block", &names, &n);

    for (size_t i = 0; found < 0 && i < n; i++) {
        AUTO_FREE char *marker = mem_format("/sys/block/%s/loop", names[i]);

        if (strncmp(names[i], "loop", 4) != 0 || !file_exists(marker))
            continue;
        (void)snprintf(path, LOOP_PATH_SIZE, "/dev/%s", names[i]);
        found = open(path, O_RDWR | O_CLOEXEC);
        if (found >= 0 && !has_file(found, file)) {
            fd_close(found);
            found = -1;
        }
    }
    names_free(names, n);
    return found;
}

/* Attaches the file to a free device. The device lets go of it with the last mount. */
static struct err *attach(int file, char path[LOOP_PATH_SIZE], int *ret)
{
    AUTO(fd_closep) int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    const struct loop_config config = {.fd = (unsigned)file,
                                       .info = {.lo_flags = LO_FLAGS_AUTOCLEAR}};

    if (control < 0)
        return err_new(ERR_UNAVAILABLE, "loop devices are missing on this machine: %s",
                       strerror(errno));
    for (int i = 0; i < LOOP_TRIES; i++) {
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        int fd;

        if (number < 0)
            return err_errno(errno, "find a free loop device");
        (void)snprintf(path, LOOP_PATH_SIZE, "/dev/loop%d", number);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) == 0) {
            *ret = fd;
            return NULL;
        }
        if (fd < 0 || errno != EBUSY) { /* EBUSY: another process was faster */
            struct err *e = err_errno(errno, "attach to %s", path);

            fd_close(fd);
            return e;
        }
        fd_close(fd);
    }
    return err_new(ERR_UNAVAILABLE, "no loop device is free");
}

static struct err *open_loop(const char *disk, char path[LOOP_PATH_SIZE], int *ret)
{
    AUTO(fd_closep) int file = open(disk, O_RDWR | O_CLOEXEC);
    struct stat is = {0};

    if (file < 0 || fstat(file, &is) < 0)
        return err_errno(errno, "open %s", disk);
    *ret = find_loop(&is, path);
    return *ret < 0 ? attach(file, path, ret) : NULL;
}

/* ---- mounts ---- */

/* The directory for containers: `lost+found` stays outside of it. */
static struct err *make_top(const char *mount)
{
    AUTO_FREE char *top = mem_format("%s/volume", mount);
    AUTO_FREE char *beside = mem_format("%s/volume.new", mount);

    if (file_exists(top))
        return NULL;
    if (mkdir(beside, 0700) < 0 && errno != EEXIST)
        return err_errno(errno, "make %s", beside);
    if (chmod(beside, OWNER_MODE) < 0 || rename(beside, top) < 0)
        return err_errno(errno, "make %s", top);
    return NULL;
}

struct err *claim_disk_mount(const char *dir, int64_t bytes)
{
    AUTO_FREE char *disk = mem_format("%s/disk", dir);
    AUTO_FREE char *point = mem_format("%s/mount", dir);
    AUTO(fd_closep) int loop = -1;
    char path[LOOP_PATH_SIZE];

    if (!file_exists(disk))
        TRY(make_disk(dir, disk, bytes));
    if (!host_is_mount(point)) {
        TRY(dir_make(point, 0700));
        TRY(open_loop(disk, path, &loop));
        if (mount(path, point, "ext4", MS_NOSUID | MS_NODEV, NULL) < 0)
            return err_errno(errno, "mount %s at %s", path, point);
    }
    return make_top(point);
}

struct err *claim_disk_own(const char *dir, gid_t group)
{
    AUTO_FREE char *top = claim_disk_path(dir);
    struct stat is = {0};

    if (stat(top, &is) < 0)
        return err_errno(errno, "look at %s", top);
    if (is.st_gid == group && (is.st_mode & S_ISGID))
        return NULL;
    if (chown(top, (uid_t)-1, group) < 0 || chmod(top, OWNER_MODE | S_ISGID) < 0)
        return err_errno(errno, "give %s to group %u", top, (unsigned)group);
    return NULL;
}

struct err *claim_disk_erase(const char *dir)
{
    AUTO_FREE char *point = mem_format("%s/mount", dir);

    if (!file_exists(dir))
        return NULL;
    while (host_is_mount(point))
        if (umount2(point, UMOUNT_NOFOLLOW) < 0)
            return err_new(ERR_UNAVAILABLE, "unmount %s: %s", point, strerror(errno));
    return dir_remove(dir);
}
