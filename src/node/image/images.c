/* images.c - the image store: uses, queries, removal, start */

#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "node/image/driver_layer.h"
#include "node/image/images_private.h"

enum {
    KEEP_PCT_HIGH = 85,
    KEEP_PCT_LOW = 80,
    SHORT_ID_MIN = 6
};

/* ---- uses ---- */

static struct image_use *find_use(const struct images *i, const char *id, const char *pod_uid)
{
    VEC_EACH (&i->uses, u)
        if (text_equal(u->pod_uid, pod_uid) && (!id || text_equal(u->id, id)))
            return u;
    return NULL;
}

static void images_touch(struct images *i, const char *id)
{
    json_put_int(i->used, id, loop_wall_ns(i->o.loop));
}

void images_use(struct images *i, const char *id, const char *pod_uid)
{
    images_touch(i, id);
    if (!find_use(i, id, pod_uid))
        vec_add(&i->uses, (struct image_use){.id = mem_strdup(id), .pod_uid = mem_strdup(pod_uid)});
}

void images_unuse(struct images *i, const char *pod_uid)
{
    for (size_t k = i->uses.n; k > 0; k--) {
        struct image_use u = i->uses.at[k - 1];

        if (!text_equal(u.pod_uid, pod_uid))
            continue;
        images_touch(i, u.id);
        vec_remove(&i->uses, k - 1);
        free(u.id);
        free(u.pod_uid);
    }
}

size_t images_uses(const struct images *i, const char *id)
{
    size_t n = 0;

    VEC_EACH (&i->uses, u)
        n += text_equal(u->id, id);
    return n;
}

bool images_is_used(const struct images *i, const char *id)
{
    return images_uses(i, id) > 0;
}

int64_t images_used_ns(const struct images *i, const char *id)
{
    int64_t told = json_int(json_object_get(json_object_get(i->index, "images"), id), "usedAt", 0);
    int64_t own = json_int(i->used, id, 0);

    return own > told ? own : told;
}

/* ---- queries ---- */

static const struct image *find_id(const struct images *i, const char *id)
{
    for (size_t k = 0; k < i->n; k++)
        if (text_equal(i->list[k]->id, id))
            return i->list[k];
    return NULL;
}

const struct image *images_find(const struct images *i, const char *name)
{
    AUTO(err_freep) struct err *e = NULL;
    struct image_name parsed = {0};
    char text[IMAGE_NAME_SIZE];
    const char *id;

    if (image_digest_is_valid(name))
        return find_id(i, name);
    e = image_name_parse(name, &parsed);
    if (e)
        return NULL;
    image_name_format(&parsed, text);
    id = image_index_find(i->index, text);
    return id ? find_id(i, id) : NULL;
}

const struct image *images_find_short(const struct images *i, const char *name)
{
    const struct image *found = images_find(i, name);
    const char *digits = text_starts_with(name, "sha256:") ? name + strlen("sha256:") : name;
    size_t n = 0;

    if (found || strlen(digits) < SHORT_ID_MIN)
        return found;
    for (size_t k = 0; k < i->n; k++) {
        if (!text_starts_with(i->list[k]->id + strlen("sha256:"), digits))
            continue;
        found = i->list[k];
        n++;
    }
    return n == 1 ? found : NULL;
}

const struct image *const *images_list(const struct images *i, size_t *ret_count)
{
    *ret_count = i->n;
    return i->list;
}

char *images_lower_dirs(const struct images *i, const char *id)
{
    return image_index_lower_dirs(i->index, id);
}

const char *images_layer_dir(const struct images *i)
{
    return i->layer_dir;
}

/* ---- removal ---- */

struct image_removal {
    struct images *images;
    char *name;
    char id[IMAGE_DIGEST_SIZE];
    image_done_fn done;
    void *arg;
};

/* Has the image another name? Digest names, which come with a pull, do not keep an image. */
static bool has_other_name(const json_t *names, const char *name)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (names, i, item)
        if (!text_equal(json_string_value(item), name) && !strchr(json_string_value(item), '@'))
            return true;
    return false;
}

static struct err *make_removal(void *arg, json_t *index, struct image_commit *c)
{
    struct image_removal *r = arg;
    const struct image *m = images_find_short(r->images, r->name);
    struct image_name parsed = {0};
    char text[IMAGE_NAME_SIZE] = "";
    AUTO(err_freep) struct err *e = NULL;

    (void)c;
    if (!m)
        return err_new(ERR_NOT_FOUND, "image '%s' is not on this machine", r->name);
    (void)snprintf(r->id, sizeof(r->id), "%s", m->id);
    e = image_name_parse(r->name, &parsed);
    if (!e)
        image_name_format(&parsed, text);
    if (image_index_find(index, text) && has_other_name(m->names, text)) {
        image_index_untag(index, text);
        return NULL;
    }
    if (images_is_used(r->images, m->id))
        return err_new(ERR_CONFLICT, "image '%s' is in use by %zu pods", r->name,
                       images_uses(r->images, m->id));
    image_index_remove(index, m->id);
    return NULL;
}

static void on_removal_committed(void *arg, const struct err *e)
{
    struct image_removal *r = arg;

    r->done(r->arg, e, e ? NULL : r->id);
    free(r->name);
    free(r);
}

void images_remove(struct images *i, const char *name, image_done_fn done, void *arg)
{
    struct image_removal *r = mem_alloc(sizeof(*r));
    struct image_commit *c = mem_alloc(sizeof(*c));

    *r = (struct image_removal){.images = i, .name = mem_strdup(name), .done = done, .arg = arg};
    *c = (struct image_commit){.make = make_removal, .done = on_removal_committed, .arg = r};
    images_commit(i, c);
}

/* ---- start and end ---- */

static struct err *read_index(const struct images *i, json_t **ret)
{
    AUTO(buf_done) struct buf text = {0};
    AUTO(json_freep) json_t *index = NULL;
    struct err *e = file_read(i->index_path, IMAGE_INDEX_BYTES_MAX, &text);

    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        *ret = image_index_new();
        return NULL;
    }
    if (e)
        return e;
    TRY(json_parse((struct str){text.at, text.size}, &index));
    TRY(image_index_check(index));
    *ret = TAKE(index);
    return NULL;
}

/* Drops images whose layers were removed by hand. */
static void drop_broken(const struct images *i, json_t *index)
{
    json_t *images = json_object_get(index, "images");
    const char *id = NULL;
    json_t *image = NULL;
    void *next = NULL;

    json_object_foreach_safe (images, next, id, image) {
        const json_t *item = NULL;
        size_t k = 0;

        json_array_foreach (json_object_get(image, "layers"), k, item) {
            const json_t *layer = image_index_layer(index, json_string_value(item));
            AUTO_FREE char *path = mem_format("%s/%s", i->layer_dir, json_text(layer, "dir"));

            if (file_exists(path))
                continue;
            LOG(ERROR, "image with a missing layer removed", S("id", id), S("path", path));
            (void)json_object_del(images, id);
            break;
        }
    }
    json_decref(image_index_sweep(index));
}

/* Removes directories that an interrupted process has left, and links to drivers for layers that
 * are gone. */
static struct err *discard_leftovers(struct images *i, const char *dir, const json_t *index)
{
    AUTO(json_freep) json_t *known = json_object();
    const char *id = NULL;
    json_t *layer = NULL;
    char **names = NULL;
    size_t n = 0;

    json_object_foreach (json_object_get(index, "layers"), id, layer)
        json_put_bool(known, json_text(layer, "dir"), true);
    TRY(dir_list(dir, &names, &n));
    for (size_t k = 0; k < n; k++) {
        AUTO_FREE char *owner = driver_layer_owner(names[k]);

        if (!json_object_get(known, owner))
            images_discard(i, mem_format("%s/%s", dir, names[k]));
    }
    names_free(names, n);
    return NULL;
}

static struct err *images_begin(struct images *i)
{
    json_t *index = NULL;
    struct err *e;

    TRY(dir_make(i->dir, 0700));
    /* Below an idmapped mount, its owner is unmapped, so only the rights for all count. */
    TRY(dir_make(i->layer_dir, 0711));
    TRY(dir_make(i->work_dir, 0700));
    e = read_index(i, &index);
    if (e)
        return err_wrap(e, "read %s (without it this machine begins with no images)",
                        i->index_path);
    drop_broken(i, index);
    images_index_set(i, index);
    TRY(discard_leftovers(i, i->layer_dir, index));
    return discard_leftovers(i, i->work_dir, NULL);
}

struct err *images_new(const struct images_options *o, struct images **ret)
{
    struct images *i = mem_alloc(sizeof(*i));
    struct err *e;

    i->o = *o;
    i->o.keep_pct_high = o->keep_pct_high ? o->keep_pct_high : KEEP_PCT_HIGH;
    i->o.keep_pct_low = o->keep_pct_low ? o->keep_pct_low : KEEP_PCT_LOW;
    i->dir = mem_strdup(o->dir);
    i->layer_dir = mem_format("%s/layers", o->dir);
    i->work_dir = mem_format("%s/work", o->dir);
    i->index_path = mem_format("%s/index.json", o->dir);
    i->self_path = mem_strdup(o->self_path);
    i->architecture = mem_strdup(o->architecture);
    i->registries = o->registries ? mem_strdup(o->registries) : NULL;
    i->used = json_object();
    images_gc_begin(i);
    e = images_begin(i);
    if (e) {
        images_free(i);
        return e;
    }
    *ret = i;
    return NULL;
}

void images_free(struct images *i)
{
    if (!i)
        return;
    images_gc_end(i);
    image_jobs_free(i);
    images_commits_free(i);
    VEC_EACH (&i->uses, u) {
        free(u->id);
        free(u->pod_uid);
    }
    vec_done(&i->uses);
    json_decref(i->used);
    json_decref(i->index);
    free(i->images);
    free(i->list);
    free(i->registries);
    free(i->architecture);
    free(i->self_path);
    free(i->index_path);
    free(i->work_dir);
    free(i->layer_dir);
    free(i->dir);
    free(i);
}
