/* image_gc.c - garbage collection of images */

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/image/images_private.h"

static const int64_t LOOK_NS = 60 * NS_PER_SEC;
/* An image that just came will soon be used. */
static const int64_t YOUNG_NS = 120 * NS_PER_SEC;

struct collecting {
    struct images *images;
    bool is_all;
    bool is_by_disk; /* only the oldest image */
    image_gc_fn done;
    void *arg;
    size_t n_removed;
    int64_t bytes;
};

static int64_t layers_bytes(const json_t *index)
{
    const char *id = NULL;
    json_t *layer = NULL;
    int64_t sum = 0;

    json_object_foreach (json_object_get(index, "layers"), id, layer)
        if (__builtin_add_overflow(sum, json_int(layer, "sizeBytes", 0), &sum))
            return INT64_MAX;
    return sum;
}

static bool has_tag(const struct image *m)
{
    return json_array_size(m->names) > 0;
}

static bool is_young(const struct images *i, const struct image *m)
{
    return loop_wall_ns(i->o.loop) - images_used_ns(i, m->id) < YOUNG_NS;
}

/* The image to remove first: one without names, else the least recently used; NULL: none may go. */
static const struct image *gc_find_oldest(const struct images *i)
{
    const struct image *best = NULL;

    for (size_t k = 0; k < i->n; k++) {
        const struct image *m = i->list[k];

        if (images_is_used(i, m->id) || is_young(i, m))
            continue;
        if (!best || has_tag(m) < has_tag(best) ||
            (has_tag(m) == has_tag(best) && images_used_ns(i, m->id) < images_used_ns(i, best->id)))
            best = m;
    }
    return best;
}

static struct err *gc_make_commit(void *arg, json_t *index, struct image_commit *commit)
{
    struct collecting *g = arg;
    const struct images *i = g->images;
    const struct image *chosen = g->is_by_disk ? gc_find_oldest(i) : NULL;
    int64_t before = layers_bytes(index);
    AUTO(json_freep) json_t *trial = NULL;

    (void)commit;
    for (size_t k = 0; k < i->n; k++) {
        const struct image *m = i->list[k];
        bool goes = g->is_by_disk ? m == chosen : g->is_all || !has_tag(m);

        if (!goes || images_is_used(i, m->id))
            continue;
        LOG(INFO, "image removed", S("id", m->id), S("why", g->is_by_disk ? "disk" : "asked"));
        image_index_remove(index, m->id);
        g->n_removed++;
    }
    trial = json_deep_copy(index);
    json_decref(image_index_sweep(trial));
    g->bytes = before - layers_bytes(trial);
    return NULL;
}

static void on_gc_collected(void *arg, const struct err *e)
{
    struct collecting *g = arg;

    if (g->done)
        g->done(g->arg, e, g->n_removed, g->bytes);
    free(g);
}

static void gc_collect(const struct collecting *what)
{
    struct image_commit *c = mem_alloc(sizeof(*c));

    *c = (struct image_commit){
        .make = gc_make_commit, .done = on_gc_collected, .arg = mem_dup(what, sizeof(*what))};
    images_commit(what->images, c);
}

void images_gc(struct images *i, bool is_all, image_gc_fn done, void *arg)
{
    const struct collecting g = {.images = i, .is_all = is_all, .done = done, .arg = arg};

    gc_collect(&g);
}

/* ---- for a full disk ---- */

struct look {
    struct images *images;
    char *dir;
    int64_t used_pct;
};

static struct err *gc_look(void *message)
{
    struct look *l = message;

    return image_disk_used_pct(l->dir, &l->used_pct);
}

static void gc_look_later(struct images *i, int64_t delay_ns)
{
    loop_timer_set(i->gc_timer, delay_ns);
}

static void on_gc_removed(void *arg, const struct err *e, size_t n, int64_t bytes)
{
    struct images *i = arg;

    (void)bytes;
    if (e)
        LOG(WARN, "images could not be removed", E(e));
    if (n == 0 && !i->is_full_told) /* log it once */
        LOG(WARN, "the disk is nearly full, and every image is in use or new");
    i->is_full_told = n == 0;
    i->is_collecting = n > 0;
    /* The worker removes the files before its next look. */
    gc_look_later(i, e || n == 0 ? LOOK_NS : 0);
}

/* Collects from the high mark down to the low mark. */
static void on_gc_look(void *message, const struct err *e)
{
    struct look *l = message;
    struct images *i = l->images;
    const struct collecting g = {.images = i, .is_by_disk = true, .done = on_gc_removed, .arg = i};
    int64_t mark = i->is_collecting ? i->o.keep_pct_low : i->o.keep_pct_high;

    if (e)
        LOG(WARN, "disk usage cannot be read", E(e));
    if (!e && l->used_pct >= mark && !i->jobs) {
        gc_collect(&g);
    } else {
        i->is_collecting = false;
        i->is_full_told = i->is_full_told && !e && l->used_pct >= mark;
        gc_look_later(i, LOOK_NS);
    }
    free(l->dir);
    free(l);
}

static void on_gc_timer(void *arg)
{
    struct images *i = arg;
    struct look *l = mem_alloc(sizeof(*l));

    *l = (struct look){.images = i, .dir = mem_strdup(i->dir)};
    worker_give(i->o.worker, gc_look, on_gc_look, l);
}

void images_gc_begin(struct images *i)
{
    i->gc_timer = loop_timer_new(i->o.loop, on_gc_timer, i);
}

void images_gc_end(struct images *i)
{
    loop_timer_free(i->gc_timer);
    i->gc_timer = NULL;
}

void images_settled(struct images *i)
{
    if (!i->is_settled)
        gc_look_later(i, LOOK_NS);
    i->is_settled = true;
}
