/*
 * slurm_jobs.h - SlurmJobs: makes their pods, counts their ends, and keeps their states
 *
 * Each element of a job gets a pod when it may start: it is not held, its time has come, its
 * dependencies hold, and the array's limit and window have room. The pod's name is a function of
 * the element and its restarts, and the pod carries a finalizer until it is counted; one
 * transaction counts the pod and removes the finalizer. So every end counts exactly once, and no
 * attempt starts twice, whenever the server is killed. Counted pods are deleted; a job that is over
 * is deleted SLURM_JOB_AGE_S later.
 *
 * A turn costs as much as changed.
 */
#pragma once

#include "control/cluster.h"
#include "control/events.h"
#include "control/scheduler/scheduler.h"
#include "control/slurm/slurm_fair.h"

struct slurm_jobs;

struct slurm_jobs_options {
    struct loop *loop;
    struct cluster *cluster;
    struct events *events;
    struct scheduler *scheduler; /* for why pods wait; NULL: unknown */
    struct slurm_fair *fair;     /* for shares and priorities; NULL: unknown */
    struct objects *objects;     /* tells of jobs before they are durable; NULL: nobody does */
};

struct err *slurm_jobs_new(const struct slurm_jobs_options *o, struct slurm_jobs **ret) MUST_CHECK;
void slurm_jobs_free(struct slurm_jobs *s); /* accepts NULL */
