/* pod_gates.c - schedulingGates: a pod waits until its last gate is removed */

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/value.h"
#include "kinds/pod/pod_rules.h"
#include "model/names.h"

static const char key[] = "schedulingGates";

void pod_validate_gates(const json_t *spec, const struct path *at, struct causes *causes)
{
    const json_t *gates = json_object_get(spec, key);
    const char *node = json_text(spec, "nodeName");

    for (size_t i = 0; i < json_array_size(gates); i++) {
        const char *name = json_text(json_array_get(gates, i), "name");
        struct err *e = name && *name ? name_check_qualified(name) : NULL;

        if (e)
            cause_take(causes, PATH(PATH_INDEX(PATH(at, key), i), "name"), name, e);
    }
    if (json_array_size(gates) > 0 && node && *node)
        cause_forbidden(causes, PATH(at, "nodeName"),
                        "cannot be set until all schedulingGates have been cleared");
}

void pod_check_gates(const json_t *was, const json_t *is, const struct path *at,
                     struct causes *causes)
{
    const json_t *gates = json_object_get(is, key);

    for (size_t i = 0; i < json_array_size(gates); i++) {
        const char *name = json_text(json_array_get(gates, i), "name");

        if (!value_find_named(json_object_get(was, key), name)) {
            AUTO_FREE char *detail =
                mem_format("only deletion is allowed, but found new scheduling gate '%s'", name);

            cause_forbidden(causes, PATH_INDEX(PATH(at, key), i), detail);
        }
    }
}
