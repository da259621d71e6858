/* fields.h - macros for schema tables, and the parts that several kinds share */
#pragma once

#include "kinds/kind/kind.h"

/* F_STRING("name", "what it is", .is_required = true) */
#define F(field_name, field_type, text, ...)                                     \
    {                                                                            \
        .name = (field_name), .type = (field_type), .doc = (text), ##__VA_ARGS__ \
    }
#define F_STRING(n, text, ...)      F(n, FIELD_STRING, text, ##__VA_ARGS__)
#define F_INT(n, text, ...)         F(n, FIELD_INT, text, ##__VA_ARGS__)
#define F_BOOL(n, text, ...)        F(n, FIELD_BOOL, text, ##__VA_ARGS__)
#define F_QUANTITY(n, text, ...)    F(n, FIELD_QUANTITY, text, ##__VA_ARGS__)
#define F_TIME(n, text, ...)        F(n, FIELD_TIME, text, ##__VA_ARGS__)
#define F_ANY(n, text, ...)         F(n, FIELD_ANY, text, ##__VA_ARGS__)
#define F_OBJECT(n, sub, text, ...) F(n, FIELD_OBJECT, text, .fields = (sub), ##__VA_ARGS__)
#define F_LIST(n, of, text, ...)    F(n, FIELD_LIST, text, .item = (of), ##__VA_ARGS__)
#define F_MAP(n, of, text, ...)     F(n, FIELD_MAP, text, .item = (of), ##__VA_ARGS__)
/* A known field that is refused by its name, unless its value means nothing. */
#define F_REFUSED(n, text, ...) F(n, FIELD_ANY, text, .support = FIELD_REFUSED, ##__VA_ARGS__)
#define F_END        \
    {                \
        .name = NULL \
    }

/* meta/v1 Condition; `types` lists the types. */
#define F_CONDITION(types)                                                                  \
    F_STRING("type", types, .is_required = true, .size_max = 316),                          \
        F_STRING("status", "True, False or Unknown.", .is_required = true, .size_max = 16), \
        F_INT("observedGeneration", "The metadata.generation that was observed."),          \
        F_TIME("lastTransitionTime", "The last change of the status."),                     \
        F_STRING("reason", "The reason in CamelCase, for programs.", .size_max = 1024),     \
        F_STRING("message", "The message for users.")

#define F_TYPE_AND_METADATA                                                                      \
    F_STRING("apiVersion", "The version of this form of the object.", .size_max = 256),          \
        F_STRING("kind", "The kind of the object.", .size_max = 128),                            \
        F_OBJECT("metadata", object_meta_fields, "The object's name, labels, owners and times.", \
                 .fallback = "{}")

extern const struct field object_meta_fields[];
extern const struct field string_item;      /* any text */
extern const struct field label_value_item; /* values of labels */
extern const struct field quantity_item;
extern const struct field any_item;
extern const struct field object_reference_fields[]; /* core/v1 ObjectReference */

/* metadata.creationTimestamp of an object, or NULL, for a "date" column. New reference. */
json_t *cell_created(const json_t *object);
json_t *cell_text(const char *text, const char *fallback); /* NULL and "": the fallback */
