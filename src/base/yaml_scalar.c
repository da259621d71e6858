/*
 * yaml_scalar.c - the meaning of plain scalars
 *
 * The meaning follows resolve.go of go-yaml v2, on which sigs.k8s.io/yaml is built; whole-numbered
 * floats become integers, as they do there on the way through JSON.
 */

#include "base/yaml_scalar.h"

#include <assert.h>

#include "base/json.h"
#include "base/mem.h"

static bool resolve_word(const char *text, struct scalar *ret)
{
    static const struct {
        const char *text;
        enum meaning meaning;
        bool truth;
    } words[] = {
        {"", IS_NULL, false},      {"~", IS_NULL, false},     {"null", IS_NULL, false},
        {"Null", IS_NULL, false},  {"NULL", IS_NULL, false},  {"y", IS_BOOL, true},
        {"Y", IS_BOOL, true},      {"yes", IS_BOOL, true},    {"Yes", IS_BOOL, true},
        {"YES", IS_BOOL, true},    {"true", IS_BOOL, true},   {"True", IS_BOOL, true},
        {"TRUE", IS_BOOL, true},   {"on", IS_BOOL, true},     {"On", IS_BOOL, true},
        {"ON", IS_BOOL, true},     {"n", IS_BOOL, false},     {"N", IS_BOOL, false},
        {"no", IS_BOOL, false},    {"No", IS_BOOL, false},    {"NO", IS_BOOL, false},
        {"false", IS_BOOL, false}, {"False", IS_BOOL, false}, {"FALSE", IS_BOOL, false},
        {"off", IS_BOOL, false},   {"Off", IS_BOOL, false},   {"OFF", IS_BOOL, false},
    };
    static const char *const not_finite[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF",
                                             "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"};

    for (size_t i = 0; i < COUNT(words); i++) {
        if (!text_equal(text, words[i].text))
            continue;
        *ret = (struct scalar){.meaning = words[i].meaning, .truth = words[i].truth};
        return true;
    }
    for (size_t i = 0; i < COUNT(not_finite); i++) {
        if (!text_equal(text, not_finite[i]))
            continue;
        *ret = (struct scalar){.meaning = IS_NOT_FINITE};
        return true;
    }
    return false;
}

/* Cuts "0x", "0o", "0b" or the 0 of an octal number off `*text`. */
static unsigned cut_base(const char **text)
{
    const char *at = *text;

    if (at[0] != '0' || at[1] == '\0')
        return 10;
    *text += 2;
    switch (at[1]) {
    case 'x':
    case 'X':
        return 16;
    case 'o':
    case 'O':
        return 8;
    case 'b':
    case 'B':
        return 2;
    default:
        *text -= 1;
        return 8;
    }
}

static unsigned digit_value(char c)
{
    if (is_digit(c))
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 99;
}

/* Parses like strconv.ParseInt, then ParseUint, with base 0. */
static bool resolve_int(const char *text, struct scalar *ret)
{
    bool is_negative = *text == '-';
    bool is_signed = is_negative || *text == '+';
    uint64_t size = 0;
    unsigned base;

    text += is_signed;
    base = cut_base(&text);
    if (*text == '\0')
        return false;
    for (; *text; text++) {
        unsigned digit = digit_value(*text);

        if (digit >= base || __builtin_mul_overflow(size, base, &size) ||
            __builtin_add_overflow(size, digit, &size))
            return false;
    }
    if (size > (uint64_t)INT64_MAX + is_negative) {
        *ret = (struct scalar){.meaning = IS_BIG_INT};
        return !is_signed;
    }
    *ret = (struct scalar){.meaning = IS_INT,
                           .number = is_negative ? (int64_t)(0 - size) : (int64_t)size};
    return true;
}

static const char *skip_digits(const char *at)
{
    while (is_digit(*at))
        at++;
    return at;
}

/* ^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$ rewritten in JSON's form: no plus, no
 * leading zeros, digits on both sides of the point. NULL: no match. */
static char *float_as_json(const char *text)
{
    AUTO(buf_done) struct buf out = {0};
    const char *start;
    const char *end;
    bool has_whole;

    if (*text == '-')
        buf_add_char(&out, '-');
    start = text + (*text == '-' || *text == '+');
    end = skip_digits(start);
    has_whole = end > start;
    while (end - start > 1 && *start == '0')
        start++;
    buf_add(&out, has_whole ? start : "0", has_whole ? (size_t)(end - start) : 1);
    if (*end == '.') {
        start = end;
        end = skip_digits(start + 1);
        if (end > start + 1)
            buf_add(&out, start, (size_t)(end - start));
        else if (!has_whole)
            return NULL;
    } else if (!has_whole) {
        return NULL;
    }
    if (*end == 'e' || *end == 'E') {
        start = end;
        end += 1 + (end[1] == '-' || end[1] == '+');
        if (!is_digit(*end))
            return NULL;
        end = skip_digits(end);
        buf_add(&out, start, (size_t)(end - start));
    }
    return *end == '\0' ? buf_steal(&out) : NULL;
}

static bool resolve_real(const char *text, struct scalar *ret)
{
    AUTO_FREE char *json = float_as_json(text);
    AUTO(json_freep) json_t *j = NULL;
    double real;

    if (json)
        j = json_loads(json, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
    if (!j)
        return false; /* not a number, or past the largest: text, as in go-yaml */
    real = json_real_value(j);
    *ret = (struct scalar){.meaning = IS_REAL, .real = real};
    if (real > -9.2e18 && real < 9.2e18) {
        int64_t whole = (int64_t)real;

        if (!((double)whole < real) && !((double)whole > real))
            *ret = (struct scalar){.meaning = IS_INT, .number = whole};
    }
    return true;
}

struct scalar yaml_resolve(const char *text)
{
    struct scalar is = {.meaning = IS_TEXT};
    AUTO_FREE char *plain = NULL;
    size_t n = 0;

    if (resolve_word(text, &is))
        return is;
    if (!is_digit(*text) && *text != '-' && *text != '+' && *text != '.')
        return (struct scalar){.meaning = IS_TEXT};
    plain = mem_alloc(strlen(text) + 1);
    for (const char *at = text; *at; at++)
        if (*at != '_')
            plain[n++] = *at;
    if ((*text != '.' && resolve_int(plain, &is)) || resolve_real(plain, &is))
        return is;
    return (struct scalar){.meaning = IS_TEXT};
}
