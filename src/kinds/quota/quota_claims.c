/* quota_claims.c - the devices of a class for which a ResourceClaim asks, as a quota counts them */

#include "base/str.h"
#include "kinds/kind/claim_fields.h"
#include "kinds/quota/quota_names.h"

#define SUFFIX ".deviceclass.resource.k8s.io/devices"

struct str quota_device_class(const char *resource)
{
    size_t size = strlen(resource);
    const size_t suffix = sizeof(SUFFIX) - 1;

    if (size <= suffix || !text_equal(resource + size - suffix, SUFFIX))
        return (struct str){0};
    return (struct str){resource, size - suffix};
}

/* The most devices of the class that `ask`, an exact or a sub request, may get. */
static int64_t devices_of_ask(const json_t *ask, struct str class)
{
    if (!ask || !str_equal(str_of(json_text(ask, "deviceClassName")), class) ||
        json_is_true(json_object_get(ask, "adminAccess")))
        return 0;
    if (text_equal(json_text(ask, "allocationMode"), "All"))
        return CLAIM_DEVICES_MAX;
    return json_int(ask, "count", 1);
}

int64_t quota_devices(const json_t *claim, struct str class)
{
    const json_t *requests = json_at(claim, "spec", "devices", "requests", NULL);
    int64_t sum = 0;

    for (size_t i = 0; i < json_array_size(requests); i++) {
        const json_t *request = json_array_get(requests, i);
        const json_t *list = json_object_get(request, "firstAvailable");
        int64_t most = devices_of_ask(json_object_get(request, "exactly"), class);

        for (size_t k = 0; k < json_array_size(list); k++) {
            int64_t n = devices_of_ask(json_array_get(list, k), class);

            most = n > most ? n : most;
        }
        sum += most; /* at most 32 requests of 32 devices */
    }
    return sum;
}
