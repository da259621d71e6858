/* volume.c - the plan of a pod's volumes: emptyDir and hostPath */

#include "node/volume/volume.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "kinds/pod/pod_volume_claims.h"
#include "model/quantity.h"
#include "node/volume/claim_disk.h"

enum {
    DIR_MODE_EMPTY = 0777,
    DIR_MODE_FILES = 0755,
    DIR_MODE_GROUP = 02000 /* setgid, with fsGroup: new files get its group */
};

/* ---- the list ---- */

static void files_done(struct volume *v)
{
    VEC_EACH (&v->files, f) {
        free(f->path);
        free(f->bytes);
    }
    vec_done(&v->files);
}

static void volume_done(struct volume *v)
{
    files_done(v);
    free(v->name);
    free(v->path);
    free(v->limit_text);
    free(v->host.path);
    free(v->host.root);
    free(v->disk_dir);
}

void volumes_done(struct volumes *v)
{
    VEC_EACH (&v->list, volume)
        volume_done(volume);
    vec_done(&v->list);
}

void volumes_forget(struct volumes *v)
{
    VEC_EACH (&v->list, volume)
        files_done(volume);
}

const struct volume *volumes_find(const struct volumes *v, const char *name)
{
    for (size_t i = 0; i < v->list.n; i++)
        if (text_equal(v->list.at[i].name, name))
            return &v->list.at[i];
    return NULL;
}

/* ---- emptyDir ---- */

static struct err *read_bytes(const json_t *value, int64_t *ret)
{
    struct quantity q = {0};

    *ret = 0;
    if (json_is_integer(value)) {
        *ret = json_integer_value(value);
    } else if (json_is_string(value)) {
        TRY(quantity_parse(str_of(json_string_value(value)), &q));
        *ret = quantity_units(q);
    }
    return *ret < 0 ? err_new(ERR_INVALID, "is negative") : NULL;
}

/* The sum of all containers' memory limits; 0: a container has none. */
static int64_t memory_of(const json_t *pod)
{
    static const char *const lists[] = {"initContainers", "containers"};
    const json_t *item = NULL;
    int64_t sum = 0;
    size_t i = 0;

    for (size_t k = 0; k < 2; k++)
        json_array_foreach (json_at(pod, "spec", lists[k], NULL), i, item) {
            int64_t bytes = 0;
            AUTO(err_freep)
            struct err *e =
                read_bytes(json_at(item, "resources", "limits", "memory", NULL), &bytes);

            if (e || (bytes == 0 && k == 1))
                return 0;
            if (k == 1 && __builtin_add_overflow(sum, bytes, &sum))
                return 0;
        }
    return sum;
}

static struct err *plan_empty(struct volume *v, const json_t *pod, const json_t *source)
{
    const json_t *limit = json_object_get(source, "sizeLimit");
    const char *medium = json_text(source, "medium");
    int64_t bytes = 0;
    struct err *e = read_bytes(limit, &bytes);

    if (e)
        return err_wrap(e, "sizeLimit");
    v->mode = DIR_MODE_EMPTY;
    v->is_memory = text_equal(medium, "Memory");
    if (medium && medium[0] && !v->is_memory)
        return err_new(ERR_INVALID, "medium '%s' is not supported: '' or Memory", medium);
    if (v->is_memory) {
        int64_t memory = memory_of(pod);

        v->size_bytes = bytes == 0 || (memory > 0 && memory < bytes) ? memory : bytes;
    } else if (bytes > 0) {
        v->limit_bytes = bytes;
        v->limit_text = json_is_string(limit) ? mem_strdup(json_string_value(limit))
                                              : mem_format("%" PRId64, bytes);
    }
    return NULL;
}

/* ---- hostPath ---- */

static bool is_for_admins(const json_t *pod)
{
    return text_equal(json_text_at(pod, "metadata", "annotations", "mete.dev/host-paths", NULL),
                      "any");
}

static struct err *host_type(const char *type, struct volume_host *h)
{
    static const struct {
        const char *name;
        enum bind_type type;
        bool is_made;
    } types[] = {
        {"", BIND_ANY, false},          {"Directory", BIND_DIR, false},
        {"File", BIND_FILE, false},     {"DirectoryOrCreate", BIND_DIR, true},
        {"Socket", BIND_SOCKET, false}, {"FileOrCreate", BIND_FILE, true},
    };

    for (size_t i = 0; i < COUNT(types); i++)
        if (text_equal(types[i].name, type ? type : "")) {
            h->type = types[i].type;
            h->is_made = types[i].is_made;
            return NULL;
        }
    return err_new(ERR_INVALID, "hostPath type '%s' is not supported", type);
}

/* Repeats the server's checks, so that a node need not trust the server. */
static struct err *volume_plan_host(const struct volume_input *in, struct volume *v,
                                    const json_t *source)
{
    static const struct host_roots none = {0};
    const struct host_roots *roots = in->roots ? in->roots : &none;
    const char *path = json_text(source, "path");
    AUTO_FREE char *clean = host_path_clean(path ? path : "");
    const struct host_root *root = clean ? host_roots_find(roots, clean) : NULL;

    v->type = VOLUME_HOST;
    if (!clean || host_path_is_of_kernel(clean))
        return err_new(ERR_INVALID, "hostPath '%s' cannot be mounted", path ? path : "");
    if (in->mask_dir && host_path_is_in(clean, in->mask_dir))
        return err_new(ERR_FORBIDDEN, "hostPath '%s' is hidden from containers", clean);
    if (!root && !is_for_admins(in->env.pod)) {
        AUTO_FREE char *all = host_roots_format(roots);

        return err_new(ERR_FORBIDDEN, "hostPath '%s' is in none of this node's host path roots: %s",
                       clean, all);
    }
    TRY(host_type(json_text(source, "type"), &v->host));
    v->host.path = TAKE(clean);
    if (!is_for_admins(in->env.pod)) {
        v->host.root = mem_strdup(root->path);
        v->host.is_read_only = root->is_read_only;
        v->host.is_made = v->host.is_made && !root->is_read_only;
    }
    return NULL;
}

/* ---- persistent volumes ---- */

/* A volume of an administrator is opened as a hostPath of an administrator is. */
static struct err *plan_path(struct volume *v, struct str path)
{
    AUTO_FREE char *text = mem_strndup(path.at, path.size);
    AUTO_FREE char *clean = host_path_clean(text);

    if (!clean || host_path_is_of_kernel(clean))
        return err_new(ERR_INVALID, "the volume's path '%s' cannot be mounted", text);
    v->type = VOLUME_HOST;
    v->host = (struct volume_host){
        .path = TAKE(clean), .type = BIND_DIR, .is_made = true, .is_read_only = v->is_read_only};
    return NULL;
}

static struct err *volume_plan_claim(const struct volume_input *in, const json_t *item,
                                     struct volume *v)
{
    AUTO_FREE char *claim = pod_volume_claim(in->env.pod, item);
    AUTO_FREE char *name = NULL;
    struct pod_volume found = {0};

    if (!pod_volume_find(in->env.pod, claim, &found))
        return err_new(ERR_NOT_FOUND, "persistentvolumeclaim \"%s\" has no volume yet", claim);
    v->is_read_only = json_bool_at(item, "persistentVolumeClaim", "readOnly", NULL);
    if (found.path.size > 0)
        return plan_path(v, found.path);
    name = mem_strndup(found.volume.at, found.volume.size);
    v->type = VOLUME_CLAIM;
    v->gid = v->gid - in->uid_base; /* owners on disk are those in the container */
    v->disk_dir = claim_disk_dir(in->node_dir, name);
    v->disk_bytes = found.bytes;
    free(v->path);
    v->path = claim_disk_path(v->disk_dir);
    return NULL;
}

/* ---- the plan ---- */

/* fsGroup owns the node's directories; hostPaths stay unchanged, as in Kubernetes. */
static void plan_group(const struct volume_input *in, struct volume *v)
{
    const json_t *group = json_at(in->env.pod, "spec", "securityContext", "fsGroup", NULL);

    v->uid = in->uid_base;
    v->gid = in->uid_base;
    if (!json_is_integer(group))
        return;
    v->gid = in->uid_base + (gid_t)json_integer_value(group);
    v->mode |= DIR_MODE_GROUP;
}

static struct err *volume_plan_one(const struct volume_input *in, const json_t *item,
                                   struct volume *v)
{
    const json_t *source = NULL;
    bool is_files = false;

    v->mode = DIR_MODE_FILES;
    plan_group(in, v);
    TRY(volume_plan_files(in, item, v, &is_files));
    if (is_files)
        return NULL;
    if ((source = json_object_get(item, "emptyDir"))) {
        TRY(plan_empty(v, in->env.pod, source));
        plan_group(in, v);
        return NULL;
    }
    if ((source = json_object_get(item, "hostPath")))
        return volume_plan_host(in, v, source);
    if (json_object_get(item, "persistentVolumeClaim") || json_object_get(item, "ephemeral"))
        return volume_plan_claim(in, item, v);
    return err_new(ERR_INVALID,
                   "unsupported type: want emptyDir, configMap, secret, downwardAPI, projected, "
                   "hostPath, persistentVolumeClaim or ephemeral");
}

static bool is_name(const char *name)
{
    return name && name[0] && strlen(name) < 64 && !strchr(name, '/') && !text_equal(name, ".") &&
           !text_equal(name, "..");
}

struct err *volume_plan(const struct volume_input *in, struct volumes *ret)
{
    AUTO(volumes_done) struct volumes all = {0};
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_at(in->env.pod, "spec", "volumes", NULL), i, item) {
        const char *name = json_text(item, "name");
        struct err *e = NULL;

        if (!is_name(name))
            return err_new(ERR_INVALID, "volume name '%s' is invalid", name ? name : "");
        vec_add(&all.list, (struct volume){.name = mem_strdup(name),
                                           .path = mem_format("%s/%s", in->dir, name)});
        e = volume_plan_one(in, item, &all.list.at[all.list.n - 1]);
        if (e)
            return err_wrap(e, "volume %s", name);
    }
    *ret = all;
    all = (struct volumes){0};
    return NULL;
}
