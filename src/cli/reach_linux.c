/* reach_linux.c - checks as the server's user, in a child process, which paths the user can reach
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/reach.h"

/* Runs in the child. Uses system calls only: glibc's wrappers synchronise with other threads. */
static _Noreturn void reach_try(const struct data_dir *d, const char *path)
{
    if (syscall(SYS_setgroups, 0, NULL) != 0 || syscall(SYS_setresgid, d->gid, d->gid, d->gid) ||
        syscall(SYS_setresuid, d->uid, d->uid, d->uid) != 0)
        _exit(2);
    _exit(faccessat(AT_FDCWD, path, X_OK, 0) == 0 ? 0 : 1);
}

/* May the server's user execute a file, or enter a directory? True also if the kernel forbids the
 * check: then the server itself reports the problem. */
static bool reach_has(const struct data_dir *d, const char *path)
{
    int status = 0;
    pid_t pid = _Fork();
    pid_t ended;

    if (pid == 0)
        reach_try(d, path);
    do
        ended = pid > 0 ? waitpid(pid, &status, 0) : -1;
    while (ended < 0 && pid > 0 && errno == EINTR);
    return ended != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 1;
}

static unsigned mode_of(const char *path)
{
    struct stat st = {0};

    return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

/* Checks from "/" downwards: the error names the first closed directory. */
static struct err *reach_above(const struct data_dir *d)
{
    for (const char *end = d->path; end; end = strchr(end + 1, '/')) {
        AUTO_FREE char *above = mem_strndup(d->path, end == d->path ? 1 : (size_t)(end - d->path));

        if (!reach_has(d, above))
            return err_new(ERR_INVALID,
                           "data directory %s: the server's user (uid %u) may not enter %s (mode "
                           "%04o): give another --data DIR, or chmod o+x %s",
                           d->path, d->uid, above, mode_of(above), above);
    }
    return NULL;
}

struct err *reach_check(const struct data_dir *d, const char *self_path)
{
    TRY(reach_above(d));
    if (!reach_has(d, "/proc/self/exe"))
        return err_new(ERR_INVALID,
                       "the server's user (uid %u) may not run %s (mode %04o): chmod a+rx %s",
                       d->uid, self_path, mode_of(self_path), self_path);
    return NULL;
}
