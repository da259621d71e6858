/* docker_conf.c - what Docker's daemon.json has for Mete */

#include "node/cri/docker_conf.h"

/* Member `key` as an object, made where it is absent. */
static struct err *object_in(json_t *o, const char *key, json_t **ret)
{
    const json_t *there = json_object_get(o, key);

    if (there && !json_is_object(there))
        return err_new(ERR_INVALID, "%s: want an object", key);
    *ret = json_object_at(o, key);
    return NULL;
}

struct err *docker_conf_make(const json_t *now, bool has_handler, json_t **ret)
{
    AUTO(json_freep) json_t *made = now ? json_deep_copy(now) : json_object();
    json_t *features = NULL;
    json_t *runtimes = NULL;

    if (!json_is_object(made))
        return err_new(ERR_INVALID, "want an object");
    TRY(object_in(made, "features", &features));
    json_put_bool(features, "cdi", true);
    if (has_handler) {
        TRY(object_in(made, "runtimes", &runtimes));
        if (!json_object_get(runtimes, "nvidia"))
            json_put_text(json_object_at(runtimes, "nvidia"), "path", "runc");
    }
    *ret = TAKE(made);
    return NULL;
}

/* Gives the member back the value that it had; a parent that had none goes when it is empty. */
static void docker_restore(json_t *now, const json_t *before, const char *parent, const char *key)
{
    json_t *o = json_object_get(now, parent);
    json_t *old = json_object_get(json_object_get(before, parent), key);

    if (!json_is_object(o))
        return;
    (void)json_object_del(o, key); /* fails without one */
    if (old)
        json_put(o, key, json_deep_copy(old));
    if (json_object_size(o) == 0 && !json_object_get(before, parent))
        (void)json_object_del(now, parent);
}

json_t *docker_conf_forget(const json_t *now, const json_t *before)
{
    json_t *made = json_deep_copy(now);

    docker_restore(made, before, "features", "cdi");
    docker_restore(made, before, "runtimes", "nvidia");
    return made;
}
