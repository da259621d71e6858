/* num.c - parsing of numbers and durations, sorting, scattering */

#include "base/num.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    QUOTE_MAX = 64,
    HEX_DIGITS_MAX = 16
};

#define QUOTE(s) ((s).size < QUOTE_MAX ? (int)(s).size : QUOTE_MAX), (s).at

/* Decimal digits, at least one, nothing else. */
static bool read_digits(struct str text, uint64_t *ret)
{
    uint64_t value = 0;

    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = (unsigned)text.at[i] - '0';

        if (digit > 9 || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret = value;
    return text.size > 0;
}

static bool read_signed(struct str text, int64_t *ret)
{
    bool is_negative = text.size > 0 && text.at[0] == '-';
    uint64_t size = 0;

    if (is_negative)
        text = (struct str){text.at + 1, text.size - 1};
    if (!read_digits(text, &size) || size > (uint64_t)INT64_MAX + is_negative)
        return false;
    *ret = is_negative ? (int64_t)(0 - size) : (int64_t)size;
    return true;
}

struct err *num_parse_int64(struct str text, int64_t min, int64_t max, int64_t *ret)
{
    int64_t value = 0;

    if (!read_signed(text, &value) || value < min || value > max)
        return err_new(ERR_INVALID, "number '%.*s': want an integer from %" PRId64 " to %" PRId64,
                       QUOTE(text), min, max);
    *ret = value;
    return NULL;
}

struct err *num_parse_uint64(struct str text, uint64_t max, uint64_t *ret)
{
    uint64_t value = 0;

    if (!read_digits(text, &value) || value > max)
        return err_new(ERR_INVALID, "number '%.*s': want an integer from 0 to %" PRIu64,
                       QUOTE(text), max);
    *ret = value;
    return NULL;
}

int num_hex_digit(char c)
{
    unsigned decimal = (unsigned)c - '0';
    unsigned letter = ((unsigned)c | 0x20) - 'a';

    if (decimal <= 9)
        return (int)decimal;
    return letter <= 5 ? (int)letter + 10 : -1;
}

struct err *num_parse_hex(struct str text, uint64_t *ret)
{
    uint64_t value = 0;
    size_t i = 0;

    for (; i < text.size && i < HEX_DIGITS_MAX && num_hex_digit(text.at[i]) >= 0; i++)
        value = value << 4 | (uint64_t)num_hex_digit(text.at[i]);
    if (i == 0 || i < text.size)
        return err_new(ERR_INVALID, "number '%.*s': want 1 to %d hexadecimal digits", QUOTE(text),
                       HEX_DIGITS_MAX);
    *ret = value;
    return NULL;
}

static const struct unit {
    struct str name;
    int64_t ns;
} units[] = {
    {STR("ns"), 1},
    {STR("us"), 1000},
    {STR("ms"), 1000000},
    {STR("s"), INT64_C(1000000000)},
    {STR("m"), INT64_C(60000000000)},
    {STR("h"), INT64_C(3600000000000)},
    {STR("d"), INT64_C(86400000000000)},
};

/* Cuts off the run of digits (or of other bytes) that `*rest` starts with. */
static struct str cut_run(struct str *rest, bool is_digits)
{
    struct str run = {.at = rest->at};

    while (run.size < rest->size &&
           (rest->at[run.size] >= '0' && rest->at[run.size] <= '9') == is_digits)
        run.size++;
    rest->at += run.size;
    rest->size -= run.size;
    return run;
}

static const struct unit *find_unit(struct str name)
{
    for (size_t i = 0; i < COUNT(units); i++)
        if (str_equal(units[i].name, name))
            return &units[i];
    return NULL;
}

/* Converts a fraction's digits ("25" of "1.25s") to ns, rounding down. */
static int64_t fraction_ns(struct str digits, int64_t unit_ns)
{
    int64_t ns = 0;

    for (size_t i = 0; i < digits.size; i++) {
        unit_ns /= 10;
        ns += (digits.at[i] - '0') * unit_ns;
    }
    return ns;
}

/*
 * Cuts off the fraction that `*rest` starts with, point and digits. False: a point without digits.
 */
static bool cut_fraction(struct str *rest, struct str *ret)
{
    *ret = (struct str){0};
    if (rest->size == 0 || *rest->at != '.')
        return true;
    *rest = (struct str){rest->at + 1, rest->size - 1};
    *ret = cut_run(rest, true);
    return ret->size > 0;
}

struct err *num_parse_duration(struct str text, int64_t *ret_ns)
{
    struct str rest = text;
    int64_t total_ns = 0;

    do {
        struct str digits = cut_run(&rest, true);
        struct str fraction = {0};
        bool is_number = digits.size > 0 && cut_fraction(&rest, &fraction);
        const struct unit *unit = is_number ? find_unit(cut_run(&rest, false)) : NULL;
        uint64_t count = 0;
        int64_t part_ns = 0;

        if (!unit)
            return err_new(ERR_INVALID, "duration '%.*s': want numbers with units, as in 1h30m",
                           QUOTE(text));
        if (!read_digits(digits, &count) || __builtin_mul_overflow(count, unit->ns, &part_ns) ||
            __builtin_add_overflow(total_ns, part_ns, &total_ns) ||
            __builtin_add_overflow(total_ns, fraction_ns(fraction, unit->ns), &total_ns))
            return err_new(ERR_INVALID, "duration '%.*s': over 292 years", QUOTE(text));
    } while (rest.size > 0);
    *ret_ns = total_ns;
    return NULL;
}

static int compare_amounts(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

size_t num_sort_unique(int64_t *at, size_t n)
{
    size_t kept = 0;

    qsort(at, n, sizeof(*at), compare_amounts);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || at[kept - 1] != at[i])
            at[kept++] = at[i];
    return kept;
}

uint64_t num_scatter(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
