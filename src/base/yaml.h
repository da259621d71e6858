/* yaml.h - YAML documents (libyaml) into JSON trees, by the rules of Kubernetes' converter */
#pragma once

#include "base/json.h"

/*
 * Parses all documents of `text`; empty documents are left out. Scalars resolve as in YAML 1.1 core
 * as sigs.k8s.io/yaml does (yes/on are booleans only unquoted as y|yes|on..., 012 is octal 10).
 * Duplicate keys, more than 1,000 alias uses, depth over JSON_DEPTH_MAX are refused. Errors are
 * ERR_BAD_REQUEST and begin with "NAME:LINE:COLUMN: ". The caller owns the array.
 */
struct err *yaml_parse(const char *name, struct str text, json_t **ret_documents) MUST_CHECK;

/* Formats one document like kubectl -o yaml; keys keep their order. The caller frees it. */
char *yaml_format(const json_t *j);
