/*
 * set_claims.h - the claims of StatefulSets: made for each ordinal, kept when its pod goes, and
 * deleted as persistentVolumeClaimRetentionPolicy says
 *
 * The claim of template T for pod P is T-P. The garbage collector deletes claims: the policy is
 * written into a claim as an owner, the set (whenDeleted) or the pod (whenScaled).
 */
#pragma once

#include "control/apps/apps_loop.h"

struct set_claims;

struct set_claims *set_claims_new(void);
void set_claims_free(struct set_claims *c); /* accepts NULL */
void set_claims_put(struct set_claims *c, const json_t *claim);
void set_claims_remove(struct set_claims *c, const char *ns, const char *name);
void set_claims_clear(struct set_claims *c);

/* Adds the volumes of the set's claims to a new pod of the name. */
void set_claims_mount(const struct app *a, json_t *pod_spec, const char *pod);
/* Makes the missing claims of a pod to be. False: the pod must wait. */
bool set_claims_make(struct set_claims *c, struct app *a, const char *pod);
/* Writes the retention policy into the claims of a pod, which the set keeps (`is_kept`), or is
 * about to delete. False: the writes are not done yet. */
bool set_claims_own(struct set_claims *c, struct app *a, const struct app_part *pod, bool is_kept);
