/*
 * services.h - keeps the EndpointSlices and Endpoints of Services
 *
 * Pods come and go in bursts: one look at a Service for all changes of a moment. Slices and
 * Endpoints of others (another manager label) stay untouched.
 */
#pragma once

#include "control/cluster.h"

struct services;

struct services_options {
    struct loop *loop;
    struct cluster *cluster;
};

struct err *services_new(const struct services_options *o, struct services **ret) MUST_CHECK;
void services_free(struct services *s); /* accepts NULL */
