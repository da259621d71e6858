/*
 * network_tiers.h - Volcano's networkTopology in terms of node labels
 *
 * Volcano numbers tiers from 1, the nearest: a switch of machines, a switch of switches. In Mete a
 * tier is a node label whose values are the domains, configured as "rack,block". A write of a
 * PodGroup puts its tiers onto it as annotations, so that it keeps the labels that it was admitted
 * with; topology_read reads them.
 */
#pragma once

#include "base/err.h"

enum {
    NETWORK_TIERS_MAX = 4
};

/* {0} is none; network_tiers_done frees. */
struct network_tiers {
    char *keys[NETWORK_TIERS_MAX]; /* keys of node labels, the narrowest first */
    size_t n;
};

/*
 * Parses "rack,block"; "" is none. ERR_INVALID says which part is not a label key, or occurs twice.
 */
struct err *network_tiers_parse(const char *text, struct network_tiers *ret) MUST_CHECK;
void network_tiers_done(struct network_tiers *t);
