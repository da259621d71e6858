/*
 * cronjobs.h - batch/v1 CronJobs: a Job for each time of a schedule
 *
 * The semantics are those of Kubernetes' cronjob controller. A Job is named after its time
 * (NAME-<minutes since 1970>) and is created in the transaction that records that time: never a
 * second Job for one time. Of several missed times only the last is made up for, within
 * startingDeadlineSeconds.
 */
#pragma once

#include "control/cluster.h"
#include "control/events.h"

struct cronjobs;

struct cronjobs_options {
    struct loop *loop;
    struct cluster *cluster;
    struct events *events;
};

struct err *cronjobs_new(const struct cronjobs_options *o, struct cronjobs **ret) MUST_CHECK;
void cronjobs_free(struct cronjobs *s); /* accepts NULL */
