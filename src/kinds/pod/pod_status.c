/* pod_status.c - STATUS, READY and RESTARTS of a pod, as kubectl prints them */

#include <inttypes.h>
#include <stdio.h>

#include "base/stamp.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"

static void say(char ret[POD_STATUS_TEXT_SIZE], const char *prefix, const char *text)
{
    (void)snprintf(ret, POD_STATUS_TEXT_SIZE, "%s%s", prefix, text);
}

/* Writes how a container ended: the reason, else its signal or exit code. */
static void say_end(char ret[POD_STATUS_TEXT_SIZE], const char *prefix, const json_t *terminated)
{
    const char *reason = json_text(terminated, "reason");
    int64_t signal_number = json_int(terminated, "signal", 0);
    int64_t code = json_int(terminated, "exitCode", 0);

    if (reason && *reason)
        say(ret, prefix, reason);
    else if (signal_number != 0)
        (void)snprintf(ret, POD_STATUS_TEXT_SIZE, "%sSignal:%" PRId64, prefix, signal_number);
    else
        (void)snprintf(ret, POD_STATUS_TEXT_SIZE, "%sExitCode:%" PRId64, prefix, code);
}

static const char *waiting_reason(const json_t *status)
{
    const char *reason = json_text_at(status, "state", "waiting", "reason", NULL);

    return reason && *reason ? reason : NULL;
}

static const json_t *terminated_of(const json_t *status)
{
    return json_at(status, "state", "terminated", NULL);
}

bool container_is_sidecar(const json_t *container)
{
    return text_equal(json_text(container, "restartPolicy"), "Always");
}

/* The item of spec.initContainers that a status is about. */
static const json_t *init_of(const json_t *pod, const json_t *status)
{
    const json_t *item = NULL;
    size_t i = 0;

    json_array_foreach (json_at(pod, "spec", "initContainers", NULL), i, item)
        if (text_equal(json_text(item, "name"), json_text(status, "name")))
            return item;
    return NULL;
}

/* Is an init container not done? Then writes its state to `ret`. */
static bool say_init(const json_t *pod, char ret[POD_STATUS_TEXT_SIZE])
{
    const json_t *statuses = json_at(pod, "status", "initContainerStatuses", NULL);
    size_t n = json_array_size(json_at(pod, "spec", "initContainers", NULL));

    for (size_t i = 0; i < json_array_size(statuses); i++) {
        const json_t *status = json_array_get(statuses, i);
        const json_t *terminated = terminated_of(status);
        const char *reason = waiting_reason(status);

        if (terminated && json_int(terminated, "exitCode", 0) == 0)
            continue;
        if (json_bool(status, "started", false) && container_is_sidecar(init_of(pod, status)))
            continue;
        if (terminated)
            say_end(ret, "Init:", terminated);
        else if (reason && !text_equal(reason, "PodInitializing"))
            say(ret, "Init:", reason);
        else
            (void)snprintf(ret, POD_STATUS_TEXT_SIZE, "Init:%zu/%zu", i, n);
        return true;
    }
    return false;
}

/* Writes the state of the first container that waits or has ended. */
static void say_containers(const json_t *pod, char ret[POD_STATUS_TEXT_SIZE])
{
    const json_t *statuses = json_at(pod, "status", "containerStatuses", NULL);
    bool has_running = false;

    for (size_t i = json_array_size(statuses); i-- > 0;) {
        const json_t *status = json_array_get(statuses, i);
        const json_t *terminated = terminated_of(status);
        const char *reason = waiting_reason(status);

        if (reason)
            say(ret, "", reason);
        else if (terminated)
            say_end(ret, "", terminated);
        else if (json_bool(status, "ready", false) && json_at(status, "state", "running", NULL))
            has_running = true;
    }
    if (text_equal(ret, "Completed") && has_running)
        say(ret, "", pod_is_ready(pod) ? "Running" : "NotReady");
}

void pod_status_text(const json_t *pod, char ret[POD_STATUS_TEXT_SIZE])
{
    const char *reason = json_text_at(pod, "status", "reason", NULL);

    const char *scheduled = json_text(object_condition(pod, "PodScheduled"), "reason");

    say(ret, "", reason && *reason ? reason : pod_phase(pod));
    if (text_equal(scheduled, "SchedulingGated") && !(reason && *reason))
        say(ret, "", scheduled);
    if (!say_init(pod, ret))
        say_containers(pod, ret);
    if (!json_at(pod, "metadata", "deletionTimestamp", NULL))
        return;
    if (text_equal(reason, "NodeLost"))
        say(ret, "", "Unknown");
    else if (!pod_is_terminal(pod))
        say(ret, "", "Terminating");
}

/* The end of the attempt before the present one; 0: none. */
static int64_t last_end_ns(const json_t *status)
{
    return stamp_or(json_text_at(status, "lastState", "terminated", "finishedAt", NULL), 0);
}

static void add_restarts(struct pod_progress *p, const json_t *statuses)
{
    for (size_t i = 0; i < json_array_size(statuses); i++) {
        const json_t *status = json_array_get(statuses, i);
        int64_t end_ns = last_end_ns(status);

        p->restarts += json_int(status, "restartCount", 0);
        p->restarted_at_ns = end_ns > p->restarted_at_ns ? end_ns : p->restarted_at_ns;
    }
}

static bool runs_ready(const json_t *status)
{
    return json_bool(status, "ready", false) && json_at(status, "state", "running", NULL);
}

struct pod_progress pod_progress(const json_t *pod)
{
    const json_t *statuses = json_at(pod, "status", "containerStatuses", NULL);
    const json_t *inits = json_at(pod, "status", "initContainerStatuses", NULL);
    struct pod_progress p = {
        .n_containers = json_array_size(json_at(pod, "spec", "containers", NULL)),
    };
    char ignored[POD_STATUS_TEXT_SIZE];

    for (size_t i = 0; i < json_array_size(json_at(pod, "spec", "initContainers", NULL)); i++)
        p.n_containers +=
            container_is_sidecar(json_array_get(json_at(pod, "spec", "initContainers", NULL), i));
    for (size_t i = 0; i < json_array_size(inits); i++)
        p.n_ready += container_is_sidecar(init_of(pod, json_array_get(inits, i))) &&
                     runs_ready(json_array_get(inits, i));

    if (say_init(pod, ignored)) {
        add_restarts(&p, inits);
        return p;
    }
    add_restarts(&p, statuses);
    for (size_t i = 0; i < json_array_size(statuses); i++)
        p.n_ready += runs_ready(json_array_get(statuses, i));
    return p;
}
