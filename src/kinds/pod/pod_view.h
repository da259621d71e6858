/*
 * pod_view.h - readers of a Pod's tree: phase, readiness, requests, status text
 *
 * The functions read validated objects. Absent requests count as 0, an absent phase as Pending.
 * Amounts past int64 saturate.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

enum {
    POD_STATUS_TEXT_SIZE = 128,
    POD_OTHERS_MAX = 16
};

/* status.phase, or "Pending". Borrowed. */
const char *pod_phase(const json_t *pod);
bool pod_is_terminal(const json_t *pod); /* Succeeded or Failed */
bool pod_is_ready(const json_t *pod);    /* the condition Ready is True */

/* A request for another resource, in whole units. */
struct pod_other {
    const char *name; /* borrowed from the pod */
    int64_t amount;
};

/* The larger of the containers' sum and the largest init container. A limit counts if the request
 * is absent. */
struct pod_requests {
    int64_t cpu_milli;
    int64_t memory_bytes;
    int64_t ephemeral_bytes;
    int64_t gpus; /* nvidia.com/gpu */
    struct pod_other others[POD_OTHERS_MAX];
    size_t n_others;
    bool has_more_others; /* the pod has more than POD_OTHERS_MAX */
};

struct pod_requests pod_requests(const json_t *pod);

/* The `gpus` of pod_requests. */
int64_t pod_gpus(const json_t *pod);

/* A container's request, else its limit, else 0; in thousandths. */
int64_t container_request_milli(const json_t *container, const char *resource);
/* The whole gpus that a container asks for. */
int64_t container_gpus(const json_t *container);

/* "Guaranteed", "Burstable" or "BestEffort", by cpu and memory. */
const char *pod_qos_class(const json_t *pod);

/*
 * The STATUS that kubectl shows: Running, Completed, Init:0/1, CrashLoopBackOff, Terminating, ...
 */
void pod_status_text(const json_t *pod, char ret[POD_STATUS_TEXT_SIZE]);

/* READY and RESTARTS that kubectl shows: ready containers of all, restarts, and the newest end. */
struct pod_progress {
    size_t n_ready;
    size_t n_containers;
    int64_t restarts;
    int64_t restarted_at_ns; /* realtime; 0: never */
};

struct pod_progress pod_progress(const json_t *pod);
