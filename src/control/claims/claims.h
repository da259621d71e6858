/*
 * claims.h - ResourceClaims: the loop that reads them for pods, and tells who has their devices
 *
 * The loop publishes the gpus of each node as ResourceSlices, makes the claims of templates, writes
 * into each waiting pod what its claims ask for (kinds/pod/pod_claims.h), and keeps the status of
 * each claim: its devices and the pods that use it. The scheduler and the ledger give the devices;
 * the status is a picture of what they gave.
 *
 * Where claims can be met in several ways (firstAvailable, constraints, devices for monitoring),
 * the loop writes the first way by which the pod could start now. It asks the scheduler again each
 * second while such a pod waits.
 *
 * A claim that several pods name is given to the oldest of them first; the others wait until that
 * pod is bound, and then share its devices. The claim loses its devices with the last of them.
 */
#pragma once

#include "control/cluster.h"

struct claims;
struct loop;
struct scheduler;

struct claims_options {
    struct loop *loop;
    struct cluster *cluster;
    struct scheduler *scheduler; /* says which of several ways to meet a claim is open */
};

struct err *claims_new(const struct claims_options *o, struct claims **ret) MUST_CHECK;
void claims_free(struct claims *c); /* accepts NULL */
