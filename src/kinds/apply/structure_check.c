/* structure_check.c - the faults of an applied configuration, in Kubernetes' words */

#include "base/mem.h"
#include "kinds/apply/structure_private.h"

enum {
    FAULTS_SHOWN_MAX = 16
};

struct checking {
    struct arena *arena;
    struct buf faults; /* "  .spec.foo: field not declared in schema", a line each */
    size_t n;
};

/* Recursive, as deep as the configuration, which json_parse caps. */
static void check_value(struct checking *c, struct shape shape, const struct fieldset_path *path,
                        const json_t *value);

static void add_fault(struct checking *c, const struct fieldset_path *path, const char *text)
{
    if (c->n++ >= FAULTS_SHOWN_MAX)
        return;
    buf_add_text(&c->faults, c->n > 1 ? "\n  " : "");
    fieldset_path_add(&c->faults, path);
    buf_add_text(&c->faults, text);
}

static void check_members(struct checking *c, struct shape shape, const struct fieldset_path *path,
                          const json_t *object)
{
    size_t n = 0;
    struct sorted_member *members = members_sort(c->arena, object, &n);

    for (size_t i = 0; i < n; i++) {
        const struct element e = element_field(members[i].name);
        const struct fieldset_path here = {.up = path, .element = &e};
        bool is_named = false;

        check_value(c, shape_member(shape, e.name, &is_named), &here, members[i].value);
    }
}

static void check_items(struct checking *c, struct shape shape, const struct fieldset_path *path,
                        const json_t *list)
{
    struct item_index items = {0};
    AUTO(err_freep) struct err *e = items_index(c->arena, shape, list, &items);

    if (e) {
        add_fault(c, path, err_message(e));
        return;
    }
    for (size_t i = 0; i < items.n; i++) {
        const struct fieldset_path here = {.up = path, .element = &items.sorted[i].element};
        AUTO(buf_done) struct buf text = {0};

        check_value(c, shape_item(shape), &here, items.sorted[i].value);
        if (i == 0 || element_compare(&items.sorted[i - 1].element, &items.sorted[i].element) != 0)
            continue;
        buf_add_text(&text, ": duplicate entries for key ");
        element_add(&text, here.element);
        add_fault(c, path, text.at);
    }
}

static void check_value(struct checking *c, struct shape shape, const struct fieldset_path *path,
                        const json_t *value)
{
    enum shape_form form = shape_form(shape);
    bool is_list = form == SHAPE_SET || form == SHAPE_LIST_MAP;

    if (form == SHAPE_UNDECLARED)
        add_fault(c, path, ": field not declared in schema");
    else if (json_is_null(value))
        return;
    else if (is_list && !json_is_array(value))
        add_fault(c, path, ": expected list");
    else if (is_list)
        check_items(c, shape, path, value);
    else if (form == SHAPE_OBJECT && !json_is_object(value))
        add_fault(c, path, ": expected map");
    else if (form == SHAPE_OBJECT)
        check_members(c, shape, path, value);
    else if (form == SHAPE_SCALAR && (json_is_object(value) || json_is_array(value)))
        add_fault(c, path, ": expected a scalar");
}

struct err *structure_check(struct arena *a, struct shape shape, const json_t *config)
{
    struct checking c = {.arena = a};
    struct err *e = NULL;

    check_value(&c, shape, NULL, config);
    if (c.n == 1)
        e = err_new(ERR_INVALID, "%s", c.faults.at);
    else if (c.n > 1)
        e = err_new(ERR_INVALID, "errors:\n  %s", c.faults.at);
    buf_done(&c.faults);
    return e;
}
