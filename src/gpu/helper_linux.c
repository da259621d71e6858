/*
 * helper_linux.c - the process that calls the driver, so that no other process can hang in it
 *
 * `sample` reads commands, a line each, and answers with lines; the last one has "end", "sample" or
 * "error":
 *
 *   list      → {"driver":...,"cuda":...,"emulated":...,"count":N} {"read":I}... {"gpu":{...}}...
 *               {"end":true}
 *   sample I  → {"sample":{...},"index":I}
 *
 * `shares` measures capped shares (share_meter.h).
 *
 * `events` writes {"event":{"uuid":...,"xid":N}} for each XID. All end at the end of their input.
 */

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/num.h"
#include "gpu/gpu_watch.h"
#include "gpu/share_meter.h"

enum {
    HELPER_GPUS_MAX = 64,
    EVENT_WAIT_MS = 250
};

struct helper {
    struct gpu_driver *driver;
    bool is_skipped[HELPER_GPUS_MAX];
};

/* Writes a line. False: the reader is gone. Takes `j`. */
static bool say(json_t *j)
{
    AUTO(json_freep) json_t *line = j;
    AUTO_FREE char *text = json_format(line);

    return printf("%s\n", text) > 0 && fflush(stdout) == 0;
}

static bool say_error(struct err *problem)
{
    AUTO(err_freep) struct err *e = problem;

    return say(json_pack("{s:s, s:i}", "error", err_message(e), "code", err_http(e)));
}

/* Sets the link groups: the lowest index among gpus connected by NVLink. */
static void find_links(struct helper *h, struct gpu *gpus, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = i + 1; j < n; j++) {
            if (h->is_skipped[i] || h->is_skipped[j] || gpus[i].health != GPU_HEALTHY ||
                gpus[j].health != GPU_HEALTHY || !gpu_driver_are_linked(h->driver, i, j))
                continue;
            if (gpus[i].link_group < 0)
                gpus[i].link_group = (int)i;
            if (gpus[j].link_group < 0)
                gpus[j].link_group = gpus[i].link_group;
        }
    }
}

static void read_one(struct helper *h, unsigned index, struct gpu *g)
{
    AUTO(err_freep) struct err *e = NULL;

    *g = (struct gpu)GPU_UNKNOWN((int)index);
    if (h->is_skipped[index]) {
        g->health = GPU_NOT_ANSWERING;
        return;
    }
    e = gpu_driver_read(h->driver, index, g);
    if (!e)
        return;
    g->health = err_code(e) == ERR_UNAVAILABLE ? GPU_LOST : GPU_UNHEALTHY;
    (void)snprintf(g->health_reason, sizeof(g->health_reason), "%.100s", err_message(e));
}

static bool helper_list(struct helper *h)
{
    struct gpu_driver_info info = {0};
    struct gpu gpus[HELPER_GPUS_MAX];
    unsigned n = 0;
    struct err *e = gpu_driver_info(h->driver, &info);

    if (!e)
        e = gpu_driver_count(h->driver, &n);
    if (e)
        return say_error(e);
    if (n > HELPER_GPUS_MAX)
        n = HELPER_GPUS_MAX;
    if (!say(json_pack("{s:s, s:s, s:b, s:i}", "driver", info.driver_version, "cuda",
                       info.cuda_version, "emulated", info.is_emulated, "count", (int)n)))
        return false;
    /* First each gpu by itself, printed at once: the parent then knows which gpu hangs. */
    for (unsigned i = 0; i < n; i++) {
        read_one(h, i, &gpus[i]);
        if (!say(json_pack("{s:i}", "read", (int)i)))
            return false;
    }
    find_links(h, gpus, n);
    for (unsigned i = 0; i < n; i++) {
        if (!say(json_pack("{s:o}", "gpu", gpu_format_json(&gpus[i]))))
            return false;
    }
    return say(json_pack("{s:b}", "end", true));
}

static bool helper_sample(struct helper *h, struct str number)
{
    struct gpu_sample s = {0};
    int64_t index = 0;
    struct err *e = num_parse_int64(number, 0, HELPER_GPUS_MAX - 1, &index);

    if (!e)
        e = gpu_driver_sample(h->driver, (unsigned)index, &s);
    if (e)
        return say_error(e);
    return say(json_pack("{s:i, s:o}", "index", (int)index, "sample", gpu_sample_format_json(&s)));
}

static int serve_samples(struct helper *h)
{
    char line[64];

    while (fgets(line, sizeof(line), stdin)) {
        struct str rest = {.at = line, .size = strcspn(line, "\n")};
        struct str word = str_cut(&rest, ' ');
        bool is_heard = str_equal(word, STR("list")) ? helper_list(h)
                        : str_equal(word, STR("sample"))
                            ? helper_sample(h, rest)
                            : say_error(err_new(ERR_BAD_REQUEST, "unknown command"));

        if (!is_heard)
            return 1;
    }
    return 0;
}

/* Has the parent closed its end of our input? */
static bool is_orphaned(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&in, 1, 0) > 0;
}

static int serve_events(struct helper *h)
{
    unsigned n = 0;
    struct err *e = gpu_driver_count(h->driver, &n);

    if (e)
        return say_error(e) ? 0 : 1;
    for (unsigned i = 0; i < n && i < HELPER_GPUS_MAX; i++) {
        if (!h->is_skipped[i])
            gpu_driver_subscribe(h->driver, i);
    }
    while (!is_orphaned()) {
        char uuid[GPU_TEXT_SIZE];
        int64_t xid = -1;

        e = gpu_driver_wait(h->driver, EVENT_WAIT_MS, uuid, &xid);
        if (e)
            return say_error(e) ? 0 : 1;
        if (uuid[0] &&
            !say(json_pack("{s:{s:s, s:I}}", "event", "uuid", uuid, "xid", (json_int_t)xid)))
            return 1;
    }
    return 0;
}

int gpu_helper_main(int argc, char **argv)
{
    const char *library = getenv("METE_NVML"); /* NOLINT(concurrency-mt-unsafe): one thread */
    struct helper h = {0};
    struct err *e;
    int result;

    if (argc < 2)
        return 2;
    for (int i = 2; i < argc; i++) {
        int64_t index = 0;

        e = num_parse_int64(str_of(argv[i]), 0, HELPER_GPUS_MAX - 1, &index);
        if (e)
            return say_error(e) ? 2 : 1;
        h.is_skipped[index] = true;
    }
    e = gpu_driver_open(library && *library ? library : NULL, &h.driver);
    if (e)
        return say_error(e) ? 0 : 1;
    result = strcmp(argv[1], "events") == 0   ? serve_events(&h)
             : strcmp(argv[1], "shares") == 0 ? share_meter_serve(h.driver)
                                              : serve_samples(&h);
    gpu_driver_free(h.driver);
    return result;
}
