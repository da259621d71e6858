/* image_manifest.c - parsers of manifests, indexes and configs */

#include "node/image/image_manifest.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"

enum {
    INDEX_ENTRIES_MAX = 1000,
    WORDS_MAX = 4096,         /* of env, entrypoint or command */
    WORDS_BYTES_MAX = 1 << 20 /* of all three together */
};

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (text_equal(text, *words))
            return true;
    return false;
}

/* ---- manifests ---- */

static const char *const manifest_types[] = {"application/vnd.oci.image.manifest.v1+json",
                                             "application/vnd.docker.distribution.manifest.v2+json",
                                             NULL};
static const char *const index_types[] = {
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json", NULL};
static const char *const config_types[] = {"application/vnd.oci.image.config.v1+json",
                                           "application/vnd.docker.container.image.v1+json", NULL};
static const char *const layer_types[] = {
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.oci.image.layer.nondistributable.v1.tar",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/vnd.docker.image.rootfs.diff.tar.zstd",
    "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
    NULL};

static struct err *read_blob(const json_t *j, const char *what, struct image_blob *ret)
{
    const char *digest = json_text(j, "digest");
    int64_t size_bytes = json_int(j, "size", -1);

    if (!image_digest_is_valid(digest))
        return err_new(ERR_INVALID, "%s: digest '%.80s' is not sha256: and 64 digits of 0-9a-f",
                       what, text_or_empty(digest));
    if (size_bytes < 0)
        return err_new(ERR_INVALID, "%s %s: size is not a number of at least 0", what, digest);
    (void)snprintf(ret->digest, sizeof(ret->digest), "%s", digest);
    ret->size_bytes = size_bytes;
    return NULL;
}

struct err *image_manifest_parse(const json_t *j, struct image_manifest *ret)
{
    const json_t *config = json_object_get(j, "config");
    const json_t *layers = json_object_get(j, "layers");
    const char *type = json_text(j, "mediaType");
    const json_t *item = NULL;
    size_t i = 0;

    if (!json_is_object(j) || json_int(j, "schemaVersion", 0) != 2)
        return err_new(ERR_INVALID, "manifest: schemaVersion is not 2");
    if (type && !is_one_of(type, manifest_types))
        return err_new(ERR_INVALID, "manifest: mediaType '%.100s' is not an image's", type);
    if (!is_one_of(json_text(config, "mediaType"), config_types))
        return err_new(ERR_INVALID, "manifest: config of type '%.100s' is not an image's",
                       text_or_empty(json_text(config, "mediaType")));
    if (!json_is_array(layers) || json_array_size(layers) > IMAGE_LAYERS_MAX)
        return err_new(ERR_INVALID, "manifest: %zu layers: want a list of at most %d",
                       json_array_size(layers), IMAGE_LAYERS_MAX);
    TRY(read_blob(config, "config", &ret->config));
    json_array_foreach (layers, i, item) {
        if (!is_one_of(json_text(item, "mediaType"), layer_types))
            return err_new(ERR_INVALID,
                           "manifest: layer %zu of type '%.100s': want a tar, plain or compressed "
                           "by gzip or zstd",
                           i + 1, text_or_empty(json_text(item, "mediaType")));
        TRY(read_blob(item, "layer", &ret->layers[i]));
    }
    ret->n_layers = json_array_size(layers);
    return NULL;
}

/* ---- indexes ---- */

static const char *entry_name(const json_t *entry)
{
    const json_t *notes = json_object_get(entry, "annotations");
    const char *name = json_text(notes, "io.containerd.image.name");

    return name ? name : json_text(notes, "org.opencontainers.image.ref.name");
}

static bool is_for(const json_t *entry, const char *architecture)
{
    const json_t *platform = json_object_get(entry, "platform");

    return !platform || (text_equal(json_text(platform, "os"), "linux") &&
                         text_equal(json_text(platform, "architecture"), architecture));
}

static bool is_named(const char *name, const char *want)
{
    struct image_name a = {0};
    struct image_name b = {0};
    AUTO(err_freep) struct err *e = NULL;

    if (text_equal(name, want))
        return true;
    e = image_name_parse(name, &a);
    if (!e)
        e = image_name_parse(want, &b);
    return !e && text_equal(a.repository, b.repository) && text_equal(a.tag, b.tag) &&
           text_equal(a.digest, b.digest);
}

static struct err *none_fits(const json_t *entries, const struct image_choice *want)
{
    struct buf names = {.cap = 1024};
    AUTO_FREE char *text = NULL;
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (entries, i, item)
        buf_printf(&names, "%s'%.100s'", names.size ? ", " : "",
                   entry_name(item) ? entry_name(item) : json_text(item, "digest"));
    text = buf_steal(&names);
    if (json_array_size(entries) == 0)
        return err_new(ERR_INVALID, "index: no image");
    return err_new(ERR_INVALID, "index: want exactly one image for linux/%s%s%s, found %s",
                   want->architecture, want->name ? " named " : "", text_or_empty(want->name),
                   text);
}

struct err *image_index_choose(const json_t *j, const struct image_choice *want,
                               struct image_chosen *ret)
{
    const json_t *entries = json_object_get(j, "manifests");
    const json_t *fitting = NULL;
    const json_t *named = NULL;
    const json_t *item = NULL;
    size_t n_fitting = 0;
    size_t n_named = 0;
    size_t i = 0;

    if (json_int(j, "schemaVersion", 0) != 2 || !json_is_array(entries) ||
        json_array_size(entries) > INDEX_ENTRIES_MAX)
        return err_new(ERR_INVALID,
                       "index: want schemaVersion 2 and a list of at most %d manifests",
                       INDEX_ENTRIES_MAX);
    json_array_foreach (entries, i, item) {
        if (!is_for(item, want->architecture))
            continue;
        fitting = item;
        n_fitting++;
        if (want->name && entry_name(item) && is_named(entry_name(item), want->name)) {
            named = item;
            n_named++;
        }
    }
    if (n_named != 1 && n_fitting != 1)
        return none_fits(entries, want);
    item = n_named == 1 ? named : fitting;
    TRY(read_blob(item, "index", &ret->blob));
    ret->media = is_one_of(json_text(item, "mediaType"), index_types) ? IMAGE_MEDIA_INDEX
                                                                      : IMAGE_MEDIA_MANIFEST;
    ret->name = entry_name(item);
    return NULL;
}

/* ---- Docker's archives ---- */

static bool has_name(const json_t *names, const char *want)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (names, i, item)
        if (json_is_string(item) && is_named(json_string_value(item), want))
            return true;
    return false;
}

static const json_t *choose_entry(const json_t *entries, const struct image_choice *want)
{
    const json_t *item = NULL;
    size_t i = 0;

    if (json_array_size(entries) == 1)
        return json_array_get(entries, 0);
    json_array_foreach (entries, i, item)
        if (want->name && has_name(json_object_get(item, "RepoTags"), want->name))
            return item;
    return NULL;
}

struct err *image_archive_choose(const json_t *j, const struct image_choice *want,
                                 struct image_archive *ret)
{
    const json_t *entry = choose_entry(j, want);
    const json_t *layers = json_object_get(entry, "Layers");
    const json_t *item = NULL;
    size_t i = 0;

    if (!entry)
        return err_new(ERR_INVALID, "manifest.json: %zu images: want one, or the name of one",
                       json_array_size(j));
    ret->config = json_text(entry, "Config");
    ret->names = json_object_get(entry, "RepoTags");
    if (!ret->config || json_array_size(layers) > IMAGE_LAYERS_MAX)
        return err_new(ERR_INVALID, "manifest.json: want Config and at most %d Layers",
                       IMAGE_LAYERS_MAX);
    json_array_foreach (layers, i, item) {
        if (!json_is_string(item))
            return err_new(ERR_INVALID, "manifest.json: layer %zu is not a path", i + 1);
        ret->layers[i] = json_string_value(item);
    }
    ret->n_layers = json_array_size(layers);
    return NULL;
}

/* ---- configs ---- */

/* Checks a list of words, and adds their sizes to `*bytes`. */
static struct err *check_words(const json_t *list, const char *what, size_t *bytes)
{
    const json_t *item = NULL;
    size_t i = 0;

    if (!list || json_is_null(list))
        return NULL;
    if (!json_is_array(list) || json_array_size(list) > WORDS_MAX)
        return err_new(ERR_INVALID, "config: %s is not a list of at most %d texts", what,
                       WORDS_MAX);
    json_array_foreach (list, i, item) {
        if (!json_is_string(item) || strlen(json_string_value(item)) != json_string_length(item))
            return err_new(ERR_INVALID, "config: %s[%zu] is not a text without NUL", what, i);
        *bytes += json_string_length(item) + 1;
        if (*bytes > WORDS_BYTES_MAX)
            return err_new(ERR_INVALID, "config: more than %d bytes of texts", WORDS_BYTES_MAX);
    }
    return NULL;
}

static struct err *check_env(const json_t *env)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (env, i, item) {
        const char *text = json_string_value(item);

        if (!text || *text == '=' || !strchr(text, '='))
            return err_new(ERR_INVALID, "config: env[%zu] is not NAME=VALUE", i);
    }
    return NULL;
}

static struct err *check_text(const json_t *value, const char *what, size_t max)
{
    if (!value || json_is_null(value))
        return NULL;
    if (!json_is_string(value) || json_string_length(value) > max ||
        strlen(json_string_value(value)) != json_string_length(value))
        return err_new(ERR_INVALID, "config: %s is not a text of at most %zu bytes", what, max);
    return NULL;
}

struct err *image_config_check(const json_t *config)
{
    const char *dir = json_text(config, "workingDir");
    size_t bytes = 0;

    if (!json_is_object(config))
        return err_new(ERR_INVALID, "config: not an object");
    TRY(check_words(json_object_get(config, "env"), "env", &bytes));
    TRY(check_words(json_object_get(config, "entrypoint"), "entrypoint", &bytes));
    TRY(check_words(json_object_get(config, "command"), "command", &bytes));
    TRY(check_env(json_object_get(config, "env")));
    TRY(check_text(json_object_get(config, "user"), "user", 256));
    TRY(check_text(json_object_get(config, "workingDir"), "workingDir", 4095));
    TRY(check_text(json_object_get(config, "stopSignal"), "stopSignal", 32));
    if (dir && *dir && *dir != '/')
        return err_new(ERR_INVALID, "config: workingDir '%.100s' is not absolute", dir);
    return NULL;
}

static void copy_member(const json_t *from, const char *key, json_t *to, const char *as)
{
    const json_t *value = json_object_get(from, key);

    if (value && !json_is_null(value))
        json_put(to, as, json_deep_copy(value));
}

static struct err *read_diff_ids(const json_t *j, struct image_config *c)
{
    const json_t *rootfs = json_object_get(j, "rootfs");
    const json_t *ids = json_object_get(rootfs, "diff_ids");
    const json_t *item = NULL;
    size_t i = 0;

    if (!text_equal(json_text(rootfs, "type"), "layers") || !json_is_array(ids) ||
        json_array_size(ids) > IMAGE_LAYERS_MAX)
        return err_new(ERR_INVALID, "config: rootfs is not of type layers with at most %d diff_ids",
                       IMAGE_LAYERS_MAX);
    json_array_foreach (ids, i, item) {
        const char *id = json_string_value(item);

        if (!image_digest_is_valid(id))
            return err_new(ERR_INVALID, "config: diff_ids[%zu] '%.80s' is not a sha256 digest", i,
                           text_or_empty(id));
        (void)snprintf(c->diff_ids[i], sizeof(c->diff_ids[i]), "%s", id);
    }
    c->n_layers = json_array_size(ids);
    return NULL;
}

struct err *image_config_parse(const json_t *j, const char *architecture, struct image_config *ret)
{
    AUTO(json_freep) json_t *config = json_object();
    const json_t *own = json_object_get(j, "config");
    const char *os = json_text(j, "os");
    const char *arch = json_text(j, "architecture");

    if (!text_equal(os, "linux") || !text_equal(arch, architecture))
        return err_new(ERR_INVALID,
                       "config: the image is for %.40s/%.40s, and this machine is "
                       "linux/%s",
                       os ? os : "?", arch ? arch : "?", architecture);
    copy_member(own, "User", config, "user");
    copy_member(own, "Env", config, "env");
    copy_member(own, "Entrypoint", config, "entrypoint");
    copy_member(own, "Cmd", config, "command");
    copy_member(own, "WorkingDir", config, "workingDir");
    copy_member(own, "StopSignal", config, "stopSignal");
    TRY(image_config_check(config));
    TRY(read_diff_ids(j, ret));
    ret->config = TAKE(config);
    return NULL;
}

void image_config_done(struct image_config *c)
{
    json_decref(c->config);
    *c = (struct image_config){0};
}
