/*
 * connects.c - connections per second to an address
 *
 *   connects serve PORT               takes connections and closes them, until it is killed
 *   connects ADDRESS PORT SECONDS     one connection after another; prints the connections per
 * second
 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int serve(const struct sockaddr_in *at)
{
    const int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
        bind(fd, (const struct sockaddr *)(const void *)at, sizeof(*at)) || listen(fd, 4096)) {
        perror("connects: listen");
        return 1;
    }
    while (1) {
        int peer = accept(fd, NULL, NULL);
        char byte;

        if (peer >= 0) {
            (void)!read(peer, &byte, 1);
            (void)close(peer);
        }
    }
}

/* The client ends with a reset, so that no port waits. */
static int connect_once(const struct sockaddr_in *to)
{
    const struct linger reset = {.l_onoff = 1};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int failed = fd < 0 || connect(fd, (const struct sockaddr *)(const void *)to, sizeof(*to)) ||
                 setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));

    if (failed)
        perror("connects: connect");
    (void)close(fd);
    return failed;
}

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    double begin = now_s();
    double seconds;
    unsigned long n = 0;

    if (argc == 3 && strcmp(argv[1], "serve") == 0) {
        at.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
        return serve(&at);
    }
    if (argc != 4 || inet_pton(AF_INET, argv[1], &at.sin_addr) != 1) {
        (void)fprintf(stderr, "usage: connects serve PORT, or connects ADDRESS PORT SECONDS\n");
        return 2;
    }
    at.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
    seconds = (double)strtoul(argv[3], NULL, 10);
    while (now_s() - begin < seconds) {
        if (connect_once(&at))
            return 1;
        n++;
    }
    (void)printf("%.0f\n", (double)n / (now_s() - begin));
    return 0;
}
