/* node_images.c - the image store of a node, for pods and the server */

#include "node/node_images.h"

#include "base/log.h"
#include "base/mem.h"
#include "node/image/image_store_linux.h"
#include "node/image/image_streams.h"

enum {
    SHOWN_MAX = 50
};

struct node_images {
    struct worker *worker;
    struct images *images;
    struct image_streams *streams;
    struct image_source source;
    bool is_shift_missing;
};

/* ---- for the pods ---- */

static const struct image *source_find(void *arg, const char *name)
{
    return images_find(arg, name);
}

static char *source_lower_dirs(void *arg, const char *id)
{
    return images_lower_dirs(arg, id);
}

static const char *source_layer_dir(void *arg)
{
    return images_layer_dir(arg);
}

static void *source_pull(void *arg, const struct image_pull *p)
{
    struct image_pulling *pulling = NULL;

    images_pull(arg, p, &pulling);
    return pulling;
}

static void source_forget(void *pulling)
{
    image_pull_forget(pulling);
}

static void source_use(void *arg, const char *id, const char *pod_uid)
{
    images_use(arg, id, pod_uid);
}

static void source_unuse(void *arg, const char *pod_uid)
{
    images_unuse(arg, pod_uid);
}

const struct image_source *node_images_source(const struct node_images *n)
{
    return &n->source;
}

bool node_images_is_shift_missing(const struct node_images *n)
{
    return n->is_shift_missing;
}

/* ---- for the server ---- */

void node_images_serve(struct node_images *n, struct uplink *u)
{
    struct stream_service service;

    n->streams = image_streams_new(n->images, uplink_out(u));
    service = image_streams_service(n->streams);
    uplink_serve(u, &service);
}

void node_images_settled(struct node_images *n)
{
    images_settled(n->images);
}

static int compare_sizes(const void *a, const void *b)
{
    const struct image *x = *(const struct image *const *)a;
    const struct image *y = *(const struct image *const *)b;

    if (x->size_bytes != y->size_bytes)
        return x->size_bytes < y->size_bytes ? 1 : -1;
    return strcmp(x->id, y->id);
}

json_t *node_images_format(const struct node_images *n)
{
    size_t count = 0;
    const struct image *const *list = images_list(n->images, &count);
    AUTO_FREE const struct image **sorted = mem_alloc((count + 1) * sizeof(*sorted));
    json_t *shown = json_array();

    for (size_t i = 0; i < count; i++)
        sorted[i] = list[i];
    if (count > 0)
        qsort(sorted, count, sizeof(*sorted), compare_sizes);
    for (size_t i = 0; i < count && i < SHOWN_MAX; i++) {
        json_t *item = json_object();

        json_put(item, "names", json_deep_copy(sorted[i]->names));
        json_put_int(item, "sizeBytes", sorted[i]->size_bytes);
        (void)json_array_append_new(shown, item);
    }
    return shown;
}

/* ---- start and end ---- */

struct err *node_images_new(const struct node_images_options *o, struct node_images **ret)
{
    AUTO_FREE char *dir = mem_format("%s/images", o->dir);
    AUTO_FREE char *registries = mem_format("%s/registries.conf", o->dir);
    AUTO_FREE char *trial = mem_format("%s/images/work/trial", o->dir);
    struct node_images *n = mem_alloc(sizeof(*n));
    struct images_options io = {.loop = o->loop,
                                .dir = dir,
                                .self_path = o->self_path,
                                .architecture = o->architecture,
                                .registries = registries,
                                .changed = o->changed,
                                .arg = o->arg};
    struct err *e = worker_new(o->loop, &n->worker);

    io.worker = n->worker;
    if (!e)
        e = images_new(&io, &n->images);
    if (e) {
        node_images_stop(n);
        node_images_free(n);
        return e;
    }
    n->source = (struct image_source){.find = source_find,
                                      .lower_dirs = source_lower_dirs,
                                      .layer_dir = source_layer_dir,
                                      .pull = source_pull,
                                      .forget = source_forget,
                                      .use = source_use,
                                      .unuse = source_unuse,
                                      .arg = n->images};
    n->is_shift_missing = !image_root_can_shift(trial);
    if (n->is_shift_missing)
        LOG(WARN,
            "this file system or kernel cannot shift owners: all pods share one range of "
            "user ids",
            S("dir", dir));
    *ret = n;
    return NULL;
}

void node_images_stop(struct node_images *n)
{
    if (!n)
        return;
    worker_free(n->worker); /* finishes its jobs first */
    n->worker = NULL;
    image_streams_free(n->streams);
    n->streams = NULL;
}

void node_images_free(struct node_images *n)
{
    if (!n)
        return;
    images_free(n->images);
    free(n);
}
