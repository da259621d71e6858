/* pod_update.c - the changes that an existing pod allows */

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/value.h"
#include "kinds/pod/pod_rules.h"

static const char rule[] =
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)";

/* Puts the images of `before` into `spec`, so that they do not count as changes. */
static void restore_images(json_t *spec, const json_t *before, const char *which)
{
    const json_t *is = json_object_get(spec, which);
    const json_t *was = json_object_get(before, which);

    for (size_t i = 0; i < json_array_size(is) && i < json_array_size(was); i++)
        json_put_text(json_array_get(is, i), "image", json_text(json_array_get(was, i), "image"));
}

static void pod_restore(json_t *spec, const json_t *before, const char *key)
{
    json_t *was = json_object_get(before, key);

    if (was)
        json_put(spec, key, json_incref(was));
    else
        (void)json_object_del(spec, key); /* may be absent */
}

static bool contains(const json_t *list, const json_t *item)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), item))
            return true;
    return false;
}

static bool contains_all(const json_t *list, const json_t *items)
{
    for (size_t i = 0; i < json_array_size(items); i++)
        if (!contains(list, json_array_get(items, i)))
            return false;
    return true;
}

/* Controllers extend the limit of a Slurm job's pod. */
static void check_deadline(const json_t *was, const json_t *is, bool is_system,
                           const struct path *at, struct causes *causes)
{
    int64_t before = json_int(was, "activeDeadlineSeconds", 0);
    int64_t after = json_int(is, "activeDeadlineSeconds", 0);
    const struct path *here = PATH(at, "activeDeadlineSeconds");

    if (before > 0 && after == 0)
        cause_invalid_int(causes, here, before,
                          "must not update from a positive integer to nil value");
    else if (before > 0 && after > before && !is_system)
        cause_invalid_int(causes, here, after, "must be less than or equal to previous value");
}

struct err *pod_validate_update(const json_t *before, const json_t *after,
                                const struct kind_context *c)
{
    AUTO(causes_done) struct causes causes = {0};
    const json_t *was = json_object_get(before, "spec");
    const json_t *is = json_object_get(after, "spec");
    AUTO(json_freep) json_t *spec = json_deep_copy(is);
    const char *name = json_text_at(after, "metadata", "name", NULL);
    const struct path *at = PATH(NULL, "spec");

    if (!contains_all(json_object_get(is, "tolerations"), json_object_get(was, "tolerations")))
        cause_forbidden(&causes, PATH(at, "tolerations"),
                        "existing toleration can not be modified except its tolerationSeconds");
    check_deadline(was, is, c->is_system, at, &causes);
    pod_check_gates(was, is, at, &causes);
    restore_images(spec, was, "containers");
    restore_images(spec, was, "initContainers");
    pod_restore(spec, was, "activeDeadlineSeconds");
    pod_restore(spec, was, "tolerations");
    pod_restore(spec, was, "schedulingGates");
    if (!json_equal(spec, was))
        cause_forbidden(&causes, at, rule);
    return causes_err(&causes, "Pod", name ? name : "");
}

struct err *pod_validate_ephemeral_update(const json_t *before, const json_t *after)
{
    AUTO(causes_done) struct causes causes = {0};
    const json_t *was = json_at(before, "spec", "ephemeralContainers", NULL);
    const json_t *is = json_at(after, "spec", "ephemeralContainers", NULL);
    const struct path *at = PATH(PATH(NULL, "spec"), "ephemeralContainers");

    for (size_t i = 0; i < json_array_size(was); i++) {
        const json_t *old = json_array_get(was, i);
        const char *name = value_text(old, "name");
        const json_t *now = value_find_named(is, name);
        AUTO_FREE char *text = mem_format("existing ephemeral containers \"%s\" may not be %s",
                                          name, now ? "changed" : "removed");

        if (!now || !json_equal(old, now))
            cause_forbidden(&causes, at, text);
    }
    return causes_err(&causes, "Pod", text_or_empty(json_text_at(after, "metadata", "name", NULL)));
}
