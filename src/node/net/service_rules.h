/*
 * service_rules.h - the text of the nftables rules that make Services work: plain functions
 *
 * The whole state of the table `ip mete` is one text, which the kernel applies as a transaction.
 * Established connections keep their pods, since only the first packet of a connection passes the
 * rules of addresses. The clients of sessionAffinity are in sets, which a text keeps that follows
 * another.
 *
 * A Service that has no ready endpoint refuses connections. Endpoints that end take connections
 * only while no others are there, as in Kubernetes.
 */
#pragma once

#include "base/json.h"
#include "base/str.h"
#include "model/ip4.h"
#include "node/net/policy_rules.h"

#define RULES_TABLE "mete"

/* A host port of a pod of this node. */
struct rules_host_port {
    const char *protocol; /* "TCP" or "UDP" */
    int64_t port;
    const char *address; /* of the pod */
    int64_t target;
};

struct rules_input {
    struct ip4_net pods;
    struct ip4_net services;
    unsigned api_port;                /* of the gateway; 0: none */
    const char *node;                 /* this node's name, for the traffic policies Local */
    const json_t *const *services_at; /* Services, in any order */
    size_t n_services;
    const json_t *const *slices_at; /* EndpointSlices, in any order */
    size_t n_slices;
    const struct rules_host_port *ports_at;
    size_t n_ports;
    const char *const *links_at; /* the machine's ends of the pods' veth pairs, sorted */
    size_t n_links;
    struct policy_input policies;
};

/* References of the caller. */
struct rules_names {
    json_t *names;  /* of the text's own chains and sets */
    json_t *takers; /* address → true: ready endpoints, to which new connections lead */
};

/*
 * Adds the text; the same objects in another order give the same. `before`: the names that the text
 * gave which the kernel applied last; NULL: none, and the text replaces a table of an earlier
 * process.
 */
void service_rules_format(const struct rules_input *in, const json_t *before, struct buf *out,
                          struct rules_names *ret);
