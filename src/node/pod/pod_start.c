/* pod_start.c - preparation of a pod: ConfigMaps, Secrets, volumes, users */

#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/list.h"
#include "base/log.h"
#include "base/num.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "kinds/pod/pod_state.h"
#include "node/net/names.h"
#include "node/pod/array_jobs.h"
#include "node/pod/pod.h"
#include "node/pod/refs.h"
#include "node/spec/cdi.h"
#include "node/spec/env.h"

static const int64_t RETRY_NS = NS_PER_SEC;
static const int64_t RETRY_MAX_NS = 10 * NS_PER_SEC;
static const int64_t USER_KEPT_NS = 30 * NS_PER_SEC;

/* ---- failures ---- */

/* The waiting reason for an error: a wrong manifest or a missing object is a configuration error.
 */
const char *config_reason(const struct err *e)
{
    return err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_FORBIDDEN
               ? "CreateContainerConfigError"
               : "CreateContainerError";
}

void container_refuse(struct pod *p, struct container *c, const char *reason, const char *message)
{
    bool is_news = !text_equal(c->wait_reason, reason) || !text_equal(c->wait_message, message);

    container_move(c, CONTAINER_WAITING);
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
    p->retry_at_ns = pod_now_ns(p) + retry_pause(&p->retry_ns, RETRY_NS, RETRY_MAX_NS);
}

/* ---- work for the worker ---- */

void preparation_free(struct preparation *p)
{
    if (!p)
        return;
    volumes_done(&p->volumes);
    free(p->dir);
    free(p->hosts);
    free(p->address);
    free(p->hostname);
    free(p->resolv);
    free(p->uids);
    free(p->users);
    free(p);
}

struct sandbox_making {
    struct pods *set;
    char *uid;
    struct preparation *preparation;
};

static struct err *preparation_make(void *message)
{
    struct sandbox_making *m = message;

    return m->set->o.prepare(m->preparation);
}

static void take_made(struct pod *p, struct preparation *made)
{
    p->has_userns = made->has_userns;
    p->uid_base = made->uid_base;
    preparation_free(p->prepared);
    p->prepared = made;
    volumes_forget(&p->prepared->volumes);
    p->preparation = PREP_DONE;
    p->retry_ns = 0;
}

static struct known_user *known_user(struct pods *set, uid_t uid)
{
    return &set->users[uid % KNOWN_USERS];
}

static void remember_users(struct pods *set, const struct preparation *made)
{
    for (size_t i = 0; i < made->n_users; i++) {
        if (made->uids[i] == NO_HOST_USER || !made->users[i].has_entry)
            continue;
        *known_user(set, made->uids[i]) = (struct known_user){
            .until_ns = loop_now_ns(set->o.loop) + USER_KEPT_NS, .user = made->users[i]};
    }
}

/* Is there nothing for the worker to make? Fills in the users, who were looked up before. */
static bool is_made(struct pods *set, struct preparation *plan)
{
    if (!plan->has_no_dir || plan->has_userns || plan->hosts || plan->volumes.list.n > 0)
        return false;
    for (size_t i = 0; i < plan->n_users; i++) {
        const struct known_user *known = known_user(set, plan->uids[i]);

        if (plan->uids[i] == NO_HOST_USER)
            continue;
        if (known->until_ns <= loop_now_ns(set->o.loop) || known->user.uid != plan->uids[i])
            return false;
        plan->users[i] = known->user;
    }
    return true;
}

static void on_made(void *message, const struct err *e)
{
    struct sandbox_making *m = message;
    struct pod *p = pods_find(m->set, m->uid);

    if (!e)
        remember_users(m->set, m->preparation);
    if (p && !e && m->preparation->n_users == p->n_containers) {
        take_made(p, m->preparation);
    } else if (p && !e) { /* an ephemeral container has come since */
        preparation_free(m->preparation);
        p->preparation = PREP_NONE;
    } else {
        preparation_free(m->preparation);
        if (p)
            refuse_all(p, config_reason(e), e);
    }
    free(m->uid);
    free(m);
    if (p) {
        pod_refresh_again(p); /* the watches may have newer objects than were fetched */
        pod_step(p);
    }
}

const char *container_image(const json_t *spec)
{
    const char *image = json_text(spec, "image");

    return text_equal(image, "host") ? NULL : image ? image : "";
}

bool pod_has_images(const struct pod *p, bool of_spec)
{
    for (size_t i = 0; i < p->n_containers; i++)
        if (container_image(pod_container_spec(p, &p->containers[i])) &&
            !(of_spec && p->containers[i].is_ephemeral))
            return true;
    return false;
}

/* Containers of images get a user namespace; containers of the image `host` run as users of the
 * host. */
struct err *pod_find_userns(struct pod *p, bool *ret_has, uint32_t *ret_base)
{
    *ret_has = pod_has_images(p, false) && !json_bool_at(p->object, "spec", "hostUsers", NULL);
    return *ret_has ? userns_take(p->set->ranges, p->uid, ret_base) : NULL;
}

static struct err *plan_userns(struct pod *p, struct preparation *ret)
{
    if (pod_has_images(p, false))
        ret->hosts = spec_hosts(p->object);
    return pod_find_userns(p, &ret->has_userns, &ret->uid_base);
}

/* Plans the users of all containers, in the order of p->containers, and the volumes. */
static struct err *preparation_plan(struct pod *p, struct preparation *ret)
{
    ret->dir = mem_format("%s/pods/%s", p->set->o.dir, p->uid);
    TRY(plan_userns(p, ret));
    if (pod_has_network(p))
        ret->address = mem_strdup(pod_address(p));
    if (ret->address || json_text_filled(json_object_get(p->object, "spec"), "hostname"))
        ret->hostname = pod_hostname(p);
    ret->resolv = names_resolv(p->object, p->set->o.dns_server, &ret->is_resolv_more);
    ret->uids = mem_alloc((p->n_containers + 1) * sizeof(*ret->uids));
    ret->users = mem_alloc((p->n_containers + 1) * sizeof(*ret->users));
    ret->n_users = p->n_containers;
    for (size_t i = 0; i < p->n_containers; i++) {
        const json_t *spec = pod_container_spec(p, &p->containers[i]);

        ret->uids[i] = NO_HOST_USER;
        if (!container_image(spec))
            TRY(spec_uid(p->object, spec, &ret->uids[i]));
        else
            TRY(pod_batch_owner(p, &ret->uids[i]));
    }
    TRY(pod_plan_volumes(p, ret->uid_base, &ret->volumes));
    ret->has_no_dir = pod_is_host_process(p) && ret->volumes.list.n == 0;
    return NULL;
}

static void start_making(struct pod *p)
{
    struct preparation *preparation = mem_alloc(sizeof(*preparation));
    struct sandbox_making *m = NULL;
    AUTO(err_freep) struct err *e = preparation_plan(p, preparation);

    if (e) {
        preparation_free(preparation);
        refuse_all(p, config_reason(e), e);
        return;
    }
    if (is_made(p->set, preparation)) {
        take_made(p, preparation);
        pod_refresh_again(p);
        return;
    }
    m = mem_alloc(sizeof(*m));
    *m = (struct sandbox_making){
        .set = p->set, .uid = mem_strdup(p->uid), .preparation = preparation};
    p->preparation = PREP_MAKING;
    worker_give(p->set->o.worker, preparation_make, on_made, m);
}

/* ---- ConfigMaps and Secrets ---- */

void fetch_free(struct fetch *f)
{
    LIST_REMOVE(f->set->fetches, f);
    free(f->uid);
    free(f->ref);
    free(f);
}

static void pod_start_on_fetched(void *arg, const struct err *e, const struct client_reply *reply)
{
    struct fetch *f = arg;
    struct pod *p = pods_find(f->set, f->uid);
    json_t *object = NULL;
    struct err *failed = client_error(e, reply);

    if (!failed)
        failed = json_parse(reply->body, &object);
    if (failed && err_code(failed) == ERR_NOT_FOUND)
        err_free(TAKE(failed)); /* a missing object fails later, if it is needed */
    if (object && refs_is_slurm_job(f->ref)) {
        json_t *whole = object;

        object = array_jobs_put(f->set->array_jobs, whole);
        json_decref(whole);
    }
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

/* An element of an array finds its job here, once another one has fetched it. */
static void take_known(struct pod *p, json_t *refs)
{
    const char *uid = refs_slurm_uid(p->object);
    json_t *job = uid ? array_jobs_find(p->set->array_jobs, uid) : NULL;

    for (size_t i = json_array_size(refs); job && i-- > 0;) {
        const char *ref = json_string_value(json_array_get(refs, i));

        if (!refs_is_slurm_job(ref))
            continue;
        (void)json_object_set(p->refs, ref, job);
        (void)json_array_remove(refs, i); /* `i` is in range */
    }
}

static void start_fetching(struct pod *p, const json_t *refs)
{
    const json_t *item = NULL;
    size_t i = 0;

    p->preparation = PREP_FETCHING;
    p->n_fetching = json_array_size(refs);
    json_array_foreach (refs, i, item) {
        struct fetch *f = mem_alloc(sizeof(*f));
        AUTO(ref_request_done) struct ref_request ask = {0};
        struct client_request r = {0};

        refs_request(p->object, json_string_value(item), &ask);
        r = (struct client_request){
            .method = ask.method, .path = ask.path, .body = str_of(ask.body)};
        *f = (struct fetch){
            .set = p->set, .uid = mem_strdup(p->uid), .ref = mem_strdup(json_string_value(item))};
        LIST_ADD(p->set->fetches, f);
        client_send(p->set->o.client, &r, pod_start_on_fetched, f, &f->call);
    }
}

/* A pod whose RuntimeClass names a runtime that this node does not have waits, as in Kubernetes. */
static struct err *check_runtime(struct pod *p)
{
    const char *runtime = json_text_at(p->object, "metadata", "annotations", POD_RUNTIME, NULL);
    AUTO_FREE char *text = NULL;

    if (!runtime)
        return NULL;
    text =
        mem_format("Failed to create pod sandbox: no runtime for \"%s\" is configured: this node "
                   "has crun, and gives GPUs to containers by itself",
                   runtime);
    if (p->retry_ns == 0)
        pod_events_add(p->set->events, p->object, NULL, "Warning", "FailedCreatePodSandBox", text);
    return err_new(ERR_FORBIDDEN, "%s", text);
}

void pod_prepare(struct pod *p)
{
    AUTO(json_freep) json_t *refs = NULL;
    AUTO(err_freep) struct err *e = NULL;

    if (p->preparation == PREP_FETCHING || p->preparation == PREP_MAKING ||
        (p->preparation == PREP_WAITING && pod_now_ns(p) < p->retry_at_ns))
        return;
    refs = json_array();
    e = check_runtime(p);
    if (!e)
        e = refs_collect(p->object, refs);
    json_decref(p->refs);
    p->refs = json_object();
    take_known(p, refs);
    if (e)
        refuse_all(p, config_reason(e), e);
    else if (json_array_size(refs) > 0)
        start_fetching(p, refs);
    else
        start_making(p);
}
