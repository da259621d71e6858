/* custom_definition.c - defaults and status of definitions, as Kubernetes' naming controller and
 * establishing controller write them, in the write itself */

#include "kinds/custom/custom_definition.h"

#include <ctype.h>

#include "base/mem.h"
#include "base/stamp.h"

bool definition_is(const json_t *definition, const char *type)
{
    const json_t *conditions = json_at(definition, "status", "conditions", NULL);

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);

        if (text_equal(json_text(condition, "type"), type))
            return text_equal(json_text(condition, "status"), "True");
    }
    return false;
}

bool definition_is_hoisted(const json_t *versions)
{
    static const char *const members[] = {"schema", "subresources", "additionalPrinterColumns"};
    const json_t *first = json_array_get(versions, 0);

    for (size_t i = 1; i < json_array_size(versions); i++)
        for (size_t j = 0; j < COUNT(members); j++) {
            const json_t *a = json_object_get(first, members[j]);
            const json_t *b = json_object_get(json_array_get(versions, i), members[j]);

            if ((a || b) && !(a && b && json_equal(a, b)))
                return false;
        }
    return json_array_size(versions) > 0;
}

void definition_default(json_t *definition)
{
    json_t *spec = json_object_at(definition, "spec");
    json_t *names = json_object_at(spec, "names");
    json_t *conversion = json_object_at(spec, "conversion");
    const char *kind = json_text_filled(names, "kind");
    AUTO_FREE char *lower = mem_strdup(kind ? kind : "");
    AUTO_FREE char *list = mem_format("%sList", kind ? kind : "");

    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (kind && !json_text_filled(names, "singular"))
        json_put_text(names, "singular", lower);
    if (kind && !json_text_filled(names, "listKind"))
        json_put_text(names, "listKind", list);
    if (!json_text_filled(conversion, "strategy"))
        json_put_text(conversion, "strategy", "None");
}

/* ---- names ---- */

struct naming {
    const json_t *names;
    json_t *accepted;
    const json_t *others;
    const char *reason; /* of the last conflict; NULL: none */
    char *message;
};

/* Has another definition accepted the name, as a resource or as a kind? */
static bool is_taken(const json_t *others, const char *name, bool is_kind)
{
    for (size_t i = 0; i < json_array_size(others); i++) {
        const json_t *other = json_array_get(others, i);

        if (is_kind ? text_equal(json_text(other, "kind"), name) ||
                          text_equal(json_text(other, "listKind"), name)
                    : text_equal(json_text(other, "plural"), name) ||
                          text_equal(json_text(other, "singular"), name) ||
                          json_has_text(json_object_get(other, "shortNames"), name))
            return true;
    }
    return false;
}

static void take_name(struct naming *n, const char *key, const char *reason, bool is_kind)
{
    const char *name = json_text(n->names, key);

    if (!name || text_equal(name, json_text(n->accepted, key)))
        return;
    if (!is_taken(n->others, name, is_kind)) {
        json_put_text(n->accepted, key, name);
        return;
    }
    n->reason = reason;
    free(n->message);
    n->message = mem_format("\"%s\" is already in use", name);
}

static void take_short_names(struct naming *n)
{
    json_t *names = json_object_get(n->names, "shortNames");

    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));

        if (json_has_text(json_object_get(n->accepted, "shortNames"), name) ||
            !is_taken(n->others, name, false))
            continue;
        n->reason = "ShortNamesConflict";
        free(n->message);
        n->message = mem_format("\"%s\" is already in use", name);
        return;
    }
    if (names)
        json_put(n->accepted, "shortNames", json_incref(names));
    else
        json_put_text(n->accepted, "shortNames", NULL);
}

/* ---- status ---- */

static void put_condition(json_t *status, const char *type, bool holds, const char *reason,
                          const char *message, int64_t now_ns)
{
    json_t *conditions = json_array_at(status, "conditions");
    json_t *condition = NULL;
    const char *value = holds ? "True" : "False";
    char now[STAMP_TEXT_SIZE];

    for (size_t i = 0; i < json_array_size(conditions) && !condition; i++)
        if (text_equal(json_text(json_array_get(conditions, i), "type"), type))
            condition = json_array_get(conditions, i);
    if (!condition) {
        condition = json_object();
        (void)json_array_append_new(conditions, condition); /* cannot fail */
    }
    stamp_format(now_ns, now);
    if (!text_equal(json_text(condition, "status"), value))
        json_put_text(condition, "lastTransitionTime", now);
    json_put_text(condition, "type", type);
    json_put_text(condition, "status", value);
    json_put_text(condition, "reason", reason);
    json_put_text(condition, "message", message);
}

static void put_stored_version(json_t *status, const json_t *versions)
{
    json_t *stored = json_array_at(status, "storedVersions");

    for (size_t i = 0; i < json_array_size(versions); i++) {
        const json_t *version = json_array_get(versions, i);
        const char *name = json_text(version, "name");

        if (json_bool(version, "storage", false) && name && !json_has_text(stored, name))
            (void)json_array_append_new(stored, json_string(name)); /* cannot fail */
    }
}

void definition_put_status(json_t *definition, const json_t *others, int64_t now_ns)
{
    const json_t *spec = json_object_get(definition, "spec");
    json_t *status = json_object_at(definition, "status");
    struct naming n = {.names = json_object_get(spec, "names"),
                       .accepted = json_object_at(status, "acceptedNames"),
                       .others = others};
    bool was_established = definition_is(definition, "Established");
    json_t *categories = json_object_get(n.names, "categories");

    take_name(&n, "plural", "PluralConflict", false);
    take_name(&n, "singular", "SingularConflict", false);
    take_short_names(&n);
    take_name(&n, "kind", "KindConflict", true);
    take_name(&n, "listKind", "ListKindConflict", true);
    if (categories)
        json_put(n.accepted, "categories", json_incref(categories));
    else
        json_put_text(n.accepted, "categories", NULL);
    put_condition(status, "NamesAccepted", !n.reason, n.reason ? n.reason : "NoConflicts",
                  n.reason ? n.message : "no conflicts found", now_ns);
    if (was_established || !n.reason)
        put_condition(status, "Established", true, "InitialNamesAccepted",
                      "the initial names have been accepted", now_ns);
    else
        put_condition(status, "Established", false, "NotAccepted", "not all names are accepted",
                      now_ns);
    put_stored_version(status, json_object_get(spec, "versions"));
    free(n.message);
}
