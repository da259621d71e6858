/*
 * schema_rules.c - x-kubernetes-validations: rules in CEL, at any node of a schema
 *
 * Costs are those of Kubernetes as far as their bounds go: a rule may take a million steps, all
 * rules of one write ten million.
 */

#include "base/mem.h"
#include "kinds/custom/custom_path.h"
#include "kinds/custom/schema_private.h"
#include "model/cel/cel_rule.h"

enum {
    RULES_MAX = 256, /* of a node */
    CALL_STEPS = 1000000,
    ALL_STEPS = 10000000
};

struct schema_rule {
    struct cel_rule *rule;
    struct cel_rule *message_rule; /* NULL: none */
    const char *text;
    const char *message; /* NULL: none */
    const char *reason;  /* NULL: Invalid */
    const char *field;   /* ".a.b"; NULL: the node */
    bool is_transition;  /* asked of updates only */
};

struct schema_rules {
    struct schema_rule *at;
    size_t n;
    struct cel_variable variables[2];
    struct cel_variable variables_optional[2];
    struct cel_language language;
    struct cel_language language_optional; /* oldSelf is an optional value */
};

/* ---- shapes ---- */

static const void *rule_member(const void *shape, const char *name)
{
    return schema_member(shape, name);
}

static const void *rule_item(const void *shape)
{
    const struct schema_node *n = shape;

    return n->type == SCHEMA_ARRAY ? n->items : n->additional;
}

static bool rule_lacks(const void *shape, const char *name)
{
    const struct schema_node *n = shape;

    if (n->type != SCHEMA_OBJECT || n->keeps_unknown || n->has_additional || schema_member(n, name))
        return false;
    return !((n->is_embedded || n->is_root) && schema_is_meta(name));
}

static enum cel_form rule_form(const void *shape)
{
    const struct schema_node *n = shape;

    if (n->type == SCHEMA_NUMBER)
        return CEL_FORM_NUMBER;
    if (n->type != SCHEMA_STRING || !n->format)
        return CEL_FORM_PLAIN;
    if (text_equal(n->format, "date-time") || text_equal(n->format, "date"))
        return CEL_FORM_TIMESTAMP;
    if (text_equal(n->format, "duration"))
        return CEL_FORM_DURATION;
    return text_equal(n->format, "byte") ? CEL_FORM_BYTES : CEL_FORM_PLAIN;
}

static const struct cel_shapes shapes = {
    .member = rule_member, .item = rule_item, .form = rule_form, .lacks = rule_lacks};

/* ---- compilation ---- */

static const char *const reasons[] = {"FieldValueDuplicate", "FieldValueForbidden",
                                      "FieldValueInvalid", "FieldValueRequired", NULL};

static bool has_newline(const char *text)
{
    return text && strpbrk(text, "\r\n");
}

/* Parses an expression; NULL with a cause at `key`. */
static struct cel_rule *compile(const struct cel_language *language, const char *text,
                                const json_t *source, const struct path *at, const char *key,
                                struct causes *causes)
{
    struct cel_rule *rule = NULL;
    AUTO(err_freep) struct err *e = cel_rule_parse(str_of(text), language, &rule);
    AUTO_FREE char *detail = NULL;

    if (!e)
        return rule;
    detail = mem_format("compilation failed: %s", err_message(e));
    cause_invalid_json(causes, PATH(at, key), source, detail);
    return NULL;
}

static void check_texts(const struct schema_rule *rule, const json_t *source, const struct path *at,
                        struct causes *causes)
{
    const char *message = json_text(source, "message");

    if (!rule->text || rule->text[strspn(rule->text, " \t\r\n")] == '\0')
        cause_required(causes, PATH(at, "rule"), "rule is not specified");
    else if (message && !*message)
        cause_invalid(causes, PATH(at, "message"), message, "must be non-empty if specified");
    else if (has_newline(message))
        cause_invalid(causes, PATH(at, "message"), message, "must not contain line breaks");
    else if (has_newline(rule->text) && !rule->message)
        cause_required(causes, PATH(at, "message"),
                       "message must be specified if rule contains line breaks");
    if (rule->reason) {
        bool is_known = false;

        for (size_t i = 0; reasons[i]; i++)
            is_known |= text_equal(reasons[i], rule->reason);
        if (!is_known)
            cause_unsupported(causes, PATH(at, "reason"), rule->reason, reasons);
    }
}

/* Is it a path of names below the node: ".a.b", ".a['b-c']"? */
static void check_field(const struct schema_rule *rule, const struct path *at,
                        struct causes *causes)
{
    struct custom_path *path = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (!rule->field)
        return;
    e = *rule->field == '.' || *rule->field == '[' ? custom_path_parse(rule->field, &path)
                                                   : err_new(ERR_INVALID, "must begin with a dot");
    if (e || !custom_path_is_plain(path))
        cause_invalid(causes, PATH(at, "fieldPath"), rule->field, "must be a valid path");
    custom_path_free(path);
}

static void read_rule(struct schema_rules *rules, struct schema_rule *rule, const json_t *source,
                      const struct path *at, struct causes *causes)
{
    const json_t *optional = json_object_get(source, "optionalOldSelf");
    bool is_optional = json_is_true(optional);
    const struct cel_language *l = is_optional ? &rules->language_optional : &rules->language;
    const char *message_rule = json_text_filled(source, "messageExpression");

    *rule = (struct schema_rule){.text = json_text_filled(source, "rule"),
                                 .message = json_text_filled(source, "message"),
                                 .reason = json_text_filled(source, "reason"),
                                 .field = json_text_filled(source, "fieldPath")};
    check_texts(rule, source, at, causes);
    check_field(rule, at, causes);
    if (!rule->text || rule->text[strspn(rule->text, " \t\r\n")] == '\0')
        return;
    rule->rule = compile(l, rule->text, source, at, "rule", causes);
    if (message_rule)
        rule->message_rule = compile(l, message_rule, source, at, "messageExpression", causes);
    if (!rule->rule)
        return;
    rule->is_transition = cel_rule_uses(rule->rule, "oldSelf") && !is_optional;
    if (optional && !cel_rule_uses(rule->rule, "oldSelf"))
        cause_invalid_json(causes, PATH(at, "optionalOldSelf"), optional,
                           "may not be set if oldSelf is not used in rule");
}

const struct schema_rules *schema_rules_new(struct schema *s, const struct schema_node *n,
                                            const json_t *source, const struct path *at,
                                            struct causes *causes)
{
    const json_t *list = json_object_get(source, "x-kubernetes-validations");
    const struct path *here = PATH(at, "x-kubernetes-validations");
    struct schema_rules *rules;

    if (json_array_size(list) == 0)
        return NULL;
    if (json_array_size(list) > RULES_MAX) {
        cause_too_many(causes, here, json_array_size(list), RULES_MAX);
        return NULL;
    }
    rules = arena_alloc(s->arena, sizeof(*rules));
    rules->variables[0] = (struct cel_variable){.name = "self", .shape = n};
    rules->variables[1] = (struct cel_variable){.name = "oldSelf", .shape = n};
    rules->variables_optional[0] = rules->variables[0];
    rules->variables_optional[1] = rules->variables[1];
    rules->variables_optional[1].is_optional = true;
    rules->language =
        (struct cel_language){.shapes = &shapes, .variables = rules->variables, .n_variables = 2};
    rules->language_optional = (struct cel_language){
        .shapes = &shapes, .variables = rules->variables_optional, .n_variables = 2};
    rules->at = arena_alloc(s->arena, json_array_size(list) * sizeof(*rules->at));
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct schema_rule *rule = &rules->at[rules->n++];

        read_rule(rules, rule, json_array_get(list, i), PATH_INDEX(here, i), causes);
        vec_add(&s->rules, rule->rule);
        vec_add(&s->rules, rule->message_rule);
    }
    return rules;
}

void schema_rules_done(struct schema *s)
{
    VEC_EACH (&s->rules, rule)
        cel_rule_free(*rule);
    vec_done(&s->rules);
}

/* ---- evaluation ---- */

struct asking {
    struct schema_check *check;
    int64_t steps; /* left for all rules */
    bool is_over;
};

/* Recursive, as the value. */
static void ask_below(struct asking *a, const struct schema_node *n, const struct path *at,
                      const json_t *value, const json_t *before);

/* A cause at the rule's field, with its reason. */
static void tell_at(struct causes *causes, const struct schema_rule *rule, const struct path *at,
                    const json_t *value, const char *message)
{
    bool is_scalar = !json_is_object(value) && !json_is_array(value) && !rule->field;
    AUTO_FREE char *text = NULL;

    if (text_equal(rule->reason, "FieldValueForbidden")) {
        cause_forbidden(causes, at, message);
    } else if (text_equal(rule->reason, "FieldValueRequired")) {
        cause_required(causes, at, message);
    } else if (text_equal(rule->reason, "FieldValueDuplicate")) {
        cause_duplicate_json(causes, at, is_scalar ? value : NULL);
    } else if (is_scalar) {
        cause_invalid_json(causes, at, value, message);
    } else {
        text = mem_format("Invalid value: %s", message);
        cause_add(causes, at, "FieldValueInvalid", text);
    }
}

/* Adds the names of `field` to the path, one a call. */
static void tell_below(struct causes *causes, const struct schema_rule *rule, const struct path *at,
                       struct str rest, const json_t *value, const char *message)
{
    struct str part;
    AUTO_FREE char *name = NULL;

    while (rest.size > 0 && (*rest.at == '.' || *rest.at == '[' || *rest.at == '\'' ||
                             *rest.at == ']' || *rest.at == '"'))
        rest = (struct str){rest.at + 1, rest.size - 1};
    if (rest.size == 0) {
        tell_at(causes, rule, at, value, message);
        return;
    }
    part = (struct str){rest.at, 0};
    while (part.size < rest.size && !strchr(".['\"]", rest.at[part.size]))
        part.size++;
    name = mem_strndup(part.at, part.size);
    tell_below(causes, rule, PATH(at, name),
               (struct str){rest.at + part.size, rest.size - part.size}, value, message);
}

static char *message_of(struct asking *a, const struct schema_rule *rule,
                        const json_t *const *values)
{
    const char *text = rule->text;
    char *made = NULL;
    int64_t steps = CALL_STEPS < a->steps ? CALL_STEPS : a->steps;
    AUTO(err_freep) struct err *e = NULL;

    if (rule->message_rule) {
        int64_t before = steps;

        e = cel_rule_text(rule->message_rule, values, &steps, &made);
        a->steps -= before - steps;
        if (made && *made && !has_newline(made))
            return made;
        free(made);
    }
    while (*text == ' ' || *text == '\n')
        text++;
    return rule->message ? mem_strdup(rule->message) : mem_format("failed rule: %s", text);
}

static void tell_broken(struct asking *a, const struct schema_rule *rule, const struct path *at,
                        const struct err *e, bool is_too_costly)
{
    AUTO_FREE char *text = NULL;

    if (is_too_costly)
        text = mem_format("Invalid value: 'operation cancelled: actual cost limit exceeded': no "
                          "further validation rules will be run due to call cost exceeds limit "
                          "for rule: %s",
                          rule->message ? rule->message : rule->text);
    else
        text = mem_format("Invalid value: %s evaluating rule: %s", err_message(e),
                          rule->message ? rule->message : rule->text);
    a->check->n_faults++;
    cause_add(a->check->causes, at, "FieldValueInvalid", text);
}

static void ask_rule(struct asking *a, const struct schema_rule *rule, const struct path *at,
                     const json_t *value, const json_t *before)
{
    const json_t *values[] = {value, before};
    int64_t least = CALL_STEPS < a->steps ? CALL_STEPS : a->steps;
    int64_t steps = least;
    AUTO_FREE char *message = NULL;
    AUTO(err_freep) struct err *e = NULL;
    bool holds = true;

    if (a->is_over || (rule->is_transition && !before))
        return;
    e = cel_rule_holds(rule->rule, values, &steps, &holds);
    a->steps -= least - (steps > 0 ? steps : 0);
    if (e) {
        a->is_over = steps < 0;
        tell_broken(a, rule, at, e, steps < 0);
        return;
    }
    if (holds)
        return;
    /* A fault that the stored value has, too, is let through. */
    if (before && !rule->is_transition && json_equal(value, before))
        return;
    message = message_of(a, rule, values);
    a->check->n_faults++;
    tell_below(a->check->causes, rule, at, str_of(rule->field ? rule->field : ""), value, message);
}

static void ask_items(struct asking *a, const struct schema_node *n, const struct path *at,
                      const json_t *list, const json_t *before)
{
    for (size_t i = 0; i < json_array_size(list) && !a->is_over; i++) {
        const json_t *item = json_array_get(list, i);

        ask_below(a, n->items, PATH_INDEX(at, i), item,
                  schema_item_before(a->check, n, item, before, i));
    }
}

static void ask_below(struct asking *a, const struct schema_node *n, const struct path *at,
                      const json_t *value, const json_t *before)
{
    const char *key;
    json_t *member;

    if (!n->has_rules_below || a->is_over || json_is_null(value))
        return;
    for (size_t i = 0; n->rules && i < n->rules->n; i++)
        ask_rule(a, &n->rules->at[i], at, value, json_is_null(before) ? NULL : before);
    if (json_is_array(value) && n->items)
        ask_items(a, n, at, value, before);
    json_object_foreach ((json_t *)(uintptr_t)value, key, member) {
        const struct schema_node *property = schema_property(n, key);
        const json_t *was = n->is_atomic_map ? NULL : json_object_get(before, key);

        if (property)
            ask_below(a, property, PATH(at, key), member, was);
        else if (n->additional)
            ask_below(a, n->additional, PATH_KEY(at, key), member, was);
    }
}

void schema_check_rules(struct schema_check *c, const struct schema *s, const json_t *object,
                        const json_t *before)
{
    struct asking a = {.check = c, .steps = ALL_STEPS};

    if (!s->root->has_rules_below)
        return;
    if (c->is_blocked) {
        cause_add(c->causes, NULL, "FieldValueInvalid",
                  "Invalid value: null: some validation rules were not checked because the object "
                  "was invalid; correct the existing errors to complete validation");
        return;
    }
    ask_below(&a, s->root, NULL, object, before);
}
