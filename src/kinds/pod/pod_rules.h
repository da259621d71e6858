/* pod_rules.h - rules of pods beyond their schema */
#pragma once

#include "kinds/kind/kind.h"

struct path;

void pod_set_defaults(json_t *pod, const struct kind_context *c); /* pod_defaults.c */
void pod_validate(const json_t *pod, struct causes *causes);      /* pod_validate.c */
/* For templates: only the part that makes their pods valid. */
void pod_spec_set_defaults(json_t *spec);
void pod_spec_validate(const json_t *spec, const struct path *at, struct causes *causes);
struct err *pod_validate_update(const json_t *before, const json_t *after,
                                const struct kind_context *c) MUST_CHECK; /* pod_update.c */

/* The same for the subresource ephemeralcontainers: containers are only added. */
struct err *pod_validate_ephemeral_update(const json_t *before, const json_t *after) MUST_CHECK;

/* affinity and topologySpreadConstraints (pod_affinity.c) */
void pod_validate_affinity(const json_t *spec, const struct path *at, struct causes *causes);
/* Does a term about other pods select other namespaces, or could it? */
bool pod_crosses_namespaces(const json_t *pod);

/* Scheduling gates (pod_gates.c): a pod is not placed while it has one, and gets none after
 * creation. */
void pod_validate_gates(const json_t *spec, const struct path *at, struct causes *causes);
void pod_check_gates(const json_t *was, const json_t *is, const struct path *at,
                     struct causes *causes);

/* securityContext of the pod and of one container (pod_security.c) */
void pod_validate_security(const json_t *spec, const struct path *at, struct causes *causes);
void container_validate_security(const json_t *container, const json_t *spec, const struct path *at,
                                 struct causes *causes);

/* Probes and lifecycle of one container (pod_probes.c). */
void container_set_probes(json_t *container);
void container_validate_probes(const json_t *container, const json_t *spec, bool is_init,
                               const struct path *at, struct causes *causes);

/* A volume, and the mounts of a container (pod_volume_validate.c) */
void pod_validate_volume(const json_t *volume, const json_t *spec, const struct path *at,
                         struct causes *causes);
void container_validate_mounts(const json_t *container, const json_t *spec, const struct path *at,
                               struct causes *causes);

/* The resource of a resourceFieldRef; metadata.labels['KEY'] and the like (pod_validate.c) */
void pod_validate_resource_ref(const json_t *ref, const json_t *spec, const struct path *at,
                               struct causes *causes);
bool pod_field_is_subscript(const char *path);

/* One toleration (pod_validate.c) */
void toleration_validate(const json_t *toleration, const struct path *at, struct causes *causes);

/* The amounts of an overhead (pod_resources.c) */
void pod_validate_overhead(json_t *amounts, const struct path *at, struct causes *causes);

/* requests and limits of one container (pod_resources.c) */
void container_validate_resources(const json_t *container, const struct path *at,
                                  struct causes *causes);
