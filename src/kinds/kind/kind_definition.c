/*
 * kind_definition.c - CustomResourceDefinition: the table, and the rules of its spec
 *
 * The rules and their words are those of ValidateCustomResourceDefinition in
 * apiextensions-apiserver. What one version says of its objects is checked by compiling it
 * (kinds/custom/custom_form.h).
 */

#include <ctype.h>

#include "base/mem.h"
#include "kinds/custom/custom_definition.h"
#include "kinds/custom/custom_form.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "model/names.h"

enum {
    VERSIONS_MAX = 32,
    LABEL_MAX = 63
};

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_ANY("spec", "The group, names, scope, versions and schemas of a custom resource."),
    F_ANY("status", "The names that are accepted, the conditions, and the stored versions."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the definition: PLURAL.GROUP."},
    {"Created At", "date", "", 0, "When the definition was created."},
    {0},
};

static json_t *definition_cells(const json_t *object, int64_t now_ns)
{
    json_t *row = json_array();

    (void)now_ns;
    (void)json_array_append_new(row, cell_text(json_text_at(object, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, cell_created(object));
    return row;
}

/* ---- names ---- */

static struct err *check_label(const char *text)
{
    size_t n = strlen(text);
    bool fits = n > 0 && text[0] >= 'a' && text[0] <= 'z' && text[n - 1] != '-';

    if (n > LABEL_MAX)
        return err_new(ERR_INVALID, "must be no more than 63 bytes");
    for (size_t i = 0; i < n; i++)
        fits = fits && ((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9') ||
                        text[i] == '-');
    if (fits)
        return NULL;
    return err_new(ERR_INVALID,
                   "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
                   "start with an alphabetic character, and end with an alphanumeric character "
                   "(e.g. 'my-name',  or 'abc-123', regex used for validation is "
                   "'[a-z]([-a-z0-9]*[a-z0-9])?')");
}

/* A kind: a label when it is in lower case. */
static void check_kind(struct causes *causes, const struct path *at, const char *text)
{
    AUTO_FREE char *lower = mem_strdup(text);
    AUTO(err_freep) struct err *e = NULL;
    AUTO_FREE char *detail = NULL;

    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    e = check_label(lower);
    if (!e)
        return;
    detail = mem_format("may have mixed case, but should otherwise match: %s", err_message(e));
    cause_invalid(causes, at, text, detail);
}

static void check_labels(struct causes *causes, const struct path *at, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));

        cause_take(causes, PATH_INDEX(at, i), text ? text : "", check_label(text ? text : ""));
    }
}

static void check_names(struct causes *causes, const json_t *names, const struct path *at)
{
    static const char *const required[] = {"plural", "singular", "kind", "listKind"};
    const json_t *short_names = json_object_get(names, "shortNames");

    for (size_t i = 0; i < COUNT(required); i++) {
        const char *name = json_text_filled(names, required[i]);

        if (!name)
            cause_required(causes, PATH(at, required[i]), "");
        else if (i < 2)
            cause_take(causes, PATH(at, required[i]), name, check_label(name));
        else
            check_kind(causes, PATH(at, required[i]), name);
    }
    if (json_text_filled(names, "kind") &&
        text_equal(json_text(names, "kind"), json_text(names, "listKind")))
        cause_invalid(causes, PATH(at, "listKind"), json_text(names, "listKind"),
                      "kind and listKind may not be the same");
    if (json_array_size(short_names) > KIND_SHORT_NAMES_MAX)
        cause_too_many(causes, PATH(at, "shortNames"), json_array_size(short_names),
                       KIND_SHORT_NAMES_MAX);
    check_labels(causes, PATH(at, "shortNames"), short_names);
    check_labels(causes, PATH(at, "categories"), json_object_get(names, "categories"));
}

/* ---- group, scope, conversion ---- */

static void check_group(struct causes *causes, const json_t *definition, const struct path *at)
{
    const char *group = json_text_filled(json_object_get(definition, "spec"), "group");
    const json_t *annotations = json_at(definition, "metadata", "annotations", NULL);
    const struct path *here = PATH(at, "group");

    if (!group) {
        cause_required(causes, here, "");
        return;
    }
    cause_take(causes, here, group, name_check_subdomain(group));
    if (!strchr(group, '.'))
        cause_invalid(causes, here, group, "should be a domain with at least one dot");
    if (text_equal(group, "mete.dev"))
        cause_forbidden(causes, here, "mete serves the kinds of this group itself");
    if ((text_ends_with(group, ".k8s.io") || text_ends_with(group, ".kubernetes.io") ||
         text_equal(group, "k8s.io") || text_equal(group, "kubernetes.io")) &&
        !json_text_filled(annotations, "api-approved.kubernetes.io"))
        cause_required(
            causes,
            PATH_KEY(PATH(PATH(NULL, "metadata"), "annotations"), "api-approved.kubernetes.io"),
            "protected groups must have approval annotation "
            "\"api-approved.kubernetes.io\", see "
            "https://github.com/kubernetes/enhancements/pull/1111");
}

static void check_scope(struct causes *causes, const json_t *spec, const struct path *at)
{
    static const char *const scopes[] = {"Cluster", "Namespaced", NULL};
    const char *scope = json_text_filled(spec, "scope");

    if (!scope)
        cause_required(causes, PATH(at, "scope"), "");
    else if (!text_equal(scope, scopes[0]) && !text_equal(scope, scopes[1]))
        cause_unsupported(causes, PATH(at, "scope"), scope, scopes);
}

static void check_conversion(struct causes *causes, const json_t *spec, const struct path *at)
{
    static const char *const strategies[] = {"None", "Webhook", NULL};
    const json_t *conversion = json_object_get(spec, "conversion");
    const char *strategy = json_text_filled(conversion, "strategy");
    const struct path *here = PATH(at, "conversion");

    if (!strategy || text_equal(strategy, "None")) {
        if (json_object_get(conversion, "webhook"))
            cause_forbidden(causes, PATH(here, "webhookClientConfig"),
                            "should not be set when strategy is not set to Webhook");
        return;
    }
    if (text_equal(strategy, "Webhook"))
        cause_forbidden(causes, PATH(here, "strategy"),
                        "conversion by a webhook is not implemented by mete yet; None is");
    else
        cause_unsupported(causes, PATH(here, "strategy"), strategy, strategies);
}

/* ---- versions ---- */

static void check_version(struct causes *causes, json_t *version, const struct path *at,
                          bool is_hoisted, bool is_first)
{
    const char *name = json_text(version, "name");
    AUTO(causes_done) struct causes again = {0};
    struct custom_form *form;

    cause_take(causes, PATH(at, "name"), name ? name : "", check_label(name ? name : ""));
    /* Faults of what all versions share are told once. */
    form = custom_form_new(version, at, is_hoisted, is_hoisted && !is_first ? &again : causes);
    custom_form_free(form);
}

static bool is_named_before(const json_t *versions, size_t end)
{
    const char *name = json_text(json_array_get(versions, end), "name");

    for (size_t i = 0; i < end; i++)
        if (text_equal(json_text(json_array_get(versions, i), "name"), name))
            return true;
    return false;
}

static void check_versions(struct causes *causes, const json_t *spec, const struct path *at)
{
    json_t *versions = json_object_get(spec, "versions");
    const struct path *here = PATH(at, "versions");
    bool is_hoisted = definition_is_hoisted(versions);
    bool is_unique = true;
    size_t n_stored = 0;

    if (json_array_size(versions) > VERSIONS_MAX) {
        cause_too_many(causes, here, json_array_size(versions), VERSIONS_MAX);
        return;
    }
    for (size_t i = 0; i < json_array_size(versions); i++) {
        json_t *version = json_array_get(versions, i);

        is_unique &= !is_named_before(versions, i);
        n_stored += json_bool(version, "storage", false);
        check_version(causes, version, PATH_INDEX(here, i), is_hoisted, i == 0);
    }
    if (!is_unique)
        cause_invalid_json(causes, here, versions, "must contain unique version names");
    if (n_stored != 1)
        cause_invalid_json(causes, here, versions,
                           "must have exactly one version marked as storage version");
}

static void check_stored_versions(struct causes *causes, const json_t *definition)
{
    const json_t *versions = json_at(definition, "spec", "versions", NULL);
    const json_t *stored = json_at(definition, "status", "storedVersions", NULL);
    const struct path *at = PATH(PATH(NULL, "status"), "storedVersions");

    for (size_t i = 0; i < json_array_size(stored); i++) {
        const char *name = json_string_value(json_array_get(stored, i));
        bool is_there = false;
        AUTO_FREE char *detail = NULL;

        for (size_t j = 0; j < json_array_size(versions); j++)
            is_there |= text_equal(json_text(json_array_get(versions, j), "name"), name);
        if (is_there || !name)
            continue;
        detail = mem_format("missing from spec.versions; %s was previously a storage version, and "
                            "must remain in spec.versions until a storage migration ensures no "
                            "data remains persisted in %s and removes %s from "
                            "status.storedVersions",
                            name, name, name);
        cause_invalid(causes, PATH_INDEX(at, i), name, detail);
    }
}

static void check_name(struct causes *causes, const json_t *definition)
{
    const json_t *spec = json_object_get(definition, "spec");
    const char *name = json_text_at(definition, "metadata", "name", NULL);
    const char *plural = json_text_at(spec, "names", "plural", NULL);
    const char *group = json_text(spec, "group");
    AUTO_FREE char *want = mem_format("%s.%s", plural ? plural : "", group ? group : "");

    if (!text_equal(name, want))
        cause_invalid(causes, PATH(PATH(NULL, "metadata"), "name"), name ? name : "",
                      "must be spec.names.plural+\".\"+spec.group");
}

static void definition_validate(const json_t *object, struct causes *causes)
{
    const json_t *spec = json_object_get(object, "spec");
    const struct path *at = PATH(NULL, "spec");

    check_name(causes, object);
    check_group(causes, object, at);
    check_scope(causes, spec, at);
    check_versions(causes, spec, at);
    check_names(causes, json_object_get(spec, "names"), PATH(at, "names"));
    check_conversion(causes, spec, at);
    if (json_bool(spec, "preserveUnknownFields", false))
        cause_invalid_json(causes, PATH(at, "preserveUnknownFields"), json_true(),
                           "cannot set to true, set x-kubernetes-preserve-unknown-fields to true "
                           "in spec.versions[*].schema instead");
    check_stored_versions(causes, object);
}

static void check_immutable(struct causes *causes, const json_t *before, const json_t *after,
                            const char *key, const struct path *at)
{
    const json_t *was = json_object_get(before, key);
    const json_t *is = json_object_get(after, key);

    if (!(was && is && json_equal(was, is)))
        cause_invalid_json(causes, PATH(at, key), is, "field is immutable");
}

static struct err *definition_validate_update(const json_t *before, const json_t *after,
                                              const struct kind_context *c)
{
    const json_t *was = json_object_get(before, "spec");
    const json_t *is = json_object_get(after, "spec");
    const struct path *at = PATH(NULL, "spec");
    AUTO(causes_done) struct causes causes = {0};

    (void)c;
    check_immutable(&causes, was, is, "group", at);
    check_immutable(&causes, json_object_get(was, "names"), json_object_get(is, "names"), "plural",
                    PATH(at, "names"));
    if (definition_is(before, "Established")) {
        check_immutable(&causes, was, is, "scope", at);
        check_immutable(&causes, json_object_get(was, "names"), json_object_get(is, "names"),
                        "kind", PATH(at, "names"));
    }
    return causes_err(&causes, "CustomResourceDefinition.apiextensions.k8s.io",
                      json_text_at(after, "metadata", "name", NULL));
}

static void definition_set_defaults(json_t *object, const struct kind_context *c)
{
    (void)c;
    definition_default(object);
}

const struct kind kind_definition = {
    .group = DEFINITION_GROUP,
    .version = "v1",
    .api_version = DEFINITION_GROUP "/v1",
    .kind = "CustomResourceDefinition",
    .plural = DEFINITION_PLURAL,
    .singular = "customresourcedefinition",
    .short_names = {"crd", "crds"},
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = definition_cells,
    .validate = definition_validate,
    .validate_update = definition_validate_update,
    .set_defaults = definition_set_defaults,
    .doc = "The definition of a custom resource: its names, versions and schemas.",
};
