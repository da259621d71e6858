/*
 * kube_serve.h - the door of the scheduler's reports: its certificate, its place in the cluster
 *
 * The leader makes a new certificate, tells the cluster its authority (APIService
 * v1alpha1.reports.mete.dev) and its own address (an EndpointSlice of the Service), and does so
 * again each minute. Clients must have a certificate of the kube-apiserver's front proxy, by
 * ConfigMap kube-system/extension-apiserver-authentication.
 */
#pragma once

#include "client/client.h"
#include "control/cluster.h"
#include "control/scheduler/scheduler.h"

struct kube_serve;

struct kube_serve_options {
    struct loop *loop;
    struct client *client;   /* borrowed, as cluster and scheduler */
    struct cluster *cluster; /* over a kube-apiserver */
    struct scheduler *scheduler;
    const char *listen;  /* "10.0.0.7:8443": also the address in the EndpointSlice */
    const char *service; /* "NAMESPACE/NAME" */
};

/* Copies the texts. ERR_INVALID: `listen` or `service`. */
struct err *kube_serve_new(const struct kube_serve_options *o, struct kube_serve **ret) MUST_CHECK;
void kube_serve_free(struct kube_serve *s); /* accepts NULL */
