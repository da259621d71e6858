/* hook_match.c - rules and selectors, as in apiserver's admission/plugin/webhook/predicates */

#include "kinds/admission/hook_match.h"

#include "base/mem.h"
#include "kinds/admission/admission_fields.h"
#include "kinds/kind/label_selector.h"
#include "kinds/object/objects.h"

void hook_match_init(struct hook_match *m, const json_t *source, const json_t *rules,
                     const json_t *excluded)
{
    *m = (struct hook_match){.rules = rules,
                             .excluded = excluded,
                             .is_exact = text_equal(json_text(source, "matchPolicy"), "Exact")};
    /* The validation has parsed both; what it would refuse matches nothing. */
    err_free(label_selector_parse(json_object_get(source, "namespaceSelector"), &m->namespaces));
    err_free(label_selector_parse(json_object_get(source, "objectSelector"), &m->objects));
}

void hook_match_done(struct hook_match *m)
{
    selector_free(m->namespaces);
    selector_free(m->objects);
    *m = (struct hook_match){0};
}

bool admission_is_exempt(const struct kind *k)
{
    return text_equal(k->group, ADMISSION_GROUP);
}

/* ---- selectors ---- */

static bool matches_namespace(const struct hook_match *m, const struct admission_ask *ask)
{
    bool is_namespace = *ask->kind->group == '\0' && text_equal(ask->kind->plural, "namespaces");
    const struct store_object *o;
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (is_namespace)
        return label_selector_matches(m->namespaces, ask->object ? ask->object : ask->before);
    if (!ask->kind->is_namespaced)
        return true;
    o = store_get_applied(
        ask->store,
        (struct store_key){.group = "", .resource = "namespaces", .ns = "", .name = ask->ns});
    if (!o)
        return false; /* the write will fail */
    e = json_parse(o->bytes, &tree);
    return !e && label_selector_matches(m->namespaces, tree);
}

static bool matches_object(const struct hook_match *m, const struct admission_ask *ask)
{
    return (ask->object && label_selector_matches(m->objects, ask->object)) ||
           (ask->before && label_selector_matches(m->objects, ask->before));
}

/* ---- rules ---- */

static bool has_or_all(const json_t *list, const char *text)
{
    return json_has_text(list, "*") || json_has_text(list, text);
}

/* "pods", "pods/status", all of "pods" or of "scale" by an asterisk. */
static bool resource_matches(const char *pattern, const char *resource, const char *subresource)
{
    struct str rest = str_of(pattern);
    struct str first = str_cut(&rest, '/');
    struct str second = rest.at ? rest : STR("");

    return (str_equal(first, STR("*")) || str_equal(first, str_of(resource))) &&
           (str_equal(second, STR("*")) || str_equal(second, str_of(subresource)));
}

static bool has_resource(const json_t *list, const char *resource, const char *subresource)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (resource_matches(text_or_empty(json_string_value(json_array_get(list, i))), resource,
                             subresource))
            return true;
    return false;
}

static bool rule_matches(const json_t *rule, const struct kind *k, const struct admission_ask *ask)
{
    const char *scope = json_text(rule, "scope");
    const json_t *names = json_object_get(rule, "resourceNames");
    bool is_namespaced = k->is_namespaced;

    if (text_equal(scope, "Cluster") ? is_namespaced
                                     : text_equal(scope, "Namespaced") && !is_namespaced)
        return false;
    if (json_array_size(names) > 0 && !json_has_text(names, ask->name))
        return false;
    return has_or_all(json_object_get(rule, "operations"), ask->operation) &&
           has_or_all(json_object_get(rule, "apiGroups"), k->group) &&
           has_or_all(json_object_get(rule, "apiVersions"), k->version) &&
           has_resource(json_object_get(rule, "resources"), k->plural,
                        text_or_empty(ask->subresource));
}

static bool rules_match(const json_t *rules, const struct kind *k, const struct admission_ask *ask)
{
    for (size_t i = 0; i < json_array_size(rules); i++)
        if (rule_matches(json_array_get(rules, i), k, ask))
            return true;
    return false;
}

/* The version of the kind that a rule names: that of the path first. */
static const struct kind *find_version(const json_t *rules, bool is_exact,
                                       const struct admission_ask *ask)
{
    if (rules_match(rules, ask->asked, ask))
        return ask->asked;
    for (size_t i = 0; !is_exact && i < kinds_served_count(); i++) {
        const struct kind *k = kinds_served(i);

        if (kind_kept(k) == ask->kind && k != ask->asked && rules_match(rules, k, ask))
            return k;
    }
    return NULL;
}

bool hook_match_selects(const struct hook_match *m, const struct admission_ask *ask)
{
    return m->namespaces && m->objects && matches_namespace(m, ask) && matches_object(m, ask);
}

const struct kind *hook_match_find(const struct hook_match *m, const struct admission_ask *ask)
{
    const struct kind *k = find_version(m->rules, m->is_exact, ask);

    if (!k || !hook_match_selects(m, ask))
        return NULL;
    return find_version(m->excluded, m->is_exact, ask) ? NULL : k;
}
