/* value_table.c - the file of a learned table */

#include "sim/value_table.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fnv.h"
#include "base/mem.h"
#include "base/num.h"

enum {
    IDLE_MAX = 1000000, /* a gpu */
    WEIGHT_MAX = 1000
};

void value_table_free(struct value_table *t)
{
    if (!t)
        return;
    free(t->idle);
    free(t);
}

struct mete_values value_table_view(const struct value_table *t)
{
    return (struct mete_values){
        .id = t->id,
        .pods = t->pods,
        .fragment_milli = t->fragment_milli,
        .cpu_steps = t->cpu_steps,
        .n_cpu_steps = t->n_cpu_steps,
        .idle = t->idle,
        .prices = t->prices,
        .n_prices = t->n_prices,
    };
}

void value_table_name(struct value_table *t)
{
    uint64_t hash = fnv_number(FNV_START, t->fragment_milli);

    for (size_t i = 0; i < t->n_cpu_steps; i++)
        hash = fnv_number(hash, (uint64_t)t->cpu_steps[i]);
    for (size_t i = 0; i < METE_VALUES_SIZE(t->n_cpu_steps); i++)
        hash = fnv_number(hash, (uint64_t)t->idle[i]);
    for (size_t i = 0; i < t->n_prices; i++) {
        for (const char *c = t->models[i]; *c != '\0'; c++)
            hash = fnv_number(hash, (unsigned char)*c);
        hash = fnv_number(hash, (uint64_t)t->prices[i].price_milli);
    }
    (void)snprintf(t->id, sizeof(t->id), "%016" PRIx64, hash);
}

static bool is_word(struct str s, size_t max)
{
    if (s.size == 0 || s.size > max)
        return false;
    for (size_t i = 0; i < s.size; i++)
        if (!isgraph((unsigned char)s.at[i]))
            return false;
    return true;
}

bool value_table_price(struct value_table *t, struct str model, int32_t price_milli)
{
    char *name;

    if (t->n_prices == VALUE_TABLE_PRICES_MAX || !is_word(model, VALUE_TABLE_MODEL_MAX))
        return false;
    name = t->models[t->n_prices];
    memcpy(name, model.at, model.size);
    name[model.size] = '\0';
    t->prices[t->n_prices++] = (struct mete_price){name, price_milli};
    return true;
}

void value_table_format(const struct value_table *t, struct buf *to)
{
    const int32_t *entry = t->idle;

    buf_printf(to, "mete-values 1\nid %s\npods %" PRIu64 "\nfragment %u\ncpu-steps", t->id, t->pods,
               t->fragment_milli);
    for (size_t i = 0; i < t->n_cpu_steps; i++)
        buf_printf(to, " %" PRId64, t->cpu_steps[i]);
    buf_add_char(to, '\n');
    for (size_t i = 0; i < t->n_prices; i++)
        buf_printf(to, "price %s %d\n", t->models[i], t->prices[i].price_milli);
    for (size_t cpu = 0; cpu <= t->n_cpu_steps; cpu++) {
        for (int whole = 0; whole < METE_VALUES_WHOLE; whole++) {
            buf_printf(to, "idle %zu %d", cpu, whole);
            for (int i = 0; i < METE_VALUES_LEVELS; i++)
                buf_printf(to, " %d", *entry++);
            buf_add_char(to, '\n');
        }
    }
    buf_add_text(to, "end\n");
}

/* The present line, and its words that are not read yet. */
struct reader {
    const char *file;
    struct str rest;
    uint64_t line;
    struct str words;
};

static struct err *malformed(const struct reader *r, const char *want)
{
    return err_new(ERR_INVALID, "%s:%" PRIu64 ": want %s", r->file, r->line, want);
}

static bool next_line(struct reader *r)
{
    if (!r->rest.at || r->rest.size == 0) {
        r->words = (struct str){0};
        r->line++;
        return false;
    }
    r->words = str_cut(&r->rest, '\n');
    r->line++;
    return true;
}

/* Reads the next word, which must be `key`. */
static struct err *read_key(struct reader *r, const char *key)
{
    struct str word = r->words.at ? str_cut(&r->words, ' ') : (struct str){0};

    if (word.at && str_equal(word, str_of(key)))
        return NULL;
    return err_new(ERR_INVALID, "%s:%" PRIu64 ": want '%s'", r->file, r->line, key);
}

static struct err *read_number(struct reader *r, int64_t min, int64_t max, int64_t *ret)
{
    struct err *e;

    if (!r->words.at)
        return malformed(r, "more numbers on this line");
    e = num_parse_int64(str_cut(&r->words, ' '), min, max, ret);
    return e ? err_wrap(e, "%s:%" PRIu64, r->file, r->line) : NULL;
}

static struct err *read_end(const struct reader *r)
{
    return r->words.at ? malformed(r, "the line to end here") : NULL;
}

/* Reads a line with a key and a number. */
static struct err *read_line(struct reader *r, const char *key, int64_t max, int64_t *ret)
{
    int64_t n = 0;

    (void)next_line(r); /* past the end read_key fails */
    TRY(read_key(r, key));
    TRY(read_number(r, 0, max, &n));
    TRY(read_end(r));
    *ret = n;
    return NULL;
}

static struct err *read_cpu_steps(struct reader *r, struct value_table *t)
{
    (void)next_line(r);
    TRY(read_key(r, "cpu-steps"));
    while (r->words.at) {
        int64_t least = t->n_cpu_steps > 0 ? t->cpu_steps[t->n_cpu_steps - 1] + 1 : 0;

        if (t->n_cpu_steps == METE_VALUES_CPU_MAX)
            return malformed(r, "at most 64 cpu steps");
        TRY(read_number(r, least, INT64_C(1) << 50, &t->cpu_steps[t->n_cpu_steps]));
        t->n_cpu_steps++;
    }
    return NULL;
}

static struct err *read_head(struct reader *r, struct value_table *t)
{
    int64_t n = 0;

    (void)next_line(r);
    TRY(read_key(r, "mete-values"));
    TRY(read_number(r, 1, 1, &n));
    TRY(read_end(r));
    (void)next_line(r);
    TRY(read_key(r, "id"));
    if (!r->words.at || !is_word(r->words, sizeof(t->id) - 1))
        return malformed(r, "an id of 1 to 63 printable bytes");
    memcpy(t->id, r->words.at, r->words.size);
    TRY(read_line(r, "pods", INT64_MAX, &n));
    t->pods = (uint64_t)n;
    TRY(read_line(r, "fragment", WEIGHT_MAX, &n));
    t->fragment_milli = (uint32_t)n;
    return read_cpu_steps(r, t);
}

/* Reads the lines of prices. The first other line stays the present one. */
static struct err *read_prices(struct reader *r, struct value_table *t)
{
    while (next_line(r) && str_starts_with(r->words, STR("price "))) {
        struct str model;
        int64_t price = 0;

        TRY(read_key(r, "price"));
        model = str_cut(&r->words, ' ');
        TRY(read_number(r, 0, WEIGHT_MAX, &price));
        TRY(read_end(r));
        if (!value_table_price(t, model, (int32_t)price))
            return malformed(r, "at most 64 prices, of models of 1 to 63 printable bytes");
    }
    return NULL;
}

static struct err *read_entries(struct reader *r, struct value_table *t)
{
    int32_t *entry = t->idle;

    for (size_t row = 0; row < (t->n_cpu_steps + 1) * METE_VALUES_WHOLE; row++) {
        const int64_t cpu = (int64_t)(row / METE_VALUES_WHOLE);
        const int64_t whole = (int64_t)(row % METE_VALUES_WHOLE);
        int64_t n = 0;

        TRY(read_key(r, "idle"));
        TRY(read_number(r, cpu, cpu, &n));
        TRY(read_number(r, whole, whole, &n));
        for (int i = 0; i < METE_VALUES_LEVELS; i++) {
            TRY(read_number(r, 0, IDLE_MAX, &n));
            *entry++ = (int32_t)n;
        }
        TRY(read_end(r));
        (void)next_line(r);
    }
    TRY(read_key(r, "end"));
    TRY(read_end(r));
    return next_line(r) ? malformed(r, "nothing after 'end'") : NULL;
}

struct err *value_table_parse(const char *file, struct str text, struct value_table **ret)
{
    struct reader r = {.file = file, .rest = text};
    AUTO(value_table_freep) struct value_table *t = mem_alloc(sizeof(*t));

    TRY(read_head(&r, t));
    t->idle = mem_alloc(METE_VALUES_SIZE(t->n_cpu_steps) * sizeof(*t->idle));
    TRY(read_prices(&r, t));
    TRY(read_entries(&r, t));
    *ret = TAKE(t);
    return NULL;
}
