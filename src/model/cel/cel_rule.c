/* cel_rule.c - rules: from their text to their value */

#include "model/cel/cel_rule.h"

#include "base/mem.h"
#include "model/cel/cel_rule_private.h"

/* ---- the check of members, before any evaluation ---- */

struct checker {
    const struct cel_shapes *shapes;
    const void **frame;  /* shapes of the variables */
    struct cel_run *run; /* for names */
};

/* Finds the shape of the node's value (NULL: unknown). Recursive, as the expression. */
static struct err *check_node(struct checker *c, const struct cel_node *n, const void **ret);

static struct err *check_field(struct checker *c, const struct cel_node *n, const void *of,
                               const void **ret)
{
    AUTO_FREE char *plain = mem_strndup(n->name.at, n->name.size);
    struct str real = rule_unescape(c->run, n->name);
    AUTO_FREE char *name = mem_strndup(real.at, real.size);

    *ret = NULL;
    if (!of)
        return NULL;
    if (c->shapes->lacks(of, plain) && c->shapes->lacks(of, name))
        return rule_fault(n, "undefined field '%s'", plain);
    *ret = c->shapes->member(of, c->shapes->lacks(of, plain) ? name : plain);
    return NULL;
}

static struct err *check_macro(struct checker *c, const struct cel_node *n, const void *of)
{
    const void *item = of ? c->shapes->item(of) : NULL;
    const void *shape = NULL;

    c->frame[n->slot] = n->slot_second > 0 ? NULL : item;
    if (n->slot_second > 0)
        c->frame[n->slot_second] = item;
    for (size_t i = 1; i < n->n_args; i++)
        TRY(check_node(c, n->args[i], &shape));
    return NULL;
}

static struct err *check_node(struct checker *c, const struct cel_node *n, const void **ret)
{
    const void *first = NULL;
    const void *other = NULL;

    *ret = NULL;
    if (n->op == CEL_OP_VARIABLE)
        *ret = c->frame[n->slot];
    if (n->n_args == 0)
        return NULL;
    TRY(check_node(c, n->args[0], &first));
    if (n->op == CEL_OP_FIELD || n->op == CEL_OP_HAS)
        return check_field(c, n, first, ret);
    if (n->op == CEL_OP_MACRO)
        return check_macro(c, n, first);
    if (n->op == CEL_OP_BIND) {
        c->frame[n->slot] = first;
        return check_node(c, n->args[1], ret);
    }
    for (size_t i = 1; i < n->n_args; i++)
        TRY(check_node(c, n->args[i], &other));
    if (n->op == CEL_OP_INDEX && first)
        *ret = c->shapes->item(first);
    return NULL;
}

static struct err *check_members(const struct cel_rule *rule)
{
    const struct cel_language *l = rule->language;
    struct cel_run run = {.rule = rule, .arena = rule->arena};
    struct checker c = {.shapes = l->shapes, .run = &run};
    const void *shape = NULL;

    if (!l->shapes)
        return NULL;
    c.frame = arena_alloc(rule->arena, (rule->n_frame + 1) * sizeof(*c.frame));
    for (size_t i = 0; i < l->n_variables; i++)
        c.frame[i] = l->variables[i].shape;
    return check_node(&c, rule->root, &shape);
}

/* ---- rules ---- */

struct err *cel_rule_parse(struct str text, const struct cel_language *language,
                           struct cel_rule **ret)
{
    struct cel_rule *r = mem_alloc(sizeof(*r));
    struct cel_scope scope = {.ret_uses = r->uses, .n_uses = language->n_variables};
    char *copy;
    struct err *e;

    r->arena = arena_new();
    r->language = language;
    for (size_t i = 0; i < language->n_variables; i++)
        scope.names[scope.n++] = str_of(language->variables[i].name);
    scope.most = scope.n;
    copy = arena_alloc(r->arena, (text.size < CEL_TEXT_MAX ? text.size : CEL_TEXT_MAX) + 1);
    if (text.size <= CEL_TEXT_MAX) {
        memcpy(copy, text.at, text.size);
        text.at = copy;
    }
    e = cel_parse_scoped(text, r->arena, &scope, &r->root);
    r->n_frame = scope.most;
    if (!e)
        e = check_members(r);
    if (e) {
        cel_rule_free(r);
        return e;
    }
    *ret = r;
    return NULL;
}

void cel_rule_free(struct cel_rule *r)
{
    if (!r)
        return;
    arena_free(r->arena);
    free(r);
}

bool cel_rule_uses(const struct cel_rule *r, const char *variable)
{
    for (size_t i = 0; i < r->language->n_variables; i++)
        if (text_equal(r->language->variables[i].name, variable))
            return r->uses[i];
    return false;
}

struct err *rule_run(struct cel_run *r, const json_t *const *values, struct cel_item *ret)
{
    const struct cel_language *l = r->rule->language;

    r->frame = arena_alloc(r->arena, (r->rule->n_frame + 1) * sizeof(*r->frame));
    for (size_t i = 0; i < l->n_variables; i++) {
        const struct cel_variable *v = &l->variables[i];

        if (values[i])
            r->frame[i] = item_of_json(r, values[i], v->shape);
        if (v->is_optional)
            r->frame[i] = values[i] ? item_some(r, r->frame[i]) : item_none();
    }
    return rule_eval(r, r->rule->root, ret);
}

struct err *cel_rule_holds(const struct cel_rule *rule, const json_t *const *values, int64_t *steps,
                           bool *ret)
{
    AUTO(arena_freep) struct arena *arena = arena_new();
    struct cel_run r = {.rule = rule, .arena = arena, .steps = steps};
    struct cel_item v = {0};

    TRY(rule_run(&r, values, &v));
    if (v.kind != ITEM_BOOL)
        return rule_fault(rule->root, "the value is of type %s: want bool", item_kind_name(v.kind));
    *ret = v.yes;
    return NULL;
}

struct err *cel_rule_text(const struct cel_rule *rule, const json_t *const *values, int64_t *steps,
                          char **ret)
{
    AUTO(arena_freep) struct arena *arena = arena_new();
    struct cel_run r = {.rule = rule, .arena = arena, .steps = steps};
    struct cel_item v = {0};

    TRY(rule_run(&r, values, &v));
    if (v.kind != ITEM_STRING)
        return rule_fault(rule->root, "the value is of type %s: want string",
                          item_kind_name(v.kind));
    *ret = mem_strndup(v.text.at, v.text.size);
    return NULL;
}
