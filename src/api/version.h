/* version.h - the resourceVersion parameters of reads */
#pragma once

#include "api/core.h"

/* "" and "0" are 0; ERR_BAD_REQUEST for what is no number. */
struct err *version_parse(const struct call *c, int64_t *ret) MUST_CHECK;

/* ERR_TIMEOUT, as Kubernetes has it, for a version that is not there yet. */
struct err *version_check_reached(const struct call *c, int64_t version) MUST_CHECK;

struct err *version_expired(int64_t version, int64_t oldest) MUST_CHECK;
