/* protobuf_tables.h - which field of a protobuf message is which member of its JSON */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum proto_type {
    PROTO_STRING,
    PROTO_BYTES, /* base64 in JSON */
    PROTO_INT,
    PROTO_BOOL,
    PROTO_MESSAGE,
    PROTO_TIME,      /* Time {seconds, nanos} */
    PROTO_MAP,       /* string to string */
    PROTO_BYTES_MAP, /* string to bytes */
    PROTO_QUANTITY,  /* Quantity {string} */
    PROTO_QUANTITY_MAP,
    PROTO_INT_NONZERO, /* 0 is as good as absent: no pointer in Go */
    PROTO_INT_OR_STRING,
    PROTO_INLINE, /* a message whose members are the outer one's in JSON */
    PROTO_OPAQUE, /* a message that no kind knows the inside of: base64, refused by its name */
};

struct proto_field {
    uint64_t number; /* 0 ends a table */
    const char *name;
    enum proto_type type;
    bool is_repeated;
    const struct proto_field *fields; /* PROTO_MESSAGE */
};

extern const struct proto_field proto_object_meta[];    /* protobuf.c */
extern const struct proto_field proto_label_selector[]; /* protobuf_pod.c */
extern const struct proto_field proto_pod_template[];   /* protobuf_pod.c */
extern const struct proto_field proto_job[];            /* protobuf_job.c */
extern const struct proto_field proto_cron_job[];       /* protobuf_job.c */
