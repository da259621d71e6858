/*
 * pod_view.h - readers of a Pod's tree: phase, readiness, status text
 *
 * The functions read validated objects. An absent phase counts as Pending.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

enum {
    POD_STATUS_TEXT_SIZE = 128,
    POD_EPHEMERAL_MAX = 32 /* ephemeral containers of a pod; none is ever removed */
};

/* status.phase, or "Pending". Borrowed. */
const char *pod_phase(const json_t *pod);
bool pod_is_terminal(const json_t *pod); /* Succeeded or Failed */
bool pod_is_ready(const json_t *pod);    /* the condition Ready is True */

/* "Guaranteed", "Burstable" or "BestEffort", by cpu and memory. */
const char *pod_qos_class(const json_t *pod);

/*
 * The STATUS that kubectl shows: Running, Completed, Init:0/1, CrashLoopBackOff, Terminating, ...
 */
void pod_status_text(const json_t *pod, char ret[POD_STATUS_TEXT_SIZE]);

/* Is an item of spec.initContainers a sidecar: started in its turn, and running beside the others
 * from then on? */
bool container_is_sidecar(const json_t *container);

/* READY and RESTARTS that kubectl shows: ready containers of all, restarts, and the newest end. */
struct pod_progress {
    size_t n_ready;
    size_t n_containers;
    int64_t restarts;
    int64_t restarted_at_ns; /* realtime; 0: never */
};

struct pod_progress pod_progress(const json_t *pod);
