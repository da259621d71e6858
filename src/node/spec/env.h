/* env.h - the environment of a container, and $(VAR) in its command, as the kubelet makes them */
#pragma once

#include "base/json.h"

struct env_input {
    const json_t *pod;
    const json_t *container;
    const json_t *refs; /* refs.h */
    const char *node;
    const char *host_ip;
    int64_t cpu_milli; /* of the node: what a limit that is not set stands for */
    int64_t memory_bytes;
};

enum {
    ENV_VALUE_MAX = 1 << 20
};

/*
 * Adds the container's variables to `env`, an object name → value in order that holds those of the
 * image already. ERR_NOT_FOUND: a ConfigMap, Secret or key that is not optional is missing.
 */
struct err *env_add(const struct env_input *in, json_t *env) MUST_CHECK;

/* `text` with each $(NAME) of `env` put in; what is not defined stays, $$ is $. The caller frees
 * it. */
char *env_expand(const char *text, const json_t *env);

/*
 * What a fieldRef's path and a resourceFieldRef stand for. `*ret` is borrowed from the pod; `in`
 * may have no container where the reference names one. ERR_INVALID: there is no such field.
 */
struct err *env_field(const struct env_input *in, const char *path, const char **ret) MUST_CHECK;
struct err *env_resource(const struct env_input *in, const json_t *ref, int64_t *ret) MUST_CHECK;
