/* host_linux.c - facts, users and mounts of this machine */

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "node/host.h"

/* ---- facts ---- */

static void copy_text(char ret[HOST_TEXT_SIZE], struct str text)
{
    (void)snprintf(ret, HOST_TEXT_SIZE, STR_FMT, STR_ARG(text));
}

static void read_line(const char *path, char ret[HOST_TEXT_SIZE])
{
    AUTO(buf_done) struct buf text = {0};
    struct str rest = {0};

    err_free(file_read(path, 4096, &text)); /* without the file, the text stays "" */
    rest = (struct str){text.at, text.size};
    if (text.at)
        copy_text(ret, str_cut(&rest, '\n'));
}

static void read_os_image(char ret[HOST_TEXT_SIZE])
{
    AUTO(buf_done) struct buf text = {0};
    struct str rest = {0};

    copy_text(ret, STR("Linux"));
    err_free(file_read("/etc/os-release", 65536, &text));
    rest = (struct str){text.at, text.size};
    while (rest.at && rest.size > 0) {
        struct str line = str_cut(&rest, '\n');
        const struct str key = STR("PRETTY_NAME=\"");

        if (str_starts_with(line, key) && str_ends_with(line, STR("\"")))
            copy_text(ret, (struct str){line.at + key.size, line.size - key.size - 1});
    }
}

static int64_t read_memory(void)
{
    AUTO(buf_done) struct buf text = {0};
    const struct str key = STR("MemTotal:");
    struct str rest = {0};
    int64_t kib = 0;

    err_free(file_read("/proc/meminfo", 65536, &text));
    rest = (struct str){text.at, text.size};
    while (rest.at && rest.size > 0) {
        struct str line = str_cut(&rest, '\n');

        if (!str_starts_with(line, key) || !str_ends_with(line, STR(" kB")))
            continue;
        line = (struct str){line.at + key.size, line.size - key.size - strlen(" kB")};
        while (line.size > 0 && *line.at == ' ')
            line = (struct str){line.at + 1, line.size - 1};
        err_free(num_parse_int64(line, 0, INT64_MAX / 1024, &kib));
    }
    return kib * 1024;
}

/* Asks the kernel for the source address of a packet to the outside; sends none. */
static void read_address(char ret[HOST_TEXT_SIZE])
{
    AUTO(fd_closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
    socklen_t size = sizeof(to);

    copy_text(ret, STR("127.0.0.1"));
    to.sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1, for documentation only */
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
        getsockname(fd, (struct sockaddr *)&to, &size) < 0)
        return;
    if (!inet_ntop(AF_INET, &to.sin_addr, ret, HOST_TEXT_SIZE))
        copy_text(ret, STR("127.0.0.1"));
}

struct err *host_info_read(const char *dir, struct host_info *ret)
{
    struct host_info info = {0};
    struct utsname uts = {0};
    struct statvfs fs = {0};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (uname(&uts) < 0)
        return err_errno(errno, "ask the kernel for its name");
    if (statvfs(dir, &fs) < 0)
        return err_errno(errno, "look at the file system of %s", dir);
    copy_text(info.hostname, str_of(uts.nodename));
    copy_text(info.kernel, str_of(uts.release));
    copy_text(info.arch, text_equal(uts.machine, "x86_64")    ? STR("amd64")
                         : text_equal(uts.machine, "aarch64") ? STR("arm64")
                                                              : str_of(uts.machine));
    read_line("/proc/sys/kernel/random/boot_id", info.boot_id);
    read_line("/etc/machine-id", info.machine_id);
    read_line("/sys/class/dmi/id/product_name", info.machine);
    read_os_image(info.os_image);
    read_address(info.address);
    info.cpus = cpus > 0 ? cpus : 1;
    info.memory_bytes = read_memory();
    info.disk_bytes = (int64_t)(fs.f_blocks * fs.f_frsize);
    *ret = info;
    return NULL;
}

/* ---- users ---- */

struct err *host_user_read(uid_t uid, struct host_user *ret)
{
    enum {
        ENTRY_SIZE = 65536,
        NOGROUP = 65534 /* the default of /proc/sys/kernel/overflowgid */
    };
    AUTO_FREE char *entry = mem_alloc(ENTRY_SIZE);
    struct passwd pw = {0};
    struct passwd *found = NULL;
    int n = HOST_GROUPS_MAX;
    int r = getpwuid_r(uid, &pw, entry, ENTRY_SIZE, &found);

    if (r != 0)
        return err_errno(r, "look up uid %u", uid);
    /* Not the group with the uid's number: that may be another user's, or sudo's. */
    *ret = (struct host_user){.uid = uid, .gid = NOGROUP};
    copy_text(ret->home, STR("/"));
    (void)snprintf(ret->name, sizeof(ret->name), "%u", uid);
    if (!found)
        return NULL;
    ret->has_entry = true;
    ret->gid = pw.pw_gid;
    (void)snprintf(ret->name, sizeof(ret->name), "%s", pw.pw_name);
    (void)snprintf(ret->home, sizeof(ret->home), "%s", pw.pw_dir);
    if (getgrouplist(pw.pw_name, pw.pw_gid, ret->groups, &n) < 0)
        return err_new(ERR_INTERNAL, "user %s is in more than %d groups", ret->name,
                       HOST_GROUPS_MAX);
    ret->n_groups = (size_t)n;
    return NULL;
}

/* ---- mounts ---- */

struct err *host_mount_tmpfs(const char *path, int64_t size_bytes, const struct host_owner *owner)
{
    char options[128];
    int n = snprintf(options, sizeof(options), "mode=%04o,uid=%u,gid=%u", owner->mode, owner->uid,
                     owner->gid);

    if (size_bytes > 0)
        (void)snprintf(options + n, sizeof(options) - (size_t)n, ",size=%lld",
                       (long long)size_bytes);
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return err_errno(errno, "mount a tmpfs at %s", path);
    return NULL;
}

struct err *host_unmount(const char *path)
{
    while (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        continue;
    return errno == EINVAL || errno == ENOENT ? NULL : err_errno(errno, "unmount %s", path);
}

struct err *host_own(const char *path, const struct host_owner *owner)
{
    if (lchown(path, owner->uid, owner->gid) < 0)
        return err_errno(errno, "change the owner of %s", path);
    return chmod(path, owner->mode) < 0 ? err_errno(errno, "change the mode of %s", path) : NULL;
}

struct err *host_rename(const char *from, const char *to)
{
    return rename(from, to) < 0 ? err_errno(errno, "rename %s to %s", from, to) : NULL;
}

int64_t host_wall_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail with this clock */
    return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

bool host_is_mount(const char *path)
{
    struct statx x = {0};

    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &x) == 0 &&
           (x.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) &&
           (x.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

enum host_path host_path_type(const char *path)
{
    struct stat st = {0};

    if (stat(path, &st) < 0)
        return HOST_ABSENT;
    return S_ISDIR(st.st_mode) ? HOST_DIR : HOST_OTHER;
}
