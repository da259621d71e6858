/* managers.c - entries of managedFields, and how writes other than applies change them */

#include "kinds/apply/managers.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/apply/managers_private.h"

enum {
    UPDATERS_MAX = 10
};

/* ---- text ---- */

static struct err *bad_entry(size_t i, const char *what)
{
    return err_new(ERR_INVALID, "metadata.managedFields[%zu]: %s", i, what);
}

static struct err *parse_entry(struct arena *a, size_t i, const json_t *entry, struct manager *ret)
{
    const char *operation = text_or_empty(json_text(entry, "operation"));
    struct fieldset *fields = NULL;
    struct manager m = {.name = text_or_empty(json_text(entry, "manager")),
                        .is_apply = text_equal(operation, "Apply"),
                        .api_version = json_text_filled(entry, "apiVersion"),
                        .subresource = text_or_empty(json_text(entry, "subresource")),
                        .time = json_text_filled(entry, "time")};

    if (!m.is_apply && !text_equal(operation, "Update"))
        return bad_entry(i, "operation must be `Apply` or `Update`");
    if (!m.api_version)
        return bad_entry(i, "apiVersion must not be empty");
    if (!text_equal(json_text(entry, "fieldsType"), "FieldsV1"))
        return bad_entry(i, "fieldsType must be FieldsV1");
    if (json_object_get(entry, "fieldsV1"))
        TRY(fieldset_parse(a, json_object_get(entry, "fieldsV1"), &fields));
    m.fields = fields;
    *ret = m;
    return NULL;
}

struct manager *managers_add(struct arena *a, struct managers *m)
{
    if (m->n == m->room) {
        size_t room = m->room > 0 ? 2 * m->room : 8;
        struct manager *at = arena_alloc(a, room * sizeof(*at));

        if (m->n > 0)
            memcpy(at, m->at, m->n * sizeof(*at));
        m->at = at;
        m->room = room;
    }
    m->at[m->n] = (struct manager){0};
    return &m->at[m->n++];
}

void managers_remove(struct managers *m, size_t i)
{
    m->n--;
    memmove(&m->at[i], &m->at[i + 1], (m->n - i) * sizeof(*m->at));
}

bool manager_is_same(const struct manager *x, const struct manager *y)
{
    return x->is_apply == y->is_apply && text_equal(x->name, y->name) &&
           text_equal(x->subresource, y->subresource) &&
           (x->is_apply || text_equal(x->api_version, y->api_version));
}

struct manager *managers_find(const struct managers *m, const struct manager *like)
{
    for (size_t i = 0; i < m->n; i++)
        if (manager_is_same(&m->at[i], like))
            return &m->at[i];
    return NULL;
}

struct err *managers_parse(struct arena *a, const json_t *list, struct managers *ret)
{
    struct managers made = {0};

    for (size_t i = 0; i < json_array_size(list); i++) {
        struct manager one = {0};
        struct manager *same;

        TRY(parse_entry(a, i, json_array_get(list, i), &one));
        same = managers_find(&made, &one);
        *(same ? same : managers_add(a, &made)) = one;
    }
    *ret = made;
    return NULL;
}

static int text_compare(const char *x, const char *y)
{
    return strcmp(text_or_empty(x), text_or_empty(y));
}

static int entry_compare(const void *x, const void *y)
{
    const struct manager *a = x;
    const struct manager *b = y;
    int64_t a_ns = stamp_or(a->time, 0) / NS_PER_SEC;
    int64_t b_ns = stamp_or(b->time, 0) / NS_PER_SEC;
    int order = (int)b->is_apply - (int)a->is_apply;

    if (order == 0)
        order = (a_ns > b_ns) - (a_ns < b_ns);
    if (order == 0)
        order = text_compare(a->name, b->name);
    if (order == 0)
        order = text_compare(a->api_version, b->api_version);
    return order != 0 ? order : text_compare(a->subresource, b->subresource);
}

json_t *managers_format(const struct managers *m)
{
    json_t *list;

    if (m->n == 0)
        return NULL;
    qsort(m->at, m->n, sizeof(*m->at), entry_compare);
    list = json_array();
    for (size_t i = 0; i < m->n; i++) {
        const struct manager *one = &m->at[i];
        json_t *entry = json_object();

        json_put_text(entry, "manager", one->name);
        json_put_text(entry, "operation", one->is_apply ? "Apply" : "Update");
        json_put_text(entry, "apiVersion", one->api_version);
        json_put_text(entry, "time", one->time);
        json_put_text(entry, "fieldsType", "FieldsV1");
        json_put(entry, "fieldsV1", fieldset_format(one->fields));
        json_put_text(entry, "subresource", *one->subresource ? one->subresource : NULL);
        (void)json_array_append_new(list, entry);
    }
    return list;
}

bool managers_is_reset(const json_t *list)
{
    const json_t *first = json_array_get(list, 0);

    return json_is_array(list) &&
           (!first || (json_array_size(list) == 1 && json_object_size(first) == 0));
}

bool managers_equal(const json_t *x, const json_t *y)
{
    size_t n = json_array_size(x);

    if (n != json_array_size(y))
        return false;
    for (size_t i = 0; i < n; i++) {
        AUTO(json_freep) json_t *a = json_copy(json_array_get(x, i));
        AUTO(json_freep) json_t *b = json_copy(json_array_get(y, i));

        (void)json_object_del(a, "time"); /* may be absent */
        (void)json_object_del(b, "time");
        if (!json_equal(a, b))
            return false;
    }
    return true;
}

/* ---- updates ---- */

const struct fieldset *managed_strip(struct arena *a, const struct fieldset *fields)
{
    static const char *const stripped[] = {"name",       "namespace",     "creationTimestamp",
                                           "selfLink",   "uid",           "clusterName",
                                           "generation", "managedFields", "resourceVersion"};
    const struct element version = element_field("apiVersion");
    const struct element kind = element_field("kind");
    const struct element metadata = element_field("metadata");
    struct fieldset strip = {0};

    fieldset_add(a, &strip, &version);
    fieldset_add(a, &strip, &kind);
    fieldset_add(a, &strip, &metadata);
    for (size_t i = 0; i < COUNT(stripped); i++) {
        const struct element e = element_field(stripped[i]);

        fieldset_add(a, fieldset_below(a, &strip, &metadata), &e);
    }
    return fieldset_minus(a, fields, &strip);
}

struct err *managed_compare(const struct managed_write *w, const json_t *before,
                            const json_t *after, struct comparison *ret)
{
    TRY(structure_compare(w->arena, w->shape, before, after, ret));
    ret->removed = fieldset_without(w->arena, ret->removed, w->ignored);
    ret->modified = fieldset_without(w->arena, ret->modified, w->ignored);
    ret->added = fieldset_without(w->arena, ret->added, w->ignored);
    return NULL;
}

void managers_lose(struct arena *a, struct managers *m, size_t i, const struct comparison *c)
{
    const struct fieldset *fields = fieldset_minus(a, m->at[i].fields, c->modified);

    fields = fieldset_minus(a, fields, c->added);
    m->at[i].fields = fieldset_minus(a, fields, c->removed);
}

void managers_drop_empty(struct managers *m)
{
    for (size_t i = m->n; i > 0; i--)
        if (fieldset_is_empty(m->at[i - 1].fields))
            managers_remove(m, i - 1);
}

static int updater_compare(const void *x, const void *y)
{
    const struct manager *const *a = x;
    const struct manager *const *b = y;
    int64_t a_ns = stamp_or((*a)->time, 0) / NS_PER_SEC;
    int64_t b_ns = stamp_or((*b)->time, 0) / NS_PER_SEC;
    int order = (a_ns > b_ns) - (a_ns < b_ns);

    if (order == 0)
        order = text_compare((*a)->name, (*b)->name);
    if (order == 0)
        order = text_compare((*a)->api_version, (*b)->api_version);
    return order != 0 ? order : text_compare((*a)->subresource, (*b)->subresource);
}

/* Joins the oldest Update entries of each version into one until few enough are left. An entry
 * that was joined loses its name. */
static void join_updaters(struct arena *a, struct manager **oldest, size_t n)
{
    size_t left = n;

    for (size_t i = 0; i < n && left > UPDATERS_MAX; i++) {
        struct manager *into = NULL;

        for (size_t j = 0; j < i && !into; j++)
            if (oldest[j]->name && text_equal(oldest[j]->api_version, oldest[i]->api_version))
                into = oldest[j];
        if (!into)
            continue;
        into->name = "ancient-changes";
        into->subresource = "";
        into->fields = fieldset_union(a, into->fields, oldest[i]->fields);
        into->time = oldest[i]->time;
        oldest[i]->name = NULL;
        left--;
    }
}

static void managers_cap(struct arena *a, struct managers *m)
{
    struct manager **updaters = arena_alloc(a, (m->n + 1) * sizeof(*updaters));
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        if (!m->at[i].is_apply)
            updaters[n++] = &m->at[i];
    if (n <= UPDATERS_MAX)
        return;
    qsort(updaters, n, sizeof(struct manager *), updater_compare);
    join_updaters(a, updaters, n);
    for (size_t i = m->n; i > 0; i--)
        if (!m->at[i - 1].name)
            managers_remove(m, i - 1);
}

struct err *managers_update(const struct managed_write *w, struct managers *m, const json_t *before,
                            const json_t *after)
{
    const struct manager self = {.name = *w->manager ? w->manager : "unknown",
                                 .api_version = w->api_version,
                                 .subresource = w->subresource};
    struct comparison changed = {0};
    const struct fieldset *own;
    struct manager *entry;

    TRY(managed_compare(w, before, after, &changed));
    for (size_t i = 0; i < m->n; i++)
        managers_lose(w->arena, m, i, &changed);
    managers_drop_empty(m);
    own = managed_strip(w->arena, fieldset_union(w->arena, changed.modified, changed.added));
    if (!fieldset_is_empty(own)) {
        entry = managers_find(m, &self);
        if (!entry) {
            entry = managers_add(w->arena, m);
            *entry = self;
        }
        entry->fields = fieldset_union(w->arena, own, entry->fields);
        entry->time = w->now;
    }
    managers_cap(w->arena, m);
    return NULL;
}
