/* host_driver_linux.c - makes the mount points of the image `host` */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/image/host_driver.h"

static struct err *make_point(const char *dir, const char *name)
{
    AUTO_FREE char *path = mem_format("%s/%s", dir, name);
    AUTO_FREE char *parent = mem_strndup(path, (size_t)(strrchr(path, '/') - path));
    AUTO(fd_closep) int fd = -1;

    if (file_exists(path))
        return NULL;
    TRY(dir_make(parent, 0755));
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0555);
    return fd < 0 ? err_errno(errno, "make %s", path) : NULL;
}

struct err *host_driver_make(struct host_driver *h)
{
    static const char *const dirs[] = {HOST_DRIVER_LIBRARIES, HOST_DRIVER_LIBRARIES_32,
                                       HOST_DRIVER_PROGRAMS};
    AUTO(fd_closep) int root = -1;

    if (!h->has_gpu)
        return NULL;
    root = open(h->rootfs, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return err_errno(errno, "open %s", h->rootfs);
    image_loader_find(root, &h->loader);
    for (size_t i = 0; h->dir && i < COUNT(dirs); i++) {
        AUTO_FREE char *dir = mem_format("%s/%s", h->dir, dirs[i]);

        TRY(dir_make(dir, 0755));
    }
    VEC_EACH (&h->points, point)
        TRY(make_point(h->dir, *point));
    return NULL;
}
