/*
 * control_cluster.h - the loops that make our own store a cluster: default objects, nodes, Jobs,
 * garbage collection, budgets, taints, evicted pods, configurations of gpus, claims of
 * devices, accounts
 *
 * A Kubernetes cluster has its own controllers for these.
 */
#pragma once

#include "control/autoscale/autoscale.h"
#include "control/control_scheduler.h"
#include "model/ip4.h"
#include "store/store.h"

struct control_cluster;
struct objects;
struct slurm_jobs;

struct control_cluster_options {
    struct loop *loop;
    struct store *store;
    struct objects *objects; /* over `store` */
    struct control_scheduler *scheduler;
    struct cluster *cluster; /* over `store`; borrowed, like the next */
    struct cluster *seen;    /* the scheduler's; taints end pods through it, too */
    int64_t node_grace_ns;   /* 0: 40 s */
    int64_t event_ttl_ns;    /* 0: 1 h */
    struct ip4_net service_network;
    const char *gateway; /* of the pod network; NULL: none */
    unsigned api_port;   /* of the gateway */
    const char *ca;      /* CA certificate of the API, PEM, for pods; NULL: none */
    struct autoscale_samples samples;
};

struct err *control_cluster_new(const struct control_cluster_options *o,
                                struct control_cluster **ret) MUST_CHECK;
struct slurm_jobs *control_cluster_slurm(struct control_cluster *c); /* borrowed */
void control_cluster_free(struct control_cluster *c);                /* accepts NULL */
