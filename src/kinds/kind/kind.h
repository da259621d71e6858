/*
 * kind.h - what an object of each kind is: one table a kind drives decoding, validation, defaults,
 * patches, columns and OpenAPI
 *
 * Objects are JSON trees. A schema is a tree of `struct field`; generic code walks it. What a
 * schema cannot say (cross-field rules) is a function of the kind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"

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

/* What the program does with a field that it knows. */
enum field_support {
    FIELD_SUPPORTED,
    FIELD_IGNORED, /* harmless: kept, and answered with a "Warning: 299" */
    FIELD_REFUSED, /* restricts something that is not implemented: 422 by its name, unless its value
                      is `harmless` */
};

struct field {
    const char *name;
    enum field_type type;
    enum field_support support;
    const struct field *fields; /* FIELD_OBJECT: ends with a NULL name */
    const struct field *item;   /* FIELD_LIST, FIELD_MAP */
    /* FIELD_LIST of objects: strategic merge by this key; NULL: replaced whole */
    const char *merge_key;
    bool is_required;
    bool is_set_list;          /* FIELD_LIST of scalars: strategic merge adds (finalizers) */
    bool is_unique;            /* FIELD_LIST with a merge key: no two items share it */
    const char *const *values; /* FIELD_STRING: the allowed ones, NULL-terminated */
    const char *fallback;      /* default as JSON text: "\"Always\"", "30", "{}" */
    const char *harmless;      /* FIELD_REFUSED: the JSON value that means nothing ("false") */
    const char *instead;       /* FIELD_REFUSED: what to say; NULL: "not implemented yet" */
    int64_t min;
    int64_t max;
    size_t items_max;                       /* list, map; 0: 1024 */
    size_t size_max;                        /* string bytes; 0: 32 KiB */
    struct err *(*check)(const char *text); /* FIELD_STRING: form (names, label keys ...) */
    const char *doc;
    struct err *(*check_key)(const char *key); /* FIELD_MAP */
};

struct column {
    const char *name;
    const char *type;   /* "string", "integer", "date" */
    const char *format; /* "name" for the first, else "" */
    int priority;       /* 0: always; 1: -o wide */
    const char *doc;
};

struct causes; /* kinds/kind/cause.h */

/* Who asks, as far as rules on objects care. */
struct kind_context {
    const char *user;
    bool is_system; /* our own controllers and nodes: may set mete.dev/ annotations and status */
    int64_t now_ns; /* realtime; 0: objects_* take their loop's */
    bool is_admin;  /* may run `host` containers as any uid, set spec.nodeName */
    /* On whose behalf `host` containers run; -1: nobody's. 0 counts only together with is_admin. */
    int64_t host_uid;
};

struct kind {
    const char *group; /* "" for core */
    const char *version;
    const char *api_version; /* "v1", "batch/v1": both in one */
    const char *kind;
    const char *plural;
    const char *singular;
    const char *short_names[4];
    bool is_of_all; /* what `kubectl get all` shows */
    bool is_namespaced;
    bool has_status; /* a status subresource: spec writes leave status alone and the other way round
                      */
    bool is_view;    /* computed, never stored */
    bool is_question;           /* created to be answered, never stored: SelfSubjectAccessReview */
    const struct field *fields; /* of the whole object, apiVersion kind metadata included */
    const struct column *columns; /* the default: Name, Age; ends with a NULL name */
    /* One row: a JSON array with a cell a column (RFC 3339 dates are turned into ages by the
     * caller). New ref. */
    json_t *(*cells)(const json_t *object, int64_t now_ns);
    /* After the schema: cross-field rules. Adds every cause. */
    void (*validate)(const json_t *object, struct causes *causes);
    /* Which fields of `after` may differ from `before`; NULL: all of spec. */
    struct err *(*validate_update)(const json_t *before, const json_t *after,
                                   const struct kind_context *c);
    /* Fills what depends on other fields, after the schema's defaults. */
    void (*set_defaults)(json_t *object, const struct kind_context *c);
    /* "spec.nodeName" → its value for a field selector; NULL: not a selectable field. Borrowed
     * text. */
    const char *const
        *selectable;       /* paths, NULL-terminated; metadata.name and .namespace always are */
    int64_t grace_seconds; /* default of deletionGracePeriodSeconds; 0: deleted at once */
    struct err *(*check_name)(const char *name); /* of metadata.name; NULL: an RFC 1123 subdomain */
    const char *doc;
    /* Another version of a kind, perhaps in another group: that kind's form is stored. Both
     * functions change `object`, of which nothing may be shared: into that form, and back. */
    const struct kind *kept_as;         /* NULL: as it is */
    const char *const *kept_selectable; /* `selectable` in the stored form; NULL: the same */
    bool checks_creation;               /* the schema of this version is checked, too */
    void (*to_kept)(json_t *object);
    void (*from_kept)(json_t *object);
};

/* All kinds, in discovery order. */
extern const struct kind *const kinds[];
extern const size_t kinds_count;

/* The kind in whose form objects of `k` are stored: `k` itself, mostly. */
const struct kind *kind_kept(const struct kind *k);

/* By its plural name, in the version that is stored. */
const struct kind *kind_find(const char *group, const char *plural);
const struct kind *kind_find_version(const char *group, const char *version, const char *plural);
const struct kind *kind_find_by_kind(const char *api_version, const char *kind);

enum field_validation {
    VALIDATION_IGNORE,
    VALIDATION_WARN,
    VALIDATION_STRICT
};

/*
 * Makes a tree into an object of kind `k`: types checked, unknown fields dropped with a warning
 * each (Strict: refused with ERR_BAD_REQUEST and kubectl's words: strict decoding error: unknown
 * field "spec.foo"), quantities made canonical, defaults set. Errors are ERR_INVALID and name every
 * field: `Pod "x" is invalid: [spec.containers[0].name: Required value, ...]`. `warnings` (may be
 * NULL) is a JSON array that texts are added to.
 */
struct err *kind_decode(const struct kind *k, json_t *object, enum field_validation how,
                        json_t *warnings) MUST_CHECK;
struct err *kind_default(const struct kind *k, json_t *object,
                         const struct kind_context *c) MUST_CHECK;
struct err *kind_validate(const struct kind *k, const json_t *object) MUST_CHECK;

/* Under mete.dev/, but for what people say to Mete; docs/manifests.md lists it. */
bool kind_is_reserved(const char *key);

/*
 * Labels and annotations under mete.dev/ are set, changed and removed by our own processes only:
 * ERR_INVALID names those that differ from `before` (NULL: none were there) unless `c` is one of
 * them.
 */
struct err *kind_check_reserved(const struct kind *k, const json_t *before, const json_t *after,
                                const struct kind_context *c) MUST_CHECK;

/* The value in a stored object that a field selector compares; "" where absent; NULL: not
 * selectable. Borrowed. */
const char *kind_selectable(const struct kind *k, const json_t *object, const char *path);

enum {
    SELECTABLE_SIZE = 320
};
/*
 * The same out of an object's stored text, without its tree. The value may be in `scratch`. NULL:
 * ask kind_selectable, which also knows paths that are not selectable.
 */
const char *kind_peek_selectable(const struct kind *k, struct str text, const char *path,
                                 char scratch[SELECTABLE_SIZE]);

/* RFC 7396 and Kubernetes' strategic merge ($patch, $setElementOrder, $deleteFromPrimitiveList,
   $retainKeys). New references; `object` is not changed. */
struct err *patch_merge(const json_t *object, const json_t *patch, json_t **ret) MUST_CHECK;
struct err *patch_strategic(const struct kind *k, const json_t *object, const json_t *patch,
                            json_t **ret) MUST_CHECK;
/* RFC 6902; `patch` is an array. A failed "test" is ERR_INVALID. */
struct err *patch_json(const json_t *object, const json_t *patch, json_t **ret) MUST_CHECK;

/* meta.k8s.io/v1 Table of `objects` (JSON array of objects), `revision` as its resourceVersion;
   include_object is "None", "Metadata" or "Object". New reference. */
json_t *table_format(const struct kind *k, const json_t *objects, int64_t revision,
                     const char *include_object, int64_t now_ns);

/* The OpenAPI v3 document of one group version (NULL: there is none such), and the index of all,
   which names them by a hash of their text. New references; the same at each call. */
json_t *openapi_document(const char *group, const char *version);
json_t *openapi_index(void);

/* Bodies "k8s\0..." as the JSON trees that the same client would have sent. ERR_BAD_REQUEST for a
   malformed body, and for a kind that has no protobuf. */
struct err *protobuf_decode(struct str body, json_t **ret) MUST_CHECK;
