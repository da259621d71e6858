/* slurm_container.c - jobs in containers: images, mounts, users and scripts of their pods */

#include "kinds/slurm/slurm_container.h"

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_job.h"
#include "model/host_roots.h"
#include "model/image_name.h"

enum {
    MOUNTS_MAX = 64
};

/* One of "SOURCE:TARGET:FLAGS,...". */
struct mount_item {
    struct str source;
    struct str target;
    bool is_read_only;
};

bool slurm_has_container(const json_t *spec)
{
    return json_object_get(spec, "container") != NULL;
}

/* ---- the image ---- */

/* The image's name as elsewhere: pyxis separates the registry by '#'. The caller frees it. */
static char *container_image_name(const char *text)
{
    char *name =
        mem_strdup(text_starts_with(text, "docker://") ? text + strlen("docker://") : text);
    char *hash = strchr(name, '#');

    if (hash)
        *hash = '/';
    return name;
}

static struct err *check_image(const json_t *container)
{
    const char *text = json_text_filled(container, "image");
    AUTO_FREE char *name = text ? container_image_name(text) : NULL;
    struct image_name parsed;
    struct err *e = NULL;

    if (!name)
        return err_new(ERR_INVALID, "--container-image: missing");
    if (*name == '/' || *name == '.' || text_ends_with(name, ".sqsh"))
        return err_new(ERR_INVALID,
                       "--container-image=%s: image files are not read: mete image import", text);
    if (text_equal(name, IMAGE_HOST))
        return err_new(ERR_INVALID, "--container-image=%s: a job without it runs on the machine",
                       text);
    e = image_name_parse(name, &parsed);
    return e ? err_wrap(e, "--container-image=%s", text) : NULL;
}

/* ---- mounts ---- */

static bool read_flags(struct str flags, struct mount_item *m)
{
    while (flags.at) {
        struct str flag = str_cut(&flags, '+');

        if (str_equal(flag, STR("ro")))
            m->is_read_only = true;
        else if (!str_equal(flag, STR("rw")) && !str_equal(flag, STR("bind")) &&
                 !str_equal(flag, STR("rbind")))
            return false;
    }
    return true;
}

static bool is_path(struct str text)
{
    AUTO_FREE char *path = mem_strndup(text.at ? text.at : "", text.size);
    AUTO_FREE char *clean = host_path_clean(path);

    return clean && !host_path_is_of_kernel(clean);
}

static struct err *read_mount(struct str text, struct mount_item *ret)
{
    struct str rest = text;

    *ret = (struct mount_item){0};
    ret->source = str_cut(&rest, ':');
    ret->target = rest.at ? str_cut(&rest, ':') : ret->source;
    if (!is_path(ret->source) || !is_path(ret->target) || ret->target.size < 2)
        return err_new(ERR_INVALID,
                       "--container-mounts: '" STR_FMT "' is not SOURCE[:TARGET[:ro]] with "
                       "absolute paths outside of /dev, /proc and /sys",
                       STR_ARG(text));
    if (!read_flags(rest, ret))
        return err_new(ERR_INVALID, "--container-mounts: flags '" STR_FMT "': only ro and rw",
                       STR_ARG(rest));
    return NULL;
}

static struct err *check_mounts(const json_t *container)
{
    struct str rest = str_of(json_text_filled(container, "mounts"));
    struct mount_item m;
    size_t n = 0;

    while (rest.at) {
        TRY(read_mount(str_cut(&rest, ','), &m));
        if (++n > MOUNTS_MAX)
            return err_new(ERR_INVALID, "--container-mounts: more than %d", MOUNTS_MAX);
    }
    if (json_text_filled(container, "home"))
        return read_mount(str_of(json_text(container, "home")), &m);
    return NULL;
}

struct err *slurm_container_check(const json_t *spec)
{
    const json_t *container = json_object_get(spec, "container");
    const char *dir = json_text_filled(container, "workDir");

    if (!container)
        return NULL;
    TRY(check_image(container));
    TRY(check_mounts(container));
    if (dir && *dir != '/')
        return err_new(ERR_INVALID, "--container-workdir=%s: not an absolute path", dir);
    return NULL;
}

/* ---- the pod ---- */

static void put_volume(json_t *pod, json_t *container, const char *name, json_t *source,
                       const struct mount_item *m)
{
    json_t *volume = json_pack("{s:s}", "name", name);
    json_t *mount = json_pack("{s:s}", "name", name);

    (void)json_object_update_new(volume, source); /* fresh: cannot fail, as below */
    json_put(mount, "mountPath", json_stringn(m->target.at, m->target.size));
    if (m->is_read_only)
        json_put_bool(mount, "readOnly", true);
    (void)json_array_append_new(json_array_at(json_object_at(pod, "spec"), "volumes"), volume);
    (void)json_array_append_new(json_array_at(container, "volumeMounts"), mount);
}

static void put_mount(json_t *pod, json_t *container, struct str text, size_t i)
{
    AUTO_FREE char *name = mem_format("mount-%zu", i);
    AUTO(err_freep) struct err *e = NULL;
    struct mount_item m;

    e = read_mount(text, &m);
    if (!e) /* was checked at the submission */
        put_volume(pod, container, name,
                   json_pack("{s:{s:s%}}", "hostPath", "path", m.source.at, m.source.size), &m);
}

/* The node opens the paths with the rights of the job's user. */
static void put_mounts(json_t *pod, json_t *container, const json_t *spec)
{
    const json_t *asked = json_object_get(spec, "container");
    struct str rest = str_of(json_text_filled(asked, "mounts"));
    const char *home = json_text_filled(asked, "home");
    size_t n = 0;

    while (rest.at)
        put_mount(pod, container, str_cut(&rest, ','), n++);
    if (home)
        put_mount(pod, container, str_of(home), n++);
    if (n > 0)
        json_put_text(json_object_at(json_object_at(pod, "metadata"), "annotations"),
                      POD_HOST_PATHS, "any");
}

/* The script is a file in a volume, of the text in an annotation. */
static void put_script(json_t *pod, json_t *container, const json_t *spec)
{
    const struct mount_item m = {.target = STR(SLURM_SCRIPT_DIR), .is_read_only = true};
    const json_t *argument = NULL;
    json_t *command;
    size_t i = 0;

    json_put_text(json_object_at(json_object_at(pod, "metadata"), "annotations"),
                  SLURM_SCRIPT_ANNOTATION, json_text(spec, "script"));
    put_volume(pod, container, "script",
               json_pack("{s:{s:[{s:s,s:i,s:{s:s}}]}}", "downwardAPI", "items", "path",
                         SLURM_SCRIPT_FILE, "mode", 0555, "fieldRef", "fieldPath",
                         "metadata.annotations['" SLURM_SCRIPT_ANNOTATION "']"),
               &m);
    json_put(container, "command", json_array());
    command = json_array_at(container, "command");
    (void)json_array_append_new(command, json_string(SLURM_SCRIPT_DIR "/" SLURM_SCRIPT_FILE));
    json_array_foreach (json_object_get(spec, "arguments"), i, argument)
        (void)json_array_append(command, (json_t *)(uintptr_t)argument);
}

/*
 * The script has the uid, gid and groups that its user has on the machine, and without a user
 * namespace: so its rights on the mounted files are the user's own, on every file system.
 */
static void put_rights(json_t *pod, json_t *container, const json_t *spec)
{
    json_t *pod_spec = json_object_at(pod, "spec");
    json_t *security = json_object_at(pod_spec, "securityContext");
    const json_t *gid = json_at(spec, "user", "gid", NULL);

    json_put_bool(pod_spec, "hostUsers", true);
    json_put_int(security, "runAsUser", json_int_at(spec, "user", "uid", NULL));
    json_put_int(security, "runAsGroup",
                 gid ? json_integer_value(gid) : json_int_at(spec, "user", "uid", NULL));
    json_put_text(security, "supplementalGroupsPolicy", "Strict");
    if (json_bool_at(spec, "container", "isReadOnly", NULL))
        json_put_bool(json_object_at(container, "securityContext"), "readOnlyRootFilesystem", true);
}

static void put_streams(json_t *pod, const json_t *spec, json_t *process)
{
    struct str rest = str_of(json_text_at(spec, "container", "variables", NULL));
    AUTO_FREE char *text = NULL;

    json_put_int(process, "uid", json_int_at(spec, "user", "uid", NULL));
    while (rest.at) {
        struct str name = str_cut(&rest, ',');

        (void)json_array_append_new(json_array_at(process, "variables"),
                                    json_stringn(name.at, name.size));
    }
    if (json_text_at(spec, "container", "home", NULL))
        (void)json_array_append_new(json_array_at(process, "variables"), json_string("HOME"));
    text = json_format(process);
    json_put_text(json_object_at(json_object_at(pod, "metadata"), "annotations"),
                  BATCH_CONTAINER_ANNOTATION, text);
}

void slurm_container_put(json_t *pod, json_t *container, const json_t *spec, json_t *process)
{
    const json_t *asked = json_object_get(spec, "container");
    AUTO_FREE char *image = container_image_name(text_or_empty(json_text(asked, "image")));

    json_put_text(container, "image", image);
    json_put_text(container, "imagePullPolicy", "IfNotPresent");
    json_put_text(container, "workingDir", json_text_filled(asked, "workDir"));
    put_script(pod, container, spec);
    put_mounts(pod, container, spec);
    put_rights(pod, container, spec);
    put_streams(pod, spec, process);
}
