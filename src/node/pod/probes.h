/*
 * probes.h - the probes of one running container: has it started, is it ready, must it be ended
 *
 * Lives as long as the attempt runs; a new attempt, or a node that adopted the container, begins
 * anew. As in the kubelet: the first probe comes initialDelaySeconds after the start, then one
 * every period, one at a time; liveness and readiness wait until the startup probe has succeeded;
 * one that could not be asked counts for nothing; a threshold counts results on end. `told` comes
 * from the loop and may free the probes.
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
    /* What was said of this attempt before the node began anew: it stays until a probe says
     * otherwise. */
    bool was_started;
    bool was_ready;
    /* A probe failed (`message` for an Event, in the kubelet's words), or what the probes say
     * changed (NULL). */
    void (*told)(void *arg, const char *message);
    void *arg;
};

/* NULL: it has none. */
struct probes *probes_new(const struct probes_options *o);
void probes_free(struct probes *p); /* accepts NULL */

/* Of NULL, a container without probes: started and ready. */
bool probes_have_started(const struct probes *p);
bool probes_are_ready(const struct probes *p);
/* Whether it is to be ended, by which probe, and after how many seconds of grace (-1: the pod's).
 */
bool probes_have_failed(const struct probes *p, enum probe_kind *ret_kind, int64_t *ret_grace_s);

/* The container is being ended: only its readiness is asked for from now on. */
void probes_end_liveness(struct probes *p);
