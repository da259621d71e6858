/*
 * value_table.h - a learned table of policy "mete" and its file
 *
 * The file is text; each line has a word and its values: "mete-values 1", "id", "pods", "fragment",
 * "cpu-steps", any number of "price MODEL N", then, for each cpu step and number of whole gpus,
 * "idle CPU WHOLE" with the entries of all levels, and "end". The numbers are those of struct
 * mete_values.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "mete/engine.h"

enum {
    VALUE_TABLE_PRICES_MAX = 64,
    VALUE_TABLE_MODEL_MAX = 63, /* bytes of a name */
    VALUE_TABLE_ID_SIZE = 64
};

struct value_table {
    char id[VALUE_TABLE_ID_SIZE];
    uint64_t pods;
    uint32_t fragment_milli;
    int64_t cpu_steps[METE_VALUES_CPU_MAX];
    size_t n_cpu_steps;
    int32_t *idle;
    struct mete_price prices[VALUE_TABLE_PRICES_MAX];
    char models[VALUE_TABLE_PRICES_MAX][VALUE_TABLE_MODEL_MAX + 1];
    size_t n_prices;
};

void value_table_free(struct value_table *t);
static inline void value_table_freep(struct value_table **t)
{
    value_table_free(*t);
}

/* The table for the engine; valid as long as the table. */
struct mete_values value_table_view(const struct value_table *t);

/* Sets the id, a hash of the table. */
void value_table_name(struct value_table *t);

/* Adds a price. False: there are too many, or the name is not one word of printable bytes. */
bool value_table_price(struct value_table *t, struct str model, int32_t price_milli);

void value_table_format(const struct value_table *t, struct buf *to);

/* `file` is for messages; ERR_INVALID: "file:line: what, and what would be right". */
struct err *value_table_parse(const char *file, struct str text,
                              struct value_table **ret) MUST_CHECK;
