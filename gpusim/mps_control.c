/*
 * mps_control.c - an emulated nvidia-cuda-mps-control
 *
 *   nvidia-cuda-mps-control -f   the daemon of CUDA_MPS_PIPE_DIRECTORY, in the foreground
 *   nvidia-cuda-mps-control      sends the commands of its input to that daemon
 *
 * Commands: set_default_device_pinned_mem_limit DEVICE VALUE, set_default_active_thread_percentage
 * PERCENT, the get_ forms of both, get_client_list, quit. The daemon answers a command a
 * connection, and keeps the connections of clients (cuda_mps.c).
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "mps.h"

enum {
    CLIENTS_MAX = 128,
    LINE_MAX_BYTES = 256
};

struct daemon {
    uint64_t limit; /* bytes of each client; 0: none */
    unsigned percent;
    bool is_ending;
    int clients[CLIENTS_MAX];
    unsigned n_clients;
};

static const char *pipe_dir(void)
{
    const char *dir = getenv("CUDA_MPS_PIPE_DIRECTORY");

    return dir && dir[0] ? dir : "/tmp/nvidia-mps";
}

static int fail(const char *what)
{
    (void)fprintf(stderr, "nvidia-cuda-mps-control: %s: %s\n", what, strerror(errno));
    return 1;
}

/* Answers a command. */
static void daemon_answer(struct daemon *d, char *line, char *answer, size_t size)
{
    char *rest = NULL;
    const char *word = strtok_r(line, " \n", &rest);
    const char *first = strtok_r(NULL, " \n", &rest);
    const char *second = strtok_r(NULL, " \n", &rest);
    uint64_t n;

    answer[0] = '\0';
    if (!word)
        return;
    if (strcmp(word, "set_default_device_pinned_mem_limit") == 0) {
        n = first && second && strcmp(first, "0") == 0 ? mps_read_bytes(second) : 0;
        if (n == 0)
            (void)snprintf(answer, size, "Invalid device pinned memory limit\n");
        else
            d->limit = n;
    } else if (strcmp(word, "get_default_device_pinned_mem_limit") == 0) {
        (void)snprintf(answer, size, "%" PRIu64 "M\n", d->limit >> 20);
    } else if (strcmp(word, "set_default_active_thread_percentage") == 0) {
        n = first ? strtoull(first, NULL, 10) : 0;
        if (n < 1 || n > 100)
            (void)snprintf(answer, size, "Invalid active thread percentage\n");
        else
            d->percent = (unsigned)n;
    } else if (strcmp(word, "get_default_active_thread_percentage") == 0) {
        (void)snprintf(answer, size, "%u.0\n", d->percent);
    } else if (strcmp(word, "get_client_list") == 0) {
        (void)snprintf(answer, size, "%u\n", d->n_clients);
    } else if (strcmp(word, "quit") == 0) {
        d->is_ending = true;
    } else {
        (void)snprintf(answer, size, "Unknown command %.64s\n", word);
    }
}

/* Serves one connection: a command, or a client, which keeps it. */
static void daemon_serve(struct daemon *d, int fd)
{
    const struct timeval patience = {.tv_sec = 1};
    char line[LINE_MAX_BYTES] = "";
    char answer[LINE_MAX_BYTES] = "";

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (recv(fd, line, sizeof(line) - 1, 0) <= 0) {
        (void)close(fd);
        return;
    }
    if (strcmp(line, MPS_CLIENT "\n") == 0 && d->n_clients < CLIENTS_MAX) {
        (void)snprintf(answer, sizeof(answer), "%" PRIu64 "\n", d->limit);
        d->clients[d->n_clients++] = fd;
    } else {
        daemon_answer(d, line, answer, sizeof(answer));
    }
    (void)send(fd, answer, strlen(answer), MSG_NOSIGNAL);
    if (d->n_clients == 0 || d->clients[d->n_clients - 1] != fd)
        (void)close(fd);
}

static int daemon_listen(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (!mps_address(pipe_dir(), &address)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)unlink(address.sun_path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        chmod(address.sun_path, 0666) < 0 || listen(fd, CLIENTS_MAX) < 0)
        return -1;
    return fd;
}

static int daemon_run(void)
{
    struct daemon d = {.percent = 100};
    int listener = daemon_listen();

    if (listener < 0)
        return fail(pipe_dir());
    while (!d.is_ending) {
        struct pollfd watched[CLIENTS_MAX + 1] = {{.fd = listener, .events = POLLIN}};
        unsigned n = 0;

        for (unsigned i = 0; i < d.n_clients; i++)
            watched[i + 1] = (struct pollfd){.fd = d.clients[i], .events = POLLIN};
        if (poll(watched, d.n_clients + 1, -1) < 0)
            return fail("poll");
        for (unsigned i = 0; i < d.n_clients; i++) {
            if (watched[i + 1].revents)
                (void)close(d.clients[i]); /* a client says no more than its first line */
            else
                d.clients[n++] = d.clients[i];
        }
        d.n_clients = n;
        if (watched[0].revents) {
            int fd = accept(listener, NULL, NULL);

            if (fd >= 0)
                daemon_serve(&d, fd);
        }
    }
    return 0;
}

/* Sends a command, and prints the answer. */
static int command_send(const char *line)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char answer[LINE_MAX_BYTES];
    ssize_t n;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || !mps_address(pipe_dir(), &address) ||
        connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        (void)printf("Cannot find MPS control daemon process\n");
        return 1;
    }
    if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
        return fail("send");
    while ((n = recv(fd, answer, sizeof(answer), 0)) > 0)
        (void)fwrite(answer, 1, (size_t)n, stdout);
    (void)close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    char line[LINE_MAX_BYTES];

    if (argc == 2 && strcmp(argv[1], "-f") == 0)
        return daemon_run();
    if (argc != 1) {
        (void)fprintf(stderr, "usage: nvidia-cuda-mps-control [-f]\n");
        return 2;
    }
    while (fgets(line, sizeof(line), stdin)) {
        if (line[0] != '\n' && command_send(line) != 0)
            return 1;
    }
    return 0;
}
