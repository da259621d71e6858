/* cdi.c - mete cdi: CDI files of this machine's gpus, for other container engines */

#include <stdio.h>

#include "base/file.h"
#include "base/loop_linux.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/term/output.h"
#include "gpu/gpu_watch.h"
#include "node/cdi_writer.h"

/* A driver that hangs answers at no time. */
static const int64_t cdi_patience_ns = 30 * NS_PER_SEC;

/* ---- generate ---- */

struct cdi_search {
    struct loop *loop;
    struct gpu_watch *gpus;
    bool is_late;
};

static void on_cdi_gpus(void *arg)
{
    struct cdi_search *s = arg;

    if (s->gpus && gpu_watch_is_ready(s->gpus))
        loop_linux_stop(s->loop);
}

static void on_cdi_late(void *arg)
{
    struct cdi_search *s = arg;

    s->is_late = true;
    loop_linux_stop(s->loop);
}

static void cdi_search_done(struct cdi_search *s)
{
    gpu_watch_free(s->gpus);
    if (s->loop)
        loop_linux_free(s->loop);
}

/* Asks the driver for its gpus. */
static struct err *search_gpus(struct cli *c, struct cdi_search *s)
{
    bool is_emulated = text_equal(flag_text(c->in, "gpus"), "emulated");
    const char *data = flag_text(c->in, "data");
    AUTO_FREE char *root = is_emulated ? mem_format("%s/node/gpusim/root", data) : NULL;
    AUTO_FREE char *machine = is_emulated ? mem_format("%s/node/gpusim/machine.bin", data) : NULL;
    const char *given = flag_text(c->in, "driver-root");
    struct gpu_watch_options o = {.self_path = c->self_path,
                                  .driver_root = root ? root : given,
                                  .machine = machine,
                                  .sys = "", /* the file is about NVIDIA's driver */
                                  .on_change = on_cdi_gpus,
                                  .arg = s};
    struct loop_timer *late = NULL;
    struct err *e = NULL;

    s->loop = loop_linux_new();
    o.loop = s->loop;
    late = loop_timer_new(s->loop, on_cdi_late, s);
    loop_timer_set(late, cdi_patience_ns);
    e = gpu_watch_new(&o, &s->gpus);
    if (!e)
        e = loop_linux_run(s->loop);
    loop_timer_free(late);
    if (e)
        return e;
    if (s->is_late)
        return err_new(ERR_TIMEOUT, "the driver does not answer");
    if (!gpu_watch_info(s->gpus) || !gpu_watch_root(s->gpus)) {
        cli_try(c, "mete cdi generate --driver-root DIR   where the driver lies elsewhere");
        return err_new(ERR_NOT_FOUND, "%s", gpu_watch_problem(s->gpus));
    }
    return NULL;
}

static struct err *cdi_generate(struct cli *c)
{
    const char *path = flag_text(c->in, "file");
    AUTO(cdi_search_done) struct cdi_search s = {0};
    AUTO(json_freep) json_t *file = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *dir = NULL;
    struct image_loader loader = {0};
    struct cdi_target target = {.library_dir = loader.dir, .library_dir_32 = loader.dir_32};
    const struct gpu *gpus = NULL;
    int64_t now_s = 0;
    size_t n = 0;

    if (path) {
        AUTO(err_freep) struct err *e = cdi_path_check(path);

        if (e)
            return cli_usage(c, "--file: %s", err_message(e));
    }
    if (text_equal(flag_text(c->in, "gpus"), "emulated") && flag_text(c->in, "driver-root"))
        return cli_usage(c, "--driver-root: emulated gpus have a driver of their own");
    TRY(cdi_machine_loader(&loader));
    TRY(search_gpus(c, &s));
    gpus = gpu_watch_list(s.gpus, &n);
    now_s = loop_wall_ns(s.loop) / NS_PER_SEC;
    TRY(cdi_file_make(gpus, n,
                      &(struct cdi_file_options){
                          .root = gpu_watch_root(s.gpus), .target = &target, .now_s = now_s},
                      &file));
    text = cdi_text_format(file, path ? path : ".json");
    if (!path)
        return output_write(c, str_of(text));
    dir = mem_strndup(path, (size_t)(strrchr(path, '/') - path));
    if (dir[0])
        TRY(dir_make(dir, 0755));
    TRY(file_write(path, 0644, str_of(text)));
    cli_say(c, "wrote %s: %zu names of devices", path,
            json_array_size(json_object_get(file, "devices")));
    return NULL;
}

/* ---- list ---- */

static void list_device(struct listing *l, const struct cdi_sources *all,
                        const struct cdi_source *source, const char *name)
{
    const char *kind = json_text(source->file, "kind");
    AUTO_FREE char *qualified = mem_format("%s=%s", kind, name);
    const struct cdi_source *used = NULL;
    const json_t *device = NULL;
    AUTO(err_freep) struct err *e = cdi_sources_find(all, kind, name, &used, &device);
    AUTO(json_freep) json_t *object = json_object();
    json_t *row = json_array();
    const char *state = e ? "conflict" : used == source ? "ok" : "overridden";

    json_put_text(object, "name", qualified);
    json_put_text(object, "file", source->path);
    json_put_text(object, "state", state);
    (void)json_array_append_new(row, json_string(qualified));
    (void)json_array_append_new(row, json_string(state));
    (void)json_array_append_new(row, json_string(source->path));
    listing_add(l, row, object);
}

static struct err *cdi_list(struct cli *c)
{
    static const char *const names[] = {"DEVICE", "STATE", "FILE"};
    struct cdi_sources all = {0};
    struct listing l;
    struct err *e = NULL;

    cdi_sources_read(flag_text(c->in, "root"), &all);
    listing_init(&l, "CDIDeviceList");
    l.api_version = "mete.dev/v1";
    for (size_t i = 0; i < COUNT(names); i++)
        listing_column(&l, names[i]);
    VEC_EACH (&all.list, source) {
        const json_t *device = NULL;
        size_t i = 0;

        json_array_foreach (json_object_get(source->file, "devices"), i, device)
            list_device(&l, &all, source, json_text(device, "name"));
        if (source->problem)
            cli_say(c, "%s is not used: %s", source->path, source->problem);
    }
    e = listing_print(c, &l);
    listing_done(&l);
    cdi_sources_done(&all);
    return e;
}

static struct err *cdi_run(struct cli *c)
{
    const char *word = c->in->arguments.at[0];

    if (text_equal(word, "generate"))
        return cdi_generate(c);
    if (text_equal(word, "list"))
        return cdi_list(c);
    return cli_usage(c, "cdi has no \"%s\": want generate or list", word);
}

static const char *const cdi_words[] = {"generate", "list", NULL};
static const char *const cdi_gpus[] = {"auto", "emulated", NULL};

static const struct flag cdi_flags[] = {
    {.name = "file",
     .type = FLAG_TEXT,
     .value = "FILE",
     .doc = "generate: file to write, *.json or *.yaml. Default: JSON on standard output"},
    {.name = "gpus",
     .type = FLAG_TEXT,
     .value = "WHICH",
     .values = cdi_gpus,
     .doc = "generate: auto (the GPUs of this machine), or emulated: those of --data. Default: "
            "auto",
     .fallback = "auto"},
    {.name = "data",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "generate: data directory with the emulated GPUs. Default: /var/lib/mete",
     .fallback = "/var/lib/mete"},
    {.name = "driver-root",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "generate: directory below which the GPU driver is installed. Default: /, else "
            "/run/nvidia/driver"},
    {.name = "root",
     .type = FLAG_TEXT,
     .value = "DIR",
     .doc = "list: directory below which etc/cdi and var/run/cdi are read. Default: /",
     .fallback = "/"},
    {0},
};

const struct command command_cdi = {
    .name = "cdi",
    .arguments = "generate | list",
    .summary = "write and list CDI files, by which other container engines find GPUs",
    .doc = "generate describes the GPUs and MIG instances of this machine, by index, by UUID and "
           "together (all), with the driver's\nfiles and device nodes. list shows the devices of "
           "the files in /etc/cdi and /var/run/cdi. Neither needs `mete up`;\n`mete up "
           "--cdi-file` writes the same file and keeps it up to date.",
    .examples = {{"cdi generate --file /etc/cdi/nvidia.json",
                  "writes a file for podman, Docker, containerd and CRI-O"},
                 {"cdi list", "lists all devices of this machine's CDI files"},
                 {0}},
    .flags = cdi_flags,
    .words = cdi_words,
    .groups = FLAGS_OUTPUT,
    .n_min = 1,
    .n_max = 1,
    .run = cdi_run,
};
