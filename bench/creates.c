/*
 * creates.c - durable creates per second over the unix socket
 *
 *     creates SOCKET CLIENTS SECONDS [NAMESPACE [COUNT]]
 *
 * Each client has one connection and one request in flight: a pod of about 300 bytes that fits on
 * no node. A create counts when its 201 arrives, which is after the sync. With COUNT the pods are
 * named bench-0 ..., and the run ends when all exist. Prints one line of JSON, with this program's
 * own CPU time.
 */

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    CLIENTS_MAX = 256,
    REPLY_MAX = 16384
};

struct one {
    int fd;
    size_t got;
    char reply[REPLY_MAX];
    int64_t sent_ns;
};

static int64_t now_ns(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what)
{
    (void)fprintf(stderr, "creates: %s: %s\n", what,
                  strerror(errno)); /* NOLINT(concurrency-mt-unsafe): one thread */
    exit(1);
}

static void send_one(struct one *c, const char *ns, const char *prefix, unsigned long n)
{
    char body[512];
    char text[1024];
    int body_size = snprintf(body, sizeof(body),
                             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                             "\"%s-%lu\",\"labels\":{\"app\":\"bench\"}},"
                             "\"spec\":{\"restartPolicy\":\"Never\",\"nodeSelector\":{\"bench\":"
                             "\"nowhere\"},\"containers\":[{\"name\":\"main\","
                             "\"image\":\"host\",\"command\":[\"true\"],\"resources\":{\"limits\":{"
                             "\"nvidia.com/gpu\":1}}}]}}",
                             prefix, n);
    int size = snprintf(text, sizeof(text),
                        "POST /api/v1/namespaces/%s/pods HTTP/1.1\r\nHost: "
                        "mete\r\nContent-Type: application/json\r\n"
                        "Content-Length: %d\r\n\r\n%s",
                        ns, body_size, body);

    if (write(c->fd, text, (size_t)size) != size)
        die("send");
    c->got = 0;
    c->sent_ns = now_ns();
}

/* Reads a part of a reply. True: the reply is complete. A status other than 201 ends the run. */
static bool take_reply(struct one *c)
{
    ssize_t n = read(c->fd, c->reply + c->got, sizeof(c->reply) - 1 - c->got);
    const char *head_end;
    const char *length;
    size_t whole;

    if (n <= 0)
        die("the server closed the connection");
    c->got += (size_t)n;
    c->reply[c->got] = '\0';
    head_end = strstr(c->reply, "\r\n\r\n");
    if (!head_end)
        return false;
    if (strncmp(c->reply, "HTTP/1.1 201", 12) != 0) {
        (void)fprintf(stderr, "creates: not created: %s\n", c->reply);
        exit(1);
    }
    length = strcasestr(c->reply, "content-length:");
    if (!length || length > head_end) {
        (void)fprintf(stderr, "creates: a reply without Content-Length\n");
        exit(1);
    }
    whole = (size_t)(head_end - c->reply) + 4 + strtoul(length + 15, NULL, 10);
    return c->got >= whole;
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        die(path);
    return fd;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    static struct one clients[CLIENTS_MAX];
    static int64_t latency[1 << 20];
    struct pollfd polled[CLIENTS_MAX];
    struct rusage usage = {0};
    char prefix[32];
    const char *ns;
    unsigned long count = 0; /* 0: until the time is over */
    unsigned long sent = 0;
    unsigned long made = 0;
    size_t done = 0;
    unsigned n;
    int64_t begin;
    int64_t end;

    if (argc < 4 || argc > 6)
        return 2;
    ns = argc >= 5 ? argv[4] : "default";
    if (argc == 6)
        count = strtoul(argv[5], NULL, 10);
    (void)snprintf(prefix, sizeof(prefix), count ? "bench" : "bench-%u", (unsigned)getpid());
    n = (unsigned)strtoul(argv[2], NULL, 10);
    if (n < 1 || n > CLIENTS_MAX || (count && count < n))
        return 2;
    for (unsigned i = 0; i < n; i++) {
        clients[i].fd = connect_to(argv[1]);
        polled[i] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
    }
    begin = now_ns();
    end = begin + (int64_t)(strtoul(argv[3], NULL, 10) * 1000000000ul);
    for (unsigned i = 0; i < n; i++)
        send_one(&clients[i], ns, prefix, sent++);
    while (now_ns() < end && (!count || made < count)) {
        if (poll(polled, n, 1000) < 0)
            die("poll");
        for (unsigned i = 0; i < n; i++) {
            if (!(polled[i].revents) || !take_reply(&clients[i]))
                continue;
            if (done < sizeof(latency) / sizeof(latency[0]))
                latency[done++] = now_ns() - clients[i].sent_ns;
            made++;
            if (!count || sent < count)
                send_one(&clients[i], ns, prefix, sent++);
        }
    }
    end = now_ns();
    (void)getrusage(RUSAGE_SELF, &usage);
    if (made < count) {
        (void)fprintf(stderr, "creates: %lu of %lu pods in the time\n", made, count);
        return 1;
    }
    qsort(latency, done, sizeof(latency[0]), compare);
    (void)printf("{\"figure\":\"durable_creates\",\"namespace\":\"%s\",\"clients\":%u,\"per_"
                 "second\":%.0f,\"p50_ms\":%."
                 "2f,\"p99_ms\":%.2f,"
                 "\"client_cpu_s\":%.2f,\"wall_s\":%.2f}\n",
                 ns, n, (double)done / ((double)(end - begin) / 1e9),
                 (double)latency[done / 2] / 1e6, (double)latency[done * 99 / 100] / 1e6,
                 (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
                 (double)(end - begin) / 1e9);
    return 0;
}
