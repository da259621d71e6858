/*
 * names.h - the names of Services and pods, as a hosts file for the DNS server, and resolv.conf:
 * plain functions
 *
 * SERVICE.NAMESPACE.svc.cluster.local is the Service's address, of a headless Service the addresses
 * of its ready endpoints; HOSTNAME.SERVICE... is an endpoint with a host name.
 */
#pragma once

#include "base/json.h"
#include "base/str.h"

#define CLUSTER_DOMAIN "cluster.local"

struct names_input {
    const json_t *const *services_at;
    size_t n_services;
    const json_t *const *slices_at;
    size_t n_slices;
};

/* Adds lines "ADDRESS NAME", sorted, each once. */
void names_format(const struct names_input *in, struct buf *out);

/*
 * The resolv.conf that the pod's dnsPolicy and dnsConfig ask for. `*ret_is_more`: the text comes
 * after the machine's lines. `server`: the DNS server of the cluster; NULL: there is none for this
 * pod. The caller frees it.
 */
char *names_resolv(const json_t *pod, const char *server, bool *ret_is_more);
