/* json_read.c - the quick reader of JSON: one pass over the bytes, without a lexer's copies */

#include "base/json_read.h"

#include <string.h>

#include "base/mem.h"

enum {
    DIGITS_MAX = 18,
    SURROGATES = 0xd800,
    SURROGATES_END = 0xe000
};

static json_t *read_value(struct json_reader *r, bool is_own);

static void skip_blanks(struct json_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

/* Takes the next byte that is no blank; 0: the end. */
static char read_byte(struct json_reader *r)
{
    skip_blanks(r);
    return (char)(r->at < r->end ? *r->at++ : '\0');
}

/* ---- strings ---- */

/* Adds a character from U+0080 on, below U+10000. */
static void add_wide(struct buf *b, unsigned c)
{
    if (c >= 0x800) {
        buf_add_char(b, (char)(0xe0 | c >> 12));
        buf_add_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
    } else {
        buf_add_char(b, (char)(0xc0 | c >> 6));
    }
    buf_add_char(b, (char)(0x80 | (c & 0x3f)));
}

/* Adds the character of \uXXXX, whose digits begin at `at`. */
static bool add_code(struct json_reader *r, const char *at)
{
    unsigned code = 0;

    if (r->end - at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = at[i];

        if (c >= '0' && c <= '9')
            code = code << 4 | (unsigned)(c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            code = code << 4 | (unsigned)((c | 0x20) - 'a' + 10);
        else
            return false;
    }
    if (code == 0 || (code >= SURROGATES && code < SURROGATES_END))
        return false;
    if (code < 0x80)
        buf_add_char(&r->plain, (char)code);
    else
        add_wide(&r->plain, code);
    return true;
}

/* Adds the character of the escape whose backslash is at `at`. Returns the byte behind it; NULL: it
 * is none that the reader knows. */
static const char *add_escape(struct json_reader *r, const char *at)
{
    static const char names[] = "\"\\/bfnrt";
    static const char means[] = "\"\\/\b\f\n\r\t";
    const char *name;

    if (r->end - at < 2)
        return NULL;
    if (at[1] == 'u')
        return add_code(r, at + 2) ? at + 6 : NULL;
    name = at[1] ? strchr(names, at[1]) : NULL;
    if (!name)
        return NULL;
    buf_add_char(&r->plain, means[name - names]);
    return at + 2;
}

/* Goes on in a string from its first backslash, at `at`; the string began at `from`. */
static json_t *read_escaped(struct json_reader *r, const char *from, const char *at)
{
    const char *done = from;

    buf_clear(&r->plain);
    while (at && at < r->end && *at != '"') {
        if ((unsigned char)*at < ' ')
            return NULL;
        if (*at != '\\') {
            at++;
            continue;
        }
        buf_add(&r->plain, done, (size_t)(at - done));
        at = add_escape(r, at);
        done = at;
    }
    if (!at || at >= r->end)
        return NULL;
    buf_add(&r->plain, done, (size_t)(at - done));
    r->at = at + 1;
    return json_stringn(r->plain.at, r->plain.size); /* NULL if it is not UTF-8 */
}

/* The end of the string's plain part that begins at `at`: its quote, or what needs care. */
static const char *plain_end(const char *at, const char *end, bool *ret_is_ascii)
{
    unsigned char high = 0;

    while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= ' ')
        high |= (unsigned char)*at++;
    *ret_is_ascii = high < 0x80;
    return at;
}

static json_t *read_string(struct json_reader *r)
{
    const char *from = r->at + 1;
    bool is_ascii = false;
    const char *at = plain_end(from, r->end, &is_ascii);

    if (at >= r->end)
        return NULL;
    if (*at != '"')
        return *at == '\\' ? read_escaped(r, from, at) : NULL;
    r->at = at + 1;
    return is_ascii ? json_stringn_nocheck(from, (size_t)(at - from))
                    : json_stringn(from, (size_t)(at - from));
}

/* Reads a key, which has neither escapes nor other characters than ASCII. */
static bool read_key(struct json_reader *r, struct str *ret)
{
    bool is_ascii = false;
    const char *from;
    const char *at;

    if (read_byte(r) != '"')
        return false;
    from = r->at;
    at = plain_end(from, r->end, &is_ascii);
    if (at >= r->end || *at != '"' || !is_ascii)
        return false;
    *ret = (struct str){from, (size_t)(at - from)};
    r->at = at + 1;
    return true;
}

/* ---- other values ---- */

static json_t *read_integer(struct json_reader *r)
{
    bool is_negative = *r->at == '-';
    const char *from = r->at + is_negative;
    const char *at = from;
    int64_t value = 0;

    while (at < r->end && *at >= '0' && *at <= '9' && at - from < DIGITS_MAX)
        value = value * 10 + (*at++ - '0');
    if (at == from || (*from == '0' && (at - from > 1 || is_negative)))
        return NULL;
    if (at < r->end && !memchr(",}] \n\t\r", *at, 7))
        return NULL;
    r->at = at;
    return json_integer(is_negative ? -value : value);
}

static json_t *read_word(struct json_reader *r, const char *word, json_t *value)
{
    size_t size = strlen(word);

    if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0)
        return NULL;
    r->at += size;
    return value;
}

static bool read_member(struct json_reader *r, json_t *object)
{
    struct str key = {0};
    bool is_own = false;
    json_t *value;

    if (!read_key(r, &key) || read_byte(r) != ':')
        return false;
    is_own = r->depth == 1 && key.size == 8 && memcmp(key.at, "metadata", 8) == 0;
    value = read_value(r, is_own);
    return value && json_object_setn_new_nocheck(object, key.at, key.size, value) == 0;
}

/* Takes the end of an empty container. */
static bool is_empty(struct json_reader *r, char end)
{
    skip_blanks(r);
    if (r->at >= r->end || *r->at != end)
        return false;
    r->at++;
    return true;
}

static json_t *read_object(struct json_reader *r)
{
    AUTO(json_freep) json_t *object = json_object();
    size_t n = 0;
    char c = ',';

    if (is_empty(r, '}'))
        return TAKE(object);
    for (; c == ','; n++) {
        if (!read_member(r, object))
            return NULL;
        c = read_byte(r);
    }
    /* Fewer members than were read: duplicate key. */
    return c == '}' && json_object_size(object) == n ? TAKE(object) : NULL;
}

static json_t *read_array(struct json_reader *r)
{
    AUTO(json_freep) json_t *array = json_array();
    char c = ',';

    if (is_empty(r, ']'))
        return TAKE(array);
    while (c == ',') {
        json_t *value = read_value(r, false);

        if (!value || json_array_append_new(array, value) < 0)
            return NULL;
        c = read_byte(r);
    }
    return c == ']' ? TAKE(array) : NULL;
}

json_t *json_read_container(struct json_reader *r)
{
    json_t *value = NULL;
    char c = *r->at;

    if (r->depth >= JSON_DEPTH_MAX)
        return NULL;
    r->at++;
    r->depth++;
    value = c == '{' ? read_object(r) : read_array(r);
    r->depth--;
    return value;
}

/* `is_own`: a container is not left to read_part. */
static json_t *read_value(struct json_reader *r, bool is_own)
{
    skip_blanks(r);
    if (r->at >= r->end)
        return NULL;
    switch (*r->at) {
    case '{':
    case '[':
        return is_own || !r->read_part ? json_read_container(r) : r->read_part(r);
    case '"':
        return read_string(r);
    case 't':
        return read_word(r, "true", json_true());
    case 'f':
        return read_word(r, "false", json_false());
    case 'n':
        return read_word(r, "null", json_null());
    default:
        return read_integer(r);
    }
}

json_t *json_read(struct json_reader *r)
{
    AUTO(json_freep) json_t *tree = read_value(r, true);

    skip_blanks(r);
    buf_done(&r->plain);
    return r->at == r->end ? TAKE(tree) : NULL;
}
