/* ref_watch.c - shared watches of ConfigMaps and Secrets */

#include "node/pod/ref_watch.h"

#include "base/log.h"
#include "base/map.h"
#include "client/informer.h"

struct ref_watch {
    struct map_handle handle;
    struct ref_watches *set;
    char *key; /* "NAMESPACE/configmaps/NAME" */
    unsigned n_takers;
    struct informer *informer;
    struct loop_timer *end; /* frees the informer, which its own callbacks may not */
    json_t *object;
    bool is_synced;
};

struct ref_watches {
    struct ref_watches_options o;
    struct ref_watch *watches;
    bool is_full_told;
};

struct ref_watches *ref_watches_new(const struct ref_watches_options *o)
{
    struct ref_watches *ws = mem_alloc(sizeof(*ws));

    ws->o = *o;
    return ws;
}

static void watch_free(struct ref_watch *w)
{
    map_remove(handle, w->set->watches, w);
    informer_free(w->informer);
    loop_timer_free(w->end);
    json_decref(w->object);
    free(w->key);
    free(w);
}

void ref_watches_free(struct ref_watches *ws)
{
    struct ref_watch *w = NULL;
    struct ref_watch *next = NULL;

    if (!ws)
        return;
    map_each (handle, ws->watches, w, next)
        watch_free(w);
    free(ws);
}

/* ---- answers of the server ---- */

static void ref_watch_tell(const struct ref_watch *w)
{
    if (w->is_synced)
        w->set->o.changed(w->set->o.arg, w);
}

static void on_ref_watch_end(void *arg)
{
    struct ref_watch *w = arg;

    informer_free(w->informer);
    w->informer = NULL;
}

static void ref_watch_on_put(void *arg, const json_t *object)
{
    struct ref_watch *w = arg;

    json_decref(w->object);
    w->object = json_incref((json_t *)(uintptr_t)object); /* read-only for all users */
    if (json_bool(object, "immutable", false))
        loop_timer_set(w->end, 0);
    ref_watch_tell(w);
}

static void on_ref_removed(void *arg, const json_t *object)
{
    struct ref_watch *w = arg;

    (void)object;
    json_decref(w->object);
    w->object = NULL;
    ref_watch_tell(w);
}

static void ref_watch_on_synced(void *arg)
{
    struct ref_watch *w = arg;
    bool was_synced = w->is_synced;

    w->is_synced = true;
    if (!was_synced)
        ref_watch_tell(w);
}

/* ---- take and give ---- */

/* Makes "/api/v1/namespaces/NS/configmaps?fieldSelector=metadata.name%3DNAME". */
static char *ref_watch_path(const char *ns, const char *ref)
{
    struct str name = str_of(ref);
    struct str plural = str_cut(&name, '/');

    return mem_format("/api/v1/namespaces/%s/" STR_FMT "?fieldSelector=metadata.name%%3D" STR_FMT,
                      ns, STR_ARG(plural), STR_ARG(name));
}

static struct ref_watch *watch_new(struct ref_watches *ws, const char *ns, const char *ref)
{
    struct ref_watch *w = mem_alloc(sizeof(*w));
    AUTO_FREE char *path = ref_watch_path(ns, ref);
    const struct informer_options o = {.client = ws->o.client,
                                       .loop = ws->o.loop,
                                       .path = path,
                                       .put = ref_watch_on_put,
                                       .removed = on_ref_removed,
                                       .synced = ref_watch_on_synced,
                                       .arg = w};

    w->set = ws;
    w->key = mem_format("%s/%s", ns, ref);
    w->end = loop_timer_new(ws->o.loop, on_ref_watch_end, w);
    map_add(handle, ws->watches, w->key, strlen(w->key), w);
    w->informer = informer_new(&o);
    return w;
}

struct ref_watch *ref_watch_take(struct ref_watches *ws, const char *ns, const char *ref)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, ref);
    struct ref_watch *w = NULL;

    map_find_text(handle, ws->watches, key, w);
    if (!w && map_count(handle, ws->watches) >= REF_WATCHES_MAX) {
        if (!ws->is_full_told)
            LOG(WARN, "volumes show too many objects: the changes of some are not followed",
                U("max", REF_WATCHES_MAX));
        ws->is_full_told = true;
        return NULL;
    }
    if (!w)
        w = watch_new(ws, ns, ref);
    w->n_takers++;
    return w;
}

void ref_watch_give(struct ref_watch *w)
{
    if (w && --w->n_takers == 0)
        watch_free(w);
}

bool ref_watch_is_synced(const struct ref_watch *w)
{
    return w->is_synced;
}

json_t *ref_watch_object(const struct ref_watch *w)
{
    return w->object;
}
