/*
 * admission.h - who is asked about a write: webhooks and admission policies
 *
 * The module follows the configurations in the store. Both functions fail while answers are
 * missing: the context then is waiting (admission_context.h), and the caller runs the write again
 * later.
 */
#pragma once

#include "kinds/admission/admission_context.h"
#include "kinds/admission/hook_match.h"

struct admission;

struct err *admission_new(struct store *s, struct admission **ret) MUST_CHECK;
void admission_free(struct admission *a); /* accepts NULL */

/* Is there any configuration? */
bool admission_is_active(const struct admission *a);
/* Are there mutating webhooks that the write, as far as it is known, is for? */
bool admission_mutates(const struct admission *a, const struct admission_ask *ask);

/* A mutation in progress. */
struct admission_mutation {
    struct admission_context *admission;
    struct admission_ask *ask; /* its `object` is set to what `object` is */
    json_t *warnings;          /* array; NULL: drop them */
    json_t *object;            /* owned by the caller; replaced by patches */
    /* Makes a patched tree into an object again: schema and defaults. */
    struct err *(*settle)(void *arg, json_t *object);
    void *arg;
};

/* Lets mutating webhooks change the object. Errors: a denial in the webhook's words; ERR_INTERNAL:
 * a webhook that must answer does not. */
struct err *admission_mutate(const struct admission *a, struct admission_mutation *m) MUST_CHECK;

/* Asks policies, then all validating webhooks at once. */
struct err *admission_validate(const struct admission *a, struct admission_context *d,
                               const struct admission_ask *ask, json_t *warnings) MUST_CHECK;
