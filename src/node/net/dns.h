/*
 * dns.h - the DNS server of the pods: dnsmasq at the gateway's address, a child of this process
 *
 * The server answers names of the cluster from a hosts file, which is read again when it changed,
 * and asks the machine's name servers for all others. A child that ends is started again.
 */
#pragma once

#include "base/err.h"
#include "base/loop.h"
#include "model/ip4.h"

struct dns;

struct dns_options {
    struct loop *loop;
    const char *dir; /* DATA/node */
    struct ip4_net pods;
};

/* ERR_NOT_FOUND: dnsmasq is not installed. */
struct err *dns_new(const struct dns_options *o, struct dns **ret) MUST_CHECK;
void dns_free(struct dns *d); /* accepts NULL; ends the child */

/* The path of the hosts file, which the caller writes. Borrowed. */
const char *dns_hosts_path(const struct dns *d);
void dns_read_again(struct dns *d);
