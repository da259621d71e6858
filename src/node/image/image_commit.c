/* image_commit.c - changes of the image index, one at a time */

#include <stdio.h>

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "node/image/driver_layer.h"
#include "node/image/images_private.h"

/* ---- the list ---- */

static const json_t *list_or_null(const json_t *config, const char *key)
{
    const json_t *list = json_object_get(config, key);

    return json_array_size(list) > 0 ? list : NULL;
}

static struct image image_of(const struct images *i, const char *id, const json_t *j)
{
    const json_t *config = json_object_get(j, "config");

    return (struct image){.id = id,
                          .names = json_object_get(j, "names"),
                          .size_bytes = image_index_size(i->index, id),
                          .user = json_text(config, "user"),
                          .env = json_object_get(config, "env"),
                          .entrypoint = list_or_null(config, "entrypoint"),
                          .command = list_or_null(config, "command"),
                          .working_dir = json_text_filled(config, "workingDir"),
                          .stop_signal = json_text_filled(config, "stopSignal"),
                          .used_ns = json_int(j, "usedAt", 0)};
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const struct image *)a)->id, ((const struct image *)b)->id);
}

void images_index_set(struct images *i, json_t *index)
{
    json_t *images = json_object_get(index, "images");
    const char *id = NULL;
    json_t *j = NULL;
    size_t n = 0;

    free(i->images);
    free(i->list);
    json_decref(i->index);
    i->index = index;
    i->images = mem_alloc((json_object_size(images) + 1) * sizeof(*i->images));
    i->list = mem_alloc((json_object_size(images) + 1) * sizeof(*i->list));
    json_object_foreach (images, id, j)
        i->images[n++] = image_of(i, id, j);
    i->n = n;
    if (n > 0)
        qsort(i->images, n, sizeof(*i->images), compare_ids);
    for (size_t k = 0; k < n; k++)
        i->list[k] = &i->images[k];
}

/* ---- unused directories ---- */

struct discard {
    char *path;
};

static struct err *discard_work(void *message)
{
    return dir_remove(((struct discard *)message)->path);
}

static void on_discarded(void *message, const struct err *e)
{
    struct discard *d = message;

    if (e)
        LOG(WARN, "unused layer could not be removed", S("path", d->path), E(e));
    free(d->path);
    free(d);
}

void images_discard(struct images *i, char *path)
{
    struct discard *d = mem_alloc(sizeof(*d));

    d->path = path;
    worker_give(i->o.worker, discard_work, on_discarded, d);
}

/* ---- commits ---- */

static void commit_free(struct image_commit *c)
{
    for (size_t k = 0; k < c->moves.n; k++) {
        free(c->moves.at[k].from);
        free(c->moves.at[k].to);
    }
    vec_done(&c->moves);
    json_decref(c->index);
    json_decref(c->trash);
    free(c->text);
    free(c);
}

static void commit_next(struct images *i);

static struct err *commit_work(void *message)
{
    const struct image_commit *c = message;
    const struct image_commit_work w = {.moves = c->moves.at,
                                        .n_moves = c->moves.n,
                                        .layer_dir = c->images->layer_dir,
                                        .index_path = c->images->index_path,
                                        .index_text = c->text};

    return c->text ? image_store_commit(&w) : NULL;
}

/* Removes a layer, and the links to drivers above it. What stays is removed at the next start. */
static void discard_layer(struct images *i, const char *layer)
{
    char **names = NULL;
    size_t n = 0;
    AUTO(err_freep) struct err *e = dir_list(i->layer_dir, &names, &n);

    if (e)
        LOG(WARN, "layer stays", S("layer", layer), E(e));
    for (size_t k = 0; k < n; k++) {
        AUTO_FREE char *owner = driver_layer_owner(names[k]);

        if (text_equal(owner, layer))
            images_discard(i, mem_format("%s/%s", i->layer_dir, names[k]));
    }
    names_free(names, n);
}

static void discard_rest(struct image_commit *c, bool has_failed)
{
    struct images *i = c->images;
    const json_t *item = NULL;
    size_t k = 0;

    for (k = 0; has_failed && k < c->moves.n; k++)
        images_discard(i, mem_strdup(c->moves.at[k].to));
    if (has_failed)
        return;
    json_array_foreach (c->trash, k, item)
        discard_layer(i, json_string_value(item));
}

static void on_committed(void *message, const struct err *e)
{
    struct image_commit *c = message;
    struct images *i = c->images;
    bool is_changed = !e && c->text;

    LIST_REMOVE(i->commits, c);
    i->is_committing = false;
    discard_rest(c, e != NULL);
    if (is_changed) {
        images_index_set(i, json_incref(c->index));
        if (i->o.changed)
            i->o.changed(i->o.arg);
    }
    if (c->done)
        c->done(c->arg, e);
    commit_free(c);
    commit_next(i);
}

static struct err *do_nothing(void *message)
{
    (void)message;
    return NULL;
}

/* A failure of `make`, reported in its own turn of the loop. */
struct refusal {
    struct image_commit *commit;
    struct err *e;
};

static void on_refused(void *message, const struct err *e)
{
    struct refusal *r = message;

    (void)e;
    on_committed(r->commit, r->e);
    err_free(r->e);
    free(r);
}

static void commit_next(struct images *i)
{
    struct image_commit *c = i->commits;
    struct err *e;

    if (!c || i->is_committing)
        return;
    i->is_committing = true;
    c->index = json_deep_copy(i->index);
    e = c->make(c->arg, c->index, c);
    if (e) {
        struct refusal *r = mem_alloc(sizeof(*r));

        *r = (struct refusal){.commit = c, .e = e};
        worker_give(i->o.worker, do_nothing, on_refused, r);
        return;
    }
    c->trash = image_index_sweep(c->index);
    if (!json_equal(c->index, i->index))
        c->text = json_format(c->index);
    worker_give(i->o.worker, commit_work, on_committed, c);
}

void images_commit(struct images *i, struct image_commit *c)
{
    c->images = i;
    LIST_ADD(i->commits, c);
    commit_next(i);
}

void images_commits_free(struct images *i)
{
    struct image_commit *c = NULL;

    LIST_EACH (i->commits, c) {
        LIST_REMOVE(i->commits, c);
        commit_free(c);
    }
}
