/*
 * guard.h - what a request must show before it is looked at
 *
 * Host: an address, "localhost" or the machine's own name. A page of another site, whose name was
 * turned to this address (DNS rebinding), shows its own name and is refused.
 *
 * Changes: the browser must say that they come from this very origin. Requests of the API need a
 * header of ours besides, which a form of another site cannot set.
 */
#pragma once

#include "http/request.h"

#define GUARD_HEADER "x-mete"

/* ERR_BAD_REQUEST: the Host is missing, malformed or of somebody else. */
struct err *guard_check_host(const struct api_request *r, const char *own_name) MUST_CHECK;

/* ERR_FORBIDDEN: the Origin is missing or another one. */
struct err *guard_check_origin(const struct api_request *r) MUST_CHECK;

/* The same and the header. */
struct err *guard_check_change(const struct api_request *r) MUST_CHECK;

/* The value of a cookie; {0}: absent, or there twice. */
struct str guard_cookie(const struct api_request *r, const char *name);
