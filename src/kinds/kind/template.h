/* template.h - core/v1 PodTemplateSpec, a part of other kinds */
#pragma once

#include "kinds/kind/cause.h"
#include "kinds/kind/kind.h"

/* {metadata, spec} */
extern const struct field pod_template_fields[];

/* Sets the defaults that do not depend on the pod. */
void template_set_defaults(json_t *template);
/* Validates the template as a pod with its spec; its metadata must have no reserved names. */
void template_validate(const json_t *template, const struct path *at, struct causes *causes);
/* The names or images (`member`) of the template's containers: "busybox,host". The caller frees the
 * text. */
char *template_containers(const json_t *template, const char *member);
