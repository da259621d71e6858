/* hostlist.c - reading, sorting and writing lists of host names */

#include "model/hostlist.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"

enum {
    DIGITS_MAX = 9
};

/* ---- reading ---- */

/* The text of a name between commas: its literal parts and brackets, as it is expanded. */
struct expansion {
    struct hostlist *list;
    size_t max;
};

static struct err *expansion_add(const struct expansion *x, const char *name, size_t size)
{
    if (size > HOSTLIST_NAME_MAX)
        return err_new(ERR_INVALID, "a name of more than %d bytes", HOSTLIST_NAME_MAX);
    if (x->list->names.n >= x->max)
        return err_new(ERR_INVALID, "more than %zu names", x->max);
    vec_add(&x->list->names, mem_strndup(name, size));
    return NULL;
}

static struct err *expansion_read_number(struct str text, int64_t *ret)
{
    if (text.size == 0 || text.size > DIGITS_MAX || *text.at < '0' || *text.at > '9')
        return err_new(ERR_INVALID, "'" STR_FMT "' is not a number of at most %d digits",
                       STR_ARG(text), DIGITS_MAX);
    return num_parse_int64(text, 0, INT32_MAX, ret);
}

static struct err *expand(const struct expansion *x, struct buf *prefix, struct str rest,
                          int depth);

/* Expands one range of a bracket, "07-10" or "5", each followed by `rest`. */
static struct err *expand_range(const struct expansion *x, struct buf *prefix, struct str range,
                                struct str rest, int depth)
{
    size_t kept = prefix->size;
    struct str to = range;
    struct str from = str_cut(&to, '-');
    int64_t first = 0;
    int64_t last = 0;

    TRY(expansion_read_number(from, &first));
    last = first;
    if (to.at)
        TRY(expansion_read_number(to, &last));
    if (last < first)
        return err_new(ERR_INVALID, "range '" STR_FMT "' runs backwards", STR_ARG(range));
    for (int64_t i = first; i <= last; i++) {
        buf_printf(prefix, "%0*" PRId64, (int)from.size, i);
        TRY(expand(x, prefix, rest, depth + 1));
        prefix->size = kept;
        prefix->at[kept] = 0;
    }
    return NULL;
}

/* Adds all names of `rest`, which begins behind the text of `prefix`. */
static struct err *expand(const struct expansion *x, struct buf *prefix, struct str rest, int depth)
{
    struct str ranges = rest;
    struct str literal = str_cut(&ranges, '[');
    struct str behind = ranges;

    if (memchr(literal.at, ']', literal.size))
        return err_new(ERR_INVALID, "']' without '['");
    if (prefix->size + literal.size > HOSTLIST_NAME_MAX)
        return err_new(ERR_INVALID, "a name of more than %d bytes", HOSTLIST_NAME_MAX);
    buf_add(prefix, literal.at, literal.size);
    if (!ranges.at)
        return expansion_add(x, prefix->at, prefix->size);
    if (depth >= HOSTLIST_BRACKETS_MAX)
        return err_new(ERR_INVALID, "more than %d brackets in a name", HOSTLIST_BRACKETS_MAX);
    ranges = str_cut(&behind, ']');
    if (!behind.at)
        return err_new(ERR_INVALID, "'[' without ']'");
    while (ranges.at)
        TRY(expand_range(x, prefix, str_cut(&ranges, ','), behind, depth));
    return NULL;
}

/* Cuts the next name off: up to a comma or blank outside of brackets. */
static struct str hostlist_cut_name(struct str *rest)
{
    struct str name = {rest->at, 0};
    bool is_inside = false;

    for (; name.size < rest->size; name.size++) {
        char c = rest->at[name.size];

        is_inside = c == '[' || (is_inside && c != ']');
        if (!is_inside && (c == ',' || c == ' ' || c == '\t' || c == '\n')) {
            rest->at += name.size + 1;
            rest->size -= name.size + 1;
            return name;
        }
    }
    rest->at = NULL;
    rest->size = 0;
    return name;
}

static struct err *hostlist_read(struct str text, size_t max, struct hostlist *list)
{
    const struct expansion x = {.list = list, .max = max};

    while (text.at) {
        struct str name = hostlist_cut_name(&text);
        struct buf prefix = {.cap = 2 * HOSTLIST_NAME_MAX + 64};
        struct err *e = NULL;

        buf_add_text(&prefix, "");
        if (name.size > 0)
            e = expand(&x, &prefix, name, 0);
        buf_done(&prefix);
        TRY(e);
    }
    return NULL;
}

struct err *hostlist_parse(struct str text, size_t max, struct hostlist *ret)
{
    struct hostlist list = {0};
    struct err *e;

    if (text.size == 0)
        return NULL;
    e = hostlist_read(text, max < HOSTLIST_MAX ? max : HOSTLIST_MAX, &list);
    if (e) {
        hostlist_done(&list);
        return err_wrap(e, "hostlist");
    }
    *ret = list;
    return NULL;
}

void hostlist_add(struct hostlist *h, const char *name)
{
    vec_add(&h->names, mem_strdup(name));
}

/* ---- order ---- */

/* A name as the text before its last number, and the number; width 0: no number. */
struct host_parts {
    struct str prefix;
    int64_t number;
    size_t width;
};

static struct host_parts host_parts_of(const char *name)
{
    struct host_parts p = {.prefix = str_of(name)};
    const char *digits;

    while (p.width < DIGITS_MAX && p.prefix.size > 0) {
        char c = p.prefix.at[p.prefix.size - 1];

        if (c < '0' || c > '9')
            break;
        p.prefix.size--;
        p.width++;
    }
    digits = p.prefix.at + p.prefix.size;
    for (size_t i = 0; i < p.width; i++)
        p.number = p.number * 10 + (digits[i] - '0');
    return p;
}

static int host_compare(const void *left, const void *right)
{
    const char *a = *(char *const *)left;
    const char *b = *(char *const *)right;
    struct host_parts x = host_parts_of(a);
    struct host_parts y = host_parts_of(b);
    size_t common = x.prefix.size < y.prefix.size ? x.prefix.size : y.prefix.size;
    int order = memcmp(x.prefix.at, y.prefix.at, common);

    if (order != 0)
        return order;
    if (x.prefix.size != y.prefix.size)
        return x.prefix.size < y.prefix.size ? -1 : 1;
    if (x.number != y.number)
        return x.number < y.number ? -1 : 1;
    return x.width < y.width ? -1 : x.width > y.width;
}

void hostlist_sort(struct hostlist *h)
{
    size_t n = 0;

    if (h->names.n == 0)
        return;
    qsort(h->names.at, h->names.n, sizeof(*h->names.at), host_compare);
    for (size_t i = 0; i < h->names.n; i++)
        if (n > 0 && text_equal(h->names.at[n - 1], h->names.at[i]))
            free(h->names.at[i]);
        else
            h->names.at[n++] = h->names.at[i];
    h->names.n = n;
}

/* ---- writing ---- */

/* Is `next` what follows `last` in a range whose first number has `width` digits? */
static bool host_follows(const struct host_parts *last, size_t width, const struct host_parts *next)
{
    char want[2 * DIGITS_MAX + 1];
    int size;

    if (next->number != last->number + 1 || !str_equal(last->prefix, next->prefix))
        return false;
    size = snprintf(want, sizeof(want), "%0*" PRId64, (int)width, next->number);
    return size > 0 && (size_t)size == next->width;
}

/* Adds the range that begins at name `i`; returns its last name. */
static size_t hostlist_add_range(const struct hostlist *h, size_t i, struct buf *out)
{
    struct host_parts first = host_parts_of(h->names.at[i]);
    struct host_parts last = first;

    while (i + 1 < h->names.n) {
        struct host_parts next = host_parts_of(h->names.at[i + 1]);

        if (next.width == 0 || !host_follows(&last, first.width, &next))
            break;
        last = next;
        i++;
    }
    buf_printf(out, "%0*" PRId64, (int)first.width, first.number);
    if (last.number > first.number)
        buf_printf(out, "-%0*" PRId64, (int)first.width, last.number);
    return i;
}

/* Is name `i` of the same group as the name before? */
static bool hostlist_joins(const struct hostlist *h, size_t i)
{
    struct host_parts before;
    struct host_parts parts;

    if (i == 0 || i >= h->names.n)
        return false;
    before = host_parts_of(h->names.at[i - 1]);
    parts = host_parts_of(h->names.at[i]);
    return before.width > 0 && parts.width > 0 && str_equal(before.prefix, parts.prefix);
}

char *hostlist_format(const struct hostlist *h)
{
    struct buf out = {0};

    for (size_t i = 0; i < h->names.n; i++) {
        struct host_parts parts = host_parts_of(h->names.at[i]);
        bool is_group = hostlist_joins(h, i + 1);

        if (i > 0)
            buf_add_char(&out, ',');
        if (!is_group) {
            buf_add_text(&out, h->names.at[i]);
            continue;
        }
        buf_printf(&out, STR_FMT "[", STR_ARG(parts.prefix));
        i = hostlist_add_range(h, i, &out);
        for (; hostlist_joins(h, i + 1); i = hostlist_add_range(h, i + 1, &out))
            buf_add_char(&out, ',');
        buf_add_char(&out, ']');
    }
    return buf_steal(&out);
}

void hostlist_done(struct hostlist *h)
{
    VEC_EACH (&h->names, name)
        free(*name);
    vec_done(&h->names);
}
