/* scale.h - the number of replicas of an object that has the subresource scale, whatever its kind
 */
#pragma once

#include "kinds/kind/kind.h"

/* Has the kind the subresource scale? */
bool scale_is_of(const struct kind *k);

struct scale {
    int64_t wanted;  /* spec.replicas */
    int64_t present; /* status.replicas */
    char *selector;  /* of the pods, as text; "": the object tells none */
};

/* Reads an object of a kind with the subresource; else {0}, with an empty selector. */
void scale_read(const struct kind *k, const json_t *object, struct scale *ret);
void scale_done(struct scale *s);

/* A merge patch of the object that asks for `replicas`; NULL: the kind has no such subresource. New
 * reference. */
json_t *scale_patch(const struct kind *k, int64_t replicas);
