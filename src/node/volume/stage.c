/* stage.c - the mounts of one attempt */

#include "node/volume/stage.h"

#include "base/file.h"
#include "base/mem.h"

enum {
    PATH_SIZE_MAX = 4095
};

void stage_done(struct stage *s)
{
    VEC_EACH (&s->mounts, m) {
        free(m->name);
        free(m->mount.source);
        free(m->mount.destination);
        bind_done(&m->bind);
    }
    vec_done(&s->mounts);
    free(s->dir);
    *s = (struct stage){0};
}

/* ---- subPath ---- */

/* The first $(NAME) that is missing in `env`; NULL: none. The caller frees it. */
static char *find_undefined(const char *text, const json_t *env)
{
    for (const char *at = strchr(text, '$'); at; at = strchr(at, '$')) {
        const char *end = at[1] == '(' ? strchr(at, ')') : NULL;
        AUTO_FREE char *name = end ? mem_strndup(at + 2, (size_t)(end - at) - 2) : NULL;

        if (name && !json_text(env, name))
            return TAKE(name);
        at += at[1] == '$' ? 2 : 1;
    }
    return NULL;
}

static bool is_descending(const char *path)
{
    struct str rest = str_of(path);

    if (path[0] == '/' || strlen(path) > PATH_SIZE_MAX)
        return false;
    while (rest.at)
        if (str_equal(str_cut(&rest, '/'), STR("..")))
            return false;
    return true;
}

/* The subPath of a mount; "": the whole volume. */
static struct err *find_sub_path(const json_t *mount, const json_t *env, char **ret)
{
    const char *plain = json_text(mount, "subPath");
    const char *with_names = json_text(mount, "subPathExpr");
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *missing = NULL;

    if (with_names && with_names[0]) {
        missing = find_undefined(with_names, env);
        if (missing)
            return err_new(ERR_INVALID, "subPathExpr '%s': there is no variable %s", with_names,
                           missing);
        path = env_expand(with_names, env);
    } else {
        path = mem_strdup(plain ? plain : "");
    }
    if (!is_descending(path))
        return err_new(ERR_INVALID, "subPath '%s' is not a relative path without '..'", path);
    *ret = TAKE(path);
    return NULL;
}

/* ---- binds ---- */

/* The path below `root`: "a" for "/data/a" below "/data". */
static char *path_below(const char *path, const char *root)
{
    const char *rest = path + (root ? strlen(root) : 0);

    while (*rest == '/')
        rest++;
    return mem_strdup(rest);
}

static void stage_plan_host(const struct stage_input *in, const struct volume_host *h,
                            struct bind *b)
{
    b->base = mem_strdup(in->rootfs);
    b->root = h->root ? mem_strdup(h->root) : NULL;
    b->path = path_below(h->path, h->root);
    b->has_links = !h->root;
    b->type = h->type;
    b->is_made = h->is_made;
    b->is_sub_path_made = !h->is_read_only;
    b->is_read_only = b->is_read_only || h->is_read_only;
    if (in->user) {
        b->user = *in->user;
        b->has_user = true;
    } else if (h->root) { /* a user without rights on the host, except those for all */
        b->user = (struct host_user){.uid = in->uid_base, .gid = in->uid_base};
        b->has_user = in->uid_base != 0;
    } else {
        b->id_base = in->uid_base;
    }
}

static void plan_ours(const struct volume *v, struct bind *b)
{
    b->base = mem_strdup(v->path);
    b->path = mem_strdup("");
    b->type = BIND_DIR;
    b->is_ours = true;
    b->is_sub_path_made = v->type == VOLUME_EMPTY;
}

static struct err *stage_plan_one(const struct stage_input *in, const json_t *item, size_t i,
                                  struct stage_mount *m)
{
    const char *path = json_text(item, "mountPath");
    const struct volume *v = volumes_find(in->volumes, m->name);
    AUTO_FREE char *sub_path = NULL;

    TRY(spec_check_mount(path ? path : ""));
    if (!v)
        return err_new(ERR_INVALID, "there is no such volume");
    TRY(find_sub_path(item, in->env, &sub_path));
    m->mount.destination = mem_strdup(path);
    m->mount.is_read_only = json_bool(item, "readOnly", false) || v->type == VOLUME_FILES ||
                            (v->type == VOLUME_HOST && v->host.is_read_only) || v->is_read_only;
    if (v->type != VOLUME_HOST && v->type != VOLUME_CLAIM && sub_path[0] == '\0') {
        m->mount.source = mem_strdup(v->path);
        return NULL;
    }
    m->mount.source = mem_format("%s/%zu", in->dir, i);
    m->bind = (struct bind){.target = mem_strdup(m->mount.source),
                            .sub_path = TAKE(sub_path),
                            .is_read_only = m->mount.is_read_only};
    if (v->type == VOLUME_HOST)
        stage_plan_host(in, &v->host, &m->bind);
    else
        plan_ours(v, &m->bind);
    if (v->type == VOLUME_CLAIM) {
        m->bind.is_sub_path_made = !m->mount.is_read_only;
        m->bind.id_base = in->uid_base; /* users of the image `host` own files as they are */
    }
    return NULL;
}

struct err *stage_plan(const struct stage_input *in, struct stage *ret)
{
    AUTO(stage_done) struct stage s = {.dir = mem_strdup(in->dir), .is_host = in->is_host};
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(in->container, "volumeMounts"), i, item) {
        const char *name = json_text(item, "name");
        struct stage_mount *m = NULL;
        struct err *e = NULL;

        vec_add(&s.mounts, (struct stage_mount){.name = mem_strdup(name ? name : "")});
        m = &s.mounts.at[s.mounts.n - 1];
        e = stage_plan_one(in, item, i, m);
        if (e)
            return err_wrap(e, "volumeMount '%s'", m->name);
    }
    *ret = s;
    s = (struct stage){0};
    return NULL;
}

/* Does the node mount the volume for each container? */
static bool is_bound(const json_t *pod, const char *name)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_at(pod, "spec", "volumes", NULL), i, item)
        if (text_equal(json_text(item, "name"), name))
            return json_object_get(item, "hostPath") ||
                   json_object_get(item, "persistentVolumeClaim") ||
                   json_object_get(item, "ephemeral");
    return false;
}

bool stage_has_binds(const json_t *pod, const json_t *container)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(container, "volumeMounts"), i, item)
        if (json_text(item, "subPath") || json_text(item, "subPathExpr") ||
            is_bound(pod, json_text(item, "name")))
            return true;
    return false;
}

/* ---- work for the worker ---- */

/*
 * The runtime creates missing mount points in the container's root, for the image `host` on the
 * host: so only mount points directly below / may be missing (these are created on our tmpfs).
 */
static struct err *check_target(const char *path, bool is_dir)
{
    bool is_top = path[0] == '/' && !strchr(path + 1, '/');

    switch (host_path_type(path)) {
    case HOST_DIR:
        return is_dir ? NULL
                      : err_new(ERR_INVALID,
                                "mountPath '%s' is a directory on this machine, but the mount "
                                "is a file",
                                path);
    case HOST_OTHER:
        return is_dir
                   ? err_new(ERR_INVALID, "mountPath '%s' is not a directory on this machine", path)
                   : NULL;
    case HOST_ABSENT:
        break;
    }
    if (is_top || text_starts_with(path, "/dev/shm"))
        return NULL;
    return err_new(ERR_INVALID,
                   "mountPath '%s' does not exist on this machine, and image 'host' cannot create "
                   "it: use an existing path, or a new path directly below /",
                   path);
}

struct err *stage_make(struct stage *s)
{
    VEC_EACH (&s->mounts, m) {
        bool is_dir = true;
        struct err *e = m->bind.target ? bind_mount(&m->bind, &is_dir) : NULL;

        if (!e && s->is_host)
            e = check_target(m->mount.destination, is_dir);
        if (e)
            return err_wrap(e, "volumeMount '%s'", m->name);
    }
    return NULL;
}

struct err *stage_strike(const char *dir)
{
    char **names = NULL;
    size_t n = 0;
    struct err *e = dir_list(dir, &names, &n);

    for (size_t i = 0; !e && i < n; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", dir, names[i]);

        e = bind_unmount(path);
    }
    names_free(names, n);
    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    TRY(e);
    return dir_remove(dir);
}
