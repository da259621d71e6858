/*
 * gang.h - gangs: the groups that pods name, and the rules in the groups' objects
 *
 * A pod names its group through one of these doors, each in the words of its origin
 * (docs/gangs.md). Native Workloads and PodGroups are stored in the form of
 * scheduling.k8s.io/v1beta1; kind/kind_gang_old.c has the older forms.
 */
#pragma once

#include "kinds/topology.h"

enum gang_door {
    GANG_WORKLOAD, /* spec.workloadRef: a pod group inside a Workload */
    GANG_PODGROUP, /* spec.schedulingGroup: a PodGroup of scheduling.k8s.io */
    /* The next two fall back to a PodGroup of scheduling.k8s.io if their own API has none of the
     * name. */
    GANG_COSCHEDULING, /* a label: a PodGroup of scheduling.x-k8s.io */
    GANG_VOLCANO,      /* an annotation: a PodGroup of scheduling.volcano.sh */
    GANG_JOB,          /* none of these: a Job whose template has annotations of topology.h */
    GANG_SLURM,        /* SLURM_GANG_LABEL: an attempt of a SlurmJob on several nodes */
    GANG_DOORS
};

#define GANG_COSCHEDULING_LABEL "scheduling.x-k8s.io/pod-group"
/* Older names of this label. */
#define GANG_SIGS_LABEL         "pod-group.scheduling.sigs.k8s.io"
#define GANG_SIGS_NAME_LABEL    "pod-group.scheduling.sigs.k8s.io/name"
#define GANG_VOLCANO_ANNOTATION "scheduling.k8s.io/group-name"
#define GANG_VOLCANO_TASK       "volcano.sh/task-spec" /* annotation of a pod: its task */

/* The API of a door's groups: "scheduling.volcano.sh", "podgroups", and the kind's name. */
struct gang_source {
    const char *word; /* "volcano": prefix of its placements' names */
    const char *group;
    const char *plural;
    const char *kind;
};
extern const struct gang_source gang_sources[GANG_DOORS];

/* A pod's reference to its group. Texts are borrowed from the pod. */
struct gang_ref {
    enum gang_door door;
    const char *name;    /* of the group's object */
    const char *part;    /* GANG_WORKLOAD: the pod group in the Workload; else NULL */
    const char *replica; /* GANG_WORKLOAD: the replica of the pod group; GANG_SLURM: the attempt */
};

/* Reads the pod's reference. False: the pod names no group. */
bool gang_of(const json_t *pod, struct gang_ref *ret);
/* Adds a cause if a pod names more than one group. */
void gang_validate_pod(const json_t *pod, struct causes *causes);

/* The rules in a group's object. Texts and trees are borrowed from it. */
struct gang_rules {
    int64_t min;            /* pods that start together; 0: each pod starts by itself */
    bool counts_what_runs;  /* pods that succeeded no longer count towards `min` */
    const json_t *tasks;    /* minimum of each task, or NULL */
    const char *class_name; /* PriorityClass of the gang, or NULL */
    bool has_priority;      /* the object has a priority of its own */
    int32_t priority;
    struct topology_level together[TOPOLOGY_MAX]; /* topology levels for all pods of the group */
    size_t n_together;
};

/* Reads the rules of a group. False: the object has no such part. */
bool gang_read(const struct gang_ref *ref, const json_t *object, struct gang_rules *ret);
