/*
 * net_services.h - Services on this node: watches Services and EndpointSlices, and keeps the rules
 * of nftables, the names of the DNS server and the variables of new containers
 *
 * The whole state is computed anew after each change, and written if it differs from what was
 * written last; a new process writes it once. Rules that cannot be applied are tried again.
 */
#pragma once

#include "client/client.h"
#include "model/ip4.h"
#include "node/worker.h"

struct net_services;
struct pod_nets;

struct net_services_options {
    struct loop *loop;
    struct client *client;
    struct worker *worker;
    const struct pod_nets *nets; /* for host ports; borrowed */
    const char *dir;             /* DATA/node */
    const char *node;            /* this node's name */
    void (*applied)(void *arg);  /* other rules hold now */
    void *arg;
    struct ip4_net pods;
    struct ip4_net services;
};

/* ERR_NOT_FOUND: the DNS server is not installed. */
struct err *net_services_new(const struct net_services_options *o,
                             struct net_services **ret) MUST_CHECK;
void net_services_free(struct net_services *s); /* accepts NULL; rules stay, names are gone */

/* The network of a pod is ready or gone: its host ports changed. */
void net_services_pods_changed(struct net_services *s);

/* Do the rules hold for the pod, so that it may start? Not yet: `*ret_problem` is the reason why
 * the newest rules do not hold, borrowed; NULL: they are on their way. */
bool net_services_cover(const struct net_services *s, const char *uid, const char **ret_problem);
/* Do new connections to some Service lead to this address? */
bool net_services_lead_to(const struct net_services *s, const char *address);

/* Adds the variables of the Services of a namespace (service_env.h). */
void net_services_env(const struct net_services *s, const char *ns, json_t *env);
