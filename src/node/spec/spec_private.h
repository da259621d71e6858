/* spec_private.h - parts of config.json, each in its own file */
#pragma once

#include "node/spec/spec.h"

/* `key` of the container's securityContext, else of the pod's, else NULL. */
const json_t *spec_security(const json_t *pod, const json_t *container, const char *key);

/* spec_process.c: fills `process`: user, args, variables, directory, rights. */
struct err *spec_process(const struct spec_input *in, json_t *spec) MUST_CHECK;

/* spec_rights.c */
/* Repeats the server's checks of securityContext, so that a node need not trust the server. */
struct err *spec_check_security(const struct spec_input *in) MUST_CHECK;
bool spec_is_privileged(const json_t *container);
bool spec_is_root_read_only(const struct spec_input *in);
/* process.capabilities and process.noNewPrivileges */
void spec_capabilities(const struct spec_input *in, json_t *process);
void spec_seccomp(const struct spec_input *in, const json_t *capabilities, json_t *part);
void spec_sysctls(const struct spec_input *in, json_t *part);
