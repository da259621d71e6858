/*
 * protobuf.c - protobuf bodies decoded to JSON
 *
 * Wire format: https://protobuf.dev/programming-guides/encoding/. The body is "k8s\0" and a
 * runtime.Unknown {typeMeta, raw}. Like all protobuf decoders, this one skips unknown fields. Go
 * clients send unset texts, numbers and times as zero values.
 */

#include <inttypes.h>
#include <math.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/kind/kind.h"
#include "kinds/kind/value.h"
#include "kinds/wire/protobuf_tables.h"

enum {
    BODY_MAX = 3 << 20,
    VALUES_MAX = 65536,
    DEPTH_MAX = 32,
    SCHEMA_DEPTH_MAX = 80,  /* schemas in definitions of custom resources nest deeper */
    OBJECT_DEPTH_MAX = 120, /* of the JSON: below JSON_DEPTH_MAX */
    INNER_DEPTH_MAX = 32
};

static const double EXACT_MAX = 9007199254740992.0; /* below it all whole numbers are exact */

enum wire {
    WIRE_VARINT = 0,
    WIRE_64 = 1,
    WIRE_BYTES = 2,
    WIRE_32 = 5
};

static const struct proto_field type_meta[] = {
    {1, "apiVersion", PROTO_STRING, 0, NULL},
    {2, "kind", PROTO_STRING, 0, NULL},
    {0},
};

struct reader {
    struct str rest;
    size_t *n_values; /* values in the whole body, bounded */
    unsigned depth;   /* enclosing messages */
    unsigned depth_max;
};

/* Recursive: messages hold messages. */
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

/* A field's number, and its value: a number, or bytes. */
struct value {
    uint64_t field;
    enum wire wire;
    uint64_t number;
    struct str bytes;
};

static struct err *message_read_value(struct reader *r, struct value *ret)
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

/* A reader of the message in a field's value. */
static struct reader reader_inside(const struct reader *r, struct str bytes)
{
    return (struct reader){
        .rest = bytes, .n_values = r->n_values, .depth = r->depth + 1, .depth_max = r->depth_max};
}

static struct err *make_time(struct reader r, enum proto_type type, json_t **ret)
{
    char text[STAMP_TEXT_SIZE];
    int64_t stamp_ns = 0;
    int64_t nanos = 0;

    while (r.rest.size > 0) {
        struct value v = {0};

        TRY(message_read_value(&r, &v));
        if (v.field == 1 && v.wire == WIRE_VARINT &&
            __builtin_mul_overflow((int64_t)v.number, NS_PER_SEC, &stamp_ns))
            return err_new(ERR_BAD_REQUEST, "protobuf: a time out of range");
        if (v.field == 2 && v.wire == WIRE_VARINT)
            nanos = (int64_t)v.number;
    }
    if (nanos < 0 || nanos >= NS_PER_SEC || __builtin_add_overflow(stamp_ns, nanos, &stamp_ns))
        return err_new(ERR_BAD_REQUEST, "protobuf: a time out of range");
    if (type == PROTO_MICRO_TIME)
        stamp_format_micro(stamp_ns, text);
    else
        stamp_format(stamp_ns, text);
    *ret = json_string(text);
    return NULL;
}

/* IntOrString: if field 1 is 0, field 2, a number, is the value. */
static struct err *make_int_or_string(struct reader r, json_t **ret)
{
    struct str text = {"", 0};
    int64_t number = 0;
    bool is_text = false;

    while (r.rest.size > 0) {
        struct value v = {0};

        TRY(message_read_value(&r, &v));
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

/* The bytes of field 1, the only field of several small messages. */
static struct err *read_first(struct reader r, struct str *ret)
{
    while (r.rest.size > 0) {
        struct value v = {0};

        TRY(message_read_value(&r, &v));
        if (v.field == 1 && v.wire == WIRE_BYTES)
            *ret = v.bytes;
    }
    return NULL;
}

static struct err *make_quantity(struct reader r, json_t **ret)
{
    struct str text = STR("0");

    TRY(read_first(r, &text));
    return make_text(text, "Quantity", ret);
}

static bool json_fits(const json_t *j, unsigned depth)
{
    const char *key;
    json_t *value;
    size_t i;

    if (depth == 0)
        return false;
    json_object_foreach ((json_t *)(uintptr_t)j, key, value)
        if (!json_fits(value, depth - 1))
            return false;
    json_array_foreach (j, i, value)
        if (!json_fits(value, depth - 1))
            return false;
    return true;
}

static struct err *make_json(struct reader r, const char *name, json_t **ret)
{
    struct str text = STR("null");
    AUTO(json_freep) json_t *json = NULL;

    TRY(read_first(r, &text));
    TRY(json_parse(text, &json));
    if (!json_fits(json, INNER_DEPTH_MAX))
        return err_new(ERR_BAD_REQUEST, "protobuf: %s: nested deeper than %d", name,
                       (int)INNER_DEPTH_MAX);
    *ret = TAKE(json);
    return NULL;
}

static struct err *make_strings(struct reader r, json_t **ret)
{
    static const struct proto_field items[] = {
        {1, "items", PROTO_STRING, PROTO_REPEATED, NULL},
        {0},
    };
    AUTO(json_freep) json_t *object = json_object();

    TRY(read_message(r, items, object));
    *ret = json_incref(json_array_at(object, "items"));
    return NULL;
}

static struct err *make_message(struct reader r, const struct proto_field *fields, json_t **ret)
{
    AUTO(json_freep) json_t *object = json_object();

    TRY(read_message(r, fields, object));
    *ret = TAKE(object);
    return NULL;
}

/* ---- schemas ---- */

static struct err *make_double(struct str bytes, const char *name, json_t **ret)
{
    double number = 0;
    int64_t whole = 0;

    memcpy(&number, bytes.at, sizeof(number)); /* little endian, as the machines that we run on */
    if (number > -EXACT_MAX && number < EXACT_MAX)
        whole = (int64_t)number;
    *ret = number - (double)whole > 0 || number - (double)whole < 0 ? json_real(number)
                                                                    : json_integer(whole);
    if (*ret && isfinite(number))
        return NULL;
    json_decref(*ret);
    return err_new(ERR_BAD_REQUEST, "protobuf: %s: not a finite number", name);
}

/* In Go's JSON a list goes before a schema, and a schema before a bool. */
static struct err *make_either(struct reader r, const struct proto_field *f, json_t **ret)
{
    const struct proto_field bools[] = {
        {1, "bool", PROTO_BOOL, 0, NULL}, {2, "schema", PROTO_MESSAGE, 0, f->fields}, {0}};
    const struct proto_field lists[] = {
        {1, "schema", PROTO_MESSAGE, 0, f->fields},
        {2, "list", f->type == PROTO_SCHEMA_OR_LIST ? PROTO_MESSAGE : PROTO_STRING, PROTO_REPEATED,
         f->fields},
        {0}};
    bool is_bool = f->type == PROTO_SCHEMA_OR_BOOL;
    AUTO(json_freep) json_t *object = json_object();
    json_t *value;

    TRY(read_message(r, is_bool ? bools : lists, object));
    value = json_object_get(object, "list");
    if (!value)
        value = json_object_get(object, "schema");
    if (value)
        *ret = json_incref(value);
    else
        *ret = is_bool ? json_boolean(json_bool(object, "bool", false)) : json_null();
    return NULL;
}

static struct err *make_value(const struct reader *r, const struct proto_field *f,
                              const struct value *v, json_t **ret)
{
    struct reader inside = reader_inside(r, v->bytes);

    switch (f->type) {
    case PROTO_STRING:
        return make_text(v->bytes, f->name, ret);
    case PROTO_STRINGS:
        return make_strings(inside, ret);
    case PROTO_BYTES:
        *ret = make_base64(v->bytes);
        break;
    case PROTO_INT:
        *ret = json_integer((int64_t)v->number);
        break;
    case PROTO_BOOL:
        *ret = json_boolean(v->number != 0);
        break;
    case PROTO_TIME:
    case PROTO_MICRO_TIME:
        return make_time(inside, f->type, ret);
    case PROTO_QUANTITY:
        return make_quantity(inside, ret);
    case PROTO_INT_OR_STRING:
        return make_int_or_string(inside, ret);
    case PROTO_JSON:
        return make_json(inside, f->name, ret);
    case PROTO_DOUBLE:
        return make_double(v->bytes, f->name, ret);
    case PROTO_SCHEMA_OR_LIST:
    case PROTO_SCHEMA_OR_BOOL:
    case PROTO_SCHEMA_OR_STRINGS:
        return make_either(inside, f, ret);
    case PROTO_MESSAGE:
    case PROTO_INLINE:
        return make_message(inside, f->fields, ret);
    }
    return NULL;
}

static bool is_number(const struct proto_field *f)
{
    return f->type == PROTO_INT || f->type == PROTO_BOOL;
}

static struct err *check_wire(const struct proto_field *f, const struct value *v)
{
    enum wire want = f->type == PROTO_DOUBLE ? WIRE_64 : is_number(f) ? WIRE_VARINT : WIRE_BYTES;
    bool is_fit = v->wire == (f->flags & PROTO_MAP ? WIRE_BYTES : want);

    return is_fit ? NULL
                  : err_new(ERR_BAD_REQUEST, "protobuf: %s: wire type %d", f->name, (int)v->wire);
}

static struct err *count_value(const struct reader *r)
{
    if (++*r->n_values > VALUES_MAX)
        return err_new(ERR_TOO_LARGE, "protobuf: more than %d values", VALUES_MAX);
    return NULL;
}

/* Does JSON omit the value? An unset time is an empty message. */
static bool is_left_out(const struct proto_field *f, const struct value *v)
{
    if (f->type == PROTO_TIME || f->type == PROTO_MICRO_TIME)
        return v->bytes.size == 0;
    if (!(f->flags & PROTO_OMIT_ZERO))
        return false;
    return is_number(f) ? v->number == 0 : v->bytes.size == 0;
}

static struct err *add_map_entry(struct reader r, const struct proto_field *f, json_t *into)
{
    const struct proto_field entry[] = {
        {1, "key", PROTO_STRING, 0, NULL},
        {2, "value", f->type, 0, f->fields},
        {0},
    };
    AUTO(json_freep) json_t *object = json_object();
    json_t *map = json_object_at(into, f->name);
    json_t *value = NULL;
    const char *key;

    TRY(read_message(r, entry, object));
    key = json_text(object, "key");
    value = json_object_get(object, "value");
    if (value)
        value = json_incref(value);
    else if (f->type == PROTO_STRING || f->type == PROTO_BYTES)
        value = json_string("");
    else
        return err_new(ERR_BAD_REQUEST, "protobuf: %s: an entry without a value", f->name);
    json_put(map, key ? key : "", value);
    return NULL;
}

/* Adds packed numbers of one field. Go clients pack fields that ask for it. */
static struct err *add_packed(struct reader r, const struct proto_field *f, json_t *into)
{
    json_t *list = json_array_at(into, f->name);

    while (r.rest.size > 0) {
        struct value v = {.wire = WIRE_VARINT};
        json_t *value = NULL;

        TRY(read_varint(&r, &v.number));
        TRY(count_value(&r));
        TRY(make_value(&r, f, &v, &value));
        (void)json_array_append_new(list, value); /* cannot fail */
    }
    return NULL;
}

static struct err *message_add_value(const struct reader *r, const struct proto_field *f,
                                     const struct value *v, json_t *into)
{
    json_t *value = NULL;

    if (is_number(f) && (f->flags & PROTO_REPEATED) && v->wire == WIRE_BYTES)
        return add_packed(reader_inside(r, v->bytes), f, into);
    TRY(check_wire(f, v));
    TRY(count_value(r));
    if (f->flags & PROTO_MAP)
        return add_map_entry(reader_inside(r, v->bytes), f, into);
    if (f->type == PROTO_INLINE)
        return read_message(reader_inside(r, v->bytes), f->fields, into);
    if (!(f->flags & PROTO_REPEATED) && is_left_out(f, v))
        return NULL;
    TRY(make_value(r, f, v, &value));
    if (f->flags & PROTO_REPEATED)
        (void)json_array_append_new(json_array_at(into, f->name), value); /* cannot fail */
    else
        json_put(into, f->name, value);
    return NULL;
}

static struct err *read_message(struct reader r, const struct proto_field *fields, json_t *into)
{
    if (r.depth > r.depth_max)
        return err_new(ERR_BAD_REQUEST, "protobuf: nested deeper than %u", r.depth_max);
    while (r.rest.size > 0) {
        struct value v = {0};

        TRY(message_read_value(&r, &v));
        for (const struct proto_field *f = fields; f->number > 0; f++)
            if (f->number == v.field)
                TRY(message_add_value(&r, f, &v, into));
    }
    return NULL;
}

/* runtime.Unknown: the type of the object, and its bytes. */
static struct err *read_envelope(struct reader r, json_t *type, struct str *ret_raw)
{
    while (r.rest.size > 0) {
        struct value v = {0};

        TRY(message_read_value(&r, &v));
        if (v.field == 1 && v.wire == WIRE_BYTES)
            TRY(read_message(reader_inside(&r, v.bytes), type_meta, type));
        else if (v.field == 2 && v.wire == WIRE_BYTES)
            *ret_raw = v.bytes;
    }
    return NULL;
}

static const struct proto_message *message_find(const char *api_version, const char *kind)
{
    for (size_t i = 0; i < proto_messages_count; i++) {
        const struct proto_message *m = &proto_messages[i];

        if (text_equal(m->kind, kind) &&
            (!m->api_version || text_equal(m->api_version, api_version)))
            return m;
    }
    return NULL;
}

struct err *protobuf_decode(struct str body, json_t **ret)
{
    static const char magic[4] = {'k', '8', 's', '\0'};
    AUTO(json_freep) json_t *object = json_object();
    struct reader r = {.n_values = &(size_t){0}, .depth_max = DEPTH_MAX};
    const struct proto_message *message;
    const char *api_version;
    const char *kind;
    struct str raw = {0};

    if (body.size > BODY_MAX)
        return err_new(ERR_TOO_LARGE, "protobuf: more than %d bytes", BODY_MAX);
    if (body.size < sizeof(magic) || memcmp(body.at, magic, sizeof(magic)) != 0)
        return err_new(ERR_BAD_REQUEST, "protobuf: the body does not begin with \"k8s\\0\"");
    r.rest = (struct str){body.at + sizeof(magic), body.size - sizeof(magic)};
    TRY(read_envelope(r, object, &raw));
    api_version = json_text(object, "apiVersion");
    kind = json_text(object, "kind");
    message = kind ? message_find(api_version, kind) : NULL;
    if (!message)
        return err_new(ERR_BAD_REQUEST,
                       "protobuf: no decoder for %.64s%s\"%.64s\": want a body in JSON",
                       api_version ? api_version : "", api_version ? " " : "", kind ? kind : "");
    if (text_equal(kind, "CustomResourceDefinition"))
        r.depth_max = SCHEMA_DEPTH_MAX;
    TRY(read_message(reader_inside(&r, raw), message->fields, object));
    if (!json_fits(object, OBJECT_DEPTH_MAX))
        return err_new(ERR_BAD_REQUEST, "protobuf: the object is nested deeper than %d",
                       (int)OBJECT_DEPTH_MAX);
    *ret = TAKE(object);
    return NULL;
}
