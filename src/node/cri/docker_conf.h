/*
 * docker_conf.h - what Docker's daemon.json has for Mete
 *
 * Docker has no drop-ins: features.cdi and the runtime `nvidia` are members of the one file.
 */
#pragma once

#include "base/json.h"

/* `now` with these members. A new reference. ERR_INVALID: a member has another form. */
struct err *docker_conf_make(const json_t *now, bool has_handler, json_t **ret) MUST_CHECK;

/* `now` without the members that `before` (the file before Mete; NULL: there was none) did not
 * have. A new reference. */
json_t *docker_conf_forget(const json_t *now, const json_t *before);
