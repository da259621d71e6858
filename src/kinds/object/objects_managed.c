/*
 * objects_managed.c - metadata.managedFields of writes, and server-side apply
 *
 * Writes of Mete's own processes name no manager. They are not tracked, except where they change
 * what an applier may own: then the entry is "mete". A pod of a Job, and its status, cost nothing.
 */

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/apply/managers.h"
#include "kinds/object/objects_private.h"

#define OWN_MANAGER "mete"

/* A write in the terms of managers.h, with what it needs for as long. */
struct managing {
    struct managed_write write;
    struct managers managers;
    struct fieldset ignored;
    char now[STAMP_TEXT_SIZE];
};

static void ignore(struct managing *m, const char *parent, const char *name)
{
    const struct element up = element_field(parent ? parent : name);
    const struct element e = element_field(name);
    struct arena *a = m->write.arena;

    fieldset_add(a, parent ? fieldset_below(a, &m->ignored, &up) : &m->ignored, &e);
}

/* A custom object has other members than its table. */
static void ignore_members(struct managing *m, json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach (object, key, value)
        if (!text_equal(key, "metadata") && !text_equal(key, "status"))
            ignore(m, NULL, key);
}

/* A write of the object leaves the status alone; one of the status leaves all else. */
static void ignore_unwritten(const struct change *c, struct managing *m)
{
    static const char *const metadata[] = {"deletionTimestamp", "finalizers", "ownerReferences"};

    if (!c->request->subresource || is_of_ephemerals(c)) {
        if (c->kind->has_status)
            ignore(m, NULL, "status");
        return;
    }
    for (const struct field *f = c->kind->fields; f->name; f++)
        if (!text_equal(f->name, "metadata") && !text_equal(f->name, "status"))
            ignore(m, NULL, f->name);
    if (c->kind->is_custom) {
        ignore(m, NULL, "spec");
        ignore_members(m, c->before);
        ignore_members(m, c->after);
    }
    for (size_t i = 0; i < COUNT(metadata); i++)
        ignore(m, "metadata", metadata[i]);
}

static json_t *zero_object(const struct kind *k)
{
    json_t *zero = k->zero ? json_loads(k->zero, 0, NULL) : json_object();

    json_put_text(zero, "apiVersion", k->api_version);
    json_put_text(zero, "kind", k->kind);
    (void)json_object_at(zero, "metadata");
    return zero;
}

/* `zero` is zero_object's; the arena and the zero object belong to the caller. */
static void managing_init(struct managing *m, const struct change *c, struct arena *a,
                          const json_t *zero)
{
    *m = (struct managing){
        .write = {.arena = a,
                  .shape = kind_shape(c->kind),
                  .manager = c->request->manager ? c->request->manager : OWN_MANAGER,
                  .api_version = c->kind->api_version,
                  .subresource = text_or_empty(c->request->subresource),
                  .now = m->now,
                  .ignored = &m->ignored,
                  .zero = zero}};
    stamp_format(c->who.now_ns, m->now);
    ignore_unwritten(c, m);
}

static const json_t *list_of(const json_t *object)
{
    return json_at(object, "metadata", "managedFields", NULL);
}

/* A copy that shares all parts, without managedFields. */
static json_t *without_managers(const json_t *object)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)object);
    json_t *metadata = json_copy(json_object_get(object, "metadata"));

    (void)json_object_del(metadata, "managedFields"); /* may be absent */
    if (metadata)
        json_put(copy, "metadata", metadata);
    return copy;
}

static void set_managers(struct change *c, json_t *taken)
{
    json_decref(c->managers);
    c->managers = taken;
}

/* ---- creates ---- */

void managed_create(struct change *c)
{
    AUTO(arena_freep) struct arena *a = NULL;
    AUTO(json_freep) json_t *zero = NULL;
    AUTO(json_freep) json_t *made = NULL;
    AUTO(err_freep) struct err *e = NULL;
    const json_t *given = list_of(c->after);
    struct managing m;

    if (!c->request->manager || c->managers || c->kind->is_unmanaged)
        return;
    a = arena_new();
    zero = zero_object(c->kind);
    made = without_managers(c->after);
    if (c->kind->set_defaults) {
        json_t *twin = json_twin(made);

        json_decref(made);
        made = twin;
        e = kind_default(c->kind, made, &c->who);
    }
    managing_init(&m, c, a, zero);
    if (!e && !managers_is_reset(given))
        e = managers_parse(a, given, &m.managers);
    if (!e)
        e = managers_update(&m.write, &m.managers, zero, made);
    if (!e)
        set_managers(c, managers_format(&m.managers));
}

/* ---- updates ---- */

/* Has the write changed something that an applier may own, as far as controllers do? */
static bool changes_content(const struct change *c)
{
    const char *key;
    json_t *value;

    if (c->request->subresource)
        return false;
    json_object_foreach (c->after, key, value)
        if (!text_equal(key, "metadata") && !text_equal(key, "status") &&
            !json_equal(value, json_object_get(c->before, key)))
            return true;
    return false;
}

/* The entries that the write begins with: the client's own, if it sent some. False: none. */
static bool begin_with(const struct change *c, struct managing *m)
{
    struct arena *a = m->write.arena;
    AUTO(err_freep) struct err *given = NULL;
    AUTO(err_freep) struct err *present = NULL;

    if (!c->request->subresource) {
        if (managers_is_reset(c->given_managers))
            return false;
        given = managers_parse(a, c->given_managers, &m->managers);
    }
    if (m->managers.n == 0)
        present = managers_parse(a, list_of(c->before), &m->managers);
    return m->managers.n > 0;
}

static void track_update(struct change *c)
{
    AUTO(arena_freep) struct arena *a = arena_new();
    AUTO(json_freep) json_t *before = without_managers(c->before);
    AUTO(err_freep) struct err *e = NULL;
    struct managing m;

    managing_init(&m, c, a, NULL);
    if (!begin_with(c, &m))
        return;
    e = managers_update(&m.write, &m.managers, before, c->after);
    if (!e)
        set_managers(c, managers_format(&m.managers));
}

void managed_update(struct change *c)
{
    const json_t *present = list_of(c->before);

    if (c->is_apply || (!present && !c->given_managers))
        return;
    if (c->request->manager || (present && changes_content(c)))
        track_update(c);
    else
        set_managers(c, json_incref((json_t *)(uintptr_t)present));
}

void managed_take(struct change *c)
{
    c->given_managers = json_incref((json_t *)(uintptr_t)list_of(c->after));
}

void managed_put(struct change *c)
{
    const json_t *present = c->before ? list_of(c->before) : NULL;
    json_t *metadata = json_object_at(c->after, "metadata");

    if (c->managers)
        json_put(metadata, "managedFields", json_incref(c->managers));
    if (!present || !c->managers || !managers_equal(present, c->managers))
        return;
    /* A write that changes nothing but times changes nothing. */
    json_put(metadata, "managedFields", json_incref((json_t *)(uintptr_t)present));
    if (!json_equal(c->before, c->after))
        json_put(metadata, "managedFields", json_incref(c->managers));
}

/* ---- applies ---- */

static struct err *check_config(const struct change *c, const json_t *config)
{
    const struct kind *k = c->kind;
    const char *slash = *k->group ? "" : "/";
    const char *version = text_or_empty(json_text(config, "apiVersion"));

    if (!text_equal(json_text(config, "apiVersion"), k->api_version) ||
        !text_equal(json_text(config, "kind"), k->kind))
        return err_new(ERR_BAD_REQUEST, "invalid object type: %s%s, Kind=%s: want %s%s, Kind=%s",
                       strchr(version, '/') ? "" : "/", version,
                       text_or_empty(json_text(config, "kind")), slash, k->api_version, k->kind);
    if (list_of(config))
        return err_new(ERR_BAD_REQUEST, "metadata.managedFields must be nil");
    if (!json_text_filled(json_object_get(config, "metadata"), "name"))
        return err_new(ERR_BAD_REQUEST,
                       "the name of the object (%s based on URL) was undeterminable: name must be "
                       "provided",
                       c->request->name);
    return NULL;
}

static struct err *check_structure(const struct change *c, const struct managed_write *w,
                                   const json_t *config)
{
    const char *slash = *c->kind->group ? "" : "/";
    AUTO(err_freep) struct err *e = structure_check(w->arena, w->shape, config);

    if (!e)
        return NULL;
    return err_new(ERR_BAD_REQUEST,
                   "failed to create typed patch object (%s/%s; %s%s, Kind=%s): %s",
                   text_or_empty(json_text_at(config, "metadata", "namespace", NULL)),
                   c->request->name, slash, c->kind->api_version, c->kind->kind, err_message(e));
}

/* Merges the configuration into the present object; leaves the wanted tree in `*ret`. */
static struct err *change_merge(struct change *c, const json_t *config, json_t **ret)
{
    AUTO(arena_freep) struct arena *a = arena_new();
    AUTO(json_freep) json_t *zero = zero_object(c->kind);
    AUTO(json_freep) json_t *live = NULL;
    AUTO(json_freep) json_t *merged = NULL;
    struct managing m;

    managing_init(&m, c, a, zero);
    TRY(check_config(c, config));
    TRY(check_structure(c, &m.write, config));
    live = c->before ? without_managers(c->before) : json_object();
    if (c->before) {
        AUTO(err_freep)
        struct err *e = managers_parse(a, list_of(c->before), &m.managers); /* none if malformed */
    }
    TRY(managers_apply(&m.write, &m.managers, live, config, c->request->force, &merged));
    set_managers(c, managers_format(&m.managers));
    *ret = json_twin(merged);
    return NULL;
}

static struct err *apply_new(struct change *c, const json_t *config)
{
    AUTO(json_freep) json_t *object = NULL;
    json_t *metadata;

    if (c->request->subresource)
        return objects_not_found(c->kind, c->request->name);
    TRY(change_merge(c, config, &object));
    metadata = json_object_at(object, "metadata");
    if (json_text_filled(metadata, "uid"))
        return err_new(ERR_CONFLICT,
                       "Operation cannot be fulfilled on %s%s%s \"%s\": uid mismatch: the provided "
                       "object specified uid %.128s, and no existing object was found",
                       c->kind->plural, *c->kind->group ? "." : "", c->kind->group,
                       c->request->name, json_text(metadata, "uid"));
    json_put_text(metadata, "resourceVersion", NULL);
    return change_create(c, object);
}

struct err *change_apply_config(struct change *c, const json_t *config)
{
    const struct store_key key = objects_key(c->kind, c->request->ns, c->request->name);
    json_t *wanted = NULL;

    c->is_apply = true;
    if (!json_is_object(config))
        return err_new(ERR_BAD_REQUEST, "want an object as the applied configuration");
    if (!store_get_applied(c->objects->store, key))
        return apply_new(c, config);
    TRY(change_load(c, c->request->name));
    TRY(change_merge(c, config, &wanted));
    c->after = wanted;
    return change_replace(c);
}
