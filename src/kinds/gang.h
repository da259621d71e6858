/*
 * gang.h - which pods start together: what pods and the objects of their groups say
 *
 * Four ways to ask, each with the words of where it comes from (docs/gangs.md). A native Workload
 * and PodGroup are kept in the form of scheduling.k8s.io/v1beta1; gang_native.c has the older ones.
 */
#pragma once

#include "kinds/topology.h"

enum gang_door {
    GANG_WORKLOAD, /* spec.workloadRef: a pod group inside a Workload */
    GANG_PODGROUP, /* spec.schedulingGroup: a PodGroup of scheduling.k8s.io */
    /* A label or an annotation: where that API has no PodGroup of the name, scheduling.k8s.io's. */
    GANG_COSCHEDULING, /* its label: a PodGroup of scheduling.x-k8s.io */
    GANG_VOLCANO,      /* its annotation: a PodGroup of scheduling.volcano.sh */
    GANG_JOB,          /* none of these: a Job whose template has annotations of topology.h */
    GANG_DOORS
};

#define GANG_COSCHEDULING_LABEL "scheduling.x-k8s.io/pod-group"
/* Its older names. */
#define GANG_SIGS_LABEL         "pod-group.scheduling.sigs.k8s.io"
#define GANG_SIGS_NAME_LABEL    "pod-group.scheduling.sigs.k8s.io/name"
#define GANG_VOLCANO_ANNOTATION "scheduling.k8s.io/group-name"
#define GANG_VOLCANO_TASK       "volcano.sh/task-spec" /* annotation of a pod: its task */

/* Where a group is said: "scheduling.volcano.sh", "podgroups"; and what people call it. */
struct gang_source {
    const char *word; /* "volcano": begins the names of its placements */
    const char *group;
    const char *plural;
    const char *kind;
};
extern const struct gang_source gang_sources[GANG_DOORS];

/* All borrowed from the pod. */
struct gang_ref {
    enum gang_door door;
    const char *name;    /* of the object */
    const char *part;    /* GANG_WORKLOAD: the pod group in it, else NULL */
    const char *replica; /* GANG_WORKLOAD: which copy of it, or NULL */
};

/* False: the pod is by itself. */
bool gang_of(const json_t *pod, struct gang_ref *ret);
/* Causes where a pod names more than one group. */
void gang_validate_pod(const json_t *pod, struct causes *causes);

/* What an object says of a group. All borrowed from it. */
struct gang_rules {
    int64_t min;            /* so many start together; 0: each by itself */
    bool counts_what_runs;  /* ones that have succeeded are not of these any more */
    const json_t *tasks;    /* and so many of each task, or NULL */
    const char *class_name; /* PriorityClass of the gang, or NULL */
    bool has_priority;      /* a number of its own */
    int32_t priority;
    struct topology_level together[TOPOLOGY_MAX]; /* domains of all its pods */
    size_t n_together;
};

/* False: the object has no such part. */
bool gang_read(const struct gang_ref *ref, const json_t *object, struct gang_rules *ret);
