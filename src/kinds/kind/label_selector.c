/* label_selector.c - label selectors: schema, validation and matching */

#include "kinds/kind/label_selector.h"

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "model/names.h"

static const char *const operators[] = {"In", "NotIn", "Exists", "DoesNotExist", NULL};

static const struct field expression_fields[] = {
    F_STRING("key", "The label.", .is_required = true, .check = name_check_qualified,
             .size_max = 317,
             .pattern = "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?"
                        "[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"),
    F_STRING("operator", "In, NotIn, Exists or DoesNotExist.", .is_required = true,
             .values = operators),
    F_LIST("values", &label_value_item, "The values of In and NotIn.", .items_max = 256),
    F_END,
};
static const struct field expression_item =
    F_OBJECT(NULL, expression_fields, "A condition on one label.");

const struct field label_selector_fields[] = {
    F_MAP("matchLabels", &label_value_item, "Labels and the values that they must have.",
          .check_key = name_check_qualified, .items_max = 256),
    F_LIST("matchExpressions", &expression_item, "Conditions on labels, all of which must hold.",
           .items_max = 256),
    F_END,
};

static bool takes_values(const char *operation)
{
    return text_equal(operation, "In") || text_equal(operation, "NotIn");
}

void label_selector_validate(const json_t *selector, const struct path *at, struct causes *causes)
{
    const json_t *list = json_object_get(selector, "matchExpressions");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *expression = json_array_get(list, i);
        const struct path *here = PATH(PATH_INDEX(PATH(at, "matchExpressions"), i), "values");
        const char *operation = json_text(expression, "operator");
        size_t n = json_array_size(json_object_get(expression, "values"));

        if (operation && takes_values(operation) && n == 0)
            cause_required(causes, here, "must be specified when `operator` is 'In' or 'NotIn'");
        if (operation && !takes_values(operation) && n > 0)
            cause_forbidden(causes, here,
                            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    }
}

static void separate(struct buf *text)
{
    if (text->size > 0)
        buf_add_text(text, ",");
}

static struct err *add_expression(const json_t *expression, struct buf *text)
{
    const char *key = json_text(expression, "key");
    const char *operation = json_text(expression, "operator");
    const json_t *values = json_object_get(expression, "values");

    if (!key || !operation || takes_values(operation) != (json_array_size(values) > 0))
        return err_new(ERR_INVALID, "label selector: an expression is not complete");
    separate(text);
    if (text_equal(operation, "Exists") || text_equal(operation, "DoesNotExist")) {
        buf_printf(text, "%s%s", text_equal(operation, "Exists") ? "" : "!", key);
        return NULL;
    }
    buf_printf(text, "%s %s (", key, text_equal(operation, "In") ? "in" : "notin");
    for (size_t i = 0; i < json_array_size(values); i++)
        buf_printf(text, "%s%s", i > 0 ? "," : "", json_string_value(json_array_get(values, i)));
    buf_add_text(text, ")");
    return NULL;
}

static struct err *add_selector(const json_t *selector, struct buf *text)
{
    json_t *labels = json_object_get(selector, "matchLabels");
    const json_t *expressions = json_object_get(selector, "matchExpressions");
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach (labels, key, value) {
        separate(text);
        buf_printf(text, "%s=%s", key, json_string_value(value));
    }
    for (size_t i = 0; i < json_array_size(expressions); i++)
        TRY(add_expression(json_array_get(expressions, i), text));
    return NULL;
}

struct err *label_selector_parse(const json_t *selector, struct selector **ret)
{
    AUTO(buf_done) struct buf text = {0};

    TRY(add_selector(selector, &text));
    return selector_parse_labels((struct str){text.at ? text.at : "", text.size}, ret);
}

char *label_selector_format(const json_t *selector)
{
    struct buf text = {0};

    err_free(add_selector(selector, &text)); /* the schema refuses what cannot be written */
    return buf_steal(&text);
}

static const char *get_label(const void *object, const char *key)
{
    return json_text_at(object, "metadata", "labels", key, NULL);
}

bool label_selector_matches(const struct selector *s, const json_t *object)
{
    return selector_matches(s, get_label, object);
}
