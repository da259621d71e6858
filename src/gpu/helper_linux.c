/*
 * helper_linux.c - the process that calls the driver, so that no other process can hang in it
 *
 * The environment says where: METE_DRIVER_ROOT and METE_GPUSIM_MACHINE for NVIDIA's driver,
 * METE_SYSFS for the directory /sys, where AMD's and Intel's gpus are; without it they are not
 * looked for.
 *
 * `sample` reads commands, a line each, and answers with lines; the last one has "end", "sample" or
 * "error":
 *
 *   list      → {"driver":...,"cuda":...,"emulated":...,"count":N} {"read":I}... {"gpu":{...}}...
 *               {"end":true}
 *   sample I  → {"sample":[...],"slices":[{"uuid":...,"sample":[...]}...],"uses":[{...}...],
 *               "index":I}: of the gpu, of its slices (values in the order of enum gpu_field), and
 *               of the containers on them (gpu_use.h)
 *
 * Before the last line, {"root":{...}} tells the driver's files (driver_root.h): with the first
 * list, and whenever the driver's version, the machine's device numbers or the capabilities of MIG
 * instances have changed, at the latest with the next round of samples.
 *
 * `partition UUID` changes MIG instances (partition_serve.h).
 *
 * `shares` measures capped shares (share_meter.h).
 *
 * `check UUID` writes {"ok":true} if the gpu computes (gpu_check.h).
 *
 * `reset UUID` becomes the driver's nvidia-smi, which resets the gpu (gpu_reset.h).
 *
 * `events` writes {"event":{"uuid":...,"xid":N,"instance":I}} for each XID; I is the GPU instance
 * that the driver names, or -1. All end at the end of their input.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/num.h"
#include "gpu/driver_root.h"
#include "gpu/gpu_check.h"
#include "gpu/gpu_readers.h"
#include "gpu/gpu_reset.h"
#include "gpu/gpu_use.h"
#include "gpu/gpu_watch.h"
#include "gpu/mps_process.h"
#include "gpu/partition_serve.h"
#include "gpu/share_meter.h"

enum {
    HELPER_GPUS_MAX = 64,
    EVENT_WAIT_MS = 250,
    DRIVER_WAIT_MS = 30000 /* until the next look for a driver of NVIDIA */
};

struct helper {
    struct gpu_driver *driver; /* NVIDIA's; NULL: none */
    struct gpu_readers readers;
    const char *root;    /* directory of the driver root */
    const char *machine; /* file of the emulated machine; NULL: a real driver */
    char *told_version;  /* of the root that was told last; NULL: none */
    char *told_numbers;  /* driver_numbers then */
    bool is_skipped[HELPER_GPUS_MAX];
    int64_t sampled; /* index of the gpu that was sampled last */
    struct gpu_reading reading;
    struct gpu_use uses[GPU_PROCESSES_MAX];
};

static const char container_root[] = "/run/nvidia/driver";
static const char nvml_name[] = "libnvidia-ml.so.1";

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

/* Tells the driver's files, unless nothing has changed since they were told. False: the reader is
 * gone. */
static bool tell_root(struct helper *h)
{
    AUTO(driver_root_freep) struct driver_root *root = NULL;
    AUTO_FREE char *numbers = driver_numbers("");
    struct gpu_driver_info info = {0};
    AUTO(err_freep) struct err *e = h->driver ? gpu_driver_info(h->driver, &info) : NULL;

    if (e || !h->driver ||
        (text_equal(h->told_version, info.driver_version) && text_equal(h->told_numbers, numbers)))
        return true;
    e = driver_root_read(&(struct driver_root_options){.dir = h->root,
                                                       .version = info.driver_version,
                                                       .machine = h->machine},
                         &root);
    if (e)
        return true; /* the root was there when the driver's library was opened: ask again later */
    free(h->told_version);
    free(h->told_numbers);
    h->told_version = mem_strdup(info.driver_version);
    h->told_numbers = TAKE(numbers);
    return say(json_pack("{s:o}", "root", driver_root_format_json(root)));
}

/* May the driver be asked about the gpu's links? */
static bool helper_answers(const struct helper *h, const struct gpu *g, unsigned index)
{
    return !h->is_skipped[index] && g->health == GPU_HEALTHY;
}

/* Sets how each gpu reaches the others. */
static void find_peers(struct helper *h, struct gpu *gpus, unsigned n)
{
    char connections[HELPER_GPUS_MAX][HELPER_GPUS_MAX][GPU_CONNECTION_SIZE] = {0};

    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = i + 1; j < n; j++) {
            if (!helper_answers(h, &gpus[i], i) || !helper_answers(h, &gpus[j], j))
                continue;
            gpu_readers_connection(&h->readers, i, j, connections[i][j]);
            memcpy(connections[j][i], connections[i][j], GPU_CONNECTION_SIZE);
        }
    }
    for (unsigned i = 0; i < n; i++)
        gpu_peers_format((const char(*)[GPU_CONNECTION_SIZE])connections[i], n, gpus[i].peers);
}

/* Sets the link groups: the lowest index among connected gpus. */
static void find_links(struct helper *h, struct gpu *gpus, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = i + 1; j < n; j++) {
            if (!helper_answers(h, &gpus[i], i) || !helper_answers(h, &gpus[j], j) ||
                !gpu_readers_are_linked(&h->readers, i, j))
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
    e = gpu_readers_read(&h->readers, index, g);
    if (!e)
        return;
    g->health = err_code(e) == ERR_UNAVAILABLE ? GPU_LOST : GPU_UNHEALTHY;
    (void)snprintf(g->health_reason, sizeof(g->health_reason), "%.100s", err_message(e));
}

static const char *variable(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): one thread */

    return value && *value ? value : NULL;
}

/*
 * Opens NVIDIA's driver of a root. Without a given root, the driver is in `/`, where the loader
 * finds its library, or in the root of a driver's container.
 */
static struct err *open_nvidia(struct helper *h)
{
    const char *given = variable("METE_DRIVER_ROOT");
    AUTO_FREE char *library = NULL;

    h->root = given ? given : "/";
    if (!given) {
        struct err *e = gpu_driver_open(NULL, &h->driver);

        library = e ? driver_root_find_library(container_root, nvml_name) : NULL;
        if (!library)
            return e;
        err_free(e);
        h->root = container_root;
        return gpu_driver_open(library, &h->driver);
    }
    library = driver_root_find_library(given, nvml_name);
    if (!library)
        return err_new(ERR_NOT_FOUND, "no nvidia driver here: no libnvidia-ml.so.1 in %s", given);
    return gpu_driver_open(library, &h->driver);
}

/* Opens the driver that was not there before, if it is there now. */
static void look_for_nvidia(struct helper *h)
{
    struct gpu_readers others = h->readers;
    struct err *e = h->driver ? NULL : open_nvidia(h);

    err_free(e);
    if (!h->driver || others.n == 0 || others.at[0].type == &gpu_reader_nvml)
        return;
    h->readers = (struct gpu_readers){0};
    gpu_readers_add(&h->readers, &gpu_reader_nvml, h->driver);
    for (size_t i = 0; i < others.n; i++)
        gpu_readers_add(&h->readers, others.at[i].type, others.at[i].state);
}

/* Opens the drivers of all vendors. ERR_NOT_FOUND: the machine has no gpu. */
static struct err *helper_open(struct helper *h)
{
    const char *sys = variable("METE_SYSFS");
    struct err *e = open_nvidia(h);
    unsigned n = 0;

    if (!e)
        gpu_readers_add(&h->readers, &gpu_reader_nvml, h->driver);
    if (!sys)
        return e;
    gpu_readers_add(&h->readers, &gpu_reader_amd, amd_reader_new(sys, NULL));
    gpu_readers_add(&h->readers, &gpu_reader_intel, intel_reader_new(sys, NULL));
    if (!e)
        return NULL;
    err_free(gpu_readers_count(&h->readers, &n));
    if (n == 0)
        return e;
    err_free(e);
    return NULL;
}

static bool helper_list(struct helper *h)
{
    struct gpu_driver_info info = {0};
    struct gpu gpus[HELPER_GPUS_MAX];
    unsigned n = 0;
    struct err *e;

    look_for_nvidia(h);
    e = h->driver ? gpu_driver_info(h->driver, &info) : NULL;
    if (!e)
        e = gpu_readers_count(&h->readers, &n);
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
    find_peers(h, gpus, n);
    for (unsigned i = 0; i < n; i++) {
        if (!say(json_pack("{s:o}", "gpu", gpu_format_json(&gpus[i]))))
            return false;
    }
    return tell_root(h) && say(json_pack("{s:b}", "end", true));
}

/* The answer of a sample. */
static json_t *reading_tree(struct helper *h, int64_t index)
{
    const struct gpu_reading *r = &h->reading;
    size_t n = gpu_uses_of(r, gpu_use_home, h->uses);
    json_t *o = json_object();
    json_t *slices = json_array_at(o, "slices");
    json_t *uses = json_array_at(o, "uses");

    json_put_int(o, "index", index);
    json_put(o, "sample", gpu_sample_format_values(&r->gpu));
    for (size_t i = 0; i < r->n_slices; i++) {
        json_t *slice = json_object();

        json_put_text(slice, "uuid", r->slices[i].uuid);
        json_put(slice, "sample", gpu_sample_format_values(&r->slices[i]));
        (void)json_array_append_new(slices, slice); /* a fresh object: cannot fail */
    }
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(uses, gpu_use_format_json(&h->uses[i])); /* likewise */
    return o;
}

static bool helper_sample(struct helper *h, struct str number)
{
    int64_t index = 0;
    bool is_round;
    struct err *e = num_parse_int64(number, 0, HELPER_GPUS_MAX - 1, &index);

    if (!e)
        e = gpu_readers_sample(&h->readers, (unsigned)index, &h->reading);
    if (e)
        return say_error(e);
    is_round = index <= h->sampled; /* the gpus are sampled in their order */
    h->sampled = index;
    if (is_round && !tell_root(h))
        return false;
    return say(reading_tree(h, index));
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

/* Does the parent close its end of our input within the time? */
static bool is_orphaned(int wait_ms)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

    return poll(&in, 1, wait_ms) > 0;
}

static int serve_events(struct helper *h)
{
    unsigned n = 0;
    struct err *e;

    for (; !h->driver; look_for_nvidia(h)) /* only NVIDIA's driver has events that Mete reads */
        if (is_orphaned(DRIVER_WAIT_MS))
            return 0;
    e = gpu_driver_count(h->driver, &n);
    if (e)
        return say_error(e) ? 0 : 1;
    for (unsigned i = 0; i < n && i < HELPER_GPUS_MAX; i++) {
        if (!h->is_skipped[i])
            gpu_driver_subscribe(h->driver, i);
    }
    while (!is_orphaned(0)) {
        struct gpu_driver_event event = {0};

        e = gpu_driver_wait(h->driver, EVENT_WAIT_MS, &event);
        if (e)
            return say_error(e) ? 0 : 1;
        if (event.uuid[0] &&
            !say(json_pack("{s:{s:s, s:I, s:i}}", "event", "uuid", event.uuid, "xid",
                           (json_int_t)event.xid, "instance", event.instance)))
            return 1;
    }
    return 0;
}

/* Checks the gpu that CUDA_VISIBLE_DEVICES shows. */
static int serve_check(void)
{
    static const char cuda_name[] = "libcuda.so.1";
    const char *given = variable("METE_DRIVER_ROOT");
    AUTO_FREE char *library = driver_root_find_library(given ? given : container_root, cuda_name);
    struct err *e = given && !library ? NULL : gpu_check_run(library);

    return (e ? say_error(e) : say(json_pack("{s:b}", "ok", true))) ? 0 : 1;
}

/* Resets the gpu by the program beside the library that NVML is loaded from. */
static int serve_reset(const struct helper *h, const char *uuid)
{
    const char *given = variable("METE_DRIVER_ROOT");
    AUTO_FREE char *contained = given ? NULL : driver_root_find_library(container_root, nvml_name);
    AUTO_FREE char *own = given ? NULL : driver_root_find_library("/", nvml_name);

    (void)say_error(gpu_reset_exec(given               ? given
                                   : own || !contained ? "/"
                                                       : container_root,
                                   h->machine != NULL, uuid));
    return 1;
}

int gpu_helper_main(int argc, char **argv)
{
    static struct helper h;
    bool is_partition;
    struct err *e;
    int result;

    h.machine = variable("METE_GPUSIM_MACHINE");
    if (argc < 2)
        return 2;
    if (strcmp(argv[1], "mps") == 0)
        return argc < 5 ? 2
                        : mps_process_exec(&(struct mps_exec){.program = argv[2],
                                                              .dir = argv[3],
                                                              .root = argv[4],
                                                              .is_daemon = argc > 5});
    if (strcmp(argv[1], "check") == 0)
        return serve_check();
    if (strcmp(argv[1], "reset") == 0)
        return argc == 3 ? serve_reset(&h, argv[2]) : 2;
    is_partition = strcmp(argv[1], "partition") == 0 && argc == 3;
    for (int i = 2; i < argc && !is_partition; i++) {
        int64_t index = 0;

        e = num_parse_int64(str_of(argv[i]), 0, HELPER_GPUS_MAX - 1, &index);
        if (e)
            return say_error(e) ? 2 : 1;
        h.is_skipped[index] = true;
    }
    e = helper_open(&h);
    if (e)
        return say_error(e) ? 0 : 1;
    result = strcmp(argv[1], "events") == 0   ? serve_events(&h)
             : strcmp(argv[1], "shares") == 0 ? share_meter_serve(h.driver)
             : is_partition                   ? partition_serve(h.driver, argv[2])
                                              : serve_samples(&h);
    gpu_readers_done(&h.readers);
    gpu_driver_free(h.driver);
    free(h.told_version);
    free(h.told_numbers);
    return result;
}
