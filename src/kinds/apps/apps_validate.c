/* apps_validate.c - rules of apps/v1, in the words of Kubernetes' validation */

#include <ctype.h>

#include "base/mem.h"
#include "kinds/apps/apps.h"
#include "kinds/kind/label_selector.h"
#include "kinds/kind/template.h"
#include "kinds/kind/value.h"

static void validate_labels(const json_t *spec, const struct path *at, struct causes *causes)
{
    const json_t *selector = json_object_get(spec, "selector");
    const struct path *labels = PATH(PATH(PATH(at, "template"), "metadata"), "labels");
    struct selector *parsed = NULL;
    AUTO(err_freep) struct err *e = label_selector_parse(selector, &parsed);

    if (e)
        return; /* the schema reports it */
    if (!label_selector_matches(parsed, json_object_get(spec, "template")))
        cause_invalid_json(causes, labels, json_at(spec, "template", "metadata", "labels", NULL),
                           "`selector` does not match template `labels`");
    selector_free(parsed);
}

static void validate_selector(const json_t *spec, const char *what, const struct path *at,
                              struct causes *causes)
{
    const json_t *selector = json_object_get(spec, "selector");
    const struct path *here = PATH(at, "selector");
    AUTO_FREE char *detail = mem_format("empty selector is invalid for %s", what);

    if (!selector) {
        cause_required(causes, here, "");
        return;
    }
    label_selector_validate(selector, here, causes);
    if (json_object_size(json_object_get(selector, "matchLabels")) == 0 &&
        json_array_size(json_object_get(selector, "matchExpressions")) == 0)
        cause_invalid_json(causes, here, selector, detail);
    else
        validate_labels(spec, at, causes);
}

/* The kind's word in the texts about empty selectors: those of ReplicaSets name Deployments. */
static const char *selector_word(const char *what)
{
    if (text_equal(what, "StatefulSet"))
        return "statefulset";
    return text_equal(what, "DaemonSet") ? "daemonset" : "deployment";
}

void apps_validate_pods(const json_t *template, const char *what, const struct path *at,
                        struct causes *causes)
{
    static const char *const supported[] = {"Always", NULL};
    const json_t *pod_spec = json_object_get(template, "spec");
    const struct path *here = PATH(at, "spec");
    const char *policy = value_text(pod_spec, "restartPolicy");
    AUTO_FREE char *detail = mem_format("activeDeadlineSeconds in %s is not Supported", what);

    template_validate(template, at, causes);
    if (!text_equal(policy, "Always"))
        cause_unsupported(causes, PATH(here, "restartPolicy"), policy, supported);
    if (json_object_get(pod_spec, "activeDeadlineSeconds"))
        cause_forbidden(causes, PATH(here, "activeDeadlineSeconds"), detail);
}

void apps_validate_template(const json_t *spec, const char *what, const struct path *at,
                            struct causes *causes)
{
    validate_selector(spec, selector_word(what), at, causes);
    apps_validate_pods(json_object_get(spec, "template"), what, PATH(at, "template"), causes);
}

static bool is_percent(const char *text)
{
    const char *at = text;

    while (isdigit((unsigned char)*at))
        at++;
    return at > text && text_equal(at, "%");
}

void apps_validate_amount(const json_t *value, const struct path *at, struct causes *causes)
{
    const char *text = json_string_value(value);

    if (json_is_integer(value) && json_integer_value(value) < 0)
        cause_invalid_int(causes, at, json_integer_value(value),
                          "must be greater than or equal to 0");
    if (text && !is_percent(text))
        cause_invalid(causes, at, text,
                      "a valid percent string must be a numeric string followed by an ending '%' "
                      "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')");
}

void apps_validate_percent(const json_t *value, const struct path *at, struct causes *causes)
{
    const char *text = json_string_value(value);

    if (text && is_percent(text) && apps_amount(value, 100, false) > 100)
        cause_invalid(causes, at, text, "must not be greater than 100%");
}

void apps_validate_selector_kept(const json_t *before, const json_t *after, struct causes *causes)
{
    const json_t *was = json_at(before, "spec", "selector", NULL);
    const json_t *is = json_at(after, "spec", "selector", NULL);

    if (was && is && json_equal(was, is))
        return;
    cause_invalid_json(causes, PATH(PATH(NULL, "spec"), "selector"), is, "field is immutable");
}
