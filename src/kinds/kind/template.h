/* template.h - what a pod is to be made from (core/v1 PodTemplateSpec), as it stands in other kinds
 */
#pragma once

#include "kinds/kind/cause.h"
#include "kinds/kind/kind.h"

/* {metadata, spec} */
extern const struct field pod_template_fields[];

/* The defaults that do not depend on the pod. */
void template_set_defaults(json_t *template);
/* As of a pod with that spec, and no names under mete.dev/ in its metadata. */
void template_validate(const json_t *template, const struct path *at, struct causes *causes);
/* "busybox,host": the names or images of its containers. The caller frees it. */
char *template_containers(const json_t *template, const char *member);
