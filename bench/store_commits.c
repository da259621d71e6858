/*
 * store_commits.c - durable transactions per second on a real directory: 1, 16 and 64 in flight
 *
 *     store_commits DIR [SECONDS]
 *
 * Each client creates an object of 300 bytes, and the next one when the object is durable. DIR must
 * be empty and on the measured disk; a subdirectory for each figure stays in it.
 */

#include <inttypes.h>
#include <stdio.h>

#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "store/storage.h"

enum {
    OBJECT_BYTES = 300
};

struct bench {
    struct loop *loop;
    struct storage *storage;
    struct store *store;
    int64_t end_ns;
    int64_t created;
    unsigned in_flight;
    VEC(int64_t) latencies_ns;
};

struct client {
    struct bench *bench;
    int64_t start_ns;
};

static void on_fatal(void *arg, const struct err *e)
{
    (void)arg;
    (void)fprintf(stderr, "store_commits: %s\n", err_message(e));
    abort();
}

static void create_next(struct client *c);

static void on_done(void *arg, const struct err *e, int64_t revision)
{
    struct client *c = arg;
    struct bench *b = c->bench;

    (void)revision;
    b->in_flight--;
    if (e) {
        (void)fprintf(stderr, "store_commits: %s\n", err_message(e));
        loop_linux_stop(b->loop);
        return;
    }
    vec_add(&b->latencies_ns, loop_now_ns(b->loop) - c->start_ns);
    if (loop_now_ns(b->loop) < b->end_ns)
        create_next(c);
    else if (b->in_flight == 0)
        loop_linux_stop(b->loop);
}

static void create_next(struct client *c)
{
    struct bench *b = c->bench;
    char name[32];
    char bytes[OBJECT_BYTES];
    struct store_op op = {.type = STORE_PUT, .if_version = STORE_ABSENT};
    AUTO(err_freep) struct err *e = NULL;

    (void)snprintf(name, sizeof(name), "pod-%" PRId64, b->created++);
    memset(bytes, 'x', sizeof(bytes));
    op.key = (struct store_key){.group = "", .resource = "pods", .ns = "default", .name = name};
    op.bytes = (struct str){.at = bytes, .size = sizeof(bytes)};
    c->start_ns = loop_now_ns(b->loop);
    e = store_commit(b->store, &op, 1, on_done, c, NULL);
    if (e) {
        (void)fprintf(stderr, "store_commits: %s\n", err_message(e));
        loop_linux_stop(b->loop);
        return;
    }
    b->in_flight++;
}

static int compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void print_figure(struct bench *b, unsigned clients, int64_t took_ns)
{
    size_t n = b->latencies_ns.n;

    if (n == 0)
        return;
    qsort(b->latencies_ns.at, n, sizeof(b->latencies_ns.at[0]), compare_int64);
    printf("{\"bench\":\"store_commits\",\"in_flight\":%u,\"object_bytes\":%d,\"commits\":%zu,"
           "\"commits_per_s\":%" PRId64 ",\"p50_us\":%" PRId64 ",\"p99_us\":%" PRId64 "}\n",
           clients, OBJECT_BYTES, n, (int64_t)n * NS_PER_SEC / took_ns,
           b->latencies_ns.at[n / 2] / 1000, b->latencies_ns.at[n * 99 / 100] / 1000);
    (void)fflush(stdout);
}

static struct err *open_store(struct bench *b, const char *dir)
{
    struct storage_sqlite_options disk = {.loop = b->loop, .dir = dir, .is_threaded = true};
    struct store_options options = {.loop = b->loop, .on_fatal = on_fatal};

    TRY(storage_sqlite_new(&disk, &b->storage));
    options.storage = b->storage;
    return store_open(&options, &b->store);
}

static void close_store(struct bench *b)
{
    store_free(b->store);
    storage_free(b->storage);
    b->store = NULL;
    b->storage = NULL;
}

static struct err *measure_open(struct bench *b, const char *dir)
{
    int64_t start_ns;

    close_store(b);
    start_ns = loop_now_ns(b->loop);
    TRY(open_store(b, dir));
    printf("{\"bench\":\"store_open\",\"objects\":%" PRId64 ",\"ms\":%" PRId64 "}\n", b->created,
           (loop_now_ns(b->loop) - start_ns) / NS_PER_MS);
    (void)fflush(stdout);
    return NULL;
}

static struct err *measure(struct loop *loop, const char *dir, unsigned clients, int64_t seconds)
{
    struct bench b = {.loop = loop};
    AUTO_FREE char *own = mem_format("%s/%u", dir, clients);
    AUTO_FREE struct client *all = mem_alloc(clients * sizeof(struct client));
    int64_t start_ns;
    struct err *e = open_store(&b, own);

    if (!e) {
        start_ns = loop_now_ns(loop);
        b.end_ns = start_ns + seconds * NS_PER_SEC;
        for (unsigned i = 0; i < clients; i++) {
            all[i].bench = &b;
            create_next(&all[i]);
        }
        e = loop_linux_run(loop);
        print_figure(&b, clients, loop_now_ns(loop) - start_ns);
    }
    if (!e)
        e = measure_open(&b, own);
    close_store(&b);
    vec_done(&b.latencies_ns);
    return e;
}

int main(int argc, char **argv)
{
    static const unsigned clients[] = {1, 16, 64};
    AUTO(err_freep) struct err *e = NULL;
    struct loop *loop;
    int64_t seconds = 3;

    if (argc == 3)
        e = num_parse_int64(str_of(argv[2]), 1, 3600, &seconds);
    if (argc < 2 || argc > 3 || e) {
        (void)fprintf(stderr, "usage: store_commits DIR [SECONDS]\n");
        return 2;
    }
    loop = loop_linux_new();
    for (size_t i = 0; i < COUNT(clients) && !e; i++)
        e = measure(loop, argv[1], clients[i], seconds);
    loop_linux_free(loop);
    if (e)
        (void)fprintf(stderr, "store_commits: %s\n", err_message(e));
    return e ? 1 : 0;
}
