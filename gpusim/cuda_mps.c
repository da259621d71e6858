/*
 * cuda_mps.c - the limits of a client of MPS: what the daemon of CUDA_MPS_PIPE_DIRECTORY says
 *
 * A process is a client while it has a connection to the daemon's socket. As the driver does, a
 * process without a daemon runs without MPS and its limits.
 */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cuda.h"
#include "mps.h"

static pthread_mutex_t mps_mutex = PTHREAD_MUTEX_INITIALIZER;
static bool mps_is_asked;
static uint64_t mps_bytes; /* 0: no limit */

/* The first line that the daemon answers; 0: no daemon, or no limit. */
static uint64_t mps_ask(const char *dir)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char answer[64] = "";
    int fd;

    if (!mps_address(dir, &address))
        return 0;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        send(fd, MPS_CLIENT "\n", sizeof(MPS_CLIENT), MSG_NOSIGNAL) < 0 ||
        recv(fd, answer, sizeof(answer) - 1, 0) <= 0) {
        (void)close(fd);
        return 0;
    }
    return strtoull(answer, NULL, 10); /* the connection stays open until the process ends */
}

static void mps_begin(void)
{
    const char *dir = getenv("CUDA_MPS_PIPE_DIRECTORY");
    const char *own = getenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
    const char *value = own ? strchr(own, '=') : NULL;
    uint64_t lower = value ? mps_read_bytes(value + 1) : 0;

    if (!dir)
        return;
    mps_bytes = mps_ask(dir);
    if (mps_bytes > 0 && lower > 0 && lower < mps_bytes)
        mps_bytes = lower;
}

uint64_t mps_limit(void)
{
    (void)pthread_mutex_lock(&mps_mutex); /* pthread_once is new in glibc 2.34 */
    if (!mps_is_asked)
        mps_begin();
    mps_is_asked = true;
    (void)pthread_mutex_unlock(&mps_mutex);
    return mps_bytes;
}
