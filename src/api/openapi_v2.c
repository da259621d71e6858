/*
 * openapi_v2.c - /openapi/v2 for kubectl 1.27 and 1.28
 *
 * These versions read from it, only in protobuf, whether the server validates fields. The document
 * (gnostic's openapi_v2.Document) has just that: for each kind one path, whose PATCH has the kind
 * and the parameter fieldValidation. Without definitions kubectl merges by its built-in types, as
 * it should.
 */

#include "api/handlers.h"

enum wire {
    WIRE_BYTES = 2
};

/* Field numbers of openapi_v2.proto. */
enum {
    DOCUMENT_SWAGGER = 1,
    DOCUMENT_INFO = 2,
    DOCUMENT_PATHS = 8,
    INFO_TITLE = 1,
    INFO_VERSION = 2,
    PATHS_PATH = 2,
    NAMED_NAME = 1,
    NAMED_VALUE = 2,
    PATH_ITEM_POST = 4,
    PATH_ITEM_PATCH = 8,
    OPERATION_PARAMETERS = 8,
    OPERATION_EXTENSION = 13,
    PARAMETERS_ITEM_PARAMETER = 1,
    PARAMETER_NON_BODY = 2,
    NON_BODY_QUERY = 3,
    QUERY_IN = 2,
    QUERY_NAME = 4,
    ANY_YAML = 2,
};

static void add_varint(struct buf *b, size_t value)
{
    while (value >= 128) {
        buf_add_char(b, (char)(value % 128 + 128));
        value /= 128;
    }
    buf_add_char(b, (char)value);
}

static void add_bytes(struct buf *b, unsigned field, struct str bytes)
{
    add_varint(b, (size_t)field << 3 | WIRE_BYTES);
    add_varint(b, bytes.size);
    buf_add(b, bytes.at, bytes.size);
}

static void add_text(struct buf *b, unsigned field, const char *text)
{
    add_bytes(b, field, str_of(text));
}

/* Adds `inner` as a field of `b`, and clears `inner`. */
static void add_message(struct buf *b, unsigned field, struct buf *inner)
{
    add_bytes(b, field, (struct str){.at = inner->at ? inner->at : "", .size = inner->size});
    buf_clear(inner);
}

/* Adds a query parameter with its nested messages: parameter, non-body, query. */
static void add_parameter(struct buf *b, const char *name)
{
    AUTO(buf_done) struct buf inner = {0};
    AUTO(buf_done) struct buf outer = {0};

    add_text(&inner, QUERY_IN, "query");
    add_text(&inner, QUERY_NAME, name);
    add_message(&outer, NON_BODY_QUERY, &inner);
    add_message(&inner, PARAMETER_NON_BODY, &outer);
    add_message(&outer, PARAMETERS_ITEM_PARAMETER, &inner);
    add_message(b, OPERATION_PARAMETERS, &outer);
}

static void add_group_version_kind(struct buf *b, const struct kind *k)
{
    AUTO(buf_done) struct buf yaml = {0};
    AUTO(buf_done) struct buf any = {0};
    AUTO(buf_done) struct buf named = {0};

    buf_printf(&yaml, "group: \"%s\"\nkind: %s\nversion: %s\n", k->group, k->kind, k->version);
    add_message(&any, ANY_YAML, &yaml);
    add_text(&named, NAMED_NAME, "x-kubernetes-group-version-kind");
    add_message(&named, NAMED_VALUE, &any);
    add_message(b, OPERATION_EXTENSION, &named);
}

static void add_path(struct buf *b, const struct kind *k)
{
    AUTO(buf_done) struct buf operation = {0};
    AUTO(buf_done) struct buf item = {0};
    AUTO(buf_done) struct buf named = {0};

    add_parameter(&operation, "fieldValidation");
    add_parameter(&operation, "dryRun");
    add_group_version_kind(&operation, k);
    add_bytes(&item, PATH_ITEM_POST, (struct str){.at = operation.at, .size = operation.size});
    add_message(&item, PATH_ITEM_PATCH, &operation);
    buf_printf(&operation, "/%s/%s/%s%s/{name}", *k->group ? "apis" : "api", k->api_version,
               k->is_namespaced ? "namespaces/{namespace}/" : "", k->plural);
    add_message(&named, NAMED_NAME, &operation);
    add_message(&named, NAMED_VALUE, &item);
    add_message(b, PATHS_PATH, &named);
}

static void add_document(struct buf *b)
{
    AUTO(buf_done) struct buf paths = {0};
    AUTO(buf_done) struct buf info = {0};

    add_text(b, DOCUMENT_SWAGGER, "2.0");
    add_text(&info, INFO_TITLE, "Mete");
    add_text(&info, INFO_VERSION, "v1");
    add_message(b, DOCUMENT_INFO, &info);
    for (size_t i = 0; i < kinds_served_count(); i++) {
        if (!kinds_served(i)->is_view)
            add_path(&paths, kinds_served(i));
    }
    add_message(b, DOCUMENT_PATHS, &paths);
}

struct err *handle_openapi_v2(struct call *c)
{
    AUTO(buf_done) struct buf b = {0};
    struct api_reply r = {.status = 200,
                          .content_type =
                              "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"};

    add_document(&b);
    r.body = (struct str){.at = b.at, .size = b.size};
    c->x->ops->reply(c->x, &r);
    return NULL;
}
