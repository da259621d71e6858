/* body.h - request bodies and the parameters of writes */
#pragma once

#include "api/core.h"
#include "kinds/object/objects.h"

/* Parses the body. ERR_BAD_REQUEST: not a JSON object. `*ret_type_known` is false for an
 * unsupported media type. */
struct err *body_parse(const struct call *c, json_t **ret, bool *ret_type_known) MUST_CHECK;

/* The same for an optional body; `*ret` is NULL if it is missing. */
struct err *body_parse_optional(const struct call *c, json_t **ret,
                                bool *ret_type_known) MUST_CHECK;

/* Parses a body whose type is a form of YAML, JSON included. */
struct err *body_parse_yaml(const struct call *c, json_t **ret) MUST_CHECK;

/* The media type of the body without parameters; "": none. The text is the arena's. */
const char *body_type(const struct call *c);

/* Answers 415 and names the accepted media types. Ends the exchange. */
void reply_unsupported(const struct call *c, const char *accepted);

/* Fills a write's request from the caller, the path, fieldValidation, dryRun and fieldManager; adds
 * warnings to `warnings`. */
struct err *write_request(const struct call *c, json_t *warnings,
                          struct objects_request *ret) MUST_CHECK;

/* The same for a server-side apply, with `force`. ERR_INVALID: no fieldManager. */
struct err *apply_request(const struct call *c, json_t *warnings,
                          struct objects_request *ret) MUST_CHECK;
/* ERR_INVALID: a patch other than an apply has the parameter `force`. */
struct err *check_unforced(const struct call *c) MUST_CHECK;

/* Reads gracePeriodSeconds, preconditions, propagationPolicy and dryRun from a DeleteOptions body
 * (may be NULL) and the query. */
struct err *delete_options_parse(const struct call *c, const json_t *body,
                                 struct delete_options *ret) MUST_CHECK;
