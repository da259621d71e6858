/*
 * endpoints_of.h - the EndpointSlices and the Endpoints that a Service should have
 *
 * Plain functions of the Service and its pods, without I/O; the same input gives the same output,
 * with the same names. Results have everything that services.h writes and compares.
 */
#pragma once

#include <stddef.h>

#include "base/json.h"

#define SERVICE_LABEL         "kubernetes.io/service-name" /* of a slice: its Service */
#define SLICE_MANAGER         "endpointslice.kubernetes.io/managed-by"
#define SLICE_OWNER           "endpointslice-controller.k8s.io"
#define SLICE_MIRROR          "endpointslicemirroring-controller.k8s.io"
#define ENDPOINTS_MANAGER     "endpoints.kubernetes.io/managed-by"
#define ENDPOINTS_SKIP_MIRROR "endpointslice.kubernetes.io/skip-mirror"
#define ENDPOINTS_OWNER       "endpoint-controller"

enum {
    SLICE_ENDPOINTS_MAX = 100,     /* of one slice, as in Kubernetes */
    ENDPOINTS_ADDRESSES_MAX = 1000 /* of one Endpoints object */
};

/* The pods in the Service's namespace that match its selector, in the order of their names. */
struct service_pods {
    const json_t *const *at;
    size_t n;
};

/* An array of EndpointSlices, at least one. New reference. */
json_t *service_slices(const json_t *service, struct service_pods pods);

/* The Endpoints object. New reference. */
json_t *service_endpoints(const json_t *service, struct service_pods pods);

/* The slices of a Service without a selector, from the Endpoints that its user wrote (NULL: none).
 * New reference. */
json_t *service_mirror(const json_t *service, const json_t *endpoints);
