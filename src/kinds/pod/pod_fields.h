/* pod_fields.h - the parts of a pod's schema, which knows every field of core/v1 PodSpec */
#pragma once

#include "kinds/kind/kind.h"

extern const struct field container_item;              /* pod_container_fields.c */
extern const struct field ephemeral_container_item;    /* pod_container_fields.c */
extern const struct field toleration_item;             /* pod_spec_fields.c */
extern const struct field volume_item;                 /* pod_volume_fields.c */
extern const struct field pod_affinity_fields[];       /* pod_affinity_fields.c */
extern const struct field pod_spread_item;             /* pod_affinity_fields.c */
extern const struct field pod_status_fields[];         /* pod_status_fields.c */
extern const struct field pod_spec_fields[];           /* pod_spec_fields.c */
extern const struct field probe_fields[];              /* pod_probe_fields.c */
extern const struct field lifecycle_fields[];          /* pod_probe_fields.c */
extern const struct field pod_security_fields[];       /* pod_security_fields.c */
extern const struct field container_security_fields[]; /* pod_security_fields.c */
extern const struct field host_alias_item;             /* pod_security_fields.c */
extern const struct field field_ref_fields[];          /* pod_container_fields.c: fieldRef */
extern const struct field resource_ref_fields[]; /* pod_container_fields.c: resourceFieldRef */
