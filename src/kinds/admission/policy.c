/* policy.c - the expressions of a policy: each variable knows those before it */

#include "kinds/admission/policy.h"

#include "base/mem.h"
#include "kinds/admission/admission_fields.h"

/* The language of an expression: the shape of `variables` is the language itself. */
struct policy_language {
    struct cel_language language;
    struct cel_variable variables[ADMISSION_VARIABLES_END];
    const json_t *names; /* spec.variables */
    size_t n_names;      /* those that the expression may use */
};

static const void *names_member(const void *shape, const char *name)
{
    (void)shape;
    (void)name;
    return NULL;
}

static const void *names_item(const void *shape)
{
    (void)shape;
    return NULL;
}

static enum cel_form names_form(const void *shape)
{
    (void)shape;
    return CEL_FORM_PLAIN;
}

static bool names_lacks(const void *shape, const char *name)
{
    const struct policy_language *l = shape;

    for (size_t i = 0; i < l->n_names; i++)
        if (text_equal(json_text(json_array_get(l->names, i), "name"), name))
            return false;
    return true;
}

static const struct cel_shapes names_shapes = {
    .member = names_member, .item = names_item, .form = names_form, .lacks = names_lacks};

static void language_init(struct policy_language *l, const json_t *names, size_t n)
{
    const struct cel_language *of = &admission_policy_language;

    *l = (struct policy_language){.names = names, .n_names = n};
    for (size_t i = 0; i < of->n_variables; i++)
        l->variables[i] = of->variables[i];
    l->variables[ADMISSION_VARIABLES].shape = l;
    l->language = (struct cel_language){.shapes = &names_shapes,
                                        .variables = l->variables,
                                        .n_variables = of->n_variables,
                                        .named = of->named};
}

/* NULL with a cause at `at`. */
static struct cel_rule *compile(const char *text, const struct policy_language *l,
                                const struct path *at, struct causes *causes)
{
    struct cel_rule *rule = NULL;
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *detail = NULL;

    if (!text || text[strspn(text, " \t\r\n")] == '\0') {
        cause_required(causes, at, "");
        return NULL;
    }
    e = cel_rule_parse(str_of(text), &l->language, &rule);
    if (!e)
        return rule;
    detail = mem_format("compilation failed: %s", err_message(e));
    cause_invalid(causes, at, text, detail);
    return NULL;
}

static void read_variables(struct policy *p, const json_t *list, const struct path *at,
                           struct causes *causes)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        vec_add(&p->variables,
                (struct cel_named){.name = json_text(one, "name"),
                                   .rule = compile(json_text(one, "expression"), &p->languages[i],
                                                   PATH(PATH_INDEX(at, i), "expression"), causes)});
    }
}

static void read_validations(struct policy *p, const json_t *list, const struct policy_language *l,
                             const struct path *at, struct causes *causes)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const struct path *here = PATH_INDEX(at, i);
        const char *message_rule = json_text_filled(one, "messageExpression");
        struct policy_validation v = {.text = json_text(one, "expression"),
                                      .message = json_text_filled(one, "message"),
                                      .reason = json_text_filled(one, "reason")};

        v.rule = compile(v.text, l, PATH(here, "expression"), causes);
        if (message_rule)
            v.message_rule = compile(message_rule, l, PATH(here, "messageExpression"), causes);
        vec_add(&p->validations, v);
    }
}

static void read_annotations(struct policy *p, const json_t *list, const struct policy_language *l,
                             const struct path *at, struct causes *causes)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        struct policy_annotation a = {.key = json_text(one, "key")};

        a.rule = compile(json_text(one, "valueExpression"), l,
                         PATH(PATH_INDEX(at, i), "valueExpression"), causes);
        vec_add(&p->annotations, a);
    }
}

struct policy *policy_new(json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *variables = json_object_get(spec, "variables");
    const json_t *constraints = json_object_get(spec, "matchConstraints");
    const struct path *at = PATH(NULL, "spec");
    size_t n = json_array_size(variables);
    struct policy *p = mem_alloc(sizeof(*p));
    const struct policy_language *l;

    *p = (struct policy){.source = json_incref(object),
                         .name = json_text_at(object, "metadata", "name", NULL),
                         .is_ignored = text_equal(json_text(spec, "failurePolicy"), "Ignore")};
    p->languages = mem_alloc((n + 1) * sizeof(*p->languages));
    for (size_t i = 0; i <= n; i++)
        language_init(&p->languages[i], variables, i);
    l = &p->languages[n];
    hook_match_init(&p->match, constraints, json_object_get(constraints, "resourceRules"),
                    json_object_get(constraints, "excludeResourceRules"));
    read_variables(p, variables, PATH(at, "variables"), causes);
    read_validations(p, json_object_get(spec, "validations"), l, PATH(at, "validations"), causes);
    read_annotations(p, json_object_get(spec, "auditAnnotations"), l, PATH(at, "auditAnnotations"),
                     causes);
    hook_conditions_read(json_object_get(spec, "matchConditions"), &l->language, &p->conditions);
    return p;
}

void policy_free(struct policy *p)
{
    if (!p)
        return;
    VEC_EACH (&p->variables, v)
        cel_rule_free((struct cel_rule *)(uintptr_t)v->rule);
    VEC_EACH (&p->validations, v) {
        cel_rule_free(v->rule);
        cel_rule_free(v->message_rule);
    }
    VEC_EACH (&p->annotations, a)
        cel_rule_free(a->rule);
    vec_done(&p->variables);
    vec_done(&p->validations);
    vec_done(&p->annotations);
    hook_conditions_done(&p->conditions);
    hook_match_done(&p->match);
    free(p->languages);
    json_decref(p->source);
    free(p);
}
