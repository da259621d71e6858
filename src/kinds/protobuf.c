/*
 * protobuf.c - the few bodies that kubectl sends as protobuf and never again as JSON
 *
 * Wire format: https://protobuf.dev/programming-guides/encoding/. Field numbers: generated.proto of
 * k8s.io/api/core/v1 and k8s.io/apimachinery/pkg/apis/meta/v1. The body is "k8s\0" and a
 * runtime.Unknown {typeMeta, raw}. Fields that are not listed are skipped, as protobuf has it; the
 * tables nest no deeper than they are written, so the walk is bounded.
 */
#include <inttypes.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/kind.h"
#include "kinds/protobuf_tables.h"
#include "kinds/value.h"

enum {
    BODY_MAX = 3 << 20,
    VALUES_MAX = 65536
};

enum wire {
    WIRE_VARINT = 0,
    WIRE_64 = 1,
    WIRE_BYTES = 2,
    WIRE_32 = 5
};

static const struct proto_field owner_reference[] = {
    {1, "kind", PROTO_STRING, false, NULL},
    {3, "name", PROTO_STRING, false, NULL},
    {4, "uid", PROTO_STRING, false, NULL},
    {5, "apiVersion", PROTO_STRING, false, NULL},
    {6, "controller", PROTO_BOOL, false, NULL},
    {7, "blockOwnerDeletion", PROTO_BOOL, false, NULL},
    {0},
};

const struct proto_field proto_object_meta[] = {
    {1, "name", PROTO_STRING, false, NULL},
    {2, "generateName", PROTO_STRING, false, NULL},
    {3, "namespace", PROTO_STRING, false, NULL},
    {5, "uid", PROTO_STRING, false, NULL},
    {6, "resourceVersion", PROTO_STRING, false, NULL},
    {7, "generation", PROTO_INT, false, NULL},
    {8, "creationTimestamp", PROTO_TIME, false, NULL},
    {9, "deletionTimestamp", PROTO_TIME, false, NULL},
    {10, "deletionGracePeriodSeconds", PROTO_INT, false, NULL},
    {11, "labels", PROTO_MAP, false, NULL},
    {12, "annotations", PROTO_MAP, false, NULL},
    {13, "ownerReferences", PROTO_MESSAGE, true, owner_reference},
    {14, "finalizers", PROTO_STRING, true, NULL},
    {0},
};

static const struct proto_field namespace_spec[] = {
    {1, "finalizers", PROTO_STRING, true, NULL},
    {0},
};

static const struct proto_field namespace_status[] = {
    {1, "phase", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field namespace_message[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {2, "spec", PROTO_MESSAGE, false, namespace_spec},
    {3, "status", PROTO_MESSAGE, false, namespace_status},
    {0},
};

static const struct proto_field preconditions[] = {
    {1, "uid", PROTO_STRING, false, NULL},
    {2, "resourceVersion", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field delete_options[] = {
    {1, "gracePeriodSeconds", PROTO_INT, false, NULL},
    {2, "preconditions", PROTO_MESSAGE, false, preconditions},
    {3, "orphanDependents", PROTO_BOOL, false, NULL},
    {4, "propagationPolicy", PROTO_STRING, false, NULL},
    {5, "dryRun", PROTO_STRING, true, NULL},
    {0},
};

static const struct proto_field config_map[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {2, "data", PROTO_MAP, false, NULL},
    {3, "binaryData", PROTO_BYTES_MAP, false, NULL},
    {4, "immutable", PROTO_BOOL, false, NULL},
    {0},
};

static const struct proto_field secret[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {2, "data", PROTO_BYTES_MAP, false, NULL},
    {3, "type", PROTO_STRING, false, NULL},
    {4, "stringData", PROTO_MAP, false, NULL},
    {5, "immutable", PROTO_BOOL, false, NULL},
    {0},
};

static const struct proto_field resource_attributes[] = {
    {1, "namespace", PROTO_STRING, false, NULL}, {2, "verb", PROTO_STRING, false, NULL},
    {3, "group", PROTO_STRING, false, NULL},     {4, "version", PROTO_STRING, false, NULL},
    {5, "resource", PROTO_STRING, false, NULL},  {6, "subresource", PROTO_STRING, false, NULL},
    {7, "name", PROTO_STRING, false, NULL},      {0},
};

static const struct proto_field non_resource_attributes[] = {
    {1, "path", PROTO_STRING, false, NULL},
    {2, "verb", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field access_review_spec[] = {
    {1, "resourceAttributes", PROTO_MESSAGE, false, resource_attributes},
    {2, "nonResourceAttributes", PROTO_MESSAGE, false, non_resource_attributes},
    {3, "user", PROTO_STRING, false, NULL},
    {4, "groups", PROTO_STRING, true, NULL},
    {0},
};

static const struct proto_field access_review[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {2, "spec", PROTO_MESSAGE, false, access_review_spec},
    {0},
};

static const struct proto_field rules_review_spec[] = {
    {1, "namespace", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field rules_review[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {2, "spec", PROTO_MESSAGE, false, rules_review_spec},
    {0},
};

static const struct proto_field self_review[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {0},
};

static const struct proto_field local_reference[] = {
    {1, "name", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field service_account[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {3, "imagePullSecrets", PROTO_MESSAGE, true, local_reference},
    {4, "automountServiceAccountToken", PROTO_BOOL, false, NULL},
    {0},
};

static const struct proto_field bound_reference[] = {
    {1, "kind", PROTO_STRING, false, NULL},
    {2, "apiVersion", PROTO_STRING, false, NULL},
    {3, "name", PROTO_STRING, false, NULL},
    {4, "uid", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field token_request_spec[] = {
    {1, "audiences", PROTO_STRING, true, NULL},
    {3, "boundObjectRef", PROTO_MESSAGE, false, bound_reference},
    {4, "expirationSeconds", PROTO_INT, false, NULL},
    {0},
};

static const struct proto_field token_request[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {2, "spec", PROTO_MESSAGE, false, token_request_spec},
    {0},
};

static const struct proto_field scope_expression[] = {
    {1, "scopeName", PROTO_STRING, false, NULL},
    {2, "operator", PROTO_STRING, false, NULL},
    {3, "values", PROTO_STRING, true, NULL},
    {0},
};

static const struct proto_field scope_selector[] = {
    {1, "matchExpressions", PROTO_MESSAGE, true, scope_expression},
    {0},
};

static const struct proto_field quota_spec[] = {
    {1, "hard", PROTO_QUANTITY_MAP, false, NULL},
    {2, "scopes", PROTO_STRING, true, NULL},
    {3, "scopeSelector", PROTO_MESSAGE, false, scope_selector},
    {0},
};

static const struct proto_field quota_status[] = {
    {1, "hard", PROTO_QUANTITY_MAP, false, NULL},
    {2, "used", PROTO_QUANTITY_MAP, false, NULL},
    {0},
};

static const struct proto_field quota[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {2, "spec", PROTO_MESSAGE, false, quota_spec},
    {3, "status", PROTO_MESSAGE, false, quota_status},
    {0},
};

/* k8s.io/api/scheduling/v1 */
static const struct proto_field priority_class[] = {
    {1, "metadata", PROTO_MESSAGE, false, proto_object_meta},
    {2, "value", PROTO_INT, false, NULL},
    {3, "globalDefault", PROTO_BOOL, false, NULL},
    {4, "description", PROTO_STRING, false, NULL},
    {5, "preemptionPolicy", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field quantity[] = {
    {1, "string", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field type_meta[] = {
    {1, "apiVersion", PROTO_STRING, false, NULL},
    {2, "kind", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field map_entry[] = {
    {1, "key", PROTO_STRING, false, NULL},
    {2, "value", PROTO_STRING, false, NULL},
    {0},
};

static const struct proto_field bytes_map_entry[] = {
    {1, "key", PROTO_STRING, false, NULL},
    {2, "value", PROTO_BYTES, false, NULL},
    {0},
};

static const struct proto_field quantity_map_entry[] = {
    {1, "key", PROTO_STRING, false, NULL},
    {2, "value", PROTO_QUANTITY, false, NULL},
    {0},
};

static const struct message {
    const char *kind;
    const struct proto_field *fields;
} messages[] = {
    {"Namespace", namespace_message},
    {"DeleteOptions", delete_options},
    {"ConfigMap", config_map},
    {"Secret", secret},
    {"Job", proto_job},
    {"CronJob", proto_cron_job},
    {"ResourceQuota", quota},
    {"PriorityClass", priority_class},
    {"ServiceAccount", service_account},
    {"TokenRequest", token_request},
    {"SelfSubjectAccessReview", access_review},
    {"SubjectAccessReview", access_review},
    {"SelfSubjectRulesReview", rules_review},
    {"SelfSubjectReview", self_review},
};

struct reader {
    struct str rest;
    size_t *n_values; /* of the whole body: bounds what becomes JSON */
};

/* Messages hold messages: the walk comes back here. */
static struct err *read_message(struct reader r, const struct proto_field *fields, json_t *into);

static struct err *truncated(void)
{
    return err_new(ERR_BAD_REQUEST, "protobuf: the body ends inside a field");
}

static struct err *read_varint(struct reader *r, uint64_t *ret)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte;

        if (r->rest.size == 0)
            return truncated();
        byte = (uint8_t)r->rest.at[0];
        r->rest = (struct str){r->rest.at + 1, r->rest.size - 1};
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = value;
            return NULL;
        }
    }
    return err_new(ERR_BAD_REQUEST, "protobuf: a number of more than ten bytes");
}

static struct err *read_bytes(struct reader *r, uint64_t size, struct str *ret)
{
    if (size > r->rest.size)
        return truncated();
    *ret = (struct str){r->rest.at, (size_t)size};
    r->rest = (struct str){r->rest.at + size, r->rest.size - (size_t)size};
    return NULL;
}

/* A field's number, and its value: a number, or the bytes of it. */
struct value {
    uint64_t field;
    enum wire wire;
    uint64_t number;
    struct str bytes;
};

static struct err *read_value(struct reader *r, struct value *ret)
{
    struct value v = {0};
    uint64_t tag = 0;
    uint64_t size = 0;

    TRY(read_varint(r, &tag));
    v.field = tag >> 3;
    switch (tag & 7) {
    case WIRE_VARINT:
        v.wire = WIRE_VARINT;
        TRY(read_varint(r, &v.number));
        break;
    case WIRE_64:
        v.wire = WIRE_64;
        TRY(read_bytes(r, 8, &v.bytes));
        break;
    case WIRE_BYTES:
        v.wire = WIRE_BYTES;
        TRY(read_varint(r, &size));
        TRY(read_bytes(r, size, &v.bytes));
        break;
    case WIRE_32:
        v.wire = WIRE_32;
        TRY(read_bytes(r, 4, &v.bytes));
        break;
    default:
        return err_new(ERR_BAD_REQUEST, "protobuf: wire type %u", (unsigned)(tag & 7));
    }
    if (v.field == 0)
        return err_new(ERR_BAD_REQUEST, "protobuf: field number 0");
    *ret = v;
    return NULL;
}

static struct err *make_text(struct str bytes, const char *name, json_t **ret)
{
    json_t *text = NULL;

    if (bytes.size == 0 || !memchr(bytes.at, '\0', bytes.size))
        text = json_stringn(bytes.size > 0 ? bytes.at : "", bytes.size);
    if (!text)
        return err_new(ERR_BAD_REQUEST, "protobuf: %s: not UTF-8, or with a NUL", name);
    *ret = text;
    return NULL;
}

static json_t *make_base64(struct str bytes)
{
    struct buf out = {0};
    json_t *text;

    base64_encode(bytes, &out);
    text = json_stringn(out.at ? out.at : "", out.size);
    buf_done(&out);
    return text;
}

static struct err *make_time(struct reader r, json_t **ret)
{
    char text[STAMP_TEXT_SIZE];
    int64_t stamp_ns = 0;

    while (r.rest.size > 0) {
        struct value v = {0};

        TRY(read_value(&r, &v));
        if (v.field == 1 && v.wire == WIRE_VARINT &&
            __builtin_mul_overflow((int64_t)v.number, NS_PER_SEC, &stamp_ns))
            return err_new(ERR_BAD_REQUEST, "protobuf: a time out of range");
    }
    stamp_format(stamp_ns, text);
    *ret = json_string(text);
    return NULL;
}

/* IntOrString: 0 in its first field says that it is the number in its second. */
static struct err *make_int_or_string(struct reader r, json_t **ret)
{
    struct str text = {"", 0};
    int64_t number = 0;
    bool is_text = false;

    while (r.rest.size > 0) {
        struct value v = {0};

        TRY(read_value(&r, &v));
        if (v.field == 1 && v.wire == WIRE_VARINT)
            is_text = v.number != 0;
        else if (v.field == 2 && v.wire == WIRE_VARINT)
            number = (int64_t)v.number;
        else if (v.field == 3 && v.wire == WIRE_BYTES)
            text = v.bytes;
    }
    if (is_text)
        return make_text(text, "IntOrString", ret);
    *ret = json_integer(number);
    return NULL;
}

/* The entries of a map, or NULL for a field that is none. */
static const struct proto_field *entry_of(enum proto_type type)
{
    if (type == PROTO_MAP)
        return map_entry;
    if (type == PROTO_BYTES_MAP)
        return bytes_map_entry;
    return type == PROTO_QUANTITY_MAP ? quantity_map_entry : NULL;
}

static struct err *make_quantity(struct reader r, json_t **ret)
{
    AUTO(json_freep) json_t *object = json_object();
    json_t *text;

    TRY(read_message(r, quantity, object));
    text = json_object_get(object, "string");
    *ret = text ? json_incref(text) : json_string("0");
    return NULL;
}

static struct err *add_map_entry(struct reader r, const struct proto_field *f, json_t *into)
{
    AUTO(json_freep) json_t *entry = json_object();
    json_t *map = json_object_at(into, f->name);
    const char *key;

    json_put_text(entry, "key", "");
    json_put_text(entry, "value", "");
    TRY(read_message(r, entry_of(f->type), entry));
    key = json_text(entry, "key");
    json_put(map, key, json_incref(json_object_get(entry, "value")));
    return NULL;
}

static struct err *make_value(struct reader *r, const struct proto_field *f, const struct value *v,
                              json_t **ret)
{
    struct reader inner = {.rest = v->bytes, .n_values = r->n_values};

    switch (f->type) {
    case PROTO_STRING:
        return make_text(v->bytes, f->name, ret);
    case PROTO_BYTES:
    case PROTO_OPAQUE:
        *ret = make_base64(v->bytes);
        break;
    case PROTO_INT_OR_STRING:
        return make_int_or_string(inner, ret);
    case PROTO_INT:
    case PROTO_INT_NONZERO:
        *ret = json_integer((int64_t)v->number);
        break;
    case PROTO_BOOL:
        *ret = json_boolean(v->number != 0);
        break;
    case PROTO_TIME:
        return make_time(inner, ret);
    case PROTO_QUANTITY:
        return make_quantity(inner, ret);
    case PROTO_MESSAGE: {
        AUTO(json_freep) json_t *object = json_object();

        TRY(read_message(inner, f->fields, object));
        *ret = TAKE(object);
        break;
    }
    case PROTO_INLINE:
    case PROTO_MAP:
    case PROTO_BYTES_MAP:
    case PROTO_QUANTITY_MAP:
        break; /* add_value */
    }
    return NULL;
}

static bool is_number(const struct proto_field *f)
{
    return f->type == PROTO_INT || f->type == PROTO_INT_NONZERO || f->type == PROTO_BOOL;
}

/* Go writes texts and times that are not set, too, as empty ones. */
static bool is_unset(const struct proto_field *f, const struct value *v)
{
    if (f->type == PROTO_INT_NONZERO)
        return v->number == 0;
    return !f->is_repeated && v->bytes.size == 0 &&
           (f->type == PROTO_STRING || f->type == PROTO_TIME || f->type == PROTO_OPAQUE);
}

static struct err *add_value(struct reader *r, const struct proto_field *f, const struct value *v,
                             json_t *into)
{
    json_t *value = NULL;

    if (v->wire != (is_number(f) ? WIRE_VARINT : WIRE_BYTES))
        return err_new(ERR_BAD_REQUEST, "protobuf: %s: wire type %d", f->name, (int)v->wire);
    if (++*r->n_values > VALUES_MAX)
        return err_new(ERR_TOO_LARGE, "protobuf: more than %d values", VALUES_MAX);
    if (is_unset(f, v))
        return NULL;
    if (f->type == PROTO_INLINE)
        return read_message((struct reader){v->bytes, r->n_values}, f->fields, into);
    if (entry_of(f->type))
        return add_map_entry((struct reader){v->bytes, r->n_values}, f, into);
    TRY(make_value(r, f, v, &value));
    if (f->is_repeated)
        (void)json_array_append_new(json_array_at(into, f->name), value); /* both are ours */
    else
        json_put(into, f->name, value);
    return NULL;
}

static struct err *read_message(struct reader r, const struct proto_field *fields, json_t *into)
{
    while (r.rest.size > 0) {
        struct value v = {0};

        TRY(read_value(&r, &v));
        for (const struct proto_field *f = fields; f->number > 0; f++)
            if (f->number == v.field)
                TRY(add_value(&r, f, &v, into));
    }
    return NULL;
}

/* runtime.Unknown: what it is, and its bytes. */
static struct err *read_envelope(struct reader r, json_t *type, struct str *ret_raw)
{
    while (r.rest.size > 0) {
        struct value v = {0};

        TRY(read_value(&r, &v));
        if (v.field == 1 && v.wire == WIRE_BYTES)
            TRY(read_message((struct reader){v.bytes, r.n_values}, type_meta, type));
        else if (v.field == 2 && v.wire == WIRE_BYTES)
            *ret_raw = v.bytes;
    }
    return NULL;
}

struct err *protobuf_decode(struct str body, json_t **ret)
{
    static const char magic[4] = {'k', '8', 's', '\0'};
    AUTO(json_freep) json_t *object = json_object();
    struct reader r = {.n_values = &(size_t){0}};
    struct str raw = {0};
    const char *kind;

    if (body.size > BODY_MAX)
        return err_new(ERR_TOO_LARGE, "protobuf: more than %d bytes", BODY_MAX);
    if (body.size < sizeof(magic) || memcmp(body.at, magic, sizeof(magic)) != 0)
        return err_new(ERR_BAD_REQUEST, "protobuf: the body does not begin with \"k8s\\0\"");
    r.rest = (struct str){body.at + sizeof(magic), body.size - sizeof(magic)};
    TRY(read_envelope(r, object, &raw));
    kind = json_text(object, "kind");
    for (size_t i = 0; kind && i < sizeof(messages) / sizeof(messages[0]); i++) {
        if (!text_equal(messages[i].kind, kind))
            continue;
        TRY(read_message((struct reader){raw, r.n_values}, messages[i].fields, object));
        *ret = TAKE(object);
        return NULL;
    }
    return err_new(ERR_BAD_REQUEST, "protobuf: no decoder for kind \"%.64s\": want a body in JSON",
                   kind ? kind : "");
}
