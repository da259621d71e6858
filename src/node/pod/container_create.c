/* container_create.c - the creation of a container, from its turn to the runtime's create */

#include <inttypes.h>

#include "base/file.h"
#include "base/log.h"
#include "base/stamp.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/toleration.h"
#include "node/host_root.h"
#include "node/image/root.h"
#include "node/log/log_parts.h"
#include "node/pod/pod.h"
#include "node/spec/container_build.h"
#include "node/spec/share_files.h"
#include "node/volume/stage.h"

static const int64_t RETRY_NS = NS_PER_SEC;

static void on_old_removed(void *arg, const struct err *e)
{
    (void)arg;
    if (e)
        LOG(WARN, "older attempt could not be removed", E(e));
}

static struct err *remove_file(void *message)
{
    return log_parts_remove(message);
}

static void on_file_removed(void *message, const struct err *e)
{
    if (e)
        LOG(WARN, "older log could not be removed", E(e));
    free(message);
}

/* DATA/node/pods/UID/binds/CONTAINER-ATTEMPT. The caller frees it. */
static char *container_stage_dir(const struct pod *p, const struct container *c)
{
    return mem_format("%s/pods/%s/binds/%s-%" PRId64, p->set->o.dir, p->uid, c->name, c->attempt);
}

struct root_removal {
    struct err *(*remove)(const char *dir);
    char *dir;
};

static struct err *work_root_removal(void *message)
{
    const struct root_removal *m = message;

    return m->remove(m->dir);
}

static void on_root_removed(void *message, const struct err *e)
{
    struct root_removal *m = message;

    if (e)
        LOG(WARN, "root of an older attempt could not be removed", S("dir", m->dir), E(e));
    free(m->dir);
    free(m);
}

/* Removes the root of the attempt before, which has ended. */
static void remove_root(const struct pod *p, const struct container *c)
{
    struct root_removal *m = mem_alloc(sizeof(*m));

    *m = (struct root_removal){.remove = p->set->o.remove_root,
                               .dir = container_root_dir(p, c, c->attempt - 1)};
    worker_give(p->set->o.worker, work_root_removal, on_root_removed, m);
}

/* Removes the attempt before this one, and the log of the attempt before that: the newest old log
 * stays for `kubectl logs --previous`. */
static void remove_older(struct pod *p, const struct container *c)
{
    struct runtime *r = p->set->o.runtime;
    AUTO_FREE char *id = NULL;

    if (c->attempt == 0)
        return;
    id = container_id(p, c, c->attempt - 1);
    r->ops->remove(r->self, id, on_old_removed, NULL);
    if (c->image_id)
        remove_root(p, c);
    if (c->attempt > 1) {
        AUTO_FREE char *logs = pod_log_dir(p);

        worker_give(p->set->o.worker, remove_file, on_file_removed,
                    mem_format("%s/%s/%" PRId64 ".log", logs, c->name, c->attempt - 2));
    }
}

/* After a refusal by the runtime, the container ends at once, as in the kubelet. */
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
    container_move(c, CONTAINER_ENDED);
    container_wait(c, NULL, NULL);
    pod_events_add(p->set->events, p->object, c->name, "Warning", "Failed", err_message(e));
}

/* ---- after the creation ---- */

struct striking {
    char *dir;
    struct err *(*strike)(const char *dir);
};

static struct err *striking_work(void *message)
{
    const struct striking *m = message;

    return m->strike(m->dir);
}

static void on_struck(void *message, const struct err *e)
{
    struct striking *m = message;

    if (e)
        LOG(WARN, "mounts of a container cannot be removed", S("dir", m->dir), E(e));
    free(m->dir);
    free(m);
}

static void strike(const struct pod *p, struct striking what)
{
    struct striking *m = mem_alloc(sizeof(*m));

    *m = what;
    worker_give(p->set->o.worker, striking_work, on_struck, m);
}

/* Removes mounts that only the creation needed: the container has its own now. */
static void strike_mounts(const struct pod *p, const struct container *c)
{
    const struct container *target = container_target(p, c);
    const struct pods_options *o = &p->set->o;

    if (stage_has_binds(p->object, pod_container_spec(p, c)))
        strike(p, (struct striking){container_stage_dir(p, c), o->strike_stage});
    if (c->image_id && (json_array_size(target->gpus) > 0 ||
                        container_seen_count(p->object, pod_container_spec(p, target)) > 0))
        strike(p, (struct striking){container_root_dir(p, c, c->attempt), o->strike_driver});
}

static void container_create_on_created(void *arg, const struct err *e)
{
    struct pod *p = NULL;
    struct container *c = pending_take(arg, &p);

    if (c)
        strike_mounts(p, c);
    if (c && c->state == CONTAINER_CREATING) {
        if (!e) {
            container_move(c, CONTAINER_CREATED);
            container_wait(c, NULL, NULL);
            if (pod_has_shares(p))
                pods_tell_shares(p->set);
            remove_older(p, c);
        } else if (err_code(e) == ERR_INVALID) {
            container_refused(p, c, e);
            remove_older(p, c);
        } else {
            LOG(WARN, "container could not be created", S("pod", p->name), S("container", c->name),
                E(e));
            container_refuse(p, c, "CreateContainerError", err_message(e));
            c->not_before_ns = pod_now_ns(p) + RETRY_NS;
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
    if (c->stop_signal > 0)
        json_put_int(intent, "stopSignal", c->stop_signal);
    if (p->set->fence)
        json_put_int(intent, "toleratedNs", toleration_unreachable_ns(p->object));
    if (c->image_id) {
        json_put_text(intent, "imageId", c->image_id);
        json_put_text(intent, "imageRef", c->image_ref);
    }
    return intent;
}

char *container_root_dir(const struct pod *p, const struct container *c, int64_t attempt)
{
    return mem_format("%s/pods/%s/roots/%s-%" PRId64, p->set->o.dir, p->uid, c->name, attempt);
}

static void container_refuse_for(struct pod *p, struct container *c, const struct err *e)
{
    container_refuse(p, c, config_reason(e), err_message(e));
    c->not_before_ns = pod_now_ns(p) + RETRY_NS;
    if (err_code(e) == ERR_NOT_FOUND)
        p->preparation = PREP_NONE; /* fetch again: the missing key may come */
}

/* Sets stdin and terminal, for attached clients. */
static void set_streams(const json_t *container, json_t *config, struct runtime_create *create)
{
    create->has_stdin = json_bool(container, "stdin", false);
    create->is_stdin_once = json_bool(container, "stdinOnce", false);
    create->has_terminal = json_bool(container, "tty", false);
    json_put_bool(json_object_at(config, "process"), "terminal", create->has_terminal);
}

static void create_in(struct pod *p, struct container *c, const struct container_place *place)
{
    struct runtime *r = p->set->o.runtime;
    AUTO(json_freep) json_t *config = NULL;
    AUTO(json_freep) json_t *intent = NULL;
    AUTO(json_freep) json_t *host = NULL;
    AUTO(json_freep) json_t *batch = NULL;
    AUTO_FREE char *id = container_id(p, c, c->attempt);
    AUTO_FREE char *logs = pod_log_dir(p);
    AUTO_FREE char *log_path = mem_format("%s/%s/%" PRId64 ".log", logs, c->name, c->attempt);
    AUTO(err_freep) struct err *e = container_build(p, c, place, &config);
    const struct container *target = container_target(p, c);
    AUTO_FREE char *joined = target != c ? container_id(p, target, target->attempt) : NULL;
    struct runtime_create create = {
        .id = id, .config = config, .log_path = log_path, .joined = joined};

    if (!e)
        e = pod_host_process(p, &host);
    if (!e)
        e = pod_batch(p, &batch);
    if (e && err_code(e) == ERR_INVALID && (pod_is_host_process(p) || pod_is_batch(p))) {
        /* as the runtime's refusal */
        container_refused(p, c, e);
        return;
    }
    if (e) {
        container_refuse_for(p, c, e);
        return;
    }
    intent = make_intent(p, c);
    create.intent = intent;
    create.host = host;
    create.batch = batch;
    set_streams(pod_container_spec(p, c), config, &create);
    container_move(c, CONTAINER_CREATING);
    r->ops->create(r->self, &create, container_create_on_created, pending_new(p, c));
}

/* ---- root and mounts ---- */

struct rooting {
    struct pending *pending;
    struct root *root;          /* NULL: the image `host` */
    struct host_driver *driver; /* of the image `host` */
    struct cdi_request *cdi;    /* of an image's container with gpus; NULL: none */
    struct stage stage;
    char *words;
    struct share_files share;
    struct err *(*make)(struct root *r);
    struct err *(*make_points)(struct host_driver *h);
    struct err *(*read_cdi)(struct cdi_request *r);
    struct err *(*make_stage)(struct stage *s);
    struct err *(*make_words)(const char *path);
    struct err *(*make_share)(const struct share_files *f);
};

static void rooting_free(struct rooting *m)
{
    root_free(m->root);
    host_driver_free(m->driver);
    cdi_request_free(m->cdi);
    stage_done(&m->stage);
    share_files_done(&m->share);
    free(m->words);
    free(m);
}

static void add_devices(const json_t *edits, struct root *root)
{
    const json_t *node = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(edits, "deviceNodes"), i, node)
        if (root->n_devices < ROOT_DEVICES_MAX)
            root->devices[root->n_devices++] = (struct root_device){
                .major = json_int(node, "major", 0), .minor = json_int(node, "minor", 0)};
}

static struct err *make_root(void *message)
{
    struct rooting *m = message;

    if (m->cdi) {
        TRY(m->read_cdi(m->cdi));
        add_devices(m->cdi->edits, m->root);
    }
    if (m->cdi && m->cdi->edits) { /* the administrator's file brings the driver's files */
        driver_tree_free(m->root->driver);
        m->root->driver = NULL;
    }
    if (m->root)
        TRY(m->make(m->root));
    else
        TRY(m->make_points(m->driver));
    if (m->words)
        TRY(m->make_words(m->words));
    if (m->share.dir)
        TRY(m->make_share(&m->share));
    return m->make_stage(&m->stage);
}

/* A batch job whose files are not there ends: nobody waits for them. */
static bool is_refusal(const struct pod *p, const struct err *e)
{
    return pod_is_batch(p) && (err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_FORBIDDEN ||
                               err_code(e) == ERR_INVALID);
}

static void on_rooted(void *message, const struct err *e)
{
    struct rooting *m = message;
    const struct container_place place = {m->root, m->driver, &m->stage,
                                          m->cdi ? m->cdi->edits : NULL};
    struct pod *p = NULL;
    struct container *c = pending_take(m->pending, &p);

    if (m->cdi && m->cdi->problem)
        LOG(WARN, "CDI files are not used", S("cause", m->cdi->problem));
    if (c && c->state == CONTAINER_CREATING) {
        container_move(c, CONTAINER_WAITING); /* not created yet */
        if (e && p->life != POD_STOPPING && is_refusal(p, e))
            container_refused(p, c, e);
        else if (e && p->life != POD_STOPPING)
            container_refuse_for(p, c, e);
        else if (p->life != POD_STOPPING)
            create_in(p, c, &place);
    }
    rooting_free(m);
    if (p)
        pod_step(p);
}

static struct err *plan_root(const struct pod *p, struct container *c, struct root *ret)
{
    const struct pods_options *o = &p->set->o;
    const struct image_source *s = o->images;
    const json_t *spec = pod_container_spec(p, c);
    const struct image *image = s ? s->find(s->arg, container_image(spec)) : NULL;
    AUTO(json_freep) json_t *edits = NULL;

    if (!image)
        return err_new(ERR_NOT_FOUND, "image '%s' is not on this machine", container_image(spec));
    TRY(spec_check_non_root(p->object, spec, image->user));
    TRY(container_edits(p, c, NULL, &edits));
    add_devices(edits, ret);
    c->stop_signal = spec_stop_signal(image->stop_signal);
    ret->ask = spec_user_asked(p->object, spec, p->has_userns);
    ret->user = image->user ? mem_strdup(image->user) : NULL;
    ret->layer_dir = mem_strdup(s->layer_dir(s->arg));
    ret->lower_dirs = s->lower_dirs(s->arg, image->id);
    ret->dir = container_root_dir(p, c, c->attempt);
    ret->device_dir = mem_format("%s/" HOST_DEVICE_DIR, o->dir);
    ret->uid_base = p->uid_base;
    return NULL;
}

static struct err *plan_stage(const struct pod *p, const struct container *c, struct stage *ret)
{
    const struct pods_options *o = &p->set->o;
    const json_t *spec = pod_container_spec(p, c);
    bool is_host = !container_image(spec);
    const struct host_user *user =
        is_host || pod_is_batch(p) ? &p->prepared->users[c - p->containers] : NULL;
    AUTO_FREE char *dir = container_stage_dir(p, c);
    AUTO(json_freep)
    json_t *env = is_host ? spec_base_env(user, o->host->hostname) : json_object();
    const struct env_input vars = pod_env_input(p, spec);
    const struct stage_input in = {.pod = p->object,
                                   .container = spec,
                                   .volumes = &p->prepared->volumes,
                                   .env = env,
                                   .dir = dir,
                                   .rootfs = o->rootfs,
                                   .user = user,
                                   .is_host = is_host,
                                   .uid_base = p->uid_base};

    TRY(env_add(&vars, env));
    return stage_plan(&in, ret);
}

static struct err *plan_rooting(const struct pod *p, struct container *c, struct rooting *m)
{
    const struct driver_root *driver = NULL;

    m->make = p->set->o.make_root;
    m->make_points = p->set->o.make_points;
    m->read_cdi = p->set->o.read_cdi;
    m->make_stage = p->set->o.make_stage;
    m->make_words = p->set->o.make_words;
    m->make_share = p->set->o.make_share;
    TRY(pod_plan_share(p, &m->share));
    m->words = pod_is_host_process(p) ? NULL : container_words_path(p, c);
    if (container_image(pod_container_spec(p, c))) {
        m->root = mem_alloc(sizeof(*m->root));
        TRY(plan_root(p, c, m->root));
        TRY(container_request(p, c, &m->cdi));
        driver = container_driver(p, c);
        if (driver)
            m->root->driver = driver_tree_new(driver, p->set->o.dir, !m->cdi);
    } else {
        m->driver = host_driver_new(container_driver(p, c), p->set->o.dir, p->set->o.rootfs);
    }
    return plan_stage(p, c, &m->stage);
}

/* Has the worker nothing to make, as for most host processes? */
static bool is_rooted(const struct rooting *m)
{
    return !m->root && m->driver->points.n == 0 && !m->driver->has_gpu && !m->words &&
           !m->share.dir && m->stage.mounts.n == 0;
}

void container_create(struct pod *p, struct container *c)
{
    struct rooting *m = mem_alloc(sizeof(*m));
    AUTO(err_freep) struct err *e = plan_rooting(p, c, m);

    if (e) {
        rooting_free(m);
        container_refuse_for(p, c, e);
        return;
    }
    if (is_rooted(m)) {
        const struct container_place place = {.driver = m->driver, .stage = &m->stage};

        create_in(p, c, &place);
        rooting_free(m);
        return;
    }
    container_move(c, CONTAINER_CREATING);
    m->pending = pending_new(p, c);
    worker_give(p->set->o.worker, make_root, on_rooted, m);
}
