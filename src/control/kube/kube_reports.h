/*
 * kube_reports.h - the scheduler's reports for the users of a cluster: the aggregated API
 * reports.mete.dev/v1alpha1
 *
 *   GET gpus                           the gpus of all nodes and their holders (?namespace=NS)
 *   GET gpus/NAME
 *   GET queues                         the Queues, and those that stand for others
 *   GET queues/NAME
 *   GET workloads                      why pods wait (?fieldSelector=status.phase=waiting)
 *   GET namespaces/NS/workloads        the same of one namespace
 *   GET namespaces/NS/workloads/NAME
 *   GET namespaces/NS/free             control/report/free.h
 *   GET namespaces/NS/what-if          control/report/what_if.h
 *
 * The kube-apiserver authenticates the user and asks its own authorizer for the path before it
 * forwards a request (docs/adr/0021-reports-of-a-cluster.md). It proves itself by a client
 * certificate, which the door verifies, and names the user in X-Remote-User. Holders of gpus are
 * named to users who may list pods in all namespaces; to others, those of the namespace in
 * `namespace`, if they may list its pods.
 */
#pragma once

#include "client/client.h"
#include "control/cluster.h"
#include "control/scheduler/scheduler.h"
#include "http/request.h"

#define REPORTS_GROUP   "reports.mete.dev"
#define REPORTS_VERSION "v1alpha1"
#define REPORTS_PATH    "/apis/" REPORTS_GROUP "/" REPORTS_VERSION

struct kube_reports;

struct kube_reports_options {
    struct loop *loop;
    struct client *client;   /* asks the authorizer; borrowed, as all members */
    struct cluster *cluster; /* over a kube-apiserver */
    struct scheduler *scheduler;
    const json_t *proxy_names; /* names of certificates that may name users; empty: any */
};

struct kube_reports *kube_reports_new(const struct kube_reports_options *o);
/* Accepts NULL. The exchanges have ended (http_server_free). */
void kube_reports_free(struct kube_reports *r);

/* Answers a request: a request_fn. */
void kube_reports_handle(void *reports, struct exchange *x);
