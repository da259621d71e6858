/* image_index.c - the image index: checks, changes, queries */

#include "node/image/image_index.h"

#include "base/mem.h"
#include "node/image/image_manifest.h"

enum {
    DIR_SIZE = 8,
    NAMES_MAX = 1000
};

json_t *image_index_new(void)
{
    json_t *index = json_object();

    json_put_int(index, "version", 1);
    (void)json_object_at(index, "images");
    (void)json_object_at(index, "layers");
    return index;
}

/* ---- checks ---- */

static struct err *check_layer(const char *diff_id, const json_t *layer)
{
    const char *dir = json_text(layer, "dir");

    if (!image_digest_is_valid(diff_id) || !dir || strlen(dir) != DIR_SIZE ||
        strspn(dir, "0123456789abcdef") != DIR_SIZE || json_int(layer, "sizeBytes", -1) < 0)
        return err_new(ERR_INVALID, "image index: layer '%.80s' is damaged", diff_id);
    return NULL;
}

static struct err *check_image(const char *id, const json_t *image, const json_t *layers)
{
    const json_t *item = NULL;
    size_t i = 0;

    if (!image_digest_is_valid(id))
        return err_new(ERR_INVALID, "image index: '%.80s' is no id of an image", id);
    if (json_array_size(json_object_get(image, "names")) > NAMES_MAX ||
        json_array_size(json_object_get(image, "layers")) > IMAGE_LAYERS_MAX)
        return err_new(ERR_INVALID, "image index: image %s has too many names or layers", id);
    json_array_foreach (json_object_get(image, "names"), i, item) {
        struct image_name name = {0};

        TRY(image_name_parse(json_string_value(item), &name));
    }
    json_array_foreach (json_object_get(image, "layers"), i, item)
        if (!json_is_string(item) || !json_object_get(layers, json_string_value(item)))
            return err_new(ERR_INVALID, "image index: a layer of image %s is missing", id);
    return image_config_check(json_object_get(image, "config"));
}

struct err *image_index_check(const json_t *j)
{
    json_t *images = json_object_get(j, "images");
    json_t *layers = json_object_get(j, "layers");
    const char *key = NULL;
    json_t *value = NULL;

    if (json_int(j, "version", 0) != 1 || !json_is_object(images) || !json_is_object(layers))
        return err_new(ERR_INVALID, "image index: want version 1 with images and layers");
    json_object_foreach (layers, key, value)
        TRY(check_layer(key, value));
    json_object_foreach (images, key, value)
        TRY(check_image(key, value, layers));
    return NULL;
}

/* ---- changes ---- */

static json_t *images_of(const json_t *index)
{
    return json_object_get(index, "images");
}

static json_t *layers_of(const json_t *index)
{
    return json_object_get(index, "layers");
}

void image_index_add(json_t *index, const char *id, const json_t *config, const json_t *diff_ids,
                     int64_t now_ns)
{
    json_t *image = json_object_at(images_of(index), id);

    (void)json_array_at(image, "names");
    json_put(image, "layers", json_deep_copy(diff_ids));
    json_put(image, "config", json_deep_copy(config));
    json_put_int(image, "usedAt", now_ns);
}

void image_index_add_layer(json_t *index, const char *diff_id, const char *dir, int64_t size_bytes,
                           bool is_opaque)
{
    json_t *layer = json_object_at(layers_of(index), diff_id);

    json_put_text(layer, "dir", dir);
    json_put_int(layer, "sizeBytes", size_bytes);
    json_put_bool(layer, "isOpaque", is_opaque);
}

void image_index_untag(json_t *index, const char *name)
{
    const char *id = NULL;
    json_t *image = NULL;

    json_object_foreach (images_of(index), id, image) {
        json_t *names = json_object_get(image, "names");

        for (size_t i = json_array_size(names); i > 0; i--)
            if (text_equal(json_string_value(json_array_get(names, i - 1)), name))
                (void)json_array_remove(names, i - 1);
    }
}

void image_index_tag(json_t *index, const char *id, const char *name)
{
    json_t *names = json_array_at(json_object_at(images_of(index), id), "names");

    image_index_untag(index, name);
    (void)json_array_append_new(names, json_string(name));
}

void image_index_remove(json_t *index, const char *id)
{
    (void)json_object_del(images_of(index), id);
}

json_t *image_index_sweep(json_t *index)
{
    AUTO(json_freep) json_t *wanted = json_object();
    json_t *dirs = json_array();
    const char *key = NULL;
    json_t *value = NULL;
    void *next = NULL;

    json_object_foreach (images_of(index), key, value) {
        const json_t *item = NULL;
        size_t i = 0;

        json_array_foreach (json_object_get(value, "layers"), i, item)
            json_put_bool(wanted, json_string_value(item), true);
    }
    json_object_foreach_safe (layers_of(index), next, key, value) {
        if (json_object_get(wanted, key))
            continue;
        (void)json_array_append_new(dirs, json_string(json_text(value, "dir")));
        (void)json_object_del(layers_of(index), key);
    }
    return dirs;
}

/* ---- queries ---- */

const json_t *image_index_layer(const json_t *index, const char *diff_id)
{
    return json_object_get(layers_of(index), diff_id);
}

const char *image_index_find(const json_t *index, const char *name)
{
    const char *id = NULL;
    json_t *image = NULL;

    json_object_foreach (images_of(index), id, image) {
        if (json_has_text(json_object_get(image, "names"), name))
            return id;
    }
    return NULL;
}

int64_t image_index_size(const json_t *index, const char *id)
{
    const json_t *ids = json_at(images_of(index), id, "layers", NULL);
    const json_t *item = NULL;
    int64_t sum = 0;
    size_t i = 0;

    json_array_foreach (ids, i, item) {
        int64_t size = json_int(image_index_layer(index, json_string_value(item)), "sizeBytes", 0);

        if (__builtin_add_overflow(sum, size, &sum))
            return INT64_MAX;
    }
    return sum;
}

/* An image may list a layer twice, which overlayfs refuses: only the upper one counts. */
static bool comes_above(const json_t *ids, size_t i)
{
    for (size_t k = i + 1; k < json_array_size(ids); k++)
        if (json_equal(json_array_get(ids, k), json_array_get(ids, i)))
            return true;
    return false;
}

char *image_index_lower_dirs(const json_t *index, const char *id)
{
    const json_t *ids = json_at(images_of(index), id, "layers", NULL);
    struct buf dirs = {0};

    for (size_t i = json_array_size(ids); i > 0; i--) {
        const json_t *layer =
            image_index_layer(index, json_string_value(json_array_get(ids, i - 1)));

        if (!layer || comes_above(ids, i - 1))
            continue;
        buf_printf(&dirs, "%s%s", dirs.size ? ":" : "", json_text(layer, "dir"));
        if (json_bool(layer, "isOpaque", false))
            break;
    }
    return buf_steal(&dirs);
}
