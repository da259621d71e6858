/*
 * pod_volume_claims.h - the persistent volumes that a pod gets through its claims
 *
 * A loop (control/volumes) reads the claims that a pod names and writes what they mean into the
 * annotation mete.dev/volumes, so that the pod's tree says where it may run and what to mount:
 *
 *   wait MESSAGE                   the pod cannot be placed yet
 *
 *   ready [NODE]                   the pod can be placed, perhaps on one node only; then a line for
 *   data pvc-7f.. 1073741824 -     each claim that is bound: the claim, the volume, its size in
 *   more disk-1 5368709120 /mnt/a  bytes, and its path on the node ("-": a volume of the node's
 *                                  own). A claim without a line gets its volume once the pod is
 *                                  placed.
 *
 * The server sets "wait" when it stores a pod with claims.
 */
#pragma once

#include <stdint.h>

#include "base/json.h"
#include "base/str.h"

#define POD_VOLUMES      "mete.dev/volumes"
#define POD_VOLUMES_WAIT "wait "
#define POD_VOLUMES_NEW  POD_VOLUMES_WAIT "waits until its volume claims are read"

struct pod_volume {
    struct str claim;
    struct str volume;
    int64_t bytes;
    struct str path; /* empty: a volume of the node's own */
};

/* The claim that the volume of a PodSpec names; NULL: none. The caller frees it. An ephemeral
 * volume's claim is POD-VOLUME. */
char *pod_volume_claim(const json_t *pod, const json_t *volume);
/* Does the pod name claims? */
bool pod_has_volume_claims(const json_t *pod);
/* Why the pod cannot be placed yet, as far as volumes go; NULL: it can. Borrowed. */
const char *pod_volumes_wait(const json_t *pod);
/* The only node of the pod; "": any. The caller frees the text. */
char *pod_volumes_node(const json_t *pod);
/* The volume of a claim. False: the claim is not bound. Texts are borrowed from the pod. */
bool pod_volume_find(const json_t *pod, const char *claim, struct pod_volume *ret);
/* Has each claim of the pod a volume? */
bool pod_volumes_are_bound(const json_t *pod);
