/* autoscale.c - the autoscalers as the watch tells them, and the times of their looks */

#include "control/autoscale/autoscale.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "control/autoscale/autoscale_private.h"

/* Kubernetes' period. Samples of cpu and memory come each 10 s, of GPUs each second. */
static const int64_t period_ns = 15 * NS_PER_SEC;
/* Changes of a spec come in bursts. */
static const int64_t settle_ns = 100 * NS_PER_MS;
/* Writers of a spec cannot make its looks more frequent. */
static const int64_t apart_ns = NS_PER_SEC;

static struct autoscaler *autoscaler_find(const struct autoscale *s, const char *ns,
                                          const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct autoscaler *a = NULL;

    map_find_text(handle, s->all, key, a);
    return a;
}

static void autoscaler_free(struct autoscaler *a)
{
    struct autoscale *s = a->of;

    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): uthash; it is in the map, once */
    map_remove(handle, s->all, a);
    loop_timer_free(a->timer);
    autoscale_history_done(&a->history);
    selector_free(a->selector);
    json_decref(a->spec);
    free(a->key);
    free(a->ns);
    free(a->name);
    free(a->uid);
    free(a);
}

static void autoscaler_on_time(void *arg)
{
    struct autoscaler *a = arg;

    a->looked_ns = loop_now_ns(a->of->options.loop);
    autoscale_look_at(a);
    loop_timer_set(a->timer, period_ns);
}

static struct autoscaler *autoscaler_new(struct autoscale *s, const struct store_key *key)
{
    struct autoscaler *a = mem_alloc(sizeof(*a));

    a->of = s;
    a->ns = mem_strdup(key->ns);
    a->name = mem_strdup(key->name);
    a->key = mem_format("%s/%s", key->ns, key->name);
    a->timer = loop_timer_new(s->options.loop, autoscaler_on_time, a);
    map_add(handle, s->all, a->key, strlen(a->key), a);
    return a;
}

void autoscaler_poke(struct autoscaler *a)
{
    int64_t now_ns = loop_now_ns(a->of->options.loop);
    int64_t wait_ns = a->looked_ns > 0 ? a->looked_ns + apart_ns - now_ns : 0;

    loop_timer_set(a->timer, wait_ns > settle_ns ? wait_ns : settle_ns);
}

/* `is_new`: written while the server runs. Behind its start there are no samples yet. */
static void autoscaler_put(struct autoscale *s, const struct store_object *o, bool is_new)
{
    struct autoscaler *a = autoscaler_find(s, o->key.ns, o->key.name);
    AUTO(json_freep) json_t *object = NULL;
    AUTO(err_freep) struct err *e = objects_decode(o, &object);
    json_t *spec = json_object_get(object, "spec");
    const char *uid = json_text_at(object, "metadata", "uid", NULL);

    if (e) {
        LOG(ERROR, "stored object is damaged", S("ns", o->key.ns), S("name", o->key.name), E(e));
        return;
    }
    if (a && !text_equal(a->uid, uid)) {
        autoscaler_free(a); /* another autoscaler of this name */
        a = NULL;
    }
    if (a && json_equal(a->spec, spec))
        return;
    a = a ? a : autoscaler_new(s, &o->key);
    if (!a->uid)
        a->uid = mem_strdup(text_or_empty(uid));
    json_decref(a->spec);
    a->spec = json_incref(spec);
    if (is_new)
        autoscaler_poke(a);
    else
        loop_timer_set(a->timer, period_ns);
}

static void autoscale_on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct autoscale *s = arg;
    struct autoscaler *a;

    (void)revision;
    if (!change)
        return;
    if (change->type != STORE_DELETED) {
        autoscaler_put(s, change->object, true);
        return;
    }
    a = autoscaler_find(s, change->object->key.ns, change->object->key.name);
    if (a)
        autoscaler_free(a);
}

static struct err *autoscale_begin(struct autoscale *s)
{
    const struct store_range range = {.group = s->kind->group, .resource = s->kind->plural};
    struct store_list list = {0};

    TRY(store_list(s->store, &range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++)
        autoscaler_put(s, list.at[i], false);
    store_list_done(&list);
    return store_watch_new(s->store, &range, list.revision, autoscale_on_change, s, &s->watch);
}

struct err *autoscale_new(const struct autoscale_options *o, struct autoscale **ret)
{
    struct autoscale *s = mem_alloc(sizeof(*s));
    struct err *e;

    *s = (struct autoscale){.options = *o,
                            .store = objects_store(o->objects),
                            .kind = kind_find("autoscaling", "horizontalpodautoscalers")};
    s->writes = writes_new(s);
    e = autoscale_begin(s);
    if (e) {
        autoscale_free(s);
        return e;
    }
    *ret = s;
    return NULL;
}

void autoscale_free(struct autoscale *s)
{
    struct autoscaler *a;
    struct autoscaler *next;

    if (!s)
        return;
    store_watch_free(s->watch);
    map_each (handle, s->all, a, next) {
        autoscaler_free(a);
    }
    writes_free(s->writes);
    free(s);
}

void autoscale_on_written(void *owner, const char *key, uint64_t number, const struct err *e)
{
    const struct autoscale *s = owner;
    struct autoscaler *a = NULL;

    (void)number;
    if (e)
        map_find_text(handle, s->all, key, a);
    if (!a)
        return;
    LOG(WARN, "write of an autoscaler was taken back", S("autoscaler", key), E(e));
    autoscaler_poke(a);
}
