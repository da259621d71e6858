/*
 * probes.h - the probes of one running container: is it started, is it ready, must it be ended?
 *
 * Lives as long as the attempt runs; for a new attempt, or after a restart of the node process,
 * probes begin anew. As in the kubelet: the first probe comes initialDelaySeconds after the start,
 * then one each period, one at a time. Liveness and readiness wait for the success of the startup
 * probe. A probe that could not run does not count. A threshold counts consecutive results. `told`
 * comes from the loop and may free the probes.
 */
#pragma once

#include "node/pod/action.h"

struct probes;

enum probe_kind {
    PROBE_STARTUP,
    PROBE_READINESS,
    PROBE_LIVENESS,
    PROBE_KINDS
};

struct probes_options {
    struct action_place place; /* copied; `container` with its probes */
    int64_t started_ns;        /* realtime; 0: now */
    /* The attempt's state before a restart of the node process: kept until a probe changes it. */
    bool was_started;
    bool was_ready;
    /* A probe failed (`message` is for an Event, in the kubelet's words), or the probes' verdict
     * changed (NULL). */
    void (*told)(void *arg, const char *message);
    void *arg;
};

/* NULL: the container has no probes. */
struct probes *probes_new(const struct probes_options *o);
void probes_free(struct probes *p); /* accepts NULL */

/* NULL, a container without probes, is started and ready. */
bool probes_have_started(const struct probes *p);
bool probes_are_ready(const struct probes *p);
/* Must the container be ended? Gives the failed probe and the grace in seconds (-1: the pod's). */
bool probes_have_failed(const struct probes *p, enum probe_kind *ret_kind, int64_t *ret_grace_s);

/* The container is being ended: from now on only its readiness is probed. */
void probes_end_liveness(struct probes *p);
