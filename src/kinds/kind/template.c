/* template.c - pod templates: schema, defaults and validation */

#include "kinds/kind/template.h"

#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_fields.h"
#include "kinds/pod/pod_rules.h"
#include "kinds/pod/pod_state.h"
#include "kinds/queue.h"
#include "kinds/topology.h"

enum {
    CONTAINERS_TEXT_MAX = 4096
};

const struct field pod_template_fields[] = {
    F_OBJECT("metadata", object_meta_fields, "Labels and annotations of the pods.",
             .fallback = "{}"),
    F_OBJECT("spec", pod_spec_fields, "The pod's specification.", .is_required = true),
    F_END,
};

void template_set_defaults(json_t *template)
{
    pod_spec_set_defaults(json_object_at(template, "spec"));
}

/* Refuses reserved names, except the mark of an administrator's hostPaths: pod_template_rules sets
 * it, and removes a user's. A priority is set on pods alone, where its limit is known. */
static void validate_reserved(json_t *map, const struct path *at, struct causes *causes)
{
    const char *key;
    json_t *value;

    json_object_foreach (map, key, value)
        if ((kind_is_reserved(key) || text_equal(key, QUEUE_PRIORITY)) &&
            !text_equal(key, POD_HOST_PATHS))
            cause_forbidden(causes, PATH_KEY(at, key),
                            "names under mete.dev/ are set by the system only");
}

void template_validate(const json_t *template, const struct path *at, struct causes *causes)
{
    static const char *const maps[] = {"labels", "annotations"};

    for (size_t i = 0; i < COUNT(maps); i++)
        validate_reserved(json_at(template, "metadata", maps[i], NULL),
                          PATH(PATH(at, "metadata"), maps[i]), causes);
    if (json_array_size(json_at(template, "spec", "ephemeralContainers", NULL)) > 0)
        cause_forbidden(causes, PATH(PATH(at, "spec"), "ephemeralContainers"),
                        "ephemeral containers not allowed in pod template");
    topology_validate(template, at, causes);
    pod_validate_gpus(template, at, causes);
    pod_spec_validate(json_object_get(template, "spec"), PATH(at, "spec"), causes);
}

char *template_containers(const json_t *template, const char *member)
{
    const json_t *containers = json_at(template, "spec", "containers", NULL);
    struct buf text = {.cap = CONTAINERS_TEXT_MAX};

    for (size_t i = 0; i < json_array_size(containers); i++) {
        const char *value = json_text(json_array_get(containers, i), member);

        buf_printf(&text, "%s%s", i > 0 ? "," : "", value ? value : "");
    }
    return buf_steal(&text);
}
