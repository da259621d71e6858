/* policies.c - the evaluation of policies, binding by binding and parameter by parameter */

#include "kinds/admission/policies.h"

#include "base/log.h"
#include "base/mem.h"
#include "kinds/admission/admission_fields.h"
#include "kinds/admission/policy.h"
#include "kinds/admission/review.h"
#include "kinds/kind/label_selector.h"
#include "kinds/object/objects.h"

#define AUDIT_KEY "validation.policy.admission.k8s.io/validation_failure"

enum {
    PARAMS_MAX = 1000
};

/* A binding of a policy. */
struct bound {
    struct policy *policy; /* borrowed */
    json_t *source;
    const char *name;
    struct hook_match match;
    struct selector *params; /* paramRef.selector; NULL: none */
    bool has_match;          /* spec.matchResources */
};

struct policies {
    struct store *store;
    VEC(struct policy *) all;
    VEC(struct bound) bound;
};

/* ---- reading ---- */

struct policies *policies_new(struct store *s)
{
    struct policies *p = mem_alloc(sizeof(*p));

    p->store = s;
    return p;
}

static void policies_clear(struct policies *p)
{
    VEC_EACH (&p->bound, b) {
        hook_match_done(&b->match);
        selector_free(b->params);
        json_decref(b->source);
    }
    VEC_EACH (&p->all, one)
        policy_free(*one);
    vec_clear(&p->bound);
    vec_clear(&p->all);
}

void policies_free(struct policies *p)
{
    if (!p)
        return;
    policies_clear(p);
    vec_done(&p->bound);
    vec_done(&p->all);
    free(p);
}

bool policies_is_empty(const struct policies *p)
{
    return p->bound.n == 0;
}

static void add_policy(struct policies *p, json_t *object)
{
    AUTO(causes_done) struct causes causes = {0};

    vec_add(&p->all, policy_new(object, &causes));
    if (causes.n > 0)
        LOG(ERROR, "a stored admission policy cannot be compiled",
            S("policy", json_text_at(object, "metadata", "name", NULL)), S("why", causes.text.at));
}

static void add_binding(struct policies *p, json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");
    const json_t *resources = json_object_get(spec, "matchResources");
    const json_t *selector = json_at(spec, "paramRef", "selector", NULL);
    struct bound b = {.source = object,
                      .name = json_text_at(object, "metadata", "name", NULL),
                      .has_match = resources != NULL};

    VEC_EACH (&p->all, one)
        if (text_equal((*one)->name, json_text(spec, "policyName")))
            b.policy = *one;
    if (!b.policy)
        return;
    (void)json_incref(object);
    hook_match_init(&b.match, resources, json_object_get(resources, "resourceRules"),
                    json_object_get(resources, "excludeResourceRules"));
    if (selector)
        err_free(label_selector_parse(selector, &b.params)); /* the validation has parsed it */
    vec_add(&p->bound, b);
}

static void read_all(struct policies *p, const char *resource,
                     void (*add)(struct policies *p, json_t *object))
{
    const struct store_range range = {.group = ADMISSION_GROUP, .resource = resource};
    const struct store_object *o = NULL;

    while ((o = store_next(p->store, &range, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *tree = NULL;
        AUTO(err_freep) struct err *e = json_parse(o->bytes, &tree);

        if (e)
            LOG(ERROR, "a stored admission policy cannot be read", S("name", o->key.name), E(e));
        else
            add(p, tree);
    }
}

void policies_read(struct policies *p)
{
    policies_clear(p);
    read_all(p, POLICY_PLURAL, add_policy);
    read_all(p, POLICY_BINDING_PLURAL, add_binding);
}

/* ---- judgement ---- */

/* A policy that is evaluated with one parameter. */
struct judging {
    const struct bound *bound;
    struct admission_context *admission;
    const struct admission_ask *ask;
    json_t *warnings;
    struct cel_session *session;
    const json_t *params; /* NULL: none */
};

static int code_of(const char *reason)
{
    static const struct {
        const char *reason;
        int code;
    } known[] = {{"Unauthorized", 401}, {"Forbidden", 403}, {"RequestEntityTooLarge", 413}};

    for (size_t i = 0; i < COUNT(known); i++)
        if (text_equal(known[i].reason, reason))
            return known[i].code;
    return 422;
}

static struct err *denial(const struct judging *j, const char *message, const char *reason)
{
    const struct kind *k = j->ask->kind;
    const char *why = reason ? reason : "Invalid";
    AUTO_FREE char *body =
        mem_format("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s",
                   j->bound->policy->name, j->bound->name, message);
    AUTO(json_freep)
    json_t *told = json_pack("{s:i, s:s, s:[{s:s}]}", "code", code_of(why), "reason", why, "causes",
                             "message", body);

    return err_with_details(err_new(ERR_INVALID, "%s%s%s \"%s\" is forbidden: %s", k->plural,
                                    *k->group ? "." : "", k->group, j->ask->name, body),
                            json_format(told));
}

static void note_failure(const struct judging *j, const char *message, size_t at)
{
    AUTO(json_freep)
    json_t *note = json_pack("[{s:s, s:s, s:s, s:i, s:O}]", "message", message, "policy",
                             j->bound->policy->name, "binding", j->bound->name, "expressionIndex",
                             (int)at, "validationActions",
                             json_at(j->bound->source, "spec", "validationActions", NULL));
    AUTO_FREE char *text = json_format(note);

    admission_context_annotate(j->admission, AUDIT_KEY, text);
}

/* The consequences of a failed validation, by the binding. */
static struct err *act(const struct judging *j, const char *message, const char *reason, size_t at)
{
    const json_t *actions = json_at(j->bound->source, "spec", "validationActions", NULL);

    if (json_has_text(actions, "Audit"))
        note_failure(j, message, at);
    if (json_has_text(actions, "Warn")) {
        AUTO_FREE char *text =
            mem_format("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s",
                       j->bound->policy->name, j->bound->name, message);

        admission_context_warn(j->admission, j->warnings, text);
    }
    return json_has_text(actions, "Deny") ? denial(j, message, reason) : NULL;
}

/* The message of a failed validation: its messageExpression, its message, or the expression. */
static char *message_of(const struct judging *j, const struct policy_validation *v)
{
    char *text = NULL;
    AUTO(err_freep)
    struct err *e = v->message_rule ? cel_session_text(j->session, v->message_rule, &text) : NULL;

    if (text && !e && *text && !strpbrk(text, "\r\n"))
        return text;
    free(text);
    return v->message ? mem_strdup(v->message) : mem_format("failed expression: %s", v->text);
}

static struct err *judge_validation(const struct judging *j, size_t at)
{
    const struct policy *p = j->bound->policy;
    const struct policy_validation *v = &p->validations.at[at];
    bool holds = false;
    AUTO(err_freep)
    struct err *e = v->rule ? cel_session_holds(j->session, v->rule, &holds)
                            : err_new(ERR_INVALID, "it cannot be compiled");
    AUTO_FREE char *message = NULL;

    if (!e && holds)
        return NULL;
    if (e && p->is_ignored)
        return NULL;
    message = e ? mem_format("expression '%s' resulted in error: %s", v->text, err_message(e))
                : message_of(j, v);
    return act(j, message, e ? NULL : v->reason, at);
}

static void put_annotations(const struct judging *j)
{
    const struct policy *p = j->bound->policy;

    for (size_t i = 0; i < p->annotations.n; i++) {
        const struct policy_annotation *a = &p->annotations.at[i];
        AUTO_FREE char *text = NULL;
        AUTO_FREE char *key = mem_format("%s/%s", p->name, a->key);
        AUTO(err_freep)
        struct err *e = a->rule ? cel_session_text(j->session, a->rule, &text) : NULL;

        if (text && !e)
            admission_context_annotate(j->admission, key, text);
    }
}

static struct err *judge_all(const struct judging *j)
{
    const struct policy *p = j->bound->policy;
    struct err *first = NULL;
    bool is_for_it = true;
    AUTO(err_freep) struct err *e = hook_conditions_hold(&p->conditions, j->session, &is_for_it);

    if (e)
        return p->is_ignored ? NULL : act(j, err_message(e), NULL, 0);
    if (!is_for_it)
        return NULL;
    for (size_t i = 0; i < p->validations.n; i++) {
        struct err *next = judge_validation(j, i);

        if (first)
            err_free(next);
        else
            first = next;
    }
    put_annotations(j);
    return first;
}

/* ---- values ---- */

static struct err *read_namespace(const struct admission_ask *ask, json_t **ret)
{
    const struct store_object *o;

    if (!ask->kind->is_namespaced || !*ask->ns)
        return NULL;
    o = store_get_applied(
        ask->store,
        (struct store_key){.group = "", .resource = "namespaces", .ns = "", .name = ask->ns});
    return o ? json_parse(o->bytes, ret) : NULL;
}

static struct err *judge_with(struct judging *j, const json_t *params)
{
    const struct policy *p = j->bound->policy;
    const struct kind *k = hook_match_find(&p->match, j->ask);
    AUTO(json_freep) json_t *request = review_request(j->ask, k);
    AUTO(json_freep) json_t *ns = NULL;
    struct err *e = NULL;

    TRY(read_namespace(j->ask, &ns));
    {
        const json_t *values[ADMISSION_VARIABLES_END] = {
            [ADMISSION_OBJECT] = json_object_get(request, "object"),
            [ADMISSION_OLD_OBJECT] = json_object_get(request, "oldObject"),
            [ADMISSION_REQUEST] = request,
            [ADMISSION_PARAMS] = params,
            [ADMISSION_NAMESPACE] = ns};

        j->session = cel_session_new(values, p->variables.at, p->variables.n);
        e = judge_all(j);
        cel_session_free(j->session);
    }
    return e;
}

/* ---- parameters ---- */

static struct err *no_params(struct judging *j)
{
    const char *action =
        json_text_at(j->bound->source, "spec", "paramRef", "parameterNotFoundAction", NULL);

    if (text_equal(action, "Allow") || j->bound->policy->is_ignored)
        return NULL;
    return act(j,
               "failed to configure binding: no params found for policy binding with `Deny` "
               "parameterNotFoundAction",
               NULL, 0);
}

static bool is_param(const struct bound *b, const char *name, const struct store_object *o,
                     json_t **ret)
{
    AUTO(err_freep) struct err *e = NULL;

    if (name && *name && !text_equal(o->key.name, name))
        return false;
    e = objects_decode(o, ret);
    return !e && (!b->params || label_selector_matches(b->params, *ret));
}

static struct err *judge_params(struct judging *j, const struct kind *k)
{
    const json_t *ref = json_at(j->bound->source, "spec", "paramRef", NULL);
    const char *name = json_text_filled(ref, "name");
    const char *ns = json_text_filled(ref, "namespace");
    const struct kind *kept = kind_kept(k);
    struct store_range range = {.group = kept->group, .resource = kept->plural};
    const struct store_object *o = NULL;
    struct err *first = NULL;
    size_t n = 0;

    if (k->is_namespaced)
        range.ns = ns ? ns : j->ask->ns;
    while (n < PARAMS_MAX && (o = store_next(j->ask->store, &range, o ? &o->key : NULL))) {
        AUTO(json_freep) json_t *params = NULL;
        struct err *e;

        if (!is_param(j->bound, name, o, &params))
            continue;
        n++;
        kind_from_kept(k, params);
        e = judge_with(j, params);
        if (first)
            err_free(e);
        else
            first = e;
    }
    return n == 0 ? no_params(j) : first;
}

static struct err *judge_bound(struct judging *j)
{
    const json_t *spec = json_object_get(j->bound->policy->source, "spec");
    const json_t *kind = json_object_get(spec, "paramKind");
    const struct kind *k;

    if (!hook_match_find(&j->bound->policy->match, j->ask) ||
        (j->bound->has_match && json_array_size(j->bound->match.rules) > 0 &&
         !hook_match_find(&j->bound->match, j->ask)))
        return NULL;
    if (j->bound->has_match && !hook_match_selects(&j->bound->match, j->ask))
        return NULL;
    if (!kind || !json_at(j->bound->source, "spec", "paramRef", NULL))
        return judge_with(j, NULL);
    k = kind_find_by_kind(text_or_empty(json_text(kind, "apiVersion")),
                          text_or_empty(json_text(kind, "kind")));
    return k ? judge_params(j, k) : no_params(j);
}

struct err *policies_judge(const struct policies *p, struct admission_context *d,
                           const struct admission_ask *ask, json_t *warnings)
{
    struct err *first = NULL;

    for (size_t i = 0; i < p->bound.n; i++) {
        struct judging j = {
            .bound = &p->bound.at[i], .admission = d, .ask = ask, .warnings = warnings};
        struct err *e = judge_bound(&j);

        if (first)
            err_free(e);
        else
            first = e;
    }
    return first;
}
