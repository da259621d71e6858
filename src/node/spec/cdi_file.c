/* cdi_file.c - CDI files: making, and finding devices */

#include "node/spec/cdi_file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"

/* ---- making ---- */

/* Appends the lists of `from` to those of `to`. */
static void merge_edits(json_t *to, const json_t *from)
{
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach ((json_t *)(uintptr_t)from, key, value) {
        AUTO(json_freep) json_t *copy = json_deep_copy(value);

        if (json_is_array(value))
            (void)json_array_extend(json_array_at(to, key), copy);
        else
            json_put(to, key, TAKE(copy));
    }
}

static void put_device(json_t *file, const char *name, const json_t *edits)
{
    json_t *device = json_object();

    json_put_text(device, "name", name);
    json_put(device, "containerEdits", json_deep_copy(edits));
    (void)json_array_append_new(json_array_at(file, "devices"), device);
}

/* Adds the nodes of one device to those of `all`, each once. */
static void merge_nodes(json_t *all, const json_t *edits)
{
    json_t *nodes = json_array_at(all, "deviceNodes");
    json_t *node = NULL;
    json_t *known = NULL;
    size_t i = 0;
    size_t k = 0;

    json_array_foreach (json_object_get(edits, "deviceNodes"), i, node) {
        bool is_known = false;

        json_array_foreach (nodes, k, known)
            is_known |= text_equal(json_text(known, "path"), json_text(node, "path"));
        if (!is_known)
            (void)json_array_append_new(nodes, json_deep_copy(node));
    }
}

static struct err *make_slices(json_t *file, const struct gpu *g, const struct driver_root *root,
                               json_t *all)
{
    for (size_t i = 0; i < g->n_slices; i++) {
        const struct gpu_slice *s = &g->slices[i];
        const struct cdi_device d = {.gpu = g,
                                     .instance = s->uuid,
                                     .gpu_instance = s->gpu_instance,
                                     .compute_instance = s->compute_instance};
        AUTO(json_freep) json_t *edits = NULL;
        AUTO_FREE char *alias =
            mem_format("%d:%d:%d", g->index, s->gpu_instance, s->compute_instance);

        if (!s->uuid[0])
            continue;
        TRY(cdi_device_edits(&d, root, &edits));
        put_device(file, alias, edits);
        put_device(file, s->uuid, edits);
        merge_nodes(all, edits);
    }
    return NULL;
}

static struct err *make_devices(json_t *file, const struct gpu *gpus, size_t n,
                                const struct cdi_file_options *o)
{
    AUTO(json_freep) json_t *all = json_object();

    for (size_t i = 0; i < n; i++) {
        const struct cdi_device d = {.gpu = &gpus[i]};
        AUTO_FREE char *index = mem_format("%d", gpus[i].index);
        AUTO(json_freep) json_t *edits = NULL;

        if (gpus[i].vendor != GPU_NVIDIA || gpus[i].minor < 0 || !gpus[i].uuid[0])
            continue; /* of another kind, or lost */
        if (gpus[i].n_slices > 0) {
            TRY(make_slices(file, &gpus[i], o->root, all));
            continue;
        }
        TRY(cdi_device_edits(&d, o->root, &edits));
        merge_nodes(all, edits);
        merge_edits(edits, json_object_get(o->more, gpus[i].uuid));
        put_device(file, index, edits);
        put_device(file, gpus[i].uuid, edits);
    }
    if (json_object_size(all) > 0)
        put_device(file, "all", all);
    return NULL;
}

struct err *cdi_file_make(const struct gpu *gpus, size_t n, const struct cdi_file_options *o,
                          json_t **ret)
{
    AUTO(json_freep) json_t *file = json_object();
    AUTO(json_freep) json_t *edits = json_object();
    AUTO_FREE char *generation = mem_format(CDI_GENERATION "=%" PRId64, o->now_s);
    json_t *env = json_array_at(edits, "env");

    json_put_text(file, "cdiVersion", "0.5.0"); /* device names begin with digits */
    json_put_text(file, "kind", o->kind ? o->kind : CDI_KIND);
    TRY(make_devices(file, gpus, n, o));
    if (!json_object_get(file, "devices"))
        return err_new(ERR_NOT_FOUND, "there are no gpus");
    /* So that an older hook for gpus does not add them again. */
    (void)json_array_append_new(env, json_string(CDI_VISIBLE "=void"));
    (void)json_array_append_new(env, json_string(generation));
    cdi_driver_edits(edits, o->root, o->target);
    json_put(file, "containerEdits", TAKE(edits));
    TRY(cdi_file_check(file));
    *ret = TAKE(file);
    return NULL;
}

/* ---- finding ---- */

void cdi_sources_done(struct cdi_sources *s)
{
    VEC_EACH (&s->list, source) {
        free(source->path);
        free(source->problem);
        json_decref(source->file);
    }
    vec_done(&s->list);
}

static const json_t *find_device(const json_t *file, const char *name)
{
    const json_t *device = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(file, "devices"), i, device)
        if (text_equal(json_text(device, "name"), name))
            return device;
    return NULL;
}

struct err *cdi_sources_find(const struct cdi_sources *s, const char *kind, const char *name,
                             const struct cdi_source **ret_source, const json_t **ret_device)
{
    const struct cdi_source *found = NULL;
    const struct cdi_source *other = NULL;

    VEC_EACH (&s->list, source) {
        if (!text_equal(json_text(source->file, "kind"), kind) || !find_device(source->file, name))
            continue;
        other = found && found->priority == source->priority ? found : NULL;
        found = source;
    }
    if (!found)
        return err_new(ERR_NOT_FOUND, "no CDI file has the device %s=%s", kind, name);
    if (other)
        return err_new(ERR_CONFLICT, "device %s=%s is both in %s and in %s", kind, name,
                       other->path, found->path);
    *ret_source = found;
    *ret_device = find_device(found->file, name);
    return NULL;
}

/* ---- requests ---- */

struct cdi_request *cdi_request_new(const struct cdi_device *devices, size_t n,
                                    const struct driver_root *root)
{
    struct cdi_request *r = mem_alloc(sizeof(*r));

    r->version = mem_strdup(root->version);
    for (size_t i = 0; i < n; i++) {
        const struct cdi_device *d = &devices[i];
        struct cdi_ask ask = {.minor = d->gpu->minor};

        (void)snprintf(ask.name, sizeof(ask.name), "%s", d->instance ? d->instance : d->gpu->uuid);
        /* A file of a real driver has indices, too: they are not those of emulated gpus. */
        if (root->is_emulated)
            ask.alias[0] = '\0';
        else if (d->instance)
            (void)snprintf(ask.alias, sizeof(ask.alias), "%d:%d:%d", d->gpu->index, d->gpu_instance,
                           d->compute_instance);
        else
            (void)snprintf(ask.alias, sizeof(ask.alias), "%d", d->gpu->index);
        vec_add(&r->asks, ask);
    }
    return r;
}

void cdi_request_free(struct cdi_request *r)
{
    if (!r)
        return;
    vec_done(&r->asks);
    free(r->version);
    free(r->problem);
    json_decref(r->edits);
    free(r);
}

static bool is_ours(const json_t *file)
{
    const json_t *variable = NULL;
    size_t i = 0;

    json_array_foreach (json_at(file, "containerEdits", "env", NULL), i, variable) {
        const char *text = json_string_value(variable);

        if (text && text_starts_with(text, CDI_GENERATION "="))
            return true;
    }
    return false;
}

/* The minor of a gpu's node "/dev/nvidia7"; -1: another node. */
static int64_t minor_of(const char *path)
{
    static const char prefix[] = "/dev/nvidia";
    int64_t minor = -1;

    if (!path || !text_starts_with(path, prefix))
        return -1;
    err_free(num_parse_int64(str_of(path + strlen(prefix)), 0, INT32_MAX, &minor));
    return minor;
}

/* Are the gpus' nodes of the edits those of the request? */
static bool are_nodes_right(const struct cdi_request *r, const json_t *edits)
{
    const json_t *node = NULL;
    size_t i = 0;

    VEC_EACH (&r->asks, ask) {
        bool is_there = false;

        json_array_foreach (json_object_get(edits, "deviceNodes"), i, node)
            is_there |= minor_of(json_text(node, "path")) == ask->minor;
        if (!is_there)
            return false;
    }
    json_array_foreach (json_object_get(edits, "deviceNodes"), i, node) {
        int64_t minor = minor_of(json_text(node, "path"));
        bool is_asked = minor < 0;

        VEC_EACH (&r->asks, ask)
            is_asked |= ask->minor == minor;
        if (!is_asked)
            return false;
    }
    return true;
}

/* The version in the name of the driver's main libraries among the mounts; NULL: it is `version`,
 * or there is none. */
static const char *other_version(const json_t *edits, const char *version)
{
    static const char *const names[] = {"/libcuda.so.", "/libnvidia-ml.so."};
    const json_t *mount = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(edits, "mounts"), i, mount) {
        const char *path = json_text(mount, "hostPath");

        for (size_t k = 0; path && k < COUNT(names); k++) {
            const char *at = strstr(path, names[k]);
            const char *found = at ? at + strlen(names[k]) : NULL;

            if (found && strchr(found, '.') && !text_equal(found, version))
                return found;
        }
    }
    return NULL;
}

/* Adds the edits of one device, and of its file if that is the first of it. */
static struct err *request_add(const struct cdi_ask *ask, const struct cdi_sources *s,
                               const json_t *const *files, size_t *n_files, json_t *edits)
{
    const struct cdi_source *source = NULL;
    const json_t *device = NULL;
    struct err *e = cdi_sources_find(s, CDI_KIND, ask->name, &source, &device);
    const json_t **known = (const json_t **)(uintptr_t)files;
    bool is_first = true;

    if (e && err_code(e) == ERR_NOT_FOUND && ask->alias[0]) {
        err_free(e);
        e = cdi_sources_find(s, CDI_KIND, ask->alias, &source, &device);
    }
    if (e)
        return e;
    assert(source);
    if (is_ours(source->file))
        return err_new(ERR_NOT_FOUND, "the file is Mete's own");
    for (size_t i = 0; i < *n_files; i++)
        is_first &= known[i] != source->file;
    if (is_first) {
        merge_edits(edits, json_object_get(source->file, "containerEdits"));
        known[(*n_files)++] = source->file;
    }
    merge_edits(edits, json_object_get(device, "containerEdits"));
    return NULL;
}

void cdi_request_resolve(struct cdi_request *r, const struct cdi_sources *s)
{
    AUTO(json_freep) json_t *edits = json_object();
    AUTO_FREE const json_t **files = mem_alloc((r->asks.n + 1) * sizeof(*files));
    const char *version = NULL;
    size_t n_files = 0;

    VEC_EACH (&r->asks, ask) {
        AUTO(err_freep) struct err *e = request_add(ask, s, files, &n_files, edits);

        if (!e)
            continue;
        if (err_code(e) != ERR_NOT_FOUND)
            r->problem = mem_strdup(err_message(e));
        return;
    }
    version = other_version(edits, r->version);
    if (version)
        r->problem = mem_format("the CDI files of " CDI_KIND " describe driver %s; installed is %s",
                                version, r->version);
    else if (!are_nodes_right(r, edits))
        r->problem = mem_strdup("the CDI files of " CDI_KIND " have other device nodes than the "
                                "driver");
    else
        r->edits = TAKE(edits);
}
