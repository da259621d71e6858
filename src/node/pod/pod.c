/*
 * pod.c - the step of a pod
 *
 * One step looks at the whole pod: must the pod stop, which container is due, which status is
 * unsent, what can be removed? Callbacks of the runtime find pod and container by name, as both may
 * be gone by then.
 */

#include "node/pod/pod.h"

#include <inttypes.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/retry.h"
#include "base/stamp.h"
#include "kinds/pod/pod_volume_claims.h"
#include "node/pod/pod_fence.h"

/* The kubelet's crash loop back-off: none, then 10 s doubling to 5 min; reset after running for 10
 * min. */
static const int64_t BACKOFF_NS = 10 * NS_PER_SEC;
static const int64_t BACKOFF_MAX_NS = 300 * NS_PER_SEC;

/* Of a host process: its start and its end within it are one write. */
static const int64_t BRIEF_NS = 30 * NS_PER_MS;

/* ---- queries ---- */

struct container *pod_container(struct pod *p, const char *name)
{
    for (size_t i = 0; i < p->n_containers; i++)
        if (text_equal(p->containers[i].name, name))
            return &p->containers[i];
    return NULL;
}

const json_t *pod_container_spec(const struct pod *p, const struct container *c)
{
    const json_t *list = json_at(p->object, "spec",
                                 c->is_init        ? "initContainers"
                                 : c->is_ephemeral ? "ephemeralContainers"
                                                   : "containers",
                                 NULL);
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (list, i, item)
        if (text_equal(json_text(item, "name"), c->name))
            return item;
    return NULL;
}

bool container_is_live(const struct container *c)
{
    return c->state != CONTAINER_WAITING && c->state != CONTAINER_ENDED;
}

bool container_is_main(const struct container *c)
{
    return !c->is_init && !c->is_ephemeral;
}

const struct container *container_target(const struct pod *p, const struct container *c)
{
    const char *name =
        c->is_ephemeral ? json_text(pod_container_spec(p, c), "targetContainerName") : NULL;

    for (size_t i = 0; name && i < p->n_containers; i++)
        if (text_equal(p->containers[i].name, name))
            return &p->containers[i];
    return c;
}

bool pod_has_ended(const struct pod *p)
{
    for (size_t i = 0; i < p->n_containers; i++)
        if (container_is_live(&p->containers[i]))
            return false;
    return true;
}

char *container_id(const struct pod *p, const struct container *c, int64_t attempt)
{
    return mem_format("%s-%s-%" PRId64, p->uid, c->name, attempt);
}

char *pod_log_dir(const struct pod *p)
{
    return mem_format("%s/log/%s_%s_%s", p->set->o.dir, p->ns, p->name, p->uid);
}

char *container_log_path(const struct pod *p, const struct container *c, int64_t attempt)
{
    AUTO_FREE char *dir = pod_log_dir(p);

    return mem_format("%s/%s/%" PRId64 ".log", dir, c->name, attempt);
}

char *container_words_path(const struct pod *p, const struct container *c)
{
    return mem_format("%s/pods/%s/words/%s-%" PRId64, p->set->o.dir, p->uid, c->name, c->attempt);
}

void container_wait(struct container *c, const char *reason, const char *message)
{
    free(c->wait_message);
    c->wait_reason = reason;
    c->wait_message = message ? mem_strdup(message) : NULL;
}

/* ---- pending calls ---- */

struct pending *pending_new(const struct pod *p, const struct container *c)
{
    struct pending *w = mem_alloc(sizeof(*w));

    *w = (struct pending){.set = p->set,
                          .uid = mem_strdup(p->uid),
                          .container = mem_strdup(c->name),
                          .attempt = c->attempt};
    LIST_ADD(p->set->pending, w);
    return w;
}

void pending_free(struct pending *w)
{
    LIST_REMOVE(w->set->pending, w);
    free(w->uid);
    free(w->container);
    free(w);
}

struct container *pending_take(struct pending *w, struct pod **ret_pod)
{
    struct pod *p = pods_find(w->set, w->uid);
    struct container *c = p ? pod_container(p, w->container) : NULL;

    if (c && c->attempt != w->attempt)
        c = NULL;
    *ret_pod = p;
    pending_free(w);
    return c;
}

/* ---- the end of a container ---- */

static void container_ended(struct pod *p, struct container *c, const struct runtime_exit *x)
{
    int64_t wall_ns = loop_wall_ns(p->set->o.loop);

    container_end_done(&c->end);
    c->end = (struct container_end){.is_set = true,
                                    .attempt = c->attempt,
                                    .code = x->code,
                                    .signal = x->signal,
                                    .failed = x->failed,
                                    .is_oom = x->is_oom,
                                    .started_ns = x->started_ns ? x->started_ns : c->started_ns,
                                    .finished_ns = x->finished_ns ? x->finished_ns : wall_ns,
                                    .has_usage = x->has_usage,
                                    .usage = x->usage};
    if (x->code == RUNTIME_CODE_UNKNOWN) {
        c->end.code = 137;
        c->end.reason = mem_strdup("ContainerStatusUnknown");
        c->end.message = mem_strdup("the exit code is lost: the machine restarted, or the "
                                    "container's conmon was killed");
    }
    if (x->message) { /* the program could not be run */
        c->end.reason = mem_strdup("StartError");
        c->end.message = mem_strdup(x->message);
        if (p->object)
            pod_events_add(p->set->events, p->object, c->name, "Warning", "Failed", x->message);
    }
    c->n_kills = 0;
    container_move(c, CONTAINER_ENDED);
    container_read_words(p, c);
    container_calm(c);
    container_wait(c, NULL, NULL);
}

void container_changed(struct pod *p, struct container *c, const struct runtime_container *found)
{
    switch (found->state) {
    case RUNTIME_INTENDED:
        container_move(c, CONTAINER_WAITING); /* the same attempt again: its program has not run */
        break;
    case RUNTIME_CREATING:
        container_move(c, CONTAINER_CREATING);
        break;
    case RUNTIME_CREATED:
        if (c->state == CONTAINER_WAITING || c->state == CONTAINER_CREATING)
            container_move(c, CONTAINER_CREATED);
        break;
    case RUNTIME_RUNNING:
        container_move(c, CONTAINER_RUNNING);
        c->started_ns = found->exit.started_ns;
        break;
    case RUNTIME_ENDED:
        container_ended(p, c, &found->exit);
        break;
    }
}

/* ---- running ---- */

void pod_tell_started(const struct pod *p, const struct container *c)
{
    AUTO_FREE char *text = mem_format("Started container %s", c->name);

    pod_events_add(p->set->events, p->object, c->name, "Normal", "Started", text);
}

/* Many host processes end at once: their start is told only if they run on for a moment. */
static void container_tell_start(struct pod *p, const struct container *c)
{
    if (!pod_is_host_process(p)) {
        pod_tell_started(p, c);
        return;
    }
    p->is_brief = true;
    p->quiet_ns = pod_now_ns(p) + BRIEF_NS;
}

static void on_started(void *arg, const struct err *e)
{
    struct pods *set = ((struct pending *)arg)->set;
    struct pod *p = NULL;
    struct container *c = pending_take(arg, &p);

    if (e)
        LOG(ERROR, "container could not be started", S("pod", p ? p->name : ""), E(e));
    if (!c)
        return;
    if (c->state == CONTAINER_STARTING) {
        /* Also after an error: the program may run, and on_change reports its end. */
        container_move(c, CONTAINER_RUNNING);
        c->started_ns = loop_wall_ns(p->set->o.loop);
    }
    container_tell_start(p, c);
    pod_step(p);
    pods_tell(set);
}

static void container_start(struct pod *p, struct container *c)
{
    AUTO_FREE char *id = container_id(p, c, c->attempt);
    struct runtime *r = p->set->o.runtime;

    container_move(c, CONTAINER_STARTING);
    r->ops->start(r->self, id, on_started, pending_new(p, c));
}

static bool wants_restart(const struct pod *p, const struct container *c)
{
    const char *policy = json_text_at(p->object, "spec", "restartPolicy", NULL);

    if (c->is_sidecar)
        return true;
    if (c->is_ephemeral || text_equal(policy, "Never"))
        return false;
    if (c->is_to_end)
        return true;
    if (text_equal(policy, "OnFailure") || c->is_init)
        return c->end.code != 0;
    return true;
}

/* Begins the next attempt; the one before has certainly ended. */
static void container_again(struct pod *p, struct container *c)
{
    int64_t ran_ns = c->end.finished_ns - c->end.started_ns;
    AUTO_FREE char *message = NULL;

    if (c->end.started_ns > 0 && ran_ns > RETRY_WELL_NS)
        c->backoff_ns = 0;
    c->not_before_ns = pod_now_ns(p) + c->backoff_ns;
    if (c->backoff_ns > 0) {
        message = mem_format("back-off %" PRId64 "s restarting failed container=%s pod=%s_%s(%s)",
                             c->backoff_ns / NS_PER_SEC, c->name, p->name, p->ns, p->uid);
        container_wait(c, "CrashLoopBackOff", message);
        pod_events_add(p->set->events, p->object, c->name, "Warning", "BackOff", message);
    }
    (void)retry_pause(&c->backoff_ns, BACKOFF_NS, BACKOFF_MAX_NS);
    container_end_done(&c->last);
    c->last = c->end;
    c->end = (struct container_end){0};
    c->attempt++;
    c->is_to_end = false;
    container_move(c, CONTAINER_WAITING);
}

/* Steps a container. True: it is done for good. */
static bool container_step(struct pod *p, struct container *c)
{
    if (c->state == CONTAINER_ENDED) {
        if (!wants_restart(p, c))
            return true;
        container_again(p, c);
    }
    if (c->state == CONTAINER_CREATED && pods_may_start(p->set))
        container_start(p, c);
    if (c->state != CONTAINER_WAITING || pod_now_ns(p) < c->not_before_ns)
        return false;
    if (!pods_may_start(p->set)) { /* pods_lease steps the pod again */
        container_wait(c, "NodeLeaseLost", "the node does not hold its lease: nothing starts");
        return false;
    }
    if (!pod_network_ready(p))
        return false; /* pods_network_changed */
    if (p->object && !pod_volumes_are_bound(p->object))
        return false; /* until the pod's annotation tells where its volumes are */
    if (p->preparation != PREP_DONE)
        pod_prepare(p);
    if (p->preparation == PREP_DONE && container_image_ready(p, c))
        container_create(p, c);
    return false;
}

/* Have all main containers ended for good? */
static bool mains_are_over(const struct pod *p)
{
    for (size_t i = 0; i < p->n_containers; i++) {
        const struct container *c = &p->containers[i];

        if (container_is_main(c) && (c->state != CONTAINER_ENDED || wants_restart(p, c)))
            return false;
    }
    return true;
}

/* Did a main container start? */
static bool mains_have_begun(const struct pod *p)
{
    for (size_t i = 0; i < p->n_containers; i++) {
        const struct container *c = &p->containers[i];

        if (container_is_main(c) && (c->state != CONTAINER_WAITING || c->attempt > 0))
            return true;
    }
    return false;
}

/* False: the others wait for the sidecar to start, the first time. */
static bool sidecar_step(struct pod *p, struct container *c)
{
    if (c->state != CONTAINER_ENDED || !mains_are_over(p))
        (void)container_step(p, c);
    return container_has_started(c) || mains_have_begun(p);
}

/* Ephemeral containers do not wait for their turn, as in the kubelet: they may be there to find out
 * why an init container does not end. */
static void step_ephemerals(struct pod *p)
{
    for (size_t i = 0; i < p->n_containers; i++) {
        struct container *c = &p->containers[i];
        const struct container *target = container_target(p, c);

        if (!c->is_ephemeral)
            continue;
        if (target != c && target->state != CONTAINER_RUNNING && c->state == CONTAINER_WAITING)
            container_wait(c, "ContainerCreating", "the target container does not run");
        else
            (void)container_step(p, c);
    }
}

static void step_run(struct pod *p)
{
    bool is_failed = false;

    step_ephemerals(p);
    for (size_t i = 0; i < p->n_containers && !is_failed; i++) {
        struct container *c = &p->containers[i];
        bool is_done = c->is_sidecar     ? sidecar_step(p, c)
                       : c->is_ephemeral ? true
                                         : container_step(p, c);

        if (c->is_init && !is_done)
            return;
        is_failed = c->is_init && !c->is_sidecar && c->end.code != 0;
        if (container_holds_others(p, c))
            return;
    }
    if ((is_failed || mains_are_over(p)) && !pod_awaits_gpus(p))
        pod_be_over(p);
}

/* ---- removal ---- */

static void pod_on_attempt_removed(void *arg, const struct err *e)
{
    struct pod *p = NULL;

    (void)pending_take(arg, &p);
    if (!p)
        return;
    p->n_removing--;
    if (e) {
        LOG(WARN, "attempt could not be removed yet", S("pod", p->name), E(e));
        pod_removal_move(p, REMOVAL_DUE);
        p->remove_at_ns = pod_now_ns(p) + NS_PER_SEC;
    }
    pod_step(p);
}

struct unpreparation {
    struct pods *set;
    char *uid;
    char *dirs[2];
};

static struct err *unpreparation_work(void *message)
{
    struct unpreparation *u = message;

    return u->set->o.unprepare((const char *const *)u->dirs, 2);
}

static void on_unprepared(void *message, const struct err *e)
{
    struct unpreparation *u = message;
    struct pod *p = pods_find(u->set, u->uid);

    free(u->uid);
    free(u->dirs[0]);
    free(u->dirs[1]);
    free(u);
    if (!p)
        return;
    if (!e) {
        LOG(INFO, "pod removed", S("pod", p->name), S("uid", p->uid));
        userns_release(p->set->ranges, p->uid);
        pod_network_end(p);
        pod_free(p);
        return;
    }
    LOG(WARN, "pod could not be removed yet", S("pod", p->name), E(e));
    pod_removal_move(p, REMOVAL_ATTEMPTS);
    p->remove_at_ns = pod_now_ns(p) + NS_PER_SEC;
    pod_step(p);
}

static void remove_rest(struct pod *p)
{
    struct unpreparation *u = mem_alloc(sizeof(*u));

    *u = (struct unpreparation){.set = p->set, .uid = mem_strdup(p->uid)};
    u->dirs[0] = mem_format("%s/pods/%s", p->set->o.dir, p->uid);
    u->dirs[1] = pod_log_dir(p);
    pod_removal_move(p, REMOVAL_REST);
    worker_give(p->set->o.worker, unpreparation_work, on_unprepared, u);
}

/* Removes the newest attempt and the one before; older attempts went when these were created. */
static void remove_attempts(struct pod *p)
{
    struct runtime *r = p->set->o.runtime;

    pod_removal_move(p, REMOVAL_ATTEMPTS); /* until a removal fails */
    for (size_t i = 0; i < p->n_containers; i++) {
        struct container *c = &p->containers[i];

        for (int64_t n = c->attempt > 0 ? c->attempt - 1 : 0; n <= c->attempt; n++) {
            AUTO_FREE char *id = container_id(p, c, n);

            p->n_removing++;
            r->ops->remove(r->self, id, pod_on_attempt_removed, pending_new(p, c));
        }
    }
}

/* Forgets a pod that the server no longer has: removes its attempts, then its directories. */
static void step_forget(struct pod *p)
{
    if (!pod_has_ended(p) || p->n_removing > 0 || p->removal == REMOVAL_REST || p->n_fetching > 0 ||
        p->preparation == PREP_MAKING || pod_now_ns(p) < p->remove_at_ns)
        return;
    if (p->removal == REMOVAL_DUE)
        remove_attempts(p);
    else
        remove_rest(p);
}

static bool was_any_created(const struct pod *p)
{
    for (size_t i = 0; i < p->n_containers; i++)
        if (p->containers[i].state == CONTAINER_ENDED || p->containers[i].last.is_set)
            return true;
    return false;
}

/* Deletes a deleted pod's object, once the server has its last status. */
static void step_deleted(struct pod *p)
{
    if (!pod_is_deleted(p) || p->record != RECORD_KEPT || p->life != POD_ENDED || !pod_has_ended(p))
        return;
    if (was_any_created(p) && !p->is_final_sent)
        return;
    if (pod_now_ns(p) >= p->call_at_ns)
        pod_delete_send(p);
}

/* ---- the step ---- */

static void earlier(int64_t *at_ns, int64_t other_ns)
{
    if (other_ns > 0 && (*at_ns == 0 || other_ns < *at_ns))
        *at_ns = other_ns;
}

/* The time of the container's next action without an event; 0: none. */
static int64_t container_due_ns(const struct pod *p, const struct container *c)
{
    int64_t kill_at_ns = container_kill_at_ns(p, c);

    if (p->life != POD_STOPPING && c->state == CONTAINER_WAITING)
        return c->not_before_ns > pod_now_ns(p) ? c->not_before_ns : 0;
    if (p->life != POD_STOPPING && !c->is_to_end)
        return 0;
    if (c->is_killing || (c->state != CONTAINER_CREATED && c->state != CONTAINER_RUNNING))
        return 0;
    if (p->drain_to_ns > pod_now_ns(p) && p->drain_to_ns < kill_at_ns)
        kill_at_ns = p->drain_to_ns;
    return c->kill_again_ns > kill_at_ns ? c->kill_again_ns : kill_at_ns;
}

static void pod_set_timer(struct pod *p)
{
    int64_t at_ns = 0;
    int64_t now = pod_now_ns(p);

    if (p->life == POD_ACTIVE) {
        earlier(&at_ns, p->deadline_ns);
        if (pod_awaits_signal(p))
            earlier(&at_ns, p->signal_ns);
        if (p->preparation == PREP_WAITING)
            earlier(&at_ns, p->retry_at_ns);
    }
    if (p->life != POD_ENDED && p->judge_ns > 0)
        earlier(&at_ns, now + POD_GPUS_LOOK_NS);
    for (size_t i = 0; i < p->n_containers && p->life != POD_ENDED; i++)
        earlier(&at_ns, container_due_ns(p, &p->containers[i]));
    if (p->call_at_ns > now)
        earlier(&at_ns, p->call_at_ns);
    if (p->is_unsent && !p->call && p->quiet_ns > now)
        earlier(&at_ns, p->quiet_ns);
    if (p->record == RECORD_GONE && p->remove_at_ns > now)
        earlier(&at_ns, p->remove_at_ns);
    if (at_ns == 0)
        loop_timer_stop(p->timer);
    else
        loop_timer_set(p->timer, at_ns > now ? at_ns - now : 0);
}

void pod_step(struct pod *p)
{
    bool was_ended = p->life == POD_ENDED;

    if (p->is_stepping)
        return;
    p->is_stepping = true;
    pod_decide_stop(p);
    pod_decide_signal(p);
    pod_decide_suspend(p);
    pod_decide_gpu(p);
    for (size_t i = 0; i < p->n_containers; i++)
        container_step_live(p, &p->containers[i]);
    if (p->life == POD_STOPPING)
        pod_step_stop(p);
    else if (p->object && p->life == POD_ACTIVE)
        step_run(p);
    if (p->object && p->record != RECORD_GONE)
        pod_status_send(p);
    pod_step_refresh(p);
    step_deleted(p);
    pod_set_timer(p);
    p->is_stepping = false;
    if (!was_ended && p->life == POD_ENDED)
        pods_keep_mps(p->set);
    if (p->life == POD_ENDED && pod_has_ended(p))
        pod_network_end(p);
    if (p->record == RECORD_GONE)
        step_forget(p); /* last, as it may free the pod */
}

/* ---- birth and death ---- */

void pod_free(struct pod *p)
{
    const struct image_source *images = p->set->o.images;

    if (images)
        images->unuse(images->arg, p->uid);
    map_remove(handle, p->set->pods, p);
    if (pod_has_shares(p))
        pods_tell_shares(p->set);
    pods_keep_mps(p->set);
    pod_refresh_end(p);
    if (p->call)
        client_cancel(p->call);
    for (size_t i = 0; i < p->n_containers; i++) {
        struct container *c = &p->containers[i];

        container_end_done(&c->end);
        container_calm(c);
        container_end_done(&c->last);
        json_decref(c->gpus);
        free(c->wait_message);
        container_image_done(c);
        free(c->name);
    }
    free(p->containers);
    preparation_free(p->prepared);
    json_decref(p->refs);
    free(p->evicted);
    err_free(p->fetch_error);
    json_decref(p->object);
    json_decref(p->status);
    json_decref(p->sending);
    loop_timer_free(p->timer);
    free(p->uid);
    free(p->ns);
    free(p->name);
    free(p);
}
