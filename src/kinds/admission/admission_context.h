/*
 * admission_context.h - the state of a write between its attempts, while webhooks are asked
 *
 * A write is a function of the store, its request and the answers of webhooks. It runs until it
 * needs an answer that the context lacks; then it fails, the context asks, and once the answer is
 * there the write runs again from its beginning. So the loop never waits, and a change of the store
 * meanwhile is seen: the question differs, and is asked anew. Random bytes and the time are those
 * of the first attempt, so that equal attempts ask equal questions.
 */
#pragma once

#include "base/loop.h"
#include "kinds/admission/hook_target.h"

struct admission_context;

typedef void (*hook_done_fn)(void *arg, const struct err *e, int status, struct str body);

struct hook_post {
    const struct hook_target *target;
    struct str body;
    int64_t timeout_ns;
};

/* Sends a body to a webhook: a seam. `start` never calls back from inside, and `cancel` ends a call
 * without its callback. */
struct hook_caller {
    struct err *(*start)(void *arg, const struct hook_post *post, hook_done_fn done, void *done_arg,
                         void **ret_call);
    void (*cancel)(void *arg, void *call);
    void *arg;
};

struct admission_context_options {
    struct loop *loop;
    const struct store *store;
    const struct hook_caller *caller; /* borrowed, outlives the context */
    void (*random)(void *arg, void *ret, size_t size);
    void *random_arg;
    json_t *user; /* UserInfo of AdmissionReviews; a new reference is taken */
};

struct admission_context *admission_context_new(const struct admission_context_options *o);
void admission_context_free(struct admission_context *d); /* accepts NULL; ends calls */
static inline void admission_context_freep(struct admission_context **d)
{
    admission_context_free(*d);
}

/* An attempt begins. */
void admission_context_begin(struct admission_context *d);
/* The attempt lacked answers. */
bool admission_context_is_waiting(const struct admission_context *d);
/* Calls `fn` once, later, when all answers that the attempt lacked are there. */
void admission_context_await(struct admission_context *d, void (*fn)(void *arg), void *arg);

/* The time of the first attempt (realtime), and its random bytes. */
int64_t admission_context_now_ns(const struct admission_context *d);
void admission_context_random(struct admission_context *d, void *ret, size_t size);
/* The number of the first attempt that asked for one: `number` then. */
int64_t admission_context_pin(struct admission_context *d, int64_t number);
const json_t *admission_context_user(const struct admission_context *d);

/* The texts that webhooks want in the audit: an object, NULL: none. Of the last attempt. */
const json_t *admission_context_annotations(const struct admission_context *d);
void admission_context_annotate(struct admission_context *d, const char *key, const char *text);

/* Adds a warning for the client to `warnings` (NULL: not), and to those of a failed attempt. */
void admission_context_warn(struct admission_context *d, json_t *warnings, const char *text);
/* The warnings of the last attempt: an array, NULL: none. */
const json_t *admission_context_warnings(const struct admission_context *d);

/* A webhook to ask. */
struct hook_question {
    const char *key;      /* of the webhook in its version, and of the round of questions */
    const json_t *client; /* WebhookClientConfig */
    int64_t timeout_ns;
    const json_t *request; /* AdmissionRequest without its uid */
};

/* An answer: of `response` and `failure` one is NULL. Borrowed from the context. */
struct hook_answer {
    const json_t *response;
    const struct err *failure;
};

/*
 * Finds the answer to a question, or asks. False: the answer is not there yet. ERR_CONFLICT: the
 * question changed too often.
 */
struct err *admission_context_ask(struct admission_context *d, const struct hook_question *q,
                                  struct hook_answer *ret, bool *ret_is_there) MUST_CHECK;
