/*
 * objects_pending.c - admission contexts of pods that controllers make
 *
 * A controller makes a pod again and again until it is there. While webhooks are asked, the context
 * of the pod is kept here; the next try of the same controller takes it.
 */

#include "base/list.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/admission/admission_context.h"
#include "kinds/object/objects_private.h"

#define PENDING_NS (120 * NS_PER_SEC) /* after that nobody tries again */

enum {
    PENDING_PODS_MAX = 1024
};

struct pending_pod {
    struct pending_pod *prev;
    struct pending_pod *next;
    char *key; /* the controller and the name */
    struct admission_context *admission;
    int64_t used_ns;
};

static void pending_pod_free(struct objects *o, struct pending_pod *s)
{
    LIST_REMOVE(o->pending_pods, s);
    admission_context_free(s->admission);
    free(s->key);
    free(s);
}

void pending_pods_free(struct objects *o)
{
    struct pending_pod *s;

    LIST_EACH (o->pending_pods, s)
        pending_pod_free(o, s);
}

static const json_t *owner_of(const json_t *object)
{
    return json_array_get(json_at(object, "metadata", "ownerReferences", NULL), 0);
}

bool pending_pod_is_for(const struct objects *o, const struct objects_request *r,
                        const json_t *object)
{
    static const char *const owners[] = {"ReplicaSet", "ReplicationController", "StatefulSet",
                                         "DaemonSet", "Job"};
    const char *owner = json_text(owner_of(object), "kind");

    if (r->admission || !r->who.is_system || !is_pod(r->kind) || r->subresource || !objects_asks(o))
        return false;
    for (size_t i = 0; i < COUNT(owners); i++)
        if (text_equal(owner, owners[i]))
            return true;
    return false;
}

static char *pending_pod_key(const struct objects_request *r, const json_t *object)
{
    const json_t *metadata = json_object_get(object, "metadata");
    AUTO_FREE char *spec = json_format(json_object_get(object, "spec"));

    return mem_format("%s/%s%s/%s/%s", text_or_empty(r->ns),
                      text_or_empty(json_text(metadata, "name")),
                      text_or_empty(json_text(metadata, "generateName")),
                      text_or_empty(json_text(owner_of(object), "uid")), spec);
}

static struct admission_context *pending_pod_admission_context(const struct objects *o)
{
    AUTO(json_freep)
    json_t *user = json_pack("{s:s, s:[s, s]}", "username", "system:mete:control", "groups",
                             "system:masters", "system:authenticated");
    const struct admission_context_options options = {.loop = o->loop,
                                                      .store = o->store,
                                                      .caller = o->caller,
                                                      .random = o->random,
                                                      .random_arg = o->arg,
                                                      .user = user};

    return admission_context_new(&options);
}

/* Finds the context of the pod, or makes one; drops those that nobody came for. */
static struct pending_pod *pending_pod_get(struct objects *o, char *taken_key)
{
    int64_t now_ns = loop_now_ns(o->loop);
    AUTO_FREE char *key = taken_key;
    struct pending_pod *s;
    size_t n = 0;

    LIST_EACH (o->pending_pods, s) {
        if (text_equal(s->key, key))
            return s;
        n++;
        if (s->used_ns + PENDING_NS < now_ns)
            pending_pod_free(o, s);
    }
    if (n >= PENDING_PODS_MAX)
        pending_pod_free(o, o->pending_pods);
    s = mem_alloc(sizeof(*s));
    *s = (struct pending_pod){.admission = pending_pod_admission_context(o), .key = TAKE(key)};
    LIST_ADD(o->pending_pods, s);
    return s;
}

struct err *pending_pod_create(struct objects *o, const struct objects_request *r, json_t *object,
                               store_done_fn done, void *arg, json_t **ret)
{
    struct pending_pod *s = pending_pod_get(o, pending_pod_key(r, object));
    struct objects_request own = *r;
    struct err *e;

    s->used_ns = loop_now_ns(o->loop);
    own.admission = s->admission;
    admission_context_begin(s->admission);
    e = objects_create(o, &own, object, done, arg, ret);
    if (!e) { /* the caller reads the name of its own tree */
        AUTO(json_freep) json_t *made = json_twin(*ret);

        (void)json_object_clear(object);
        (void)json_object_update(object, made); /* both are objects */
    }
    if (!e || !admission_context_is_waiting(s->admission))
        pending_pod_free(o, s);
    return e;
}
