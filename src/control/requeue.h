/* requeue.h - recreates evicted pods once they are gone (kinds/object/requeue.h) */
#pragma once

#include "control/events.h"
#include "kinds/object/objects.h"

struct requeue;

struct requeue_options {
    struct loop *loop;
    struct objects *objects;
    struct cluster *cluster;
    struct events *events;
};

struct err *requeue_new(const struct requeue_options *o, struct requeue **ret) MUST_CHECK;
void requeue_free(struct requeue *r); /* accepts NULL */
