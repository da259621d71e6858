/* pem_linux.c - certificates and keys of memory as files, for libcurl */

#include "client/pem_linux.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

struct err *pem_open(const char *pem, int *ret_fd, char **ret_path)
{
    size_t size = strlen(pem);
    AUTO(fd_closep) int fd = memfd_create("mete-pem", MFD_CLOEXEC);

    if (fd < 0)
        return err_errno(errno, "create a memory file for a certificate");
    if (write(fd, pem, size) != (ssize_t)size)
        return err_errno(errno, "write a memory file for a certificate");
    *ret_path = mem_format("/proc/self/fd/%d", fd);
    *ret_fd = fd_take(&fd);
    return NULL;
}
