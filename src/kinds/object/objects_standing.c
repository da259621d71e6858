/*
 * objects_standing.c - dockets of pods that controllers make
 *
 * A controller makes a pod again and again until it is there. While webhooks are asked, the docket
 * of the pod stands here; the next try of the same controller takes it.
 */

#include "base/list.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/admission/docket.h"
#include "kinds/object/objects_private.h"

#define STANDING_NS (120 * NS_PER_SEC) /* after that nobody tries again */

enum {
    STANDINGS_MAX = 1024
};

struct standing {
    struct standing *prev;
    struct standing *next;
    char *key; /* the controller and the name */
    struct docket *docket;
    int64_t used_ns;
};

static void standing_free(struct objects *o, struct standing *s)
{
    LIST_REMOVE(o->standings, s);
    docket_free(s->docket);
    free(s->key);
    free(s);
}

void standings_free(struct objects *o)
{
    struct standing *s;

    LIST_EACH (o->standings, s)
        standing_free(o, s);
}

static const json_t *owner_of(const json_t *object)
{
    return json_array_get(json_at(object, "metadata", "ownerReferences", NULL), 0);
}

bool standing_is_for(const struct objects *o, const struct objects_request *r, const json_t *object)
{
    static const char *const owners[] = {"ReplicaSet", "StatefulSet", "DaemonSet", "Job"};
    const char *owner = json_text(owner_of(object), "kind");

    if (r->docket || !r->who.is_system || !is_pod(r->kind) || r->subresource || !objects_asks(o))
        return false;
    for (size_t i = 0; i < COUNT(owners); i++)
        if (text_equal(owner, owners[i]))
            return true;
    return false;
}

static char *standing_key(const struct objects_request *r, const json_t *object)
{
    const json_t *metadata = json_object_get(object, "metadata");
    AUTO_FREE char *spec = json_format(json_object_get(object, "spec"));

    return mem_format("%s/%s%s/%s/%s", text_or_empty(r->ns),
                      text_or_empty(json_text(metadata, "name")),
                      text_or_empty(json_text(metadata, "generateName")),
                      text_or_empty(json_text(owner_of(object), "uid")), spec);
}

static struct docket *standing_docket(const struct objects *o)
{
    AUTO(json_freep)
    json_t *user = json_pack("{s:s, s:[s, s]}", "username", "system:mete:control", "groups",
                             "system:masters", "system:authenticated");
    const struct docket_options options = {.loop = o->loop,
                                           .store = o->store,
                                           .caller = o->caller,
                                           .random = o->random,
                                           .random_arg = o->arg,
                                           .user = user};

    return docket_new(&options);
}

/* Finds the docket of the pod, or makes one; drops those that nobody came for. */
static struct standing *standing_get(struct objects *o, char *taken_key)
{
    int64_t now_ns = loop_now_ns(o->loop);
    AUTO_FREE char *key = taken_key;
    struct standing *s;
    size_t n = 0;

    LIST_EACH (o->standings, s) {
        if (text_equal(s->key, key))
            return s;
        n++;
        if (s->used_ns + STANDING_NS < now_ns)
            standing_free(o, s);
    }
    if (n >= STANDINGS_MAX)
        standing_free(o, o->standings);
    s = mem_alloc(sizeof(*s));
    *s = (struct standing){.docket = standing_docket(o), .key = TAKE(key)};
    LIST_ADD(o->standings, s);
    return s;
}

struct err *standing_create(struct objects *o, const struct objects_request *r, json_t *object,
                            store_done_fn done, void *arg, json_t **ret)
{
    struct standing *s = standing_get(o, standing_key(r, object));
    struct objects_request own = *r;
    struct err *e;

    s->used_ns = loop_now_ns(o->loop);
    own.docket = s->docket;
    docket_begin(s->docket);
    e = objects_create(o, &own, object, done, arg, ret);
    if (!e) { /* the caller reads the name of its own tree */
        AUTO(json_freep) json_t *made = json_twin(*ret);

        (void)json_object_clear(object);
        (void)json_object_update(object, made); /* both are objects */
    }
    if (!e || !docket_is_waiting(s->docket))
        standing_free(o, s);
    return e;
}
