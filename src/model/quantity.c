/*
 * quantity.c - value = mantissa x 10^power10 x 2^power2, in 128 bits
 *
 * A value within int64 thousandths never passes 2^113 on the way, so an overflow of the 128 bits
 * means out of range. Fraction digits past DIGITS_MAX matter for rounding up only: one sticky bit
 * keeps them.
 */
#include "model/quantity.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

enum {
    DIGITS_MAX = 18,
    INTEGER_DIGITS_MAX = 19,
    EXPONENT_MAX = 64,
    SHOWN_MAX = 64
};

__extension__ typedef unsigned __int128 wide;

struct parts {
    bool is_negative;
    wide mantissa;
    bool is_sticky; /* a non-zero digit was dropped */
    int power10;
    int power2;
};

static const struct suffix {
    const char *text;
    int power10;
    int power2;
} suffixes[] = {
    {"", 0, 0},    {"n", -9, 0},  {"u", -6, 0},  {"m", -3, 0},  {"k", 3, 0},   {"M", 6, 0},
    {"G", 9, 0},   {"T", 12, 0},  {"P", 15, 0},  {"E", 18, 0},  {"Ki", 0, 10}, {"Mi", 0, 20},
    {"Gi", 0, 30}, {"Ti", 0, 40}, {"Pi", 0, 50}, {"Ei", 0, 60},
};

static struct err *malformed(struct str text)
{
    return err_new(ERR_INVALID,
                   "quantity '%.*s': want a number and a suffix (n u m k M G T P E Ki Mi Gi Ti Pi "
                   "Ei, or an exponent), as in 500m or 1.5Gi",
                   text.size < SHOWN_MAX ? (int)text.size : SHOWN_MAX, text.at);
}

static struct err *out_of_range(struct str text)
{
    return err_new(ERR_INVALID, "quantity '%.*s': want at most %" PRId64 " either way",
                   text.size < SHOWN_MAX ? (int)text.size : SHOWN_MAX, text.at, INT64_MAX / 1000);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes digits with at most one point off `*rest`. False: no digit. */
static bool read_digits(struct str *rest, struct parts *p, bool *ret_is_huge)
{
    size_t n_integer = 0;
    size_t n_fraction = 0;
    size_t n = 0;
    bool is_fraction = false;

    for (; rest->size > 0; rest->at++, rest->size--) {
        char c = *rest->at;

        if (c == '.' && !is_fraction) {
            is_fraction = true;
            continue;
        }
        if (!is_digit(c))
            break;
        n++;
        if (is_fraction && n_fraction == DIGITS_MAX) {
            p->is_sticky |= c != '0';
            continue;
        }
        p->mantissa = p->mantissa * (wide)10 + (wide)(unsigned)(c - '0');
        n_fraction += is_fraction;
        n_integer += !is_fraction && p->mantissa > 0;
        if (n_integer > INTEGER_DIGITS_MAX) {
            *ret_is_huge = true;
            return true;
        }
    }
    p->power10 -= (int)n_fraction;
    return n > 0;
}

/* Reads all of `text` as [eE][+-]?digits. A huge exponent saturates: then the value is 0 or out of
 * range. */
static bool read_exponent(struct str text, int *ret)
{
    bool is_negative;
    int exponent = 0;

    if (text.size < 2 || (text.at[0] != 'e' && text.at[0] != 'E'))
        return false;
    text = (struct str){text.at + 1, text.size - 1};
    is_negative = text.at[0] == '-';
    if (text.at[0] == '-' || text.at[0] == '+')
        text = (struct str){text.at + 1, text.size - 1};
    if (text.size == 0)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (!is_digit(text.at[i]))
            return false;
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (text.at[i] - '0');
    }
    *ret = is_negative ? -exponent : exponent;
    return true;
}

static bool read_suffix(struct str text, struct parts *p, struct quantity *q)
{
    int exponent = 0;

    for (size_t i = 0; i < COUNT(suffixes); i++) {
        if (!str_equal(str_of(suffixes[i].text), text))
            continue;
        p->power10 += suffixes[i].power10;
        p->power2 = suffixes[i].power2;
        q->form = p->power2 > 0 ? QUANTITY_BINARY : QUANTITY_DECIMAL;
        return true;
    }
    if (!read_exponent(text, &exponent))
        return false;
    p->power10 += exponent;
    q->form = QUANTITY_EXPONENT;
    return true;
}

/* Computes thousandths, rounded away from zero. False: out of range. */
static bool compute_milli(struct parts p, int64_t *ret)
{
    wide value = p.mantissa;
    int power10 = p.power10 + 3;

    if (__builtin_mul_overflow(value, (wide)1 << p.power2, &value))
        return false;
    for (; power10 > 0 && value > 0; power10--)
        if (__builtin_mul_overflow(value, (wide)10, &value))
            return false;
    for (; power10 < 0 && value > 0; power10++) {
        p.is_sticky |= value % 10 != 0;
        value /= 10;
    }
    value += p.is_sticky;
    if (value > (wide)INT64_MAX)
        return false;
    *ret = p.is_negative ? -(int64_t)value : (int64_t)value;
    return true;
}

struct err *quantity_parse(struct str text, struct quantity *ret)
{
    struct quantity q = {0};
    struct parts p = {0};
    struct str rest = text;
    bool is_huge = false;

    if (rest.size > 0 && (rest.at[0] == '-' || rest.at[0] == '+')) {
        p.is_negative = rest.at[0] == '-';
        rest = (struct str){rest.at + 1, rest.size - 1};
    }
    if (!read_digits(&rest, &p, &is_huge))
        return malformed(text);
    if (is_huge)
        return out_of_range(text);
    if (!read_suffix(rest, &p, &q))
        return malformed(text);
    if (!compute_milli(p, &q.milli))
        return out_of_range(text);
    *ret = q;
    return NULL;
}

/* Divides `*value` by `by` while it stays whole, at most `max` times. Returns how often. */
static int number_reduce(uint64_t *value, uint64_t by, int max)
{
    int times = 0;

    for (; times < max && *value % by == 0; times++)
        *value /= by;
    return times;
}

static void format_binary(const char *sign, uint64_t units, char ret[QUANTITY_TEXT_SIZE])
{
    static const char *const names[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    int times = number_reduce(&units, 1024, 6);

    (void)snprintf(ret, QUANTITY_TEXT_SIZE, "%s%" PRIu64 "%s", sign, units, names[times]);
}

/* `milli` must not be 0. */
static void format_decimal(const char *sign, uint64_t milli, bool is_exponent,
                           char ret[QUANTITY_TEXT_SIZE])
{
    static const char *const names[] = {"m", "", "k", "M", "G", "T", "P"};
    int times = number_reduce(&milli, 1000, 6);

    if (is_exponent && times != 1)
        (void)snprintf(ret, QUANTITY_TEXT_SIZE, "%s%" PRIu64 "e%d", sign, milli, (times - 1) * 3);
    else
        (void)snprintf(ret, QUANTITY_TEXT_SIZE, "%s%" PRIu64 "%s", sign, milli, names[times]);
}

void quantity_format(struct quantity q, char ret[QUANTITY_TEXT_SIZE])
{
    uint64_t milli = q.milli < 0 ? 0 - (uint64_t)q.milli : (uint64_t)q.milli;
    const char *sign = q.milli < 0 ? "-" : "";

    if (milli == 0)
        (void)snprintf(ret, QUANTITY_TEXT_SIZE, "0");
    else if (q.form == QUANTITY_BINARY && milli % UINT64_C(1024000) == 0)
        format_binary(sign, milli / 1000, ret);
    else
        format_decimal(sign, milli, q.form == QUANTITY_EXPONENT, ret);
}

int64_t quantity_units(struct quantity q)
{
    return q.milli / 1000 + (q.milli % 1000 > 0);
}
