/* kubelet_taint.c - the taint of a Node of which a gpu, or the driver, does not work */

#include "node/kubelet_taint.h"

#include "base/mem.h"
#include "model/names.h"

static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};

struct err *kubelet_taint_parse(const char *text, struct kubelet_taint *ret)
{
    const char *colon = strrchr(text, ':');
    const char *effect = NULL;
    AUTO_FREE char *key = NULL;
    struct err *e;

    if (!text[0]) {
        *ret = (struct kubelet_taint){0};
        return NULL;
    }
    for (size_t i = 0; colon && i < COUNT(effects); i++)
        if (text_equal(colon + 1, effects[i]))
            effect = effects[i];
    if (!effect)
        return err_new(ERR_INVALID,
                       "taint '%s': want NAME:NoSchedule, NAME:PreferNoSchedule or NAME:NoExecute",
                       text);
    key = mem_strndup(text, (size_t)(colon - text));
    e = name_check_qualified(key);
    if (e)
        return err_wrap(e, "taint '%s'", text);
    *ret = (struct kubelet_taint){.key = TAKE(key), .effect = effect};
    return NULL;
}

void kubelet_taint_done(struct kubelet_taint *t)
{
    free(t->key);
    *t = (struct kubelet_taint){0};
}

json_t *kubelet_taint_list(const struct kubelet_taint *t, const json_t *node, bool is_set)
{
    AUTO(json_freep) json_t *others = json_array();
    const json_t *taints = json_at(node, "spec", "taints", NULL);
    bool is_there = false;
    json_t *taint;
    size_t i;

    json_array_foreach (taints, i, taint) {
        if (text_equal(json_text(taint, "key"), t->key) &&
            text_equal(json_text(taint, "effect"), t->effect))
            is_there = true;
        else
            (void)json_array_append(others, taint); /* cannot fail */
    }
    if (is_there == is_set)
        return NULL;
    if (is_set)
        (void)json_array_append_new(others,
                                    json_pack("{s:s,s:s}", "key", t->key, "effect", t->effect));
    return TAKE(others);
}
