/*
 * kube_extender.h - the HTTP extender of a kube-scheduler: filter, prioritize, bind, preempt
 *
 * The requests are those of kube-scheduler's extender v1 (JSON with Go's names of members). The
 * engine knows nodes, pods and queues by the watches of a scheduler that places nothing:
 *
 *   filter      nodes on which the pod could start now: gpus, quotas of its queue, reservations
 *   prioritize  10 for the node with the least room for further such pods, down to 0
 *   bind        writes the binding of the node that kube-scheduler chose
 *   preempt     the victims that kube-scheduler chose, on nodes that the engine knows
 *
 * kube-scheduler asks for one pod at a time: there are no gangs here.
 */
#pragma once

#include "client/client.h"
#include "control/scheduler/scheduler_fit.h"
#include "http/request.h"

struct kube_extender;

struct kube_extender_options {
    struct client *client;       /* writes bindings; borrowed, as the scheduler */
    struct scheduler *scheduler; /* over a kube-apiserver */
};

struct kube_extender *kube_extender_new(const struct kube_extender_options *o);
/* Accepts NULL. The exchanges have ended (http_server_free). */
void kube_extender_free(struct kube_extender *x);

/* Answers a request by the last part of its path: a request_fn. */
void kube_extender_handle(void *extender, struct exchange *x);
