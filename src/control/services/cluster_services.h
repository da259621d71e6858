/*
 * cluster_services.h - keeps the Services of the cluster itself: default/kubernetes, the API, and
 * kube-system/kube-dns, the DNS server; both at the gateway's address of the pod network
 */
#pragma once

#include "base/loop.h"
#include "kinds/object/objects.h"

struct cluster_services;

struct cluster_services_options {
    struct loop *loop;
    struct objects *objects;
    struct ip4_net network; /* of Services */
    const char *gateway;    /* address; NULL: there is no pod network, and nothing is kept */
    unsigned api_port;
};

struct err *cluster_services_new(const struct cluster_services_options *o,
                                 struct cluster_services **ret) MUST_CHECK;
void cluster_services_free(struct cluster_services *c); /* accepts NULL */
