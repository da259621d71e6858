/*
 * account.c - a store full of rows of accounting: memory, and the cost of reports
 *
 *     account DIR [ROWS]
 *
 * Writes ROWS rows (default: a million) of attempts with one gpu into an empty DIR, opens the store
 * anew, and makes reports over a day and over all rows. A timer of 1 ms measures the longest time
 * that the loop was busy. Prints one line of JSON for each figure.
 */

#include "kinds/account/account.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "kinds/object/txn.h"
#include "meter/meter.h"
#include "store/storage.h"

enum {
    ROWS_A_TXN = 500,
    GPUS = 64
};

static const int64_t first_ns = INT64_C(1767225600) * NS_PER_SEC; /* 2026-01-01 */
static const int64_t row_ns = 30 * NS_PER_SEC;                    /* a million rows take 347 days */

struct bench {
    struct loop *loop;
    struct storage *storage;
    struct store *store;
    struct objects *objects;
    struct meter *meter;
    struct loop_timer *tick;
    int64_t rows;
    int64_t written;
    int64_t ticked_ns;
    int64_t longest_ns;
    bool is_done;
};

static void fail(const struct err *e)
{
    (void)fprintf(stderr, "account: %s\n", err_message(e));
    abort();
}

static void must(struct err *e)
{
    if (e)
        fail(e);
}

static void on_fatal(void *arg, const struct err *e)
{
    (void)arg;
    fail(e);
}

static void make_random(void *arg, void *ret, size_t size)
{
    (void)arg;
    random_bytes(ret, size);
}

static void open_all(struct bench *b, const char *dir)
{
    static const char *const no_prices[] = {NULL};
    struct storage_sqlite_options disk = {.loop = b->loop, .dir = dir, .is_threaded = true};
    struct store_options store = {.loop = b->loop, .on_fatal = on_fatal};
    struct objects_options objects = {.loop = b->loop, .random = make_random};
    struct meter_options meter = {
        .loop = b->loop, .prices_files = no_prices, .retention_ns = INT64_MAX / 2};

    must(storage_sqlite_new(&disk, &b->storage));
    store.storage = b->storage;
    must(store_open(&store, &b->store));
    objects.store = b->store;
    b->objects = objects_new(&objects);
    meter.objects = b->objects;
    b->meter = meter_new(&meter);
}

static void close_all(struct bench *b)
{
    meter_free(b->meter);
    store_free(b->store);
    objects_free(b->objects);
    storage_free(b->storage);
}

static int64_t resident_kib(void)
{
    AUTO(buf_done) struct buf text = {0};
    const char *line;
    int64_t kib = 0;
    struct str rest;

    must(file_read("/proc/self/status", 1 << 16, &text));
    line = strstr(text.at, "VmRSS:");
    rest = str_of(line ? line + 6 : "0");
    while (rest.size > 0 && (*rest.at == ' ' || *rest.at == '\t'))
        rest = (struct str){rest.at + 1, rest.size - 1};
    must(num_parse_int64(str_cut(&rest, ' '), 0, INT64_MAX, &kib));
    return kib;
}

static void add_row(struct bench *b, struct txn *t)
{
    int64_t i = b->written++;
    int64_t from_ns = first_ns + i * row_ns;
    AUTO_FREE char *key =
        mem_format("%019" PRId64 ".%019" PRId64 ".6f9619ff-8b86-d011-b42d-%012" PRId64 ".0",
                   from_ns + row_ns, from_ns, i);
    char *text = mem_format("{\"namespace\":\"team-%" PRId64 "\",\"pod\":\"job-%" PRId64
                            "\",\"uid\":\"6f9619ff-8b86-d011-b42d-%012" PRId64
                            "\",\"attempt\":0,\"user\":\"user-%" PRId64 "\",\"jobId\":\"%" PRId64
                            "\",\"queue\":\"default\",\"node\":\"node-1\",\"gpus\":[{\"uuid\":"
                            "\"GPU-8a56a4bc-184c-a047-2620-%012" PRId64
                            "\",\"model\":\"h100\"}],\"fromNs\":%" PRId64 ",\"toNs\":%" PRId64
                            ",\"cpuNs\":123456789,\"memoryKibSeconds\":1234567,\"memoryPeakBytes\":"
                            "123456789,\"exitCode\":0,\"cause\":\"Completed\"}",
                            i % 10, i, i, i % 100, i, i % GPUS, from_ns, from_ns + row_ns);
    const struct store_key where = {
        .group = "mete.dev", .resource = "accounting", .ns = "", .name = key};

    txn_put_text(t, where, text, STORE_ABSENT);
}

static void write_next(void *arg, const struct err *e, int64_t revision)
{
    struct bench *b = arg;
    struct txn t = {0};

    (void)revision;
    if (e)
        fail(e);
    if (b->written >= b->rows) {
        loop_linux_stop(b->loop);
        return;
    }
    for (int i = 0; i < ROWS_A_TXN && b->written < b->rows; i++)
        add_row(b, &t);
    must(txn_commit(&t, b->store, write_next, b, NULL));
    txn_done(&t);
}

static void on_tick(void *arg)
{
    struct bench *b = arg;
    int64_t now_ns = loop_now_ns(b->loop);

    if (b->ticked_ns > 0 && now_ns - b->ticked_ns - NS_PER_MS > b->longest_ns)
        b->longest_ns = now_ns - b->ticked_ns - NS_PER_MS;
    b->ticked_ns = now_ns;
    loop_timer_set(b->tick, NS_PER_MS);
}

static void on_done(void *arg, const struct err *e, const json_t *report)
{
    struct bench *b = arg;

    if (e)
        fail(e);
    b->is_done = json_int_at(report, "total", "attempts", NULL) > 0;
    loop_linux_stop(b->loop);
}

static void measure_report(struct bench *b, const char *what, const char *from, const char *to)
{
    AUTO(json_freep)
    json_t *parameters =
        json_pack("{s:s, s:s, s:s}", "from", from, "to", to, "by", "user,namespace,model");
    const struct report_question q = {.parameters = parameters};
    struct report *report = NULL;
    int64_t start_ns = loop_now_ns(b->loop);

    b->ticked_ns = 0;
    b->longest_ns = 0;
    b->is_done = false;
    b->tick = loop_timer_new(b->loop, on_tick, b);
    loop_timer_set(b->tick, 0);
    must(meter_usage(b->meter, &q, on_done, b, &report));
    must(loop_linux_run(b->loop));
    loop_timer_free(b->tick);
    printf("{\"bench\":\"account_report\",\"period\":\"%s\",\"rows\":%" PRId64 ",\"ms\":%" PRId64
           ",\"longest_turn_us\":%" PRId64 ",\"has_attempts\":%s}\n",
           what, b->rows, (loop_now_ns(b->loop) - start_ns) / NS_PER_MS, b->longest_ns / 1000,
           b->is_done ? "true" : "false");
    (void)fflush(stdout);
}

static void measure(struct bench *b, const char *dir)
{
    int64_t before_kib = resident_kib();
    int64_t start_ns = loop_now_ns(b->loop);

    open_all(b, dir);
    write_next(b, NULL, 0);
    must(loop_linux_run(b->loop));
    printf("{\"bench\":\"account_write\",\"rows\":%" PRId64 ",\"rows_per_s\":%" PRId64 "}\n",
           b->rows, b->rows * NS_PER_SEC / (loop_now_ns(b->loop) - start_ns));
    close_all(b);
    start_ns = loop_now_ns(b->loop);
    open_all(b, dir);
    printf("{\"bench\":\"account_open\",\"rows\":%" PRId64 ",\"ms\":%" PRId64
           ",\"resident_mib\":%" PRId64 ",\"bytes_a_row\":%" PRId64 "}\n",
           b->rows, (loop_now_ns(b->loop) - start_ns) / NS_PER_MS, resident_kib() / 1024,
           (resident_kib() - before_kib) * 1024 / b->rows);
    measure_report(b, "a day", "2026-01-02", "2026-01-03");
    measure_report(b, "all", "2026-01-01", "now");
    close_all(b);
}

int main(int argc, char **argv)
{
    struct bench b = {.rows = 1000000};
    AUTO(err_freep) struct err *e = NULL;

    if (argc == 3)
        e = num_parse_int64(str_of(argv[2]), 1, 100000000, &b.rows);
    if (argc < 2 || argc > 3 || e) {
        (void)fprintf(stderr, "usage: account DIR [ROWS]\n");
        return 2;
    }
    b.loop = loop_linux_new();
    measure(&b, argv[1]);
    loop_linux_free(b.loop);
    return 0;
}
