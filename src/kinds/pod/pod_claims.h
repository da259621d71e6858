/*
 * pod_claims.h - the devices that a pod gets through ResourceClaims
 *
 * A loop (control/claims) reads the claims that a pod names and writes what they mean into the
 * annotation mete.dev/claims, so that the pod's tree says all that it asks for:
 *
 *   wait MESSAGE                          the pod cannot be placed yet
 *
 *   ready [NODE]                          the pod can be placed, perhaps on one node only; then a
 *   gpu req-0 UID 1 *                     line for each request: the pod's name for the claim, the
 *   half r UID 0.5,20Gi GPU-8c1f,GPU-77   request, the claim's uid, the ask (model/gpu_ask.h), and
 *                                         the gpus to choose from ("*": any)
 *   mig req-0 UID 1xmig-1g.10gb GPU-77@48 the same, of slices whose starts, here 4 and 5, are the
 *                                         bits of a number
 *   gpu req-0 UID held GPU-8c1f;GPU-77    another pod has the claim's devices, which the pod shares
 *                                         (model/device.h)
 *   gpu req-0 UID seen GPU-8c1f;GPU-77    devices of the node that the pod's containers see, for
 *                                         monitoring; nothing of them is held
 */
#pragma once

#include "base/json.h"
#include "kinds/kind/cause.h"
#include "model/device.h"

#define POD_CLAIMS      "mete.dev/claims"
#define POD_CLAIMS_WAIT "wait "
#define POD_CLAIM_SEEN  "seen"

struct pod_claim {
    struct str id; /* "gpu req-0 UID": equal for equal requests of one pod */
    struct str name;
    struct str request;
    struct str uid;
    struct str ask;  /* of a claim that is held: empty */
    struct str gpus; /* "GPU-8c1f,GPU-77"; empty: any */
    uint16_t starts; /* of slices: bits; 0: any */
    struct str held; /* "GPU-8c1f;GPU-77"; empty: not held */
    struct str seen; /* the same; empty: none */
};

/* Does the pod name claims? */
bool pod_has_claims(const json_t *pod);
/* Why the pod cannot be placed yet, as far as claims go; NULL: it can, or has no claims. Borrowed.
 */
const char *pod_claims_wait(const json_t *pod);
/* The only node of the pod; "": any. The caller frees the text. */
char *pod_claims_node(const json_t *pod);

/* The lines of the annotation: begin with *rest = {0}. False: no further line. Texts are borrowed
 * from the pod. */
bool pod_next_claim(const json_t *pod, struct str *rest, struct pod_claim *ret);
/* Does the container name the claim, or its request? */
bool container_has_claim(const json_t *container, const struct pod_claim *c);
/* The devices of a held claim, one after the other: begin with *rest = c->held, or c->seen. */
bool pod_next_held(struct str *rest, struct device *ret);
/* The number of devices that the container shares with other pods by claims. */
size_t container_held_count(const json_t *pod, const json_t *container);
/* The number of devices that the container sees for monitoring, by claims. */
size_t container_seen_count(const json_t *pod, const json_t *container);
/* Does the pod share this device of another pod's claim? */
bool pod_shares_device(const json_t *pod, const struct device *d);

/* Adds causes for claims of a PodSpec. */
void pod_validate_claims(const json_t *spec, const struct path *at, struct causes *causes);
