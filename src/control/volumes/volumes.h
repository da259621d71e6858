/*
 * volumes.h - persistent volumes: the loop that binds claims, provisions volumes of the class
 * mete.dev/local, and tells pods where their volumes are
 *
 * A claim of a class with WaitForFirstConsumer gets its volume on the node of its first pod: the
 * pod is placed first. Where several waiting pods name such a claim, the loop chooses a node for
 * the claim and then lets the pods go there, so that a gang can share a claim. The
 * annotation mete.dev/volumes of a pod says what its claims mean (kinds/pod/pod_volume_claims.h).
 *
 * A volume and its claim are written in one transaction: no claim has two volumes, and no volume
 * has two claims. A volume's data is erased by its node, after the loop has seen that its claim is
 * gone (node/volume/own_volumes.h).
 */
#pragma once

#include "base/loop.h"
#include "control/cluster.h"
#include "control/events.h"

struct volumes_loop;

struct volumes_options {
    struct loop *loop;
    struct cluster *cluster;
    struct events *events;
};

struct err *volumes_loop_new(const struct volumes_options *o, struct volumes_loop **ret) MUST_CHECK;
void volumes_loop_free(struct volumes_loop *l); /* accepts NULL */
