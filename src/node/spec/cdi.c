/* cdi.c - CDI edits for gpus, and their application */

#include "node/spec/cdi.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"
#include "gpu/gpusim_machine.h"

enum {
    NVIDIA_MAJOR = 195,
    NVIDIA_CONTROL_MINOR = 255,
};

int64_t cdi_find_major(const char *proc_devices, const char *name)
{
    struct str rest = str_of(proc_devices);

    while (rest.at && rest.size > 0) {
        struct str line = str_cut(&rest, '\n');
        int64_t major = -1;

        if (str_equal(line, STR("Block devices:")))
            return -1;
        while (line.size > 0 && *line.at == ' ') {
            line.at++;
            line.size--;
        }
        struct str number = str_cut(&line, ' ');
        struct err *e = NULL;

        if (!line.at || !str_equal(line, str_of(name)))
            continue;
        e = num_parse_int64(number, 0, 4095, &major);
        err_free(e);
        return e ? -1 : major;
    }
    return -1;
}

static void add_node(json_t *edits, const char *path, int64_t major, int64_t minor)
{
    json_t *node = json_object();

    json_put_text(node, "path", path);
    json_put_text(node, "type", "c");
    json_put_int(node, "major", major);
    json_put_int(node, "minor", minor);
    json_put_int(node, "fileMode", 0666);
    json_put_text(node, "permissions", "rw");
    (void)json_array_append_new(json_array_at(edits, "deviceNodes"), node);
}

/* Prepends our directory to a search path, once. */
static void add_path(json_t *edits, const char *name, const json_t *env)
{
    const char *old = json_text(env, name);
    AUTO_FREE char *text = NULL;

    if (old && (text_starts_with(old, CDI_GPUSIM_DIR ":") || text_equal(old, CDI_GPUSIM_DIR)))
        return;
    text = mem_format("%s=" CDI_GPUSIM_DIR "%s%s", name, old && old[0] ? ":" : "", old ? old : "");
    (void)json_array_append_new(json_array_at(edits, "env"), json_string(text));
}

static void add_gpusim(json_t *edits, const struct cdi_host *host, const json_t *env)
{
    static const char *const options[] = {"ro", "nosuid", "nodev", "rbind", "rprivate"};
    json_t *mount = json_object();

    add_node(edits, "/dev/nvidiactl", GPUSIM_DEVICE_MAJOR, GPUSIM_CONTROL_MINOR);
    add_node(edits, "/dev/nvidia-uvm", GPUSIM_DEVICE_MAJOR, GPUSIM_UVM_MINOR);
    add_node(edits, "/dev/nvidia-uvm-tools", GPUSIM_DEVICE_MAJOR, GPUSIM_UVM_TOOLS_MINOR);
    json_put_text(mount, "hostPath", host->gpusim_dir);
    json_put_text(mount, "containerPath", CDI_GPUSIM_DIR);
    json_put_text(mount, "type", "bind");
    for (size_t i = 0; i < COUNT(options); i++)
        (void)json_array_append_new(json_array_at(mount, "options"), json_string(options[i]));
    (void)json_array_append_new(json_array_at(edits, "mounts"), mount);
    add_path(edits, "PATH", env);
    add_path(edits, "LD_LIBRARY_PATH", env);
}

static void add_nvidia(json_t *edits, const struct cdi_host *host)
{
    add_node(edits, "/dev/nvidiactl", NVIDIA_MAJOR, NVIDIA_CONTROL_MINOR);
    if (host->uvm_major >= 0) {
        add_node(edits, "/dev/nvidia-uvm", host->uvm_major, 0);
        add_node(edits, "/dev/nvidia-uvm-tools", host->uvm_major, 1);
    }
}

/* Adds the variable that tells programs their gpus. */
static void add_variable(json_t *edits, const struct gpu *const *gpus, size_t n)
{
    AUTO(buf_done) struct buf text = {0};

    buf_add_text(&text, CDI_VISIBLE "=");
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s%s", i > 0 ? "," : "", gpus[i]->uuid);
    (void)json_array_append_new(json_array_at(edits, "env"), json_string(text.at));
}

json_t *cdi_gpu_edits(const struct gpu *const *gpus, size_t n, const struct cdi_host *host,
                      const json_t *env)
{
    json_t *edits = json_object();
    bool is_emulated = n > 0 && gpus[0]->is_emulated && host->gpusim_dir;

    if (n == 0)
        return edits;
    for (size_t i = 0; i < n; i++) {
        char path[32];

        (void)snprintf(path, sizeof(path), "/dev/nvidia%d", gpus[i]->minor);
        add_node(edits, path, is_emulated ? GPUSIM_DEVICE_MAJOR : NVIDIA_MAJOR, gpus[i]->minor);
    }
    if (is_emulated)
        add_gpusim(edits, host, env);
    else
        add_nvidia(edits, host);
    add_variable(edits, gpus, n);
    return edits;
}

/* ---- application ---- */

void cdi_put_env(json_t *list, const char *variable)
{
    const char *equals = strchr(variable, '=');
    const struct str name = {variable, equals ? (size_t)(equals - variable) + 1 : strlen(variable)};
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item) {
        const char *text = json_string_value(item);

        if (text && str_starts_with(str_of(text), name)) {
            (void)json_array_set_new(list, i, json_string(variable));
            return;
        }
    }
    (void)json_array_append_new(list, json_string(variable));
}

static void remove_where(json_t *list, const char *key, const char *value)
{
    for (size_t i = json_array_size(list); i > 0; i--)
        if (text_equal(json_text(json_array_get(list, i - 1), key), value))
            (void)json_array_remove(list, i - 1);
}

static void put_or_drop(json_t *to, const char *name, const json_t *from)
{
    const json_t *value = json_object_get(from, name);

    if (value)
        (void)json_object_set_new(to, name, json_deep_copy(value));
}

static struct err *apply_device(const json_t *node, json_t *spec)
{
    static const char *const members[] = {"path",     "type", "major", "minor",
                                          "fileMode", "uid",  "gid"};
    json_t *linux_part = json_object_at(spec, "linux");
    json_t *devices = json_array_at(linux_part, "devices");
    json_t *rules = json_array_at(json_object_at(linux_part, "resources"), "devices");
    const char *path = json_text(node, "path");
    const char *type = json_text(node, "type");
    const char *permissions = json_text(node, "permissions");
    json_t *device = NULL;
    json_t *rule = NULL;

    if (!path || !type || !json_is_integer(json_object_get(node, "major")) ||
        !json_is_integer(json_object_get(node, "minor")))
        return err_new(ERR_INVALID, "device node '%s' lacks type, major or minor",
                       path ? path : "");
    device = json_object();
    for (size_t i = 0; i < COUNT(members); i++)
        put_or_drop(device, members[i], node);
    remove_where(devices, "path", path);
    (void)json_array_append_new(devices, device);
    rule = json_object();
    json_put_bool(rule, "allow", true);
    put_or_drop(rule, "type", node);
    put_or_drop(rule, "major", node);
    put_or_drop(rule, "minor", node);
    json_put_text(rule, "access",
                  !permissions                      ? "rwm"
                  : text_equal(permissions, "none") ? ""
                                                    : permissions);
    (void)json_array_append_new(rules, rule);
    return NULL;
}

static struct err *apply_mount(const json_t *edit, json_t *spec)
{
    json_t *mounts = json_array_at(spec, "mounts");
    const char *to = json_text(edit, "containerPath");
    const char *type = json_text(edit, "type");
    json_t *mount = NULL;

    if (!to || !json_text(edit, "hostPath"))
        return err_new(ERR_INVALID, "mount '%s' lacks hostPath or containerPath", to ? to : "");
    mount = json_object();
    json_put_text(mount, "destination", to);
    json_put_text(mount, "type", type ? type : "bind");
    json_put_text(mount, "source", json_text(edit, "hostPath"));
    put_or_drop(mount, "options", edit);
    remove_where(mounts, "destination", to);
    (void)json_array_append_new(mounts, mount);
    return NULL;
}

static void apply_gid(const json_t *gid, json_t *spec)
{
    json_t *gids =
        json_array_at(json_object_at(json_object_at(spec, "process"), "user"), "additionalGids");
    const json_t *item = NULL;
    size_t i = 0;

    if (json_integer_value(gid) == 0)
        return;
    json_array_foreach (gids, i, item)
        if (json_integer_value(item) == json_integer_value(gid))
            return;
    (void)json_array_append_new(gids, json_deep_copy(gid));
}

static size_t path_elements(const json_t *mount)
{
    const char *path = json_text(mount, "destination");
    size_t n = 0;

    for (; path && *path; path++)
        n += *path == '/' && path[1] != '/' && path[1] != '\0';
    return n;
}

void cdi_sort_mounts(json_t *spec)
{
    json_t *mounts = json_array_at(spec, "mounts");

    /* Insertion sort is stable, and fast enough for a dozen mounts. */
    for (size_t i = 1; i < json_array_size(mounts); i++) {
        json_t *mount = json_incref(json_array_get(mounts, i));
        size_t depth = path_elements(mount);
        size_t at = i;

        while (at > 0 && path_elements(json_array_get(mounts, at - 1)) > depth)
            at--;
        (void)json_array_remove(mounts, i);
        (void)json_array_insert_new(mounts, at, mount);
    }
}

struct err *cdi_apply(const json_t *edits, json_t *spec)
{
    const json_t *item = NULL;
    const char *key = NULL;
    size_t i = 0;

    json_object_foreach ((json_t *)(uintptr_t)edits, key, item) {
        if (!text_equal(key, "env") && !text_equal(key, "deviceNodes") &&
            !text_equal(key, "mounts") && !text_equal(key, "additionalGids"))
            return err_new(ERR_INVALID, "container edit '%s' is not supported", key);
    }
    json_array_foreach (json_object_get(edits, "env"), i, item)
        if (json_is_string(item))
            cdi_put_env(json_array_at(json_object_at(spec, "process"), "env"),
                        json_string_value(item));
    json_array_foreach (json_object_get(edits, "deviceNodes"), i, item)
        TRY(apply_device(item, spec));
    json_array_foreach (json_object_get(edits, "mounts"), i, item)
        TRY(apply_mount(item, spec));
    cdi_sort_mounts(spec);
    json_array_foreach (json_object_get(edits, "additionalGids"), i, item)
        apply_gid(item, spec);
    return NULL;
}
