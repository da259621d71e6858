/* mount_ns_linux.c - the node's mount namespace */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "node/runtime/mount_ns.h"

enum {
    LINK_SIZE = 4096,
    MOUNTS_SIZE_MAX = 64 << 20
};

static void read_link(const char *path, char ret[LINK_SIZE])
{
    ssize_t n = readlink(path, ret, LINK_SIZE - 1);

    ret[n > 0 ? n : 0] = '\0';
}

/* ---- mountinfo ---- */

/* Decodes octal escapes in place; proc(5): space, tab, newline and backslash. */
static void mount_unescape(char *text)
{
    char *to = text;

    for (const char *at = text; *at; at++) {
        if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' && at[2] <= '7' &&
            at[3] >= '0' && at[3] <= '7') {
            *to++ = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
            at += 3;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
}

/* The mount point in "36 35 98:0 /root /mount/point options ...". */
static char *mount_point(struct str line)
{
    struct str field = {0};
    char *text = NULL;

    for (size_t i = 0; i < 5; i++)
        field = str_cut(&line, ' ');
    if (!field.at)
        return NULL;
    text = mem_strndup(field.at, field.size);
    mount_unescape(text);
    return text;
}

/* Calls `fn` for each mount point of process `pid` ("self"), in the order of mounting. */
static struct err *each_mount(const char *pid, bool (*fn)(void *arg, const char *path), void *arg)
{
    AUTO_FREE char *path = mem_format("/proc/%s/mountinfo", pid);
    AUTO(buf_done) struct buf text = {0};
    struct str rest = {0};

    TRY(file_read(path, MOUNTS_SIZE_MAX, &text));
    rest = (struct str){text.at, text.size};
    while (rest.at && rest.size > 0) {
        AUTO_FREE char *point = mount_point(str_cut(&rest, '\n'));

        if (point && !fn(arg, point))
            break;
    }
    return NULL;
}

/* ---- the namespace of an earlier node process ---- */

struct wanted {
    const char *path;
    bool is_found;
};

static bool is_wanted(void *arg, const char *path)
{
    struct wanted *w = arg;

    w->is_found = text_equal(path, w->path);
    return !w->is_found;
}

/*
 * Is the process a conmon of the node? It runs as root, in our user namespace but another mount
 * namespace with a mount at `point`, and its program is conmon. Only root can make such a process.
 */
static bool is_monitor(const char *pid, const char *point)
{
    AUTO_FREE char *dir = mem_format("/proc/%s", pid);
    AUTO_FREE char *exe = mem_format("/proc/%s/exe", pid);
    AUTO_FREE char *mnt = mem_format("/proc/%s/ns/mnt", pid);
    AUTO_FREE char *user = mem_format("/proc/%s/ns/user", pid);
    struct wanted w = {.path = point};
    char one[LINK_SIZE];
    char other[LINK_SIZE];
    struct stat st = {0};

    if (stat(dir, &st) < 0 || st.st_uid != 0)
        return false;
    read_link(exe, one);
    if (!text_ends_with(one, "/conmon") && !text_ends_with(one, "/conmon (deleted)"))
        return false;
    read_link(user, one);
    read_link("/proc/self/ns/user", other);
    if (!text_equal(one, other))
        return false;
    read_link(mnt, one);
    read_link("/proc/self/ns/mnt", other);
    if (text_equal(one, other))
        return false;
    err_free(each_mount(pid, is_wanted, &w)); /* the process may have ended */
    return w.is_found;
}

/* Opens the mount namespace of a conmon of the node; -1: none. */
static int open_old(const char *point)
{
    char **names = NULL;
    size_t n = 0;
    int fd = -1;
    AUTO(err_freep) struct err *e = dir_list("/proc", &names, &n);

    for (size_t i = 0; !e && i < n && fd < 0; i++) {
        AUTO_FREE char *path = mem_format("/proc/%s/ns/mnt", names[i]);

        if (names[i][0] < '1' || names[i][0] > '9' || !is_monitor(names[i], point))
            continue;
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    names_free(names, n);
    return fd;
}

struct err *mount_ns_enter(const char *point)
{
    AUTO_FREE char *real = realpath(point, NULL);
    AUTO(fd_closep) int fd = real ? open_old(real) : -1;

    if (fd >= 0) {
        LOG(INFO, "mounts of the earlier node process kept");
        return setns(fd, CLONE_NEWNS) < 0
                   ? err_errno(errno, "enter the mount namespace of the earlier node process")
                   : NULL;
    }
    if (unshare(CLONE_NEWNS) < 0)
        return err_errno(errno, "make a mount namespace");
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return err_errno(errno, "detach our mounts from the host's");
    return NULL;
}

/* ---- clearing ---- */

struct below {
    const char *dir;
    VEC(char *) paths;
};

static bool add_below(void *arg, const char *path)
{
    struct below *b = arg;
    size_t size = strlen(b->dir);

    if (strncmp(path, b->dir, size) == 0 && path[size] == '/')
        vec_add(&b->paths, mem_strdup(path));
    return true;
}

struct err *mount_ns_clear(const char *dir)
{
    struct below b = {.dir = dir};
    struct err *e = each_mount("self", add_below, &b);

    for (size_t i = b.paths.n; i > 0; i--) /* newest first */
        if (!e && umount2(b.paths.at[i - 1], MNT_DETACH | UMOUNT_NOFOLLOW) < 0 && errno != EINVAL &&
            errno != ENOENT)
            e = err_errno(errno, "unmount %s", b.paths.at[i - 1]);
    VEC_EACH (&b.paths, path)
        free(*path);
    vec_done(&b.paths);
    return e;
}
