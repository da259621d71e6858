/*
 * ingress.h - rules of Ingress and IngressClass, in the words of Kubernetes' validation
 *
 * Mete has no ingress controller: the objects are for one of others.
 */
#pragma once

#include "kinds/kind/cause.h"

#define INGRESS_DEFAULT_CLASS "ingressclass.kubernetes.io/is-default-class"
#define INGRESS_OLD_CLASS     "kubernetes.io/ingress.class"

void ingress_validate(const json_t *ingress, struct causes *causes);
void ingress_class_validate(const json_t *class, struct causes *causes);
bool ingress_class_is_default(const json_t *class);
