/* scale.c - the number of replicas of an object that has the subresource scale, whatever its kind
 */

#include "kinds/object/scale.h"

#include "base/mem.h"
#include "kinds/apps/apps.h"
#include "kinds/custom/custom_form.h"
#include "kinds/custom/custom_path.h"
#include "kinds/kind/label_selector.h"

bool scale_is_of(const struct kind *k)
{
    struct custom_scale s = {0};

    return k->has_scale || (k->is_custom && custom_form_scale(k, &s));
}

static int64_t count_at(const struct custom_path *path, const json_t *object)
{
    const json_t *value = custom_path_find(path, object);

    return json_is_integer(value) ? json_integer_value(value) : 0;
}

/* The numbers and the selector of one of Mete's own kinds. */
static void read_own(const json_t *object, struct scale *ret)
{
    AUTO(json_freep) json_t *labels = apps_selector(json_object_get(object, "spec"));

    ret->wanted = json_int_at(object, "spec", "replicas", NULL);
    ret->present = json_int_at(object, "status", "replicas", NULL);
    ret->selector = label_selector_format(labels);
}

void scale_read(const struct kind *k, const json_t *object, struct scale *ret)
{
    struct custom_scale s = {0};
    const json_t *selector;

    *ret = (struct scale){0};
    if (k->has_scale) {
        read_own(object, ret);
    } else if (custom_form_scale(k, &s)) {
        selector = s.selector ? custom_path_find(s.selector, object) : NULL;
        ret->wanted = count_at(s.spec, object);
        ret->present = count_at(s.status, object);
        if (json_is_string(selector))
            ret->selector = mem_strdup(json_string_value(selector));
    }
    if (!ret->selector)
        ret->selector = mem_strdup("");
}

void scale_done(struct scale *s)
{
    free(s->selector);
    *s = (struct scale){0};
}

json_t *scale_patch(const struct kind *k, int64_t replicas)
{
    struct custom_scale s = {0};
    json_t *patch;

    if (!k->has_scale && !custom_form_scale(k, &s))
        return NULL;
    patch = json_object();
    if (k->has_scale)
        json_put_int(json_object_at(patch, "spec"), "replicas", replicas);
    else
        custom_path_put(s.spec, patch, json_integer(replicas));
    return patch;
}
