/* managers_apply.c - a server-side apply: merge, removal of what is no longer applied, conflicts */

#include <stdlib.h>

#include "base/mem.h"
#include "kinds/apply/managers_private.h"

/* kubectl, which moves from its own applies to those of the server, takes over what it applied. */
#define KUBECTL      "kubectl"
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* ---- removal of what the manager applied before and applies no longer ---- */

static struct err *fields_with_parents(const struct managed_write *w, const json_t *object,
                                       struct fieldset **ret)
{
    struct fieldset *fields = NULL;

    TRY(structure_fields(w->arena, w->shape, object, &fields));
    *ret = fieldset_with_parents(w->arena, fields, w->shape);
    return NULL;
}

/* The fields of all entries, with the structs above them. */
static const struct fieldset *owned_fields(const struct managed_write *w, const struct managers *m)
{
    const struct fieldset *owned = NULL;

    for (size_t i = 0; i < m->n; i++)
        owned = fieldset_union(w->arena, owned, m->at[i].fields);
    return fieldset_with_parents(w->arena, owned, w->shape);
}

/* `*merged` becomes the tree without the fields of `last` that no entry of `m` has. Sets borrow
 * from the trees, which stay until the end. */
static struct err *managers_prune(const struct managed_write *w, const struct managers *m,
                                  const struct fieldset *last, json_t **merged)
{
    struct arena *a = w->arena;
    struct fieldset *all = NULL;
    struct fieldset *bare_fields = NULL;
    struct fieldset *kept_fields = NULL;
    AUTO(json_freep) json_t *bare = NULL;
    AUTO(json_freep) json_t *kept = NULL;
    json_t *pruned;

    if (fieldset_is_empty(last))
        return NULL;
    last = fieldset_with_parents(a, last, w->shape);
    TRY(fields_with_parents(w, *merged, &all));
    /* Removes all of it, then keeps what others own, and what is below of theirs. */
    bare = structure_remove(a, w->shape, *merged, last);
    TRY(fields_with_parents(w, bare, &bare_fields));
    kept = structure_remove(
        a, w->shape, *merged,
        fieldset_minus(a, all, fieldset_union(a, bare_fields, owned_fields(w, m))));
    /* Keeps also what the manager had not applied itself. */
    TRY(fields_with_parents(w, kept, &kept_fields));
    pruned = structure_remove(a, w->shape, *merged,
                              fieldset_common(a, fieldset_minus(a, all, kept_fields), last));
    json_decref(*merged);
    *merged = pruned;
    return NULL;
}

/* ---- conflicts ---- */

struct conflict {
    const struct manager *manager;
    const struct fieldset *fields;
    size_t n;
};

struct conflicts {
    struct conflict *at;
    size_t n;
    size_t n_fields;
};

static void count_field(void *arg, const struct fieldset_path *path)
{
    size_t *n = arg;

    (void)path;
    ++*n;
}

static int conflict_compare(const void *x, const void *y)
{
    const struct manager *a = ((const struct conflict *)x)->manager;
    const struct manager *b = ((const struct conflict *)y)->manager;
    int order = strcmp(a->name, b->name);

    if (order == 0)
        order = (int)a->is_apply - (int)b->is_apply;
    if (order == 0)
        order = strcmp(a->api_version, b->api_version);
    return order != 0 ? order : strcmp(a->subresource, b->subresource);
}

/* The fields of others that the apply would change. */
static struct conflicts find_conflicts(const struct managed_write *w, const struct managers *m,
                                       const struct manager *self, const struct comparison *c,
                                       const struct fieldset *allowed)
{
    struct arena *a = w->arena;
    const struct fieldset *changed = fieldset_union(a, c->modified, c->added);
    struct conflicts found = {.at = arena_alloc(a, (m->n + 1) * sizeof(*found.at))};

    for (size_t i = 0; i < m->n; i++) {
        struct conflict one = {.manager = &m->at[i]};

        if (&m->at[i] == self)
            continue;
        one.fields = fieldset_minus(a, fieldset_common(a, m->at[i].fields, changed), allowed);
        fieldset_each(one.fields, count_field, &one.n);
        if (one.n > 0)
            found.at[found.n++] = one;
        found.n_fields += one.n;
    }
    qsort(found.at, found.n, sizeof(*found.at), conflict_compare);
    return found;
}

/* "kubectl" with subresource "status" using apps/v1 */
static void add_manager(struct buf *out, const struct manager *m)
{
    json_add_quoted(out, str_of(m->name));
    if (*m->subresource)
        buf_printf(out, " with subresource \"%s\"", m->subresource);
    if (!m->is_apply)
        buf_printf(out, " using %s", m->api_version);
}

struct conflict_text {
    const struct conflict *conflict;
    struct buf text;
    json_t *causes;
    bool is_single;
};

static void add_conflict(void *arg, const struct fieldset_path *path)
{
    struct conflict_text *t = arg;
    AUTO(buf_done) struct buf field = {0};
    AUTO(buf_done) struct buf message = {0};
    json_t *cause = json_object();

    fieldset_path_add(&field, path);
    buf_add_text(&message, "conflict with ");
    add_manager(&message, t->conflict->manager);
    buf_printf(&t->text, "%s%s", t->is_single ? "" : "\n- ", field.at);
    json_put_text(cause, "reason", "FieldManagerConflict");
    json_put_text(cause, "message", message.at);
    json_put_text(cause, "field", field.at);
    (void)json_array_append_new(t->causes, cause);
}

static struct err *conflicts_err(const struct conflicts *c)
{
    struct conflict_text t = {.causes = json_array(), .is_single = c->n_fields == 1};
    struct err *e;

    for (size_t i = 0; i < c->n; i++) {
        t.conflict = &c->at[i];
        if (i > 0)
            buf_add_char(&t.text, '\n');
        buf_add_text(&t.text, t.is_single ? "conflict with " : "conflicts with ");
        add_manager(&t.text, c->at[i].manager);
        buf_add_text(&t.text, t.is_single ? ": " : ":");
        fieldset_each(c->at[i].fields, add_conflict, &t);
    }
    e = err_new(ERR_CONFLICT, "Apply failed with %zu conflict%s: %s", c->n_fields,
                t.is_single ? "" : "s", t.text.at);
    e = err_with_details(e, json_format(t.causes));
    json_decref(t.causes);
    buf_done(&t.text);
    return e;
}

/* ---- kubectl's own last applied configuration ---- */

static const char *last_applied(const json_t *object)
{
    return json_text_filled(json_at(object, "metadata", "annotations", NULL), LAST_APPLIED);
}

/* The fields that kubectl applied by itself and nobody changed since; empty if that is unknown. */
static struct err *fields_of_kubectl(const struct managed_write *w, const json_t *live,
                                     const json_t *applied, struct fieldset **ret)
{
    struct arena *a = w->arena;
    struct comparison changed = {0};
    struct fieldset *fields = NULL;

    if (!json_is_object(applied) || !text_equal(json_text(applied, "apiVersion"), w->api_version))
        return NULL;
    TRY(structure_fields(a, w->shape, applied, &fields));
    TRY(structure_compare(a, w->shape, applied, live, &changed));
    fields = fieldset_minus(a, fields, changed.modified);
    fields = fieldset_minus(a, fields, changed.added);
    *ret = fieldset_minus(a, fields, changed.removed);
    return NULL;
}

static const struct fieldset *allowed_conflicts(const struct managed_write *w, const json_t *live)
{
    const char *text = last_applied(live);
    AUTO(json_freep) json_t *applied = NULL;
    AUTO(err_freep) struct err *e = NULL;
    struct fieldset *fields = NULL;
    struct fieldset *copy = NULL;

    if (!text || !text_equal(w->manager, KUBECTL))
        return NULL;
    e = json_parse(str_of(text), &applied);
    if (!e)
        e = fields_of_kubectl(w, live, applied, &fields);
    if (!e && fields) {
        AUTO(json_freep) json_t *own = fieldset_format(fields);

        /* The copy outlives `applied`. */
        e = fieldset_parse(w->arena, own, &copy);
    }
    return e ? NULL : copy;
}

/* Keeps the annotation true for a kubectl that applies by itself again. */
static void keep_last_applied(const struct managed_write *w, const json_t *config, json_t **merged)
{
    AUTO(json_freep) json_t *applied = NULL;
    AUTO_FREE char *compact = NULL;
    AUTO_FREE char *text = NULL;
    json_t *made;

    if (!last_applied(*merged) || !text_equal(w->manager, KUBECTL))
        return;
    applied = json_twin(config);
    (void)json_object_del(json_at(applied, "metadata", "annotations", NULL), LAST_APPLIED);
    compact = json_dumps(applied, JSON_COMPACT | JSON_SORT_KEYS);
    text = mem_format("%s\n", compact);
    made = json_twin(*merged);
    json_put_text(json_object_at(json_object_at(made, "metadata"), "annotations"), LAST_APPLIED,
                  text);
    json_decref(*merged);
    *merged = made;
}

/* ---- the apply ---- */

/* Objects without managers belong to one that never applies. */
static struct err *adopt_unmanaged(const struct managed_write *w, struct managers *m,
                                   const json_t *live)
{
    struct managed_write first = *w;

    if (m->n > 0 || !json_at(live, "metadata", "uid", NULL))
        return NULL;
    first.manager = "before-first-apply";
    return managers_update(&first, m, w->zero, live);
}

static struct err *merge_and_judge(const struct managed_write *w, struct managers *m,
                                   const json_t *live, const json_t *config, bool force,
                                   json_t **merged)
{
    const struct manager like = {
        .name = w->manager, .is_apply = true, .subresource = w->subresource};
    struct manager *self = managers_find(m, &like);
    const struct fieldset *last = self ? self->fields : NULL;
    struct fieldset *fields = NULL;
    struct comparison changed = {0};
    struct conflicts conflicts;

    if (!self) {
        self = managers_add(w->arena, m);
        *self = like;
    }
    TRY(structure_merge(w->arena, w->shape, live, config, merged));
    TRY(structure_fields(w->arena, w->shape, config, &fields));
    self->fields = fieldset_without(w->arena, fields, w->ignored);
    self->api_version = w->api_version;
    TRY(managers_prune(w, m, last, merged));
    TRY(managed_compare(w, live, *merged, &changed));
    conflicts = find_conflicts(w, m, self, &changed, NULL);
    if (!force && conflicts.n > 0)
        conflicts = find_conflicts(w, m, self, &changed, allowed_conflicts(w, live));
    if (!force && conflicts.n > 0)
        return conflicts_err(&conflicts);
    for (size_t i = 0; i < m->n; i++)
        if (&m->at[i] != self)
            managers_lose(w->arena, m, i, &changed);
    self->fields = managed_strip(w->arena, self->fields);
    /* As in Kubernetes, an entry that changed no value keeps its time, or has none. */
    if (!json_equal(live, *merged))
        self->time = w->now;
    managers_drop_empty(m);
    return NULL;
}

struct err *managers_apply(const struct managed_write *w, struct managers *m, const json_t *live,
                           const json_t *config, bool force, json_t **ret)
{
    AUTO(json_freep) json_t *merged = NULL;

    TRY(adopt_unmanaged(w, m, live));
    TRY(merge_and_judge(w, m, live, config, force, &merged));
    keep_last_applied(w, config, &merged);
    *ret = TAKE(merged);
    return NULL;
}
