/* gpus.c - mete gpus: the table of gpus, and how they are given */

#include <inttypes.h>

#include "base/mem.h"
#include "cli/admin/gpus_reset.h"
#include "cli/admin/gpus_set.h"
#include "cli/admin/gpus_xids.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/term/output.h"
#include "model/gpu_ask.h"

enum {
    HOLDERS_SHOWN = 3
};

static json_t *number_text(const json_t *object, const char *key, int64_t divisor, const char *unit)
{
    int64_t n = json_int(object, key, -1);
    AUTO_FREE char *text = n >= 0 ? mem_format("%" PRId64 "%s", n / divisor, unit) : NULL;

    return json_text_new(text);
}

static json_t *bytes_of(const json_t *object, const char *key)
{
    int64_t n = json_int(object, key, -1);

    return n >= 0 ? json_integer(n) : json_null();
}

/* Adds "job 12 train", and of a part " (0.5,40Gi)", " (shared)", " (mig-1g.10gb)". */
static void add_holder(struct buf *b, const json_t *holder)
{
    const char *device = json_text(holder, "device");
    int64_t id = json_int(holder, "jobId", -1);
    struct device d = {0};
    AUTO(err_freep) struct err *e = device ? device_parse(device, &d) : NULL;
    struct gpu_ask part = {.count = 1};
    char text[GPU_ASK_TEXT_SIZE];
    char memory[SIZE_TEXT_SIZE];

    if (id >= 0)
        buf_printf(b, "job %" PRId64 " ", id);
    buf_add_text(b, text_or_empty(json_text(holder, "pod")));
    if (!device || e || d.kind == DEVICE_WHOLE)
        return;
    part.kind = d.kind;
    part.milli = d.milli;
    memcpy(part.profile, d.profile, sizeof(part.profile));
    gpu_ask_format(&part, text);
    size_format(d.bytes, memory);
    buf_printf(b, " (%s%s%s)", text, d.bytes > 0 ? "," : "", d.bytes > 0 ? memory : "");
}

static json_t *holder_of(const json_t *status)
{
    const json_t *holders = json_object_get(status, "holders");
    size_t n = json_array_size(holders);
    AUTO(buf_done) struct buf b = {0};

    if (n == 0)
        return json_string("free");
    for (size_t i = 0; i < n && i < HOLDERS_SHOWN; i++) {
        if (i > 0)
            buf_add_text(&b, ", ");
        add_holder(&b, json_array_get(holders, i));
    }
    if (n > HOLDERS_SHOWN)
        buf_printf(&b, " and %zu more", n - HOLDERS_SHOWN);
    return json_string(b.at);
}

/* The user of all holders; "several". */
static json_t *user_of(const json_t *status)
{
    const json_t *holders = json_object_get(status, "holders");
    const char *user = json_text(json_array_get(holders, 0), "user");

    for (size_t i = 1; i < json_array_size(holders); i++)
        if (!text_equal(user, json_text(json_array_get(holders, i), "user")))
            return json_string("several");
    return json_text_new(user);
}

/* "hardware", ...; holders of one gpu have the same. */
static json_t *isolation_of(const json_t *status)
{
    return json_text_new(json_text_at(status, "holder", "isolation", NULL));
}

static json_t *model_of(const json_t *spec)
{
    const char *product = json_text(spec, "product");
    const char *name = product && product[0] ? product : json_text(spec, "model");
    AUTO_FREE char *text = mem_format("%s%s", name ? name : "",
                                      json_bool(spec, "emulated", false) ? " (emulated)" : "");

    return json_string(text);
}

/* ", CPX/NPS4" of a gpu of AMD. The caller frees the text. */
static char *partitions_of(const json_t *spec)
{
    const char *compute = json_text_filled(spec, "computePartition");
    const char *memory = json_text_filled(spec, "memoryPartition");

    if (!compute && !memory)
        return mem_strdup("");
    return mem_format(", %s%s%s", compute ? compute : "", compute && memory ? "/" : "",
                      memory ? memory : "");
}

/* "whole", "4 replicas", "7 slices"; with "flexible" if the scheduler creates slices. */
static json_t *mode_of(const json_t *spec)
{
    AUTO_FREE char *partitions = partitions_of(spec);
    const char *mode = json_text(spec, "mode");
    size_t slices = json_array_size(json_object_get(spec, "slices"));
    const char *flexible = json_bool(spec, "flexible", false) ? ", flexible" : "";
    AUTO_FREE char *text =
        text_equal(mode, "replicas")
            ? mem_format("%" PRId64 " %s", json_int(spec, "replicas", 0),
                         json_bool(spec, "mps", false) ? "MPS clients" : "replicas")
        : text_equal(mode, "slices")
            ? mem_format("%zu slice%s%s", slices, slices == 1 ? "" : "s", flexible)
            : mem_format("whole%s%s", flexible, partitions);

    return json_string(text);
}

static json_t *known_number(const json_t *object, const char *key)
{
    int64_t n = json_int(object, key, -1);

    return n >= 0 ? json_integer(n) : json_null();
}

/* "on", "off", or null for a gpu without such a switch. */
static json_t *switch_of(const json_t *object, const char *key)
{
    int64_t n = json_int(object, key, -1);

    return n < 0 ? json_null() : json_string(n == 1 ? "on" : "off");
}

/* "healthy", "healthy, 1 slice not" */
static json_t *health_of(const json_t *spec, const json_t *status)
{
    const char *health = json_text(status, "health");
    AUTO_FREE char *text = NULL;
    const json_t *slice;
    size_t n = 0;
    size_t i;

    json_array_foreach (json_object_get(spec, "slices"), i, slice)
        n += json_text(slice, "health") != NULL;
    if (!health || n == 0)
        return json_text_new(health);
    text = mem_format("%s, %zu slice%s not", health, n, n == 1 ? "" : "s");
    return json_string(text);
}

/* Why the gpu or a slice of it is out of service, or is not given as wanted. */
static json_t *why_of(const json_t *spec, const json_t *status)
{
    const char *health = json_text(status, "healthReason");
    const json_t *slice;
    size_t i;

    json_array_foreach (json_object_get(spec, "slices"), i, slice)
        if ((!health || !*health) && json_text(slice, "healthReason"))
            health = json_text(slice, "healthReason");
    return json_text_new(health && health[0] ? health : json_text(spec, "modeProblem"));
}

/* "1410/1980MHz": the present and the highest clock. */
static json_t *clock_of(const json_t *spec, const json_t *sample)
{
    int64_t now = json_int(sample, "smClockMhz", -1);
    int64_t most = json_int(spec, "smClockMaxMhz", -1);
    AUTO_FREE char *text = now >= 0 && most >= 0
                               ? mem_format("%" PRId64 "/%" PRId64 "MHz", now, most)
                           : most >= 0 ? mem_format("-/%" PRId64 "MHz", most)
                                       : NULL;

    return json_text_new(text);
}

/* Adds what rarely changes: the cells of the wide form. */
static void add_inventory(json_t *row, const json_t *spec, const json_t *sample)
{
    static const char *const texts[] = {"family", "computeCapability", "driverVersion",
                                        "cudaVersion", "cpus"};

    for (size_t i = 0; i < COUNT(texts); i++)
        (void)json_array_append_new(row, json_text_new(json_text(spec, texts[i])));
    (void)json_array_append_new(row, bytes_of(spec, "memoryUsableBytes"));
    (void)json_array_append_new(row, clock_of(spec, sample));
    (void)json_array_append_new(row, number_text(spec, "powerLimitMilliwatts", 1000, "W"));
}

static json_t *gpus_row(const json_t *gpu)
{
    const json_t *spec = json_object_get(gpu, "spec");
    const json_t *status = json_object_get(gpu, "status");
    const json_t *sample = json_object_get(status, "sample");
    json_t *row = json_array();

    (void)json_array_append_new(row, json_text_new(json_text(spec, "node")));
    (void)json_array_append_new(row, json_int(spec, "index", -1) >= 0
                                         ? json_integer(json_int(spec, "index", -1))
                                         : json_null());
    (void)json_array_append_new(row, model_of(spec));
    (void)json_array_append_new(row, mode_of(spec));
    (void)json_array_append_new(row, health_of(spec, status));
    (void)json_array_append_new(row, holder_of(status));
    (void)json_array_append_new(row, user_of(status));
    (void)json_array_append_new(row, isolation_of(status));
    (void)json_array_append_new(row, number_text(sample, "utilizationPct", 1, "%"));
    (void)json_array_append_new(row, bytes_of(sample, "memoryUsedBytes"));
    (void)json_array_append_new(row, bytes_of(spec, "memoryBytes"));
    (void)json_array_append_new(row, number_text(sample, "temperatureC", 1, "C"));
    (void)json_array_append_new(row, number_text(sample, "powerMilliwatts", 1000, "W"));
    (void)json_array_append_new(row, json_text_new(json_text(spec, "uuid")));
    (void)json_array_append_new(row, json_text_new(json_text(spec, "pci")));
    (void)json_array_append_new(row, known_number(spec, "numaNode"));
    (void)json_array_append_new(row, known_number(spec, "links"));
    (void)json_array_append_new(row, switch_of(spec, "migMode"));
    (void)json_array_append_new(row, switch_of(spec, "eccMode"));
    add_inventory(row, spec, sample);
    (void)json_array_append_new(row, why_of(spec, status));
    return row;
}

static void gpus_columns(struct listing *l)
{
    static const char *const names[] = {
        "NODE",       "#GPU",  "MODEL",  "MODE",     "HEALTH",     "HELD BY",       "!USER",
        "!ISOLATION", "#LOAD", "%USED",  "%MEMORY",  "#TEMP",      "#POWER",        "!UUID",
        "!PCI",       "!NUMA", "!LINKS", "!MIG",     "!ECC",       "!FAMILY",       "!COMPUTE",
        "!DRIVER",    "!CUDA", "!CPUS",  "!%USABLE", "!#SM CLOCK", "!#POWER LIMIT", "!WHY"};

    for (size_t i = 0; i < COUNT(names); i++)
        listing_column(l, names[i]);
}

/* Says what `gpus set` cannot change. */
static void tell_read_only(struct cli *c, const struct listing *l)
{
    const json_t *gpu;
    size_t i;

    json_array_foreach (l->objects, i, gpu) {
        AUTO_FREE char *partitions = partitions_of(json_object_get(gpu, "spec"));

        if (!*partitions)
            continue;
        cli_say(c, "computePartition and memoryPartition of AMD's GPUs are read only: `amd-smi set "
                   "--compute-partition` and `--memory-partition` change them");
        return;
    }
}

/* Unknown numbers are empty cells: says why. */
static void tell_unknown(struct cli *c, const struct listing *l)
{
    size_t n = json_array_size(l->objects);
    size_t n_unknown = 0;
    json_t *gpu;
    size_t i;

    json_array_foreach (l->objects, i, gpu)
        n_unknown += !json_is_object(json_at(gpu, "status", "sample", NULL));
    if (n_unknown > 0)
        cli_say(c, "load of %zu of %zu GPUs is unknown: no sample of them in the last 30 s",
                n_unknown, n);
}

static struct err *gpus_run(struct cli *c)
{
    AUTO(session_freep) struct session *s = NULL;
    AUTO(json_freep) json_t *list = NULL;
    struct listing l;
    struct err *e = NULL;
    json_t *gpu;
    size_t i;

    if (c->in->arguments.n > 0 && text_equal(c->in->arguments.at[0], "set"))
        return gpus_set(c);
    if (c->in->arguments.n > 0 && text_equal(c->in->arguments.at[0], "reset"))
        return gpus_reset(c);
    if (c->in->arguments.n > 0 && text_equal(c->in->arguments.at[0], "xids"))
        return gpus_xids(c);
    if (c->in->arguments.n > 0)
        return cli_usage(c, "gpus: \"%s\": want set, reset, xids, or no word",
                         c->in->arguments.at[0]);
    TRY(session_open(c, &s));
    TRY(session_get_gpus(s, &list));
    listing_init(&l, "GpuList");
    l.prefix = "gpu";
    gpus_columns(&l);
    json_array_foreach (json_object_get(list, "items"), i, gpu) {
        json_put_text(gpu, "apiVersion", "mete.dev/v1");
        json_put_text(gpu, "kind", "Gpu");
        if (!flag_switch(c->in, "free") || !json_at(gpu, "status", "holder", "pod", NULL))
            listing_add(&l, gpus_row(gpu), gpu);
    }
    if (json_array_size(l.objects) == 0 && output_format_of(c->in) == OUTPUT_TABLE)
        cli_say(c, flag_switch(c->in, "free") ? "no GPU is free"
                                              : "there are no GPUs; for a trial with emulated "
                                                "GPUs: mete up --gpus emulated:8xH100");
    else
        e = listing_print(c, &l);
    if (!e && output_format_of(c->in) == OUTPUT_TABLE) {
        tell_unknown(c, &l);
        tell_read_only(c, &l);
    }
    listing_done(&l);
    return e;
}

static const struct flag gpus_flags[] = {
    {.name = "free", .type = FLAG_SWITCH, .doc = "only GPUs without a holder"},
    {.name = "mode",
     .type = FLAG_TEXT,
     .value = "MODE",
     .doc = "of set: whole, replicas=N, replicas=N,renamed, mps=N, slices=PROFILE:COUNT,..., "
            "flexible, or "
            "default (as configured)"},
    {.name = "dry-run",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "of xids: the table as this file would change it; changes nothing"},
    {0},
};

static const char *const gpus_words[] = {"set", "reset", "xids", NULL};

const struct command command_gpus = {
    .name = "gpus",
    .arguments = "[set NODE|NODE/GPU... | reset NODE/GPU | xids [CODE...]]",
    .summary = "list GPUs: mode, health, holder, utilization; set how they are given; reset one",
    .doc =
        "gpus set changes how GPUs are given to pods: whole, in replicas (time-slicing) or in "
        "slices (MIG). A GPU is named by its index or its UUID. A GPU that pods hold changes "
        "when they have ended; -o wide says what it waits for. docs/gpus.md explains the modes.\n"
        "gpus reset resets a drained or sick GPU that no pod holds, by the driver's nvidia-smi; "
        "then "
        "the GPU is checked.\n"
        "gpus xids prints what the driver's errors (XIDs) mean and do on this machine, of codes "
        "also what they do together. DATA/xids.yaml changes the table: docs/health.md.",
    .examples = {{"gpus", "lists every GPU"},
                 {"gpus set gpu-01/3 --mode replicas=4", "gives GPU 3 to up to four pods at once"},
                 {"gpus reset gpu-01/gpu3", "resets a sick GPU; an Event tells the result"},
                 {"gpus xids 48 63 94", "says what these errors of one GPU lead to"},
                 {0}},
    .words = gpus_words,
    .flags = gpus_flags,
    .groups = FLAGS_SERVER | FLAGS_OUTPUT,
    .n_max = SIZE_MAX,
    .run = gpus_run,
};
