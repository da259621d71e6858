/* host_root_linux.c - makes the mount namespace of the node and the root of the image `host` */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "node/host.h"
#include "node/host_root.h"
#include "node/runtime/mount_ns.h"

#define ROOTS_DIR "roots"

/* ---- the root of the image `host` ---- */

static struct err *bind_tree(const char *from, const char *to)
{
    if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0)
        return err_errno(errno, "bind %s at %s", from, to);
    return NULL;
}

static struct err *bind_entry(const char *rootfs, const char *name)
{
    AUTO_FREE char *from = mem_format("/%s", name);
    AUTO_FREE char *to = mem_format("%s/%s", rootfs, name);
    char target[4096];
    struct stat st = {0};
    ssize_t n = 0;

    if (lstat(from, &st) < 0)
        return errno == ENOENT ? NULL : err_errno(errno, "look at %s", from);
    if (S_ISLNK(st.st_mode)) {
        n = readlink(from, target, sizeof(target) - 1);
        if (n < 0)
            return err_errno(errno, "read link %s", from);
        target[n] = '\0';
        return symlink(target, to) < 0 ? err_errno(errno, "make link %s", to) : NULL;
    }
    if (!S_ISDIR(st.st_mode))
        return NULL;
    if (mkdir(to, 0755) < 0)
        return err_errno(errno, "make %s", to);
    /* The container gets its own instance; the kernel refuses one on top of the host's. */
    if (text_equal(name, "proc") || text_equal(name, "sys") || text_equal(name, "dev"))
        return NULL;
    return bind_tree(from, to);
}

/* Binds the host's top-level directories. A directory that cannot be bound (an unbindable mount) is
 * missing in containers, and the log tells. */
static struct err *bind_host(const char *rootfs)
{
    char **names = NULL;
    size_t n = 0;

    TRY(dir_list("/", &names, &n));
    for (size_t i = 0; i < n; i++) {
        AUTO(err_freep) struct err *e = bind_entry(rootfs, names[i]);

        if (e)
            LOG(WARN, "directory of the host is missing in containers", S("name", names[i]), E(e));
    }
    names_free(names, n);
    return NULL;
}

struct err *host_mask(const char *rootfs, const char *dir)
{
    AUTO_FREE char *real = realpath(dir, NULL);
    AUTO_FREE char *path = NULL;

    if (!real)
        return err_errno(errno, "find %s", dir);
    path = mem_format("%s%s", rootfs, real);
    TRY(mount_ns_clear(path)); /* copies of pods' mounts, never unmounted otherwise */
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
              "size=4k,nr_inodes=2,mode=0711") < 0)
        return err_errno(errno, "mask %s", path);
    return NULL;
}

/* Makes the directory of a root that no earlier process has mounted. The caller owns the path. */
static struct err *root_dir_make(const char *dir, char **ret)
{
    for (unsigned n = 0;; n++) {
        AUTO_FREE char *path = mem_format("%s/" ROOTS_DIR "/%u", dir, n);

        if (host_is_mount(path))
            continue;
        TRY(dir_make(path, 0711));
        *ret = TAKE(path);
        return NULL;
    }
}

static struct err *root_make(const struct host_mounts *m, const char *rootfs)
{
    if (mount("tmpfs", rootfs, "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,nr_inodes=8k,mode=0755") < 0)
        return err_errno(errno, "mount a tmpfs at %s", rootfs);
    TRY(bind_host(rootfs));
    return host_mask(rootfs, m->mask_dir);
}

struct err *host_root_strike_others(const char *dir, const char *keep)
{
    AUTO_FREE char *roots = mem_format("%s/" ROOTS_DIR, dir);
    struct err *e = NULL;
    char **names = NULL;
    size_t n = 0;

    TRY(dir_list(roots, &names, &n));
    for (size_t i = 0; i < n && !e; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", roots, names[i]);

        if (text_equal(path, keep))
            continue;
        e = host_unmount(path);
        if (!e && rmdir(path) < 0 && errno != ENOENT)
            e = err_errno(errno, "remove %s", path);
    }
    names_free(names, n);
    return e;
}

/* ---- the mount namespace ---- */

/* In a hybrid layout, crun uses the v1 hierarchies only if v2 shows no controllers. */
static struct err *hide_unified(const char *dir)
{
    static const char controllers[] = "/sys/fs/cgroup/unified/cgroup.controllers";
    AUTO_FREE char *empty = mem_format("%s/controllers.empty", dir);

    if (!file_exists(controllers) || host_is_mount(controllers))
        return NULL;
    TRY(file_write(empty, 0444, STR("")));
    if (mount(empty, controllers, NULL, MS_BIND, NULL) < 0)
        return err_errno(errno, "hide %s", controllers);
    return NULL;
}

/* A non-recursive bind brings no submounts: no debugfs, no tracefs. */
static struct err *mount_sys(const char *path)
{
    if (host_is_mount(path))
        return NULL;
    if (mount("/sys", path, NULL, MS_BIND, NULL) < 0)
        return err_errno(errno, "bind /sys at %s", path);
    return NULL;
}

/*
 * The runtime gives the three standard descriptors to the container's user by chown, and stdin is
 * the host's /dev/null: the new owner could change its mode for the whole machine. On a read-only
 * mount, a device stays writable, but its owner and mode cannot change.
 */
static struct err *protect_null(void)
{
    static const char path[] = "/dev/null";
    struct statvfs fs = {0};

    if (host_is_mount(path) && statvfs(path, &fs) == 0 && (fs.f_flag & ST_RDONLY))
        return NULL;
    if (mount(path, path, NULL, MS_BIND, NULL) < 0)
        return err_errno(errno, "bind %s", path);
    if (mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0)
        return err_errno(errno, "make the mount of %s read-only", path);
    return NULL;
}

static struct err *mount_devices(const char *dir)
{
    AUTO_FREE char *path = mem_format("%s/" HOST_DEVICE_DIR, dir);

    TRY(dir_make(path, 0700));
    if (host_is_mount(path))
        return NULL;
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NOEXEC, "size=1m,nr_inodes=8k,mode=0700") < 0)
        return err_errno(errno, "mount a tmpfs at %s", path);
    return NULL;
}

static struct err *make_target(const char *path)
{
    AUTO_FREE char *dir = mem_strndup(path, (size_t)(strrchr(path, '/') - path));

    TRY(dir_make(dir, 0755));
    return file_exists(path) ? NULL : file_write(path, 0444, STR(""));
}

struct err *host_enter(const struct host_mounts *m, char **ret_rootfs)
{
    AUTO_FREE char *sys = mem_format("%s/" HOST_SYS_DIR, m->dir);
    AUTO_FREE char *roots = mem_format("%s/" ROOTS_DIR, m->dir);
    AUTO_FREE char *rootfs = NULL;

    TRY(dir_make(sys, 0755));
    TRY(dir_make(roots, 0711));
    for (const char *const *target = m->targets; target && *target; target++)
        TRY(make_target(*target));
    TRY(mount_ns_enter(sys));
    TRY(hide_unified(m->dir));
    TRY(protect_null());
    TRY(mount_sys(sys));
    TRY(mount_devices(m->dir));
    TRY(root_dir_make(m->dir, &rootfs));
    TRY(root_make(m, rootfs));
    *ret_rootfs = TAKE(rootfs);
    return NULL;
}
