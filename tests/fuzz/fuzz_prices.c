/* fuzz_prices.c - fuzzes price tables: an error with a line, or prices of at least 0 */

#include <assert.h>
#include <stdint.h>

#include "meter/prices.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(prices_freep) struct prices *p = NULL;
    AUTO(err_freep)
    struct err *e = prices_parse("p", (struct str){(const char *)data, size}, &p);

    assert((e == NULL) == (p != NULL));
    if (e)
        return 0;
    assert(prices_currency(p)[0] != '\0');
    assert(prices_gpu(p, "h100", INT64_MAX) >= 0);
    assert(prices_gpu(p, NULL, 1) <= prices_gpu(p, NULL, INT64_MAX));
    assert(prices_cpu(p, INT64_MAX) >= 0 && prices_cpu(p, -1) == 0);
    assert(prices_memory(p, INT64_MAX) >= 0);
    return 0;
}
