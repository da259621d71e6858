/*
 * dra_slices.h - keeps the ResourceSlices of this node at the API server
 *
 * The slices belong to the Node object and go with it. A kubelet deletes them when it starts or has
 * lost the driver: they come back at once.
 */
#pragma once

#include "client/client.h"
#include "kubelet/dra/dra_pool.h"

struct dra_slices;

struct dra_slices_options {
    struct loop *loop;
    struct client *client; /* borrowed */
    const char *node;
};

struct dra_slices *dra_slices_new(const struct dra_slices_options *o);
void dra_slices_free(struct dra_slices *s); /* accepts NULL; the slices stay */

/* Publishes the devices, which are borrowed until the next call. */
void dra_slices_update(struct dra_slices *s, const struct dra_devices *d);

/* The version of the server's API. False: not known yet. */
bool dra_slices_version(const struct dra_slices *s, enum dra_version *ret);
