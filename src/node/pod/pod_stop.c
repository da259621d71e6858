/*
 * pod_stop.c - ending containers: preStop, SIGTERM, SIGKILL
 *
 * Ends all containers of a pod, or one alone (a probe or postStart failed). preStop counts against
 * the grace period. After preStop, SIGTERM always gets at least 2 s, as in the kubelet, unless the
 * end is forced.
 *
 * A deleted pod behind a Service gets preStop and SIGTERM once new connections go elsewhere, so
 * that a server that ends what it has begun fails no request. This, too, counts against the grace.
 */

#include <signal.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/stamp.h"
#include "node/pod/pod.h"

static const int64_t KILL_AGAIN_NS = 2 * NS_PER_SEC;
enum {
    KILLS_STUCK = 5 /* SIGKILLs after which the container counts as stuck: 10 s */
};
static const int64_t TERM_MIN_NS = 2 * NS_PER_SEC;
static const int64_t DRAIN_MAX_NS = 2 * NS_PER_SEC; /* and half of the grace at most */

enum {
    GRACE_DEFAULT_S = 30,
    GRACE_MAX_S = 86400 * 30
};

static int64_t in_ns(int64_t seconds)
{
    return (seconds < 0 ? 0 : seconds > GRACE_MAX_S ? GRACE_MAX_S : seconds) * NS_PER_SEC;
}

int64_t pod_grace_ns(const struct pod *p)
{
    return in_ns(json_int(json_object_get(p->object, "spec"), "terminationGracePeriodSeconds",
                          GRACE_DEFAULT_S));
}

static int64_t deletion_grace_s(const struct pod *p)
{
    return json_int(json_object_get(p->object, "metadata"), "deletionGracePeriodSeconds",
                    GRACE_DEFAULT_S);
}

/* The rest of a deletion's grace; at most the requested grace, even if clocks differ. The stamp has
 * whole seconds, so the grace ends up to a second after it. */
static int64_t deletion_grace_ns(const struct pod *p)
{
    const char *stamp = json_text_at(p->object, "metadata", "deletionTimestamp", NULL);
    int64_t left_ns = in_ns(deletion_grace_s(p));
    int64_t until_ns = stamp_or(stamp, INT64_MAX - NS_PER_SEC) + NS_PER_SEC;

    if (until_ns - loop_wall_ns(p->set->o.loop) < left_ns)
        left_ns = until_ns - loop_wall_ns(p->set->o.loop);
    return left_ns < 0 ? 0 : left_ns;
}

bool pod_is_deleted(const struct pod *p)
{
    return json_text_at(p->object, "metadata", "deletionTimestamp", NULL) != NULL;
}

/* Is the end forced, without preStop and SIGTERM? */
static bool is_forced(const struct pod *p)
{
    return p->record == RECORD_GONE || (pod_is_deleted(p) && deletion_grace_s(p) <= 0);
}

/* Begins to end the pod, with SIGKILL after `left_ns`; a later call can only shorten that. */
static void pod_begin_stop(struct pod *p, int64_t left_ns)
{
    int64_t at_ns = pod_now_ns(p) + left_ns;

    if (p->life == POD_ENDED && pod_has_ended(p))
        return;
    if (p->life != POD_STOPPING || at_ns < p->kill_at_ns)
        p->kill_at_ns = at_ns;
    pod_move(p, POD_STOPPING);
}

void pod_be_over(struct pod *p)
{
    if (pod_has_ended(p))
        pod_move(p, POD_ENDED);
    else
        pod_begin_stop(p, pod_grace_ns(p));
}

void pod_decide_stop(struct pod *p)
{
    if (p->record == RECORD_GONE)
        pod_begin_stop(p, 0);
    else if (pod_is_deleted(p))
        pod_begin_stop(p, deletion_grace_ns(p));
    if (p->life != POD_ACTIVE || p->deadline_ns == 0 || pod_now_ns(p) < p->deadline_ns)
        return;
    p->is_past_deadline = true;
    pod_begin_stop(p, pod_grace_ns(p));
    pod_events_add(p->set->events, p->object, NULL, "Normal", "DeadlineExceeded",
                   "Pod was active on the node longer than the specified deadline");
}

static void on_signalled(void *arg, const struct err *e)
{
    (void)arg;
    if (e)
        LOG(WARN, "signal before the deadline was not sent", E(e));
}

/* After a restart of the node, the processes of a pod that was ever suspended may be in both
 * states. */
void pod_decide_suspend(struct pod *p)
{
    struct runtime *r = p->set->o.runtime;
    bool is_frozen = p->is_suspended && p->life == POD_ACTIVE;

    for (size_t i = 0; p->was_suspended && r->ops->suspend && i < p->n_containers; i++) {
        struct container *c = &p->containers[i];
        AUTO_FREE char *id = container_id(p, c, c->attempt);

        if (c->state != CONTAINER_RUNNING || (c->is_freeze_known && c->is_frozen == is_frozen))
            continue;
        c->is_freeze_known = true;
        c->is_frozen = is_frozen;
        r->ops->suspend(r->self, id, is_frozen);
    }
}

bool pod_awaits_signal(const struct pod *p)
{
    for (size_t i = 0; i < p->n_containers; i++)
        if (p->containers[i].state == CONTAINER_RUNNING)
            return p->life == POD_ACTIVE && p->signal_ns > 0 && !p->is_signalled;
    return false;
}

static void container_signal_before(struct pod *p, const char *id)
{
    struct runtime *r = p->set->o.runtime;
    const struct runtime_signal signal = {.number = p->signal,
                                          .is_for_first = !p->is_signal_for_steps,
                                          .is_for_steps = p->is_signal_for_steps};

    if (r->ops->signal)
        r->ops->signal(r->self, id, &signal);
    else if (signal.is_for_first)
        r->ops->kill(r->self, id, p->signal, on_signalled, NULL);
}

void pod_decide_signal(struct pod *p)
{
    if (!pod_awaits_signal(p) || pod_now_ns(p) < p->signal_ns)
        return;
    p->is_signalled = true;
    for (size_t i = 0; i < p->n_containers; i++) {
        AUTO_FREE char *id = container_id(p, &p->containers[i], p->containers[i].attempt);

        if (p->containers[i].state == CONTAINER_RUNNING)
            container_signal_before(p, id);
    }
}

void pod_end_as(struct pod *p, const char *reason, const char *why, int64_t left_ns)
{
    if (p->life != POD_ACTIVE)
        return;
    p->evicted = mem_strdup(why);
    p->evicted_as = reason;
    pod_begin_stop(p, left_ns);
    if (p->object)
        pod_events_add(p->set->events, p->object, NULL, "Warning", reason, why);
}

void pod_evict(struct pod *p, const char *why, int64_t left_ns)
{
    pod_end_as(p, "Evicted", why, left_ns);
}

/* ---- one container ---- */

void container_end_alone(struct pod *p, struct container *c, int64_t grace_s, const char *why)
{
    int64_t left_ns = grace_s >= 0 ? in_ns(grace_s) : pod_grace_ns(p);

    if (c->is_to_end)
        return;
    c->is_to_end = true;
    c->kill_at_ns = pod_now_ns(p) + left_ns;
    free(c->end_text);
    c->end_text = mem_strdup(why);
}

int64_t container_kill_at_ns(const struct pod *p, const struct container *c)
{
    int64_t at_ns = c->is_to_end ? c->kill_at_ns : p->kill_at_ns;

    if (c->is_to_end && p->life == POD_STOPPING && p->kill_at_ns < at_ns)
        at_ns = p->kill_at_ns;
    if (c->term_until_ns > at_ns && !is_forced(p))
        at_ns = c->term_until_ns;
    return at_ns;
}

static void on_killed(void *arg, const struct err *e)
{
    struct pod *p = NULL;
    struct container *c = pending_take(arg, &p);

    if (e)
        LOG(WARN, "container could not be signalled", S("pod", p ? p->name : ""), E(e));
    if (!c)
        return;
    c->is_killing = false;
    pod_step(p);
}

/* A process that waits in the kernel, as in a driver that hangs, keeps the container's gpus. */
static void tell_stuck(struct pod *p, const struct container *c, const char *id)
{
    const struct runtime *r = p->set->o.runtime;
    AUTO_FREE char *why = r->ops->stuck ? r->ops->stuck(r->self, id) : NULL;
    AUTO_FREE char *text =
        mem_format("Container %s does not end after SIGKILL: %s. It keeps its devices until it "
                   "ends; a reboot of the machine ends it",
                   c->name, why ? why : "its processes are not known");

    LOG(WARN, "container does not end", S("pod", p->name), S("cause", text));
    pod_events_add(p->set->events, p->object, c->name, "Warning", "Stuck", text);
}

static void container_signal(struct pod *p, struct container *c, int number)
{
    AUTO_FREE char *id = container_id(p, c, c->attempt);
    struct runtime *r = p->set->o.runtime;

    c->is_killing = true;
    container_stop_move(c, STOP_SIGNALLED);
    if (number == SIGKILL) {
        c->kill_again_ns = pod_now_ns(p) + KILL_AGAIN_NS;
        if (c->n_kills++ == KILLS_STUCK)
            tell_stuck(p, c, id);
    }
    r->ops->kill(r->self, id, number, on_killed, pending_new(p, c));
}

static void container_announce(struct pod *p, struct container *c)
{
    AUTO_FREE char *text = mem_format("Stopping container %s", c->name);

    if (c->stop != STOP_NONE)
        return;
    container_stop_move(c, STOP_ANNOUNCED);
    if (c->start == START_NEW)
        container_start_move(c, START_BEGUN);
    probes_end_liveness(c->probes);
    container_hook_cancel(c); /* cancels a postStart */
    pod_events_add(p->set->events, p->object, c->name, "Normal", "Killing",
                   c->end_text ? c->end_text : text);
}

/* ---- preStop ---- */

static void pre_stop_over(struct pod *p, struct container *c)
{
    container_stop_move(c, STOP_TERM_DUE);
    c->term_until_ns = pod_now_ns(p) + TERM_MIN_NS;
}

static void on_pre_stop(void *arg, enum action_result result, const char *message)
{
    struct container *c = arg;
    struct pod *p = c->pod;

    c->hook = NULL;
    if (result != ACTION_SUCCESS)
        container_hook_failed(p, c, "preStop", message);
    pre_stop_over(p, c);
    pod_step(p);
}

/* Must SIGTERM wait for preStop? */
static bool pre_stop_goes_on(struct pod *p, struct container *c, bool is_late)
{
    int64_t left_ns = container_kill_at_ns(p, c) - pod_now_ns(p);

    if (c->stop >= STOP_TERM_DUE)
        return false;
    if (c->hook && !is_late)
        return true;
    if (c->hook) {
        container_hook_cancel(c);
        container_hook_failed(p, c, "preStop", "the grace period is over");
        pre_stop_over(p, c);
        return false;
    }
    if (is_late || !container_hook_begin(p, c, "preStop", left_ns, on_pre_stop)) {
        container_stop_move(c, STOP_TERM_DUE);
        return false;
    }
    return true;
}

/* ---- draining ---- */

/* Must preStop and SIGTERM wait for the rules of Services? */
static bool container_drains(struct pod *p, const struct container *c)
{
    int64_t now = pod_now_ns(p);
    int64_t half_ns = (p->kill_at_ns - now) / 2;

    if (p->life != POD_STOPPING || !pod_is_deleted(p) || c->stop != STOP_ANNOUNCED || c->hook)
        return false;
    if (p->drain_to_ns == 0)
        p->drain_to_ns = now + (half_ns < DRAIN_MAX_NS ? half_ns : DRAIN_MAX_NS);
    return now < p->drain_to_ns && pod_takes_connections(p);
}

/* ---- the step ---- */

void container_step_stop(struct pod *p, struct container *c)
{
    bool is_late = pod_now_ns(p) >= container_kill_at_ns(p, c);

    if (c->is_killing || (c->state != CONTAINER_CREATED && c->state != CONTAINER_RUNNING))
        return; /* its callback calls pod_step again */
    if (c->state == CONTAINER_RUNNING) {
        container_announce(p, c);
        if (!is_late && container_drains(p, c))
            return; /* pods_rules_changed, or the timer */
        if (c->stop != STOP_SIGNALLED && pre_stop_goes_on(p, c, is_late))
            return;
        is_late = pod_now_ns(p) >= container_kill_at_ns(p, c);
    }
    if (c->state == CONTAINER_CREATED || is_late) {
        if (pod_now_ns(p) >= c->kill_again_ns)
            container_signal(p, c, SIGKILL);
        return;
    }
    if (c->stop != STOP_SIGNALLED)
        container_signal(p, c, c->stop_signal > 0 ? c->stop_signal : SIGTERM);
}

/* Sidecars end last, in the reverse order of their starts. */
void pod_step_stop(struct pod *p)
{
    bool is_late = pod_now_ns(p) >= p->kill_at_ns;
    bool have_others = false;

    for (size_t i = p->n_containers; i > 0; i--) {
        struct container *c = &p->containers[i - 1];

        if (!c->is_sidecar || !have_others || is_late)
            container_step_stop(p, c);
        have_others = have_others || container_is_live(c);
    }
    if (pod_has_ended(p) && !pod_awaits_report(p))
        pod_move(p, POD_ENDED);
}
