/* cel_session.c - values for several rules, and named expressions that they share */

#include "base/mem.h"
#include "model/cel/cel_rule_private.h"

enum {
    CALL_STEPS = 1000000,
    ALL_STEPS = 10000000
};

/* A named expression with its value. */
struct named_value {
    bool is_known;
    bool is_busy;
    struct cel_item item;
    struct err *failed; /* NULL: `item` is the value */
};

struct cel_session {
    struct arena *arena;
    const json_t *const *values;
    const struct cel_named *named;
    size_t n_named;
    struct named_value *known;
    int64_t steps;
};

struct cel_session *cel_session_new(const json_t *const *values, const struct cel_named *named,
                                    size_t n_named)
{
    struct cel_session *s = mem_alloc(sizeof(*s));

    *s = (struct cel_session){.arena = arena_new(),
                              .values = values,
                              .named = named,
                              .n_named = n_named,
                              .steps = ALL_STEPS};
    s->known = mem_alloc((n_named + 1) * sizeof(*s->known));
    return s;
}

void cel_session_free(struct cel_session *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_named; i++)
        err_free(s->known[i].failed);
    free(s->known);
    arena_free(s->arena);
    free(s);
}

static void value_compute(struct cel_run *by, const struct cel_rule *rule, struct named_value *v)
{
    struct cel_run r = {
        .rule = rule, .arena = by->arena, .steps = by->steps, .session = by->session};

    v->is_busy = true;
    v->failed = rule_run(&r, by->session->values, &v->item);
    v->is_busy = false;
    v->is_known = true;
}

struct err *session_named(struct cel_run *r, struct str name, struct cel_item *ret, bool *ret_found)
{
    struct cel_session *s = r->session;

    *ret_found = false;
    for (size_t i = 0; i < s->n_named; i++) {
        struct named_value *v = &s->known[i];

        if (!str_equal(name, str_of(s->named[i].name)) || v->is_busy || !s->named[i].rule)
            continue;
        if (!v->is_known)
            value_compute(r, s->named[i].rule, v);
        if (v->failed)
            return err_new(err_code(v->failed), "composited variable \"%s\" fails to evaluate: %s",
                           s->named[i].name, err_message(v->failed));
        *ret = v->item;
        *ret_found = true;
        return NULL;
    }
    return NULL;
}

/* Runs a rule within its bound and the session's. */
static struct err *session_run(struct cel_session *s, const struct cel_rule *rule,
                               struct cel_item *ret)
{
    int64_t steps = s->steps < CALL_STEPS ? s->steps : CALL_STEPS;
    int64_t left = steps;
    struct cel_run r = {.rule = rule, .arena = s->arena, .steps = &left, .session = s};
    struct err *e = rule_run(&r, s->values, ret);

    s->steps -= left < 0 ? steps : steps - left;
    return e;
}

struct err *cel_session_holds(struct cel_session *s, const struct cel_rule *rule, bool *ret)
{
    struct cel_item v = {0};

    TRY(session_run(s, rule, &v));
    if (v.kind != ITEM_BOOL)
        return rule_fault(rule->root, "the value is of type %s: want bool", item_kind_name(v.kind));
    *ret = v.yes;
    return NULL;
}

struct err *cel_session_text(struct cel_session *s, const struct cel_rule *rule, char **ret)
{
    struct cel_item v = {0};

    TRY(session_run(s, rule, &v));
    if (v.kind != ITEM_STRING)
        return rule_fault(rule->root, "the value is of type %s: want string",
                          item_kind_name(v.kind));
    *ret = mem_strndup(v.text.at, v.text.size);
    return NULL;
}
