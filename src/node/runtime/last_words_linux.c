/* last_words_linux.c - the file of a termination message */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/runtime/last_words.h"

enum {
    SIZE_MAX_KEPT = 65536
};

struct err *last_words_make(const char *path)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *dir = mem_strndup(path, slash ? (size_t)(slash - path) : 0);

    TRY(dir_make(dir, 0711)); /* for containers in a user namespace */
    AUTO(fd_closep)
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);

    if (fd < 0)
        return err_errno(errno, "make %s", path);
    if (fchmod(fd, 0666) < 0) /* regardless of our umask */
        return err_errno(errno, "open %s to its container", path);
    return NULL;
}

char *last_words_read(const char *path)
{
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char *words = mem_alloc(LAST_WORDS_MAX + 1);
    struct stat st = {0};
    ssize_t n = 0;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return words; /* "" */
    n = read(fd, words, LAST_WORDS_MAX);
    words[n > 0 ? n : 0] = '\0';
    return words;
}

struct err *last_words_trim(const char *path)
{
    struct stat st = {0};

    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= SIZE_MAX_KEPT)
        return NULL;
    AUTO(fd_closep) int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 || ftruncate(fd, LAST_WORDS_MAX) < 0)
        return err_errno(errno, "cut %s", path);
    return NULL;
}
