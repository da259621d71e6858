#include "node/prepare.h"

#include "base/file.h"
#include "base/mem.h"

/*
 * The runtime makes a missing mount point in the container's root, which for the image `host` is
 * the host: only a new directory directly below / is made (it lands on our tmpfs).
 */
static struct err *check_target(const char *path)
{
    bool is_top = path[0] == '/' && !strchr(path + 1, '/');

    switch (host_path_type(path)) {
    case HOST_DIR:
        return NULL;
    case HOST_OTHER:
        return err_new(ERR_INVALID, "mountPath '%s' is not a directory on this machine", path);
    case HOST_ABSENT:
        break;
    }
    if (is_top || text_starts_with(path, "/dev/shm"))
        return NULL;
    return err_new(ERR_INVALID,
                   "mountPath '%s' does not exist on this machine, and image 'host' makes nothing "
                   "there: use an existing directory or a new one directly below /",
                   path);
}

struct err *prepare_pod(struct preparation *p)
{
    for (size_t i = 0; i < p->n_users; i++)
        TRY(host_user_read(p->uids[i], &p->users[i]));
    for (size_t i = 0; i < p->n_targets; i++)
        TRY(check_target(p->targets[i]));
    return volume_make(&p->volumes);
}

struct err *unprepare_pod(const char *const *dirs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *volumes = mem_format("%s/volumes", dirs[i]);

        TRY(volume_remove(volumes));
        TRY(dir_remove(dirs[i]));
    }
    return NULL;
}
