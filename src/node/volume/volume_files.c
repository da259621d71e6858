/* volume_files.c - the files of configMap, secret, downwardAPI and projected volumes */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "node/pod/refs.h"
#include "node/volume/volume.h"

enum {
    MODE_DEFAULT = 0644,
    MODE_GROUP = 0440, /* minimal rights of fsGroup */
    MODE_TOKEN_OWN = 0600,
    PATH_SIZE_MAX = 1024
};

struct filling {
    const struct volume_input *in;
    struct volume *volume;
    uint32_t mode;
};

/* Is `path` relative, without "..", "." and empty parts, and without a leading ".."? Then it stays
 * in the volume, and does not collide with ..data. */
static bool is_inside(const char *path)
{
    struct str rest = str_of(path);

    if (!path || !path[0] || strlen(path) > PATH_SIZE_MAX || text_starts_with(path, ".."))
        return false;
    while (rest.at) {
        struct str part = str_cut(&rest, '/');

        if (part.size == 0 || str_equal(part, STR("..")) || str_equal(part, STR(".")))
            return false;
    }
    return true;
}

static bool has_group(const struct volume *v)
{
    return (v->mode & 02000) != 0;
}

/* Adds a file. Of two sources with the same path, the later counts, as in the kubelet. */
static struct err *add_file(struct filling *f, const char *path, struct str bytes, uint32_t mode)
{
    struct volume *v = f->volume;
    struct atomic_file file = {.size = bytes.size,
                               .mode = (mode & 0777) | (has_group(v) ? MODE_GROUP : 0),
                               .uid = v->uid,
                               .gid = v->gid};

    if (!is_inside(path))
        return err_new(ERR_INVALID, "'%s' is not a path inside the volume", path ? path : "");
    for (size_t i = 0; i < v->files.n; i++)
        if (text_equal(v->files.at[i].path, path)) {
            free(v->files.at[i].path);
            free(v->files.at[i].bytes);
            vec_remove(&v->files, i);
            break;
        }
    file.path = mem_strdup(path);
    file.bytes = mem_dup(bytes.at ? bytes.at : "", bytes.size + 1);
    vec_add(&v->files, file);
    return NULL;
}

/* ---- keys ---- */

static struct err *add_each(void *arg, const char *key, struct str bytes)
{
    struct filling *f = arg;

    return add_file(f, key, bytes, f->mode);
}

static uint32_t mode_of(const json_t *item, const struct filling *f)
{
    return (uint32_t)json_int(item, "mode", f->mode);
}

static struct err *add_keys(struct filling *f, const json_t *source, const char *plural,
                            const char *name)
{
    const json_t *refs = f->in->env.refs;
    const json_t *items = json_object_get(source, "items");
    const json_t *item = NULL;
    size_t i = 0;
    bool is_optional = json_bool(source, "optional", false);

    if (is_optional && !refs_find(refs, plural, name))
        return NULL;
    if (json_array_size(items) == 0)
        return refs_each(refs, plural, name, add_each, f);
    json_array_foreach (items, i, item) {
        AUTO(buf_done) struct buf bytes = {0};
        struct err *e = refs_value(refs, plural, name, json_text(item, "key"), &bytes);

        if (e && is_optional && err_code(e) == ERR_NOT_FOUND) {
            err_free(e);
            continue;
        }
        TRY(e);
        TRY(add_file(f, json_text(item, "path"), (struct str){bytes.at, bytes.size},
                     mode_of(item, f)));
    }
    return NULL;
}

/* ---- fields of the pod ---- */

/* Quotes as Go's %q, for texts of labels and annotations. */
static void add_quoted(struct buf *out, const char *text)
{
    static const char named[] = "\a\b\f\n\r\t\v\\\"";
    static const char letters[] = "abfnrtv\\\"";

    buf_add_char(out, '"');
    for (const char *at = text; *at; at++) {
        const char *found = strchr(named, *at);

        if (found)
            buf_printf(out, "\\%c", letters[found - named]);
        else if ((unsigned char)*at < 0x20 || *at == 0x7f)
            buf_printf(out, "\\x%02x", (unsigned)(unsigned char)*at);
        else
            buf_add_char(out, *at);
    }
    buf_add_char(out, '"');
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds sorted lines `key="value"`. */
static void add_map(struct buf *out, json_t *map)
{
    AUTO_FREE const char **keys = mem_alloc((json_object_size(map) + 1) * sizeof(*keys));
    const char *key = NULL;
    json_t *value = NULL;
    size_t n = 0;

    json_object_foreach (map, key, value)
        if (json_is_string(value))
            keys[n++] = key;
    qsort(keys, n, sizeof(*keys), compare_texts);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s%s=", i > 0 ? "\n" : "", keys[i]);
        add_quoted(out, json_text(map, keys[i]));
    }
}

static struct err *add_field(const struct volume_input *in, const json_t *item, struct buf *out)
{
    const json_t *resource = json_object_get(item, "resourceFieldRef");
    const char *path = json_text_at(item, "fieldRef", "fieldPath", NULL);
    const char *text = NULL;
    int64_t number = 0;

    if (resource) {
        TRY(env_resource(&in->env, resource, &number));
        buf_printf(out, "%" PRId64, number);
        return NULL;
    }
    if (text_equal(path, "metadata.labels") || text_equal(path, "metadata.annotations")) {
        add_map(out, json_at(in->env.pod, "metadata", path + strlen("metadata."), NULL));
        return NULL;
    }
    TRY(env_field(&in->env, path ? path : "", &text));
    buf_add_text(out, text);
    return NULL;
}

static struct err *add_fields(struct filling *f, const json_t *source)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(source, "items"), i, item) {
        AUTO(buf_done) struct buf bytes = {0};

        TRY(add_field(f->in, item, &bytes));
        TRY(add_file(f, json_text(item, "path"), (struct str){bytes.at, bytes.size},
                     mode_of(item, f)));
    }
    return NULL;
}

/* ---- tokens ---- */

/* As in the kubelet, the token belongs to the common user of all containers; else fsGroup may read
 * it; else all may. */
static struct err *add_token(struct filling *f, const json_t *source)
{
    AUTO_FREE char *ref = refs_token(source);
    const char *token =
        json_text_at(json_object_get(f->in->env.refs, ref), "status", "token", NULL);
    const char *account = json_text_at(f->in->env.pod, "spec", "serviceAccountName", NULL);
    struct volume *v = f->volume;
    struct atomic_file *file = NULL;

    if (!token)
        return err_new(ERR_NOT_FOUND, "no token for ServiceAccount '%s'",
                       account && account[0] ? account : "default");
    TRY(add_file(f, json_text(source, "path"), str_of(token), MODE_DEFAULT));
    file = &v->files.at[v->files.n - 1];
    if (has_group(v)) {
        file->mode = MODE_TOKEN_OWN | MODE_GROUP;
    } else if (f->in->has_common_uid) {
        file->mode = MODE_TOKEN_OWN;
        file->uid = f->in->common_uid;
    }
    return NULL;
}

/* ---- volumes ---- */

static struct err *add_projected(struct filling *f, const json_t *projected)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(projected, "sources"), i, item) {
        const json_t *source = NULL;

        if ((source = json_object_get(item, "configMap")))
            TRY(add_keys(f, source, "configmaps", json_text(source, "name")));
        else if ((source = json_object_get(item, "secret")))
            TRY(add_keys(f, source, "secrets", json_text(source, "name")));
        else if ((source = json_object_get(item, "downwardAPI")))
            TRY(add_fields(f, source));
        else if ((source = json_object_get(item, "serviceAccountToken")))
            TRY(add_token(f, source));
        else
            return err_new(ERR_INVALID, "a projected source is not supported: configMap, secret, "
                                        "downwardAPI or serviceAccountToken");
    }
    return NULL;
}

/* Has the volume secrets, which must not reach a disk? */
static bool has_secrets(const json_t *projected)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(projected, "sources"), i, item)
        if (json_object_get(item, "secret") || json_object_get(item, "serviceAccountToken"))
            return true;
    return false;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct atomic_file *)a)->path, ((const struct atomic_file *)b)->path);
}

struct err *volume_plan_files(const struct volume_input *in, const json_t *item, struct volume *v,
                              bool *ret_is_files)
{
    static const char *const types[] = {"configMap", "secret", "downwardAPI", "projected"};
    struct filling f = {.in = in, .volume = v};
    const json_t *source = NULL;
    size_t type = 0;

    while (type < 4 && !(source = json_object_get(item, types[type])))
        type++;
    *ret_is_files = source != NULL;
    if (!source)
        return NULL;
    v->type = VOLUME_FILES;
    v->is_memory = type == 1 || has_secrets(source);
    f.mode = (uint32_t)json_int(source, "defaultMode", MODE_DEFAULT);
    if (type == 0)
        TRY(add_keys(&f, source, "configmaps", json_text(source, "name")));
    else if (type == 1)
        TRY(add_keys(&f, source, "secrets", json_text(source, "secretName")));
    else if (type == 2)
        TRY(add_fields(&f, source));
    else
        TRY(add_projected(&f, source));
    if (v->files.n > 0)
        qsort(v->files.at, v->files.n, sizeof(v->files.at[0]), compare_files);
    return NULL;
}
