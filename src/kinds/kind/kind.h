/*
 * kind.h - kinds of objects: one table a kind drives decoding, validation, defaults, patches,
 * columns and OpenAPI
 *
 * Objects are JSON trees. A schema is a tree of `struct field`; generic code walks it. Rules beyond
 * a schema (cross-field rules) are functions of the kind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "kinds/kind/shape.h"

enum field_type {
    FIELD_STRING,
    FIELD_INT, /* int64 within [min, max] when max > min */
    FIELD_BOOL,
    FIELD_QUANTITY, /* string or integer in, canonical string out */
    FIELD_INT_OR_STRING,
    FIELD_TIME,
    FIELD_OBJECT, /* `fields` */
    FIELD_LIST,   /* `item` */
    FIELD_MAP,    /* string keys to `item` */
    FIELD_BYTES,  /* base64 */
    FIELD_ANY,    /* kept as it is (managedFields) */
};

/* The treatment of a field that the schema knows. */
enum field_support {
    FIELD_SUPPORTED,
    FIELD_IGNORED, /* without effect: kept, and answered with "Warning: 299" */
    FIELD_REFUSED, /* not implemented, and a restriction: 422 by its name, unless its value is
                      `harmless` */
};

enum {
    FIELD_LIST_KEYS_MAX = 2
};

struct field {
    const char *name;
    enum field_type type;
    enum field_support support;
    const struct field *fields; /* FIELD_OBJECT: ends with a NULL name */
    const struct field *item;   /* FIELD_LIST, FIELD_MAP */
    /* FIELD_LIST of objects: key of the strategic merge; NULL: replaced whole */
    const char *merge_key;
    /* FIELD_LIST of objects: keys of the server-side apply, if they are not `merge_key` alone */
    const char *list_keys[FIELD_LIST_KEYS_MAX];
    bool is_atomic; /* object, map, list: a server-side apply replaces the value whole */
    bool is_required;
    bool is_set_list; /* FIELD_LIST of scalars: a strategic merge adds items (finalizers) */
    bool is_unique;   /* FIELD_LIST with a merge key: items have distinct keys */
    const char *const *values; /* FIELD_STRING: allowed values, NULL-terminated */
    const char *fallback;      /* default as JSON text: "\"Always\"", "30", "{}" */
    const char *harmless;      /* FIELD_REFUSED: a JSON value without effect ("false") */
    bool is_switch;            /* an object with the member "enabled": false has no effect */
    const char *instead;       /* the error's or warning's text; NULL: "not implemented yet" */
    int64_t min;
    int64_t max;
    size_t items_max; /* list, map; 0: 1024 */
    size_t size_max;  /* string bytes; 0: 32 KiB */
    struct err *(*check)(
        const char *text); /* FIELD_STRING: checks the form (names, label keys ...) */
    /* The form as a regular expression of the whole text, for other servers (crd.h): it refuses
     * nothing that `check` takes. NULL: any. */
    const char *pattern;
    const char *doc;
    struct err *(*check_key)(const char *key); /* FIELD_MAP */
};

/* The shape of a field of a table. */
struct shape shape_of_field(const struct field *f);

struct column {
    const char *name;
    const char *type;   /* "string", "integer", "date" */
    const char *format; /* "name" for the first column, else "" */
    int priority;       /* 0: always; 1: -o wide */
    const char *doc;
};

/* The place of a column's cell in the object, for other servers (crd.h). */
struct column_path {
    const char *name; /* of the column */
    const char *path; /* ".spec.parent" */
};

/* A rule over several fields in CEL, `self` being the object, for other servers (crd.h). */
struct kind_rule {
    const char *rule;
    const char *message;
};

struct causes;      /* kinds/kind/cause.h */
struct custom_form; /* kinds/custom/custom_form.h */

/* The caller, as far as rules on objects care. */
struct kind_context {
    const char *user;
    bool is_system; /* a controller or node of Mete: may set mete.dev/ annotations and status */
    int64_t now_ns; /* realtime; 0: the time of the objects' loop */
    bool is_admin;  /* may run `host` containers as any uid, set spec.nodeName */
    /* The uid of `host` containers; -1: none. 0 counts only together with is_admin. */
    int64_t host_uid;
};

enum {
    KIND_SHORT_NAMES_MAX = 8
};

struct kind {
    const char *group; /* "" for core */
    const char *version;
    const char *api_version; /* "v1", "batch/v1": group and version */
    const char *kind;
    const char *plural;
    const char *singular;
    const char *short_names[KIND_SHORT_NAMES_MAX];
    const char *list_kind;         /* NULL: the kind with "List" */
    const char *const *categories; /* besides "all", NULL-terminated; NULL: none */
    bool is_of_all;                /* part of the category "all" (`kubectl get all`) */
    bool is_namespaced;
    bool has_status;  /* has a status subresource: writes of spec leave status alone, and vice versa
                       */
    bool has_scale;   /* has a scale subresource: spec.replicas, status.replicas, spec.selector */
    bool is_view;     /* computed, never stored */
    bool is_question; /* a create is answered and not stored: SelfSubjectAccessReview */
    const struct field *fields;      /* of the whole object, with apiVersion, kind and metadata */
    const struct column *columns;    /* NULL: Name, Age; ends with a NULL name */
    const struct column_path *paths; /* of columns that are not computed; ends with a NULL name */
    /* A row: a JSON array with a cell a column (the caller turns RFC 3339 dates into ages). New
     * reference. */
    json_t *(*cells)(const json_t *object, int64_t now_ns);
    /* Checks cross-field rules after the schema. Adds every cause. */
    void (*validate)(const json_t *object, struct causes *causes);
    const struct kind_rule *rules; /* what `validate` checks, as far as CEL can; ends with NULL */
    /* Checks the fields of `after` that differ from `before`; NULL: all of spec may change. */
    struct err *(*validate_update)(const json_t *before, const json_t *after,
                                   const struct kind_context *c);
    /* Fills defaults that depend on other fields, after the schema's defaults. */
    void (*set_defaults)(json_t *object, const struct kind_context *c);
    /* Paths that field selectors may name, NULL-terminated; metadata.name and .namespace always
     * are. */
    const char *const *selectable; /* "spec.nodeName" */
    int64_t grace_seconds;         /* default of deletionGracePeriodSeconds; 0: deleted at once */
    struct err *(*check_name)(
        const char *name); /* checks metadata.name; NULL: an RFC 1123 subdomain */
    const char *doc;
    /* Set if this is another version of a kind, perhaps in another group: objects are stored in
     * that kind's form. to_kept and from_kept convert `object`, which must share no parts. */
    const struct kind *kept_as;         /* NULL: stored in its own form */
    const char *const *kept_selectable; /* `selectable` in the stored form; NULL: the same */
    bool checks_creation;               /* creations are checked by this version's schema, too */
    void (*to_kept)(json_t *object);
    void (*from_kept)(json_t *object);
    struct shape shape; /* {0}: that of `fields` */
    /*
     * JSON of the object before its first write, without apiVersion, kind and metadata. NULL: {}.
     * Members that Go's encoder writes for an empty object ({"spec":{}}) are in it: they belong to
     * nobody, as in Kubernetes.
     */
    const char *zero;
    /* Fields have no managers before the first server-side apply: for kinds with many writes. */
    bool is_unmanaged;
    /* A kind of a CustomResourceDefinition: `fields` are apiVersion, kind and metadata, and the
     * form has the rest. Objects are stored as what the definition said when they were written. */
    bool is_custom;
    const struct custom_form *form; /* NULL: no custom kind, or its definition is gone */
};

/* Mete's own kinds, in the order of discovery. */
extern const struct kind *const kinds[];
extern const size_t kinds_count;

/*
 * The kinds that the process serves: its own ones, then custom ones, by group and version. The
 * number changes when definitions do; a struct kind stays valid as long as the process lives.
 */
size_t kinds_served_count(void);
const struct kind *kinds_served(size_t i);
/* Grows whenever custom kinds change. */
uint64_t kinds_generation(void);
bool kind_is_served(const struct kind *k);

/* Sets the custom kinds: those that are served, and those in whose form objects are stored. The
 * arrays are borrowed until the next call. For custom_kinds.c. */
void kinds_set_custom(const struct kind *const *served, size_t n_served,
                      const struct kind *const *kept, size_t n_kept);

/* The kind in whose form objects of `k` are stored, usually `k`. */
const struct kind *kind_kept(const struct kind *k);

/* Finds a kind by its plural name, in the stored version. */
const struct kind *kind_find(const char *group, const char *plural);
const struct kind *kind_find_version(const char *group, const char *version, const char *plural);
const struct kind *kind_find_by_kind(const char *api_version, const char *kind);

/* Converts an object from this version to the stored one, and back. */
void kind_to_kept(const struct kind *k, json_t *object);
void kind_from_kept(const struct kind *k, json_t *object);
/* Is the stored text what this version shows? `version` is that of the object in the store. */
bool kind_reads_as_stored(const struct kind *k, struct str text, int64_t version);
/* The same for a tree with its resourceVersion. */
bool kind_reads_tree(const struct kind *k, const json_t *object);

enum field_validation {
    VALIDATION_IGNORE,
    VALIDATION_WARN,
    VALIDATION_STRICT
};

/*
 * Makes a tree into an object of kind `k`: checks types, drops unknown fields with a warning each
 * (Strict: ERR_BAD_REQUEST in kubectl's words: strict decoding error: unknown field "spec.foo"),
 * makes quantities canonical and sets defaults. Errors are ERR_INVALID and name every field: `Pod
 * "x" is invalid: [spec.containers[0].name: Required value, ...]`. Texts of warnings are added to
 * `warnings`, a JSON array, which may be NULL.
 */
struct err *kind_decode(const struct kind *k, json_t *object, enum field_validation how,
                        json_t *warnings) MUST_CHECK;
struct err *kind_default(const struct kind *k, json_t *object,
                         const struct kind_context *c) MUST_CHECK;
struct err *kind_validate(const struct kind *k, const json_t *object) MUST_CHECK;
/* The same for an update of `before` (NULL: a creation), perhaps of the subresource "status" (NULL:
 * of the object): custom kinds compare both. */
struct err *kind_validate_update(const struct kind *k, const json_t *before, const json_t *object,
                                 const char *subresource) MUST_CHECK;

/* Is the key reserved: under mete.dev/, and not for users? docs/manifests.md lists the keys of
 * users. */
bool kind_is_reserved(const char *key);

/* Only Mete's own processes set, change and remove reserved labels and annotations. ERR_INVALID
 * names those that differ from `before` (NULL: creation), unless `c` is such a process. */
struct err *kind_check_reserved(const struct kind *k, const json_t *before, const json_t *after,
                                const struct kind_context *c) MUST_CHECK;

/* The value in a stored object that a field selector compares; "" if absent; NULL: not selectable.
 * Borrowed. */
const char *kind_selectable(const struct kind *k, const json_t *object, const char *path);

enum {
    SELECTABLE_SIZE = 320
};
/* The same from an object's stored text, without a tree. The value may be in `scratch`. NULL: ask
 * kind_selectable, which also knows paths that are not selectable. */
const char *kind_peek_selectable(const struct kind *k, struct str text, const char *path,
                                 char scratch[SELECTABLE_SIZE]);

/* RFC 7396 and Kubernetes' strategic merge ($patch, $setElementOrder, $deleteFromPrimitiveList,
   $retainKeys). New references; `object` is not changed. */
struct err *patch_merge(const json_t *object, const json_t *patch, json_t **ret) MUST_CHECK;
struct err *patch_strategic(const struct kind *k, const json_t *object, const json_t *patch,
                            json_t **ret) MUST_CHECK;
/* RFC 6902; `patch` is an array. A failed "test" is ERR_INVALID. */
struct err *patch_json(const json_t *object, const json_t *patch, json_t **ret) MUST_CHECK;

/* meta.k8s.io/v1 Table of `objects` (a JSON array), with `revision` as its resourceVersion.
 * include_object is "None", "Metadata" or "Object". New reference. */
json_t *table_format(const struct kind *k, const json_t *objects, int64_t revision,
                     const char *include_object, int64_t now_ns);

/* The OpenAPI v3 document of a group version (NULL: unknown version), and the index, which names
 * all documents by a hash of their text. New references, identical at each call. */
json_t *openapi_document(const char *group, const char *version);
json_t *openapi_index(void);

/* Decodes a body "k8s\0..." to the JSON tree that the same client would have sent. ERR_BAD_REQUEST:
 * a malformed body, or a kind without protobuf. */
struct err *protobuf_decode(struct str body, json_t **ret) MUST_CHECK;
