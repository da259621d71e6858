/* custom_kinds.c - definitions of the store to kinds */

#include "kinds/custom/custom_kinds.h"

#include <ctype.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "kinds/custom/custom_definition.h"
#include "kinds/custom/custom_form.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"

/* A version of a definition, with the names that it was first served under. */
struct slot {
    struct map_handle handle;
    char *id;
    struct kind kind;
    struct custom_form *form;
    char *definition; /* name of the definition */
    bool is_served;
    bool is_stored;
    /* Texts of `kind` that a definition may change. */
    json_t *names;
    char *doc;
    const char **categories;
};

struct custom_kinds {
    struct store *store;
    struct store_watch *watch;
    struct slot *slots;
    VEC(const struct kind *) served;
    VEC(const struct kind *) kept;
};

static const struct field fields[] = {F_TYPE_AND_METADATA, F_END};

/* ---- slots ---- */

/* The key of a slot: all that its struct kind says as long as it lives. */
static char *slot_id(const json_t *spec, const char *version)
{
    return mem_format("%s/%s/%s/%s/%s", json_text(spec, "group"), version,
                      json_text_at(spec, "names", "plural", NULL),
                      json_text_at(spec, "names", "kind", NULL), json_text(spec, "scope"));
}

static struct slot *slot_make(struct custom_kinds *c, const json_t *spec, const char *version)
{
    AUTO_FREE char *id = slot_id(spec, version);
    struct slot *s = NULL;

    map_find_text(handle, c->slots, id, s);
    if (s)
        return s;
    s = mem_alloc(sizeof(*s));
    s->id = TAKE(id);
    s->kind = (struct kind){
        .group = mem_strdup(json_text(spec, "group")),
        .version = mem_strdup(version),
        .api_version = mem_format("%s/%s", json_text(spec, "group"), version),
        .kind = mem_strdup(json_text_at(spec, "names", "kind", NULL)),
        .plural = mem_strdup(json_text_at(spec, "names", "plural", NULL)),
        .is_namespaced = text_equal(json_text(spec, "scope"), "Namespaced"),
        .fields = fields,
        .is_custom = true,
    };
    s->kind.singular = s->kind.plural;
    map_add(handle, c->slots, s->id, strlen(s->id), s);
    return s;
}

/* Takes back what the definition said. The kind's address and names stay. */
static void slot_clear(struct slot *s)
{
    struct kind *k = &s->kind;

    k->form = NULL;
    k->shape = (struct shape){0};
    k->columns = NULL;
    k->selectable = NULL;
    k->categories = NULL;
    k->list_kind = NULL;
    k->singular = k->plural;
    k->doc = NULL;
    k->kept_as = NULL;
    memset(k->short_names, 0, sizeof(k->short_names)); /* NOLINT: an array in a struct */
    custom_form_free(s->form);
    json_decref(s->names);
    free(s->doc);
    free(s->categories);
    free(s->definition);
    s->form = NULL;
    s->names = NULL;
    s->doc = NULL;
    s->categories = NULL;
    s->definition = NULL;
    s->is_served = false;
    s->is_stored = false;
}

static void slot_free(struct slot *s)
{
    slot_clear(s);
    mem_freep(&s->kind.group);
    mem_freep(&s->kind.version);
    mem_freep(&s->kind.api_version);
    mem_freep(&s->kind.kind);
    mem_freep(&s->kind.plural);
    free(s->id);
    free(s);
}

/* ---- definitions ---- */

static void put_names(struct slot *s, const json_t *definition)
{
    json_t *names = json_at(definition, "spec", "names", NULL);
    const json_t *short_names = json_object_get(names, "shortNames");
    const json_t *categories = json_object_get(names, "categories");
    struct kind *k = &s->kind;
    size_t n = json_array_size(categories);

    s->names = json_incref(names);
    k->singular = json_text_filled(names, "singular");
    k->list_kind = json_text_filled(names, "listKind");
    for (size_t i = 0; i < json_array_size(short_names) && i < COUNT(k->short_names); i++)
        k->short_names[i] = json_string_value(json_array_get(short_names, i));
    s->categories = mem_alloc((n + 1) * sizeof(*s->categories));
    for (size_t i = 0; i < n; i++)
        s->categories[i] = json_string_value(json_array_get(categories, i));
    k->categories = s->categories;
}

static void put_form(struct slot *s, const json_t *definition, json_t *version, int64_t revision)
{
    const json_t *schema = json_at(version, "schema", "openAPIV3Schema", NULL);
    const char *doc = json_text(schema, "description");
    struct kind *k = &s->kind;

    custom_form_set_since(s->form, revision);
    custom_form_set_terminating(s->form,
                                json_at(definition, "metadata", "deletionTimestamp", NULL) != NULL);
    s->doc = mem_strdup(doc ? doc : "");
    k->doc = s->doc;
    k->form = s->form;
    k->shape = schema_shape(custom_form_schema(s->form));
    k->columns = custom_form_columns(s->form);
    k->selectable = custom_form_selectables(s->form);
    k->has_status = custom_form_has_status(s->form);
    s->is_served = json_bool(version, "served", false);
    s->is_stored = json_bool(version, "storage", false);
}

/* Builds the slot of one version. NULL: it was valid once, and is not any more. */
static struct slot *add_version(struct custom_kinds *c, const json_t *definition, json_t *version,
                                int64_t revision)
{
    AUTO(causes_done) struct causes causes = {0};
    const char *name = json_text_at(definition, "metadata", "name", NULL);
    struct custom_form *form =
        custom_form_new(version, PATH(PATH(NULL, "spec"), "versions"), false, &causes);
    struct slot *s;

    if (!form) {
        LOG(ERROR, "a version of a definition is not served", S("definition", name),
            S("version", json_text(version, "name")), S("why", causes.text.at));
        return NULL;
    }
    s = slot_make(c, json_object_get(definition, "spec"), json_text(version, "name"));
    slot_clear(s);
    s->definition = mem_strdup(name);
    s->form = form;
    put_names(s, definition);
    put_form(s, definition, version, revision);
    return s;
}

static void add_versions(struct custom_kinds *c, const json_t *definition, int64_t revision)
{
    const json_t *versions = json_at(definition, "spec", "versions", NULL);
    struct slot *stored = NULL;
    struct slot *s;
    struct slot *tmp;

    for (size_t i = 0; i < json_array_size(versions); i++) {
        s = add_version(c, definition, json_array_get(versions, i), revision);
        if (s && s->is_stored)
            stored = s;
    }
    map_each (handle, c->slots, s, tmp)
        if (s->definition && stored && s != stored && text_equal(s->definition, stored->definition))
            s->kind.kept_as = &stored->kind;
}

static void remove_versions(struct custom_kinds *c, const char *name)
{
    struct slot *s;
    struct slot *tmp;

    map_each (handle, c->slots, s, tmp)
        if (text_equal(s->definition, name))
            slot_clear(s);
}

/* Does Mete serve the resource by a kind of its own? Then a definition has no effect. */
static bool is_own(const json_t *definition)
{
    const char *group = json_text_at(definition, "spec", "group", NULL);
    const char *plural = json_text_at(definition, "spec", "names", "plural", NULL);

    for (size_t i = 0; i < kinds_count; i++)
        if (text_equal(kinds[i]->group, group) && text_equal(kinds[i]->plural, plural))
            return true;
    return false;
}

static void put_definition(struct custom_kinds *c, const struct store_object *o)
{
    AUTO(json_freep) json_t *definition = NULL;
    AUTO(err_freep) struct err *e = json_parse(o->bytes, &definition);

    remove_versions(c, o->key.name);
    if (e)
        LOG(ERROR, "stored definition cannot be read", S("name", o->key.name), E(e));
    else if (definition_is(definition, "Established") && !is_own(definition))
        add_versions(c, definition, o->version);
}

/* ---- the lists ---- */

/* The rank of a version: v2 before v1, v1 before v1beta2, v1beta1 before v1alpha1, others last. */
static int64_t version_rank(const char *version)
{
    static const char *const stages[] = {"alpha", "beta"};
    int64_t major = 0;
    int64_t minor = 0;
    int64_t stage = 3;
    const char *at = version + 1;

    if (version[0] != 'v' || !isdigit((unsigned char)*at))
        return 0;
    for (; isdigit((unsigned char)*at) && major < 100000; at++)
        major = major * 10 + (*at - '0');
    for (size_t i = 0; *at && stage == 3 && i < COUNT(stages); i++)
        if (text_starts_with(at, stages[i])) {
            stage = (int64_t)i + 1;
            at += strlen(stages[i]);
        }
    for (; stage < 3 && isdigit((unsigned char)*at) && minor < 100000; at++)
        minor = minor * 10 + (*at - '0');
    return *at ? 0 : (stage * 1000000 + major) * 1000000 + minor;
}

static int compare_kinds(const void *a, const void *b)
{
    const struct kind *x = *(const struct kind *const *)a;
    const struct kind *y = *(const struct kind *const *)b;
    int64_t one = version_rank(x->version);
    int64_t other = version_rank(y->version);
    int order = strcmp(x->group, y->group);

    if (order != 0)
        return order;
    if (one != other)
        return one > other ? -1 : 1;
    order = strcmp(x->version, y->version);
    return order != 0 ? order : strcmp(x->plural, y->plural);
}

static void publish(struct custom_kinds *c)
{
    struct slot *s;
    struct slot *tmp;

    vec_clear(&c->served);
    vec_clear(&c->kept);
    map_each (handle, c->slots, s, tmp) {
        if (s->is_served)
            vec_add(&c->served, &s->kind);
        if (s->is_stored)
            vec_add(&c->kept, &s->kind);
    }
    if (c->served.n > 1)
        qsort(c->served.at, c->served.n, sizeof(*c->served.at), compare_kinds);
    if (c->kept.n > 1)
        qsort(c->kept.at, c->kept.n, sizeof(*c->kept.at), compare_kinds);
    kinds_set_custom(c->served.at, c->served.n, c->kept.at, c->kept.n);
}

static void custom_on_change(void *arg, const struct store_change *change, int64_t revision)
{
    struct custom_kinds *c = arg;

    (void)revision;
    if (!change)
        return;
    if (change->type == STORE_DELETED)
        remove_versions(c, change->object->key.name);
    else
        put_definition(c, change->object);
    publish(c);
}

struct err *custom_kinds_new(struct store *s, struct custom_kinds **ret)
{
    const struct store_range range = {.group = DEFINITION_GROUP, .resource = DEFINITION_PLURAL};
    struct custom_kinds *c = mem_alloc(sizeof(*c));
    struct store_list list = {0};
    struct err *e = store_list(s, &range, NULL, NULL, 0, 0, &list);

    c->store = s;
    for (size_t i = 0; !e && i < list.n; i++)
        put_definition(c, list.at[i]);
    if (!e) {
        publish(c);
        e = store_watch_new(s, &range, list.revision, custom_on_change, c, &c->watch);
        store_list_done(&list);
    }
    if (e) {
        custom_kinds_free(c);
        return e;
    }
    *ret = c;
    return NULL;
}

void custom_kinds_free(struct custom_kinds *c)
{
    struct slot *s;
    struct slot *tmp;

    if (!c)
        return;
    kinds_set_custom(NULL, 0, NULL, 0);
    store_watch_free(c->watch);
    map_each (handle, c->slots, s, tmp) {
        map_remove(handle, c->slots, s); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        slot_free(s);
    }
    vec_done(&c->served);
    vec_done(&c->kept);
    free(c);
}
