/* own_volumes.c - erases volumes, and tells the server */

#include "node/volume/own_volumes.h"

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "client/informer.h"
#include "kinds/storage/storage.h"
#include "node/volume/claim_disk.h"

static const int64_t AGAIN_NS = 2 * NS_PER_SEC;

/* A volume that is being erased. */
struct erasing {
    struct erasing *prev;
    struct erasing *next;
    struct own_volumes *set;
    char *name;
    char *dir;
    struct client_call *call; /* NULL: in the worker */
};

struct own_volumes {
    struct own_volumes_options o;
    struct informer *informer;
    struct erasing *erasing;
    struct loop_timer *timer;
};

static void erasing_free(struct erasing *e)
{
    LIST_REMOVE(e->set->erasing, e);
    free(e->name);
    free(e->dir);
    free(e);
}

/* A failure is tried again with all volumes. */
static void erasing_failed(struct erasing *e, const struct err *why)
{
    LOG(WARN, "a volume could not be erased, will be tried again", S("volume", e->name), E(why));
    loop_timer_set(e->set->timer, AGAIN_NS);
    erasing_free(e);
}

static void on_told(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct erasing *x = arg;
    AUTO(err_freep) struct err *failed = client_error(e, reply);

    if (failed && err_code(failed) != ERR_NOT_FOUND)
        erasing_failed(x, failed);
    else
        erasing_free(x);
}

static void tell(struct erasing *x)
{
    AUTO_FREE char *path = mem_format("/api/v1/persistentvolumes/%s/status", x->name);
    const struct client_request r = {.method = "PATCH",
                                     .path = path,
                                     .content_type = "application/merge-patch+json",
                                     .body =
                                         STR("{\"status\":{\"reason\":\"" STORAGE_ERASED "\"}}")};

    client_send(x->set->o.client, &r, on_told, x, &x->call);
}

static struct err *erase(void *message)
{
    const struct erasing *x = message;

    return claim_disk_erase(x->dir);
}

static void on_erased(void *message, const struct err *e)
{
    struct erasing *x = message;

    if (e) {
        erasing_failed(x, e);
        return;
    }
    LOG(INFO, "volume erased", S("volume", x->name));
    tell(x);
}

/* Is the volume the node's, and free to be erased? A name is a part of a path. */
static bool is_to_erase(const struct own_volumes *set, const json_t *volume, const char *name)
{
    const json_t *finalizers = json_at(volume, "metadata", "finalizers", NULL);

    return json_at(volume, "metadata", "deletionTimestamp", NULL) &&
           text_equal(storage_volume_node(volume), set->o.node) &&
           text_equal(json_text_at(volume, "metadata", "annotations", STORAGE_PROVISIONED_BY, NULL),
                      STORAGE_LOCAL) &&
           json_has_text(finalizers, STORAGE_LOCAL_DATA) &&
           !json_has_text(finalizers, STORAGE_VOLUME_PROTECTION) &&
           !text_equal(json_text_at(volume, "status", "reason", NULL), STORAGE_ERASED) &&
           text_starts_with(name, "pvc-") && !strchr(name, '/');
}

static void on_volume(void *arg, const json_t *volume)
{
    struct own_volumes *set = arg;
    const char *name = text_or_empty(json_text_at(volume, "metadata", "name", NULL));
    struct erasing *x;

    if (!is_to_erase(set, volume, name))
        return;
    LIST_EACH (set->erasing, x)
        if (text_equal(x->name, name))
            return;
    x = mem_alloc(sizeof(*x));
    *x = (struct erasing){
        .set = set, .name = mem_strdup(name), .dir = claim_disk_dir(set->o.dir, name)};
    LIST_ADD(set->erasing, x);
    worker_give(set->o.worker, erase, on_erased, x);
}

static void on_volume_removed(void *arg, const json_t *volume)
{
    (void)arg;
    (void)volume;
}

static void own_volumes_on_time(void *arg)
{
    struct own_volumes *set = arg;

    informer_each(set->informer, on_volume, set);
}

struct own_volumes *own_volumes_new(const struct own_volumes_options *o)
{
    struct own_volumes *set = mem_alloc(sizeof(*set));
    const struct informer_options volumes = {.client = o->client,
                                             .loop = o->loop,
                                             .path = "/api/v1/persistentvolumes",
                                             .put = on_volume,
                                             .removed = on_volume_removed,
                                             .arg = set};

    set->o = *o;
    set->timer = loop_timer_new(o->loop, own_volumes_on_time, set);
    set->informer = informer_new(&volumes);
    return set;
}

void own_volumes_free(struct own_volumes *set)
{
    if (!set)
        return;
    informer_free(set->informer);
    while (set->erasing) {
        if (set->erasing->call)
            client_cancel(set->erasing->call);
        erasing_free(set->erasing);
    }
    loop_timer_free(set->timer);
    free(set);
}
