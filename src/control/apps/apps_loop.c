/* apps_loop.c - objects of apps/v1 and their parts, as the watches tell them */

#include "base/list.h"
#include "base/mem.h"
#include "base/num.h"
#include "control/apps/apps_loop_private.h"
#include "kinds/pod/pod_state.h"

int64_t apps_version_of(const json_t *object)
{
    const char *text = json_text_at(object, "metadata", "resourceVersion", NULL);
    int64_t version = 0;

    if (text)
        err_free(num_parse_int64(str_of(text), 0, INT64_MAX, &version)); /* our own number */
    return version;
}

static struct apps_place *place_make(struct apps_loop *l, const char *ns)
{
    struct apps_place *place = NULL;

    map_find_text(handle, l->places, ns, place);
    if (place)
        return place;
    place = mem_alloc(sizeof(*place));
    place->ns = mem_strdup(ns);
    map_add(handle, l->places, place->ns, strlen(place->ns), place);
    return place;
}

static void place_drop_unused(struct apps_loop *l, struct apps_place *place)
{
    if (place->apps || place->free_parts)
        return;
    map_remove(handle, l->places, place);
    free(place->ns);
    free(place);
}

/* ---- parts ---- */

static void part_link(struct app_part *p, struct app *a)
{
    p->app = a;
    if (a) {
        LIST_ADD(a->parts, p);
        a->n_parts++;
    } else {
        LIST_ADD(p->place->free_parts, p);
    }
}

static void part_unlink(struct app_part *p)
{
    if (p->app) {
        LIST_REMOVE(p->app->parts, p);
        p->app->n_parts--;
    } else {
        LIST_REMOVE(p->place->free_parts, p);
    }
    p->app = NULL;
}

void apps_part_free(struct apps_loop *l, struct app_part *p)
{
    struct apps_place *place = p->place;

    part_unlink(p);
    map_remove(handle, l->parts, p);
    json_decref(p->object);
    free(p->key);
    free(p->uid);
    free(p);
    place_drop_unused(l, place);
}

void apps_part_move(struct app_part *p, struct app *a)
{
    part_unlink(p);
    part_link(p, a);
}

static struct app_part *part_find(const struct apps_loop *l, const char *ns, const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s", ns, name);
    struct app_part *p = NULL;

    map_find_text(handle, l->parts, key, p);
    return p;
}

static struct app_part *part_new(struct apps_loop *l, struct app *a, const char *ns,
                                 const json_t *object)
{
    const char *name = json_text_at(object, "metadata", "name", NULL);
    const char *uid = json_text_at(object, "metadata", "uid", NULL);
    struct app_part *p = mem_alloc(sizeof(*p));

    p->key = mem_format("%s/%s", ns, name);
    p->name = p->key + strlen(ns) + 1;
    p->uid = mem_strdup(uid ? uid : "");
    p->place = place_make(l, ns);
    map_add(handle, l->parts, p->key, strlen(p->key), p);
    part_link(p, a);
    return p;
}

static void part_take(const struct apps_loop *l, struct app_part *p, const json_t *object)
{
    const struct apps_options *o = &l->options;

    json_decref(p->object);
    p->object = p->app || !o->brief ? json_incref((json_t *)(uintptr_t)object) : o->brief(object);
    p->version = apps_version_of(object);
}

/* The controller reference of an object, or NULL. */
static const json_t *controller_of(const json_t *object)
{
    const json_t *owners = json_at(object, "metadata", "ownerReferences", NULL);

    for (size_t i = 0; i < json_array_size(owners); i++)
        if (json_bool(json_array_get(owners, i), "controller", false))
            return json_array_get(owners, i);
    return NULL;
}

static struct app *app_of_uid(const struct apps_loop *l, const char *ns, const char *uid)
{
    struct app *a = NULL;

    if (uid)
        map_find_text(by_uid, l->by_uid, uid, a);
    return a && text_equal(a->ns, ns) ? a : NULL; /* an owner in another namespace is none */
}

bool app_selects(const struct app *a, const json_t *part)
{
    return a->selector && label_selector_matches(a->selector, part);
}

static void poke_those_that_select(const struct app_part *p)
{
    struct app *a;

    LIST_EACH (p->place->apps, a)
        if (app_selects(a, p->object))
            turn_poke(&a->item);
}

/* A part of an app that is not known yet keeps waiting as no part: apps are known first, and an app
 * that is created later has no parts yet. */
void apps_put_part(struct apps_loop *l, const char *ns, const char *name, const json_t *object)
{
    struct app_part *p = part_find(l, ns, name);
    const char *uid = json_text_at(object, "metadata", "uid", NULL);
    const json_t *controller = controller_of(object);
    struct app *a = app_of_uid(l, ns, json_text(controller, "uid"));
    bool is_free = !controller && l->options.is_free(object);

    if (p && text_equal(p->uid, uid) && apps_version_of(object) < p->version)
        return;
    if (p && (!text_equal(p->uid, uid) || (!a && !is_free))) {
        if (p->app)
            turn_poke(&p->app->item);
        apps_part_free(l, p);
        p = NULL;
    }
    if (!a && !is_free)
        return;
    if (!p)
        p = part_new(l, a, ns, object);
    else if (p->app != a) {
        if (p->app)
            turn_poke(&p->app->item);
        apps_part_move(p, a);
    }
    part_take(l, p, object);
    if (a) {
        a->write_retry = (struct retry){0}; /* what was refused may be right now */
        turn_poke(&a->item);
    } else {
        poke_those_that_select(p);
    }
}

void apps_remove_part(struct apps_loop *l, const char *ns, const char *name, const json_t *last)
{
    struct app_part *p = part_find(l, ns, name);

    if (!p || !text_equal(p->uid, json_text_at(last, "metadata", "uid", NULL)))
        return;
    if (p->app)
        turn_poke(&p->app->item);
    apps_part_free(l, p);
}

struct app_part *app_add_part(struct app *a, const json_t *object)
{
    struct app_part *p = part_find(a->loop, a->ns, json_text_at(object, "metadata", "name", NULL));

    if (p)
        apps_part_free(a->loop, p); /* an older part of this name */
    p = part_new(a->loop, a, a->ns, object);
    part_take(a->loop, p, object);
    return p;
}

struct app_part *app_find_part(const struct app *a, const char *name)
{
    struct app_part *p = part_find(a->loop, a->ns, name);

    return p && p->app == a ? p : NULL;
}

/* ---- apps ---- */

static struct app *app_find(const struct apps_loop *l, const struct app_kind *k, const char *ns,
                            const char *name)
{
    AUTO_FREE char *key = mem_format("%s/%s/%s", k->kind, ns, name);
    struct app *a = NULL;

    map_find_text(handle, l->apps, key, a);
    return a;
}

/* Parts that become free tell those that select them. */
static void app_free(struct app *a)
{
    struct apps_loop *l = a->loop;
    struct apps_place *place = a->place;

    while (a->parts)
        apps_part_free(l, a->parts);
    LIST_REMOVE(place->apps, a);
    map_remove(handle, l->apps, a);
    map_remove(by_uid, l->by_uid, a);
    turn_item_done(&a->item);
    selector_free(a->selector);
    json_decref(a->object);
    json_decref(a->status);
    free(a->key);
    free(a->ns);
    free(a->name);
    free(a->uid);
    free(a);
    place_drop_unused(l, place);
}

static struct app *app_new(struct apps_loop *l, const struct app_kind *k, const json_t *object)
{
    struct app *a = mem_alloc(sizeof(*a));

    a->loop = l;
    a->kind = k;
    a->ns = mem_strdup(json_text_at(object, "metadata", "namespace", NULL));
    a->name = mem_strdup(json_text_at(object, "metadata", "name", NULL));
    a->uid = mem_strdup(json_text_at(object, "metadata", "uid", NULL));
    a->key = mem_format("%s/%s/%s", k->kind, a->ns, a->name);
    a->place = place_make(l, a->ns);
    turn_item_init(l->turns, &a->item);
    LIST_ADD(a->place->apps, a);
    map_add(handle, l->apps, a->key, strlen(a->key), a);
    map_add(by_uid, l->by_uid, a->uid, strlen(a->uid), a);
    return a;
}

/* An empty selector, which validation refuses, selects nothing. */
static void read_selector(struct app *a)
{
    AUTO(json_freep) json_t *selector = apps_selector(json_object_get(a->object, "spec"));

    selector_free(a->selector);
    a->selector = NULL;
    if (json_object_size(selector) > 0)
        err_free(label_selector_parse(selector, &a->selector));
}

void apps_put(struct apps_loop *l, const struct app_kind *k, const json_t *object)
{
    const char *ns = json_text_at(object, "metadata", "namespace", NULL);
    const char *name = json_text_at(object, "metadata", "name", NULL);
    const char *uid = json_text_at(object, "metadata", "uid", NULL);
    struct app *a = app_find(l, k, ns, name);
    const json_t *status = json_object_get(object, "status");

    if (a && !text_equal(a->uid, uid)) {
        app_free(a);
        a = NULL;
    }
    if (!uid || (a && apps_version_of(object) < a->version))
        return;
    if (!a)
        a = app_new(l, k, object);
    json_decref(a->object);
    json_decref(a->status);
    a->object = json_incref((json_t *)(uintptr_t)object);
    a->status = status ? json_incref((json_t *)(uintptr_t)status) : json_object();
    a->version = apps_version_of(object);
    a->is_deleting = json_text_at(object, "metadata", "deletionTimestamp", NULL) != NULL;
    a->write_retry = (struct retry){0}; /* likewise: see apps_put_part */
    read_selector(a);
    turn_poke(&a->item);
}

void apps_remove(struct apps_loop *l, const struct app_kind *k, const char *ns, const char *name)
{
    struct app *a = app_find(l, k, ns, name);

    if (a)
        app_free(a);
}

void apps_poke_all(struct apps_loop *l, const struct app_kind *k)
{
    struct app *a;
    struct app *tmp;

    map_each (handle, l->apps, a, tmp)
        if (!k || a->kind == k)
            turn_poke(&a->item);
}

/* ---- the loop ---- */

static void apps_look(struct turn_item *item)
{
    struct app *a = (struct app *)item;

    a->kind->look(a);
}

static void apps_forget(void *arg)
{
    struct apps_loop *l = arg;

    while (l->apps)
        app_free(l->apps); /* NOLINT(clang-analyzer-unix.Malloc): it leaves the map */
    while (l->parts)
        apps_part_free(l, l->parts); /* NOLINT(clang-analyzer-unix.Malloc): likewise */
    if (l->options.forget)
        l->options.forget(l->options.arg);
}

void *apps_arg(const struct apps_loop *l)
{
    return l->options.arg;
}

struct err *apps_loop_new(const struct apps_options *o, struct apps_loop **ret)
{
    struct apps_loop *l = mem_alloc(sizeof(*l));
    const struct turns_options turns = {.loop = o->loop,
                                        .cluster = o->cluster,
                                        .name = o->name,
                                        .sources = o->sources,
                                        .n_sources = o->n_sources,
                                        .look = apps_look,
                                        .forget = apps_forget,
                                        .arg = l};
    struct err *e;

    l->options = *o;
    *ret = l;
    e = turns_new(&turns, &l->turns);
    if (!e)
        return NULL;
    *ret = NULL;
    free(l);
    return e;
}

void apps_loop_free(struct apps_loop *l)
{
    if (!l)
        return;
    turns_free(l->turns);
    free(l);
}
