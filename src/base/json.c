/* json.c - a quick reader and jansson behind our limits, readers that never fail, an own writer */

#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/json_read.h"
#include "base/mem.h"

enum {
    TEXT_BYTES = 1024 /* the first buffer of a formatted tree */
};

/* Line and column of a byte in a text, both from 1. */
struct place {
    size_t line;
    size_t column;
};

static struct place place_of(struct str text, size_t offset)
{
    struct place p = {1, 1};

    for (size_t i = 0; i < offset; i++) {
        p.line += text.at[i] == '\n';
        p.column = text.at[i] == '\n' ? 1 : p.column + 1;
    }
    return p;
}

/* jansson accepts a depth of 2048, which would cost later recursive walks too much stack. The depth
 * is checked before jansson reads the text. */
static struct err *check_depth(struct str text)
{
    size_t depth = 0;
    bool is_string = false;

    for (size_t i = 0; i < text.size; i++) {
        char c = text.at[i];

        if (c == '"')
            is_string = !is_string;
        else if (is_string)
            i += c == '\\';
        else if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && depth > 0)
            depth--;
        if (depth > JSON_DEPTH_MAX) {
            struct place p = place_of(text, i);

            return err_new(ERR_BAD_REQUEST, "line %zu, column %zu: nested deeper than %u", p.line,
                           p.column, JSON_DEPTH_MAX);
        }
    }
    return NULL;
}

/* Cuts off the part of jansson's message that is for programmers only. */
static void trim_hint(char *message)
{
    static const char hint[] = " without JSON_ALLOW_NUL";
    char *at = strstr(message, hint);

    if (at)
        memmove(at, at + sizeof(hint) - 1, strlen(at + sizeof(hint) - 1) + 1);
}

/* Reads what the quick reader gave up. */
static struct err *json_parse_slowly(struct str text, json_t **ret)
{
    json_error_t error = {0};
    json_t *j;

    TRY(check_depth(text));
    j = json_loadb(text.at ? text.at : "", text.size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
                   &error);
    if (!j) {
        trim_hint(error.text);
        return err_new(ERR_BAD_REQUEST, "line %d, column %d: %s", error.line, error.column,
                       error.text);
    }
    *ret = j;
    return NULL;
}

struct err *json_parse(struct str text, json_t **ret)
{
    struct json_reader r = {.at = text.at, .end = text.at + text.size};
    json_t *j = text.size > 0 ? json_read(&r) : NULL;

    if (!j)
        return json_parse_slowly(text, ret);
    *ret = j;
    return NULL;
}

void json_add_quoted(struct buf *out, struct str text)
{
    static const char short_names[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                       ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};
    size_t done = 0;

    buf_add_char(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.at[i];
        char name = '\0';

        if (c < sizeof(short_names))
            name = short_names[c];
        if (c >= 0x80) {
            size_t size = str_utf8((struct str){text.at + i, text.size - i});

            if (size > 0) {
                i += size - 1;
                continue;
            }
        } else if (c >= ' ' && c != 0x7f && name == '\0') {
            continue;
        }
        buf_add(out, text.at + done, i - done);
        done = i + 1;
        if (c >= 0x80)
            buf_add_text(out, UTF8_REPLACEMENT);
        else if (name != '\0')
            buf_add(out, (const char[]){'\\', name}, 2);
        else
            buf_printf(out, "\\u%04x", c);
    }
    buf_add(out, text.at + done, text.size - done);
    buf_add_char(out, '"');
}

static bool reads_back_as(const char *text, double value)
{
    AUTO(json_freep)
    json_t *again = json_loads(text, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
    double is = json_real_value(again);

    return again && !(is < value) && !(is > value);
}

/* Adds the shortest text that reads back as the same double and does not look like an integer. */
void json_add_real(struct buf *out, double value)
{
    char text[40];

    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
        if (reads_back_as(text, value))
            break;
    }
    buf_add_text(out, text);
    if (!strpbrk(text, ".e"))
        buf_add_text(out, ".0");
}

struct writer {
    struct buf *out;
    bool is_pretty;
    unsigned depth;
};

static void write_value(struct writer *w, const json_t *j);

static void write_break(struct writer *w)
{
    if (!w->is_pretty)
        return;
    buf_add_char(w->out, '\n');
    for (unsigned i = 0; i < w->depth; i++)
        buf_add_text(w->out, "    ");
}

static void write_object(struct writer *w, json_t *object)
{
    const char *separator = "";
    const char *key;
    json_t *value;

    buf_add_char(w->out, '{');
    w->depth++;
    json_object_foreach (object, key, value) {
        buf_add_text(w->out, separator);
        separator = ",";
        write_break(w);
        json_add_quoted(w->out, str_of(key));
        buf_add_text(w->out, w->is_pretty ? ": " : ":");
        write_value(w, value);
    }
    w->depth--;
    if (*separator)
        write_break(w);
    buf_add_char(w->out, '}');
}

static void write_array(struct writer *w, const json_t *array)
{
    size_t n = json_array_size(array);

    buf_add_char(w->out, '[');
    w->depth++;
    for (size_t i = 0; i < n; i++) {
        buf_add_text(w->out, i > 0 ? "," : "");
        write_break(w);
        write_value(w, json_array_get(array, i));
    }
    w->depth--;
    if (n > 0)
        write_break(w);
    buf_add_char(w->out, ']');
}

static void write_value(struct writer *w, const json_t *j)
{
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        /* jansson's iterators take a mutable tree; nothing is changed */
        write_object(w, (json_t *)(uintptr_t)j);
        break;
    case JSON_ARRAY:
        write_array(w, j);
        break;
    case JSON_STRING:
        json_add_quoted(w->out, (struct str){json_string_value(j), json_string_length(j)});
        break;
    case JSON_INTEGER:
        buf_printf(w->out, "%" PRId64, (int64_t)json_integer_value(j));
        break;
    case JSON_REAL:
        json_add_real(w->out, json_real_value(j));
        break;
    case JSON_TRUE:
        buf_add_text(w->out, "true");
        break;
    case JSON_FALSE:
        buf_add_text(w->out, "false");
        break;
    case JSON_NULL:
        buf_add_text(w->out, "null");
        break;
    default:
        assert(false); /* jansson has no other type */
    }
}

void json_add(struct buf *out, const json_t *j)
{
    struct writer w = {.out = out};

    write_value(&w, j);
}

/* Without the buffers' usual cap: whole documents may be larger, and their parts were capped when
 * they were read. */
static char *json_format_as(const json_t *j, bool is_pretty)
{
    struct buf out = {.at = mem_realloc(NULL, TEXT_BYTES), .room = TEXT_BYTES, .cap = SIZE_MAX / 4};
    struct writer w = {.out = &out, .is_pretty = is_pretty};

    write_value(&w, j);
    return mem_realloc(out.at, out.size + 1); /* callers keep many texts: without spare room */
}

json_t *json_twin(const json_t *j)
{
    json_t *from = (json_t *)(uintptr_t)j; /* as in write_value; a count of references changes */
    json_t *twin = NULL;
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_object(from)) {
        twin = json_object();
        json_object_foreach (from, key, value)
            (void)json_object_set_new_nocheck(twin, key, json_twin(value)); /* cannot fail */
        return twin;
    }
    if (!json_is_array(from))
        return json_incref(from);
    twin = json_array();
    json_array_foreach (from, i, value)
        (void)json_array_append_new(twin, json_twin(value)); /* as above */
    return twin;
}

char *json_format(const json_t *j)
{
    return json_format_as(j, false);
}

char *json_format_pretty(const json_t *j)
{
    return json_format_as(j, true);
}

static json_t *json_walk(const json_t *j, va_list ap)
{
    const json_t *at = j;
    const char *key;

    while (at && (key = va_arg(ap, const char *)) != NULL)
        at = json_object_get(at, key);
    return (json_t *)(uintptr_t)at; /* as in jansson: const does not extend to members */
}

json_t *json_at(const json_t *j, ...)
{
    json_t *at;
    va_list ap;

    va_start(ap, j);
    at = json_walk(j, ap);
    va_end(ap);
    return at;
}

const char *json_text_at(const json_t *j, ...)
{
    const json_t *at;
    va_list ap;

    va_start(ap, j);
    at = json_walk(j, ap);
    va_end(ap);
    return json_string_value(at);
}

int64_t json_int_at(const json_t *j, ...)
{
    const json_t *at;
    va_list ap;

    va_start(ap, j);
    at = json_walk(j, ap);
    va_end(ap);
    return json_integer_value(at);
}

bool json_bool_at(const json_t *j, ...)
{
    const json_t *at;
    va_list ap;

    va_start(ap, j);
    at = json_walk(j, ap);
    va_end(ap);
    return json_is_true(at);
}

const char *json_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

const char *json_text_filled(const json_t *object, const char *key)
{
    const char *text = json_text(object, key);

    return text && *text ? text : NULL;
}

bool json_has_text(const json_t *array, const char *text)
{
    for (size_t i = 0; text && i < json_array_size(array); i++)
        if (text_equal(json_string_value(json_array_get(array, i)), text))
            return true;
    return false;
}

int64_t json_int(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

bool json_bool(const json_t *object, const char *key, bool fallback)
{
    const json_t *value = json_object_get(object, key);

    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

void json_put(json_t *object, const char *key, json_t *value)
{
    int failed = json_object_set_new(object, key, value);

    assert(failed ==
           0); /* not an object, a key that is not UTF-8, or no value: a bug of the caller */
    (void)failed;
}

/* Returns the member `key` if it has the type of `fresh`; else puts `fresh` in its place. Takes
 * `fresh`. */
static json_t *member_or(json_t *object, const char *key, json_t *fresh)
{
    json_t *member = json_object_get(object, key);

    if (member && json_typeof(member) == json_typeof(fresh)) {
        json_decref(fresh);
        return member;
    }
    json_put(object, key, fresh);
    return fresh;
}

json_t *json_object_at(json_t *object, const char *key)
{
    return member_or(object, key, json_object());
}

json_t *json_array_at(json_t *object, const char *key)
{
    return member_or(object, key, json_array());
}

/* A string without the bytes that are not UTF-8. */
static json_t *string_new(const char *text)
{
    json_t *value = json_string(text);

    if (!value) {
        struct buf clean = {0};

        buf_add_utf8(&clean, str_of(text));
        value = json_stringn(clean.at, clean.size);
        buf_done(&clean);
    }
    return value;
}

json_t *json_text_new(const char *text)
{
    return text && *text ? string_new(text) : json_null();
}

void json_put_text(json_t *object, const char *key, const char *text)
{
    if (text)
        json_put(object, key, string_new(text));
    else
        (void)json_object_del(object, key); /* may be absent */
}

void json_put_int(json_t *object, const char *key, int64_t value)
{
    json_put(object, key, json_integer(value));
}

void json_put_bool(json_t *object, const char *key, bool value)
{
    json_put(object, key, json_boolean(value));
}
