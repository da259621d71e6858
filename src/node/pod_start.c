/* From "its time has come" to the runtime's create: ConfigMaps, Secrets, volumes, users, gpus,
 * spec. */
#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/num.h"
#include "base/stamp.h"
#include "node/cdi.h"
#include "node/env.h"
#include "node/pod.h"
#include "node/refs.h"

static const int64_t RETRY_NS = NS_PER_SEC;
static const int64_t RETRY_MAX_NS = 10 * NS_PER_SEC;

/* ---- failing ---- */

static const char *config_reason(const struct err *e)
{
    return err_code(e) == ERR_NOT_FOUND ? "CreateContainerConfigError" : "CreateContainerError";
}

/* The container waits and says why; an event when that is news. */
static void container_refuse(struct pod *p, struct container *c, const char *reason,
                             const char *message)
{
    bool is_news = !text_equal(c->wait_reason, reason) || !text_equal(c->wait_message, message);

    c->state = CONTAINER_WAITING;
    container_wait(c, reason, message);
    if (is_news)
        pod_events_add(p->set->events, p->object, c->name, "Warning", "Failed", message);
}

static void refuse_all(struct pod *p, const char *reason, const struct err *e)
{
    for (size_t i = 0; i < p->n_containers; i++)
        if (p->containers[i].state == CONTAINER_WAITING)
            container_refuse(p, &p->containers[i], reason, err_message(e));
    p->preparation = PREP_WAITING;
    p->retry_ns = p->retry_ns == 0 ? RETRY_NS : p->retry_ns * 2;
    if (p->retry_ns > RETRY_MAX_NS)
        p->retry_ns = RETRY_MAX_NS;
    p->retry_at_ns = loop_now_ns(p->set->o.loop) + p->retry_ns;
}

/* ---- the worker's part ---- */

void preparation_free(struct preparation *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_targets; i++)
        free(p->targets[i]);
    free(p->targets);
    volumes_done(&p->volumes);
    free(p->uids);
    free(p->users);
    free(p);
}

struct making {
    struct pods *set;
    char *uid;
    struct preparation *preparation;
};

static struct err *make(void *message)
{
    struct making *m = message;

    return m->set->o.prepare(m->preparation);
}

static void on_made(void *message, const struct err *e)
{
    struct making *m = message;
    struct pod *p = pods_find(m->set, m->uid);

    if (p && !e) {
        preparation_free(p->prepared);
        p->prepared = m->preparation;
        p->preparation = PREP_DONE;
        p->retry_ns = 0;
    } else {
        preparation_free(m->preparation);
        if (p)
            refuse_all(p, config_reason(e), e);
    }
    free(m->uid);
    free(m);
    if (p)
        pod_step(p);
}

/* Every container's user and mount points, in the order of p->containers. */
static struct err *plan(struct pod *p, struct preparation *ret)
{
    AUTO_FREE char *dir = mem_format("%s/pods/%s/volumes", p->set->o.dir, p->uid);
    size_t n_mounts = 0;

    ret->uids = mem_alloc((p->n_containers + 1) * sizeof(*ret->uids));
    ret->users = mem_alloc((p->n_containers + 1) * sizeof(*ret->users));
    ret->n_users = p->n_containers;
    for (size_t i = 0; i < p->n_containers; i++) {
        const json_t *spec = pod_container_spec(p, &p->containers[i]);

        TRY(spec_uid(p->object, spec, &ret->uids[i]));
        n_mounts += json_array_size(json_object_get(spec, "volumeMounts"));
    }
    ret->targets = mem_alloc((n_mounts + 1) * sizeof(*ret->targets));
    for (size_t i = 0; i < p->n_containers; i++) {
        const json_t *item = NULL;
        size_t k = 0;

        json_array_foreach (
            json_object_get(pod_container_spec(p, &p->containers[i]), "volumeMounts"), k, item) {
            const char *path = json_text(item, "mountPath");

            TRY(spec_check_mount(path ? path : ""));
            ret->targets[ret->n_targets++] = mem_strdup(path);
        }
    }
    return volume_plan(p->object, p->refs, dir, &ret->volumes);
}

static void start_making(struct pod *p)
{
    struct preparation *preparation = mem_alloc(sizeof(*preparation));
    struct making *m = NULL;
    AUTO(err_freep) struct err *e = plan(p, preparation);

    if (e) {
        preparation_free(preparation);
        refuse_all(p, config_reason(e), e);
        return;
    }
    m = mem_alloc(sizeof(*m));
    *m = (struct making){.set = p->set, .uid = mem_strdup(p->uid), .preparation = preparation};
    p->preparation = PREP_MAKING;
    worker_give(p->set->o.worker, make, on_made, m);
}

/* ---- ConfigMaps and Secrets ---- */

void fetch_free(struct fetch *f)
{
    LIST_REMOVE(f->set->fetches, f);
    free(f->uid);
    free(f->ref);
    free(f);
}

static void on_fetched(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct fetch *f = arg;
    struct pod *p = pods_find(f->set, f->uid);
    json_t *object = NULL;
    struct err *failed = client_error(e, reply);

    if (!failed)
        failed = json_parse(reply->body, &object);
    if (failed && err_code(failed) == ERR_NOT_FOUND)
        err_free(TAKE(failed)); /* whether that matters is said by who needs it */
    if (p && object)
        (void)json_object_set(p->refs, f->ref, object);
    if (p && failed && !p->fetch_error)
        p->fetch_error = err_wrap(TAKE(failed), "get %s", f->ref);
    err_free(failed);
    json_decref(object);
    fetch_free(f);
    if (!p || --p->n_fetching > 0)
        return;
    if (p->fetch_error) {
        refuse_all(p, config_reason(p->fetch_error), p->fetch_error);
        err_free(TAKE(p->fetch_error));
    } else {
        start_making(p);
    }
    pod_step(p);
}

static void start_fetching(struct pod *p, const json_t *refs)
{
    const json_t *item = NULL;
    size_t i = 0;

    p->preparation = PREP_FETCHING;
    p->n_fetching = json_array_size(refs);
    json_array_foreach (refs, i, item) {
        struct fetch *f = mem_alloc(sizeof(*f));
        AUTO_FREE char *path =
            mem_format("/api/v1/namespaces/%s/%s", p->ns, json_string_value(item));
        struct client_request r = {.method = "GET", .path = path};

        *f = (struct fetch){
            .set = p->set, .uid = mem_strdup(p->uid), .ref = mem_strdup(json_string_value(item))};
        LIST_ADD(p->set->fetches, f);
        client_send(p->set->o.client, &r, on_fetched, f, &f->call);
    }
}

static struct err *check_images(const struct pod *p)
{
    for (size_t i = 0; i < p->n_containers; i++)
        TRY(spec_check_image(pod_container_spec(p, &p->containers[i])));
    return NULL;
}

void pod_prepare(struct pod *p)
{
    AUTO(json_freep) json_t *refs = NULL;
    AUTO(err_freep) struct err *no_image = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (p->preparation == PREP_FETCHING || p->preparation == PREP_MAKING ||
        (p->preparation == PREP_WAITING && loop_now_ns(p->set->o.loop) < p->retry_at_ns))
        return;
    no_image = check_images(p);
    if (no_image) {
        refuse_all(p, "ErrImageNeverPull", no_image);
        return;
    }
    refs = json_array();
    e = refs_collect(p->object, refs);
    json_decref(p->refs);
    p->refs = json_object();
    if (e)
        refuse_all(p, config_reason(e), e);
    else if (json_array_size(refs) > 0)
        start_fetching(p, refs);
    else
        start_making(p);
}

/* ---- gpus ---- */

/* The devices that the ledger gave to this container, as many as it asked for. */
static struct err *find_gpus(const struct pod *p, const struct container *c, const struct gpu **ret,
                             size_t max, size_t *ret_count)
{
    const struct pods_options *o = &p->set->o;
    const json_t *asked =
        json_at(pod_container_spec(p, c), "resources", "limits", "nvidia.com/gpu", NULL);
    const json_t *item = NULL;
    int64_t n_asked = json_integer_value(asked);
    size_t n = json_array_size(c->gpus);
    size_t i = 0;

    if (json_is_string(asked))
        TRY(num_parse_int64(str_of(json_string_value(asked)), 0, (int64_t)max, &n_asked));
    if (n > max || (int64_t)n != n_asked)
        return err_new(ERR_INVALID, "container asks for %" PRId64 " gpus and was given %zu",
                       n_asked, n);
    json_array_foreach (c->gpus, i, item) {
        const char *uuid = json_string_value(item);
        bool is_known = false;
        const struct pod *user = pods_gpu_user(p->set, uuid, c);

        ret[i] = o->find_gpu(o->arg, uuid, &is_known);
        if (!ret[i] && !is_known)
            return err_new(ERR_UNAVAILABLE, "the gpus of this machine are not known yet");
        if (!ret[i])
            return err_new(ERR_UNAVAILABLE, "gpu %s is not on this machine", uuid);
        if (ret[i]->health == GPU_LOST || ret[i]->minor < 0)
            return err_new(ERR_UNAVAILABLE, "gpu %s is lost: %s", uuid, ret[i]->health_reason);
        if (user) {
            LOG(ERROR, "gpu is still in use by another pod", S("gpu", uuid), S("pod", p->name),
                S("holder", user->name));
            return err_new(ERR_CONFLICT, "gpu %s is still in use by pod %s/%s", uuid, user->ns,
                           user->name);
        }
    }
    *ret_count = n;
    return NULL;
}

/* ---- the spec ---- */

static struct err *find_mounts(const struct pod *p, const json_t *container,
                               struct spec_mount *mounts, size_t *ret_count)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(container, "volumeMounts"), i, item) {
        const char *name = json_text(item, "name");
        const struct volume *v = volumes_find(&p->prepared->volumes, name);

        if (!v)
            return err_new(ERR_INVALID, "volumeMount '%s' names no volume", name ? name : "");
        if (json_text(item, "subPath") || json_text(item, "subPathExpr"))
            return err_new(ERR_INVALID, "volumeMount '%s': subPath is not supported", name);
        mounts[i] = (struct spec_mount){.source = mem_strdup(v->path),
                                        .destination = mem_strdup(json_text(item, "mountPath")),
                                        .is_read_only =
                                            json_bool(item, "readOnly", false) || v->mode != 0777};
        *ret_count = i + 1;
    }
    return NULL;
}

static struct err *build_env(const struct pod *p, const json_t *spec, const struct host_user *user,
                             json_t **ret)
{
    const struct pods_options *o = &p->set->o;
    const struct env_input in = {.pod = p->object,
                                 .container = spec,
                                 .refs = p->refs,
                                 .node = o->node,
                                 .host_ip = o->host->address,
                                 .cpu_milli = o->host->cpus * 1000,
                                 .memory_bytes = o->host->memory_bytes};
    AUTO(json_freep) json_t *env = spec_base_env(user, o->host->hostname);

    TRY(env_add(&in, env));
    *ret = TAKE(env);
    return NULL;
}

static struct err *build(const struct pod *p, const struct container *c, json_t **ret)
{
    enum {
        GPUS_MAX = 256
    };
    const struct pods_options *o = &p->set->o;
    const json_t *spec = pod_container_spec(p, c);
    const struct host_user *user = &p->prepared->users[c - p->containers];
    size_t n_mounts_max = json_array_size(json_object_get(spec, "volumeMounts"));
    AUTO_FREE const struct gpu **gpus = mem_alloc(GPUS_MAX * sizeof(*gpus));
    AUTO_FREE struct spec_mount *mounts = mem_alloc((n_mounts_max + 1) * sizeof(*mounts));
    AUTO_FREE char *id = container_id(p, c, c->attempt);
    AUTO_FREE char *cgroup = mem_format("/mete/%s", id);
    AUTO(json_freep) json_t *env = NULL;
    AUTO(json_freep) json_t *edits = NULL;
    struct cdi_host cdi = {.gpusim_dir = o->gpusim_dir, .uvm_major = -1};
    struct spec_input in = {.pod = p->object,
                            .container = spec,
                            .user = user,
                            .rootfs = o->rootfs,
                            .cgroup = cgroup,
                            .hostname = o->host->hostname,
                            .mounts = mounts};
    size_t n_gpus = 0;
    struct err *e = find_gpus(p, c, gpus, GPUS_MAX, &n_gpus);

    if (!e)
        e = build_env(p, spec, user, &env);
    if (!e)
        e = find_mounts(p, spec, mounts, &in.n_mounts);
    if (!e) {
        if (n_gpus > 0)
            cdi.uvm_major = o->uvm_major(o->arg);
        edits = cdi_gpu_edits(gpus, n_gpus, &cdi, env);
        in.env = env;
        in.edits = edits;
        e = spec_build(&in, ret);
    }
    for (size_t i = 0; i < in.n_mounts; i++) {
        free(mounts[i].source);
        free(mounts[i].destination);
    }
    return e;
}

/* ---- create ---- */

static void on_old_removed(void *arg, const struct err *e)
{
    (void)arg;
    if (e)
        LOG(WARN, "older attempt could not be removed", E(e));
}

static struct err *remove_file(void *message)
{
    return dir_remove(message);
}

static void on_file_removed(void *message, const struct err *e)
{
    if (e)
        LOG(WARN, "older log could not be removed", E(e));
    free(message);
}

/* An attempt and its log live until the next but one: its status and `logs --previous` want them.
 */
static void remove_older(struct pod *p, const struct container *c)
{
    struct runtime *r = p->set->o.runtime;
    AUTO_FREE char *id = NULL;

    if (c->attempt == 0)
        return;
    id = container_id(p, c, c->attempt - 1);
    r->ops->remove(r->self, id, on_old_removed, NULL);
    if (c->attempt > 1) {
        AUTO_FREE char *logs = pod_log_dir(p);

        worker_give(p->set->o.worker, remove_file, on_file_removed,
                    mem_format("%s/%s/%" PRId64 ".log", logs, c->name, c->attempt - 2));
    }
}

/* The runtime's refusal: as if the container had ended at once, as the kubelet shows it. */
static void container_refused(struct pod *p, struct container *c, const struct err *e)
{
    int64_t now = loop_wall_ns(p->set->o.loop);

    container_end_done(&c->end);
    c->end = (struct container_end){.is_set = true,
                                    .attempt = c->attempt,
                                    .code = 128,
                                    .reason = mem_strdup("StartError"),
                                    .message = mem_strdup(err_message(e)),
                                    .started_ns = now,
                                    .finished_ns = now};
    c->state = CONTAINER_ENDED;
    container_wait(c, NULL, NULL);
    pod_events_add(p->set->events, p->object, c->name, "Warning", "Failed", err_message(e));
}

static void on_created(void *arg, const struct err *e)
{
    struct pod *p = NULL;
    struct container *c = pending_take(arg, &p);

    if (c && c->state == CONTAINER_CREATING) {
        if (!e) {
            c->state = CONTAINER_CREATED;
            container_wait(c, NULL, NULL);
            remove_older(p, c);
        } else if (err_code(e) == ERR_INVALID) {
            container_refused(p, c, e);
            remove_older(p, c);
        } else {
            LOG(WARN, "container could not be created", S("pod", p->name), S("container", c->name),
                E(e));
            container_refuse(p, c, "CreateContainerError", err_message(e));
            c->not_before_ns = loop_now_ns(p->set->o.loop) + RETRY_NS;
        }
    }
    if (p)
        pod_step(p);
}

static json_t *make_intent(const struct pod *p, const struct container *c)
{
    json_t *intent = json_object();

    json_put_text(intent, "uid", p->uid);
    json_put_text(intent, "namespace", p->ns);
    json_put_text(intent, "pod", p->name);
    json_put_text(intent, "container", c->name);
    json_put_bool(intent, "init", c->is_init);
    json_put_int(intent, "attempt", c->attempt);
    if (json_array_size(c->gpus) > 0)
        json_put(intent, "gpus", json_deep_copy(c->gpus));
    return intent;
}

void container_create(struct pod *p, struct container *c)
{
    struct runtime *r = p->set->o.runtime;
    AUTO(json_freep) json_t *config = NULL;
    AUTO(json_freep) json_t *intent = NULL;
    AUTO_FREE char *id = container_id(p, c, c->attempt);
    AUTO_FREE char *logs = pod_log_dir(p);
    AUTO_FREE char *log_path = mem_format("%s/%s/%" PRId64 ".log", logs, c->name, c->attempt);
    AUTO(err_freep) struct err *e = build(p, c, &config);
    struct runtime_create create = {.id = id, .config = config, .log_path = log_path};

    if (e) {
        container_refuse(p, c, config_reason(e), err_message(e));
        c->not_before_ns = loop_now_ns(p->set->o.loop) + RETRY_NS;
        if (err_code(e) == ERR_NOT_FOUND)
            p->preparation = PREP_NONE; /* the missing key may come: fetched anew */
        return;
    }
    intent = make_intent(p, c);
    create.intent = intent;
    c->state = CONTAINER_CREATING;
    r->ops->create(r->self, &create, on_created, pending_new(p, c));
}
