/* cdi.c - CDI edits for gpus, and their application */

#include "node/spec/cdi.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "node/image/host_driver.h"
#include "node/spec/share_edits.h"

static void add_node(json_t *edits, const char *path, int64_t major, int64_t minor)
{
    json_t *nodes = json_array_at(edits, "deviceNodes");
    const json_t *known = NULL;
    json_t *node = NULL;
    size_t i = 0;

    json_array_foreach (nodes, i, known)
        if (text_equal(json_text(known, "path"), path))
            return; /* two instances of one gpu */
    node = json_object();
    json_put_text(node, "path", path);
    json_put_text(node, "type", "c");
    json_put_int(node, "major", major);
    json_put_int(node, "minor", minor);
    json_put_int(node, "fileMode", 0666);
    json_put_text(node, "permissions", "rw");
    (void)json_array_append_new(nodes, node);
}

/* ---- files ---- */

void cdi_add_mount(json_t *edits, const char *from, const char *to, const char *type,
                   const char *const *options)
{
    json_t *mount = json_object();

    json_put_text(mount, "hostPath", from);
    json_put_text(mount, "containerPath", to);
    json_put_text(mount, "type", type);
    for (; *options; options++)
        (void)json_array_append_new(json_array_at(mount, "options"), json_string(*options));
    (void)json_array_append_new(json_array_at(edits, "mounts"), mount);
}

const char *cdi_machine_path(const struct cdi_target *target, const char *path)
{
    size_t size = target->machine_root ? strlen(target->machine_root) : 0;

    return size > 0 && text_starts_with(path, target->machine_root) && path[size] == '/'
               ? path + size
               : path;
}

static void add_bind(json_t *edits, const struct cdi_target *target, const struct driver_file *file,
                     const char *to)
{
    static const char *const options[] = {"ro", "nosuid", "nodev", "rbind", "rprivate", NULL};
    static const char *const socket_options[] = {"ro",    "nosuid",   "nodev", "noexec",
                                                 "rbind", "rprivate", NULL};
    static const char *const state_options[] = {"rw",    "nosuid",   "nodev", "noexec",
                                                "rbind", "rprivate", NULL};

    cdi_add_mount(edits, cdi_machine_path(target, file->path), to, "bind",
                  file->kind == DRIVER_STATE    ? state_options
                  : file->kind == DRIVER_SOCKET ? socket_options
                                                : options);
}

/* Shows mount points in a directory of the host. A layer's path with ':' or ',' would be read as
 * two: such a character is escaped. */
static void add_points(json_t *edits, const struct cdi_target *target, const char *name,
                       const char *dir)
{
    AUTO(buf_done) struct buf lower = {0};
    const char *options[] = {"ro", NULL, NULL};
    AUTO_FREE char *points = mem_format("%s/%s", target->points, name);

    buf_add_text(&lower, "lowerdir=");
    for (const char *c = points; *c; c++)
        buf_printf(&lower, "%s%c", strchr(":,\\", *c) ? "\\" : "", *c);
    buf_printf(&lower, ":%s", dir);
    options[1] = lower.at;
    cdi_add_mount(edits, "overlay", dir, "overlay", options);
}

static void add_file(json_t *edits, const struct driver_root *root, const struct cdi_target *target,
                     const struct driver_file *file)
{
    const char *dir = NULL;
    AUTO_FREE char *to = NULL;

    if (file->kind == DRIVER_LIBRARY)
        dir = target->library_dir;
    else if (file->kind == DRIVER_LIBRARY_32)
        dir = target->library_dir_32;
    else if (file->kind == DRIVER_PROGRAM)
        dir = "/usr/bin";
    else if (target->is_host && !root->is_emulated)
        return; /* the mount point would be made on the host */
    else
        dir = "";
    if (!dir[0] && file->name[0] != '/')
        return;
    to = mem_format("%s%s%s", dir, dir[0] ? "/" : "", file->name);
    add_bind(edits, target, file, to);
}

/* Is the file in the root already, as a link to the driver's tree? */
static bool is_linked(const struct cdi_target *target, const struct driver_file *file)
{
    const struct share_library *library = target->is_shared ? share_library_of(file) : NULL;

    return target->is_linked && file->kind != DRIVER_STATE &&
           !(library && text_equal(file->name, library->soname));
}

static void add_files(json_t *edits, const struct driver_root *root,
                      const struct cdi_target *target)
{
    if (!target->library_dir[0] || (target->is_host && text_equal(root->dir, "/")))
        return;
    if (target->points) {
        add_points(edits, target, HOST_DRIVER_LIBRARIES, target->library_dir);
        add_points(edits, target, HOST_DRIVER_PROGRAMS, "/usr/bin");
        if (target->library_dir_32[0])
            add_points(edits, target, HOST_DRIVER_LIBRARIES_32, target->library_dir_32);
    }
    VEC_EACH (&root->files, file)
        if (!is_linked(target, file))
            add_file(edits, root, target, file);
}

/* ---- devices ---- */

static struct err *add_capability(json_t *edits, const struct driver_root *root,
                                  const struct cdi_device *d, int compute_instance)
{
    int number = driver_root_capability(root, d->gpu->minor, d->gpu_instance, compute_instance);
    AUTO_FREE char *path = mem_format("/dev/nvidia-caps/nvidia-cap%d", number);

    if (root->capability_major < 0 || number < 0)
        return err_new(ERR_UNAVAILABLE, "the driver has no capability of MIG instance %s",
                       d->instance);
    add_node(edits, path, root->capability_major, root->capability_base + number);
    return NULL;
}

static struct err *add_device(json_t *edits, const struct driver_root *root,
                              const struct cdi_device *d)
{
    AUTO_FREE char *path = mem_format("/dev/nvidia%d", d->gpu->minor);

    for (size_t i = 0; i < d->gpu->n_nodes; i++)
        add_node(edits, d->gpu->nodes[i].path, d->gpu->nodes[i].major, d->gpu->nodes[i].minor);
    if (d->gpu->vendor != GPU_NVIDIA)
        return NULL;
    add_node(edits, path, root->gpu_major, d->gpu->minor);
    if (!d->instance)
        return NULL;
    TRY(add_capability(edits, root, d, -1));
    return add_capability(edits, root, d, d->compute_instance);
}

struct err *cdi_device_edits(const struct cdi_device *d, const struct driver_root *root,
                             json_t **ret)
{
    AUTO(json_freep) json_t *edits = json_object();

    TRY(add_device(edits, root, d));
    *ret = TAKE(edits);
    return NULL;
}

void cdi_driver_edits(json_t *edits, const struct driver_root *root,
                      const struct cdi_target *target)
{
    VEC_EACH (&root->nodes, node)
        add_node(edits, node->path, node->major, node->minor);
    if (target)
        add_files(edits, root, target);
}

void cdi_name_devices(json_t *edits, const struct cdi_device *devices, size_t n)
{
    AUTO(buf_done) struct buf text = {0};
    size_t named = 0;

    buf_add_text(&text, CDI_VISIBLE "=");
    for (size_t i = 0; i < n; i++)
        if (devices[i].gpu->vendor == GPU_NVIDIA)
            buf_printf(&text, "%s%s", named++ > 0 ? "," : "",
                       devices[i].instance ? devices[i].instance : devices[i].gpu->uuid);
    if (named == 0)
        return;
    (void)json_array_append_new(json_array_at(edits, "env"), json_string(text.at));
}

struct err *cdi_gpu_edits(const struct cdi_device *devices, size_t n,
                          const struct driver_root *root, const struct cdi_target *target,
                          json_t **ret)
{
    AUTO(json_freep) json_t *edits = json_object();

    for (size_t i = 0; i < n; i++)
        TRY(add_device(edits, root, &devices[i]));
    if (n > 0) {
        if (root)
            cdi_driver_edits(edits, root, target);
        cdi_name_devices(edits, devices, n);
    }
    *ret = TAKE(edits);
    return NULL;
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

        if (text && strncmp(text, name.at, name.size) == 0) {
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

/* A node without an owner belongs to the user of the process. */
static void put_owner(json_t *device, const char *key, const json_t *user)
{
    int64_t id = json_int(user, key, 0);

    if (id != 0 && !json_object_get(device, key))
        json_put_int(device, key, id);
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
    const json_t *user = json_at(spec, "process", "user", NULL);
    json_t *device = NULL;
    json_t *rule = NULL;

    if (!path || !type || !json_is_integer(json_object_get(node, "major")) ||
        !json_is_integer(json_object_get(node, "minor")))
        return err_new(ERR_INVALID, "device node '%s' lacks type, major or minor",
                       path ? path : "");
    device = json_object();
    for (size_t i = 0; i < COUNT(members); i++)
        put_or_drop(device, members[i], node);
    put_owner(device, "uid", user);
    put_owner(device, "gid", user);
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

static struct err *apply_hook(const json_t *edit, json_t *spec)
{
    const char *stage = json_text(edit, "hookName");
    json_t *hook = NULL;

    if (!stage || !json_text(edit, "path"))
        return err_new(ERR_INVALID, "hook '%s' lacks hookName or path", stage ? stage : "");
    hook = json_object();
    put_or_drop(hook, "path", edit);
    put_or_drop(hook, "args", edit);
    put_or_drop(hook, "env", edit);
    put_or_drop(hook, "timeout", edit);
    (void)json_array_append_new(json_array_at(json_object_at(spec, "hooks"), stage), hook);
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
            !text_equal(key, "hooks") && !text_equal(key, "mounts") &&
            !text_equal(key, "additionalGids"))
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
    json_array_foreach (json_object_get(edits, "hooks"), i, item)
        TRY(apply_hook(item, spec));
    cdi_sort_mounts(spec);
    json_array_foreach (json_object_get(edits, "additionalGids"), i, item)
        apply_gid(item, spec);
    return NULL;
}
