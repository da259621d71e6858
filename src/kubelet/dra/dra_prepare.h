/*
 * dra_prepare.h - NodePrepareResources and NodeUnprepareResources of a kubelet
 *
 * The answer for a claim that is prepared already comes from its file (dra_store.h), also without
 * an API server. Another claim is read from the API server, which says what the scheduler gave to
 * it. A device that another claim holds is refused; if that claim is gone, or has lost its devices,
 * then the kubelet's farewell was lost, and the device is free.
 */
#pragma once

#include "client/client.h"
#include "kubelet/dra/dra_slices.h"
#include "kubelet/dra/dra_store.h"
#include "kubelet/grpc/grpc_server.h"

struct dra_preparer;

struct dra_preparer_options {
    struct loop *loop;
    struct client *client;             /* this and the following: borrowed */
    const struct dra_slices *slices;   /* know the version of the API */
    const struct dra_devices *devices; /* of now; change in place */
    struct dra_store *store;
};

struct dra_preparer *dra_preparer_new(const struct dra_preparer_options *o);
/* Calls under way end by their server (grpc_server_free), before or after. Accepts NULL. */
void dra_preparer_free(struct dra_preparer *p);

/* Methods of a gRPC server. */
void dra_prepare(struct dra_preparer *p, struct grpc_call *call, struct str message);
void dra_unprepare(struct dra_preparer *p, struct grpc_call *call, struct str message);
