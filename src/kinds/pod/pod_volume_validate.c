/* pod_volume_validate.c - rules of volumes and of their mounts */

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/value.h"
#include "kinds/pod/pod_rules.h"
#include "kinds/storage/storage.h"
#include "model/host_roots.h"

enum {
    TOKEN_SECONDS_MIN = 600
};
static const int64_t TOKEN_SECONDS_MAX = INT64_C(1) << 32;

/* Is a part of the path between slashes ".."? */
static bool path_climbs(const char *path)
{
    struct str rest = str_of(path);

    while (rest.at)
        if (str_equal(str_cut(&rest, '/'), STR("..")))
            return true;
    return false;
}

/* ---- files in volumes ---- */

static void validate_inner_path(const char *path, const struct path *at, struct causes *causes)
{
    if (*path == '/')
        cause_invalid(causes, at, path, "must be a relative path");
    else if (path_climbs(path))
        cause_invalid(causes, at, path, "must not contain '..'");
    else if (text_starts_with(path, ".."))
        cause_invalid(causes, at, path, "must not start with '..'");
}

/* Validates a list of items with paths. `taken` (an object, may be NULL) collects the paths, which
 * must be unique. */
static void validate_paths(const json_t *items, const struct path *at, json_t *taken,
                           struct causes *causes)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        const char *path = value_text(json_array_get(items, i), "path");
        const struct path *here = PATH(PATH_INDEX(at, i), "path");

        validate_inner_path(path, here, causes);
        if (taken && *path && json_object_get(taken, path))
            cause_invalid(causes, here, path, "conflicting duplicate paths");
        if (taken && *path)
            json_put_bool(taken, path, true);
    }
}

static void validate_downward_field(const json_t *ref, const struct path *at, struct causes *causes)
{
    static const char *const known[] = {"metadata.annotations", "metadata.labels", "metadata.name",
                                        "metadata.namespace",   "metadata.uid",    NULL};
    const char *path = value_text(ref, "fieldPath");

    if (!*path || pod_field_is_subscript(path))
        return;
    for (size_t i = 0; known[i]; i++)
        if (text_equal(known[i], path))
            return;
    cause_unsupported(causes, PATH(at, "fieldPath"), path, known);
}

static void validate_downward(const json_t *items, const json_t *spec, const struct path *at,
                              struct causes *causes)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const json_t *field = json_object_get(item, "fieldRef");
        const json_t *resource = json_object_get(item, "resourceFieldRef");
        const struct path *here = PATH_INDEX(at, i);
        const struct path *resource_at = PATH(here, "resourceFieldRef");

        if (field && resource)
            cause_invalid(causes, here, "resource",
                          "fieldRef and resourceFieldRef can not be specified simultaneously");
        else if (!field && !resource)
            cause_required(causes, here, "one of fieldRef and resourceFieldRef is required");
        if (field)
            validate_downward_field(field, PATH(here, "fieldRef"), causes);
        if (resource && !*value_text(resource, "containerName"))
            cause_required(causes, PATH(resource_at, "containerName"), "");
        if (resource)
            pod_validate_resource_ref(resource, spec, resource_at, causes);
    }
}

static void validate_token(const json_t *token, const struct path *at, json_t *taken,
                           struct causes *causes)
{
    int64_t seconds = json_int(token, "expirationSeconds", TOKEN_SECONDS_MIN);
    const char *path = value_text(token, "path");

    if (seconds < TOKEN_SECONDS_MIN)
        cause_invalid_int(causes, PATH(at, "expirationSeconds"), seconds,
                          "may not specify a duration less than 10 minutes");
    if (seconds > TOKEN_SECONDS_MAX)
        cause_invalid_int(causes, PATH(at, "expirationSeconds"), seconds,
                          "may not specify a duration larger than 2^32 seconds");
    validate_inner_path(path, PATH(at, "path"), causes);
    if (*path && json_object_get(taken, path))
        cause_invalid(causes, PATH(at, "path"), path, "conflicting duplicate paths");
    if (*path)
        json_put_bool(taken, path, true);
}

static void validate_projection(const json_t *source, const json_t *spec, const struct path *at,
                                json_t *taken, struct causes *causes)
{
    static const char *const keyed[] = {"secret", "configMap", "downwardAPI"};
    const json_t *token = json_object_get(source, "serviceAccountToken");

    if (json_object_size(source) > 1)
        cause_forbidden(causes, at, "may not specify more than 1 volume type");
    else if (json_object_size(source) == 0)
        cause_required(causes, at, "must specify a source");
    for (size_t i = 0; i < COUNT(keyed); i++)
        validate_paths(json_at(source, keyed[i], "items", NULL), PATH(PATH(at, keyed[i]), "items"),
                       taken, causes);
    validate_downward(json_at(source, "downwardAPI", "items", NULL), spec,
                      PATH(PATH(at, "downwardAPI"), "items"), causes);
    if (token)
        validate_token(token, PATH(at, "serviceAccountToken"), taken, causes);
}

static void validate_projected(const json_t *projected, const json_t *spec, const struct path *at,
                               struct causes *causes)
{
    const json_t *sources = json_object_get(projected, "sources");
    AUTO(json_freep) json_t *taken = json_object();

    for (size_t i = 0; i < json_array_size(sources); i++)
        validate_projection(json_array_get(sources, i), spec, PATH_INDEX(PATH(at, "sources"), i),
                            taken, causes);
}

/* ---- volumes ---- */

static void validate_host_path(const json_t *source, const struct path *at, struct causes *causes)
{
    const char *path = value_text(source, "path");
    const char *type = value_text(source, "type");
    AUTO_FREE char *clean = host_path_clean(path);
    const struct path *here = PATH(at, "path");

    if (*path && path_climbs(path))
        cause_invalid(causes, here, path, "must not contain '..'");
    else if (*path && !clean)
        cause_invalid(causes, here, path, "must be an absolute path without '.'");
    else if (*path && host_path_is_of_kernel(clean))
        cause_invalid(causes, here, path,
                      "every container has its own /proc, /sys and /dev, and gets its devices from "
                      "its resources");
    if (text_equal(type, "CharDevice") || text_equal(type, "BlockDevice"))
        cause_forbidden(causes, PATH(at, "type"),
                        "a container gets devices from its resources only");
}

/* Does the volume have a non-empty member besides its name? */
static bool says_more(const json_t *volume)
{
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach ((json_t *)(uintptr_t)volume, key, value)
        if (!text_equal(key, "name") && json_object_size(value) > 0)
            return true;
    return false;
}

void pod_validate_volume(const json_t *volume, const json_t *spec, const struct path *at,
                         struct causes *causes)
{
    static const char *const sources[] = {"emptyDir",
                                          "configMap",
                                          "secret",
                                          "downwardAPI",
                                          "projected",
                                          "hostPath",
                                          "persistentVolumeClaim",
                                          "ephemeral"};
    const json_t *template = json_at(volume, "ephemeral", "volumeClaimTemplate", NULL);
    size_t n = 0;

    for (size_t i = 0; i < COUNT(sources); i++) {
        const json_t *source = json_object_get(volume, sources[i]);

        if (!source)
            continue;
        n++;
        if (n > 1)
            cause_forbidden(causes, PATH(at, sources[i]),
                            "may not specify more than 1 volume type");
        validate_paths(json_object_get(source, "items"), PATH(PATH(at, sources[i]), "items"), NULL,
                       causes);
    }
    if (n == 0 && !says_more(volume)) /* the schema refuses other sources by their name */
        cause_required(causes, at, "must specify a volume type");
    validate_downward(json_at(volume, "downwardAPI", "items", NULL), spec,
                      PATH(PATH(at, "downwardAPI"), "items"), causes);
    validate_projected(json_object_get(volume, "projected"), spec, PATH(at, "projected"), causes);
    if (json_object_get(volume, "hostPath"))
        validate_host_path(json_object_get(volume, "hostPath"), PATH(at, "hostPath"), causes);
    if (template)
        storage_validate_claim_spec(
            json_object_get(template, "spec"),
            PATH(PATH(PATH(at, "ephemeral"), "volumeClaimTemplate"), "spec"), causes);
}

/* ---- mounts ---- */

static bool is_mounted_before(const json_t *mounts, const char *path, size_t end)
{
    for (size_t i = 0; i < end; i++)
        if (text_equal(json_text(json_array_get(mounts, i), "mountPath"), path))
            return true;
    return false;
}

/* Is the path one that the node mounts into every container? No volume may cover it. */
static bool is_system_path(const char *path)
{
    static const char *const roots[] = {"/proc", "/sys", "/dev"};

    if (text_equal(path, "/"))
        return true;
    for (size_t i = 0; i < COUNT(roots); i++) {
        size_t size = strlen(roots[i]);

        if (strncmp(path, roots[i], size) == 0 && (path[size] == '\0' || path[size] == '/'))
            return !text_starts_with(path, "/dev/shm");
    }
    return false;
}

static void validate_sub_path(const json_t *mount, const struct path *at, struct causes *causes)
{
    static const char *const keys[] = {"subPath", "subPathExpr"};

    for (size_t i = 0; i < 2; i++) {
        const char *path = value_text(mount, keys[i]);

        if (*path == '/')
            cause_invalid(causes, PATH(at, keys[i]), path, "must be a relative path");
        else if (path_climbs(path))
            cause_invalid(causes, PATH(at, keys[i]), path, "must not contain '..'");
    }
    if (*value_text(mount, "subPath") && *value_text(mount, "subPathExpr"))
        cause_invalid(causes, PATH(at, "subPathExpr"), value_text(mount, "subPathExpr"),
                      "subPathExpr and subPath are mutually exclusive");
}

void container_validate_mounts(const json_t *container, const json_t *spec, const struct path *at,
                               struct causes *causes)
{
    const json_t *mounts = json_object_get(container, "volumeMounts");
    const json_t *volumes = json_object_get(spec, "volumes");

    for (size_t i = 0; i < json_array_size(mounts); i++) {
        const json_t *mount = json_array_get(mounts, i);
        const char *name = value_text(mount, "name");
        const char *path = value_text(mount, "mountPath");
        const struct path *here = PATH_INDEX(PATH(at, "volumeMounts"), i);
        const struct path *path_at = PATH(here, "mountPath");

        if (*name && !value_find_named(volumes, name))
            cause_not_found(causes, PATH(here, "name"), name);
        if (*path && *path != '/')
            cause_invalid(causes, path_at, path, "must be an absolute path");
        else if (path_climbs(path))
            cause_invalid(causes, path_at, path, "must not contain '..'");
        else if (is_system_path(path))
            cause_invalid(causes, path_at, path,
                          "must not be /, nor below /proc, /sys and /dev other than /dev/shm");
        else if (*path && is_mounted_before(mounts, path, i))
            cause_invalid(causes, path_at, path, "must be unique");
        validate_sub_path(mount, here, causes);
    }
}
