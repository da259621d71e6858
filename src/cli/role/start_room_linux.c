/* start_room_linux.c - disk space for the next start */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/role/start_room.h"

enum {
    ROOM_BYTES = 256 * 1024, /* several times the size of certificates, tokens and kubeconfig */
    CHUNK_BYTES = 16 * 1024
};

static char *room_path(const char *dir)
{
    return mem_format("%s/room", dir);
}

void start_room_give(const char *dir)
{
    AUTO_FREE char *path = room_path(dir);

    (void)unlink(path); /* the file may not exist */
}

struct err *start_room_keep(const char *dir)
{
    AUTO_FREE char *path = room_path(dir);
    AUTO_FREE char *zeros = mem_alloc(CHUNK_BYTES);
    AUTO(fd_closep)
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return err_errno(errno, "open %s", path);
    for (int at = 0; at < ROOM_BYTES; at += CHUNK_BYTES) {
        ssize_t n = pwrite(fd, zeros, CHUNK_BYTES,
                           at); /* not fallocate: written zeros take space on every file system */
        if (n < 0)
            return err_errno(errno, "write %s", path);
        if (n < CHUNK_BYTES)
            return err_errno(ENOSPC, "write %s", path);
    }
    return NULL;
}
