/* fuzz_quantity.c - fuzzes quantities: formatted text is canonical and parses to the same amount */

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "model/quantity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[QUANTITY_TEXT_SIZE];
    char again[QUANTITY_TEXT_SIZE];
    struct quantity first = {0};
    struct quantity second = {0};
    AUTO(err_freep) struct err *e = quantity_parse((struct str){(const char *)data, size}, &first);

    if (e)
        return 0;
    quantity_format(first, text);
    e = quantity_parse(str_of(text), &second);
    assert(!e && first.milli == second.milli);
    quantity_format(second, again);
    assert(strcmp(text, again) == 0);
    return 0;
}
