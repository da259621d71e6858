#include "node/volume.h"

#include "base/file.h"
#include "base/mem.h"
#include "model/quantity.h"
#include "node/host.h"
#include "node/refs.h"

enum {
    MODE_DEFAULT = 0644,
    DIR_MODE_EMPTY = 0777,
    DIR_MODE_FILES = 0755
};

/* ---- planned ---- */

static void volume_done(struct volume *v)
{
    VEC_EACH (&v->files, f) {
        free(f->path);
        free(f->bytes);
    }
    vec_done(&v->files);
    free(v->name);
    free(v->path);
}

void volumes_done(struct volumes *v)
{
    VEC_EACH (&v->list, volume)
        volume_done(volume);
    vec_done(&v->list);
}

const struct volume *volumes_find(const struct volumes *v, const char *name)
{
    for (size_t i = 0; i < v->list.n; i++)
        if (text_equal(v->list.at[i].name, name))
            return &v->list.at[i];
    return NULL;
}

/* Relative, without "..", "." and empty parts: it stays in the volume. */
static bool is_inside(const char *path)
{
    struct str rest = str_of(path);

    if (!path || !path[0] || strlen(path) > 1024)
        return false;
    while (rest.at) {
        struct str part = str_cut(&rest, '/');

        if (part.size == 0 || str_equal(part, STR("..")) || str_equal(part, STR(".")))
            return false;
    }
    return true;
}

static struct err *add_file(struct volume *v, const char *path, struct str bytes, uint32_t mode)
{
    if (!is_inside(path))
        return err_new(ERR_INVALID, "volume %s: '%s' is not a path inside of it", v->name,
                       path ? path : "");
    vec_add(&v->files,
            (struct volume_file){.path = mem_strdup(path),
                                 .bytes = mem_dup(bytes.at ? bytes.at : "", bytes.size + 1),
                                 .size = bytes.size,
                                 .mode = mode & 0777});
    return NULL;
}

struct filling {
    struct volume *volume;
    uint32_t mode;
};

static struct err *add_each(void *arg, const char *key, struct str bytes)
{
    struct filling *f = arg;

    return add_file(f->volume, key, bytes, f->mode);
}

static struct err *add_items(struct volume *v, const json_t *source, const json_t *refs,
                             const char *plural, const char *name)
{
    const json_t *item = NULL;
    size_t i = 0;
    bool is_optional = json_bool(source, "optional", false);
    uint32_t mode = (uint32_t)json_int(source, "defaultMode", MODE_DEFAULT);
    struct filling f = {.volume = v, .mode = mode};

    if (is_optional && !refs_find(refs, plural, name))
        return NULL;
    if (json_array_size(json_object_get(source, "items")) == 0)
        return refs_each(refs, plural, name, add_each, &f);
    json_array_foreach (json_object_get(source, "items"), i, item) {
        AUTO(buf_done) struct buf bytes = {0};
        struct err *e = refs_value(refs, plural, name, json_text(item, "key"), &bytes);

        if (e && is_optional && err_code(e) == ERR_NOT_FOUND) {
            err_free(e);
            continue;
        }
        TRY(e);
        TRY(add_file(v, json_text(item, "path"), (struct str){bytes.at, bytes.size},
                     (uint32_t)json_int(item, "mode", mode)));
    }
    return NULL;
}

static struct err *plan_empty(struct volume *v, const json_t *source)
{
    const json_t *limit = json_object_get(source, "sizeLimit");
    struct quantity q = {0};

    v->mode = DIR_MODE_EMPTY;
    v->is_memory = text_equal(json_text(source, "medium"), "Memory");
    if (json_is_integer(limit))
        v->size_bytes = json_integer_value(limit);
    else if (json_is_string(limit)) {
        TRY(quantity_parse(str_of(json_string_value(limit)), &q));
        v->size_bytes = quantity_units(q);
    }
    if (v->size_bytes < 0)
        return err_new(ERR_INVALID, "volume %s: sizeLimit is negative", v->name);
    return NULL;
}

static struct err *plan_one(const json_t *item, const json_t *refs, struct volume *v)
{
    const json_t *source = NULL;

    v->mode = DIR_MODE_FILES;
    if ((source = json_object_get(item, "emptyDir")))
        return plan_empty(v, source);
    if ((source = json_object_get(item, "configMap")))
        return add_items(v, source, refs, "configmaps", json_text(source, "name"));
    if ((source = json_object_get(item, "secret"))) {
        v->is_memory = true;
        return add_items(v, source, refs, "secrets", json_text(source, "secretName"));
    }
    return err_new(ERR_INVALID, "its type is not supported: emptyDir, configMap or secret");
}

struct err *volume_plan(const json_t *pod, const json_t *refs, const char *dir, struct volumes *ret)
{
    AUTO(volumes_done) struct volumes all = {0};
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_at(pod, "spec", "volumes", NULL), i, item) {
        const char *name = json_text(item, "name");
        struct err *e = NULL;

        if (!is_inside(name) || strchr(name, '/'))
            return err_new(ERR_INVALID, "volume name '%s' is not one", name ? name : "");
        vec_add(&all.list,
                (struct volume){.name = mem_strdup(name), .path = mem_format("%s/%s", dir, name)});
        e = plan_one(item, refs, &all.list.at[all.list.n - 1]);
        if (e)
            return err_wrap(e, "volume %s", name);
    }
    *ret = all;
    all = (struct volumes){0};
    return NULL;
}

/* ---- brought about ---- */

static struct err *make_file(const struct volume *v, const struct volume_file *f)
{
    AUTO_FREE char *path = mem_format("%s/%s", v->path, f->path);
    char *slash = strrchr(path, '/');

    *slash = '\0';
    TRY(dir_make(path, DIR_MODE_FILES));
    *slash = '/';
    return file_write(path, f->mode, (struct str){f->bytes, f->size});
}

static struct err *make_one(const struct volume *v)
{
    TRY(dir_make(v->path, 0755));
    if (v->is_memory && !host_is_mount(v->path))
        TRY(host_mount_tmpfs(v->path, v->size_bytes, v->mode));
    TRY(host_chmod(v->path, v->mode)); /* past the umask */
    for (size_t i = 0; i < v->files.n; i++)
        TRY(make_file(v, &v->files.at[i]));
    return NULL;
}

struct err *volume_make(const struct volumes *v)
{
    for (size_t i = 0; i < v->list.n; i++) {
        struct err *e = make_one(&v->list.at[i]);

        if (e)
            return err_wrap(e, "volume %s", v->list.at[i].name);
    }
    return NULL;
}

struct err *volume_remove(const char *dir)
{
    char **names = NULL;
    size_t n = 0;
    struct err *e = dir_list(dir, &names, &n);

    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    for (size_t i = 0; !e && i < n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dir, names[i]);

        e = host_unmount(path);
    }
    names_free(names, n);
    TRY(e);
    return dir_remove(dir);
}
