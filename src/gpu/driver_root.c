/* driver_root.c - struct driver_root: names of libraries, order, JSON */

#include "gpu/driver_root.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"
#include "gpu/gpusim_machine.h"

/* The beginnings of names of libraries with versions of their own. */
static const char *const own_versions[] = {
    "libnvidia-api.so.",     "libnvidia-egl-gbm.so.",  "libnvidia-egl-wayland.so.",
    "libnvidia-egl-xcb.so.", "libnvidia-egl-xlib.so.", "libnvidia-egl-wayland2.so.",
    "libnvidia-nvvm.so.",    "libnvidia-nvvm70.so.",
};

void driver_root_free(struct driver_root *r)
{
    if (!r)
        return;
    VEC_EACH (&r->files, file) {
        free(file->path);
        free(file->name);
    }
    VEC_EACH (&r->nodes, node)
        free(node->path);
    VEC_EACH (&r->channels, node)
        free(node->path);
    vec_done(&r->files);
    vec_done(&r->nodes);
    vec_done(&r->channels);
    vec_done(&r->capabilities);
    free(r->dir);
    free(r->version);
    free(r);
}

bool driver_is_library(const char *name, const char *version)
{
    AUTO_FREE char *end = mem_format(".so.%s", version);

    if (!text_starts_with(name, "lib"))
        return false;
    if (version[0] && text_ends_with(name, end))
        return true;
    for (size_t i = 0; i < COUNT(own_versions); i++)
        if (text_starts_with(name, own_versions[i]))
            return true;
    return false;
}

void driver_root_add_file(struct driver_root *r, enum driver_file_kind kind, const char *path,
                          const char *name)
{
    VEC_EACH (&r->files, file)
        if (file->kind == kind && text_equal(file->name, name))
            return;
    vec_add(&r->files, ((struct driver_file){kind, mem_strdup(path), mem_strdup(name)}));
}

static int compare_files(const void *a, const void *b)
{
    const struct driver_file *x = a;
    const struct driver_file *y = b;

    return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1) : strcmp(x->name, y->name);
}

static int compare_nodes(const void *a, const void *b)
{
    const struct driver_node *x = a;
    const struct driver_node *y = b;

    return strcmp(x->path, y->path);
}

static int compare_capabilities(const void *a, const void *b)
{
    const struct driver_capability *x = a;
    const struct driver_capability *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

void driver_root_sort(struct driver_root *r)
{
    if (r->files.n > 0)
        qsort(r->files.at, r->files.n, sizeof(*r->files.at), compare_files);
    if (r->channels.n > 0)
        qsort(r->channels.at, r->channels.n, sizeof(*r->channels.at), compare_nodes);
    if (r->capabilities.n > 0)
        qsort(r->capabilities.at, r->capabilities.n, sizeof(*r->capabilities.at),
              compare_capabilities);
}

int driver_root_capability(const struct driver_root *r, int gpu, int gpu_instance,
                           int compute_instance)
{
    if (r->is_emulated) /* all that can be: instances come and go */
        return compute_instance < 0
                   ? (int)gpusim_cap_of_instance((unsigned)gpu, (unsigned)gpu_instance)
                   : (int)gpusim_cap_of_compute((unsigned)gpu, (unsigned)gpu_instance,
                                                (unsigned)compute_instance);
    VEC_EACH (&r->capabilities, c)
        if (c->gpu == gpu && c->gpu_instance == gpu_instance &&
            c->compute_instance == compute_instance)
            return c->number;
    return -1;
}

int64_t driver_find_major(const char *proc_devices, const char *name)
{
    struct str rest = str_of(proc_devices);

    while (rest.at && rest.size > 0) {
        struct str line = str_cut(&rest, '\n');
        struct str number = {0};
        struct err *e = NULL;
        int64_t major = -1;

        if (str_equal(line, STR("Block devices:")))
            return -1;
        while (line.size > 0 && *line.at == ' ') {
            line.at++;
            line.size--;
        }
        number = str_cut(&line, ' ');
        if (!line.at || !str_equal(line, str_of(name)))
            continue;
        e = num_parse_int64(number, 0, 4095, &major);
        err_free(e);
        return e ? -1 : major;
    }
    return -1;
}

/* ---- JSON ---- */

static json_t *format_nodes(const struct driver_node *nodes, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, json_pack("[s, I, I]", nodes[i].path,
                                                    (json_int_t)nodes[i].major,
                                                    (json_int_t)nodes[i].minor));
    return list;
}

json_t *driver_root_format_json(const struct driver_root *r)
{
    json_t *j = json_object();
    json_t *files = json_array_at(j, "files");
    json_t *capabilities = json_array_at(j, "capabilities");

    json_put_text(j, "dir", r->dir);
    json_put_text(j, "version", r->version);
    json_put_bool(j, "emulated", r->is_emulated);
    json_put_int(j, "gpuMajor", r->gpu_major);
    json_put_int(j, "capabilityMajor", r->capability_major);
    json_put_int(j, "capabilityBase", r->capability_base);
    VEC_EACH (&r->files, file)
        (void)json_array_append_new(
            files, json_pack("[i, s, s]", (int)file->kind, file->path, file->name));
    VEC_EACH (&r->capabilities, c)
        (void)json_array_append_new(capabilities, json_pack("[i, i, i, i]", c->gpu, c->gpu_instance,
                                                            c->compute_instance, c->number));
    json_put(j, "nodes", format_nodes(r->nodes.at, r->nodes.n));
    json_put(j, "channels", format_nodes(r->channels.at, r->channels.n));
    return j;
}

static bool parse_node(const json_t *j, struct driver_node *ret)
{
    const char *path = json_string_value(json_array_get(j, 0));

    if (!path || !json_is_integer(json_array_get(j, 1)) || !json_is_integer(json_array_get(j, 2)))
        return false;
    *ret = (struct driver_node){mem_strdup(path), json_integer_value(json_array_get(j, 1)),
                                json_integer_value(json_array_get(j, 2))};
    return true;
}

static bool parse_file(const json_t *j, struct driver_file *ret)
{
    int64_t kind = json_integer_value(json_array_get(j, 0));
    const char *path = json_string_value(json_array_get(j, 1));
    const char *name = json_string_value(json_array_get(j, 2));

    if (kind < 0 || kind >= DRIVER_KINDS || !path || !name)
        return false;
    *ret = (struct driver_file){(enum driver_file_kind)kind, mem_strdup(path), mem_strdup(name)};
    return true;
}

static struct driver_capability parse_capability(const json_t *j)
{
    return (struct driver_capability){(int)json_integer_value(json_array_get(j, 0)),
                                      (int)json_integer_value(json_array_get(j, 1)),
                                      (int)json_integer_value(json_array_get(j, 2)),
                                      (int)json_integer_value(json_array_get(j, 3))};
}

static bool parse_lists(const json_t *j, struct driver_root *r)
{
    struct driver_file file = {0};
    struct driver_node node = {0};
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(j, "files"), i, item) {
        if (!parse_file(item, &file))
            return false;
        vec_add(&r->files, file);
    }
    json_array_foreach (json_object_get(j, "nodes"), i, item) {
        if (!parse_node(item, &node))
            return false;
        vec_add(&r->nodes, node);
    }
    json_array_foreach (json_object_get(j, "channels"), i, item) {
        if (!parse_node(item, &node))
            return false;
        vec_add(&r->channels, node);
    }
    json_array_foreach (json_object_get(j, "capabilities"), i, item)
        vec_add(&r->capabilities, parse_capability(item));
    return true;
}

struct err *driver_root_parse_json(const json_t *j, struct driver_root **ret)
{
    AUTO(driver_root_freep) struct driver_root *r = mem_alloc(sizeof(*r));
    const char *dir = json_text(j, "dir");
    const char *version = json_text(j, "version");

    r->dir = mem_strdup(dir ? dir : "");
    r->version = mem_strdup(version ? version : "");
    r->is_emulated = json_bool(j, "emulated", false);
    r->gpu_major = json_int(j, "gpuMajor", -1);
    r->capability_major = json_int(j, "capabilityMajor", -1);
    r->capability_base = json_int(j, "capabilityBase", 0);
    if (!dir || !version || !parse_lists(j, r))
        return err_new(ERR_INVALID, "the driver's files are malformed");
    *ret = TAKE(r);
    return NULL;
}
