/* image_result.c - checks the unpacker's result, which is untrusted, and enters it into the index
 */

#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"
#include "node/image/image_job.h"
#include "node/image/image_manifest.h"

void job_take_line(struct image_job *j, struct str line)
{
    AUTO(json_freep) json_t *said = NULL;
    AUTO(err_freep) struct err *e = json_parse(line, &said);
    const char *progress = json_text(said, "progress");

    if (e)
        return; /* its exit code tells the failure */
    if (progress) {
        job_progress(j, progress);
        return;
    }
    json_decref(j->result);
    j->result = TAKE(said);
}

/* ---- names ---- */

/* In OCI layouts, a word alone is a tag without repository. */
static bool is_whole_name(const char *text)
{
    return text && strpbrk(text, "/:@") != NULL;
}

static size_t add_names(const struct image_job *j, const json_t *image, json_t *index)
{
    const json_t *item = NULL;
    size_t n = 0;
    size_t i = 0;

    json_array_foreach (json_object_get(image, "names"), i, item) {
        struct image_name name = {0};
        char text[IMAGE_NAME_SIZE];
        AUTO(err_freep)
        struct err *e = is_whole_name(json_string_value(item))
                            ? image_name_parse(json_string_value(item), &name)
                            : err_new(ERR_INVALID, "not a name");

        if (e)
            continue;
        image_name_format(&name, text);
        image_index_tag(index, j->id, text);
        n++;
    }
    return n;
}

static struct err *put_names(const struct image_job *j, const json_t *image, json_t *index)
{
    char text[IMAGE_NAME_SIZE];

    if (!j->given) {
        if (add_names(j, image, index) == 0)
            return err_new(ERR_INVALID, "the archive does not name its image: give a name");
        return NULL;
    }
    image_name_format(&j->name, text);
    image_index_tag(index, j->id, text);
    if (j->is_pull && !j->name.digest[0]) {
        AUTO_FREE char *pinned = mem_format("%s@%s", j->name.repository, j->digest);

        image_index_tag(index, j->id, pinned);
    }
    return NULL;
}

/* ---- layers ---- */

static char *free_dir(const struct images *i)
{
    for (;;) {
        uint32_t number = 0;
        AUTO_FREE char *name = NULL;
        AUTO_FREE char *path = NULL;

        random_bytes(&number, sizeof(number));
        name = mem_format("%08x", number);
        path = mem_format("%s/%s", i->layer_dir, name);
        if (!file_exists(path))
            return TAKE(name);
    }
}

static struct err *put_layer(const struct image_job *j, const json_t *layer, json_t *index,
                             struct image_commit *c)
{
    const char *diff_id = json_text(layer, "diffId");
    int64_t number = json_int(layer, "index", -1);
    int64_t size_bytes = json_int(layer, "sizeBytes", -1);
    AUTO_FREE char *dir = NULL;

    if (!image_digest_is_valid(diff_id))
        return err_new(ERR_INTERNAL, "the unpacker reported a layer without a digest");
    if (image_index_layer(index, diff_id))
        return NULL; /* present before, added meanwhile, or listed twice */
    if (number < 0 || number >= IMAGE_LAYERS_MAX || size_bytes < 0)
        return err_new(ERR_UNAVAILABLE, "layer %s was removed meanwhile: try again", diff_id);
    dir = free_dir(j->images);
    image_index_add_layer(index, diff_id, dir, size_bytes, json_bool(layer, "isOpaque", false));
    vec_add(&c->moves, (struct image_move){.from = mem_format("%s/layers/%d", j->dir, (int)number),
                                           .to = mem_format("%s/%s", j->images->layer_dir, dir)});
    return NULL;
}

/* ---- commit ---- */

static struct err *result_make_commit(void *arg, json_t *index, struct image_commit *c)
{
    struct image_job *j = arg;
    const json_t *image = json_object_get(j->result, "image");
    const json_t *config = json_object_get(image, "config");
    const json_t *layers = json_object_get(image, "layers");
    const char *id = json_text(image, "id");
    AUTO(json_freep) json_t *diff_ids = json_array();
    const json_t *item = NULL;
    size_t i = 0;

    if (!image_digest_is_valid(id) || json_array_size(layers) > IMAGE_LAYERS_MAX)
        return err_new(ERR_INTERNAL, "the unpacker reported no image");
    TRY(image_config_check(config));
    (void)snprintf(j->id, sizeof(j->id), "%s", id);
    json_array_foreach (layers, i, item) {
        TRY(put_layer(j, item, index, c));
        (void)json_array_append_new(diff_ids, json_string(json_text(item, "diffId")));
    }
    image_index_add(index, id, config, diff_ids, loop_wall_ns(j->images->o.loop));
    return put_names(j, image, index);
}

static void on_result_committed(void *arg, const struct err *e)
{
    struct image_job *j = arg;

    j->is_committing = false;
    if (e)
        job_fail(j, err_new(err_code(e), "%s", err_message(e)));
    else
        job_succeed(j);
}

void job_commit(struct image_job *j)
{
    struct image_commit *c = mem_alloc(sizeof(*c));

    *c = (struct image_commit){.make = result_make_commit, .done = on_result_committed, .arg = j};
    j->is_committing = true;
    images_commit(j->images, c);
}
