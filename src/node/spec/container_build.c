/* container_build.c - collects gpus, mounts and variables of a container for its spec */

#include "node/spec/container_build.h"

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_claims.h"
#include "node/host_root.h"
#include "node/net/net_services.h"
#include "node/net/service_env.h"
#include "node/pod/refs.h"
#include "node/runtime/launch_helper.h"
#include "node/spec/cdi.h"
#include "node/spec/container_devices.h"
#include "node/spec/env.h"
#include "node/spec/gpu_env.h"
#include "node/spec/share_edits.h"
#include "node/volume/etc.h"

const struct driver_root *container_driver(const struct pod *p, const struct container *asking)
{
    const struct container *c = container_target(p, asking);
    const struct pods_options *o = &p->set->o;
    const json_t *spec = pod_container_spec(p, c);
    const struct gpu_asks asks = container_gpu_asks(p->object, spec);
    int64_t n = (int64_t)json_array_size(c->gpus) + (int64_t)container_seen_count(p->object, spec);

    for (size_t i = 0; i < asks.n; i++)
        n -= asks.at[i].vendor == GPU_NVIDIA ? 0 : asks.at[i].count;
    return n > 0 ? o->find_driver(o->arg) : NULL;
}

/* The number of devices that need NVIDIA's driver. */
static size_t count_nvidia(const struct container_devices *devices)
{
    size_t n = 0;

    VEC_EACH (&devices->all, d)
        n += d->gpu->vendor == GPU_NVIDIA;
    return n;
}

/* The places of the driver's files in a container of an image or of the image `host`. */
static struct cdi_target driver_target(const struct container_place *place)
{
    const struct image_loader *l = place->root ? &place->root->loader : &place->driver->loader;

    return (struct cdi_target){.library_dir = l->dir,
                               .library_dir_32 = l->dir_32,
                               .is_musl = l->is_musl,
                               .is_linked = place->root && place->root->driver,
                               .is_shared = place->root && place->root->driver &&
                                            place->root->driver->is_shared,
                               .points = place->root ? NULL : place->driver->dir,
                               .is_host = !place->root};
}

static bool has_shares(const struct container_devices *devices)
{
    VEC_EACH (&devices->all, d) {
        if (d->device.kind == DEVICE_SHARE)
            return true;
    }
    return false;
}

/* As CDI names them: a share or replica is its gpu, a slice its MIG instance. */
static struct cdi_device *cdi_devices(const struct container_devices *devices)
{
    struct cdi_device *list = mem_alloc((devices->all.n + 1) * sizeof(*list));

    for (size_t i = 0; i < devices->all.n; i++) {
        const struct container_device *d = &devices->all.at[i];

        list[i] = (struct cdi_device){.gpu = d->gpu};
        if (!d->slice)
            continue;
        list[i].instance = d->slice->uuid;
        list[i].gpu_instance = d->slice->gpu_instance;
        list[i].compute_instance = d->slice->compute_instance;
    }
    return list;
}

static struct err *add_share(const struct pod *p, const struct driver_root *root,
                             const struct cdi_target *target, json_t *edits)
{
    const char *library_dir = p->set->o.share_library_dir;
    AUTO_FREE char *dir = pod_share_dir(p);
    const struct share_mounts mounts = {.library_dir = library_dir, .dir = dir};

    if (!library_dir)
        return err_new(ERR_UNAVAILABLE, "the share library is not installed on this node");
    return share_edits_apply(edits, root, target, &mounts);
}

/* Finds the container's devices, and checks that their driver is known. */
static struct err *find_devices(const struct pod *p, const struct container *c,
                                struct container_devices *ret)
{
    TRY(container_devices_find(p, c, ret));
    if (count_nvidia(ret) > 0 && !container_driver(p, c))
        return err_new(ERR_UNAVAILABLE, "the files of the gpus' driver are not known yet");
    return NULL;
}

/* The share library loads the driver's libraries by itself: from where Mete put them. */
struct err *container_request(const struct pod *p, const struct container *c,
                              struct cdi_request **ret)
{
    AUTO(container_devices_done) struct container_devices devices = {0};
    AUTO_FREE struct cdi_device *list = NULL;

    TRY(find_devices(p, c, &devices));
    if (devices.all.n == 0 || count_nvidia(&devices) < devices.all.n || has_shares(&devices)) {
        *ret = NULL;
        return NULL;
    }
    list = cdi_devices(&devices);
    *ret = cdi_request_new(list, devices.all.n, container_driver(p, c));
    return NULL;
}

/* Puts the directory, where the launcher shows it, before those of the variable. */
static void put_first(json_t *env, const char *name, const char *path)
{
    const char *below = strstr(path, "/gpusim/");
    const char *old = json_text(env, name);
    AUTO_FREE char *dir = NULL;
    AUTO_FREE char *value = NULL;

    if (!below)
        return;
    below += strlen("/gpusim");
    dir = mem_format(LAUNCH_GPUSIM_DIR "%.*s", (int)(strrchr(below, '/') - below), below);
    if (old && text_starts_with(old, dir))
        return;
    value = mem_format("%s%s%s", dir, old ? ":" : "", text_or_empty(old));
    json_put_text(env, name, value);
}

/* An emulated driver is not among the machine's files: variables lead a host process to it. */
static void add_emulated(const struct driver_root *root, json_t *env)
{
    VEC_EACH (&root->files, f) {
        if (f->kind == DRIVER_LIBRARY)
            put_first(env, "LD_LIBRARY_PATH", f->path);
        else if (f->kind == DRIVER_PROGRAM)
            put_first(env, "PATH", f->path);
    }
    json_put_text(env, "METE_GPUSIM_ALL", "1"); /* of those in NVIDIA_VISIBLE_DEVICES */
}

struct err *container_edits(const struct pod *p, const struct container *c,
                            const struct container_place *place, json_t **ret)
{
    AUTO(container_devices_done) struct container_devices devices = {0};
    const struct driver_root *root = container_driver(p, c);
    AUTO_FREE struct cdi_device *list = NULL;
    AUTO(json_freep) json_t *edits = NULL;
    struct cdi_target target = {0};

    TRY(find_devices(p, c, &devices));
    if (pod_is_host_process(p)) {
        place = NULL; /* the driver is there already */
        if (has_shares(&devices))
            return err_new(ERR_INVALID, "a host process cannot have a share of a gpu, which is "
                                        "limited inside containers only: ask for whole gpus or "
                                        "slices, or run an image");
    }
    list = cdi_devices(&devices);
    if (place && place->edits) {
        edits = json_deep_copy(place->edits);
        cdi_name_devices(edits, list, devices.all.n);
        TRY(pod_edit_mps(p, &devices, edits));
        *ret = TAKE(edits);
        return NULL;
    }
    if (count_nvidia(&devices) > 0 && place)
        target = driver_target(place);
    TRY(cdi_gpu_edits(list, devices.all.n, root, place ? &target : NULL, &edits));
    TRY(pod_edit_mps(p, &devices, edits));
    if (place && has_shares(&devices))
        TRY(add_share(p, root, &target, edits));
    *ret = TAKE(edits);
    return NULL;
}

/* Adds the volumes, from the stage. */
static void add_mounts(const struct stage *stage, struct spec_mount *mounts, size_t *count)
{
    for (size_t i = 0; i < stage->mounts.n; i++) {
        const struct spec_mount *m = &stage->mounts.at[i].mount;

        mounts[(*count)++] = (struct spec_mount){.source = mem_strdup(m->source),
                                                 .destination = mem_strdup(m->destination),
                                                 .is_read_only = m->is_read_only};
    }
}

static bool batch_names(const json_t *batch, const char *name)
{
    return json_has_text(json_object_get(batch, "variables"), name);
}

/* The image of a batch script keeps its variables, as PATH, but those that the user names. */
static struct err *keep_image_env(const struct pod *p, const json_t *env, json_t *own)
{
    AUTO(json_freep) json_t *batch = NULL;
    const char *name;
    json_t *value;
    void *next;

    TRY(pod_batch(p, &batch));
    if (!batch)
        return NULL;
    json_object_foreach_safe (own, next, name, value)
        if (json_object_get(env, name) && !text_starts_with(name, "SLURM_") &&
            !batch_names(batch, name))
            (void)json_object_del(own, name); /* a member: cannot fail */
    return NULL;
}

/* A container with the machine's files has the machine's name: no other one is in its /etc/hosts.
 * The caller frees it. */
static char *container_hostname(const struct pod *p, bool has_image)
{
    return has_image || pod_has_network(p) ? pod_hostname(p) : mem_strdup(p->set->o.host->hostname);
}

/* Clients in containers of images find the API by variables; Slurm jobs have their user's own
 * access. A new object. */
static json_t *service_variables(const struct pod *p, bool has_image)
{
    const struct pods_options *o = &p->set->o;
    json_t *env = json_object();

    if (has_image && o->api_host && !refs_slurm_uid(p->object))
        service_env_add_api(o->api_host, o->api_port, env);
    if (pod_has_network(p) && o->services &&
        json_bool(json_object_get(p->object, "spec"), "enableServiceLinks", true))
        net_services_env(o->services, p->ns, env);
    return env;
}

/* `*ret_own`: variables of the manifest; `*ret`: these and variables of the image or this machine.
 */
static struct err *build_env(const struct pod *p, const json_t *spec, const struct image *image,
                             const struct host_user *user, json_t **ret_own, json_t **ret)
{
    AUTO(json_freep) json_t *services = service_variables(p, image != NULL);
    struct env_input in = pod_env_input(p, spec);
    AUTO_FREE char *hostname = container_hostname(p, image != NULL);
    AUTO(json_freep)
    json_t *env = image ? spec_image_env(image, user, hostname) : spec_base_env(user, hostname);
    AUTO(json_freep) json_t *own = image ? json_object() : json_incref(env);

    in.services = services;
    TRY(env_add(&in, own));
    if (image)
        TRY(keep_image_env(p, env, own));
    if (image)
        (void)json_object_update(env, own);
    *ret_own = TAKE(own);
    *ret = TAKE(env);
    return NULL;
}

static bool is_mounted(const struct spec_mount *mounts, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (spec_is_below(path, mounts[i].destination))
            return true;
    return false;
}

/* Adds the node's files of /etc, unless the manifest mounts its own. */
static void add_etc(const struct pod *p, const json_t *spec, struct spec_mount *mounts,
                    size_t *count)
{
    bool is_read_only = json_bool_at(spec, "securityContext", "readOnlyRootFilesystem", NULL);
    size_t n_own = *count;

    for (size_t i = 0; etc_names[i]; i++) {
        AUTO_FREE char *path = mem_format("/etc/%s", etc_names[i]);

        if (!is_mounted(mounts, n_own, path))
            mounts[(*count)++] = (struct spec_mount){
                .source = mem_format("%s/" ETC_DIR "/%s", p->prepared->dir, etc_names[i]),
                .destination = TAKE(path),
                .is_read_only = is_read_only};
    }
}

/*
 * Adds the file of the termination message. The runtime creates missing mount points, for the image
 * `host` on the host itself: so there the path must be on a file system of the container's own.
 */
static struct err *add_words(const struct pod *p, const struct container *c,
                             struct spec_mount *mounts, size_t *count)
{
    const json_t *spec = pod_container_spec(p, c);
    const char *path = json_text(spec, "terminationMessagePath");
    bool is_top = path && path[0] == '/' && !strchr(path + 1, '/');

    if (!path || !*path || pod_is_host_process(p))
        return NULL;
    if (path[0] != '/' || spec_is_below(path, "/proc") || spec_is_below(path, "/sys"))
        return err_new(ERR_INVALID, "terminationMessagePath '%s': no file can be there", path);
    if (!container_image(spec) && !is_top && !spec_is_below(path, "/dev") &&
        !is_mounted(mounts, *count, path))
        return err_new(ERR_INVALID,
                       "terminationMessagePath '%s': image 'host' cannot create it: use a path "
                       "below /dev or directly below /",
                       path);
    mounts[(*count)++] = (struct spec_mount){
        .source = container_words_path(p, c), .destination = mem_strdup(path), .is_ours = true};
    return NULL;
}

/* The parts of a container's spec; freed by parts_done. */
struct parts {
    const struct image *image; /* NULL: the image `host` */
    const struct host_user *user;
    struct host_user owner; /* of a batch script, as `user` */
    struct spec_mount *mounts;
    size_t n_mounts;
    json_t *own_env;
    json_t *env;
    json_t *edits;
    char *cgroup;
    char *rootfs;
    char *sys_dir;
    char *device_dir;
    char *hostname;
    char *netns; /* NULL: the machine's network */
};

static void parts_done(struct parts *x)
{
    for (size_t i = 0; i < x->n_mounts; i++) {
        free(x->mounts[i].source);
        free(x->mounts[i].destination);
    }
    free(x->mounts);
    json_decref(x->own_env);
    json_decref(x->env);
    json_decref(x->edits);
    free(x->cgroup);
    free(x->rootfs);
    free(x->sys_dir);
    free(x->device_dir);
    free(x->hostname);
    free(x->netns);
}

/* A batch script in a container has the groups of its user on this machine. */
static void parts_find_user(const struct pod *p, const struct container *c, const struct root *root,
                            struct parts *x)
{
    const struct host_user *of_host = &p->prepared->users[c - p->containers];

    x->user = root ? &root->found : of_host;
    if (!root || !pod_is_batch(p))
        return;
    x->owner = root->found;
    memcpy(x->owner.groups, of_host->groups, sizeof(of_host->groups));
    x->owner.n_groups = of_host->n_groups;
    x->user = &x->owner;
}

static struct err *add_gpu_numbers(const struct pod *p, const struct container *c, json_t *env)
{
    AUTO(container_devices_done) struct container_devices devices = {0};

    TRY(container_devices_find(p, c, &devices));
    gpu_env_put(&devices, env);
    return NULL;
}

static struct err *parts_collect(const struct pod *p, const struct container *c,
                                 const struct container_place *place, struct parts *x)
{
    const struct root *root = place->root;
    const struct driver_root *driver = container_driver(p, c);
    const struct pods_options *o = &p->set->o;
    const json_t *spec = pod_container_spec(p, c);
    size_t n_mounts_max = place->stage->mounts.n + ETC_NAMES + 1; /* + 1: the termination message */
    AUTO_FREE char *id = container_id(p, c, c->attempt);

    x->mounts = mem_alloc((n_mounts_max + 1) * sizeof(*x->mounts));
    x->cgroup = mem_format("/mete/%s", id);
    x->rootfs = root ? mem_format("%s/root", root->dir) : mem_strdup(o->rootfs);
    x->sys_dir = mem_format("%s/" HOST_SYS_DIR, o->dir);
    x->device_dir = mem_format("%s/" HOST_DEVICE_DIR, o->dir);
    x->hostname = container_hostname(p, root != NULL);
    x->netns = pod_netns(p);
    parts_find_user(p, c, root, x);
    if (root)
        x->image = o->images->find(o->images->arg, container_image(spec));
    if (root && !x->image)
        return err_new(ERR_NOT_FOUND, "image '%s' is not on this machine any more",
                       container_image(spec));
    TRY(build_env(p, spec, x->image, x->user, &x->own_env, &x->env));
    if (driver && driver->is_emulated && pod_is_host_process(p))
        add_emulated(driver, x->env);
    if (pod_is_host_process(p))
        TRY(add_gpu_numbers(p, c, x->env));
    add_mounts(place->stage, x->mounts, &x->n_mounts);
    if (root)
        add_etc(p, spec, x->mounts, &x->n_mounts);
    TRY(add_words(p, c, x->mounts, &x->n_mounts));
    return container_edits(p, c, place, &x->edits);
}

/* The container whose limits hold for `c`. An ephemeral container has none of its own: it may use
 * as much as its target, or as the pod's first container. */
static const json_t *container_sizes(const struct pod *p, const struct container *c)
{
    const struct container *target = container_target(p, c);

    if (target == c && c->is_ephemeral)
        return json_array_get(json_at(p->object, "spec", "containers", NULL), 0);
    return pod_container_spec(p, target);
}

struct err *container_build(const struct pod *p, const struct container *c,
                            const struct container_place *place, json_t **ret)
{
    AUTO(parts_done) struct parts x = {0};
    struct spec_input in = {0};

    TRY(parts_collect(p, c, place, &x));
    in = (struct spec_input){.pod = p->object,
                             .container = pod_container_spec(p, c),
                             .sizes = container_sizes(p, c),
                             .image = x.image,
                             .user = x.user,
                             .env = x.env,
                             .own_env = x.own_env,
                             .rootfs = x.rootfs,
                             .cgroup = x.cgroup,
                             .hostname = x.hostname,
                             .netns = x.netns,
                             .mounts = x.mounts,
                             .n_mounts = x.n_mounts,
                             .edits = x.edits,
                             .is_script = pod_is_host_process(p) || pod_is_batch(p),
                             .has_userns = place->root && p->has_userns,
                             .uid_base = p->uid_base,
                             .sys_dir = x.sys_dir,
                             .device_dir = x.device_dir};
    return spec_build(&in, ret);
}
