/*
 * service.h - the rules of core/v1 Services: defaults, validation, and the addresses and node ports
 * that the server gives out
 *
 * A Service holds its address and node ports itself, in its spec. A creation compares with all
 * Services of the applied state, so that two creations never get the same.
 */
#pragma once

#include "kinds/kind/kind.h"
#include "model/ip4.h"
#include "store/store.h"

/* Node ports, as in Kubernetes. */
enum {
    NODE_PORT_MIN = 30000,
    NODE_PORT_MAX = 32767
};

enum {
    API_SERVICE_PORT = 443 /* of default/kubernetes */
};

#define SERVICE_NETWORK "10.96.0.0/16" /* the default */

void service_set_defaults(json_t *service, const struct kind_context *c);
void service_validate(const json_t *service, struct causes *causes);
struct err *service_validate_update(const json_t *before, const json_t *after,
                                    const struct kind_context *c) MUST_CHECK;

/* Readers of a validated Service. */
bool service_is_headless(const json_t *service);
bool service_has_address(const json_t *service);    /* clusterIP is an address */
bool service_has_node_ports(const json_t *service); /* NodePort, or LoadBalancer */
/* The type, "ClusterIP" by default. Borrowed. */
const char *service_type(const json_t *service);

/* Before the validation of an update: an address and node ports that the client left out stay, and
 * those that the new type does not have go. */
void service_keep(const json_t *before, json_t *service);

/* The sources of a Service's address and ports. */
struct service_pools {
    const struct store *store;
    struct ip4_net network;
    uint32_t (*random)(void *arg); /* where the search for a free one begins */
    void *arg;
};

/*
 * Gives `service`, which has its defaults, the address and node ports that its type asks for and
 * that it does not have. `before` (NULL: a creation) is the present object. ERR_INVALID, in
 * Kubernetes' words: an address or port that the service names is taken or not of the pool.
 * ERR_BUSY: the pool is empty.
 */
struct err *service_allocate(const struct service_pools *p, const json_t *before,
                             json_t *service) MUST_CHECK;

/* The first address of the network: of the Service default/kubernetes. The tenth: of DNS. */
uint32_t service_address_of_api(struct ip4_net network);
uint32_t service_address_of_dns(struct ip4_net network);
