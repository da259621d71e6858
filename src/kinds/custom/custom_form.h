/*
 * custom_form.h - what one version of a CustomResourceDefinition says of its objects: schema,
 * columns, scale, selectable fields
 */
#pragma once

#include "kinds/custom/schema.h"
#include "kinds/kind/kind.h"

struct custom_form;
struct custom_path;

/*
 * Compiles the version `version` (an item of spec.versions), adding a cause below `at` for each
 * fault. NULL with a cause. `is_hoisted`: schema, columns and subresources are told below spec, as
 * Kubernetes does where all versions have the same ones.
 */
struct custom_form *custom_form_new(json_t *version, const struct path *at, bool is_hoisted,
                                    struct causes *causes);
void custom_form_free(struct custom_form *f); /* accepts NULL */

const struct schema *custom_form_schema(const struct custom_form *f);
const struct column *custom_form_columns(const struct custom_form *f);
const char *const *custom_form_selectables(const struct custom_form *f);
bool custom_form_has_status(const struct custom_form *f);

/* Objects that were written before this revision are shaped by the form when they are read. */
void custom_form_set_since(struct custom_form *f, int64_t revision);

/* The definition is being deleted: no object can be created. */
void custom_form_set_terminating(struct custom_form *f, bool is_terminating);

/* Questions about a custom kind, whose form may be gone. */
int64_t custom_form_since(const struct kind *k);
bool custom_form_is_terminating(const struct kind *k);
/* The text that is shown to those who write in a deprecated version; NULL: none. */
const char *custom_form_deprecation(const struct kind *k);
/* Makes a stored object one of this version: apiVersion, pruned, with defaults. */
void custom_form_read(const struct kind *k, json_t *object);
/* Valid until the next call. */
const char *custom_form_selectable(const struct kind *k, const json_t *object, const char *path);
/* The cells of a row. New reference. */
json_t *custom_form_cells(const struct kind *k, const json_t *object, int64_t now_ns);
/* Prunes, adding paths of unknown fields to `unknown`, and sets defaults. The number of unknown
 * fields. */
size_t custom_form_shape(const struct kind *k, json_t *object, json_t *unknown);
void custom_form_validate(const struct kind *k, const json_t *object, const json_t *before,
                          const char *part, struct causes *causes);

/* Paths of the scale subresource. */
struct custom_scale {
    const struct custom_path *spec;
    const struct custom_path *status;
    const struct custom_path *selector; /* NULL: none */
};
/* False: the kind has no scale. */
bool custom_form_scale(const struct kind *k, struct custom_scale *ret);
