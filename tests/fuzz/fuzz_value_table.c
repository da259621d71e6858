/*
 * fuzz_value_table.c - fuzzes tables of learned values
 *
 * The engine accepts a parsed table; formatted text parses to the same table.
 */

#include <assert.h>
#include <stdint.h>

#include "sim/value_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_engine(const struct value_table *t)
{
    const struct mete_values v = value_table_view(t);
    struct mete_engine *e = mete_engine_new(NULL);

    assert(mete_values_set(e, &v) == METE_OK);
    mete_engine_free(e);
}

static void check_again(const struct value_table *t)
{
    AUTO(value_table_freep) struct value_table *back = NULL;
    AUTO(buf_done) struct buf text = {0};
    AUTO(buf_done) struct buf again = {0};
    AUTO(err_freep) struct err *e = NULL;

    value_table_format(t, &text);
    e = value_table_parse("f", (struct str){text.at, text.size}, &back);
    assert(!e);
    value_table_format(back, &again);
    assert(str_equal((struct str){text.at, text.size}, (struct str){again.at, again.size}));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(value_table_freep) struct value_table *t = NULL;
    AUTO(err_freep)
    struct err *e = value_table_parse("f", (struct str){(const char *)data, size}, &t);

    assert((e == NULL) == (t != NULL));
    if (!t)
        return 0;
    check_engine(t);
    check_again(t);
    return 0;
}
