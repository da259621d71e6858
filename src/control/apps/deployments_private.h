/* deployments_private.h - one look at a Deployment */
#pragma once

#include "base/stamp.h"
#include "base/vec.h"
#include "control/apps/apps_loop.h"
#include "control/apps/deployments.h"

/* A ReplicaSet of the Deployment, as the look finds it and as the look wants it. */
struct rollout_set {
    struct app_part *part;
    int64_t was;       /* spec.replicas */
    int64_t replicas;  /* the same, as wanted by this look */
    int64_t held;      /* pods that exist or will: the larger of both numbers */
    int64_t actual;    /* status.replicas */
    int64_t ready;     /* at most `was` */
    int64_t available; /* at most `was`: pods that are deleted next are not counted */
    int64_t leaving;   /* being deleted */
    bool is_observed;  /* its controller has seen its spec */
    int64_t revision;
    int64_t desired; /* of its annotations; -1: none */
    int64_t max_replicas;
    int64_t created_ns;
    json_t *annotations; /* changes of its annotations; NULL: none */
    bool is_touched;     /* other members of its spec change */
};

struct rollout {
    struct app *app;
    const json_t *spec;
    struct apps_limits limits;
    VEC(struct rollout_set) sets; /* the oldest first */
    struct rollout_set *fresh;    /* of the present template; NULL: none yet */
    json_t *status;               /* the new status */
    json_t *annotations;          /* changes of the Deployment's; NULL: none */
    json_t *made;                 /* a ReplicaSet to create; NULL: none */
    int64_t now_ns;               /* realtime */
    VEC(char *) told;             /* messages of events ScalingReplicaSet */
};

/* deployments_status.c */
bool rollout_is_complete(const struct rollout *r);
void rollout_count(struct rollout *r);    /* fills the numbers and Available */
void rollout_progress(struct rollout *r); /* fills Progressing and ReplicaFailure */
void rollout_pause(struct rollout *r);    /* DeploymentPaused, DeploymentResumed */
void rollout_condition(struct rollout *r, const char *type, const char *value, const char *reason,
                       const char *message);
bool rollout_has_deadline(const struct rollout *r);

/* deployments_scale.c: decide numbers */
void rollout_set_replicas(struct rollout *r, struct rollout_set *s, int64_t replicas);
int64_t rollout_replicas(const struct rollout *r); /* wanted, of all sets */
/* The replicas that the set of the present template may have now. */
int64_t rollout_fresh_replicas(const struct rollout *r);
bool rollout_is_scaled(const struct rollout *r); /* spec.replicas changed since the last look */
void rollout_scale(struct rollout *r);           /* in proportion, while several sets have pods */
void rollout_roll(struct rollout *r);            /* RollingUpdate */

/* deployments_sets.c: the ReplicaSets */
void rollout_read(struct rollout *r);
void rollout_renew(struct rollout *r); /* revision and annotations of the set in use */
/* Prepares the set of the present template, unless there is one. */
void rollout_make(struct rollout *r);
