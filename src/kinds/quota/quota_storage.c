/* quota_storage.c - the claims of persistent volumes, as a quota counts them */

#include "base/str.h"
#include "kinds/quota/quota_names.h"

#define CLASS_PART ".storageclass.storage.k8s.io/"

bool quota_is_storage(const char *resource)
{
    return text_equal(resource, "requests.storage") ||
           text_equal(resource, "persistentvolumeclaims") || strstr(resource, CLASS_PART);
}

struct quantity quota_storage(const json_t *claim, const char *resource)
{
    const char *part = strstr(resource, CLASS_PART);
    const char *class = text_or_empty(json_text_at(claim, "spec", "storageClassName", NULL));
    const char *name = part ? part + sizeof(CLASS_PART) - 1 : resource;

    if (part && !str_equal(str_of(class), (struct str){resource, (size_t)(part - resource)}))
        return (struct quantity){0};
    if (text_equal(name, "persistentvolumeclaims"))
        return (struct quantity){.milli = 1000};
    if (!text_equal(name, "requests.storage"))
        return (struct quantity){0};
    return quota_amount(json_at(claim, "spec", "resources", "requests", "storage", NULL));
}
