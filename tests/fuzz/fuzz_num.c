/*
 * fuzz_num.c - fuzzes numbers
 *
 * A parsed integer prints to its text; a duration is the sum of its halves.
 */

#include <assert.h>
#include <inttypes.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_integer(struct str text)
{
    int64_t value = 0;
    int64_t again = 0;
    AUTO(err_freep) struct err *e = num_parse_int64(text, INT64_MIN, INT64_MAX, &value);
    AUTO_FREE char *canonical = NULL;

    if (e)
        return;
    canonical = mem_format("%" PRId64, value);
    e = num_parse_int64(str_of(canonical), value, value, &again);
    assert(!e && again == value);
}

static void check_hex(struct str text)
{
    uint64_t value = 0;
    uint64_t again = 0;
    AUTO(err_freep) struct err *e = num_parse_hex(text, &value);
    AUTO_FREE char *canonical = NULL;

    if (e)
        return;
    canonical = mem_format("%" PRIx64, value);
    e = num_parse_hex(str_of(canonical), &again);
    assert(!e && again == value);
}

static void check_duration(struct str text)
{
    int64_t value = 0;
    int64_t again = 0;
    AUTO(err_freep) struct err *e = num_parse_duration(text, &value);
    AUTO_FREE char *canonical = NULL;

    if (e)
        return;
    assert(value >= 0);
    canonical = mem_format("%" PRId64 "s%" PRId64 "ns", value / 1000000000, value % 1000000000);
    e = num_parse_duration(str_of(canonical), &again);
    assert(!e && again == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    AUTO(err_freep) struct err *e = NULL;
    uint64_t natural = 0;

    check_integer(text);
    check_hex(text);
    check_duration(text);
    e = num_parse_uint64(text, 1000, &natural);
    assert(e || natural <= 1000);
    return 0;
}
