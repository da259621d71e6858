/* notify_linux.c - sd_notify(3) */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/role/notify.h"

void notify_manager(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET"); /* NOLINT(concurrency-mt-unsafe): one thread */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = path ? strlen(path) : 0;
    AUTO(fd_closep) int fd = -1;

    if (size < 2 || size >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(address.sun_path, path, size);
    if (path[0] == '@') /* abstract namespace */
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)) < 0) {
        AUTO(err_freep) struct err *e = err_errno(errno, "notify %s", path);

        LOG(WARN, "the service manager was not notified", E(e));
    }
}
