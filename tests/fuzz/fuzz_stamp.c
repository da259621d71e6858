/* fuzz_stamp.c - fuzzes RFC 3339 times: formatted text parses to the same time */

#include <assert.h>
#include <stdint.h>

#include "base/stamp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    char canonical[STAMP_TEXT_SIZE];
    int64_t again = 0;
    int64_t ns = 0;
    AUTO(err_freep) struct err *e = stamp_parse(text, &ns);

    if (e)
        return 0;
    stamp_format_nano(ns, canonical);
    e = stamp_parse(str_of(canonical), &again);
    assert(!e && again == ns);
    return 0;
}
