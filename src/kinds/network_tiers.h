/*
 * network_tiers.h - Volcano's networkTopology in terms of node labels
 *
 * Volcano counts tiers from 1, the nearest: a switch of machines, a switch of switches. Here a tier
 * is a label whose values are its domains, as the configuration names them: "rack,block". What a
 * PodGroup asks for is written onto it as annotations when it is written, so that it keeps what it
 * was admitted with; topology_read reads them.
 */
#pragma once

#include "base/err.h"

enum {
    NETWORK_TIERS_MAX = 4
};

/* {0} is none; network_tiers_done frees. */
struct network_tiers {
    char *keys[NETWORK_TIERS_MAX]; /* of node labels, the narrowest first */
    size_t n;
};

/* "rack,block"; "" is none. ERR_INVALID says which part is no label key, or there twice. */
struct err *network_tiers_parse(const char *text, struct network_tiers *ret) MUST_CHECK;
void network_tiers_done(struct network_tiers *t);
