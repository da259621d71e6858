/*
 * openapi_v2.c - /openapi/v2: JSON, and protobuf for kubectl 1.27 and 1.28
 *
 * These versions read from it, only in protobuf, whether the server validates fields. That document
 * (gnostic's openapi_v2.Document) has just that: for each kind one path, whose PATCH has the kind
 * and the parameter fieldValidation. Without definitions kubectl merges by its built-in types, as
 * it should.
 */

#include "api/openapi_v2.h"

#include <strings.h>

#include "api/handlers.h"

#define PROTOBUF_TYPE "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

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

/* ---- the choice ---- */

static struct str trimmed(struct str word)
{
    while (word.size > 0 && *word.at == ' ')
        word = (struct str){word.at + 1, word.size - 1};
    while (word.size > 0 && word.at[word.size - 1] == ' ')
        word.size--;
    return word;
}

static bool is_word(struct str word, const char *text)
{
    return word.size == strlen(text) && strncasecmp(word.at, text, word.size) == 0;
}

/* The quality "0.5" in thousandths; malformed ones are 1. */
static int quality_parse(struct str text)
{
    int value = 0;
    int unit = 1000;

    for (size_t i = 0; i < text.size && i < 5; i++) {
        if (i == 1 && text.at[i] == '.')
            continue;
        if (text.at[i] < '0' || text.at[i] > '9')
            return 1000;
        value += (text.at[i] - '0') * unit;
        unit /= 10;
    }
    return text.size == 0 || value > 1000 ? 1000 : value;
}

static int quality_of(struct str parameters)
{
    while (parameters.at) {
        struct str parameter = trimmed(str_cut(&parameters, ';'));

        if (str_starts_with(parameter, STR("q=")) || str_starts_with(parameter, STR("Q=")))
            return quality_parse((struct str){parameter.at + 2, parameter.size - 2});
    }
    return 1000;
}

/* A Content-Type cannot have the '@' of the older name. */
static enum openapi_form form_of(struct str type)
{
    static const char *const json[] = {"application/json", "application/*", "*/*"};
    static const char *const protobuf[] = {
        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", PROTOBUF_TYPE};

    for (size_t i = 0; i < COUNT(json); i++)
        if (is_word(type, json[i]))
            return OPENAPI_JSON;
    for (size_t i = 0; i < COUNT(protobuf); i++)
        if (is_word(type, protobuf[i]))
            return OPENAPI_PROTOBUF;
    return OPENAPI_NEITHER;
}

enum openapi_form openapi_v2_form(const char *accept)
{
    struct str rest = str_of(accept);
    enum openapi_form best = accept && *accept ? OPENAPI_NEITHER : OPENAPI_JSON;
    int highest = 0;

    while (rest.at) {
        struct str parameters = str_cut(&rest, ',');
        enum openapi_form form = form_of(trimmed(str_cut(&parameters, ';')));
        int quality = quality_of(parameters);

        if (form == OPENAPI_NEITHER || quality <= highest)
            continue;
        best = form;
        highest = quality;
    }
    return best;
}

static void reply_protobuf(struct call *c)
{
    AUTO(buf_done) struct buf b = {0};
    struct api_reply r = {.status = 200, .content_type = PROTOBUF_TYPE};

    add_document(&b);
    r.body = (struct str){.at = b.at, .size = b.size};
    c->x->ops->reply(c->x, &r);
}

static void openapi_reply_json(struct call *c)
{
    struct kept_openapi *kept = core_kept_openapi(c->core);

    if (!kept->text || kept->generation != kinds_generation()) {
        AUTO(json_freep) json_t *json = openapi_v2_json();

        free(kept->text);
        *kept = (struct kept_openapi){.text = json_format(json), .generation = kinds_generation()};
    }
    reply_bytes(c->x, str_of(kept->text));
}

struct err *handle_openapi_v2(struct call *c)
{
    AUTO(json_freep) json_t *status = NULL;

    switch (openapi_v2_form(request_header(&c->x->request, "accept"))) {
    case OPENAPI_PROTOBUF:
        reply_protobuf(c);
        break;
    case OPENAPI_JSON:
        openapi_reply_json(c);
        break;
    case OPENAPI_NEITHER:
        status = status_new(406, "NotAcceptable",
                            "only the following media types are accepted: application/json, "
                            "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
                            &(struct status_about){0});
        reply_json(c->x, 406, status, NULL);
        break;
    }
    return NULL;
}
