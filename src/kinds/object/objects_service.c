/* objects_service.c - rules of Services: the address and node ports that the server gives out */

#include "base/mem.h"
#include "kinds/object/objects_private.h"
#include "kinds/service/service.h"

static bool is_service(const struct kind *k)
{
    return *k->group == '\0' && text_equal(k->plural, "services");
}

static uint32_t random_of(void *arg)
{
    const struct change *c = arg;
    uint32_t number = 0;

    change_random(c, &number, sizeof(number));
    return number;
}

static struct service_pools pools_of(const struct change *c)
{
    return (struct service_pools){.store = c->objects->store,
                                  .network = c->objects->service_network,
                                  .random = random_of,
                                  .arg = (void *)(uintptr_t)c}; /* read only */
}

void service_drop_reserved(struct change *c)
{
    json_t *labels = json_at(c->after, "metadata", "labels", NULL);
    const char *key;
    json_t *value;
    void *next;

    if (!is_service(c->kind) || c->who.is_system)
        return;
    json_object_foreach_safe (labels, next, key, value) {
        AUTO_FREE char *text = mem_format(
            "metadata.labels[%s]: dropped: names under mete.dev/ are set by the system", key);

        if (!kind_is_reserved(key))
            continue;
        if (c->request->warnings)
            (void)json_array_append_new(c->request->warnings, json_string(text));
        (void)json_object_del(labels, key); /* present */
    }
}

struct err *service_create_rules(struct change *c)
{
    const struct service_pools pools = pools_of(c);

    return is_service(c->kind) ? service_allocate(&pools, NULL, c->after) : NULL;
}

void service_keep_rules(struct change *c)
{
    if (is_service(c->kind) && !c->request->subresource)
        service_keep(c->before, c->after);
}

struct err *service_update_rules(struct change *c)
{
    const struct service_pools pools = pools_of(c);

    if (!is_service(c->kind) || c->request->subresource)
        return NULL;
    return service_allocate(&pools, c->before, c->after);
}
