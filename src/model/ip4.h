/* ip4.h - IPv4 addresses and networks, and their text forms "10.0.0.1" and "10.0.0.0/24" */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum {
    IP4_TEXT_SIZE = 16,    /* "255.255.255.255" and a NUL */
    IP4_NET_TEXT_SIZE = 19 /* "255.255.255.255/32" and a NUL */
};

/* A value; addresses are in host byte order. `bits` 0 is no network. */
struct ip4_net {
    uint32_t address; /* the first of the network */
    unsigned bits;    /* 1 to 32 */
};

/* Four decimal numbers without leading zeros. ERR_INVALID, in Kubernetes' words. */
struct err *ip4_parse(const char *text, uint32_t *ret) MUST_CHECK;
void ip4_format(uint32_t address, char ret[IP4_TEXT_SIZE]);

/* Does the text have the form of an IPv6 address (a colon)? */
bool ip_is_six(const char *text);

/* "10.0.0.0/24". ERR_INVALID: other text, no bits, or bits of the address behind the network's. */
struct err *ip4_net_parse(const char *text, struct ip4_net *ret) MUST_CHECK;
void ip4_net_format(struct ip4_net net, char ret[IP4_NET_TEXT_SIZE]);

/* A network as rules name it: of any size, "0.0.0.0/0" too. */
struct ip4_block {
    uint32_t address; /* the first */
    unsigned bits;    /* 0 to 32 */
};

/* "10.0.0.5/8" is 10.0.0.0/8. ERR_INVALID: other text. */
struct err *ip4_block_parse(const char *text, struct ip4_block *ret) MUST_CHECK;
bool ip4_block_has(struct ip4_block block, uint32_t address);

bool ip4_net_has(struct ip4_net net, uint32_t address);
bool ip4_nets_overlap(struct ip4_net a, struct ip4_net b);
/* The number of addresses, the first and the last included. */
uint64_t ip4_net_size(struct ip4_net net);
