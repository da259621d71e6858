/*
 * net_config.h - the pod network as CNI plugins and pods see it: plain functions, without I/O
 *
 * A pod has a veth pair (plugin ptp): its packets, also those to other pods, are routed by the
 * machine, so that the rules of Services see both directions (docs/adr/0022-pod-network.md). The
 * first address of the network is the gateway's: an address of the machine.
 */
#pragma once

#include "base/json.h"
#include "model/ip4.h"

#define NET_NAME "mete" /* of the network, for the plugins */

uint32_t net_gateway(struct ip4_net network);

/* An array of plugin configurations. `ipam_dir`: where host-local keeps the addresses given out. */
json_t *net_plugins(struct ip4_net network, const char *ipam_dir);

/* The pod's address in a result of ADD, as text. ERR_INTERNAL: there is none. The caller frees it.
 */
struct err *net_result_address(const json_t *result, char **ret) MUST_CHECK;

/* The name of the machine's end of the pod's veth pair in a result of ADD. ERR_INTERNAL: there is
 * none. The caller frees it. */
struct err *net_result_link(const json_t *result, char **ret) MUST_CHECK;

/* Has the pod an address of its own? Not with hostNetwork, nor with a container of the image
 * `host`. */
bool net_is_wanted(const json_t *pod);

/* The facts of a pod that policies ask for: {namespace, name, labels, ports: [{name, protocol,
 * port}]} with the ports that have names. New reference. */
json_t *net_facts(const json_t *pod);

/* The host ports of a pod: an array of {hostPort, containerPort, protocol}. New reference. */
json_t *net_host_ports(const json_t *pod);
