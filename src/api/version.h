/* version.h - the resourceVersion parameters of reads */
#pragma once

#include "api/core.h"

/* Parses resourceVersion; "" and "0" are 0. ERR_BAD_REQUEST: not a number. */
struct err *version_parse(const struct call *c, int64_t *ret) MUST_CHECK;

/* ERR_TIMEOUT, as in Kubernetes: the store has not reached `version` yet. */
struct err *version_check_reached(const struct call *c, int64_t version) MUST_CHECK;

struct err *version_expired(int64_t version, int64_t oldest) MUST_CHECK;
