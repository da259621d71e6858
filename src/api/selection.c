#include "api/selection.h"

#include "base/mem.h"

/* What a selector looks at. The tree is made when it is first needed. */
struct subject {
    const struct selection *selection;
    struct core *core;
    const struct store_object *object; /* NULL: only a tree */
    json_t **tree;
};

static bool is_name(const char *path)
{
    return text_equal(path, "metadata.name") || text_equal(path, "metadata.namespace");
}

static struct err *check_field(void *arg, const char *path)
{
    struct selection *s = arg;

    if (is_name(path))
        return NULL;
    s->needs_tree = true;
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
        s.needs_tree = true;
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

static const char *get_label(const void *object, const char *key)
{
    return json_text_at(subject_tree(object), "metadata", "labels", key, NULL);
}

static const char *get_field(const void *object, const char *path)
{
    const struct subject *s = object;

    if (s->object && text_equal(path, "metadata.name"))
        return s->object->key.name;
    if (s->object && text_equal(path, "metadata.namespace"))
        return s->object->key.ns;
    return kind_selectable(s->selection->kind, subject_tree(s), path);
}

static bool matches(const struct selection *s, const struct subject *subject)
{
    /* Fields first: they are often names, which need no tree. */
    if (s->fields && !selector_matches(s->fields, get_field, subject))
        return false;
    return !s->labels || selector_matches(s->labels, get_label, subject);
}

bool selection_matches(const struct selection *s, struct core *core, const struct store_object *o)
{
    AUTO(json_freep) json_t *tree = NULL;
    const struct subject subject = {.selection = s, .core = core, .object = o, .tree = &tree};

    return matches(s, &subject);
}

bool selection_matches_tree(const struct selection *s, const json_t *tree)
{
    json_t *borrowed = (json_t *)(uintptr_t)tree;
    const struct subject subject = {.selection = s, .tree = &borrowed};

    return matches(s, &subject);
}
