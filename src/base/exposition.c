/* exposition.c - pages of metrics in the formats of Prometheus and OpenMetrics */

#include "base/exposition.h"

#include <assert.h>
#include <inttypes.h>

#include "base/num.h"

/* ---- which format ---- */

enum {
    WEIGHT_MAX = 1000,
    WEIGHT_DIGITS = 3
};

static struct str trim(struct str s)
{
    while (s.size > 0 && (*s.at == ' ' || *s.at == '\t'))
        s = (struct str){.at = s.at + 1, .size = s.size - 1};
    while (s.size > 0 && (s.at[s.size - 1] == ' ' || s.at[s.size - 1] == '\t'))
        s.size--;
    return s;
}

/* "0.75" as 750; malformed: 0. */
static int accept_weight(struct str text)
{
    struct str whole = str_cut(&text, '.');
    int weight = str_equal(whole, STR("1")) ? WEIGHT_MAX : 0;
    int unit = WEIGHT_MAX / 10;

    for (size_t i = 0; text.at && i < text.size && i < WEIGHT_DIGITS; i++, unit /= 10) {
        int digit = num_hex_digit(text.at[i]);

        if (digit < 0 || digit > 9)
            return 0;
        weight += digit * unit;
    }
    return weight > WEIGHT_MAX ? WEIGHT_MAX : weight;
}

/* The weight of a media range, such as "text/plain;version=0.0.4;q=0.5"; its type is cut off. */
static int range_weight(struct str *range)
{
    struct str rest = *range;
    int weight = WEIGHT_MAX;

    *range = trim(str_cut(&rest, ';'));
    while (rest.at) {
        struct str parameter = trim(str_cut(&rest, ';'));

        if (str_starts_with(parameter, STR("q=")))
            weight =
                accept_weight((struct str){.at = parameter.at + 2, .size = parameter.size - 2});
    }
    return weight;
}

bool exposition_wants_open(const char *accept)
{
    struct str rest = str_of(accept);
    int plain = 0;
    int open = 0;

    while (rest.at) {
        struct str range = str_cut(&rest, ',');
        int weight = range_weight(&range);

        if (str_equal(range, STR("application/openmetrics-text")))
            open = weight > open ? weight : open;
        else if (str_equal(range, STR("text/plain")) || str_equal(range, STR("text/*")))
            plain = weight > plain ? weight : plain;
    }
    return open > 0 && open >= plain;
}

/* ---- labels ---- */

static void add_escaped(struct buf *b, const char *value)
{
    struct str rest = str_of(value);

    while (rest.size > 0) {
        size_t size = str_utf8(rest);

        if (size == 0)
            buf_add_text(b, UTF8_REPLACEMENT);
        else if (*rest.at == '\n')
            buf_add_text(b, "\\n");
        else if (*rest.at == '"' || *rest.at == '\\')
            buf_printf(b, "\\%c", *rest.at);
        else
            buf_add(b, rest.at, size);
        size = size > 0 ? size : 1;
        rest = (struct str){.at = rest.at + size, .size = rest.size - size};
    }
}

void labels_add(struct buf *labels, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    if (labels->size > 0)
        buf_add_char(labels, ',');
    buf_add_text(labels, name);
    buf_add_text(labels, "=\"");
    add_escaped(labels, value);
    buf_add_char(labels, '"');
}

/* ---- families ---- */

static const char total[] = "_total";

static const char *type_text(const struct exposition *x)
{
    switch (x->family->type) {
    case METRIC_GAUGE:
        return "gauge";
    case METRIC_HISTOGRAM:
        return "histogram";
    case METRIC_COUNTER:
        break;
    }
    return x->is_open && !text_ends_with(x->family->name, total) ? "unknown" : "counter";
}

void exposition_family(struct exposition *x, const struct metric_family *f)
{
    x->family = f;
    x->has_head = false;
}

/* OpenMetrics names a counter's family without "_total". */
static void add_head(struct exposition *x)
{
    const char *name = x->family->name;
    size_t size = strlen(name);

    if (x->has_head)
        return;
    x->has_head = true;
    if (x->is_open && x->family->type == METRIC_COUNTER && text_ends_with(name, total))
        size -= sizeof(total) - 1;
    buf_printf(x->page, "# HELP %.*s %s\n", (int)size, name, x->family->help);
    buf_printf(x->page, "# TYPE %.*s %s\n", (int)size, name, type_text(x));
}

static void add_number(struct buf *b, int64_t value, unsigned decimals)
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t unit = 1;

    assert(decimals <= 9);
    for (unsigned i = 0; i < decimals; i++)
        unit *= 10;
    buf_printf(b, "%s%" PRIu64, value < 0 ? "-" : "", magnitude / unit);
    if (decimals > 0)
        buf_printf(b, ".%0*" PRIu64, (int)decimals, magnitude % unit);
}

static void add_series(struct exposition *x, const char *suffix, const char *labels)
{
    buf_add_text(x->page, x->family->name);
    buf_add_text(x->page, suffix);
    if (*labels) {
        buf_add_char(x->page, '{');
        buf_add_text(x->page, labels);
        buf_add_char(x->page, '}');
    }
    buf_add_char(x->page, ' ');
}

void exposition_add(struct exposition *x, const char *labels, int64_t value, unsigned decimals)
{
    add_head(x);
    add_series(x, "", labels);
    add_number(x->page, value, decimals);
    buf_add_char(x->page, '\n');
}

/* ---- histograms ---- */

/* A bound in seconds: "0.005", "1.0", "+Inf" behind the last. */
static void add_bound(struct buf *b, const struct histogram *h, size_t i)
{
    AUTO(buf_done) struct buf digits = {0};
    size_t size;

    if (i == h->n_bounds) {
        buf_add_text(b, "+Inf");
        return;
    }
    add_number(&digits, h->bounds[i], 9);
    for (size = digits.size; digits.at[size - 1] == '0' && digits.at[size - 2] != '.';)
        size--;
    buf_add(b, digits.at, size);
}

static void add_example(struct exposition *x, const struct histogram_example *e)
{
    if (!x->is_open || !*e->text)
        return;
    buf_add_text(x->page, " # {job=\"");
    add_escaped(x->page, e->text);
    buf_add_text(x->page, "\"} ");
    add_number(x->page, e->ns, 9);
    buf_add_char(x->page, ' ');
    add_number(x->page, e->at_ns / 1000000, 3);
}

void exposition_add_histogram(struct exposition *x, const char *labels, const struct histogram *h)
{
    uint64_t count = 0;

    add_head(x);
    for (size_t i = 0; i <= h->n_bounds; i++) {
        count += h->counts[i];
        buf_printf(x->page, "%s_bucket{%s%sle=\"", x->family->name, labels, *labels ? "," : "");
        add_bound(x->page, h, i);
        buf_printf(x->page, "\"} %" PRIu64, count);
        add_example(x, &h->examples[i]);
        buf_add_char(x->page, '\n');
    }
    add_series(x, "_sum", labels);
    add_number(x->page, h->sum_ns, 9);
    buf_add_char(x->page, '\n');
    add_series(x, "_count", labels);
    buf_printf(x->page, "%" PRIu64 "\n", count);
}

void exposition_end(struct exposition *x)
{
    if (x->is_open)
        buf_add_text(x->page, "# EOF\n");
}
