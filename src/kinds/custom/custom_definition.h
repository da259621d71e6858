/* custom_definition.h - names in CustomResourceDefinitions, and their conditions */
#pragma once

#include "base/json.h"

#define DEFINITION_GROUP     "apiextensions.k8s.io"
#define DEFINITION_PLURAL    "customresourcedefinitions"
#define DEFINITION_FINALIZER "customresourcecleanup.apiextensions.k8s.io"

/* Has the definition the condition, with status True? */
bool definition_is(const json_t *definition, const char *type);

/* Sets what a definition leaves to the server: singular, listKind, conversion. */
void definition_default(json_t *definition);

/*
 * Writes status.acceptedNames, the conditions NamesAccepted and Established, and storedVersions.
 * `others` are the accepted names (status.acceptedNames) of the other definitions of the group.
 */
void definition_put_status(json_t *definition, const json_t *others, int64_t now_ns);

/* Have all versions the same `member`? Then Kubernetes tells its faults below spec. */
bool definition_is_hoisted(const json_t *versions);
