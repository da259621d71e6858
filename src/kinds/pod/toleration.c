/* toleration.c - matching of tolerations and taints */

#include "kinds/pod/toleration.h"

#include "base/stamp.h"
#include "kinds/node_lease.h"

static bool taint_is_tolerated(const json_t *toleration, const json_t *taint)
{
    const char *effect = text_or_empty(json_text(toleration, "effect"));
    const char *key = text_or_empty(json_text(toleration, "key"));

    if (*effect && !text_equal(effect, text_or_empty(json_text(taint, "effect"))))
        return false;
    if (*key && !text_equal(key, text_or_empty(json_text(taint, "key"))))
        return false;
    return text_equal(json_text(toleration, "operator"), "Exists") ||
           text_equal(text_or_empty(json_text(toleration, "value")),
                      text_or_empty(json_text(taint, "value")));
}

const json_t *toleration_find(const json_t *pod, const json_t *taint)
{
    const json_t *list = json_at(pod, "spec", "tolerations", NULL);

    for (size_t i = 0; i < json_array_size(list); i++)
        if (taint_is_tolerated(json_array_get(list, i), taint))
            return json_array_get(list, i);
    return NULL;
}

int64_t toleration_ns(const json_t *pod, const json_t *taint)
{
    const json_t *toleration = toleration_find(pod, taint);
    int64_t seconds = json_int(toleration, "tolerationSeconds", 0);
    int64_t ns = 0;

    if (!toleration)
        return 0;
    if (!json_object_get(toleration, "tolerationSeconds"))
        return TOLERATED_FOR_EVER;
    if (seconds <= 0)
        return 0;
    return __builtin_mul_overflow(seconds, NS_PER_SEC, &ns) ? TOLERATED_FOR_EVER : ns;
}

int64_t toleration_unreachable_ns(const json_t *pod)
{
    AUTO(json_freep) json_t *taint = json_object();

    json_put_text(taint, "key", TAINT_UNREACHABLE);
    json_put_text(taint, "effect", "NoExecute");
    return toleration_ns(pod, taint);
}
