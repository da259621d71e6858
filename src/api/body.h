/* body.h - bodies of requests, and the parameters of writes */
#pragma once

#include "api/core.h"
#include "kinds/object/objects.h"

/* ERR_BAD_REQUEST for what is no JSON object. `*ret_type_known` is false for a media type that is
 * not taken. */
struct err *body_parse(const struct call *c, json_t **ret, bool *ret_type_known) MUST_CHECK;

/* The same of a body that may be missing: `*ret` is NULL then. */
struct err *body_parse_optional(const struct call *c, json_t **ret,
                                bool *ret_type_known) MUST_CHECK;

/* The media type of the body without its parameters; "" for none. Of the arena. */
const char *body_type(const struct call *c);

/* A 415 that names what is accepted. The exchange is over. */
void reply_unsupported(const struct call *c, const char *accepted);

/* Who, what and how, from the path and fieldValidation and dryRun; warnings go to `warnings`. */
struct err *write_request(const struct call *c, json_t *warnings,
                          struct objects_request *ret) MUST_CHECK;

/* gracePeriodSeconds, preconditions, propagationPolicy, dryRun from a DeleteOptions body (may be
 * NULL) and the query. */
struct err *delete_options_parse(const struct call *c, const json_t *body,
                                 struct delete_options *ret) MUST_CHECK;
