/* review.h - AdmissionReview (admission.k8s.io/v1): what a webhook is asked, and what it answers */
#pragma once

#include "kinds/admission/hook_match.h"

/* The AdmissionRequest of a write without its uid, with the objects in the version of `k`. New
 * reference. */
json_t *review_request(const struct admission_ask *ask, const struct kind *k);

/* The text of the AdmissionReview. The caller frees it. */
char *review_format(const json_t *request, const char *uid);

/* Reads the `response` of an answer to the question `uid`. An error: it is none, in the words of
 * Kubernetes. */
struct err *review_read(int status, struct str body, const char *uid, json_t **ret) MUST_CHECK;

/* The error of a denial: `admission webhook "NAME" denied the request: ...`, with the code and
 * reason of the response. */
struct err *review_denial(const char *hook, const json_t *response) MUST_CHECK;

/* Applies the patch of a response to `object`: a tree of its own in `*ret`, NULL: no patch. */
struct err *review_patch(const json_t *response, const json_t *object, json_t **ret) MUST_CHECK;
