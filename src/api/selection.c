/* selection.c - label and field selectors over stored texts */

#include "api/selection.h"

#include "base/json_pool.h"
#include "base/mem.h"

/* The object that a selector checks: by its stored text, and if that is not enough, by its tree,
 * which is made at the first need. */
struct subject {
    const struct selection *selection;
    struct core *core;
    const struct store_object *object; /* NULL: there is only a tree */
    json_t **tree;
    char *scratch; /* SELECTABLE_SIZE bytes */
};

static bool is_kept_form(const struct subject *s)
{
    return s->object && !*s->tree && !s->selection->kind->kept_as;
}

static bool is_name(const char *path)
{
    return text_equal(path, "metadata.name") || text_equal(path, "metadata.namespace");
}

static struct err *check_field(void *arg, const char *path)
{
    struct selection *s = arg;

    if (is_name(path)) {
        s->has_name = true;
        return NULL;
    }
    s->needs_text = true;
    for (size_t i = 0; s->kind->selectable && s->kind->selectable[i]; i++) {
        if (text_equal(s->kind->selectable[i], path))
            return NULL;
    }
    return err_new(ERR_BAD_REQUEST, "field label not supported: %.128s", path);
}

static struct err *parse_fields(struct selection *s, const char *text)
{
    if (!text || *text == '\0')
        return NULL;
    TRY(selector_parse_fields(str_of(text), &s->fields));
    return selector_each_key(s->fields, check_field, s);
}

struct err *selection_parse(const struct call *c, struct selection *ret)
{
    const char *labels = query_get(&c->query, "labelSelector");
    struct selection s = {.kind = c->kind};
    struct err *e = NULL;

    if (labels && *labels) {
        e = selector_parse_labels(str_of(labels), &s.labels);
        s.needs_text = true;
    }
    if (!e)
        e = parse_fields(&s, query_get(&c->query, "fieldSelector"));
    /* A watch of one object. */
    if (!e && c->name && !s.fields)
        e = parse_fields(&s, arena_format(c->arena, "metadata.name=%s", c->name));
    if (e) {
        selection_done(&s);
        return e;
    }
    *ret = s;
    return NULL;
}

void selection_done(struct selection *s)
{
    selector_free(s->labels);
    selector_free(s->fields);
    *s = (struct selection){0};
}

static const json_t *subject_tree(const struct subject *s)
{
    if (!*s->tree && s->object)
        *s->tree = core_tree(s->core, s->object);
    return *s->tree;
}

/* Reads a label from the stored text; NULL: the object has no such label. False: the tree is
 * needed. */
static bool peek_label(const struct subject *s, const char *key, const char **ret)
{
    enum json_peeked found;
    struct str value = {0};
    struct str at = {0};

    if (!is_kept_form(s))
        return false;
    found = json_peek(s->object->bytes, &at, "metadata", "labels", key, NULL);
    *ret = NULL;
    if (found != PEEK_FOUND)
        return found == PEEK_ABSENT;
    if (!json_peek_string(at, &value) || value.size >= SELECTABLE_SIZE)
        return false;
    memcpy(s->scratch, value.at, value.size);
    s->scratch[value.size] = '\0';
    *ret = s->scratch;
    return true;
}

static const char *get_label(const void *object, const char *key)
{
    const struct subject *s = object;
    const char *value = NULL;

    if (peek_label(s, key, &value))
        return value;
    return json_text_at(subject_tree(s), "metadata", "labels", key, NULL);
}

static const char *get_field(const void *object, const char *path)
{
    const struct subject *s = object;
    const char *value = NULL;

    if (s->object && text_equal(path, "metadata.name"))
        return s->object->key.name;
    if (s->object && text_equal(path, "metadata.namespace"))
        return s->object->key.ns;
    if (is_kept_form(s))
        value = kind_peek_selectable(s->selection->kind, s->object->bytes, path, s->scratch);
    return value ? value : kind_selectable(s->selection->kind, subject_tree(s), path);
}

static bool fields_match(const struct subject *s)
{
    const struct selector *fields = s->selection->fields;

    return !fields || selector_matches(fields, get_field, s);
}

static bool labels_match(const struct subject *s)
{
    const struct selector *labels = s->selection->labels;

    return !labels || selector_matches(labels, get_label, s);
}

/* Checks the cheapest first: a name needs no text, labels are near the start of a text, most fields
 * near its end. */
static bool matches(const struct subject *s)
{
    if (s->selection->has_name)
        return fields_match(s) && labels_match(s);
    return labels_match(s) && fields_match(s);
}

bool selection_matches(const struct selection *s, struct core *core, const struct store_object *o,
                       bool *ret_has_tree)
{
    AUTO(json_freep) json_t *tree = NULL;
    char scratch[SELECTABLE_SIZE];
    const struct subject subject = {
        .selection = s, .core = core, .object = o, .tree = &tree, .scratch = scratch};
    bool is_match = matches(&subject);

    if (ret_has_tree)
        *ret_has_tree = tree != NULL;
    return is_match;
}

bool selection_matches_tree(const struct selection *s, const json_t *tree)
{
    json_t *borrowed = (json_t *)(uintptr_t)tree;
    const struct subject subject = {.selection = s, .tree = &borrowed};

    return matches(&subject);
}
