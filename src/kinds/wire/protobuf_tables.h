/* protobuf_tables.h - tables from fields of protobuf messages to members of their JSON */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum proto_type {
    PROTO_STRING,
    PROTO_STRINGS, /* a message whose field 1 is a list of strings; an array in JSON */
    PROTO_BYTES,   /* base64 in JSON */
    PROTO_INT,
    PROTO_DOUBLE,
    PROTO_BOOL,
    PROTO_MESSAGE,
    PROTO_TIME,       /* Time {seconds, nanos}: whole seconds in JSON */
    PROTO_MICRO_TIME, /* as PROTO_TIME, microseconds in JSON */
    PROTO_QUANTITY,   /* Quantity {string} */
    PROTO_INT_OR_STRING,
    PROTO_JSON,   /* a message whose field 1 is JSON text: FieldsV1, RawExtension */
    PROTO_INLINE, /* a message whose members are the outer message's in JSON */
    /* Messages of apiextensions.k8s.io/v1 with a schema, or another value, in JSON. */
    PROTO_SCHEMA_OR_LIST,    /* {schema = 1, schemas = 2} */
    PROTO_SCHEMA_OR_BOOL,    /* {bool = 1, schema = 2} */
    PROTO_SCHEMA_OR_STRINGS, /* {schema = 1, strings = 2} */
};

enum proto_flags {
    PROTO_REPEATED = 1,
    PROTO_MAP = 2,       /* a map from strings to values of the type */
    PROTO_OMIT_ZERO = 4, /* JSON omits the zero value: the field is no pointer in Go */
};

struct proto_field {
    uint64_t number; /* 0 ends a table */
    const char *name;
    enum proto_type type;
    unsigned flags;                   /* enum proto_flags */
    const struct proto_field *fields; /* PROTO_MESSAGE, PROTO_INLINE, a schema */
};

/* A message that is the body of a request. */
struct proto_message {
    const char *api_version; /* NULL: any */
    const char *kind;
    const struct proto_field *fields;
};

extern const struct proto_message proto_messages[]; /* protobuf_fields.c */
extern const size_t proto_messages_count;
