/*
 * model_server.c - a small model server: holds a model in the memory of a gpu and answers HTTP
 *
 *   model_server VERSION MIB [MS]    loads a model of MIB on the first gpu (0: none, no gpu
 * needed), and listens on port 8080; a request takes MS (20)
 *
 * GET / answers with the version, the words that it computed and the memory of its gpu. At SIGTERM
 * the server takes the connections that wait, answers all requests that it has, and ends: what a
 * server must do so that no request fails while another version takes its place.
 */

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "gpu/cuda_abi.h"

#define MIB ((size_t)1 << 20)

enum {
    PORT = 8080,
    REQUEST_MAX = 8192,
    BACKLOG = 512,
    TIMEOUT_S = 10
};

#define CUDA_CALLS(X)                                       \
    X(cuInit, (unsigned))                                   \
    X(cuDeviceGet, (CUdevice *, int))                       \
    X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))    \
    X(cuCtxSetCurrent, (CUcontext))                         \
    X(cuMemGetInfo_v2, (size_t *, size_t *))                \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t))               \
    X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t)) \
    X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))

static struct {
#define X(name, arguments) CUresult(*name) arguments; /* NOLINT(bugprone-macro-parentheses) */
    CUDA_CALLS(X)
#undef X
} cuda;

static struct {
    const char *version;
    struct timespec work;
    CUcontext context; /* NULL: no gpu */
    CUdeviceptr memory;
    size_t total_mib;
    pthread_mutex_t lock; /* of the gpu */
    atomic_int running;   /* requests */
} model = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool library_load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        (void)fprintf(stderr, "model_server: %s\n", dlerror());
        return false;
    }
#define X(name, arguments)                                                 \
    do {                                                                   \
        void *symbol = dlsym(library, #name);                              \
                                                                           \
        if (!symbol) {                                                     \
            (void)fprintf(stderr, "model_server: %s is missing\n", #name); \
            return false;                                                  \
        }                                                                  \
        memcpy(&cuda.name, &symbol, sizeof(symbol));                       \
    } while (0);
    CUDA_CALLS(X)
#undef X
    return true;
}

static bool model_load(size_t mib)
{
    CUdevice device = 0;
    size_t free_bytes = 0;
    size_t total = 0;
    CUresult result;

    if (!library_load())
        return false;
    result = cuda.cuInit(0);
    if (result == CUDA_SUCCESS)
        result = cuda.cuDeviceGet(&device, 0);
    if (result == CUDA_SUCCESS)
        result = cuda.cuDevicePrimaryCtxRetain(&model.context, device);
    if (result == CUDA_SUCCESS)
        result = cuda.cuCtxSetCurrent(model.context);
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemAlloc_v2(&model.memory, mib * MIB);
    if (result == CUDA_SUCCESS)
        result = cuda.cuMemGetInfo_v2(&free_bytes, &total);
    model.total_mib = total / MIB;
    if (result != CUDA_SUCCESS)
        (void)fprintf(stderr, "model_server: the model does not fit: error %d\n", result);
    return result == CUDA_SUCCESS;
}

/* The words go through the gpu's memory. False: the gpu failed. */
static bool model_ask(char *words, size_t size)
{
    bool is_good = true;

    (void)nanosleep(&model.work, NULL);
    if (!model.context)
        return true;
    (void)pthread_mutex_lock(&model.lock);
    is_good = cuda.cuCtxSetCurrent(model.context) == CUDA_SUCCESS &&
              cuda.cuMemcpyHtoD_v2(model.memory, words, size) == CUDA_SUCCESS &&
              cuda.cuMemcpyDtoH_v2(words, model.memory, size) == CUDA_SUCCESS;
    (void)pthread_mutex_unlock(&model.lock);
    return is_good;
}

static bool request_read(int fd)
{
    char text[REQUEST_MAX + 1];
    size_t size = 0;

    while (size < REQUEST_MAX) {
        ssize_t n = read(fd, text + size, REQUEST_MAX - size);

        if (n <= 0)
            return false;
        size += (size_t)n;
        text[size] = '\0';
        if (strstr(text, "\r\n\r\n"))
            return true;
    }
    return false;
}

static void *request_serve(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char words[] = "hello";
    char body[256];
    char answer[512];
    bool is_good;
    int n;

    if (request_read(fd)) {
        is_good = model_ask(words, sizeof(words));
        n = snprintf(body, sizeof(body), "%s from %s, gpu memory %zu MiB\n", words, model.version,
                     model.total_mib);
        n = snprintf(answer, sizeof(answer),
                     "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
                     "Connection: close\r\n\r\n%s",
                     is_good ? "200 OK" : "500 Internal Server Error", n, body);
        if (write(fd, answer, (size_t)n) != n)
            (void)fprintf(stderr, "model_server: a client has gone\n");
    }
    (void)close(fd);
    model.running--;
    return NULL;
}

/* Takes one connection that waits; false: none waits. */
static bool connection_take(int listener)
{
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    pthread_t thread;

    if (fd < 0)
        return errno == EINTR || errno == ECONNABORTED;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    model.running++;
    if (pthread_create(&thread, NULL, request_serve, (void *)(intptr_t)fd) != 0) {
        (void)close(fd);
        model.running--;
        return true;
    }
    (void)pthread_detach(thread);
    return true;
}

static int listener_open(void)
{
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    const int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
        bind(fd, (const struct sockaddr *)(const void *)&any, sizeof(any)) || listen(fd, BACKLOG)) {
        perror("model_server: port 8080");
        return -1;
    }
    return fd;
}

int main(int argc, char **argv)
{
    size_t mib = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    unsigned long ms = argc > 3 ? strtoul(argv[3], NULL, 10) : 20;
    struct pollfd fds[2] = {{.events = POLLIN}, {.events = POLLIN}};
    const struct timespec tick = {.tv_nsec = 1000000};
    sigset_t signals;

    if (argc < 3) {
        (void)fprintf(stderr, "usage: model_server VERSION MIB [MS]\n");
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    model.version = argv[1];
    model.work = (struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    if (mib > 0 && !model_load(mib))
        return 1;
    fds[0].fd = listener_open();
    fds[1].fd = signalfd(-1, &signals, SFD_CLOEXEC);
    if (fds[0].fd < 0 || fds[1].fd < 0)
        return 1;
    (void)printf("version %s listens\n", model.version);
    (void)fflush(stdout);
    while (poll(fds, 2, -1) > 0 && !fds[1].revents)
        (void)connection_take(fds[0].fd);
    while (connection_take(fds[0].fd))
        ;
    (void)close(fds[0].fd);
    while (model.running > 0)
        (void)nanosleep(&tick, NULL);
    return 0;
}
