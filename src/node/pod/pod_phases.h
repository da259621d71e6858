/*
 * pod_phases.h - the phases of a pod and of its containers on this node, and their legal
 * transitions
 *
 * Each phase is one enum, changed by its move function only. A transition that the table of
 * pod_phases.c does not list is a bug of ours: asserted. A move to the present phase is legal.
 */
#pragma once

/* An attempt of a container, as the runtime has it. */
enum container_state {
    CONTAINER_WAITING, /* to be created at its turn */
    CONTAINER_CREATING,
    CONTAINER_CREATED,
    CONTAINER_STARTING,
    CONTAINER_RUNNING,
    CONTAINER_ENDED,
};

/* The start of a running container. */
enum container_start {
    START_NEW,    /* not running, or its postStart has not ended */
    START_BEGUN,  /* postStart has ended, or was cancelled */
    START_PROBED, /* its probes have begun, if it has any */
};

/* The end of a container. Only forward; a new attempt begins anew. */
enum container_stop {
    STOP_NONE,
    STOP_ANNOUNCED, /* the Event Killing was sent; preStop may be under way */
    STOP_TERM_DUE,  /* preStop is over, or there is none */
    STOP_SIGNALLED,
};

/* May containers of the pod start? */
enum pod_life {
    POD_ACTIVE,
    POD_STOPPING, /* no container starts again; those that live are being ended */
    POD_ENDED,    /* no container starts again */
};

/* The pod's object at the server. */
enum pod_record {
    RECORD_KEPT,
    RECORD_DELETING, /* a DELETE is under way */
    RECORD_DELETED,  /* the server has acknowledged the DELETE */
    RECORD_GONE,     /* the server no longer has the pod */
};

/* The pod's remains on this machine, once the record is gone. */
enum pod_removal {
    REMOVAL_DUE,      /* of attempts: not begun, or failed */
    REMOVAL_ATTEMPTS, /* the attempts are gone, or being removed */
    REMOVAL_REST,     /* the worker removes the directories */
};

struct container;
struct pod;

void container_move(struct container *c, enum container_state to);
void container_start_move(struct container *c, enum container_start to);
void container_stop_move(struct container *c, enum container_stop to);
/* For a new attempt, or after the end: the start and stop of the container begin anew. */
void container_begin_anew(struct container *c);
void pod_move(struct pod *p, enum pod_life to);
void pod_record_move(struct pod *p, enum pod_record to);
void pod_removal_move(struct pod *p, enum pod_removal to);
