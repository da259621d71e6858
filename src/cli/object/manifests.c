/* manifests.c - objects from manifest files */

#include "cli/object/manifests.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cli/term/terminal.h"

static struct err *add_object(const char *name, json_t *object, json_t *objects)
{
    json_t *items = json_object_get(object, "items");
    const char *kind = json_text(object, "kind");
    json_t *item;
    size_t i;

    if (!json_is_object(object))
        return err_new(ERR_BAD_REQUEST, "%s: want objects with apiVersion and kind", name);
    if (!kind)
        return err_new(ERR_BAD_REQUEST, "%s: an object without kind", name);
    if (!text_ends_with(kind, "List") || !json_is_array(items)) {
        if (json_array_size(objects) >= MANIFEST_OBJECTS_MAX)
            return err_new(ERR_TOO_LARGE, "%s: more than %d objects", name,
                           (int)MANIFEST_OBJECTS_MAX);
        (void)json_array_append(objects, object);
        return NULL;
    }
    json_array_foreach (items, i, item)
        TRY(json_is_array(json_object_get(item, "items"))
                ? err_new(ERR_BAD_REQUEST, "%s: a list in a list", name)
                : add_object(name, item, objects));
    return NULL;
}

struct err *manifests_parse(const char *name, struct str text, json_t *objects)
{
    AUTO(json_freep) json_t *documents = NULL;
    json_t *document;
    size_t i;

    TRY(yaml_parse(name, text, &documents));
    json_array_foreach (documents, i, document)
        TRY(add_object(name, document, objects));
    return NULL;
}

static struct err *read_file(const char *path, json_t *objects)
{
    struct buf b = {0};
    struct err *e = file_read(path, MANIFEST_BYTES_MAX, &b);

    if (!e)
        e = manifests_parse(path, (struct str){.at = b.at, .size = b.size}, objects);
    buf_done(&b);
    return e;
}

static struct err *read_directory(const char *path, char **names, size_t n, json_t *objects)
{
    size_t n_read = 0;

    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *file = NULL;

        if (!text_ends_with(names[i], ".yaml") && !text_ends_with(names[i], ".yml") &&
            !text_ends_with(names[i], ".json"))
            continue;
        file = mem_format("%s/%s", path, names[i]);
        TRY(read_file(file, objects));
        n_read++;
    }
    if (n_read == 0)
        return err_new(ERR_NOT_FOUND, "%s has no *.yaml, *.yml or *.json", path);
    return NULL;
}

static struct err *read_path(const char *path, json_t *objects)
{
    char **names = NULL;
    size_t n = 0;
    struct err *e = dir_list(path, &names, &n);

    if (e) { /* not a directory: reading it as a file reports the error, if any */
        err_free(e);
        return read_file(path, objects);
    }
    e = read_directory(path, names, n, objects);
    names_free(names, n);
    return e;
}

static struct err *read_stdin(json_t *objects)
{
    struct buf b = {0};
    struct err *e = stdin_read(MANIFEST_BYTES_MAX, &b);

    if (!e)
        e = manifests_parse("standard input", (struct str){.at = b.at, .size = b.size}, objects);
    buf_done(&b);
    return e;
}

struct err *manifests_read(struct cli *c, json_t **ret)
{
    AUTO(json_freep) json_t *objects = json_array();
    const char *path;

    for (size_t i = 0; (path = flag_repeated(c->in, "file", i)); i++)
        TRY(text_equal(path, "-") ? read_stdin(objects) : read_path(path, objects));
    if (json_array_size(objects) == 0)
        return err_new(ERR_BAD_REQUEST, "the manifests contain no object");
    *ret = TAKE(objects);
    return NULL;
}
