/* objects_pod_host_paths.c - the directories of a node that a pod may mount */

#include "base/mem.h"
#include "kinds/object/objects_private.h"
#include "kinds/pod/pod_state.h"

static bool is_host(const json_t *container)
{
    return text_equal(json_text(container, "image"), "host");
}

/* Does any container run an image? Directories on the node are created as the calling user; an
 * image's users own nothing there. */
static bool has_image(const json_t *spec)
{
    static const char *const lists[] = {"initContainers", "containers"};

    for (size_t l = 0; l < 2; l++) {
        const json_t *list = json_object_get(spec, lists[l]);

        for (size_t i = 0; i < json_array_size(list); i++)
            if (!is_host(json_array_get(list, i)))
                return true;
    }
    return false;
}

static bool is_written(const json_t *container, const char *volume)
{
    const json_t *mounts = json_object_get(container, "volumeMounts");

    for (size_t i = 0; i < json_array_size(mounts); i++) {
        const json_t *mount = json_array_get(mounts, i);

        if (text_equal(json_text(mount, "name"), volume) && !json_bool(mount, "readOnly", false))
            return true;
    }
    return false;
}

/* The first container that mounts the read-only `volume` for writing; NULL: none. */
static const char *find_writer(const json_t *spec, const char *volume)
{
    static const char *const lists[] = {"initContainers", "containers"};

    for (size_t l = 0; l < 2; l++) {
        const json_t *list = json_object_get(spec, lists[l]);

        for (size_t i = 0; i < json_array_size(list); i++)
            if (is_written(json_array_get(list, i), volume))
                return json_text(json_array_get(list, i), "name");
    }
    return NULL;
}

static struct err *check_one(const struct change *c, const json_t *spec, const json_t *volume)
{
    static const struct host_roots none = {0};
    const struct host_roots *roots = c->objects->host_roots ? c->objects->host_roots : &none;
    const char *name = json_text(volume, "name");
    const char *path = json_text_at(volume, "hostPath", "path", NULL);
    const char *type = json_text_at(volume, "hostPath", "type", NULL);
    AUTO_FREE char *clean = host_path_clean(path ? path : "");
    const struct host_root *root = clean ? host_roots_find(roots, clean) : NULL;
    const char *writer = root && root->is_read_only ? find_writer(spec, name) : NULL;
    bool is_made = type && text_ends_with(type, "OrCreate");

    if (!clean || host_path_is_of_kernel(clean))
        return NULL; /* its validation reports it */
    if (!root) {
        AUTO_FREE char *all = host_roots_format(roots);

        return forbidden(c,
                         "volume %s: hostPath '%s' is for administrators; users may mount paths in "
                         "these directories of the node: %s (mete up --host-path-root)",
                         name, path ? path : "", all);
    }
    if (writer)
        return forbidden(c,
                         "volume %s: hostPath '%s' is read-only for all users: container %s wants "
                         "volumeMounts with readOnly: true",
                         name, path, writer);
    if (is_made && root->is_read_only)
        return forbidden(
            c, "volume %s: hostPath '%s' is read-only for all users: nothing can be created there",
            name, path);
    if (is_made && has_image(spec))
        return forbidden(c,
                         "volume %s: hostPath type %s with an image is for administrators, as its "
                         "users own nothing on the node: create '%s' there first",
                         name, type, path);
    return NULL;
}

struct err *pod_check_host_paths(const struct change *c, const json_t *spec, json_t *metadata)
{
    const json_t *volumes = json_object_get(spec, "volumes");
    bool is_any = false;

    if (c->who.is_system)
        return NULL; /* the template was checked */
    (void)json_object_del(json_object_get(metadata, "annotations"),
                          POD_HOST_PATHS); /* only the server sets it */
    for (size_t i = 0; i < json_array_size(volumes); i++) {
        const json_t *volume = json_array_get(volumes, i);

        if (!json_object_get(volume, "hostPath"))
            continue;
        is_any = true;
        if (!c->who.is_admin)
            TRY(check_one(c, spec, volume));
    }
    if (is_any && c->who.is_admin)
        json_put_text(json_object_at(metadata, "annotations"), POD_HOST_PATHS, "any");
    return NULL;
}
