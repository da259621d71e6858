/*
 * kube_bare.c - pods created and bound by a bare client of a kube-apiserver
 *
 *     kube_bare URL CA CERT KEY PREFIX COUNT CLIENTS NODES
 *
 * CLIENTS requests are in flight. Each pod asks for one gpu, is created with a schedulerName that
 * nobody has, and is bound at once, the pods in turn to the nodes load-0 .. load-NODES-1. The line
 * of JSON that it prints is the server's rate without any decision.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "client/client.h"

#define PODS_PATH "/api/v1/namespaces/default/pods"

struct bare {
    struct loop *loop;
    struct client *client;
    const char *prefix;
    uint64_t count;
    uint64_t clients;
    uint64_t nodes;
    uint64_t n_begun;
    uint64_t n_bound;
    struct err *failure;
};

/* A client with one pod at a time. */
struct bare_client {
    struct bare *of;
    uint64_t pod;
};

static void begin_pod(struct bare_client *c);

static void send_text(struct bare_client *c, const char *path, const char *body,
                      client_done_fn done)
{
    const struct client_request r = {.method = "POST", .path = path, .body = str_of(body)};

    client_send(c->of->client, &r, done, c, NULL);
}

static bool has_failed(struct bare *b, const struct err *e, const struct client_reply *reply)
{
    struct err *failure = client_error(e, reply);

    if (!failure)
        return false;
    if (b->failure)
        err_free(failure);
    else
        b->failure = failure;
    loop_linux_stop(b->loop);
    return true;
}

static void on_bound(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct bare_client *c = arg;

    if (has_failed(c->of, e, reply))
        return;
    c->of->n_bound++;
    begin_pod(c);
}

static void on_created(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct bare_client *c = arg;
    const struct bare *b = c->of;
    AUTO_FREE char *path = mem_format(PODS_PATH "/%s-%" PRIu64 "/binding", b->prefix, c->pod);
    AUTO_FREE char *body = mem_format(
        "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"%s-%" PRIu64
        "\"},\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"load-%" PRIu64 "\"}}",
        b->prefix, c->pod, c->pod % b->nodes);

    if (!has_failed(c->of, e, reply))
        send_text(c, path, body, on_bound);
}

static void begin_pod(struct bare_client *c)
{
    struct bare *b = c->of;
    AUTO_FREE char *body = NULL;

    if (b->n_begun == b->count) {
        if (b->n_bound == b->count)
            loop_linux_stop(b->loop);
        return;
    }
    c->pod = b->n_begun++;
    body = mem_format("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s-%" PRIu64
                      "\",\"labels\":{\"load\":\"%s\"}},\"spec\":{\"schedulerName\":\"nobody\","
                      "\"containers\":[{\"name\":\"main\",\"image\":\"localhost/busybox:1\","
                      "\"resources\":{\"limits\":{\"cpu\":\"1\",\"nvidia.com/gpu\":\"1\"}}}]}}",
                      b->prefix, c->pod, b->prefix);
    send_text(c, PODS_PATH, body, on_created);
}

static struct err *bare_run(struct bare *b, char **argv, struct bare_client *clients)
{
    TRY(num_parse_uint64(str_of(argv[6]), 1000000, &b->count));
    TRY(num_parse_uint64(str_of(argv[7]), 256, &b->clients));
    TRY(num_parse_uint64(str_of(argv[8]), 100000, &b->nodes));
    if (b->clients == 0 || b->nodes == 0)
        return err_new(ERR_INVALID, "want at least one client and one node");
    TRY(client_new(&(struct client_options){.loop = b->loop,
                                            .url = argv[1],
                                            .ca_file = argv[2],
                                            .cert_file = argv[3],
                                            .key_file = argv[4]},
                   &b->client));
    for (uint64_t i = 0; i < b->clients; i++) {
        clients[i].of = b;
        begin_pod(&clients[i]);
    }
    TRY(loop_linux_run(b->loop));
    return TAKE(b->failure);
}

static double seconds(clockid_t clock)
{
    struct timespec t = {0};

    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct bare b = {.loop = loop_linux_new(), .prefix = argc == 9 ? argv[5] : NULL};
    struct bare_client clients[256] = {0};
    double begin = seconds(CLOCK_MONOTONIC);
    AUTO(err_freep)
    struct err *e = argc == 9 ? bare_run(&b, argv, clients)
                              : err_new(ERR_INVALID, "want URL CA CERT KEY PREFIX COUNT CLIENTS "
                                                     "NODES");

    if (e)
        (void)fprintf(stderr, "kube_bare: %s\n", err_message(e));
    else
        (void)printf("{\"pods\":%" PRIu64 ",\"seconds\":%.3f,\"cpu_ms_a_pod\":%.3f}\n", b.n_bound,
                     seconds(CLOCK_MONOTONIC) - begin,
                     seconds(CLOCK_PROCESS_CPUTIME_ID) * 1e3 / (double)b.count);
    client_free(b.client);
    loop_linux_free(b.loop);
    return e ? 1 : 0;
}
