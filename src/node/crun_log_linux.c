#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "node/crun_box_linux.h"

/* conmon's control fifo takes "TYPE HEIGHT WIDTH"; 2 makes it open its log anew, as CRI-O asks. */
struct err *crun_reopen_log(void *self, const char *id)
{
    static const char message[] = "2 0 0\n";
    const ssize_t size = (ssize_t)sizeof(message) - 1;
    struct crun *r = self;
    const struct box *b = crun_find(r, id);
    AUTO_FREE char *path = b ? box_path(b, "ctl") : NULL;
    AUTO(fd_closep)
    int fd = path ? open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC) : -1;

    if (fd < 0 && path && errno != ENXIO && errno != ENOENT) /* those: its conmon is gone */
        return err_errno(errno, "open %s", path);
    if (fd >= 0 && write(fd, message, (size_t)size) != size)
        return err_errno(errno, "write %s", path);
    return NULL;
}
