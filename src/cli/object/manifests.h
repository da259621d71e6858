/* manifests.h - objects from manifests: YAML or JSON, several documents, lists, directories,
 * standard input */
#pragma once

#include "base/json.h"
#include "cli/cli.h"

enum {
    MANIFEST_BYTES_MAX = 16 << 20,
    MANIFEST_OBJECTS_MAX = 10000
};

/*
 * Reads all objects of the files of the repeated flag "file", in order, as a new array. A
 * directory contributes its *.yaml, *.yml and *.json, sorted; a List its items. ERR_BAD_REQUEST
 * names file, line and column of a malformed document.
 */
struct err *manifests_read(struct cli *c, json_t **ret) MUST_CHECK;

/* Adds the objects of one text. */
struct err *manifests_parse(const char *name, struct str text, json_t *objects) MUST_CHECK;
