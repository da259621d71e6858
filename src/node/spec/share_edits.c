/* share_edits.c - replaces mounts of the driver's libraries by the share library */

#include "node/spec/share_edits.h"

#include "base/mem.h"
#include "gpu/share_state.h"

static const struct share_library share_libraries[] = {
    {"libcuda.so", "libcuda.so.1", "libmete-share-cuda.so", true},
    {"libnvidia-ml.so", "libnvidia-ml.so.1", "libmete-share-nvidia-ml.so", false},
};

static bool is_named(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;
    size_t size = strlen(name);

    return strncmp(file, name, size) == 0 && (file[size] == '\0' || file[size] == '.');
}

const struct share_library *share_library_of(const struct driver_file *file)
{
    for (size_t i = 0; i < COUNT(share_libraries); i++)
        if (is_named(file->name, share_libraries[i].name))
            return &share_libraries[i];
    return NULL;
}

static const char *const library_options[] = {"ro", "nosuid", "nodev", "rbind", "rprivate", NULL};
static const char *const read_options[] = {"ro",    "nosuid",   "nodev", "noexec",
                                           "rbind", "rprivate", NULL};
static const char *const write_options[] = {"rw",    "nosuid",   "nodev", "noexec",
                                            "rbind", "rprivate", NULL};

static void share_mount_add(json_t *edits, const char *from, const char *to,
                            const char *const *options)
{
    json_t *mount = json_object();

    json_put_text(mount, "hostPath", from);
    json_put_text(mount, "containerPath", to);
    json_put_text(mount, "type", "bind");
    for (; *options; options++)
        (void)json_array_append_new(json_array_at(mount, "options"), json_string(*options));
    (void)json_array_append_new(json_array_at(edits, "mounts"), mount);
}

/* The image `host` without mounts of the driver: its files lie where the host has them. */
static void share_mount_host(json_t *edits, const struct driver_root *root,
                             const struct share_library *library)
{
    VEC_EACH (&root->files, file) {
        if (file->kind == DRIVER_LIBRARY && is_named(file->name, library->name))
            share_mount_add(edits, file->path, file->path, library_options);
    }
}

/* Puts our library under all names of the driver's. */
static struct err *share_replace(json_t *edits, const struct share_library *library,
                                 const struct cdi_target *target, const struct share_mounts *mounts)
{
    AUTO_FREE char *ours = mem_format("%s/%s", mounts->library_dir, library->ours);
    AUTO_FREE char *to = mem_format(SHARE_DIR "/%s", library->name);
    AUTO_FREE char *from = NULL;
    json_t *mount = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(edits, "mounts"), i, mount) {
        const char *path = json_text(mount, "containerPath");

        if (!path || !is_named(path, library->name))
            continue;
        if (!from)
            from = mem_strdup(json_text(mount, "hostPath"));
        json_put_text(mount, "hostPath", ours);
    }
    if (!from && library->is_needed)
        return err_new(ERR_INVALID,
                       "a capped share needs the driver's %s, and the driver has none here",
                       library->name);
    if (from && !target->is_linked)
        share_mount_add(edits, from, to, library_options);
    return NULL;
}

struct err *share_edits_apply(json_t *edits, const struct driver_root *root,
                              const struct cdi_target *target, const struct share_mounts *mounts)
{
    AUTO_FREE char *limits = mem_format("%s/limits", mounts->dir);
    AUTO_FREE char *state = mem_format("%s/state", mounts->dir);

    if (target->is_musl)
        return err_new(ERR_INVALID,
                       "a capped share needs an image with glibc, and this one has musl: ask for a "
                       "whole gpu, a replica or a MIG slice");
    if (!target->library_dir[0])
        return err_new(ERR_INVALID, "a capped share needs an image with glibc, and this one has no "
                                    "loader of programs");
    for (size_t i = 0; i < COUNT(share_libraries); i++) {
        if (target->is_host && text_equal(root->dir, "/"))
            share_mount_host(edits, root, &share_libraries[i]);
        TRY(share_replace(edits, &share_libraries[i], target, mounts));
    }
    share_mount_add(edits, limits, SHARE_DIR "/limits", read_options);
    share_mount_add(edits, state, SHARE_DIR "/state", write_options);
    return NULL;
}
