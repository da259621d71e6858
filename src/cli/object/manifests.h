/* manifests.h - objects out of files: YAML or JSON, several documents, lists, directories, standard
 * input */
#pragma once

#include "base/json.h"
#include "cli/cli.h"

enum {
    MANIFEST_BYTES_MAX = 16 << 20,
    MANIFEST_OBJECTS_MAX = 10000
};

/*
 * All objects of the files that the repeated flag "file" names, in order: a new array. A directory
 * gives its *.yaml, *.yml and
 * *.json, sorted; a List its items. ERR_BAD_REQUEST with file, line and column where one is
 * malformed.
 */
struct err *manifests_read(struct cli *c, json_t **ret) MUST_CHECK;

/* Adds the objects of one text. */
struct err *manifests_parse(const char *name, struct str text, json_t *objects) MUST_CHECK;
