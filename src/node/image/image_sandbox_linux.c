/* image_sandbox_linux.c - the sandboxes of unpacker and skopeo */

#include "node/image/image_sandbox_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/image/images.h"

enum {
    FILES_MAX = 64,
    FIRST_OTHER_FD = 3
};

/* Enough for zstd's window (128 MiB) and a table of names. */
static const rlim_t memory_max_bytes = (rlim_t)1 << 30;

/* Sanitizers reserve terabytes, and make unusual system calls. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

/* ---- the user namespace ---- */

static bool write_map(pid_t pid, const char *file)
{
    AUTO_FREE char *path = mem_format("/proc/%d/%s", (int)pid, file);
    AUTO_FREE char *text = mem_format("0 %d %d\n", IMAGE_UID_BASE, IMAGE_UID_COUNT);
    AUTO(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Only a process with privileges outside may map more than its own id: a child that stays outside
 * writes the maps. */
static struct err *enter_userns(void)
{
    int begun[2] = {-1, -1};
    pid_t self = getpid();
    int status = 0;
    pid_t helper;
    char byte = 0;

    if (pipe2(begun, O_CLOEXEC) < 0)
        return err_errno(errno, "create a pipe");
    helper = fork();
    if (helper == 0) {
        fd_close(begun[1]);
        if (read(begun[0], &byte, 1) != 1)
            _exit(1);
        _exit(write_map(self, "uid_map") && write_map(self, "gid_map") ? 0 : 1);
    }
    fd_close(begun[0]);
    if (helper < 0 ||
        unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0 ||
        write(begun[1], &byte, 1) != 1) {
        struct err *e = err_errno(errno, "make a user namespace");

        fd_close(begun[1]);
        return e;
    }
    fd_close(begun[1]);
    if (waitpid(helper, &status, 0) != helper || status != 0)
        return err_new(ERR_INTERNAL, "map the users of a namespace: %s",
                       helper < 0 ? "no helper" : "refused");
    if (setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
        return err_errno(errno, "become root of a user namespace");
    return NULL;
}

/* ---- the file system ---- */

/* Makes the current directory the root, and detaches the old root. */
static struct err *enter_dir(void)
{
    AUTO(fd_closep)
    int tree = (int)syscall(SYS_open_tree, AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

    if (tree < 0)
        return err_errno(errno, "copy the mount of a directory");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        syscall(SYS_move_mount, tree, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
        fchdir(tree) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
        chdir("/") < 0)
        return err_errno(errno, "make a directory the root");
    return NULL;
}

/* ---- limits ---- */

static struct err *sandbox_limit(int resource, rlim_t value)
{
    const struct rlimit r = {value, value};

    return setrlimit((__rlimit_resource_t)resource, &r) < 0 ? err_errno(errno, "set a limit")
                                                            : NULL;
}

static struct err *set_limits(void)
{
    TRY(sandbox_limit(RLIMIT_CORE, 0));
    TRY(sandbox_limit(RLIMIT_NOFILE, FILES_MAX));
    if (IS_SANITIZED)
        return NULL;
    TRY(sandbox_limit(RLIMIT_NPROC, 0));
    return sandbox_limit(RLIMIT_AS, memory_max_bytes);
}

/* ---- privileges ---- */

/* Needed to give files the layer's owners and modes, in the sandbox's own namespace. */
static const int kept_capabilities[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID,
                                        CAP_SETFCAP};

static struct err *set_capabilities(const int *kept, size_t n)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};

    for (size_t i = 0; i < n; i++) {
        data[0].effective |= 1u << kept[i];
        data[0].permitted |= 1u << kept[i];
    }
    for (unsigned long cap = 0; cap < 64; cap++)
        (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* EINVAL after the last capability */
    if (syscall(SYS_capset, &header, data) < 0)
        return err_errno(errno, "drop capabilities");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_errno(errno, "set no_new_privs");
    return NULL;
}

static struct err *die_with_parent(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return err_errno(errno, "die with the parent");
    if (getppid() != parent)
        return err_new(ERR_INTERNAL, "the parent has ended");
    return NULL;
}

/* ---- system calls ---- */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "which AUDIT_ARCH is this?"
#endif

/* For files below open descriptors, for memory, and for exit. No sockets, processes, namespaces or
 * mounts. */
static const unsigned allowed_calls[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_lseek,
    SYS_close,
    SYS_close_range,
    SYS_openat,
    SYS_openat2,
    SYS_dup,
    SYS_fcntl,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_getdents64,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_syncfs,
    SYS_mkdirat,
    SYS_mknodat,
    SYS_unlinkat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_readlinkat,
    SYS_renameat2,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_fsetxattr,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_getrandom,
    SYS_clock_gettime,
    SYS_getpid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_umask,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_restart_syscall,
    SYS_tgkill,
    SYS_exit,
    SYS_exit_group,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_fadvise64,
    SYS_sched_yield,
#if defined(__x86_64__)
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_chmod,
    SYS_readlink,
    SYS_unlink,
    SYS_time,
#endif
};

static struct err *filter_calls(void)
{
    enum {
        N = COUNT(allowed_calls)
    };
    struct sock_filter code[N + 6];
    struct sock_fprog program = {.filter = code};
    unsigned short n = 0;

    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < N; i++)
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed_calls[i],
                                                 (unsigned char)(N - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = n;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        return err_errno(errno, "filter system calls");
    return NULL;
}

/* ---- the sandboxes ---- */

struct err *image_sandbox_enter(const char *dir)
{
    const size_t n_kept = COUNT(kept_capabilities);
    pid_t parent = getppid();

    /* Changed before: inside, no path leads to `dir`, but a new mount namespace keeps the current
     * directory. */
    if (chdir(dir) < 0)
        return err_errno(errno, "enter %s", dir);
    TRY(enter_userns());
    TRY(die_with_parent(parent)); /* again: a change of user clears it */
    TRY(enter_dir());
    if (close_range(FIRST_OTHER_FD, ~0u, 0) < 0)
        return err_errno(errno, "close descriptors");
    (void)umask(0);
    TRY(set_limits());
    TRY(set_capabilities(kept_capabilities, n_kept));
    return IS_SANITIZED ? NULL : filter_calls();
}

struct err *image_sandbox_fetch(const char *dir)
{
    pid_t parent = getppid();

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(dir, "/tmp", NULL, MS_BIND, NULL) < 0 || chdir("/tmp") < 0)
        return err_errno(errno, "show %s as /tmp", dir);
    if (setgroups(0, NULL) < 0 ||
        setresgid(IMAGE_FETCH_UID, IMAGE_FETCH_UID, IMAGE_FETCH_UID) < 0 ||
        setresuid(IMAGE_FETCH_UID, IMAGE_FETCH_UID, IMAGE_FETCH_UID) < 0)
        return err_errno(errno, "become user %d", IMAGE_FETCH_UID);
    TRY(die_with_parent(parent));
    TRY(sandbox_limit(RLIMIT_CORE, 0));
    (void)umask(022);
    return set_capabilities(NULL, 0);
}
