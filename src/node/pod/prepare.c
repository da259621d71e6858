/* prepare.c - users, volumes and directories of a pod, in the worker */

#include "node/pod/prepare.h"

#include <inttypes.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "node/volume/etc.h"
#include "node/volume/stage.h"

/* Makes the directories: `volumes` and bundles are only root's, `roots` belongs to the pod; files
 * of other owners are deeper. */
static struct err *make_dirs(const struct preparation *p)
{
    AUTO_FREE char *volumes = mem_format("%s/volumes", p->dir);

    TRY(dir_make(p->dir, 0711));
    return dir_make(volumes, 0700);
}

/* Records the id range, before any file of the pod belongs to these ids. */
static struct err *keep_range(const struct preparation *p)
{
    AUTO_FREE char *path = mem_format("%s/userns", p->dir);
    AUTO_FREE char *text = mem_format("%" PRIu32, p->uid_base);

    return p->has_userns ? note_write(path, text) : NULL;
}

static struct err *read_range(const char *dir, const char *pod_uid, struct userns_ranges *r)
{
    AUTO_FREE char *path = mem_format("%s/%s/userns", dir, pod_uid);
    AUTO(buf_done) struct buf text = {.cap = 4096};
    int64_t base = 0;
    struct err *e = note_read(path, &text);

    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    if (e)
        return e;
    TRY(num_parse_int64((struct str){text.at, text.size}, 0, UINT32_MAX, &base));
    return userns_adopt(r, pod_uid, (uint32_t)base);
}

void prepare_adopt_ranges(const char *dir, struct userns_ranges *r)
{
    AUTO_FREE char *pods = mem_format("%s/pods", dir);
    char **names = NULL;
    size_t n = 0;
    AUTO(err_freep) struct err *e = dir_list(pods, &names, &n);

    if (e && err_code(e) != ERR_NOT_FOUND)
        LOG(ERROR, "user id ranges cannot be read", E(e));
    for (size_t i = 0; i < n; i++) {
        AUTO(err_freep) struct err *bad = read_range(pods, names[i], r);

        if (bad)
            LOG(ERROR, "user id range cannot be read", S("pod", names[i]), E(bad));
    }
    names_free(names, n);
}

struct err *prepare_pod(struct preparation *p)
{
    if (!p->has_no_dir)
        TRY(make_dirs(p));
    TRY(keep_range(p));
    if (p->hosts)
        TRY(etc_make(p->dir,
                     &(struct etc_content){.hosts = p->hosts,
                                           .address = p->address,
                                           .hostname = p->hostname,
                                           .resolv = p->resolv,
                                           .is_resolv_more = p->is_resolv_more},
                     p->uid_base));
    for (size_t i = 0; i < p->n_users; i++)
        if (p->uids[i] != NO_HOST_USER)
            TRY(host_user_read(p->uids[i], &p->users[i]));
    return volume_make(&p->volumes);
}

/* Removes stages left by interrupted creations. */
static struct err *strike_all(const char *dir)
{
    char **names = NULL;
    size_t n = 0;
    struct err *e = dir_list(dir, &names, &n);

    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    for (size_t i = 0; !e && i < n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dir, names[i]);

        e = stage_strike(path);
    }
    names_free(names, n);
    return e;
}

static struct err *remove_roots(const char *dir)
{
    AUTO_FREE char *roots = mem_format("%s/roots", dir);
    AUTO(err_freep) struct err *e = NULL;
    char **names = NULL;
    size_t n = 0;

    e = dir_list(roots, &names, &n);
    if (e && err_code(e) == ERR_NOT_FOUND)
        return NULL;
    for (size_t i = 0; !e && i < n; i++) {
        AUTO_FREE char *root = mem_format("%s/%s", roots, names[i]);

        e = image_root_remove(root);
    }
    names_free(names, n);
    return TAKE(e);
}

struct err *unprepare_pod(const char *const *dirs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_FREE char *binds = mem_format("%s/binds", dirs[i]);
        AUTO_FREE char *volumes = mem_format("%s/volumes", dirs[i]);

        if (!file_exists(dirs[i]))
            continue;
        TRY(strike_all(binds));
        TRY(remove_roots(dirs[i]));
        TRY(volume_remove(volumes));
        TRY(dir_remove(dirs[i]));
    }
    return NULL;
}
