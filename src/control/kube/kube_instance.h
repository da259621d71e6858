/*
 * kube_instance.h - one instance of the scheduler on a cluster, which works while it leads
 *
 * Without a Lease the instance works from the start. An instance that has lost its Lease ends all
 * work at once, and is of no more use. An instance that is stopped decides nothing more, waits for
 * the answers of what it has sent, and then gives its Lease back: a binding that came after the
 * next leader had read the cluster could give a device twice.
 */
#pragma once

#include "control/control_scheduler.h"
#include "control/kube/cluster_kube.h"

struct kube_instance;

struct kube_instance_options {
    struct loop *loop;
    struct client *client;       /* borrowed */
    const char *ns, *name;       /* of the Lease; ns NULL: this instance is alone */
    const char *identity;        /* unique */
    const char *scheduler_names; /* kinds/scheduler_names.h */
    enum kube_foreign_how foreign;
    /* The instance leads and reads the cluster; an error ends it. `c` and `s` are borrowed until
     * `rests`. */
    struct err *(*works)(void *arg, struct cluster *c, struct control_scheduler *s);
    void (*rests)(void *arg); /* after `works`, once */
    /* The instance cannot begin, or no longer leads; takes `e`. Never from inside a function of
     * this header. */
    void (*failed)(void *arg, struct err *e);
    void *arg;
};

/* Copies the options and their texts. */
struct kube_instance *kube_instance_new(const struct kube_instance_options *o);
/* Accepts NULL. No callback after it but `rests`, from inside. */
void kube_instance_free(struct kube_instance *i);

/* Ends the work and gives the Lease back, then calls `done`; `failed` instead, if the Lease is lost
 * meanwhile. A second call changes nothing. */
void kube_instance_stop(struct kube_instance *i, loop_fn done, void *arg);
