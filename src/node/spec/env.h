/* env.h - the environment of a container, and $(VAR) in its command, by the kubelet's rules */
#pragma once

#include "base/json.h"

struct env_input {
    const json_t *pod;
    const json_t *container;
    const json_t *refs; /* refs.h */
    const char *node;
    const json_t *labels; /* of the node; NULL: not known */
    const char *host_ip;
    const char *pod_ip; /* NULL: not known yet */
    int64_t cpu_milli;  /* of the node: the value of a resourceFieldRef to an absent limit */
    int64_t memory_bytes;
    int64_t start_ns;       /* of the pod, realtime */
    const json_t *services; /* variables of Services; NULL: none */
    const char *data;       /* DATA, whose mete.sock the pod may use; NULL: it has none */
};

enum {
    ENV_VALUE_MAX = 1 << 20
};

/*
 * Adds the variables of Services, those of a Slurm job (kinds/slurm/slurm_job.h,
 * SLURM_ENVIRONMENT_ANNOTATION) with the names of its node and its times, then the container's own.
 * Adds the container's variables to `env`, an ordered object of name → value that has the image's
 * variables already. ERR_NOT_FOUND: a ConfigMap, Secret or key is missing and not optional.
 */
struct err *env_add(const struct env_input *in, json_t *env) MUST_CHECK;

/* Replaces each $(NAME) in `text` by its value in `env`; undefined names stay, $$ becomes $. The
 * caller frees the result. */
char *env_expand(const char *text, const json_t *env);

/*
 * The values of a fieldRef's path and of a resourceFieldRef. `*ret` is borrowed from the pod. `in`
 * needs no container if the reference names one. ERR_INVALID: no such field.
 */
struct err *env_field(const struct env_input *in, const char *path, const char **ret) MUST_CHECK;
struct err *env_resource(const struct env_input *in, const json_t *ref, int64_t *ret) MUST_CHECK;
