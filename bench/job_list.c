/*
 * job_list.c - a page of 50 jobs out of many, as the web page and `mete ps` ask for it
 *
 *     bench_job_list DIR [JOBS]      default: 1000000
 *
 * DIR must be empty. The figures: the making of the index, and each kind of question.
 */

#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "base/vec.h"
#include "page/jobs_report.h"
#include "page/ps_report.h"
#include "store/storage.h"

enum {
    OPS = 4096,
    POD_SIZE = 600,
    ASKED = 200
};

struct job_list {
    struct loop *loop;
    struct store *store;
    struct objects *objects;
    struct jobs_index *index;
    struct err *(*begin)(void *index, const struct report_question *q, report_done_fn done,
                         void *done_arg, struct report **ret);
    int64_t n;
    int64_t total; /* of the last answer */
    VEC(int64_t) times_ns;
};

static void fail(const struct err *e)
{
    if (!e)
        return;
    (void)fprintf(stderr, "job_list: %s\n", err_message(e));
    abort();
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

static void on_durable(void *arg, const struct err *e, int64_t revision)
{
    (void)revision;
    fail(e);
    loop_linux_stop(arg);
}

static size_t pod_format(int64_t i, char ret[POD_SIZE])
{
    static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed"};

    return (size_t)snprintf(
        ret, POD_SIZE,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"job-%" PRId64
        "\",\"namespace\":\"team-%d\",\"creationTimestamp\":\"2026-11-22T08:%02d:%02dZ\","
        "\"labels\":{\"mete.dev/job-id\":\"%" PRId64 "\",\"mete.dev/queue\":\"queue-%d\"},"
        "\"annotations\":{\"mete.dev/user\":\"user-%d\"}},\"spec\":{\"containers\":[{\"name\":"
        "\"main\",\"image\":\"host\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"%d\"}}}]},"
        "\"status\":{\"phase\":\"%s\"}}",
        i, (int)(i % 20), (int)(i / 60 % 60), (int)(i % 60), i + 1, (int)(i % 10), (int)(i % 500),
        (int)(1 << (i % 4)), phases[i * 7 % 4]);
}

static void create_some(struct job_list *b, int64_t from, int64_t n)
{
    struct store_op *ops = mem_alloc((size_t)n * sizeof(*ops));
    char(*texts)[POD_SIZE] = mem_alloc((size_t)n * POD_SIZE);
    char(*names)[64] = mem_alloc((size_t)n * 64);

    for (int64_t i = 0; i < n; i++) {
        size_t size = pod_format(from + i, texts[i]);

        (void)snprintf(names[i], 64, "job-%" PRId64, from + i);
        (void)snprintf(names[i] + 32, 32, "team-%d", (int)((from + i) % 20));
        ops[i] = (struct store_op){
            .type = STORE_PUT,
            .if_version = STORE_ABSENT,
            .key = {.group = "", .resource = "pods", .ns = names[i] + 32, .name = names[i]},
            .bytes = {.at = texts[i], .size = size}};
    }
    fail(store_commit(b->store, ops, (size_t)n, on_durable, b->loop, NULL));
    fail(loop_linux_run(b->loop));
    free(ops);
    free(texts);
    free(names);
}

static void on_report(void *arg, const struct err *e, const json_t *report)
{
    struct job_list *b = arg;

    fail(e);
    b->total = json_int(report, "total", json_int(report, "more", 0));
    loop_linux_stop(b->loop);
}

static int64_t ask_once(struct job_list *b, const json_t *parameters)
{
    const struct report_question q = {.parameters = parameters, .user = "root"};
    struct report *r = NULL;
    int64_t start_ns = loop_now_ns(b->loop);

    fail(b->begin(b->index, &q, on_report, b, &r));
    fail(loop_linux_run(b->loop));
    return loop_now_ns(b->loop) - start_ns;
}

static int compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void measure(struct job_list *b, const char *name, json_t *taken)
{
    vec_clear(&b->times_ns);
    for (int i = 0; i < ASKED; i++)
        vec_add(&b->times_ns, ask_once(b, taken));
    qsort(b->times_ns.at, ASKED, sizeof(b->times_ns.at[0]), compare_int64);
    printf("{\"bench\":\"job_list\",\"question\":\"%s\",\"jobs\":%" PRId64 ",\"match\":%" PRId64
           ",\"p50_us\":%" PRId64 ",\"p99_us\":%" PRId64 "}\n",
           name, b->n, b->total, b->times_ns.at[ASKED / 2] / 1000,
           b->times_ns.at[ASKED * 99 / 100] / 1000);
    (void)fflush(stdout);
    json_decref(taken);
}

static void measure_all(struct job_list *b)
{
    json_t *none = json_object();

    b->begin = jobs_report_begin;
    printf("{\"bench\":\"job_list_index\",\"jobs\":%" PRId64 ",\"ms\":%" PRId64 "}\n", b->n,
           ask_once(b, none) / NS_PER_MS);
    measure(b, "newest", none);
    measure(b, "waiting", json_pack("{s:s}", "state", "waiting"));
    measure(b, "of a user", json_pack("{s:s}", "user", "user-7"));
    measure(b, "by name", json_pack("{s:s}", "sort", "name"));
    measure(b, "by gpus", json_pack("{s:s}", "sort", "-gpus"));
    measure(b, "part of a name", json_pack("{s:s}", "q", "job-77"));
    measure(b, "part of all names", json_pack("{s:s}", "q", "ob"));
    measure(b, "offset 10000", json_pack("{s:s}", "offset", "10000"));
    b->begin = ps_report_begin;
    measure(b, "mete ps", json_object());
    measure(b, "mete ps -a -n", json_pack("{s:s, s:s}", "all", "true", "namespace", "team-7"));
    measure(b, "mete ps --limit 500", json_pack("{s:s}", "limit", "500"));
}

int main(int argc, char **argv)
{
    struct job_list b = {.n = 1000000};
    struct storage_sqlite_options disk = {.is_threaded = true};
    struct store_options options = {.on_fatal = on_fatal};
    struct objects_options objects = {.random = make_random};
    struct storage *storage = NULL;

    if (argc < 2) {
        (void)fprintf(stderr, "usage: bench_job_list DIR [JOBS]\n");
        return 2;
    }
    if (argc > 2)
        fail(num_parse_int64(str_of(argv[2]), 1, 10000000, &b.n));
    b.loop = loop_linux_new();
    disk.loop = options.loop = objects.loop = b.loop;
    disk.dir = argv[1];
    fail(storage_sqlite_new(&disk, &storage));
    options.storage = storage;
    fail(store_open(&options, &b.store));
    objects.store = b.store;
    b.objects = objects_new(&objects);
    b.index = jobs_index_new(b.loop, b.objects);
    for (int64_t at = 0; at < b.n; at += OPS)
        create_some(&b, at, b.n - at < OPS ? b.n - at : OPS);
    measure_all(&b);
    jobs_index_free(b.index);
    store_free(b.store);
    objects_free(b.objects);
    storage_free(storage);
    loop_linux_free(b.loop);
    vec_done(&b.times_ns);
    return 0;
}
